//! Tests when each experiment is asked for, and what its result shows.

use iodyno_model::{
    Beside, Estimate, Experiment, Fact, IdentifyController, Measurement, PowerState, Purpose,
    RunKind, RunRecord,
};

use super::*;
use crate::testing::{Bench, claims, interrupts, known, log, scale};

/// Indices of the measurements of [`Bench`]: 32 large reads outstanding, 8 jobs with 64 small ones
/// each, and depth 1.
const LARGE: usize = 0;
const SMALL: usize = 1;
const ALONE: usize = 2;

/// A drive far below its claim in everything.
fn slow() -> Bench {
    let bench = Bench::new(1).measured();
    [LARGE, SMALL, ALONE].into_iter().fold(bench, |bench, n| bench.measurement(n, slowed))
}

fn slowed(of: &mut Measurement) {
    scale(of, 0.3);
}

/// Adds the measurement once more, with `factor` times the rate and `change`.
fn and(
    mut record: RunRecord,
    n: usize,
    factor: f64,
    change: impl FnOnce(&mut Measurement),
) -> RunRecord {
    let mut other = record.measurements[n].clone();
    scale(&mut other, factor);
    change(&mut other);
    record.measurements.push(other);
    record
}

fn deeper(of: &mut Measurement) {
    of.workload.iodepth = of.workload.iodepth.map(|depth| depth * 2);
    of.conditions.depth_asked = of.conditions.depth_asked.map(|depth| depth * 2);
}

fn more_jobs(of: &mut Measurement) {
    of.workload.numjobs = of.workload.numjobs.map(|jobs| jobs * 2);
}

/// Adds an experiment as `explain` makes it.
fn made(record: RunRecord, n: usize, factor: f64, experiment: Experiment) -> RunRecord {
    let mut record = and(record, n, factor, |of| of.purpose = Purpose::Experiment(experiment));
    record.run.kind = RunKind::Explain;
    record
}

fn of(record: &RunRecord, n: usize, possible: &[Experiment]) -> (Answer, String, Vec<Suspect>) {
    let claims = claims();
    let evidence = Evidence { records: &[record], claims: &claims, possible, repeats: 0 };
    let explained = explain(&evidence, (0, n)).unwrap();
    let text = format!("{}\n{}", explained.sentence, explained.notes.join("\n"));
    (explained.answer, text, explained.suspects)
}

#[track_caller]
fn asks(record: &RunRecord, n: usize, experiment: Experiment) {
    let (answer, text, _) = of(record, n, &[experiment]);
    assert_eq!(answer, Answer::Experiment(experiment), "{text}");
}

/// Asserts the named limiter, and returns the gain that was measured.
#[track_caller]
fn names(record: &RunRecord, n: usize, expected: Limiter) -> (Option<f64>, String) {
    let (answer, text, _) = of(record, n, &[]);
    match answer {
        Answer::Named { limiter, next, .. } if limiter == expected => {
            (next.filter(|next| next.measured).map(|next| next.gain), text)
        }
        other => panic!("{other:?}\n{text}"),
    }
}

fn standing(record: &RunRecord, n: usize, limiter: Limiter) -> Option<Standing> {
    let (_, _, suspects) = of(record, n, &[]);
    suspects.into_iter().find(|one| one.limiter == limiter).map(|one| one.standing)
}

#[test]
fn passthrough_shows_the_cost_of_the_kernel() {
    let busy = slow().measurement(SMALL, |of| of.cpu.as_mut().unwrap().busiest_thread = 0.99);
    let passed = |of: &mut Measurement| of.workload.ioengine = Some("io_uring_cmd".into());
    let saturated = and(busy.record(), SMALL, 1.8, more_jobs);
    asks(&saturated, SMALL, Experiment::Passthrough);
    let faster = and(busy.record(), SMALL, 1.3, passed);
    let (gain, text) = names(&faster, SMALL, Limiter::Cpu);
    assert!((gain.unwrap() - 0.3).abs() < 0.01, "{text}");
    assert!(text.contains("without block layer (io_uring_cmd)"), "{text}");
    // If more jobs leave it open, passthrough would decide.
    let vague = and(busy.record(), SMALL, 1.1, |of| {
        more_jobs(of);
        let iops = of.total[0].iops.unwrap().value;
        of.total[0].iops = Some(Estimate::confident(iops, iops * 0.5, iops * 1.5, 0.95));
    });
    let open = standing(&vague, SMALL, Limiter::Cpu);
    assert_eq!(open, Some(Standing::Open(Experiment::Passthrough)));
    // A thread with CPU time left waits for the device.
    assert!(matches!(standing(&slow().record(), SMALL, Limiter::Cpu), Some(Standing::Cleared(_))));
    // At depth 1 CPU time is part of the latency, in addition to the gain of more depth.
    let alone = and(slow().record(), ALONE, 2.0, deeper);
    asks(&alone, ALONE, Experiment::Passthrough);
    let passed = and(alone, ALONE, 1.05, |of| {
        passed(of);
        scale_latency(of, 1.0 / 1.05);
    });
    let (_, text) = names(&passed, ALONE, Limiter::Depth);
    assert!(text.contains("without block layer (io_uring_cmd) each I/O takes"), "{text}");
}

