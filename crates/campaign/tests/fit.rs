//! Application profiles on simulated drives of known sync latencies: which drives pass, which fail,
//! and which are measured longer.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::machine::Machine;
use iodyno_campaign::{Event, Options, Silent, Watcher, Work, profile};
use iodyno_judge::fit::fitted;
use iodyno_judge::{ClaimBook, Question, assess};
use iodyno_load::{
    ClearedJob, LoadError, LoadGenerator, Observer, PhaseReport, ProbeSample, SimulatedGenerator,
};
use iodyno_model::{Histogram, Kept, Profile, RunRecord, Verdict};
use iodyno_store::Store;
use iodyno_target::{Permission, ReadClearance};

/// Flushes in each round.
const FLUSHES: u32 = 2_000;

/// A drive with exponentially distributed flush times of these p99, ns: alone, and with another
/// writer. Its level varies by 3 % from round to round.
struct Flushing {
    inside: SimulatedGenerator,
    alone_ns: f64,
    beside_ns: f64,
    seed: u64,
}

impl Flushing {
    /// Uniform, 0 < u < 1 (SplitMix64).
    fn uniform(&mut self) -> f64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + 1e-17
    }

    fn flushes(&mut self, p99_ns: f64) -> Histogram {
        let level = 1.0 + 0.03 * (2.0 * self.uniform() - 1.0);
        let mut sync = Histogram::default();
        for _ in 0..FLUSHES {
            let share = self.uniform().ln() / 0.01_f64.ln();
            sync.record((level * p99_ns * share) as u64 + 1);
        }
        sync
    }
}

impl LoadGenerator for Flushing {
    fn source(&self) -> String {
        self.inside.source()
    }

