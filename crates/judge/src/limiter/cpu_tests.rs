//! Tests of what looks like another limit: waiting for a CPU, a pace, a short queue.

use iodyno_model::{BlockTimes, ControlGroup, CpuThrottling, Experiment};

use super::suspect::Standing;
use super::tests::{and, of_first};
use super::*;
use crate::testing::{Bench, claims, known, scale};

#[test]
fn a_thread_that_waits_for_a_cpu_is_not_held_back_before_the_device() {
    let looked = |used: f64, waited: Option<f64>| {
        let bench = Bench::new(1).measured().measurement(0, |of| {
            let whole = of.total[0].mean_latency().unwrap().1.value;
            of.conditions.block_times = Some(BlockTimes {
                ios: 1000,
                duration_ns: 1_000_000_000,
                idle: 0.5,
                queue_mean_ns: 0.1 * whole,
                queue_p99_ns: 0,
                device_mean_ns: 0.1 * whole,
                device_p99_ns: 0,
            });
            let cpu = of.cpu.as_mut().unwrap();
            (cpu.busiest_thread, cpu.waited) = (used, waited);
        });
        let (answer, sentence, _) = of_first(&bench.record());
        let Answer::Named { limiter, .. } = answer else { panic!("{answer:?}: {sentence}") };
        (limiter, sentence)
    };
    let (limiter, sentence) = looked(0.35, Some(0.6));
    assert_eq!(limiter, Limiter::Cpu);
    assert!(sentence.contains("waited for a CPU 60 % of the time: other processes"), "{sentence}");
    let (limiter, sentence) = looked(0.35, Some(0.01));
    assert_eq!(limiter, Limiter::BeforeDevice);
    assert!(!sentence.contains("not known"), "{sentence}");
    // It waited, and still slept for half of the time.
    assert_eq!(looked(0.2, Some(0.3)).0, Limiter::BeforeDevice);
    let (limiter, sentence) = looked(0.35, None);
    assert_eq!(limiter, Limiter::BeforeDevice);
    assert!(sentence.contains("waited for a CPU is not known"), "{sentence}");
}

#[test]
fn a_short_queue_is_made_longer_before_more_is_asked_of_it() {
    let asked = |nr_requests: u32| {
        let bench = Bench::new(1).measured().measurement(1, |of| {
            scale(of, 0.1);
            (of.workload.iodepth, of.workload.numjobs) = (Some(16), Some(1));
            (of.conditions.depth_asked, of.conditions.threads) = (Some(16), Some(1));
        });
        let bench = bench.host(|host| {
            host.blocks[0].queue.nr_requests = known(nr_requests);
            host.blocks[0].queue.hardware_queues = known(1);
        });
        let (record, claims) = (bench.record(), claims());
        let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
        let explained = explain(&evidence, (0, 1)).unwrap();
        let title = Limiter::Depth.title(&explained.case);
        assert_eq!(title.contains("4 of 16 I/Os, as nr_requests is too low"), nr_requests == 4);
        assert_eq!(explained.advice.contains("Raise nr_requests"), nr_requests == 4);
        let next = explained.suspects.into_iter().filter_map(|one| match one.standing {
            Standing::Open(next) => Some(next),
            _ => None,
        });
        next.collect::<Vec<_>>()
    };
    let more = [Experiment::TwiceTheDepth, Experiment::TwiceTheJobs];
    let (short, long) = (asked(4), asked(1023));
    assert!(short.contains(&Experiment::LongerQueue), "{short:?}");
    assert!(!short.iter().any(|next| more.contains(next)), "{short:?}");
    assert!(long.iter().any(|next| more.contains(next)), "{long:?}");
}

/// Four busy threads on 4 of 16 CPUs, and as fast with eight.
#[test]
fn cpus_that_it_may_not_use_have_no_time_left_for_it() {
    let looked = |own: u32| {
        let change = |of: &mut iodyno_model::Measurement| {
            scale(of, 0.3);
            of.conditions.cpus = (0..own).collect();
            let cpu = of.cpu.as_mut().unwrap();
            (cpu.user, cpu.system, cpu.busiest_thread) = (1.0, 2.9, 0.97);
        };
        let bench = Bench::new(1).measured().measurement(0, change);
        let record = and(bench.record(), |of| {
            of.workload.numjobs = of.workload.numjobs.map(|jobs| 2 * jobs);
        });
        let (_, _, suspects) = of_first(&record);
        let cpu = suspects.into_iter().find(|one| one.limiter == Limiter::Cpu).unwrap();
        cpu.standing
    };
    let found = looked(4);
    assert!(matches!(&found, Standing::Confirmed(why) if why.contains("all CPUs")), "{found:?}");
    assert!(matches!(looked(0), Standing::Cleared(_)));
}

#[test]
fn a_limit_of_cpu_time_is_not_followed_by_not_the_cpu() {
    let counts = CpuThrottling { periods: 100, throttled_periods: 90, throttled_us: 5 };
    let bench = Bench::new(1).measured().measurement(0, |of| {
        scale(of, 0.3);
        of.cpu.as_mut().unwrap().busiest_thread = 0.1;
    });
    let bench = bench.host(|host| {
        host.control_groups = known(vec![ControlGroup {
            path: "/a".into(),
            cpu_max: known(0.1),
            cpu_throttling: known(CpuThrottling::default()),
            ..ControlGroup::default()
        }]);
    });
    let record = bench.after(|host| {
        host.taken_ns += 1;
        let mut groups = host.control_groups.value().unwrap();
        groups[0].cpu_throttling = known(counts);
        host.control_groups = known(groups);
    });
    let mut record = record.record();
    record.run.origin = iodyno_model::Origin::Measured;
    let (answer, sentence, suspects) = of_first(&record);
    let Answer::Named { limiter, .. } = answer else { panic!("{answer:?}: {sentence}") };
    assert_eq!(limiter, Limiter::ControlGroup, "{sentence}");
    assert!(suspects.iter().all(|one| one.limiter != Limiter::Cpu), "{suspects:?}");
}

#[test]
fn twice_the_jobs_of_a_paced_job_are_no_contrast() {
    let contrasts = |paced: bool| {
        let bench = Bench::new(1).measured().measurement(0, |of| {
            scale(of, 0.3);
            if paced {
                of.workload.options.insert("rate_iops".into(), "1000".into());
            }
        });
        let record = and(bench.record(), |of| {
            of.workload.numjobs = of.workload.numjobs.map(|jobs| 2 * jobs);
            scale(of, 2.0);
        });
        let claims = claims();
        let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
        explain(&evidence, (0, 0)).unwrap().contrasts.len()
    };
    assert_eq!((contrasts(false), contrasts(true)), (1, 0));
}
