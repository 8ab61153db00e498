//! Compares a replayed trace with the recording.

use iodyno_model::{
    Bytes, ReplayPace, Replayed, ReplayedIos, ReplayedLatency, ReplayedSize, RunRecord,
    format_count, format_duration_ns, format_percent,
};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::outlook::sentence;
use super::trace::lost_note;
use super::words::{clean, listed};

/// Sizes shown per operation.
const SIZES: usize = 4;
/// Rows of the table of rates over time.
const TIMES: usize = 12;
/// Least length of the last row, as a share of a row.
const SHORTEST_ROW: f64 = 0.1;

/// First trace that a run replayed, and its targets.
pub(crate) fn replayed(record: &RunRecord) -> Option<(&Replayed, String)> {
    record.measurements.iter().find_map(|of| {
        let replayed = of.replayed()?;
        Some((
            replayed,
            of.targets.iter().map(|target| clean(target)).collect::<Vec<_>>().join(", "),
        ))
    })
}

/// Whether the recorded pace was kept, and the deviation if not.
pub(crate) fn clause(of: &Replayed, target: &str) -> (Option<(&'static str, Ink)>, String) {
    let duration = |ns: u64| format_duration_ns(ns as f64);
    let percent = match of.trace.speed_percent {
        0 => 100,
        percent => percent,
    };
    // The time is stored at the requested speed.
    let recorded = format_duration_ns(of.recorded_ns as f64 * f64::from(percent) / 100.0);
    let speed = match percent {
        100 => String::new(),
        percent => format!(", at {}x speed", format_count(f64::from(percent) / 100.0)),
    };
    let times = format!("{} for {recorded} recorded{speed}", duration(of.took_ns));
    let (label, words) = match of.pace {
        ReplayPace::Kept => (None, format!("kept the recorded pace: {times}")),
        ReplayPace::Behind => {
            let mut why = Vec::new();
            if of.waited == 0 || duration(of.took_ns) != recorded {
                why.push(times);
            }
            if of.waited > 0 {
                let share = format_percent(of.waited as f64 / ios(of).max(1) as f64);
                why.push(format!("{share} of I/Os waited for others"));
            }
            let words = format!("too slow for the recorded pace: {}", why.join(", "));
            (Some(("BEHIND", Ink::Bad)), words)
        }
        ReplayPace::Late => {
            let late = duration(of.issue_error.p99_ns);
            let words = format!("this host issued I/Os late (p99 {late}): {times}");
            (Some(("LATE", Ink::Doubt)), words)
        }
        ReplayPace::Closed => {
            let ratio = of.recorded_ns as f64 / of.took_ns.max(1) as f64;
            (None, format!("closed loop, {} as fast: {times}", format_count(ratio) + "x"))
        }
    };
    (label, format!("{target}: {words}"))
}

fn ios(of: &Replayed) -> u64 {
    of.sizes.iter().map(|size| size.ios).sum()
}

/// Latencies by operation and size, issue error, and differences from the recording; with `all`,
/// every size and the rates over time.
pub(super) fn body(of: &Replayed, all: bool, style: &Style) -> String {
    let mut out = latencies(of, all, style);
    if all {
        out.push('\n');
        out.push_str(&rates(of, style));
    }
    let notes = notes(of);
    if !notes.is_empty() {
        out.push('\n');
    }
    out.push_str(&notes.iter().map(|line| sentence(line, style)).collect::<String>());
    out
}

/// Full report of the trace that a run replayed.
pub fn replay_text(record: &RunRecord, style: &Style) -> String {
    let Some((of, target)) = replayed(record) else { return String::new() };
    let (_, words) = clause(of, &target);
    format!("{}\n{}", sentence(&words, style), body(of, true, style))
}

fn latencies(of: &Replayed, all: bool, style: &Style) -> String {
    let (columns, rows) = latency_rows(of, all);
    grid(&columns, &rows, style, style.wide).text
}

/// A row per operation and size, recorded and replayed; with `all`, every size.
pub(crate) fn latency_rows(
    of: &Replayed,
    all: bool,
) -> (Vec<GridColumn<'static>>, Vec<Vec<GridCell>>) {
    let columns = vec![
        GridColumn::new("I/O", 0, false),
        GridColumn::new("UP TO", 0, true),
        GridColumn::new("I/OS", 2, true),
        GridColumn::new("RECORDED p50", 1, true),
        GridColumn::new("p99", 0, true),
        GridColumn::new("REPLAYED p50", 1, true),
        GridColumn::new("p99", 0, true),
        GridColumn::new("p99.9", 4, true),
    ];
    let quantile = |of: Option<ReplayedLatency>, which: fn(&ReplayedLatency) -> u64| {
        of.map_or("-".into(), |of| format_duration_ns(which(&of) as f64))
    };
    let mut rows = Vec::new();
    let mut before = "";
    for size in shown(of, all) {
        let name = if size.operation == before { "" } else { &size.operation };
        before = &size.operation;
        let bytes = match size.up_to_bytes {
            0 => "-".into(),
            bytes => Bytes(bytes).binary(),
        };
        let replayed = Some(size.replayed);
        let cells = [
            name.to_owned(),
            bytes,
            format_count(size.ios as f64),
            quantile(size.recorded, |of| of.p50_ns),
            quantile(size.recorded, |of| of.p99_ns),
            quantile(replayed, |of| of.p50_ns),
            quantile(replayed, |of| of.p99_ns),
            quantile(replayed, |of| of.p999_ns),
        ];
        rows.push(cells.into_iter().map(GridCell::plain).collect::<Vec<_>>());
    }
    (columns, rows)
}

/// The most frequent sizes of each operation, in ascending order of size.
fn shown(of: &Replayed, all: bool) -> impl Iterator<Item = &ReplayedSize> {
    of.sizes.iter().filter(move |size| {
        let more = of.sizes.iter().filter(|other| {
            other.operation == size.operation
                && (other.ios, other.up_to_bytes) > (size.ios, size.up_to_bytes)
        });
        all || more.count() < SIZES
    })
}

/// IOPS over time, recorded and replayed. The last row ends with the replay; a stub is left out.
fn rates(of: &Replayed, style: &Style) -> String {
    let columns = [
        GridColumn::new("FROM", 0, true),
        GridColumn::new("RECORDED IOPS", 0, true),
        GridColumn::new("REPLAYED IOPS", 0, true),
    ];
    let every = of.slots.len().div_ceil(TIMES).max(1);
    let seconds = (of.slot_ns * every as u64) as f64 / 1e9;
    let end_s = of.took_ns.max(of.recorded_ns) as f64 / 1e9;
    let row = |(n, slots): (usize, &[iodyno_model::ReplayedSlot])| {
        let lasts = (end_s - n as f64 * seconds).min(seconds);
        if n > 0 && lasts < SHORTEST_ROW * seconds {
            return None;
        }
        let rate = |count: u64| format_count(count as f64 / lasts.max(1e-9));
        let cells = [
            format!("{} s", format_count(n as f64 * seconds)),
            rate(slots.iter().map(|slot| slot.recorded).sum()),
            rate(slots.iter().map(|slot| slot.replayed).sum()),
        ];
        Some(cells.into_iter().map(GridCell::plain).collect())
    };
    let rows: Vec<Vec<GridCell>> = of.slots.chunks(every).enumerate().filter_map(row).collect();
    grid(&columns, &rows, style, style.wide).text
}

/// `12 reads, 3 writes`.
fn ios_words(of: &ReplayedIos) -> String {
    let words = [
        (of.reads, "read"),
        (of.writes, "write"),
        (of.discards, "discard"),
        (of.flushes, "flush"),
        (of.others, "other command"),
    ];
    let words = words.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| match noun {
        "flush" if count > 1 => format!("{count} flushes"),
        _ => counted(count as usize, noun),
    });
    listed(&words.collect::<Vec<_>>())
}

