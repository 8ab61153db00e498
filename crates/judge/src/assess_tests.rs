use iodyno_model::{Fact, Metric, RunRecord, Scope, Skipped, WrittenState};
use proptest::prelude::*;

use super::*;
use crate::exit_status::{ExitStatus, exit_status};
use crate::testing::{Bench, claims, known, log, scale, set_written};

fn judged(record: &RunRecord) -> Assessment {
    let claims = claims();
    assess(&Question { record, claims: &claims, baseline: None, expect: None })
}

fn subject(assessment: &Assessment, name: &str) -> Verdict {
    assessment.subjects.iter().find(|(subject, _)| subject == name).unwrap().1
}

#[test]
fn a_healthy_machine_passes() {
    let looked_at_twice = Bench::new(3).measured().after(|_| ()).record();
    assert_eq!(judged(&looked_at_twice).findings, []);
    let record = Bench::new(3).measured().record();
    let all = judged(&record);
    assert_eq!((all.verdict, all.findings.len()), (Verdict::Pass, 0), "{:?}", all.findings);
    assert!(all.measurements.iter().all(|judged| judged.validity == Validity::Valid));
    let reason = all.measurements[1].metrics[0].reason.to_string();
    assert_eq!(reason, "98 % of the claim");
    assert_eq!(all.measurements[9].metrics[0].reason.to_string(), "100 % of the sum of each alone");
    assert_eq!(exit_status(&record, &all, true), ExitStatus::Fine);
    assert_eq!(all.subjects.len(), 3);
    assert_eq!(all.rules.len(), rules().len());
}

#[test]
fn a_slow_drive_fails_and_its_peers_do_not() {
    let bench = Bench::new(3).measured().measurement(4, |of| scale(of, 0.25));
    let record = bench.measurement(10, |of| scale(of, 0.75)).record();
    let all = judged(&record);
    assert_eq!(all.verdict, Verdict::Fail);
    assert_eq!(subject(&all, "nvme1"), Verdict::Fail);
    assert_eq!(subject(&all, "nvme0"), Verdict::Pass);
    assert_eq!(exit_status(&record, &all, false), ExitStatus::Failed);
    let order: Vec<Severity> = all.findings.iter().map(|finding| finding.severity).collect();
    assert!(order.windows(2).all(|pair| pair[0] >= pair[1]), "{order:?}");
    let stored = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Assessment>(&stored).unwrap(), all);
}

#[test]
fn a_shared_uplink_is_one_finding() {
    let halve = |of: &mut iodyno_model::Measurement| {
        scale(of, 0.75);
        for part in &mut of.parts[..2] {
            let result = &mut part.results[0];
            result.bandwidth = result.bandwidth.map(|rate| rate.scaled(0.5));
            result.iops = result.iops.map(|rate| rate.scaled(0.5));
        }
    };
    let bench = Bench::new(4).measured().host(|host| {
        let mut up = crate::testing::link("0000:00:01.0", "0000:01:00.0");
        up.current = known(iodyno_model::LinkState { generation: 4, width: 4 });
        host.links.push(up);
        for drive in &mut host.drives[..2] {
            drive.links.insert(0, "0000:01:00.0".into());
        }
    });
    let record = bench.measurement(12, halve).measurement(13, halve).record();
    let found: Vec<String> =
        judged(&record).findings.into_iter().map(|finding| finding.rule).collect();
    assert_eq!(found, ["link-oversubscribed"]);
}

#[test]
fn findings_on_other_drives_do_not_count() {
    let bench = Bench::new(3).measured().drive(1, |drive| drive.state = known("dead".into()));
    let mut record = bench.record();
    assert_eq!(judged(&record).verdict, Verdict::Fail);
    // The same machine with only the first drive named.
    record.run.targets = vec!["nvme0n1".into()];
    record.run.scope = Scope::Targets;
    record.measurements.retain(|of| of.targets == ["nvme0n1"]);
    let named = judged(&record);
    assert_eq!(named.verdict, Verdict::Pass, "{:?}", named.findings);
    assert_eq!(named.subjects, [("nvme0".to_owned(), Verdict::Pass)]);
    let reported = named.findings.iter().find(|finding| finding.rule == "drive-dead").unwrap();
    assert_eq!(reported.severity, Severity::Info);
    assert!(reported.what.starts_with("Not a named target"), "{}", reported.what);
    // An expectation asks about the whole machine.
    let expect = crate::Expectation::parse("drives = 3", "e").unwrap();
    let claims = claims();
    let question =
        Question { record: &record, claims: &claims, baseline: None, expect: Some(&expect) };
    assert_eq!(assess(&question).verdict, Verdict::Fail);
    // The same targets with nothing named: the other drives could not become targets.
    let mut all = record.clone();
    all.run.scope = Scope::Machine;
    assert_eq!(judged(&all).verdict, Verdict::Fail);
    // A drive that is named fails even if it could not become a target.
    record.run.skipped.push(Skipped {
        target: "nvme1".into(),
        step: None,
        why: "its state is dead".into(),
        next: String::new(),
    });
    assert_eq!(judged(&record).verdict, Verdict::Fail);
}

