//! Matching of workloads, and reported conditions.

use iodyno_model::{
    EndReason, Fact, JobStats, LatencySummary, PackedAddresses, Replayed, ReplayedTrace, RunKind,
    StatedLatencies, Validity, WrittenShare, WrittenState,
};

use super::*;
use crate::comparison::Order;
use crate::testing::known;

/// Value of a condition on each side.
pub(super) fn differs(comparison: &Comparison, what: &str) -> Option<Vec<String>> {
    let one = comparison.differing.iter().find(|one| one.what == what)?;
    Some(one.values.iter().map(|values| values.join("+")).collect())
}

#[test]
fn two_checks_pair_by_step_and_drive() {
    let a = Bench::new(2).measured().record();
    let mut b = Bench::new(2)
        .measured()
        .drive(0, |drive| drive.firmware = known("F2".into()))
        .host(|host| host.kernel.release = known("6.12".into()))
        .record();
    b.run.id = "other".into();
    // The drives changed names at a reboot; their serial numbers identify them.
    for name in b.snapshots[0].blocks.iter_mut().map(|block| &mut block.name) {
        *name = if name == "nvme0n1" { "nvme1n1".into() } else { "nvme0n1".into() };
    }
    for drive in &mut b.snapshots[0].drives {
        let name = &mut drive.namespaces[0].name;
        *name = if name == "nvme0n1" { "nvme1n1".into() } else { "nvme0n1".into() };
    }
    let comparison = compared(&[&a, &b]);
    assert_eq!(comparison.rows.len(), 8);
    assert!(comparison.alone.is_empty());
    let place = |row: &Row| row.point.place.clone().unwrap();
    assert_eq!(place(&comparison.rows[0]), ["S0"]);
    assert_eq!(comparison.rows.iter().filter(|row| place(row) == ["S0", "S1"]).count(), 2);
    assert_eq!(differs(&comparison, "firmware").unwrap(), ["F1", "F2"]);
    let firmware = comparison.differing.iter().find(|one| one.what == "firmware").unwrap();
    assert_eq!(firmware.rows.len(), 3, "of one drive alone");
    // Known of only one side: no difference.
    assert_eq!(differs(&comparison, "kernel"), None);
    assert!(comparison.not_known[0].what.contains(&"kernel".to_owned()));
    assert_eq!(comparison.not_known.len(), 1);
}

#[test]
fn other_drives_pair_by_their_order() {
    let a = Bench::new(2).measured().record();
    let b = Bench::new(2)
        .measured()
        .drive(0, |drive| drive.serial = known("X".into()))
        .drive(1, |drive| drive.serial = known("Y".into()))
        .record();
    assert_eq!(compared(&[&a, &b]).rows.len(), 8);
    // One of three is missing, and its row stays open.
    let b = Bench::new(3).measured().record();
    let comparison = compared(&[&a, &b]);
    assert_eq!((comparison.rows.len(), comparison.alone.len()), (6, 7));
}

#[test]
fn a_depth_that_was_searched_for_is_a_result() {
    let found = |depth: u32| {
        let mut record = Bench::new(2).measured().record();
        for of in record.measurements.iter_mut().filter(|of| of.name == "rand-read") {
            of.workload.iodepth = Some(depth);
            if of.targets.len() == 1 {
                of.conditions.depths_tried = vec![(depth, 1e6)];
            }
        }
        record
    };
    let comparison = compared(&[&found(64), &found(128)]);
    assert_eq!((comparison.rows.len(), comparison.alone.len()), (8, 0));
    assert_eq!(differs(&comparison, "iodepth").unwrap(), ["64", "128"]);
    assert_eq!(comparison.rows.iter().filter(|row| row.point.searched).count(), 3);
}

