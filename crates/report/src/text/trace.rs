//! Summary of a trace: the I/Os a device received, and their latencies.

use iodyno_model::{
    Bytes, Histogram, TraceBurst, TraceCourse, TraceSummary, TracedOperation, TracedSize,
    format_count, format_duration_ns, format_mb_per_s, format_percent,
};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{clean, dim, first_line};

/// Sizes shown per operation.
const SIZES: usize = 4;
/// Processes shown.
const ACTORS: usize = 5;
/// Index of dispersion of counts above which rates alone do not predict p99; about 1 for
/// independent I/Os.
const BURSTY: f64 = 2.0;

/// Headline, tables of sizes with latency parts, bursts and processes, and the caveats.
pub fn trace_text(summary: &TraceSummary, style: &Style) -> String {
    let mut out = match summary.ios() {
        0 => {
            let watched = format_duration_ns(summary.duration_ns as f64);
            format!("No I/Os in {watched}{}.\n", on_devices(summary))
        }
        _ => table(summary, style),
    };
    for line in notes(summary) {
        out.push_str(&first_line(("", Ink::Plain), &[line], style));
    }
    out
}

/// The report without its caveats.
fn table(summary: &TraceSummary, style: &Style) -> String {
    let mut out = first_line(("", Ink::Plain), &headline(summary), style);
    let (columns, rows) = size_rows(summary);
    out.push_str(&grid(&columns, &rows, style, style.wide).text);
    let lines: String = small(summary).iter().map(|words| dim(words, style)).collect();
    if !lines.is_empty() {
        out.push_str(&format!("\n{lines}"));
    }
    out
}

/// Bursts, addresses and processes, a line each, starting with its name.
pub(crate) fn small(summary: &TraceSummary) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let bursts = summary.bursts.iter().filter(|one| one.slot_ns > summary.tick_ns);
    let mut bursts: Vec<String> = bursts.map(burst).collect();
    if !bursts.is_empty() {
        bursts.insert(0, "burstiness (random: 1)".into());
        lines.push(bursts);
    }
    lines.extend(summary.course.as_ref().map(address_line));
    if !summary.actors.is_empty() {
        lines.push(actors(summary));
    }
    lines
}