#[test]
fn an_unwritten_drive_is_unjudged_and_invalid() {
    let bench = (0..3).fold(Bench::new(1).measured(), |bench, n| {
        bench.measurement(n, |of| {
            set_written(of, WrittenState::Unwritten);
            scale(of, 1.3);
        })
    });
    let record = bench.record();
    let all = judged(&record);
    let random = &all.measurements[1];
    assert_eq!(random.validity, Validity::Invalid);
    assert_eq!(random.metrics[0].verdict, Verdict::Unjudged);
    assert_eq!(random.reasons[0].rule, "blocks-not-written");
    assert_eq!(all.verdict, Verdict::Warn);
    assert_eq!(exit_status(&record, &all, true), ExitStatus::Unjudged);
    assert_eq!(exit_status(&record, &all, false), ExitStatus::Fine);
}

#[test]
fn without_a_yardstick_a_rate_is_unjudged_and_shown_against_its_link() {
    let bench = Bench::new(1).measured().drive(0, |drive| drive.model = known("X".into()));
    let record = bench.record();
    let all = judged(&record);
    let reason = all.measurements[0].metrics[0].reason.to_string();
    assert!(reason.starts_with("nothing to compare with; 96 % of the ceiling"), "{reason}");
    assert_eq!((all.verdict, subject(&all, "nvme0")), (Verdict::Unjudged, Verdict::Unjudged));
    assert_eq!(exit_status(&record, &all, true), ExitStatus::Unjudged);
}

#[test]
fn a_latency_without_a_claim_is_missed_only_where_nothing_else_is_judged() {
    let mut record = Bench::new(1).measured().record();
    // The data sheet states the latency of 4 KiB.
    record.measurements[2].workload.bs = Some(8192);
    let all = judged(&record);
    assert_eq!(all.measurements[2].metrics[0].verdict, Verdict::Unjudged);
    assert_eq!((all.verdict, exit_status(&record, &all, true)), (Verdict::Pass, ExitStatus::Fine));
    record.measurements.retain(|of| of.workload.iodepth == Some(1));
    let all = judged(&record);
    let [of] = all.measurements.as_slice() else { panic!("{:?}", all.measurements) };
    assert_eq!((of.metrics[0].metric, of.metrics.len()), (Metric::LatencyMean, 1));
    // A check has looked at link and health of a drive; of another disk at nothing.
    assert_eq!((all.verdict, subject(&all, "nvme0")), (Verdict::Pass, Verdict::Pass));
    record.snapshots.iter_mut().for_each(|host| host.drives.clear());
    let all = judged(&record);
    assert_eq!(all.verdict, Verdict::Unjudged);
    assert_eq!(exit_status(&record, &all, true), ExitStatus::Unjudged);
    assert_eq!(exit_status(&record, &all, false), ExitStatus::Fine);
}

#[test]
fn a_path_is_judged_by_what_is_known_of_its_device() {
    let path = |device: Option<&str>| {
        let mut record = Bench::new(1).measured().record();
        for of in &mut record.measurements {
            of.targets = vec!["/srv".into()];
            of.conditions.device = device.map(str::to_owned);
            of.conditions.written[0].target = "/srv".into();
        }
        record.run.targets = vec!["/srv".into()];
        judged(&record)
    };
    let unknown = path(None);
    assert_eq!(unknown.measurements[1].metrics[0].claim, None);
    assert_eq!(subject(&unknown, "/srv"), Verdict::Unjudged);
    assert_eq!(subject(&unknown, "nvme0"), Verdict::Pass);
    let on_drive = path(Some("nvme0n1"));
    assert_eq!(subject(&on_drive, "/srv"), Verdict::Pass);
}

