//! Rounds as text, page and documents.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::style;
use iodyno_figure::Kind;
use iodyno_judge::ClaimBook;
use iodyno_model::{
    Direction, DirectionResult, DriveState, EndReason, Estimate, Fact, FillState, Measurement,
    Metric, PlanPreparation, PreparationState, PtsStatement, PurgeMethod, Purpose, Rounds,
    RoundsPlan, RunKind, RunRecord, RunState, Tracked,
};
use iodyno_report::document::TargetRounds;
use iodyno_report::page::{PageRun, page};
use iodyno_report::text::{pts_text, rounds_text};
use iodyno_report::{Judged, drawn, tracks};
use proptest::prelude::*;

/// Run in rounds whose tracked point had these IOPS; 0: it failed.
fn record(point: &str, iops: &[f64]) -> (RunRecord, Rounds) {
    let mut record = common::record();
    let first = record.measurements[0].clone();
    let one = |(round, iops): (usize, &f64)| {
        let mut one: Measurement = first.clone();
        one.name = point.into();
        one.round = Some(round as u32 + 1);
        one.total[0].iops = Some(Estimate::bare(*iops));
        if *iops == 0.0 {
            one.end = EndReason::Failed("gone".into());
        }
        one
    };
    record.measurements = iops.iter().enumerate().map(one).collect();
    record.run.state = RunState::Done;
    record.run.targets = vec!["nvme0n1".into()];
    let tracked = Tracked { point: point.into(), metric: Metric::Iops };
    (record, Rounds { track: vec![tracked], ..Rounds::default() })
}

