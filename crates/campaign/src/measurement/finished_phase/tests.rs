//! Measurements of phases whose jobs report what a test sets.

use iodyno_load::{DirectionInterval, Interval, JobInterval, JobReport};
use iodyno_model::{CpuUse, Histogram, Host};
use iodyno_target::{ReadClearance, resolve_even_in_memory};

use super::*;
use crate::phase::PhaseJob;

const S: u64 = 1_000_000_000;

/// A file cleared for reading.
fn cleared() -> (tempfile::NamedTempFile, ReadClearance) {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let path = file.path().to_str().unwrap();
    let found = resolve_even_in_memory(&Host::default(), path).unwrap().remove(0);
    let clearance = found.clear_for_reading().unwrap();
    (file, clearance)
}

/// The file as a target on `device`.
fn target(clearance: &ReadClearance, device: &str) -> PreparedTarget {
    PreparedTarget {
        bottom: vec![device.into()],
        ..PreparedTarget::new(&Host::default(), "file", clearance, None, false, Vec::new())
    }
}

/// Phase of sections.
fn sections(jobs: &[ClearedJob<'_>]) -> Phase {
    let job = |one: &ClearedJob<'_>| PhaseJob { job: one.job.clone(), section: 0, on: None };
    Phase { jobs: jobs.iter().map(job).collect(), ..Phase::default() }
}

/// A phase without recordings, with one thread always busy.
fn over<'a>(
    phase: &'a Phase,
    jobs: &'a [ClearedJob<'a>],
    on: &'a [Vec<usize>],
    targets: &'a [PreparedTarget],
    reports: Vec<JobReport>,
) -> FinishedPhase<'a> {
    let mut recorder = Recorder::default();
    recorder.jobs.resize_with(jobs.len(), JobRecord::default);
    let cpu = CpuUse { busiest_thread: 1.0, ..CpuUse::default() };
    FinishedPhase {
        phase,
        number: 1,
        jobs,
        on,
        targets,
        report: Ok(PhaseReport { jobs: reports, cpu }),
        recorder,
        end: EndReason::Done,
        source: String::new(),
        started_ns: 0,
        seconds: 1.0,
        disk_stats: (Vec::new(), Vec::new()),
        steady: Vec::new(),
        cut: Cut::Nothing,
        above_limits: Vec::new(),
        steady_state: None,
        p99_asked: None,
        block_times: None,
        stop: Stop::NEVER,
        settings: &[],
    }
}

#[test]
fn busiest_thread_is_of_the_section() {
    let (_file, clearance) = cleared();
    let jobs = [(); 3].map(|()| ClearedJob::reading(Job::direct(), &clearance));
    let (phase, on) = (sections(&jobs), [vec![0], vec![0], vec![0]]);
    let targets = [target(&clearance, "sda")];
    // One is almost idle, one fills its CPU while it lasts, one only burns CPU.
    let busy = |(seconds, busiest_thread): (u64, f64)| {
        let mut report = JobReport::default();
        report.account.elapsed_ns = seconds * S;
        report.account.cpu.busiest_thread = busiest_thread;
        report
    };
    let reports = [(60, 0.02), (10, 0.98), (60, 1.0)].map(busy).to_vec();
    let over = over(&phase, &jobs, &on, &targets, reports);
    let busiest = |n: usize| over.measurement(&[n]).cpu.unwrap().busiest_thread;
    assert_eq!([0, 1].map(busiest), [0.02, 0.98]);
}

#[test]
fn clones_count_the_same_time() {
    let (_file, clearance) = cleared();
    let jobs = [0, 1].map(|clone| {
        let mut job = Job::direct();
        job.threads.clone = clone;
        ClearedJob::reading(job, &clearance)
    });
    let (phase, on) = (sections(&jobs), [vec![0], vec![0]]);
    let targets = [target(&clearance, "sda")];
    let counted = |seconds: u64| {
        let mut report = JobReport::default();
        report.account.counted_ns = seconds * S;
        report
    };
    let over = over(&phase, &jobs, &on, &targets, [10, 8].map(counted).to_vec());
    assert_eq!(over.measurement(&[0, 1]).account.unwrap().counted_ns, 10 * S);
}