fn scale_latency(of: &mut Measurement, factor: f64) {
    let latency = of.total[0].latency_mean.unwrap();
    of.total[0].latency_mean = Some(latency.scaled(factor));
}

#[test]
fn two_engines_are_one_change_and_not_none() {
    let libaio = |of: &mut Measurement| of.workload.ioengine = Some("libaio".into());
    let both = and(slow().record(), LARGE, 1.5, |of| {
        libaio(of);
        deeper(of);
    });
    let claims = claims();
    let evidence = Evidence { records: &[&both], claims: &claims, possible: &[], repeats: 0 };
    assert!(explain(&evidence, (0, LARGE)).unwrap().contrasts.is_empty());
    let one = and(slow().record(), LARGE, 1.5, libaio);
    let evidence = Evidence { records: &[&one], claims: &claims, possible: &[], repeats: 0 };
    let contrasts = explain(&evidence, (0, LARGE)).unwrap().contrasts;
    assert_eq!(contrasts[0].title(), "io_uring to libaio");
}

#[test]
fn more_depth_and_other_io_are_no_single_change() {
    let claims = claims();
    let changes: [fn(&mut Measurement); 4] = [
        |of| drop(of.workload.options.insert("rate_iops".into(), "5000".into())),
        |of| drop(of.workload.options.insert("flow".into(), "8".into())),
        |of| drop(of.workload.options.insert("fsync".into(), "1".into())),
        |of| of.workload.direct = Some(false),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let both = and(slow().record(), LARGE, 0.1, |of| {
            deeper(of);
            change(of);
        });
        let evidence = Evidence { records: &[&both], claims: &claims, possible: &[], repeats: 0 };
        assert!(explain(&evidence, (0, LARGE)).unwrap().contrasts.is_empty(), "{n}");
    }
}

#[test]
fn interrupts_on_one_cpu_are_left_to_it() {
    let on = |cpu: fn(u32) -> u32| {
        let bench = slow().host(|host| {
            host.blocks[0].pci_function = Some("0000:10:00.0".into());
            host.interrupts = interrupts(cpu, 7);
        });
        let bench = bench.after(|host| host.interrupts = interrupts(cpu, 20_000));
        bench.measurement(SMALL, |of| of.conditions.cpus = (0..8).collect()).record()
    };
    assert_eq!(standing(&on(|queue| queue), SMALL, Limiter::Interrupts), None);
    let one = on(|_| 3);
    let open = Some(Standing::Open(Experiment::OffInterrupts));
    assert_eq!(standing(&one, SMALL, Limiter::Interrupts), open);
    assert!(matches!(of(&one, SMALL, &[]).0, Answer::Undecided { .. }));
    asks(&one, SMALL, Experiment::OffInterrupts);
    let off =
        |factor: f64| and(one.clone(), SMALL, factor, |of| of.conditions.cpus = (4..12).collect());
    let (gain, text) = names(&off(1.4), SMALL, Limiter::Interrupts);
    assert!((gain.unwrap() - 0.4).abs() < 0.01, "{text}");
    assert!(text.contains("CPU 3 took 100 % of the interrupts"), "{text}");
    assert!(matches!(standing(&off(1.0), SMALL, Limiter::Interrupts), Some(Standing::Cleared(_))));
}

#[test]
fn resting_links_are_tested_by_keeping_them_awake() {
    let aspm = iodyno_model::Aspm { l0s: false, l1: true };
    let bench = slow().link(0, |link| link.aspm = known(aspm));
    let resting = and(bench.record(), ALONE, 2.0, deeper);
    asks(&resting, ALONE, Experiment::KeptAwake);
    // Without this experiment the depth is named.
    names(&resting, ALONE, Limiter::Depth);
    let awake = |factor: f64| {
        and(resting.clone(), ALONE, factor, |of| {
            let target = of.targets[0].clone();
            of.conditions.beside = vec![Beside { target, rw: "randread".into(), bytes_per_s: 1e8 }];
        })
    };
    let (gain, text) = names(&awake(1.3), ALONE, Limiter::PowerSaving);
    assert!((gain.unwrap() - 0.3).abs() < 0.01, "{text}");
    assert!(text.contains("ASPM lets link 0000:10:00.0 rest in L1"), "{text}");
    names(&awake(1.01), ALONE, Limiter::Depth);
    // With many outstanding I/Os nothing rests.
    assert_eq!(standing(&bench.record(), SMALL, Limiter::PowerSaving), None);
}

