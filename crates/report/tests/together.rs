//! Combined results of nodes with an agreed start.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::START_NS;
use iodyno_judge::{ClaimBook, Question, assess};
use iodyno_model::*;
use iodyno_report::document::read::read_runs;
use iodyno_report::document::run_document;
use iodyno_report::fleet::{NodeRun, Together, together};
use iodyno_report::text::{json_text, node_groups_text};
use proptest::prelude::*;
use serde_json::{Value, json};

const SECOND_NS: u64 = 1_000_000_000;

/// Rank `rank` of `of`: measured from `from_s` to `to_s` after a warm-up of half a second, at
/// `iops` I/Os of 4 KiB per second.
fn node(rank: u32, of: u32, (from_s, to_s): (u64, u64), iops: u64, latencies: &[u64]) -> RunRecord {
    let mut record = common::record();
    record.run.id = format!("{rank:08}-7a80-7c11-9d3a-0b1f6f0c2d11");
    record.run.started_ns = START_NS + i64::from(rank) * 1_000_000;
    record.run.accepted = Some(Accepted {
        profile: "shared".into(),
        step: 1,
        node: format!("n{rank}"),
        host_id: None,
        rank: Some(Rank { by: Launcher::Slurm, rank, of: Some(of), job: None }),
        start_at: Some(rfc3339(START_NS)),
        clock_error_ns: Some(u64::from(rank + 1) * 1_000_000),
        cut_short: false,
    });
    let mut result = DirectionResult {
        ios: Some((to_s - from_s) * iops),
        bytes: Some((to_s - from_s) * iops * 4096),
        ..DirectionResult::unknown(Direction::Read)
    };
    latencies.iter().for_each(|ns| result.latency.record(*ns));
    let warmup_ns = SECOND_NS / 2;
    let tenth = |n: u64, ios| Window {
        start_ns: n * SECOND_NS / 10,
        duration_ns: SECOND_NS / 10,
        ios: Some(ios),
        bytes: Some(ios * 4096),
        ..Window::default()
    };
    (0..5).for_each(|n| result.series.push(tenth(n, 7)));
    (5..5 + 10 * (to_s - from_s)).for_each(|n| result.series.push(tenth(n, iops / 10)));
    record.measurements = vec![Measurement {
        targets: vec!["shared".into()],
        workload: Workload { rw: Some("randread".into()), bs: Some(4096), ..Workload::default() },
        started_ns: Some(START_NS + (from_s * SECOND_NS) as i64 - warmup_ns as i64),
        duration_ns: Some((to_s - from_s) * SECOND_NS),
        warmup_ns,
        total: vec![result],
        ..Measurement::unknown("rand-read")
    }];
    record
}

fn document(record: &RunRecord) -> String {
    let claims = ClaimBook::builtin();
    let assessment = assess(&Question { record, claims: &claims, baseline: None, expect: None });
    json_text(&run_document(record, &assessment, 0)).unwrap()
}

/// Combines the documents, after checking that the runs themselves give the same.
fn of(records: &[RunRecord]) -> Vec<Together> {
    let texts: Vec<String> = records.iter().map(document).collect();
    let read = NodeRun::of_documents(&format!("[{}]", texts.join(","))).unwrap().unwrap();
    assert_eq!(read, records.iter().filter_map(NodeRun::of).collect::<Vec<_>>());
    together(read)
}

fn text(all: &[Together]) -> String {
    node_groups_text(all, &common::style(160))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn percentiles_are_those_of_the_whole(
        parts in prop::collection::vec(prop::collection::vec(1_u64..1 << 40, 1..200), 1..6)
    ) {
        let nodes = parts.iter().zip(0..);
        let records: Vec<_> =
            nodes.map(|(part, rank)| node(rank, 6, (0, 3), 100, part)).collect();
        let mut whole = Histogram::default();
        parts.iter().flatten().for_each(|ns| whole.record(*ns));
        let all = of(&records);
        let merged = &all[0].loads[0].latency;
        prop_assert!(merged.bins().eq(whole.bins()));
        prop_assert_eq!((merged.min_ns(), merged.max_ns()), (whole.min_ns(), whole.max_ns()));
        for q in [0.5, 0.99, 0.999] {
            prop_assert_eq!(merged.quantile_ns(q), whole.quantile_ns(q));
        }
    }
}

