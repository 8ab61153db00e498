//! Runs jobs with the real fio.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use common::host;
use iodyno_fio::{FioError, FioGenerator};
use iodyno_job::{IoEngine, Job, Pattern, apply};
use iodyno_load::{ClearedJob, Flow, Interval, LoadError, LoadGenerator, Observer, PhaseReport};
use iodyno_target::{ReadClearance, resolve};

/// Records intervals, and stops after enough I/Os.
struct Watch {
    intervals: Vec<Interval>,
    enough_ios: u64,
}

impl Observer for Watch {
    fn observe(&mut self, interval: &Interval) -> Flow {
        self.intervals.push(interval.clone());
        if self.ios(0) >= self.enough_ios { Flow::Stop } else { Flow::Continue }
    }
}

impl Watch {
    fn ios(&self, job: usize) -> u64 {
        self.intervals.iter().map(|interval| interval.jobs[job].ios()).sum()
    }

    fn bytes(&self, job: usize) -> u64 {
        self.intervals.iter().map(|interval| interval.jobs[job].bytes()).sum()
    }
}

fn file(directory: &Path, bytes: usize) -> ReadClearance {
    let path = directory.join("data");
    fs::write(&path, vec![7; bytes]).unwrap();
    let targets = resolve(&host(), path.to_str().unwrap()).unwrap();
    targets[0].clear_for_reading().unwrap()
}

fn job(options: &[(&str, &str)]) -> Job {
    let mut job = Job { name: "job".into(), ..Job::default() };
    options.iter().for_each(|(name, value)| apply(&mut job, name, value).unwrap());
    job
}

fn run(jobs: &[ClearedJob<'_>], enough_ios: u64) -> (Watch, Result<PhaseReport, LoadError>) {
    let mut watch = Watch { intervals: Vec::new(), enough_ios };
    let mut generator = FioGenerator::find(None).unwrap();
    let report = generator.run(jobs, &mut watch);
    (watch, report)
}

#[test]
fn intervals_add_up_to_every_io() {
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path(), 4 << 20);
    let jobs = [
        ClearedJob::reading(job(&[("rw", "randread"), ("direct", "1")]), &target),
        ClearedJob::reading(job(&[("rw", "read"), ("bs", "16k")]), &target),
    ];
    let (watch, report) = run(&jobs, u64::MAX);
    let report = report.unwrap();
    for (n, ios) in [(0, 1024), (1, 256)] {
        let one = &report.jobs[n];
        assert_eq!((one.failure.as_deref(), one.whole.read.ios), (None, ios));
        assert_eq!((watch.ios(n), watch.bytes(n)), (ios, 4 << 20));
        let latencies = watch.intervals.iter().map(|i| i.jobs[n].directions.read.latency.count());
        assert_eq!(latencies.sum::<u64>(), ios);
        assert!(one.split.read.as_ref().unwrap().completion.count() == ios);
        assert_eq!(one.account.depth_levels[0], ios);
        assert_eq!((one.engine.as_str(), one.threads, one.iodepth), ("psync", 1, 1));
    }
}

#[test]
fn a_stop_lets_fio_report() {
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path(), 4096);
    let hole = fs::File::options().write(true).open(directory.path().join("data")).unwrap();
    // Minutes of reads, which take no space.
    hole.set_len(1 << 38).unwrap();
    let long = job(&[("rw", "read"), ("ioengine", "libaio"), ("iodepth", "2"), ("direct", "1")]);
    let (watch, report) = run(&[ClearedJob::reading(long, &target)], 1);
    let report = report.unwrap();
    assert!(report.jobs[0].whole.read.ios > 0);
    assert_eq!(watch.ios(0), report.jobs[0].whole.read.ios);
    assert_eq!(report.jobs[0].failure, None);
    assert!(report.jobs[0].shortfalls.is_empty(), "{:?}", report.jobs[0].shortfalls);
    assert!(report.jobs[0].whole.read.bytes < 1 << 38);
    let (drained, measured): (Vec<_>, Vec<_>) =
        watch.intervals.iter().partition(|interval| interval.draining);
    assert_eq!(drained.len(), 1);
    let active_ns: u64 = measured.iter().map(|interval| interval.jobs[0].active_ns).sum();
    assert!(active_ns > 0 && active_ns < report.jobs[0].account.elapsed_ns);
}