#[test]
fn a_job_that_was_renamed_or_has_another_engine_is_the_same_workload() {
    let a = run([job(1000.0)]);
    let b = run([with(job(1100.0), |of| {
        of.name = "renamed".into();
        of.targets = vec!["/elsewhere/renamed.0.0".into()];
        of.workload.ioengine = Some("libaio".into());
        of.workload.options.insert("thread".into(), "1".into());
        of.workload.options.insert("iodepth_batch".into(), "8".into());
    })]);
    let comparison = compared(&[&a, &b]);
    assert!((iops(&comparison).ratio.value - 1.1).abs() < 1e-9);
    assert_eq!(iops(&comparison).reality, Reality::SpreadUnknown);
    assert_eq!(differs(&comparison, "job").unwrap(), ["job", "renamed"]);
    assert_eq!(differs(&comparison, "iodepth_batch").unwrap(), ["", "8"]);
    assert_eq!(differs(&comparison, "thread"), None);
    assert_eq!(comparison.not_known[0].what, ["ioengine"]);
    assert_eq!(comparison.rows[0].point.name, None);
}

#[test]
fn options_of_the_load_make_another_workload() {
    let a = run([job(1000.0)]);
    let changes: [fn(&mut Measurement); 6] = [
        |of| of.workload.rw = Some("read".into()),
        |of| of.workload.bs = Some(8192),
        |of| of.workload.iodepth = Some(8),
        |of| of.workload.numjobs = Some(2),
        |of| drop(of.workload.options.insert("rate_iops".into(), "500".into())),
        |of| of.total[0].direction = Direction::Write,
    ];
    for change in changes {
        let b = run([with(job(1000.0), change)]);
        let third = run([with(job(900.0), |of| of.workload.bs = Some(1 << 20))]);
        let comparison = compared(&[&a, &b, &third]);
        assert!(comparison.rows.is_empty() && comparison.alone.len() == 3);
    }
    // A default that is written explicitly changes nothing.
    let b = run([with(job(1000.0), |of| {
        of.workload.options.insert("rwmixread".into(), "50".into());
    })]);
    assert_eq!(compared(&[&a, &b]).rows.len(), 1);
}

#[test]
fn options_varied_within_a_run_make_rows() {
    let engine =
        |iops, engine: &str| with(job(iops), |of| of.workload.ioengine = Some(engine.into()));
    let a = run([engine(1000.0, "libaio"), engine(2000.0, "io_uring")]);
    let b = run([engine(2200.0, "io_uring"), engine(900.0, "libaio")]);
    let comparison = compared(&[&a, &b]);
    assert_eq!(comparison.rows.len(), 2);
    for (row, ratio) in comparison.rows.iter().zip([0.9, 1.1]) {
        assert!((difference(row, Quantity::Iops).unwrap().ratio.value - ratio).abs() < 1e-9);
    }
    assert_eq!(comparison.rows[0].point.workload.ioengine.as_deref(), Some("libaio"));
}

#[test]
fn partial_workloads_match_complete_ones() {
    let full = run([job(1000.0), with(job(500.0), |of| of.workload.iodepth = Some(1))]);
    // fio's JSON lacks numjobs unless it was set.
    let json = run([with(job(1000.0), |of| of.workload.numjobs = None)]);
    let comparison = compared(&[&full, &json]);
    assert!((iops(&comparison).ratio.value - 1.0).abs() < 1e-9);
    assert_eq!(comparison.not_known[0].what, ["numjobs"]);
    // Terse output only has names and figures.
    let unknown = |name: &str, iops| {
        with(job(iops), |of| {
            of.name = name.into();
            of.workload = Workload::default();
        })
    };
    let terse = run([unknown("other", 1.0), unknown("job", 900.0)]);
    let comparison = compared(&[&run([job(1000.0)]), &terse]);
    assert!((iops(&comparison).ratio.value - 0.9).abs() < 1e-9);
    assert_eq!(comparison.alone.len(), 1);
    // Two matches are ambiguous.
    let comparison =
        compared(&[&run([job(1.0), with(job(2.0), |of| of.workload.iodepth = Some(1))]), &terse]);
    assert!(comparison.rows.is_empty());
}

/// Like fio's JSON, terse and normal output of the same run.
#[test]
fn partial_workloads_of_many_sides_are_completed() {
    let all = run([job(1000.0)]);
    let without_jobs = run([with(job(990.0), |of| of.workload.numjobs = None)]);
    let name_alone = run([with(job(900.0), |of| {
        of.workload = Workload::default();
        of.targets.clear();
    })]);
    let sides = [&name_alone, &without_jobs, &all];
    for turn in 0..sides.len() {
        let mut sides = sides;
        sides.rotate_left(turn);
        let comparison = compared(&sides);
        assert_eq!(comparison.rows.len(), 1, "{:#?}", comparison.alone);
        assert!(comparison.rows[0].cells.iter().all(Option::is_some));
    }
    // Two sides that contradict each other: it matches neither.
    let four = run([with(job(4000.0), |of| of.workload.numjobs = Some(4))]);
    let comparison = compared(&[&without_jobs, &all, &four]);
    assert!(comparison.rows.is_empty());
    assert_eq!(comparison.alone.len(), 3);
}

