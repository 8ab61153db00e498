//! The native generator on real files, through its public interface.
#![allow(clippy::unwrap_used)] // Helpers of tests, outside of test functions.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use iodyno_job::{BlockSize, Extent, IoEngine, Job, Pattern};
use iodyno_load::{
    BlockContent, ClearedJob, Flow, Interval, LoadError, LoadGenerator, Observer, PhaseReport,
};
use iodyno_model::Host;
use iodyno_native::NativeGenerator;
use iodyno_target::{ReadClearance, resolve};

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 1000;
const ENGINES: [IoEngine; 7] = [
    IoEngine::Auto,
    IoEngine::IoUring,
    IoEngine::Libaio,
    IoEngine::Psync,
    IoEngine::Pvsync2,
    IoEngine::Sync,
    IoEngine::Mmap,
];

/// A job made of the defaults that drives are measured with.
fn job(change: impl FnOnce(&mut Job)) -> Job {
    let mut job = Job::direct();
    change(&mut job);
    job
}

/// A file beside the build (where O_DIRECT works; /tmp may be a tmpfs).
struct TestFile {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl TestFile {
    /// Odd blocks hold zeros, even blocks data.
    fn new() -> Self {
        let beside = std::env::current_exe().unwrap();
        let directory = tempfile::tempdir_in(beside.parent().unwrap()).unwrap();
        let path = directory.path().join("target");
        let mut file = File::create(&path).unwrap();
        for number in 0..BLOCKS {
            let byte = |n: u64| if number % 2 == 0 { (number + n) as u8 } else { 0 };
            file.write_all(&(0..BLOCK).map(byte).collect::<Vec<_>>()).unwrap();
        }
        file.sync_all().unwrap();
        Self { _directory: directory, path }
    }

    fn clear(&self) -> ReadClearance {
        let name = self.path.to_str().unwrap();
        // Files need no facts of the host.
        resolve(&Host::default(), name).unwrap().remove(0).clear_for_reading().unwrap()
    }

    fn truncate(&self, blocks: u64) {
        let file = OpenOptions::new().write(true).open(&self.path).unwrap();
        file.set_len(blocks * BLOCK).unwrap();
    }
}

/// Keeps all intervals; stops after some I/Os, and runs a function at the first interval.
struct Watcher<'a> {
    intervals: Vec<Interval>,
    stop_after: u64,
    at_first: Box<dyn FnMut() + 'a>,
}

impl<'a> Watcher<'a> {
    fn new(stop_after: u64, at_first: impl FnMut() + 'a) -> Self {
        Self { intervals: Vec::new(), stop_after, at_first: Box::new(at_first) }
    }

    fn ios(&self, job: usize) -> u64 {
        self.intervals.iter().map(|interval| interval.jobs[job].ios()).sum()
    }

    fn errors(&self, job: usize) -> u64 {
        self.intervals.iter().map(|interval| interval.jobs[job].directions.read.errors).sum()
    }
}

impl Observer for Watcher<'_> {
    fn observe(&mut self, interval: &Interval) -> Flow {
        if self.intervals.is_empty() {
            (self.at_first)();
        }
        self.intervals.push(interval.clone());
        let done: u64 = (0..interval.jobs.len()).map(|job| self.ios(job)).sum();
        if done >= self.stop_after { Flow::Stop } else { Flow::Continue }
    }
}

fn run<'a>(
    jobs: &[ClearedJob<'_>],
    stop_after: u64,
    at_first: impl FnMut() + 'a,
) -> (PhaseReport, Watcher<'a>) {
    let mut watcher = Watcher::new(stop_after, at_first);
    let report = NativeGenerator::new().run(jobs, &mut watcher).unwrap();
    (report, watcher)
}