#[test]
fn a_lower_power_state_is_for_its_owner_to_change() {
    let state =
        |mw| PowerState { max_power_mw: Some(mw), operational: true, entry_us: 0, exit_us: 0 };
    let bench = slow().drive(0, |drive| {
        drive.power_state = known(1);
        let power_states = vec![state(12_000), state(6_000)];
        drive.identify = known(IdentifyController { power_states, ..Default::default() });
    });
    let (answer, text, _) = of(&bench.record(), LARGE, &[Experiment::OnceMore]);
    let Answer::Undecided { between, experiments } = answer else { panic!("{answer:?} {text}") };
    assert!(between.contains(&Limiter::PowerSaving), "{text}");
    assert!(experiments.contains(&Experiment::FullPower), "{text}");
}

#[test]
fn a_rate_that_a_rest_brings_back_is_heats() {
    let warm = made(slow().record(), LARGE, 0.6, Experiment::OnceMore);
    assert!(matches!(
        of(&warm, LARGE, &[]).0,
        Answer::Undecided { between, .. } if between.contains(&Limiter::Heat)
    ));
    asks(&warm, LARGE, Experiment::Rest);
    let rested = |factor: f64| {
        let mut record = made(warm.clone(), LARGE, factor, Experiment::Rest);
        for celsius in [71.0, 58.0] {
            let mut host = record.snapshots[0].clone();
            if let Fact::Read(temperature) = &mut host.drives[0].temperature {
                temperature.composite_c = celsius;
            }
            record.snapshots.push(host);
        }
        record.measurements.last_mut().unwrap().before = Some(record.snapshots.len() - 1);
        record
    };
    let (_, text) = names(&rested(1.0), LARGE, Limiter::Heat);
    assert!(text.contains("after a rest, 71 to 58 °C"), "{text}");
    // If the rate does not recover, it is not heat.
    let cold = standing(&rested(0.6), LARGE, Limiter::Heat);
    assert!(matches!(cold, Some(Standing::Cleared(_))), "{cold:?}");
    // For writes a full cache has the same effect.
    let mut writes = warm.clone();
    for of in &mut writes.measurements {
        of.workload.rw = Some("write".into());
        of.total[0].direction = iodyno_model::Direction::Write;
    }
    assert!(!matches!(standing(&writes, LARGE, Limiter::Heat), Some(Standing::Open(_))));
}

#[test]
fn a_hot_drive_that_counts_nothing_is_left_to_cool() {
    let hot = |celsius: f64| {
        let bench = slow().drive(0, |drive| {
            drive.health = Fact::NeedsRoot;
            if let Fact::Read(temperature) = &mut drive.temperature {
                temperature.composite_c = celsius;
            }
        });
        bench.record()
    };
    assert_eq!(standing(&hot(79.0), LARGE, Limiter::Heat), None);
    asks(&hot(80.0), LARGE, Experiment::Rest);
    let cool = made(hot(80.0), LARGE, 1.5, Experiment::Rest);
    let (gain, text) = names(&cool, LARGE, Limiter::Heat);
    assert!((gain.unwrap() - 0.5).abs() < 0.01, "{text}");
    // Minutes at its warning level are no sign of throttling, nor of none.
    let warm = slow().after(|host| log(&mut host.drives[0]).warning_temperature_min = 9);
    asks(&warm.record(), LARGE, Experiment::Rest);
}

#[test]
fn a_neighbour_that_is_written_shows_what_is_shared() {
    let mut bench = Bench::new(2).measured().measurement(LARGE, slowed);
    let own = |record: &RunRecord| record.measurements[LARGE].total[0].bandwidth.unwrap().value;
    let behind_one = |host: &mut iodyno_model::Host| {
        host.drives.iter_mut().for_each(|drive| drive.links.insert(0, "0000:05:00.0".into()));
    };
    let (_, text, _) = of(&bench.record(), LARGE, &[]);
    assert!(!text.contains("shares"), "they share nothing that is known: {text}");
    bench = bench.host(behind_one);
    let (_, text, _) = of(&bench.record(), LARGE, &[]);
    assert!(text.contains("nvme1n1 shares the uplink 0000:05:00.0 with it"), "{text}");
    asks(&bench.record(), LARGE, Experiment::NeighbourWrites);
    let beside = |factor: f64, share: f64| {
        let record = bench.record();
        let bytes_per_s = share * own(&record);
        and(record, LARGE, factor, |of| {
            let target = "nvme1n1".into();
            of.conditions.beside = vec![Beside { target, rw: "write".into(), bytes_per_s }];
        })
    };
    let (_, text) = names(&beside(0.5, 0.5), LARGE, Limiter::Shared);
    assert!(text.contains("while nvme1n1 is written at"), "{text}");
    assert!(text.contains("no more than for one alone"), "{text}");
    // Writing slows the reads, but together they get more than one alone.
    names(&beside(0.7, 0.9), LARGE, Limiter::Drive);
    let (_, text) = names(&beside(1.0, 0.9), LARGE, Limiter::Drive);
    assert!(!text.contains("untested"), "{text}");
}