#[test]
fn jobs_at_the_same_time_are_one_repetition_and_add_up() {
    let mut a = run([job(1000.0), with(job(3000.0), |of| of.total[0].ios = Some(3000))]);
    a.measurements.iter_mut().for_each(|of| of.phase = 0);
    let comparison = compared(&[&a, &run([job(4000.0)])]);
    assert!((iops(&comparison).ratio.value - 1.0).abs() < 1e-9);
    assert_eq!(comparison.rows[0].cells[0].as_ref().unwrap().repetitions, 1);
    // (1000 x 4 ms + 3000 x 1.333 ms) / 4000.
    let latency = &comparison.rows[0].figures.iter().find(|of| of.quantity == Quantity::Latency);
    let mean = latency.unwrap().values[0].unwrap().value;
    assert!((mean - 2e6).abs() < 1.0, "{mean}");
    // Several reports in one file count their phases from 0, one after the other.
    for (n, of) in a.measurements.iter_mut().enumerate() {
        of.started_ns = Some(n as i64 * 2_000_000_000);
    }
    let comparison = compared(&[&a, &run([job(4000.0)])]);
    assert_eq!(comparison.rows[0].cells[0].as_ref().unwrap().repetitions, 2);
}

#[test]
fn concurrent_jobs_are_distinguished_by_name() {
    let named = |name: &str, iops| with(job(iops), |of| of.name = name.into());
    let mut a = run([named("one", 1000.0), named("two", 2000.0)]);
    a.measurements.iter_mut().for_each(|of| of.phase = 0);
    let mut b = run([named("first", 1100.0), named("second", 2400.0)]);
    b.measurements.iter_mut().for_each(|of| of.phase = 0);
    let comparison = compared(&[&a, &b]);
    let ratios: Vec<f64> = comparison
        .rows
        .iter()
        .map(|row| difference(row, Quantity::Iops).unwrap().ratio.value)
        .collect();
    assert!((ratios[0] - 1.1).abs() < 1e-9 && (ratios[1] - 1.2).abs() < 1e-9, "{ratios:?}");
}

#[test]
fn repetitions_within_a_run_count_and_copies_do_not() {
    let a = run([job(1000.0), job(1010.0), job(990.0)]);
    let b = run([job(1200.0), job(1210.0), job(1190.0)]);
    let comparison = compared(&[&a, &b]);
    assert_eq!(iops(&comparison).reality, Reality::NotInTurns);
    assert!(comparison.has_repetitions());
    // A run that was imported twice has another id and is still the same.
    let again = RunRecord { run: run([]).run, ..a.clone() };
    let single = run([job(1000.0)]);
    let comparison = compared_sides(&[vec![&a, &again, &a], vec![&single]]);
    let cell = comparison.rows[0].cells[0].as_ref().unwrap();
    assert_eq!((cell.repetitions, cell.copies), (3, 6));
    assert!(!comparison.has_repetitions());
    let comparison = compared(&[&a, &again]);
    assert_eq!(comparison.sides[1].same_as, Some(0));
    assert!((iops(&comparison).ratio.value - 1.0).abs() < 1e-12);
}

