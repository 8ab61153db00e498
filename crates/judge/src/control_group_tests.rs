use iodyno_model::{CpuThrottling, IoMax, RunRecord};

use super::*;
use crate::testing::{Bench, known};

/// A measured machine with the process in group `/a/b`; `change` changes both groups.
fn bench(change: impl FnOnce(&mut ControlGroup, &mut ControlGroup)) -> Bench {
    Bench::new(2).measured().host(|host| {
        let group = |path: &str| ControlGroup { path: path.into(), ..ControlGroup::default() };
        let (mut own, mut above) = (group("/a/b"), group("/a"));
        change(&mut own, &mut above);
        host.control_groups = known(vec![own, above]);
    })
}

/// The record, marked as measured on a real machine.
fn measured(bench: &Bench) -> RunRecord {
    let mut record = bench.record();
    record.run.origin = Origin::Measured;
    record
}

fn effect(bench: &Bench, measurement: usize) -> Option<CgroupEffect> {
    let record = measured(bench);
    cgroup_effect(&Index::of(&record), &record.measurements[measurement]).unwrap()
}

fn limit(device: &str, read_bytes_per_s: u64) -> IoMax {
    let read_bytes_per_s = Some(read_bytes_per_s);
    IoMax { device: device.into(), read_bytes_per_s, ..IoMax::default() }
}

#[test]
fn io_max_is_reached_or_not_on_each_device() {
    // Each drive reads 6664 MB/s.
    assert_eq!(effect(&bench(|_, _| ()), 0), None);
    let high = bench(|own, _| own.io_max = vec![limit("nvme0n1", 9_000_000_000)]);
    assert_eq!(effect(&high, 0), None);
    let low = bench(|_, above| above.io_max = vec![limit("nvme0n1", 6_700_000_000)]);
    let found = effect(&low, 0).unwrap();
    assert!(found.is_the_limit());
    let text = found.to_string();
    assert!(
        text.starts_with("io.max of control group /a limits 6700 MB/s of reads to nvme0n1, and"),
        "{text}"
    );
    assert_eq!(effect(&low, 3), None, "the other drive has none");
    // Together with the other drive it is still the limited one; the two have no common bound.
    assert!(effect(&low, 6).is_some());
    let record = low.record();
    let host = record.host().unwrap();
    let ceiling = |n: usize| io_ceiling(host, &record.measurements[n], Metric::Bandwidth);
    assert_eq!(ceiling(0).unwrap().0, 6.7e9);
    assert_eq!((ceiling(3), ceiling(6)), (None, None));
    let both = bench(|own, _| own.io_max = vec![limit("nvme0n1", 1), limit("nvme1n1", 2)]).record();
    let sum = io_ceiling(both.host().unwrap(), &both.measurements[6], Metric::Bandwidth);
    assert_eq!(sum.unwrap().0, 3.0);
}

#[test]
fn jobs_that_run_at_the_same_time_have_one_limit() {
    let bench = bench(|own, _| own.io_max = vec![limit("nvme0n1", 13_000_000_000)]);
    assert_eq!(effect(&bench, 0), None);
    let mut record = measured(&bench.after(|host| host.taken_ns += 1));
    record.measurements.truncate(1);
    record.measurements.push(record.measurements[0].clone());
    let found = cgroup_effect(&Index::of(&record), &record.measurements[0]).unwrap().unwrap();
    assert_eq!(found.setting(), "io.max");
}

#[test]
fn limits_of_ios_count_requests() {
    let with = |most: u64, max_sectors_kib: u32| {
        let bench = bench(|own, _| {
            let read_iops = Some(most);
            let device = "nvme0n1".into();
            own.io_max = vec![IoMax { device, read_iops, ..IoMax::default() }];
        });
        bench.host(|host| host.blocks[0].queue.max_sectors_kib = known(max_sectors_kib))
    };
    let record = with(1, 128).record();
    let iops = record.measurements[0].total[0].iops.unwrap().high() as u64;
    // 256 KiB in requests of 128 KiB.
    assert!(effect(&with(2 * iops, 128), 0).is_some());
    assert_eq!(effect(&with(2 * iops, 256), 0), None);
}