#[test]
fn status_follows_the_precedence() {
    let healthy = Bench::new(1).measured();
    let mut record = healthy.record();
    record.run.skipped.push(Skipped {
        target: "nvme0n1".into(),
        step: None,
        why: "busy".into(),
        next: "--busy".into(),
    });
    let all = judged(&record);
    assert_eq!(exit_status(&record, &all, true), ExitStatus::Unjudged);
    assert_eq!(subject(&all, "nvme0"), Verdict::Unjudged);
    // A named target that was not measured is no success; of a whole machine it may be missing.
    for (scope, expected) in
        [(Scope::Machine, ExitStatus::Fine), (Scope::Targets, ExitStatus::Unjudged)]
    {
        record.run.scope = scope;
        assert_eq!(exit_status(&record, &judged(&record), false), expected, "{scope:?}");
    }
    let failed = healthy.clone().drive(0, |drive| log(drive).critical_warning = 8).record();
    assert_eq!(exit_status(&failed, &judged(&failed), true), ExitStatus::Failed);
    let mut killed = failed;
    killed.run.state = iodyno_model::RunState::Interrupted;
    assert_eq!(exit_status(&killed, &judged(&killed), true), ExitStatus::Interrupted);
    let ended = healthy
        .measurement(0, |of| of.end = iodyno_model::EndReason::Failed("EIO".into()))
        .record();
    assert_eq!(exit_status(&ended, &judged(&ended), false), ExitStatus::Interrupted);
    assert_eq!(ExitStatus::Unjudged as u8, 4);
}

#[test]
fn a_run_without_anything_compared_is_unjudged() {
    use iodyno_model::RunKind;
    let of_kind = |kind, bench: Bench| {
        let mut record = bench.record();
        record.run.kind = kind;
        judged(&record)
    };
    let stopped = of_kind(RunKind::Run, Bench::new(1));
    assert_eq!(
        (stopped.verdict, subject(&stopped, "nvme0")),
        (Verdict::Unjudged, Verdict::Unjudged)
    );
    // Latencies without a claim are shown and not judged; that is no PASS of a job.
    let bench = Bench::new(1).measured().drive(0, |drive| drive.model = known("X".into()));
    let mut latency = bench.record();
    latency.run.kind = RunKind::Run;
    latency.measurements.drain(..2);
    let latency = judged(&latency);
    assert!(!latency.measurements.is_empty());
    assert_eq!(
        (latency.verdict, subject(&latency, "nvme0")),
        (Verdict::Unjudged, Verdict::Unjudged)
    );
    let compared = of_kind(RunKind::Run, Bench::new(1).measured());
    assert_eq!((compared.verdict, subject(&compared, "nvme0")), (Verdict::Pass, Verdict::Pass));
    assert_eq!(of_kind(RunKind::Check, Bench::new(1)).verdict, Verdict::Pass, "its rules looked");
}

#[test]
fn a_look_without_load_passes_and_one_without_root_is_unjudged() {
    let record = Bench::new(2).record();
    assert_eq!(judged(&record).verdict, Verdict::Pass);
    let blind = Bench::new(2).drive(0, |drive| drive.health = Fact::NeedsRoot).record();
    let all = judged(&blind);
    assert_eq!(
        (subject(&all, "nvme0"), subject(&all, "nvme1")),
        (Verdict::Unjudged, Verdict::Pass)
    );
    assert_eq!(judged(&Bench::new(0).record()).verdict, Verdict::Unjudged);
}

#[test]
fn a_target_that_an_interrupted_check_did_not_come_to_is_unjudged() {
    let mut record = Bench::new(3).measured().record();
    record.run.state = iodyno_model::RunState::Interrupted;
    record.measurements.truncate(3);
    let verdicts =
        |record: &RunRecord| ["nvme0", "nvme1", "nvme2"].map(|name| subject(&judged(record), name));
    let open = Verdict::Unjudged;
    assert_eq!(verdicts(&record), [Verdict::Pass, open, open]);
    // Disks that are no drives of the host, as loop devices.
    record.snapshots.iter_mut().for_each(|host| host.drives.clear());
    assert_eq!(subject(&judged(&record), "nvme2n1"), open);
    let mut at_once = Bench::new(3).record();
    at_once.run.state = iodyno_model::RunState::Interrupted;
    assert_eq!(verdicts(&at_once), [open; 3]);
}