#[test]
fn the_window_has_its_fitted_line_and_limits() {
    let (record, rounds) = record("0/100 bs=4k", &[900.0, 95.0, 97.5, 100.0, 102.5, 105.0]);
    let text = rounds_text(&record, &rounds, &style(100));
    for words in [
        "reached in round 6 of at most 25; window: rounds 2 to 6",
        "\n    1          900 IOPS\n",
        "\n    2           95 IOPS  window\n",
        "steady, average 100 IOPS, range 10.0 % (at most 20 %)",
        "slope 10.0 % (at most 10 %), fit 95.0 + 2.50 x (round - 2) IOPS",
        "Averages over rounds 2 to 6\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let document = TargetRounds::of(&rounds, &record);
    assert_eq!((document[0].steady_in, document[0].window), (Some(6), Some((2, 6))));
    let window = document[0].tracked[0].window.unwrap();
    assert!((window.slope_percent - 10.0).abs() < 1e-9 && window.steady);
    assert!((window.fit_first - 95.0).abs() < 1e-9 && (window.fit_slope - 2.5).abs() < 1e-9);
}

#[test]
fn unsteady_figures_are_reported() {
    let (mut record, rounds) = record("p", &[100.0, 100.0, 0.0, 100.0, 100.0, 50.0, 100.0, 100.0]);
    let text = rounds_text(&record, &rounds, &style(100));
    assert!(text.contains("NOT REACHED in 8 rounds") && text.contains("NOT STEADY"), "{text}");
    assert!(text.contains("NOT IN STEADY STATE") && text.contains("    3         -\n"), "{text}");
    // It may still become steady.
    record.run.state = RunState::Interrupted;
    let text = rounds_text(&record, &rounds, &style(100));
    assert!(text.contains("not reached yet, after 8 of at most 25"), "{text}");
    record.measurements.truncate(2);
    let text = rounds_text(&record, &rounds, &style(100));
    assert!(text.contains("fewer than 5 consecutive rounds known"), "{text}");
}

#[test]
fn unrecorded_items_are_reported_as_unknown() {
    let (record, rounds) = record("p", &[100.0; 5]);
    let plan = RoundsPlan {
        rounds,
        about: "IOPS\u{1b}[2J".into(),
        before: "purge it".into(),
        ..RoundsPlan::default()
    };
    let text = pts_text(&record, &plan, &[], &style(80));
    for words in ["Purge         unknown", "plan requires: purge it", "operator", "serial"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn pauses_are_those_between_measurements() {
    let (mut record, rounds) = record("p", &[100.0; 5]);
    let plan = RoundsPlan { rounds, ..RoundsPlan::default() };
    let said = |record: &RunRecord| {
        let text = pts_text(record, &plan, &[], &style(400));
        let line = text.lines().find_map(|line| line.strip_prefix("Pauses"));
        line.map(|line| line.trim().to_owned())
    };
    for (n, of) in record.measurements.iter_mut().enumerate() {
        of.phase = n as u32 + 1;
    }
    assert_eq!(said(&record), None);
    // Killed, resumed; stopped at the end, and never resumed.
    record.run.resumed_at = vec![2];
    record.measurements[4].end = EndReason::Interrupted;
    assert_eq!(said(&record).as_deref(), Some("resumed once"));
    // As recorded by earlier versions.
    record.run.resumed_at.clear();
    assert_eq!(said(&record), None);
    record.measurements[1].end = EndReason::Interrupted;
    assert_eq!(said(&record).as_deref(), Some("resumed once"));
}

#[test]
fn times_of_points_have_readable_units() {
    let (mut record, rounds) = record("p", &[100.0; 5]);
    for (of, runtime) in record.measurements.iter_mut().zip(["60s", "1800ms", "10", "1800ms"]) {
        of.workload.options.insert("runtime".into(), runtime.into());
        of.workload.options.insert("time_based".into(), "1".into());
    }
    let plan = RoundsPlan { rounds, ..RoundsPlan::default() };
    let text = pts_text(&record, &plan, &[], &style(400));
    assert!(text.contains("time per point 1.8 s, 10 s, 60 s ·"), "{text}");
    // Without it a point ends with its work.
    record.measurements[1].workload.options.remove("time_based");
    let text = pts_text(&record, &plan, &[], &style(400));
    assert!(text.contains("time per point at most 1.8 s, 10 s, 60 s ·"), "{text}");
}

#[test]
fn preparations_in_the_store_are_reported() {
    let (mut record, rounds) = record("p", &[100.0; 5]);
    let drive = &mut record.snapshots[0].drives[0];
    drive.namespaces[0].nsid = Fact::Read(1);
    let Fact::Read(health) = &mut drive.health else { panic!("{drive:?}") };
    health.host_written_bytes = 3_000_000_000_000;
    let serial = drive.serial.get().unwrap().clone();
    let plan = RoundsPlan { rounds, ..RoundsPlan::default() };
    let state = DriveState {
        serial,
        nsid: 1,
        run_id: None,
        at_ns: 0,
        state: PreparationState::Done,
        purge: Some(PurgeMethod::FormatCrypto),
        fill: Some(FillState { written_bytes: 2_000_000_000_000, duration_ns: 1 }),
        condition: None,
        capacity_bytes: Some(1_000_000_000_000),
        host_written_bytes: Some(3_000_000_000_000),
    };
    let said =
        |state: DriveState| pts_text(&record, &plan, &[state], &style(400)).replace("   ", "");
    let text = said(state.clone());
    for words in [
        "format-crypto · 1970-01-01 00:00 UTC",
        "written 2.00 times its capacity in sequence (2 TB)",
        "nothing written since",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let since = DriveState { host_written_bytes: Some(2_999_000_000_000), ..state.clone() };
    assert!(said(since).contains("1 GB written since"));
    let begun = DriveState { state: PreparationState::Begun, fill: None, ..state.clone() };
    let text = said(begun);
    assert!(text.contains("no end recorded"), "{text}");
    assert!(text.contains("not written in the last preparation"), "{text}");
    let none = DriveState { purge: None, host_written_bytes: None, ..state.clone() };
    let text = said(none);
    assert!(text.contains("none in the last preparation"), "{text}");
    assert!(text.contains("unknown whether it was written since"));
    // The state of another namespace does not count.
    let other = said(DriveState { nsid: 2, ..state });
    assert!(other.contains("unknown: none recorded"), "{other}");
}

fn tracking(point: &str) -> RoundsPlan {
    let track = vec![Tracked { point: point.into(), metric: Metric::Iops }];
    RoundsPlan { rounds: Rounds { track, ..Rounds::default() }, ..RoundsPlan::default() }
}

/// The page of a run that tracked the IOPS of `point`.
fn page_of(record: &mut RunRecord, point: &str) -> String {
    record.run.rounds = Some(tracking(point));
    let (_, assessment) = common::virtual_machine();
    let judged = Judged { record, assessment: &assessment };
    page(&[PageRun::new(judged)], &ClaimBook::default()).unwrap()
}

#[test]
fn a_page_has_figures_of_the_rounds_but_none_per_round() {
    let (mut record, _) = record("0/100 </script>", &[900.0, 99.0, 100.0, 101.0, 100.0, 100.0]);
    let text = page_of(&mut record, "0/100 </script>");
    for words in [
        "reached in round 6 of at most 25",
        "Averages over rounds 2 to 6",
        "Convergence to steady state",
        "Measurement window",
        "unknown: none recorded",
        "\"steady_in\":6",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert!(text.contains("<summary>Each round</summary>"));
    // ECharts itself contains none of these texts.
    assert_eq!(text.matches("Rates and latencies over time").count(), 0);
    assert!(!text.contains("0/100 </script>"));
}

#[test]
fn a_page_says_first_whether_conditioning_reached_steady_state() {
    let (mut record, rounds) = record("p", &[900.0, 99.0]);
    record.run.kind = RunKind::Sweep;
    let (_, assessment) = common::virtual_machine();
    let judged = Judged { record: &record, assessment: &assessment };
    let run = PageRun { conditioned: Some(&rounds), ..PageRun::new(judged) };
    let text = page(&[run], &ClaimBook::default()).unwrap();
    let first = text.split_once("class=\"verdict\"").unwrap().1.split_once("</p>").unwrap().0;
    assert!(first.contains(": NOT REACHED in 2 rounds"), "{first}");
}

#[test]
fn sweep_figures_show_each_point_once_and_time_figures_all() {
    let (mut record, _) = record("p", &[900.0, 99.0, 100.0, 101.0, 100.0, 100.0]);
    record.run.rounds = Some(tracking("p"));
    let (shown, of) = drawn(&record, Kind::Grid);
    assert_eq!((shown.measurements.len(), of), (1, vec![vec![1, 2, 3, 4, 5]]));
    assert_eq!(shown.measurements[0].total[0].iops, Some(Estimate::bare(100.0)));
    assert_eq!(drawn(&record, Kind::Course).0.measurements.len(), 6);
    let found = tracks(&record, 3);
    assert_eq!((found.len(), found[0].source), (1, 3));
    assert_eq!(found[0].window.as_ref().map(|window| window.average), Some(100.0));
}

proptest! {
    // Each record is a whole machine with all its latencies: some ms to make.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_measured_values_can_be_shown(
        iops in prop::collection::vec(prop_oneof![Just(0.0), any::<f64>(), 1.0..1e7_f64], 0..12),
        point in ".{0,30}",
        width in 20_usize..120,
    ) {
        let (record, rounds) = record(&point, &iops);
        let text = rounds_text(&record, &rounds, &style(width));
        prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        prop_assert!(!text.contains("NaN"), "{text}");
        let document = serde_json::to_string(&TargetRounds::of(&rounds, &record)).unwrap();
        let read: Vec<TargetRounds> = serde_json::from_str(&document).unwrap();
        prop_assert_eq!(read.len(), usize::from(!iops.is_empty()));
    }
}

#[test]
fn a_run_that_prepared_its_drives_itself_says_how_far() {
    let (mut record, rounds) = record("p", &[100.0; 5]);
    let step = |purpose: Purpose, end: EndReason, bytes: u64| {
        let mut of = record.measurements[0].clone();
        (of.name, of.purpose, of.end, of.round) = ("step".into(), purpose, end, None);
        of.total = vec![DirectionResult {
            whole_bytes: Some(bytes),
            ..DirectionResult::unknown(Direction::Write)
        }];
        of
    };
    let capacity = record.snapshots[0].block("nvme0n1").unwrap().size.get().unwrap().0;
    let purged = step(Purpose::Discard, EndReason::Done, 0);
    let stopped = step(Purpose::Discard, EndReason::Interrupted, 0);
    let half = step(Purpose::Fill, EndReason::Interrupted, capacity / 2);
    let rest = step(Purpose::Fill, EndReason::Done, capacity / 2 * 3);
    let in_rounds = record.measurements.clone();
    let own = PlanPreparation { purge: Some(PurgeMethod::Discard), fill: Some(2.0) };
    let before = "purge it and fill it".to_owned();
    let report = PtsStatement { operator: Some("Jane Doe".into()), ..PtsStatement::default() };
    let plan = RoundsPlan { rounds, about: String::new(), before, report, preparation: Some(own) };
    record.run.resumed_at = vec![2];
    let mut said = |measurements: &[&[Measurement]]| {
        record.measurements = measurements.concat();
        pts_text(&record, &plan, &[], &style(400))
    };
    let whole = said(&[&[purged.clone(), half.clone(), rest], &in_rounds]);
    for words in [
        "Purge         discard · by this run, before the test\n",
        "Conditioning  written 2.00 times its capacity in sequence (",
        "), in 128 KiB blocks · by this run, before the test · plan requires: purge it",
        "Stated        operator Jane Doe\n",
        "Not known     auditor · form factor · media · major features\n",
        "resumed once\n",
    ] {
        assert!(whole.contains(words), "{words}: {whole}");
    }
    let text = said(&[&[stopped]]);
    assert!(text.contains("discard · by this run, stopped before its end\n"), "{text}");
    assert!(text.contains("Conditioning  not written · plan"), "{text}");
    let text = said(&[&[purged, half]]);
    assert!(text.contains("discard · by this run, before the test\n"), "{text}");
    assert!(text.contains("written 0.50 times its capacity"), "{text}");
    assert!(text.contains("blocks · by this run, stopped before its end"), "{text}");
    assert!(said(&[]).contains("discard · started by this run, no end recorded\n"));
}

#[test]
fn data_is_random_and_steady_state_the_specifications_only_if_nothing_says_otherwise() {
    let (mut record, rounds) = record("p", &[100.0; 5]);
    let mut plan = RoundsPlan { rounds, ..RoundsPlan::default() };
    let mut with = |option: &str, value: &str, plan: &RoundsPlan| {
        for of in &mut record.measurements {
            of.workload.rw = Some("randwrite".into());
            of.workload.options = [("refill_buffers".into(), "1".into())].into();
            of.workload.options.insert(option.into(), value.into());
        }
        pts_text(&record, plan, &[], &style(400))
    };
    let text = with("runtime", "1m", &plan);
    assert!(text.contains("data: random, new for each write\n"), "{text}");
    assert!(text.contains("Steady        PTS 2.0.2, 2.1.24 · "), "{text}");
    plan.rounds.excursion_percent = 50.0;
    let text = with("buffer_compress_percentage", "90", &plan);
    let words = "data: compressible or repeated (buffer_compress_percentage=90)\n";
    assert!(text.contains(words) && !text.contains("data: random"), "{text}");
    assert!(text.contains("Steady        by the plan · "), "{text}");
}

/// A run that was interrupted before its first round, and one read from a document.
#[test]
fn unknown_threads_and_depths_are_said_to_be_unknown() {
    let (mut record, rounds) = record("p", &[100.0]);
    let plan = RoundsPlan { rounds, ..RoundsPlan::default() };
    let unknown = "threads not known · queue depth per thread not known · ";
    let workload = &mut record.measurements[0].workload;
    (workload.numjobs, workload.iodepth) = (None, None);
    let text = pts_text(&record, &plan, &[], &style(400));
    assert!(text.contains(unknown), "{text}");
    (record.measurements[0].round, record.measurements[0].purpose) = (None, Purpose::Fill);
    let text = pts_text(&record, &plan, &[], &style(400));
    assert!(text.contains(unknown) && !text.contains("data: random"), "{text}");
}

#[test]
fn the_write_cache_state_comes_from_the_drive() {
    let (mut record, rounds) = record("p", &[100.0; 5]);
    let plan = RoundsPlan { rounds, ..RoundsPlan::default() };
    for (fact, words) in [
        (Fact::Read(false), "volatile write cache off"),
        (Fact::Read(true), "volatile write cache on"),
        (Fact::Absent, "no volatile write cache"),
        (Fact::NeedsRoot, "volatile write cache unknown"),
    ] {
        let host = &mut record.snapshots[0];
        host.drives[0].write_cache_on = fact;
        // The kernel's view of its queue is something else.
        host.blocks
            .iter_mut()
            .for_each(|one| one.queue.write_cache = Fact::Read("write back".into()));
        let text = pts_text(&record, &plan, &[], &style(400));
        assert!(text.contains(words) && !text.contains("write back"), "{words}: {text}");
    }
}

#[test]
fn points_of_two_dimensions_make_a_table() {
    let (mut record, rounds) = record("0/100 bs=4k", &[100.0; 5]);
    let own = record.measurements.clone();
    for (n, name) in ["100/0 bs=64k", "100/0 bs=4k", "0/100 bs=64k", "before"].iter().enumerate() {
        let more = own.iter().cloned().map(|mut of| {
            of.name = (*name).into();
            of.total[0].iops = Some(Estimate::bare(200.0 + n as f64));
            of
        });
        record.measurements.extend(more.collect::<Vec<_>>());
    }
    // A cell without one of its rounds is unknown.
    record.measurements.retain(|of| of.name != "0/100 bs=64k" || of.round != Some(2));
    let text = rounds_text(&record, &rounds, &style(100));
    let words = "Average IOPS over rounds 1 to 5\n\
                 \x20bs  0/100  100/0\n\
                 \x204k    100    201\n\
                 64k      -    200\n";
    assert!(text.contains(words), "{text}");
    let page = page_of(&mut record, "0/100 bs=4k");
    assert!(page.contains("<h3>Average IOPS over rounds 1 to 5</h3>"));
    assert!(page.contains("<td class=\"right \">64k</td><td class=\"right \">-</td>"));
}

#[test]
fn recovery_is_measured_while_active_against_steady_state() {
    let (mut record, rounds) = record("check", &[1000.0; 5]);
    let mut pauses = record.measurements[0].clone();
    pauses.name = "pauses of 15 s".into();
    pauses.round = None;
    pauses.total[0].iops = Some(Estimate::bare(300.0));
    let mut baseline = pauses.clone();
    baseline.name = "baseline after 15 s".into();
    assert!(!rounds_text(&record, &rounds, &style(100)).contains("Recovery"));
    pauses.workload.options.insert("thinktime".into(), "15s".into());
    pauses.workload.options.insert("thinktime_iotime".into(), "5000000".into());
    let mut untold = pauses.clone();
    untold.name = "untold".into();
    untold.workload.options.remove("thinktime_iotime");
    record.measurements.extend([pauses, baseline, untold]);
    let text = rounds_text(&record, &rounds, &style(100));
    let line = |name: &str| text.lines().rev().find(|line| line.starts_with(name)).unwrap_or("");
    for (name, rate, share) in [
        ("check", "1000", "100 %"),
        ("pauses of 15 s", "1200", "120 %"),
        ("baseline after 15 s", "300", "30 %"),
        ("untold", "-", "-"),
    ] {
        let cells: Vec<&str> = line(name)[20..].split("  ").map(str::trim).collect();
        let cells: Vec<&str> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[..2], [rate, share], "{text}");
    }
    let page = page_of(&mut record, "check");
    assert!(page.contains("<h3>Recovery: active phases against rounds 1 to 5</h3>"));
    assert!(page.contains("<td class=\"right \">1200</td><td class=\"right \">120 %</td>"));
}