#[test]
fn depths_of_two_stages_do_not_add_up() {
    let (_file, clearance) = cleared();
    let mut job = Job::direct();
    job.depth.iodepth = 16;
    let jobs = [ClearedJob::reading(job, &clearance)];
    let (phase, on) = (sections(&jobs), [vec![0]]);
    let targets = [target(&clearance, "sda")];
    let mut report = JobReport::default();
    (report.active_ns.write, report.active_ns.read) = (Some(2 * S), Some(S));
    let mut over = over(&phase, &jobs, &on, &targets, vec![report]);
    // 400 I/Os of 1 ms in 100 ms: four at a time.
    let mut latency = Histogram::default();
    (0..400).for_each(|_| latency.record(1_000_000));
    for n in 0..30 {
        let one = DirectionInterval {
            ios: 400,
            bytes: 400 << 12,
            latency: latency.clone(),
            ..DirectionInterval::default()
        };
        let directions = match n < 20 {
            true => PerDirection { write: one, ..PerDirection::default() },
            false => PerDirection { read: one, ..PerDirection::default() },
        };
        let active_ns = S / 10;
        let interval = Interval {
            start_ns: n * active_ns,
            duration_ns: active_ns,
            draining: false,
            cut: false,
            warnings: Vec::new(),
            jobs: vec![JobInterval { active_ns, directions, ..JobInterval::default() }],
        };
        over.recorder.record(&interval, None);
    }
    let measurement = over.measurement(&[0]);
    let iops: Vec<f64> =
        measurement.total.iter().map(|result| result.iops.unwrap().value).collect();
    assert_eq!(iops, [4000.0, 4000.0]);
    let depth = measurement.conditions.depth_reached.unwrap();
    assert!((depth - 4.0).abs() < 1e-9, "{depth}");
}

#[test]
fn paced_step_reports_its_rate_option() {
    let mut job = Job::direct();
    assert!(reported_options(&job, false).is_empty());
    job.pace.rate_iops.read = Some(5000);
    assert_eq!(reported_options(&job, false).into_keys().collect::<Vec<_>>(), ["rate_iops"]);
}

#[test]
fn io_of_targets_on_one_device_is_summed() {
    let (_file, clearance) = cleared();
    let jobs = [(); 3].map(|()| ClearedJob::reading(Job::direct(), &clearance));
    let on = ["sda", "sdb", "sda"].map(|device| target(&clearance, device));
    let own = |ios| {
        let mut report = JobReport::default();
        (report.whole.read.ios, report.whole.read.bytes) = (ios, ios * 4096);
        // Trims, which no count of reads and writes includes.
        (report.whole.trim.ios, report.whole.trim.bytes) = (100, 100 * 4096);
        report
    };
    let reports = [3, 5, 4].map(own).to_vec();
    let stats = |device: &str, reads| DiskStats {
        name: device.into(),
        reads,
        read_bytes: reads * 4096,
        ..DiskStats::default()
    };
    let phase = Phase { measured: Measured::Targets(3), ..Phase::default() };
    let numbers = [vec![0], vec![1], vec![2]];
    let over = FinishedPhase {
        disk_stats: (
            vec![stats("sda", 0), stats("sdb", 0)],
            vec![stats("sda", 7), stats("sdb", 25)],
        ),
        ..over(&phase, &jobs, &numbers, &on, reports)
    };
    let others = |device: &str| over.other_io_on(&device.to_owned(), None).map(|of| of.iops);
    assert_eq!(others("sda"), Some(0.0), "two targets on one disk are not strangers");
    assert_eq!(others("sdb"), Some(20.0));
    assert_eq!(others("sdc"), None);
    assert_eq!(over.max_other_io(&[0, 1, 2]).map(|of| of.iops), Some(20.0), "the most of all");
}

#[test]
fn the_range_is_that_of_all_clones_and_the_same_once_stored() {
    let (_file, clearance) = cleared();
    let targets = [target(&clearance, "sda")];
    const FILE: u64 = 1 << 20;
    let share = |percent| Amount::Percent(percent);
    for (size, offset, increment, bytes) in [
        (None, Amount::Bytes(0), Amount::Bytes(0), FILE),
        (None, share(25.0), Amount::Bytes(0), FILE * 3 / 4),
        (None, Amount::Bytes(0), share(25.0), FILE),
        (Some(share(50.0)), Amount::Bytes(0), share(50.0), FILE),
        (Some(Amount::Bytes(FILE / 4)), Amount::Bytes(0), Amount::Bytes(0), FILE / 4),
        (Some(Amount::Bytes(FILE / 4)), Amount::Bytes(0), Amount::Bytes(FILE / 2), FILE / 2),
        (Some(Amount::Bytes(FILE / 4)), Amount::Bytes(0), Amount::Bytes(4096), FILE / 4 + 4096),
    ] {
        let jobs = [0, 1].map(|clone| {
            let mut job = Job::direct();
            (job.threads.clone, job.threads.numjobs) = (clone, 2);
            let space = &mut job.space;
            (space.size, space.offset, space.offset_increment) = (size, offset, increment);
            ClearedJob::reading(job, &clearance)
        });
        let (phase, on) = (sections(&jobs), [vec![0], vec![0]]);
        let over = over(&phase, &jobs, &on, &targets, vec![JobReport::default(); 2]);
        let found = over.measurement(&[0, 1]);
        let stored = serde_json::to_value(&found).unwrap();
        let stored: Measurement = serde_json::from_value(stored).unwrap();
        for of in [&found, &stored] {
            let case = (size, offset, increment);
            assert_eq!(of.conditions.range_bytes, Some(bytes), "{case:?}");
        }
    }
}