#[test]
fn every_engine_reports_what_it_did() {
    let file = TestFile::new();
    let target = file.clear();
    for ioengine in ENGINES {
        let job = job(|job| {
            job.engine.ioengine = ioengine;
            job.pattern.rw = Pattern::RandRead;
            job.depth.iodepth = 16;
            job.threads.shared_by = 2;
        });
        let (report, watcher) = run(&[ClearedJob::reading(job, &target)], 5000, || {});
        let job = &report.jobs[0];
        let whole = job.whole.read;
        assert_eq!((job.failure.as_ref(), whole.errors), (None, 0), "{job:?}");
        assert_eq!(whole.ios, watcher.ios(0), "intervals hold every I/O");
        assert_eq!(whole.bytes, whole.ios * BLOCK);
        assert!(whole.ios >= 5000 && job.threads == 2);
        if ioengine != IoEngine::Auto {
            assert_eq!(job.engine, ioengine.name());
        }
        assert!(!job.engine_reason.as_ref().unwrap().is_empty());
        let queues = ["io_uring", "libaio"].contains(&job.engine.as_str());
        let depth = if queues { 16 } else { 1 };
        assert_eq!(job.iodepth, depth);
        assert_eq!(job.shortfalls.iter().any(|s| s.to_string().contains("iodepth=16")), depth == 1);
        assert_eq!(job.registered_buffers.is_some(), job.engine == "io_uring");
        let mut end_ns = 0;
        for interval in &watcher.intervals {
            assert_eq!(interval.start_ns, end_ns, "intervals join");
            end_ns += interval.duration_ns;
            let job = &interval.jobs[0].directions.read;
            assert_eq!(job.ios, job.latency.count());
            assert!(job.latency.min_ns() <= job.latency.max_ns());
            assert_ne!(job.latency.min_ns(), Some(0), "a read takes some time");
            assert!(job.latency.max_ns() <= Some(end_ns), "and no longer than all did");
        }
        // Little's law: the mean number in flight is the depth, except for the time between reaping
        // and issuing, and never more.
        let sum_ns: f64 =
            watcher.intervals.iter().map(|i| i.jobs[0].directions.read.latency.sum_ns()).sum();
        let outstanding = sum_ns / end_ns as f64;
        assert!(outstanding <= f64::from(2 * depth) * 1.01, "{outstanding} of {}", 2 * depth);
        // With mmap it may all be user time.
        assert!(report.cpu.user + report.cpu.system > 0.0 && report.cpu.busiest_thread <= 1.0);
    }
}

#[test]
fn a_run_time_ends_each_job_by_itself() {
    let file = TestFile::new();
    let target = file.clear();
    let jobs = [30, 60_000].map(|ms| {
        let job = job(|job| {
            job.time.runtime_ns = Some(ms * 1_000_000);
            job.space.extents = vec![Extent { offset: 40 * BLOCK, length: 10 * BLOCK }];
            job.threads.cpus_allowed = vec![0];
        });
        ClearedJob::reading(job, &target)
    });
    let mut watcher = Watcher::new(u64::MAX, || {});
    let report =
        NativeGenerator::new().run(&jobs, &mut WithoutFirst { watcher: &mut watcher }).unwrap();
    assert_eq!(report.jobs[0].cpus, [0]);
    for index in [0, 1] {
        assert_eq!(report.jobs[index].whole.read.ios, watcher.ios(index));
        assert!(report.jobs[index].whole.read.ios > 0, "job {index}");
    }
    let elapsed_ns = [0, 1].map(|index| report.jobs[index].account.elapsed_ns);
    assert!(elapsed_ns[0] >= 30_000_000 && elapsed_ns[1] < 60_000_000_000, "{elapsed_ns:?}");
}

/// Ends the phase once the second job runs without the first.
struct WithoutFirst<'a, 'b> {
    watcher: &'a mut Watcher<'b>,
}

impl Observer for WithoutFirst<'_, '_> {
    fn observe(&mut self, interval: &Interval) -> Flow {
        self.watcher.observe(interval);
        let [first, second] = interval.jobs.as_slice() else { panic!("{interval:?}") };
        let alone = first.active_ns == 0 && second.ios() > 0;
        if alone { Flow::Stop } else { Flow::Continue }
    }
}

#[test]
fn reads_of_a_truncated_part_are_counted_and_the_job_goes_on() {
    for ioengine in ENGINES {
        let file = TestFile::new();
        let target = file.clear();
        if ioengine == IoEngine::Mmap {
            // Its pages vanish with the file: tested with the engine.
            continue;
        }
        let job = job(|job| {
            job.engine.ioengine = ioengine;
            job.pattern.rw = Pattern::RandRead;
            job.depth.iodepth = 4;
        });
        // Several passes over all blocks after the file was halved.
        let mut watcher = Watcher::new(u64::MAX, || file.truncate(BLOCKS / 2));
        let mut stop_at_errors = Until { watcher: &mut watcher, errors: 1000 };
        let report = NativeGenerator::new()
            .run(&[ClearedJob::reading(job, &target)], &mut stop_at_errors)
            .unwrap();
        let job = &report.jobs[0];
        assert_eq!(job.failure, None);
        assert_eq!(
            (job.whole.read.errors, job.whole.read.ios),
            (watcher.errors(0), watcher.ios(0))
        );
        assert!(job.whole.read.errors >= 1000);
        let first = job.first_error.as_ref().unwrap();
        assert!(first.text.starts_with("0 of 4096 bytes at offset "), "{first}");
    }
}