#[test]
fn cpu_max_shows_in_the_periods_that_it_ended() {
    let counts =
        |throttled_periods| CpuThrottling { periods: 100, throttled_periods, throttled_us: 5 };
    let with = |throttled: u64| {
        let bench = bench(|_, above| {
            above.cpu_max = known(0.5);
            above.cpu_throttling = known(CpuThrottling::default());
        });
        bench.after(|host| {
            host.taken_ns += 1;
            let mut groups = host.control_groups.value().unwrap();
            groups[1].cpu_throttling = known(counts(throttled));
            host.control_groups = known(groups);
        })
    };
    assert_eq!(effect(&with(4), 0), None);
    let some = effect(&with(10), 0).unwrap();
    assert!(!some.is_the_limit());
    let most = effect(&with(60), 0).unwrap();
    assert!(most.is_the_limit());
    let said = "cpu.max (0.50 CPUs) of control group /a throttled it in 60 % of periods";
    assert_eq!(most.to_string(), said);
    let record = with(0).record();
    assert_eq!(allowed_cpus(record.host().unwrap()), Some(0.5));
}

#[test]
fn io_latency_limits_show_in_stalled_asynchronous_submitters() {
    let with = |stalled_us: u64, engine: &str| {
        let bench = bench(|own, _| {
            own.io_latency = vec![("nvme0n1".into(), 75)];
            own.io_stalled_us = known(0);
        });
        let bench = bench.after(|host| {
            host.taken_ns += 1_000_000_000;
            let mut groups = host.control_groups.value().unwrap();
            groups[0].io_stalled_us = known(stalled_us);
            host.control_groups = known(groups);
        });
        effect(&bench.measurement(0, |of| of.workload.ioengine = Some(engine.into())), 0)
    };
    assert_eq!(with(10_000, "libaio"), None);
    let found = with(500_000, "libaio").unwrap();
    assert_eq!((found.setting(), found.is_the_limit()), ("io.latency", false));
    assert!(found.is_known() && found.to_string().ends_with("50 % of the time"), "{found}");
    // These engines also wait for the drive.
    for engine in ["psync", "io_uring"] {
        let found = with(900_000, engine).unwrap();
        let said = "control group /a/b has io.latency on nvme0n1, which may throttle it";
        assert_eq!((found.is_known(), found.to_string().as_str()), (false, said));
    }
}

#[test]
fn a_cpuset_counts_where_its_cpus_are_full() {
    let with = |threads: u32, used: f64| {
        let bench = bench(|own, _| own.cpus = known(vec![2, 3]));
        effect(
            &bench.measurement(0, |of| {
                of.conditions.threads = Some(threads);
                of.cpu = Some(iodyno_model::CpuUse {
                    user: used,
                    system: 0.0,
                    busiest_thread: 0.5,
                    waited: None,
                });
            }),
            0,
        )
    };
    assert_eq!(with(8, 1.0), None, "half of their time");
    assert_eq!(with(2, 1.98), None, "as many threads as CPUs");
    let found = with(8, 1.98).unwrap();
    assert_eq!((found.setting(), found.is_the_limit()), ("cpuset.cpus", true));
}

#[test]
fn groups_that_cannot_be_seen_are_not_known_to_be_without_limits() {
    let blind = Bench::new(1)
        .measured()
        .host(|host| host.control_groups = Fact::Unreadable("not mounted".into()));
    let record = measured(&blind);
    assert!(cgroup_effect(&Index::of(&record), &record.measurements[0]).is_err());
    let confining = bench(|own, _| own.cpus = known(vec![3])).record();
    assert_eq!(cpuset_group(confining.host().unwrap()), Some(("/a/b", 1)));
}