/// `addresses   up to 500 GiB   in 12 of 63 parts of 8 GiB   half of the I/Os in 2 parts`.
fn address_line(course: &TraceCourse) -> Vec<String> {
    let zones = course.end_bytes.div_ceil(course.zone_bytes.max(1)).max(1) as usize;
    let mut counts = vec![0_u64; zones];
    for of in course.slots.iter().flat_map(|slot| [&slot.reads, &slot.writes]) {
        counts.iter_mut().zip(of).for_each(|(to, from)| *to += from);
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all: u64 = counts.iter().sum();
    let used = counts.iter().filter(|count| **count > 0).count();
    let mut seen = 0;
    let half = counts.iter().take_while(|count| {
        let is_before = seen * 2 < all;
        seen += *count;
        is_before
    });
    let mut words = vec!["addresses".into(), format!("up to {}", Bytes(course.end_bytes).binary())];
    // Too few zones to tell.
    if zones >= 8 {
        let part = Bytes(course.zone_bytes).binary();
        words.push(format!("in {used} of {zones} parts of {part}"));
        words.push(format!("half of the I/Os in {}", counted(half.count(), "part")));
    }
    words
}

/// Progress line while recording.
pub fn trace_line(summary: &TraceSummary) -> String {
    let seconds = summary.duration_ns as f64 / 1e9;
    let p99 = summary.latency().quantile_ns(0.99);
    let p99 = p99.map_or(String::new(), |ns| format!(", p99 {}", format_duration_ns(ns as f64)));
    let lost = match summary.lost {
        0 => String::new(),
        lost => format!(", {} events lost", format_count(lost as f64)),
    };
    format!(
        "{seconds:.0} s  {} IOPS, {}, {} I/Os{p99}{lost}",
        format_count(summary.ios() as f64 / seconds),
        format_mb_per_s(summary.bytes() as f64 / seconds),
        format_count(summary.ios() as f64)
    )
}

fn on_devices(summary: &TraceSummary) -> String {
    match &summary.devices[..] {
        [] => String::new(),
        [one] => format!(" on {}", clean(one)),
        many => format!(" on {} devices", many.len()),
    }
}

/// `10 s on nvme0n1   41.2k IOPS, 169 MB/s   70 % reads   mostly random 4 KiB reads   p99 1.2 ms`.
pub(crate) fn headline(summary: &TraceSummary) -> Vec<String> {
    let seconds = (summary.duration_ns as f64 / 1e9).max(1e-9);
    let mut items =
        vec![format!("{}{}", format_duration_ns(summary.duration_ns as f64), on_devices(summary))];
    items.push(match summary.duration_ns {
        // I/Os of one moment have no rate.
        0 => counted(summary.ios() as usize, "I/O"),
        _ => format!(
            "{} IOPS, {}",
            format_count(summary.ios() as f64 / seconds),
            format_mb_per_s(summary.bytes() as f64 / seconds)
        ),
    });
    if summary.discarded_bytes() > 0 {
        items.push(format!("{} discarded", Bytes(summary.discarded_bytes()).binary()));
    }
    let count = |name: &str| {
        let found = summary.operations.iter().find(|one| one.operation == name);
        found.map_or(0, |one| one.ios) as f64
    };
    let (reads, writes) = (count("read"), count("write"));
    if reads + writes > 0.0 {
        items.push(format!("{} reads", format_percent(reads / (reads + writes))));
    }
    let most = summary.operations.iter().map(|one| one.ios).max();
    let mut leading = summary.operations.iter().filter(|one| Some(one.ios) == most);
    // Equally many of two kinds: none is the most frequent one.
    if let (Some(one), None) = (leading.next(), leading.next()) {
        let is_sequential = one.sequential * 2 > one.ios;
        let order = if is_sequential { "sequential" } else { "random" };
        let size = one.sizes.first().filter(|size| size.ios * 2 > one.ios);
        let size = size.and_then(|size| size.bytes).filter(|bytes| *bytes > 0);
        let size = size.map(|bytes| format!(" {}", Bytes(bytes.into()).binary()));
        // The most frequent one may be less than half of all.
        let mostly = if one.ios * 2 > summary.ios() { "mostly" } else { "most often" };
        items.push(match one.operation.as_str() {
            "flush" => format!("{mostly} flushes"),
            "other" => format!("{mostly} other I/Os"),
            name => format!("{mostly} {order}{} {name}s", size.unwrap_or_default()),
        });
    }
    let is_bursty = |one: &TraceBurst| {
        one.slot_ns > summary.tick_ns && one.slot_ns <= 100_000_000 && one.dispersion > BURSTY
    };
    if summary.bursts.iter().any(is_bursty) {
        items.push("bursty".into());
    }
    items.push(match summary.latency().quantile_ns(0.99) {
        Some(ns) => format!("p99 {}", format_duration_ns(ns as f64)),
        None => "no latencies".into(),
    });
    items
}

/// Table of sizes: each operation with its most frequent sizes.
pub(crate) fn size_rows(summary: &TraceSummary) -> (Vec<GridColumn<'static>>, Vec<Vec<GridCell>>) {
    let columns = vec![
        GridColumn::new("I/O", 0, false),
        GridColumn::new("SIZE", 0, true),
        GridColumn::new("I/OS", 0, true),
        GridColumn::new("SHARE", 1, true),
        GridColumn::new("SEQUENTIAL", 4, true),
        GridColumn::new("p50", 2, true),
        GridColumn::new("p99", 0, true),
        GridColumn::new("p99.9", 3, true),
        GridColumn::new("QUEUE p99", 5, true),
        GridColumn::new("DEVICE p99", 5, true),
    ];
    let all = summary.ios() as f64;
    let quantile = |of: &Histogram, q| {
        let ns = of.quantile_ns(q);
        ns.map_or("-".into(), |ns| format_duration_ns(ns as f64))
    };
    let row = |name: &str, size: String, ios: u64, latency: &Histogram, rest: [String; 3]| {
        let [sequential, queue, device] = rest;
        let cells = [
            name.to_owned(),
            size,
            format_count(ios as f64),
            format_percent(ios as f64 / all),
            sequential,
            quantile(latency, 0.5),
            quantile(latency, 0.99),
            quantile(latency, 0.999),
            queue,
            device,
        ];
        cells.into_iter().map(GridCell::plain).collect::<Vec<_>>()
    };
    let mut rows = Vec::new();
    for one in &summary.operations {
        let TracedOperation { operation, ios, latency, .. } = one;
        let sequential = match one.bytes {
            0 => "-".into(),
            _ => format_percent(one.sequential as f64 / *ios as f64),
        };
        let parts = [sequential, quantile(&one.queue, 0.99), quantile(&one.device, 0.99)];
        let only = &one.sizes[..];
        let size = match only {
            [TracedSize { bytes: Some(bytes), .. }] if *bytes > 0 => {
                Bytes((*bytes).into()).binary()
            }
            [] | [_] => "-".into(),
            _ => "all".into(),
        };
        rows.push(row(operation, size, *ios, latency, parts));
        if only.len() > 1 {
            let (shown, rest) = only.split_at(only.len().min(SIZES));
            for size in shown {
                let bytes = size.bytes.map_or("other".into(), |bytes| Bytes(bytes.into()).binary());
                rows.push(row("", bytes, size.ios, &size.latency, Default::default()));
            }
            if !rest.is_empty() {
                let mut latency = Histogram::default();
                rest.iter().for_each(|size| latency.merge(&size.latency));
                let ios = rest.iter().map(|size| size.ios).sum();
                rows.push(row("", "other".into(), ios, &latency, Default::default()));
            }
        }
    }
    (columns, rows)
}

fn burst(one: &TraceBurst) -> String {
    let slot = format_duration_ns(one.slot_ns as f64);
    format!(
        "{} at {slot} (at most {} I/Os)",
        format_count(one.dispersion),
        format_count(one.most as f64)
    )
}

fn actors(summary: &TraceSummary) -> Vec<String> {
    let all = summary.ios() as f64;
    let shown =
        summary.actors.iter().take(ACTORS).map(|actor| {
            format!("{} {}", clean(&actor.name), format_percent(actor.ios as f64 / all))
        });
    std::iter::once("processes".to_owned()).chain(shown).collect()
}

/// Note on lost events, which are missing from the `product` too.
pub(crate) fn lost_note(events: u64, product: &str) -> String {
    let events = counted(events as usize, "event");
    format!("{events} lost in the recording: I/Os are missing, also in the {product}")
}

/// Parts of a trace file that are missing or misplaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Damage {
    /// Unreadable blocks or lines.
    pub damaged: u64,
    /// I/Os too far out of order, which got the time of the one before.
    pub displaced: u64,
    /// The end is missing.
    pub is_cut: bool,
}