#[test]
fn invalid_and_failed_measurements_are_shown_and_not_compared() {
    let unwritten = with(job(9000.0), |of| {
        of.conditions.written = vec![WrittenShare {
            target: "/data/file".into(),
            samples: 64,
            share: Estimate::bare(0.0),
            state: WrittenState::Unwritten,
            evidence: "".into(),
        }];
    });
    let failed = with(job(1.0), |of| {
        of.end = EndReason::Failed("EIO".into());
        of.total.clear();
    });
    let valid = run([job(1000.0)]);
    for (bad, failure) in [(unwritten.clone(), None), (failed, Some("EIO"))] {
        let comparison = compared(&[&valid, &run([bad])]);
        let row = &comparison.rows[0];
        let cell = row.cells[1].as_ref().unwrap();
        assert_eq!((cell.repetitions, cell.left_out, cell.validity), (0, 1, Validity::Invalid));
        assert_eq!(cell.failure.as_deref(), failure);
        assert!(!cell.reasons.is_empty());
        assert!(row.figures.iter().all(|of| of.values[1].is_none() && of.differences[1].is_none()));
        let expected = if failure.is_some() { 3 } else { 0 };
        assert_eq!(comparison.exit_status(&[]) as u8, expected);
    }
    let some = run([job(1000.0), unwritten]);
    let comparison = compared(&[&valid, &some]);
    assert!((iops(&comparison).ratio.value - 1.0).abs() < 1e-9);
    assert_eq!(comparison.rows[0].cells[1].as_ref().unwrap().left_out, 1);
}

/// Replays differ in what was replayed and how; their largest I/O and their limit of I/Os in flight
/// are no size and depth.
#[test]
fn replays_differ_by_trace_and_pace() {
    let replay = |file: &str, speed_percent, packed, depth| {
        run([with(job(1000.0), |of| {
            let trace = ReplayedTrace {
                file: file.into(),
                speed_percent,
                packed,
                span_ns: 9_000_000_000,
                ..ReplayedTrace::default()
            };
            let replayed = Some(Box::new(Replayed { trace, ..Replayed::default() }));
            of.account = Some(JobStats { replayed, ..JobStats::default() });
            (of.workload.bs, of.workload.iodepth) = (Some(1 << 20), Some(depth));
        })])
    };
    let a = replay("/a/prod.iotrace", 100, None, 256);
    let b = replay("/b/test.iotrace", 200, Some(PackedAddresses::default()), 128);
    let comparison = compared(&[&a, &b]);
    let row = &comparison.rows[0];
    assert_eq!((row.point.workload.bs, row.point.workload.iodepth), (None, None));
    for (what, values) in [
        ("trace", ["prod.iotrace", "test.iotrace"]),
        ("replayed", ["at 100 % of its speed", "at 200 % of its speed"]),
        ("addresses", ["as recorded", "packed"]),
    ] {
        assert_eq!(differs(&comparison, what).unwrap(), values);
    }
    assert_eq!(differs(&comparison, "iodepth"), None);
    assert_eq!(differs(&comparison, "replayed time"), None);
    let moved = replay("/c/prod.iotrace", 100, None, 256);
    assert_eq!(differs(&compared(&[&a, &moved]), "trace"), None);
}

#[test]
fn latencies_of_different_kinds_are_not_compared() {
    let summary = || LatencySummary {
        percentiles: vec![(99.0, rounded(2e6, 5e3))],
        ..LatencySummary::default()
    };
    let stated = |kind: fn(LatencySummary) -> StatedLatencies| {
        run([with(job(1000.0), |of| of.total[0].stated = Some(Box::new(kind(summary()))))])
    };
    let total = stated(|total| StatedLatencies { total, ..StatedLatencies::default() });
    let completion =
        stated(|completion| StatedLatencies { completion, ..StatedLatencies::default() });
    let p99 = |comparison: &Comparison| {
        let mut figures = comparison.rows[0].figures.clone();
        figures.retain(|of| of.quantity == Quantity::Percentile(99.0));
        figures.remove(0)
    };
    let unlike = p99(&compared(&[&total, &completion]));
    assert!(unlike.differences[1].is_none() && unlike.why_not.is_some());
    let alike = p99(&compared(&[&completion, &completion]));
    assert_eq!(alike.kind, Some(iodyno_model::LatencyKind::Completion));
    assert_eq!(alike.differences[1].unwrap().reality, Reality::WithinRounding);
}