struct Until<'a, 'b> {
    watcher: &'a mut Watcher<'b>,
    errors: u64,
}

impl Observer for Until<'_, '_> {
    fn observe(&mut self, interval: &Interval) -> Flow {
        self.watcher.observe(interval);
        if self.watcher.errors(0) >= self.errors { Flow::Stop } else { Flow::Continue }
    }
}

#[test]
fn a_job_whose_target_is_gone_fails_and_the_others_go_on() {
    let (gone, healthy) = (TestFile::new(), TestFile::new());
    let targets = [gone.clear(), healthy.clear()];
    let job = job(|job| {
        job.pattern.rw = Pattern::RandRead;
        job.time.runtime_ns = Some(60_000_000_000);
    });
    let jobs = [0, 1].map(|n| ClearedJob::reading(job.clone(), &targets[n]));
    let mut watcher = Watcher::new(u64::MAX, || gone.truncate(0));
    let report =
        NativeGenerator::new().run(&jobs, &mut WithoutFirst { watcher: &mut watcher }).unwrap();
    let failure = report.jobs[0].failure.as_ref().unwrap();
    assert!(failure.starts_with("every I/O failed for a second: 0 of 4096"), "{failure}");
    assert_eq!((report.jobs[1].failure.as_ref(), report.jobs[1].whole.read.errors), (None, 0));
}

#[test]
fn a_job_that_does_not_give_up_goes_on_although_all_fails() {
    let gone = TestFile::new();
    let target = gone.clear();
    let runtime_ns = 1_500_000_000;
    let job = job(|job| {
        job.pattern.rw = Pattern::RandRead;
        job.errors.gives_up = false;
        job.time.runtime_ns = Some(runtime_ns);
    });
    let mut watcher = Watcher::new(u64::MAX, || gone.truncate(0));
    let jobs = [ClearedJob::reading(job, &target)];
    let report = NativeGenerator::new().run(&jobs, &mut watcher).unwrap();
    let job = &report.jobs[0];
    assert_eq!(job.failure, None);
    assert!(job.account.elapsed_ns >= runtime_ns && job.whole.read.errors > 0);
}

#[test]
fn files_are_laid_out_with_what_their_job_would_write() {
    let native = NativeGenerator::new();
    let filled = |option: &str, value: &str| {
        let mut job = Job::default();
        iodyno_job::apply(&mut job, option, value).unwrap();
        let mut bytes = vec![7; 1 << 16];
        native.contents(&job, 1 << 20).map(|mut fill| {
            fill(&mut bytes);
            bytes
        })
    };
    assert_eq!(filled("refill_buffers", "1"), None);
    assert_eq!(filled("zero_buffers", "1"), Some(vec![0; 1 << 16]));
    assert_eq!(filled("buffer_pattern", "0x0102"), Some([1, 2].repeat(1 << 15)));
    let half = filled("buffer_compress_percentage", "50").unwrap();
    assert!(half.chunks(512).all(|chunk| chunk[256..] == [0; 256] && chunk[..256] != [0; 256]));
    let same = filled("dedupe_percentage", "100").unwrap();
    assert!(same.chunks(4096).all(|block| block == &same[..4096]));
}