impl Damage {
    /// Damage of the trace that was summarized.
    pub const fn of(summary: &TraceSummary) -> Self {
        let TraceSummary { damaged, displaced, is_cut, .. } = *summary;
        Self { damaged, displaced, is_cut }
    }
}

/// Notes on a damaged trace file.
pub fn damage_notes(Damage { damaged, displaced, is_cut }: Damage) -> Vec<String> {
    let mut notes = Vec::new();
    if damaged > 0 {
        let what = match damaged {
            1 => "1 block or line".into(),
            damaged => format!("{} blocks or lines", format_count(damaged as f64)),
        };
        notes.push(format!("{what} could not be read: I/Os may be missing"));
    }
    if displaced > 0 {
        let ios = counted(displaced as usize, "I/O");
        notes.push(format!("{ios} too far out of order: their times are wrong; sort the trace"));
    }
    if is_cut {
        notes.push("the recording was cut off".into());
    }
    notes
}

/// Caveats of the trace.
pub(crate) fn notes(summary: &TraceSummary) -> Vec<String> {
    let count = |count: u64| format_count(count as f64);
    let mut notes = Vec::new();
    if summary.lost > 0 {
        notes.push(format!("{} events lost: I/Os are missing", count(summary.lost)));
    }
    if summary.unmatched > 0 {
        let share = match summary.ios() {
            0 => String::new(),
            ios => format!(" ({})", format_percent(summary.unmatched as f64 / ios as f64)),
        };
        notes.push(format!("{} I/Os seen partly{share}", count(summary.unmatched)));
    }
    notes.extend(damage_notes(Damage::of(summary)));
    if summary.tick_ns > 1_000_000 {
        let tick = format_duration_ns(summary.tick_ns as f64);
        notes.push(format!("time resolution is {tick}: no bursts below that"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|ns| histogram.record(*ns));
        histogram
    }

    fn summary() -> TraceSummary {
        let (small, large) = (histogram(&[80_000; 600]), histogram(&[900_000; 100]));
        let mut both = small.clone();
        both.merge(&large);
        let size = |bytes, ios, latency: &Histogram| TracedSize {
            bytes: Some(bytes),
            ios,
            latency: latency.clone(),
        };
        let read = TracedOperation {
            operation: "read".into(),
            ios: 700,
            bytes: 600 * 4096 + 100 * 131_072,
            sequential: 70,
            sizes: vec![size(4096, 600, &small), size(131_072, 100, &large)],
            queue: histogram(&[1_000; 700]),
            device: both.clone(),
            latency: both,
        };
        let write = TracedOperation {
            operation: "write".into(),
            ios: 300,
            bytes: 300 * 16384,
            sequential: 300,
            sizes: vec![size(16384, 300, &small)],
            latency: small.clone(),
            ..TracedOperation::default()
        };
        let burst = TraceBurst { slot_ns: 10_000_000, dispersion: 12.5, most: 90 };
        TraceSummary {
            source: "tracefs".into(),
            devices: vec!["nvme0n1".into()],
            duration_ns: 2_000_000_000,
            tick_ns: 1,
            operations: vec![read, write],
            bursts: vec![burst],
            course: Some(TraceCourse {
                slot_ns: 2_000_000_000,
                zone_bytes: 1 << 30,
                end_bytes: 20 << 30,
                slots: vec![iodyno_model::TraceSlot {
                    reads: vec![600, 0, 0, 50, 50],
                    writes: vec![0, 300],
                    ..Default::default()
                }],
            }),
            actors: vec![iodyno_model::TracedActor { name: "db\x1b".into(), ios: 900, bytes: 1 }],
            ..TraceSummary::default()
        }
    }

    #[test]
    fn only_reads_and_writes_have_bandwidth_and_latency() {
        let discard = TracedOperation {
            operation: "discard".into(),
            ios: 2000,
            bytes: 1 << 40,
            latency: histogram(&[9_000_000_000; 2000]),
            ..TracedOperation::default()
        };
        let flush =
            TracedOperation { operation: "flush".into(), ios: 4000, ..TracedOperation::default() };
        let mut summary = summary();
        summary.operations.extend([discard, flush]);
        let words = headline(&summary);
        assert_eq!(words[1], "3500 IOPS, 10.2 MB/s");
        assert_eq!(words[2], "1 TiB discarded");
        assert!(words.contains(&"mostly flushes".into()), "{words:?}");
        assert_eq!(words.last().unwrap(), "p99 900 us");
        // I/Os of one moment.
        let words = headline(&TraceSummary { duration_ns: 0, ..summary });
        assert_eq!(words[1], "7000 I/Os");
    }

    #[test]
    fn of_two_equally_frequent_operations_none_is_named() {
        let mut summary = summary();
        summary.operations[1].ios = 700;
        let words = headline(&summary);
        assert!(words.contains(&"50 % reads".into()), "{words:?}");
        assert!(words.iter().all(|one| !one.starts_with("most")), "{words:?}");
    }

    #[test]
    fn misplaced_ios_are_a_note() {
        let damage = Damage { displaced: 1, ..Damage::default() };
        assert_eq!(damage_notes(damage).len(), 1);
        assert!(damage_notes(damage)[0].starts_with("1 I/O too far out of order"));
    }

    #[test]
    fn a_trace_is_a_line_and_a_table() {
        let style = Style { width: 100, color: false, wide: false, columns: None };
        let lost = TraceSummary { lost: 12, unmatched: 3, is_cut: true, ..summary() };
        expect![[r#"
            2 s on nvme0n1   500 IOPS, 10.2 MB/s   70 % reads   mostly random 4 KiB reads   bursty   p99 900 us
            I/O       SIZE  I/OS  SHARE  SEQUENTIAL      p50     p99   p99.9  QUEUE p99  DEVICE p99
            read       all   700   70 %        10 %  80.9 us  900 us  900 us       1 us      900 us
                     4 KiB   600   60 %                80 us   80 us   80 us
                   128 KiB   100   10 %               900 us  900 us  900 us
            write   16 KiB   300   30 %       100 %    80 us   80 us   80 us          -           -

            burstiness (random: 1)   12.5 at 10 ms (at most 90 I/Os)
            addresses   up to 20 GiB   in 4 of 20 parts of 1 GiB   half of the I/Os in 1 part
            processes   db 90 %
            12 events lost: I/Os are missing
            3 I/Os seen partly (0.3 %)
            the recording was cut off
        "#]].assert_eq(&trace_text(&lost, &style));
        let empty = TraceSummary { operations: Vec::new(), ..summary() };
        assert_eq!(trace_text(&empty, &style), "No I/Os in 2 s on nvme0n1.\n");
        let cut = TraceSummary { unmatched: 3, is_cut: true, ..empty };
        expect![[r#"
            No I/Os in 2 s on nvme0n1.
            3 I/Os seen partly
            the recording was cut off
        "#]]
        .assert_eq(&trace_text(&cut, &style));
        assert_eq!(trace_line(&summary()), "2 s  500 IOPS, 10.2 MB/s, 1000 I/Os, p99 900 us");
    }
}