    fn run(
        &mut self,
        jobs: &[ClearedJob<'_>],
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError> {
        let mut report = self.inside.run(jobs, observer)?;
        let p99_ns = if jobs.len() > 1 { self.beside_ns } else { self.alone_ns };
        for (job, report) in jobs.iter().zip(&mut report.jobs) {
            if job.job.flush.fdatasync > 0 {
                report.account.sync = self.flushes(p99_ns);
            }
        }
        Ok(report)
    }

    fn probe(
        &mut self,
        target: &ReadClearance,
        offsets: &[u64],
        bytes: u32,
        max_ns: u64,
    ) -> Result<Vec<ProbeSample>, LoadError> {
        self.inside.probe(target, offsets, bytes, max_ns)
    }
}

/// etcd's profile in the directory `var` of a machine, with small files, since nobody writes them.
fn small_etcd(machine: &Machine) -> Work {
    let directory = machine.path("var");
    std::fs::create_dir(&directory).unwrap();
    let (_, text) = profile("etcd").unwrap();
    let text = text.replace("size=64000000", "size=1m").replace("size=256m", "size=1m");
    let profile = Profile::parse(&text).unwrap();
    Work::of_profile(profile, directory.to_str().unwrap(), text).unwrap()
}

/// Runs it on a drive of these p99, ms.
fn etcd(alone_ms: f64, beside_ms: f64, seed: u64) -> RunRecord {
    let machine = Machine::new();
    let work = small_etcd(&machine);
    let mut generator = Flushing {
        inside: SimulatedGenerator::new(seed),
        alone_ns: alone_ms * 1e6,
        beside_ns: beside_ms * 1e6,
        seed: seed ^ 0x5eed,
    };
    let options = Options::of_jobs("etcd", Permission::default());
    let store = &mut Store::in_memory().unwrap();
    let watching = (&mut Silent as &mut dyn Watcher, &AtomicBool::new(false));
    machine.carry_out(&work, &[], options, &mut generator, store, watching).unwrap()
}

/// Ctrl-C while the second of etcd's files is laid out.
struct Interrupting<'a>(&'a AtomicBool);

impl Watcher for Interrupting<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Scratch { directory, .. } = event
            && directory.ends_with("/.iodyno-fit.wal-busy.0.0")
        {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Refuses every job.
struct Refusing(SimulatedGenerator);

impl LoadGenerator for Refusing {
    fn source(&self) -> String {
        self.0.source()
    }

    fn run(
        &mut self,
        _: &[ClearedJob<'_>],
        _: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError> {
        Err(LoadError::Unfit { target: "x".into(), what: "it is refused".into() })
    }

    fn probe(
        &mut self,
        target: &ReadClearance,
        offsets: &[u64],
        bytes: u32,
        max_ns: u64,
    ) -> Result<Vec<ProbeSample>, LoadError> {
        self.0.probe(target, offsets, bytes, max_ns)
    }
}

#[test]
fn no_file_is_left_after_a_failed_start() {
    for interrupts in [true, false] {
        let interrupted = AtomicBool::new(false);
        let (watcher, silent) = (&mut Interrupting(&interrupted), &mut Silent);
        let watcher: &mut dyn Watcher = if interrupts { watcher } else { silent };
        let said = stopped(watcher, &interrupted);
        assert_eq!(interrupted.load(Ordering::Relaxed), interrupts);
        assert!(said.contains(if interrupts { "interrupted" } else { "it is refused" }), "{said}");
    }
}

/// Error that ends etcd's profile before anything is measured; asserts that no file is left.
fn stopped(watcher: &mut dyn Watcher, interrupted: &AtomicBool) -> String {
    let machine = Machine::new();
    let work = small_etcd(&machine);
    let options = Options::of_jobs("etcd", Permission::default());
    let (mut refusing, store) =
        (Refusing(SimulatedGenerator::new(1)), &mut Store::in_memory().unwrap());
    let watching = (watcher, interrupted);
    let error = machine.carry_out(&work, &[], options, &mut refusing, store, watching).unwrap_err();
    assert_eq!(std::fs::read_dir(machine.path("var")).unwrap().count(), 0, "{error}");
    error.to_string()
}

/// Overall verdict, and those of the two 10 ms bounds: alone, and with a writer.
fn judged(record: &RunRecord) -> (Verdict, Kept, Kept) {
    let claims = ClaimBook::builtin();
    let assessment = assess(&Question { record, claims: &claims, baseline: None, expect: None });
    let profile = record.run.profile().unwrap();
    let all = fitted(&profile, record, |_| true);
    (assessment.verdict, all[0].bounds[0].1, all[1].bounds[0].1)
}

#[test]
fn good_drives_pass_and_bad_ones_fail() {
    for seed in 0..100 {
        // The interval of 10,000 flushes is about 5 %: 8 ms is more than 3 sigma from 10 ms.
        let record = etcd(1.0, 8.0, seed);
        assert_eq!(judged(&record), (Verdict::Pass, Kept::Yes, Kept::Yes), "seed {seed}");
        assert_eq!(record.measurements.len(), 15, "five rounds suffice");
    }
    for seed in 0..20 {
        let slow = judged(&etcd(13.0, 30.0, seed));
        assert_eq!(slow, (Verdict::Fail, Kept::No, Kept::No), "seed {seed}");
        let disturbed = judged(&etcd(1.0, 13.0, seed));
        assert_eq!(disturbed, (Verdict::Warn, Kept::Yes, Kept::No), "seed {seed}");
    }
}

#[test]
fn drive_on_the_bound_is_measured_longer_and_borderline() {
    let (mut borderline, mut wrong) = (0, 0);
    for seed in 0..40 {
        let record = etcd(1.0, 10.0, seed);
        match judged(&record).2 {
            Kept::Borderline => {
                borderline += 1;
                let rounds = |name| record.measurements.iter().filter(|of| of.name == name).count();
                assert_eq!((rounds("wal"), rounds("wal-busy")), (5, 10), "seed {seed}");
            }
            _ => wrong += 1,
        }
    }
    // Checked up to six times, each at a level of 95 %.
    assert!(borderline >= 28 && wrong <= 12, "{borderline} borderline, {wrong} decided");
}