/// Removes the `n`th fact, figure or object from a run.
fn take_away(record: &mut RunRecord, n: usize, at: usize) {
    let Some(host) = record.snapshots.get_mut(at % 2) else { return };
    let drives = host.drives.len().max(1);
    match n {
        0 => record.snapshots.clear(),
        1 => record.snapshots.truncate(1),
        2 => host.links.clear(),
        3 => host.blocks.clear(),
        4 => host.drives.clear(),
        5..=16 => {
            let Some(drive) = host.drives.get_mut(at % drives) else { return };
            match n {
                5 => drive.model = Fact::Absent,
                6 => drive.serial = Fact::Unreadable("?".into()),
                7 => drive.firmware = Fact::Absent,
                8 => drive.health = Fact::NeedsRoot,
                9 => drive.state = Fact::Absent,
                10 => drive.namespaces.clear(),
                11 => drive.links.clear(),
                12 => drive.capacity = Fact::Absent,
                13 => drive.temperature = Fact::Absent,
                14 => drive.address = Fact::Absent,
                15 => drive.links.push("nowhere".into()),
                _ => drive.virtual_disk = Some("a cloud".into()),
            }
        }
        17..=20 => {
            let links = host.links.len().max(1);
            let Some(link) = host.links.get_mut(at % links) else { return };
            match n {
                17 => link.current = Fact::Absent,
                18 => link.port.max_width = Fact::Absent,
                19 => link.current = known(iodyno_model::LinkState { generation: 9, width: 0 }),
                _ => link.port.target_generation = Fact::NeedsRoot,
            }
        }
        _ => {
            let count = record.measurements.len().max(1);
            let Some(of) = record.measurements.get_mut(at % count) else { return };
            match n {
                21 => of.total.clear(),
                22 => of.parts.clear(),
                23 => of.targets.clear(),
                24 => of.conditions = iodyno_model::Conditions::default(),
                25 => of.cpu = None,
                26 => of.workload = iodyno_model::Workload::default(),
                27 => of.before = Some(99),
                28 => of.under_load = Some(99),
                29 => scale(of, f64::NAN),
                30 => scale(of, 0.0),
                31 => of.end = iodyno_model::EndReason::Failed("".into()),
                32 => of.end = iodyno_model::EndReason::MaxTime,
                33 => of.targets = vec!["/somewhere".into()],
                _ => of.name = "other".into(),
            }
        }
    }
}

proptest! {
    #[test]
    fn judging_is_deterministic_whatever_is_missing(
        drives in 0usize..4,
        changes in prop::collection::vec((0usize..35, 0usize..12), 0..12),
    ) {
        let mut record = Bench::new(drives).measured().after(|_| {}).record();
        for (n, at) in changes {
            take_away(&mut record, n, at);
        }
        let claims = claims();
        let baseline = Bench::new(drives).measured().record();
        for baseline in [None, Some(&baseline)] {
            let question = Question { record: &record, claims: &claims, baseline, expect: None };
            let (once, twice) = (assess(&question), assess(&question));
            // Not compared as values: NaN differs from itself.
            prop_assert_eq!(format!("{once:?}"), format!("{twice:?}"));
            let worst = once.findings.iter().map(|f| of_severity(f.severity)).max();
            prop_assert!(worst.is_none_or(|worst| once.verdict >= worst));
            let of_subjects = once.subjects.iter().map(|(_, verdict)| *verdict).max();
            prop_assert!(of_subjects.is_none_or(|worst| once.verdict >= worst));
            exit_status(&record, &once, true);
        }
    }

    #[test]
    fn another_fault_never_improves_the_verdict(
        drives in 1usize..4,
        changes in prop::collection::vec((5usize..35, 0usize..12), 0..6),
        faulty in 0usize..4,
    ) {
        let mut record = Bench::new(drives).measured().record();
        for (n, at) in changes {
            take_away(&mut record, n, at);
        }
        let before = judged(&record);
        let drive = &mut record.snapshots[0].drives[faulty % drives];
        drive.state = known("dead".into());
        let name = drive.name.clone();
        let after = judged(&record);
        prop_assert!(after.verdict >= before.verdict && after.verdict == Verdict::Fail);
        for ((_, earlier), (_, later)) in before.subjects.iter().zip(&after.subjects) {
            prop_assert!(later >= earlier);
        }
        prop_assert_eq!(subject(&after, &name), Verdict::Fail);
    }
}