#[test]
fn interleaving_is_derived_from_the_start_times() {
    let at = |times: &[i64]| -> Vec<RunRecord> {
        times
            .iter()
            .map(|t| run([with(job(1000.0 + *t as f64), |of| of.started_ns = Some(*t))]))
            .collect()
    };
    let order = |a: &[i64], b: &[i64]| {
        let (a, b) = (at(a), at(b));
        let comparison = compared_sides(&[a.iter().collect(), b.iter().collect()]);
        comparison.rows[0].cells[1].as_ref().unwrap().order
    };
    assert_eq!(order(&[1, 3, 5], &[2, 4, 6]), Some(Order::Interleaved));
    assert_eq!(order(&[1, 4, 5], &[2, 3, 6]), Some(Order::Interleaved));
    assert_eq!(order(&[1, 2, 3], &[4, 5, 6]), Some(Order::OneAfterTheOther));
    assert_eq!(order(&[1, 5, 6], &[2, 3, 4]), Some(Order::OneAfterTheOther));
    // Blocks that only straddle each other: A A B B B B A A, and A A B B A A B B.
    assert_eq!(order(&[1, 2, 7, 8], &[3, 4, 5, 6]), Some(Order::OneAfterTheOther));
    assert_eq!(order(&[1, 2, 5, 6], &[3, 4, 7, 8]), Some(Order::OneAfterTheOther));
    // A lost run, two runs of B for one of A, and clocks that tell seconds only.
    assert_eq!(order(&[1, 3, 6], &[2, 4, 5, 7]), Some(Order::Interleaved));
    assert_eq!(order(&[1, 4, 7], &[2, 3, 5, 6, 8, 9]), Some(Order::Interleaved));
    assert_eq!(order(&[1, 2, 3], &[1, 2, 3]), Some(Order::Interleaved));
    assert_eq!(order(&[1], &[2]), None);
    let side = |iops: [f64; 3]| iops.map(|iops| run([job(iops)]));
    let (a, b) = (side([1.0, 2.0, 3.0]), side([4.0, 5.0, 6.0]));
    let unknown = compared_sides(&[a.iter().collect(), b.iter().collect()]);
    assert_eq!(unknown.rows[0].cells[1].as_ref().unwrap().order, Some(Order::Unknown));
}

#[test]
fn three_sides_and_a_workload_that_the_first_lacks() {
    let other = |iops| with(job(iops), |of| of.workload.bs = Some(8192));
    let (a, b, c) = (run([job(1000.0)]), run([job(1100.0), other(10.0)]), run([other(20.0)]));
    let comparison = compared(&[&a, &b, &c]);
    assert_eq!(comparison.rows.len(), 2);
    let second = &comparison.rows[1];
    assert!(second.cells[0].is_none());
    let iops = second.figures.iter().find(|of| of.quantity == Quantity::Iops).unwrap();
    assert!(iops.differences[1].is_none(), "it is the first that has it");
    assert!((iops.differences[2].unwrap().ratio.value - 2.0).abs() < 1e-9);
}

#[test]
fn host_facts_that_need_root_are_not_known_rather_than_different() {
    let record = || {
        Bench::new(1).measured().host(|host| {
            host.kernel.release = known("6.1".into());
            host.blocks[0].queue.scheduler = known("none".into());
        })
    };
    let a = record().record();
    let b = record()
        .host(|host| host.kernel.release = Fact::NeedsRoot)
        .host(|host| host.blocks[0].queue.scheduler = known("mq-deadline".into()))
        .link(0, |link| link.current = known(iodyno_model::LinkState { generation: 3, width: 4 }))
        .record();
    let comparison = compared(&[&a, &b]);
    assert_eq!(differs(&comparison, "scheduler").unwrap(), ["none", "mq-deadline"]);
    assert_eq!(differs(&comparison, "link").unwrap(), ["Gen4 x4", "Gen3 x4"]);
    assert_eq!(differs(&comparison, "kernel"), None);
    assert_eq!(comparison.not_known.len(), 1);
    assert_eq!(
        (comparison.not_known[0].side, &comparison.not_known[0].what[..]),
        (1, &["kernel".to_owned()][..])
    );
}