#[test]
fn jobs_beyond_limits_are_refused_with_the_limit() {
    let file = TestFile::new();
    let target = file.clear();
    for (job, expected) in [
        (job(|job| job.pattern.rw = Pattern::Write), "write clearance"),
        (job(|job| job.pattern.bs.read = BlockSize::Fixed(100)), "multiples of"),
        (
            job(|job| {
                job.pattern.bs.read = BlockSize::Fixed(1 << 30);
                job.depth.iodepth = 32_768;
            }),
            "half of that would fit",
        ),
        (job(|job| job.threads.shared_by = 2000), "1000 blocks"),
    ] {
        let mut watcher = Watcher::new(0, || {});
        let refused =
            NativeGenerator::new().run(&[ClearedJob::reading(job, &target)], &mut watcher);
        let Err(error @ LoadError::Unfit { .. }) = refused else { panic!("{refused:?}") };
        assert!(error.to_string().contains(expected), "{error}");
        assert!(watcher.intervals.is_empty());
    }
    let job = job(|job| job.threads.cpus_allowed = vec![1023]);
    let mut watcher = Watcher::new(0, || {});
    let refused = NativeGenerator::new().run(&[ClearedJob::reading(job, &target)], &mut watcher);
    assert!(matches!(refused, Err(LoadError::System { .. })), "{refused:?}");
}

/// Ends the first job at once, and the phase once the second has run without it.
#[derive(Default)]
struct EndsFirst {
    intervals: u32,
}

impl Observer for EndsFirst {
    fn observe(&mut self, interval: &Interval) -> Flow {
        self.intervals += 1;
        let [first, second] = interval.jobs.as_slice() else { panic!("{interval:?}") };
        match (first.active_ns, second.ios()) {
            _ if self.intervals == 1 => Flow::End(vec![0]),
            (0, 1..) => Flow::Stop,
            _ => Flow::Continue,
        }
    }
}

#[test]
fn a_job_may_be_ended_and_the_others_go_on() {
    let file = TestFile::new();
    let target = file.clear();
    let job = || job(|job| job.engine.ioengine = IoEngine::Psync);
    let jobs = [0, 1].map(|_| ClearedJob::reading(job(), &target));
    let report = NativeGenerator::new().run(&jobs, &mut EndsFirst::default()).unwrap();
    let [first, second] = report.jobs.as_slice() else { panic!("{report:?}") };
    assert_eq!((&first.failure, &second.failure), (&None, &None));
    assert!(first.account.elapsed_ns < second.account.elapsed_ns, "{first:?} {second:?}");
}

#[test]
fn a_phase_without_jobs_is_over_at_once() {
    let (report, _) = run(&[], u64::MAX, || {});
    assert!(report.jobs.is_empty());
}

#[test]
fn probing_shows_what_blocks_hold() {
    let file = TestFile::new();
    let target = file.clear();
    let offsets = [0, BLOCK, 500 * BLOCK, 501 * BLOCK, 2 * BLOCKS * BLOCK];
    let mut generator = NativeGenerator::new();
    let samples = generator.probe(&target, &offsets, BLOCK as u32, u64::MAX).unwrap();
    let contents: Vec<_> = samples.iter().map(|sample| sample.content).collect();
    use BlockContent::{Data, Filled, Unreadable};
    assert_eq!(contents, [Data, Filled(0), Data, Filled(0), Unreadable]);
    assert!(samples.iter().zip(offsets).all(|(sample, offset)| sample.offset == offset));
    assert!(samples.iter().all(|sample| sample.latency_ns > 0));
    assert_eq!(generator.probe(&target, &offsets, BLOCK as u32, 0).unwrap(), []);
    assert!(matches!(generator.probe(&target, &offsets, 100, 1), Err(LoadError::Unfit { .. })));
    assert!(Path::new(target.name()).ends_with("target"));
}

/// Interrupts before the first I/O.
#[derive(Debug)]
struct Interrupts {
    intervals: u32,
}

impl Observer for Interrupts {
    fn begin(&mut self) -> Flow {
        Flow::Interrupt
    }

    fn observe(&mut self, _: &Interval) -> Flow {
        self.intervals += 1;
        Flow::Continue
    }
}

#[test]
fn an_interruption_before_the_start_starts_nothing() {
    let file = TestFile::new();
    let target = file.clear();
    let endless = job(|job| job.time.runtime_ns = Some(u64::MAX));
    let delayed = job(|job| job.threads.startdelay_ns = (1, 1));
    let jobs = [endless, delayed].map(|job| ClearedJob::reading(job, &target));
    let mut observer = Interrupts { intervals: 0 };
    let report = NativeGenerator::new().run(&jobs, &mut observer).unwrap();
    for job in &report.jobs {
        assert_eq!((job.whole.read.ios, job.account.elapsed_ns), (0, 0), "{job:?}");
        assert_eq!(job.failure, None);
    }
}