#[test]
fn nodes_of_different_times_have_a_common_window_and_a_last_end() {
    // The slow node ends late: its time alone is not part of the common rate.
    let all = of(&[
        node(0, 3, (1, 9), 1000, &[100_000; 3000]),
        node(1, 3, (2, 12), 500, &[200_000; 3000]),
        node(2, 3, (0, 8), 2000, &[900_000; 3000]),
    ]);
    let [only] = &all[..] else { panic!("{all:?}") };
    assert_eq!((only.nodes, &only.missing[..], only.start_spread_ns), (3, &[][..], 2_000_000));
    assert_eq!(only.clock_error_ns, Some(3_000_000));
    let [load] = &only.loads[..] else { panic!("{only:?}") };
    assert_eq!((load.nodes, load.start_spread_ns), (3, 2 * SECOND_NS));
    let common = load.common.unwrap();
    assert_eq!(common.duration_ns, 6 * SECOND_NS);
    assert!(
        (common.iops - 3500.0).abs() < 1e-6 && (common.bandwidth - 3500.0 * 4096.0).abs() < 1e-3
    );
    assert_eq!(load.whole.duration_ns, 12 * SECOND_NS);
    assert_eq!(load.whole.iops, f64::from(8 * 1000 + 10 * 500 + 8 * 2000) / 12.0);
    let shown = text(&all);
    assert!(shown.contains("shared, step 1 at 2024-11-21T11:34:56Z"), "{shown}");
    assert!(shown.contains("3500  14.3 MB/s") && shown.contains("3 nodes"), "{shown}");
    // The p99 is the slowest node's; the mean of the nodes' p99 would be 400 us.
    assert!(shown.contains(" 201 us  900 us      -"), "{shown}");
}

#[test]
fn a_missing_node_is_named_and_a_single_one_has_its_rates() {
    let all = of(&[node(0, 4, (0, 5), 1000, &[]), node(3, 4, (20, 25), 1000, &[])]);
    assert_eq!(all[0].missing, [1, 2]);
    // They never overlapped, and there are too few latencies for a percentile.
    assert_eq!(all[0].loads[0].common, None);
    assert!(text(&all).contains("missing: rank 1, 2"), "{}", text(&all));
    // A node without a measurement, and one that was accepted again.
    let mut without = node(1, 2, (0, 5), 1000, &[]);
    without.measurements.clear();
    let mut failed = node(4, 2, (0, 5), 1000, &[]);
    failed.run.accepted.as_mut().unwrap().rank = None;
    failed.measurements[0].end = EndReason::Failed(Failure::of(5, "EIO"));
    let mut again = node(0, 2, (1, 3), 700, &[]);
    again.run.started_ns += 1;
    let all = of(&[node(0, 2, (0, 5), 1000, &[]), again, without, failed]);
    assert_eq!((all[0].nodes, all[0].loads[0].nodes), (3, 1));
    assert_eq!(all[0].loads[0].common.unwrap().iops, 700.0);
    assert!(text(&all).contains("1 of 3"), "{}", text(&all));
    // Steps are separate, and runs without an agreed start are ignored.
    let mut second = node(0, 2, (0, 5), 1000, &[]);
    second.run.accepted.as_mut().unwrap().step = 2;
    let mut alone = node(1, 2, (0, 5), 1000, &[]);
    alone.run.accepted.as_mut().unwrap().start_at = None;
    assert!(!document(&alone).contains("mergeable"));
    assert_eq!(of(&[node(0, 2, (0, 5), 1000, &[]), second, alone]).len(), 2);
    assert!(text(&[]).starts_with("No run had an agreed start"));
}