#[test]
fn the_cleared_file_is_read_even_if_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path(), 1 << 20);
    fs::rename(directory.path().join("data"), directory.path().join("away")).unwrap();
    fs::write(directory.path().join("data"), vec![0; 4096]).unwrap();
    let (_, report) = run(&[ClearedJob::reading(job(&[("rw", "read")]), &target)], u64::MAX);
    assert_eq!(report.unwrap().jobs[0].whole.read.bytes, 1 << 20);
}

#[test]
fn threads_that_share_a_range_read_it_once() {
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path(), 3 << 20);
    let mut shared = job(&[("rw", "read"), ("ioengine", "auto")]);
    shared.threads.shared_by = 2;
    let (watch, report) = run(&[ClearedJob::reading(shared, &target)], u64::MAX);
    let report = report.unwrap();
    assert_eq!(report.jobs.len(), 1);
    assert_eq!((watch.bytes(0), report.jobs[0].whole.read.bytes), (3 << 20, 3 << 20));
    assert_eq!((report.jobs[0].threads, report.jobs[0].engine.as_str()), (2, "libaio"));
}

#[test]
fn failures_quote_fio() {
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path(), 1 << 20);
    let mut passthrough = job(&[("rw", "read")]);
    passthrough.engine.ioengine = IoEngine::IoUringCmd;
    let (_, report) = run(&[ClearedJob::reading(passthrough, &target)], u64::MAX);
    let told = match report {
        Ok(report) => report.jobs[0].failure.clone().unwrap(),
        Err(error) => error.to_string(),
    };
    assert!(told.contains("exited with status 1: ") && told.contains("io_uring_cmd"), "{told}");
    assert!(!told.contains("/proc/"), "{told}");
}

#[test]
fn a_target_that_was_cleared_for_reading_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path(), 1 << 20);
    let mut writes = job(&[]);
    writes.pattern.rw = Pattern::RandWrite;
    let (watch, report) = run(&[ClearedJob::reading(writes, &target)], u64::MAX);
    assert!(matches!(report, Err(LoadError::Unfit { .. })));
    assert!(watch.intervals.is_empty());
    assert_eq!(fs::read(directory.path().join("data")).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn missing_or_wrong_fio_is_explained() {
    let generator = FioGenerator::find(None).unwrap();
    assert!(generator.source().starts_with("fio 3."), "{}", generator.source());

    let directory = tempfile::tempdir().unwrap();
    let missing = FioGenerator::find(Some(&directory.path().join("fio"))).unwrap_err();
    assert!(missing.to_string().contains("install the package `fio`"), "{missing}");

    let fake = |says: &str| {
        let path = directory.path().join("fake");
        fs::write(&path, format!("#!/bin/sh\necho {says}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        FioGenerator::find(Some(&path)).unwrap_err()
    };
    assert!(matches!(fake("hello"), FioError::NotFio { .. }));
    assert!(matches!(fake("fio-2.16"), FioError::TooOld { .. }));
}

#[test]
fn sampling_blocks_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path(), 1 << 20);
    let refused = FioGenerator::find(None).unwrap().probe(&target, &[0], 4096, 1).unwrap_err();
    assert!(matches!(refused, LoadError::Unfit { .. }));
}

/// A fio that hangs, as on I/O that never completes: its earlier reports are kept.
#[test]
fn a_fio_that_does_not_end_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let target = file(directory.path(), 1 << 20);
    let path = directory.path().join("fio");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && { echo fio-3.99; exit; }\ntrap '' INT\n\
                  cat <<END\n{\n  \"fio version\" : \"fio-3.99\", \"timestamp_ms\" : 9000,\n\
                  \"jobs\" : [ { \"jobname\" : \"job\", \"read\" : { \"total_ios\" : 7, \
                  \"io_bytes\" : 3584, \"runtime\" : 500 } } ]\n}\nEND\nsleep 600\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut generator =
        FioGenerator::find(Some(&path)).unwrap().with_patience(Duration::from_millis(50));
    let mut watch = Watch { intervals: Vec::new(), enough_ios: 1 };
    let jobs = [ClearedJob::reading(job(&[("rw", "read")]), &target)];
    let report = generator.run(&jobs, &mut watch).unwrap();
    assert_eq!(watch.ios(0), 7);
    assert_eq!(report.jobs[0].whole.read.ios, 7);
    assert!(report.jobs[0].failure.as_ref().unwrap().ends_with("and was killed"));
}
