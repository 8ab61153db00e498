//! Tests of waiting for a CPU: it looks like a limit before the device.

use iodyno_model::BlockTimes;

use super::tests::of_first;
use super::*;
use crate::testing::Bench;

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