/// `trimwrite` trims and writes, and a document may have fio's other name of `rw`.
#[test]
fn loads_of_several_directions_are_told_apart() {
    for rw in ["trimwrite", "readwrite", "randrw"] {
        let mut record = node(0, 1, (0, 5), 1000, &[5000; 99]);
        let measurement = &mut record.measurements[0];
        measurement.workload.rw = Some(rw.into());
        let other = DirectionResult { direction: Direction::Write, ..measurement.total[0].clone() };
        measurement.total.push(other);
        let shown = text(&of(&[record]));
        for direction in ["read", "write"] {
            assert!(shown.contains(&format!("rand-read shared {direction} ")), "{rw}: {shown}");
        }
    }
}

#[test]
fn documents_of_others_are_refused_or_harmless() {
    let fine: Value =
        serde_json::from_str(&document(&node(0, 2, (0, 5), 1000, &[5000; 99]))).unwrap();
    let with = |path: &str, value: Value| {
        let mut document = fine.clone();
        *document.pointer_mut(path).unwrap() = value;
        document.to_string()
    };
    let mergeable = "/measurements/0/read/mergeable";
    let bins = format!("{mergeable}/latency/bins");
    let seconds = format!("{mergeable}/seconds");
    let second =
        |start_ns: u64| json!({"start_ns": start_ns, "duration_ns": 2, "ios": 1, "bytes": 1});
    let refused = [
        with(&bins, json!([[129, 1]])),
        with(&bins, json!([[256, 1], [128, 1]])),
        with(&bins, json!([[128, 1], [128, 1]])),
        with(&bins, json!([[1, u64::MAX], [2, 1]])),
        with(&bins, json!([[1, -1]])),
        with(&bins, json!([[1, 1e30]])),
        with(&seconds, json!([second(5), second(6)])),
        with(&seconds, json!([second(u64::MAX), second(u64::MAX - 1)])),
        with(&seconds, (0..5000).map(|n| second(2 * n)).collect()),
        with("/accepted", json!({"start_at": 5})),
    ];
    for text in &refused {
        assert!(NodeRun::of_documents(text).is_err(), "{text}");
        assert!(read_runs(text).is_err(), "{text}");
    }
    let other = node(1, 2, (0, 5), 1000, &[5000; 99]);
    let harmless = [
        with(&bins, json!([[1, u64::MAX]])),
        with(&format!("{mergeable}/latency/range_ns"), json!([u64::MAX, 0])),
        with(&format!("{mergeable}/latency/sum_ns"), json!(-1e308)),
        with(
            &seconds,
            json!([{"start_ns": 0, "duration_ns": 0, "ios": u64::MAX, "bytes": u64::MAX}]),
        ),
        with("/measurements/0/started", json!("2262-04-11T23:47:16Z")),
        with("/measurements/0/started", json!("1677-09-21T00:12:44Z")),
        with("/measurements/0/duration_ns", json!(u64::MAX)),
        with("/measurements/0/warmup_ns", json!(u64::MAX)),
        with("/measurements/0/read/ios", json!(u64::MAX)),
        with("/measurements/0/name", json!("\u{1b}[31m")),
        with("/accepted/profile", json!("\u{1b}[31m")),
        with("/accepted/rank/of", json!(u32::MAX)),
        with("/accepted/clock_error_ns", json!(u64::MAX)),
        with("/accepted/start_at", json!("noon")),
    ];
    for hostile in &harmless {
        let mut runs = NodeRun::of_documents(hostile).unwrap().unwrap();
        runs.extend(NodeRun::of(&other));
        // Once more for another node, to force overflows.
        let again = hostile.replace("\"n0\"", "\"n7\"");
        runs.extend(NodeRun::of_documents(&again).unwrap().unwrap());
        let shown = text(&together(runs));
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
}