/// Caveats of comparing the two.
pub(crate) fn notes(of: &Replayed) -> Vec<String> {
    let trace = &of.trace;
    let duration = |ns: u64| format_duration_ns(ns as f64);
    let mut notes = Vec::new();
    if trace.lost > 0 {
        notes.push(format!("{}.", lost_note(trace.lost, "replay")));
    }
    let gap_ns = of.recorded_ns as f64 / ios(of).max(1) as f64;
    if !trace.closed {
        let share = of.issue_error.p99_ns as f64 / gap_ns.max(1.0);
        let share = match share < 10.0 {
            true => format!("{} of the mean gap", format_percent(share)),
            false => format!("{} mean gaps", format_count(share)),
        };
        let waited = match of.waited {
            0 => String::new(),
            some => {
                format!(
                    ", {} waited for one of {} in flight",
                    counted(some as usize, "I/O"),
                    of.depth
                )
            }
        };
        notes.push(format!(
            "Issue error: p50 {}, p99 {} ({share}){waited}. Latencies count from \
             when I/Os were due.",
            duration(of.issue_error.p50_ns),
            duration(of.issue_error.p99_ns)
        ));
    }
    if !trace.has_latencies {
        let what = format!("The trace ({}) has no latencies: none to compare with.", trace.source);
        notes.push(what);
    }
    if trace.tick_ns as f64 > gap_ns {
        notes.push(format!(
            "Recorded times are known to {} only, more than the mean gap: I/Os of one time are \
             issued at once, which may be more of a burst than there was.",
            duration(trace.tick_ns)
        ));
    }
    if trace.speed_percent > 100 && !trace.closed {
        let factor = format_count(f64::from(trace.speed_percent) / 100.0);
        notes.push(format!(
            "At {factor}x speed without waiting for completions the load is more than any \
             application makes: bursts that its waiting spread out come at once."
        ));
    }
    if trace.left_out.all() > 0 {
        notes.push(format!("Left out: {}.", ios_words(&trace.left_out)));
    }
    if of.discards_left_out > 0 {
        notes.push(format!(
            "Left out: {} of unused addresses, or smaller than a block.",
            counted(of.discards_left_out as usize, "discard")
        ));
    }
    if trace.durable > 0 {
        notes.push(format!(
            "{} durable at completion (FUA, or a flush in front); replayed as plain writes.",
            match trace.durable {
                1 => "1 write was".into(),
                many => format!("{many} writes were"),
            }
        ));
    }
    if of.aligned > 0 {
        let what = counted(of.aligned as usize, "I/O");
        notes.push(format!("{what} enlarged to whole blocks of the target."));
    }
    let used: Vec<_> = trace.devices.iter().filter(|device| device.end_bytes > 0).collect();
    match &trace.packed {
        Some(packed) => {
            let size = Bytes(packed.piece_bytes).binary();
            let places = match packed.places < packed.pieces {
                true => {
                    format!("{} places shared by neighbours, so less is touched", packed.places)
                }
                false => "their order".into(),
            };
            notes.push(format!(
                "Addresses: {} pieces of {size}, packed in {places}.",
                packed.pieces
            ));
        }
        None if used.len() > 1 => {
            let at = |device: &&iodyno_model::ReplayedDevice| {
                format!("{} from {}", clean(&device.name), Bytes(device.at_bytes).decimal())
            };
            let devices: Vec<String> = used.iter().map(at).collect();
            notes.push(format!("Recorded devices, concatenated: {}.", listed(&devices)));
        }
        None => {}
    }
    notes
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use iodyno_model::{PackedAddresses, ReplayedDevice, ReplayedSlot, ReplayedTrace};

    use super::*;

    fn found() -> Replayed {
        let latency = |p50_ns, p99_ns| ReplayedLatency {
            p50_ns,
            p99_ns,
            p999_ns: 2 * p99_ns,
            max_ns: 3 * p99_ns,
        };
        let size = |operation: &str, up_to_bytes, ios, p50| ReplayedSize {
            operation: operation.into(),
            up_to_bytes,
            ios,
            bytes: ios * up_to_bytes,
            recorded: Some(latency(p50, 3 * p50)),
            replayed: latency(p50 / 2, p50),
        };
        let device = |name: &str, at_bytes| ReplayedDevice {
            name: name.into(),
            at_bytes,
            end_bytes: 1 << 30,
        };
        let sizes = [4096, 8192, 16384, 65536, 131_072];
        let mut replayed = Replayed {
            trace: ReplayedTrace {
                source: "tracefs".into(),
                tick_ns: 1,
                has_latencies: true,
                speed_percent: 100,
                devices: vec![device("nvme0n1", 0), device("nvme1n1", 1 << 30)],
                left_out: ReplayedIos { flushes: 2, others: 1, ..ReplayedIos::default() },
                durable: 3,
                ..ReplayedTrace::default()
            },
            depth: 128,
            took_ns: 10_000_000_000,
            recorded_ns: 10_000_400_000,
            issue_error: latency(200, 9000),
            aligned: 1,
            sizes: sizes
                .iter()
                .map(|bytes| size("read", *bytes, 90_000 / bytes.ilog2() as u64, 80_000))
                .collect(),
            slot_ns: 1_000_000_000,
            slots: vec![ReplayedSlot { recorded: 900, replayed: 880 }; 11],
            ..Replayed::default()
        };
        replayed.sizes.push(size("flush", 0, 20, 900_000));
        replayed.pace = replayed.judge();
        replayed
    }

    #[test]
    fn recorded_and_replayed_are_side_by_side() {
        let style = Style { width: 100, color: false, wide: false, columns: None };
        expect![[r#"
            I/O     UP TO  I/OS  RECORDED p50     p99  REPLAYED p50     p99   p99.9
            read    4 KiB  7500         80 us  240 us         40 us   80 us  160 us
                    8 KiB  6923         80 us  240 us         40 us   80 us  160 us
                   16 KiB  6428         80 us  240 us         40 us   80 us  160 us
                   64 KiB  5625         80 us  240 us         40 us   80 us  160 us
            flush       -    20        900 us  2.7 ms        450 us  900 us  1.8 ms

            Issue error: p50 200 ns, p99 9 us (2.9 % of the mean gap). Latencies count from when I/Os were due.
            Left out: 2 flushes, 1 other command.
            3 writes were durable at completion (FUA, or a flush in front); replayed as plain writes.
            1 I/O enlarged to whole blocks of the target.
            Recorded devices, concatenated: nvme0n1 from 0 B, nvme1n1 from 1.07 GB.
        "#]].assert_eq(&body(&found(), false, &style));
        let all = body(&found(), true, &style);
        // The eleventh has 400 us.
        assert_eq!(all.matches(" 880\n").count(), 10, "{all}");
        let short = Replayed { took_ns: 10_500_000_000, ..found() };
        assert_eq!(body(&short, true, &style).matches(" 1760\n").count(), 1);
    }

    #[test]
    fn the_first_line_says_whether_the_pace_was_kept() {
        let say = |change: fn(&mut Replayed)| {
            let mut of = found();
            change(&mut of);
            of.pace = of.judge();
            let (label, said) = clause(&of, "x");
            format!("{} {said}", label.map_or("-", |(label, _)| label))
        };
        expect!["- x: kept the recorded pace: 10 s for 10 s recorded"].assert_eq(&say(|_| {}));
        expect!["BEHIND x: too slow for the recorded pace: 28 % of I/Os waited for others"]
            .assert_eq(&say(|of| of.waited = 9000));
        expect!["BEHIND x: too slow for the recorded pace: 17 s for 10 s recorded"]
            .assert_eq(&say(|of| of.took_ns = 17_000_000_000));
        // Each I/O is later than the one before, and so is its latency, counted from its due time.
        let later = |of: &mut Replayed| {
            of.took_ns = 17_000_000_000;
            of.issue_error.p99_ns = 6_900_000_000;
            of.sizes[0].replayed.p99_ns = 6_950_000_000;
        };
        assert!(say(later).starts_with("BEHIND"));
        expect!["LATE x: this host issued I/Os late (p99 5 ms): 10 s for 10 s recorded"]
            .assert_eq(&say(|of| of.issue_error.p99_ns = 5_000_000));
        expect!["- x: kept the recorded pace: 10 s for 20 s recorded, at 2x speed"]
            .assert_eq(&say(|of| of.trace.speed_percent = 200));
        expect!["- x: closed loop, 2.5x as fast: 4 s for 10 s recorded"]
            .assert_eq(&say(|of| (of.trace.closed, of.took_ns) = (true, 4_000_000_000)));
    }

    #[test]
    fn differences_from_the_recording_are_noted() {
        let mut of = found();
        of.trace.lost = 12;
        of.trace.speed_percent = 250;
        of.trace.has_latencies = false;
        of.trace.tick_ns = 1_000_000;
        of.discards_left_out = 4;
        let packed = PackedAddresses { piece_bytes: 1 << 20, pieces: 900, places: 300 };
        of.trace.packed = Some(packed);
        expect![[r#"
            12 events lost in the recording: I/Os are missing, also in the replay.
            Issue error: p50 200 ns, p99 9 us (2.9 % of the mean gap). Latencies count from when I/Os were due.
            The trace (tracefs) has no latencies: none to compare with.
            Recorded times are known to 1 ms only, more than the mean gap: I/Os of one time are issued at once, which may be more of a burst than there was.
            At 2.5x speed without waiting for completions the load is more than any application makes: bursts that its waiting spread out come at once.
            Left out: 2 flushes, 1 other command.
            Left out: 4 discards of unused addresses, or smaller than a block.
            3 writes were durable at completion (FUA, or a flush in front); replayed as plain writes.
            1 I/O enlarged to whole blocks of the target.
            Addresses: 900 pieces of 1 MiB, packed in 300 places shared by neighbours, so less is touched."#]].assert_eq(&notes(&of).join("\n"));
    }
}