#[test]
fn a_sweep_is_in_the_order_of_its_sizes() {
    let at = |depth: u32, name: &str| {
        with(job(1000.0), |of| {
            of.workload.iodepth = Some(depth);
            of.workload.rw = Some(name.into());
            of.name = name.into();
        })
    };
    // In file name order.
    let sweep = run([at(1, "read"), at(16, "read"), at(2, "read"), at(1, "randread")]);
    let comparison = compared(&[&sweep, &sweep]);
    let rows = comparison.rows.iter().map(|row| &row.point.workload);
    let rows: Vec<_> = rows.map(|of| (of.rw.clone().unwrap(), of.iodepth.unwrap())).collect();
    let expected = [("read", 1), ("read", 2), ("read", 16), ("randread", 1)];
    assert_eq!(rows, expected.map(|(rw, depth)| (rw.to_owned(), depth)));
    // Each point has a name, and may be measured in any order, on one drive after the other.
    let point = |target: &str, depth: u32| {
        with(job(1000.0), |of| {
            of.workload.iodepth = Some(depth);
            of.name = format!("iodepth={depth}");
            of.targets = vec![target.into()];
        })
    };
    let points = [("b", 16), ("a", 2), ("b", 1), ("a", 16), ("a", 1), ("b", 2)];
    let mut sweep = run(points.map(|(target, depth)| point(target, depth)));
    sweep.run.kind = RunKind::Sweep;
    let comparison = compared(&[&sweep, &sweep]);
    let rows = comparison.rows.iter().map(|row| &row.point);
    let rows: Vec<_> =
        rows.map(|of| (of.place.clone().unwrap().concat(), of.workload.iodepth.unwrap())).collect();
    let expected = [("a", 1), ("a", 2), ("a", 16), ("b", 1), ("b", 2), ("b", 16)];
    assert_eq!(rows, expected.map(|(target, depth)| (target.to_owned(), depth)));
}

#[test]
fn settings_of_drives_and_layers_are_compared() {
    use iodyno_model::{Aspm, BlockDevice, BlockKind, Iommu};
    let with = |policy: &str, domain: Fact<Iommu>, l1: bool, wbt_us: u64, chunk: Option<u64>| {
        let bench = Bench::new(1).measured().drive(0, |drive| {
            drive.iommu = domain.clone();
            drive.power_state = known(u8::from(l1));
        });
        let bench = bench.link(0, |link| {
            link.aspm = known(Aspm { l0s: false, l1 });
            link.device.max_payload_bytes = known(if l1 { 128 } else { 256 });
        });
        let mut record = bench.record();
        for host in &mut record.snapshots {
            host.kernel.parameters.insert("pcie_aspm.policy".into(), policy.into());
            host.blocks[0].queue.wbt_lat_us = known(wbt_us);
            if let Some(chunk_bytes) = chunk {
                let array = iodyno_model::MdArray {
                    level: "raid0".into(),
                    chunk_bytes: Some(chunk_bytes),
                    ..Default::default()
                };
                host.blocks.push(BlockDevice {
                    name: "md0".into(),
                    kind: BlockKind::Md(Box::new(array)),
                    stands_on: vec!["nvme0n1".into()],
                    ..BlockDevice::default()
                });
            }
        }
        if chunk.is_some() {
            for of in &mut record.measurements {
                of.conditions.device = Some("/dev/md0".into());
            }
        }
        record
    };
    let translated = Iommu { group: 1, domain: known("DMA".into()), strict: known(true) };
    let a = with("default", Fact::Absent, false, 2000, Some(64 << 10));
    let b = with("powersave", known(translated), true, 0, Some(512 << 10));
    let comparison = compared(&[&a, &b]);
    for (what, values) in [
        ("pcie_aspm.policy", ["default", "powersave"]),
        ("IOMMU domain", ["none", "DMA"]),
        ("ASPM", ["off", "L1"]),
        ("maximum payload", ["256", "128"]),
        ("power state", ["0", "1"]),
        ("wbt_lat_usec", ["2000", "0"]),
        ("chunk", ["64 KiB", "512 KiB"]),
    ] {
        assert_eq!(differs(&comparison, what).unwrap(), values, "{what}");
    }
    assert_eq!(differs(&comparison, "layers"), None);
    let alike = compared(&[&a, &a.clone()]);
    assert!(alike.differing.iter().all(|one| one.what != "chunk" && one.what != "ASPM"));
    let raw = with("default", Fact::Absent, false, 2000, None);
    let comparison = compared(&[&raw, &a]);
    assert_eq!(differs(&comparison, "layers").unwrap(), ["none", "md raid0"]);
}
