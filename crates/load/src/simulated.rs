//! Simulated generator: seeded drives of known truth on a virtual clock, with faults. It takes no
//! time, so that code based on measurements can be tested over thousands of seeds.

mod noise;
mod under_load;

use std::collections::BTreeMap;

use iodyno_model::{CpuUse, Direction, Failure, Histogram, PerDirection};
use iodyno_target::ReadClearance;

use crate::{
    BlockContent, ClearedJob, DirectionInterval, Flow, Interval, JobInterval, JobReport, LoadError,
    LoadGenerator, Observer, PhaseReport, ProbeSample,
};

pub use noise::Noise;
use noise::{NoiseState, Rng};
pub use under_load::UnderLoad;

const INTERVAL_NS: u64 = 100_000_000;

/// A drive of known truth.
#[derive(Debug, Clone)]
pub struct SimulatedDrive {
    /// Random IOPS at unlimited depth, 4 KiB.
    pub iops_max: f64,
    /// Bytes per second at unlimited depth.
    pub bandwidth_max: f64,
    /// Latency at depth 1, ns.
    pub latency_ns: u64,
    /// Noise of the rate.
    pub noise: Noise,
    /// Standard deviation, on a log scale, between the means of phases, which no interval within
    /// one phase shows.
    pub level_noise: f64,
    /// Written share of the drive, from its start, 0..1.
    pub written_share: f64,
    /// Speedup factor of reads of blocks never written.
    pub unwritten_speedup: f64,
    /// Reads from this offset on fail.
    pub bad_from: Option<u64>,
    /// Rates start this share below their mean, and the gap closes with this time constant, ns.
    pub warm_up: Option<(f64, f64)>,
    /// After this many bytes written, over all phases, it writes at this share of its rate.
    pub write_cliff: Option<(u64, f64)>,
    /// Time in each phase at which the drive vanishes, ns.
    pub vanishes_at_ns: Option<u64>,
    /// After working this long without a rest, ns, it throttles to this share of its rate.
    pub throttles: Option<(u64, f64)>,
    /// Additional latency, ns, of an I/O without other outstanding ones: the link has to wake up.
    pub wake_ns: u64,
    /// Behaviour under reads and writes at fixed rates; `level_noise` is then that of the p99.
    pub under_load: Option<UnderLoad>,
}

impl Default for SimulatedDrive {
    fn default() -> Self {
        Self {
            iops_max: 500_000.0,
            bandwidth_max: 3.2e9,
            latency_ns: 80_000,
            noise: Noise::White(0.01),
            level_noise: 0.0,
            written_share: 1.0,
            unwritten_speedup: 5.0,
            bad_from: None,
            warm_up: None,
            write_cliff: None,
            vanishes_at_ns: None,
            throttles: None,
            wake_ns: 0,
            under_load: None,
        }
    }
}

impl SimulatedDrive {
    /// Mean rate, I/Os per second, by the drive's limits and by Little's law: outstanding over
    /// latency.
    pub fn truth_iops(&self, bs: u64, outstanding: u32) -> f64 {
        let by_depth = f64::from(outstanding) * 1e9 / self.latency_ns as f64;
        // Small blocks are bounded by the IOPS limit, large ones by the bandwidth.
        by_depth.min(self.iops_max).min(self.bandwidth_max / bs as f64)
    }
}

/// Load generator without I/O. Targets are known by name; unknown ones are default drives.
#[derive(Debug, Clone, Default)]
pub struct SimulatedGenerator {
    drives: BTreeMap<String, SimulatedDrive>,
    /// Limit of a shared link, bytes per second.
    pub shared_bytes_per_s: Option<f64>,
    /// Targets that share it; empty: all.
    pub sharing: Vec<String>,
    /// CPU time of each I/O in its submitting thread, ns; 0: none.
    pub cpu_per_io_ns: u64,
    seed: u64,
    /// Bytes written to each target.
    written: BTreeMap<String, u64>,
    /// Working time of each target since the last rest, ns.
    worked_ns: BTreeMap<String, u64>,
}

impl SimulatedGenerator {
    /// New generator whose noise is seeded by `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Sets the drive of the target of this name.
    pub fn set_drive(&mut self, target: &str, drive: SimulatedDrive) {
        self.drives.insert(target.to_owned(), drive);
    }

    /// Targets with a drive set, in order of names.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.drives.keys().map(String::as_str)
    }

    fn drive(&self, target: &str) -> SimulatedDrive {
        self.drives.get(target).cloned().unwrap_or_default()
    }

    /// Sets the rates and p99 of streams on drives with a table of behaviour under load.
    fn apply_under_load(&self, jobs: &[ClearedJob<'_>], streams: &mut [Stream], rng: &mut Rng) {
        for (target, drive) in &self.drives {
            let Some(surface) = &drive.under_load else { continue };
            let own = jobs.iter().zip(&mut *streams).filter(|(job, _)| job.target() == *target);
            let (jobs, streams): (Vec<_>, Vec<_>) = own.unzip();
            let noise = (drive.level_noise * rng.normal()).exp();
            for (stream, (iops, p99_ns)) in streams.into_iter().zip(surface.answer(&jobs)) {
                (stream.mean_iops, stream.p99_ns) = (iops, Some(p99_ns * noise));
            }
        }
    }

    /// Random numbers of the next phase: its own noise, determined by the seed alone.
    fn next_rng(&mut self) -> Rng {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Rng(self.seed)
    }
}

impl LoadGenerator for SimulatedGenerator {
    fn source(&self) -> String {
        "simulated".into()
    }

    fn run(
        &mut self,
        jobs: &[ClearedJob<'_>],
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError> {
        let mut rng = self.next_rng();
        let mut streams: Vec<Stream> =
            jobs.iter().map(|job| Stream::new(self.drive(&job.target()), job, &mut rng)).collect();
        for (stream, job) in streams.iter_mut().zip(jobs) {
            let target = job.target();
            stream.written_bytes = self.written.get(&target).copied().unwrap_or(0);
            stream.worked_ns = self.worked_ns.get(&target).copied().unwrap_or(0);
            let there = jobs.iter().filter(|other| other.target() == target);
            if there.map(|other| other.job.outstanding()).sum::<u32>() == 1 {
                stream.add_wake_latency();
            }
        }
        self.apply_under_load(jobs, &mut streams, &mut rng);
        // A shared link divides its limit in proportion to demand.
        let mut shares: Vec<&mut Stream> = streams
            .iter_mut()
            .zip(jobs)
            .filter(|(_, job)| self.sharing.is_empty() || self.sharing.contains(&job.target()))
            .map(|(stream, _)| stream)
            .collect();
        let wanted: f64 = shares.iter().map(|s| s.mean_iops * s.bs as f64).sum();
        if let Some(limit) = self.shared_bytes_per_s.filter(|limit| *limit < wanted) {
            shares.iter_mut().for_each(|stream| stream.mean_iops *= limit / wanted);
        }
        let busiest_thread = streams.iter_mut().map(|s| s.limit_by_cpu(self.cpu_per_io_ns));
        let busiest_thread = busiest_thread.fold(0.3, f64::max);
        let end_ns = jobs.iter().map(|job| job.job.time.runtime_ns.unwrap_or(u64::MAX)).max();
        let mut now_ns = 0;
        while now_ns < end_ns.unwrap_or(0) {
            let jobs = streams.iter_mut().map(|stream| stream.advance(now_ns, &mut rng)).collect();
            let interval = Interval {
                start_ns: now_ns,
                duration_ns: INTERVAL_NS,
                draining: false,
                cut: false,
                warnings: Vec::new(),
                jobs,
            };
            now_ns += INTERVAL_NS;
            let flow = observer.observe(&interval);
            if let Flow::End(jobs) = &flow {
                for (number, stream) in streams.iter_mut().enumerate() {
                    stream.ended |= jobs.contains(&number);
                }
            }
            let is_over = |stream: &Stream| stream.ended || stream.report.failure.is_some();
            if matches!(flow, Flow::Stop | Flow::Interrupt) || streams.iter().all(is_over) {
                break;
            }
        }
        for (stream, job) in streams.iter().zip(jobs) {
            self.written.insert(job.target(), stream.written_bytes);
            self.worked_ns.insert(job.target(), stream.worked_ns);
        }
        let reports = streams.into_iter().map(|stream| stream.report).collect();
        Ok(PhaseReport {
            jobs: reports,
            cpu: CpuUse { user: 0.1, system: 0.2, busiest_thread, waited: None },
        })
    }

    fn rest(&mut self, _ns: u64) {
        self.worked_ns.clear();
    }

    fn probe(
        &mut self,
        target: &ReadClearance,
        offsets: &[u64],
        _bytes: u32,
        max_ns: u64,
    ) -> Result<Vec<ProbeSample>, LoadError> {
        let drive = self.drive(target.name());
        let mut rng = self.next_rng();
        let border = (target.size_bytes() as f64 * drive.written_share) as u64;
        let mut now_ns = 0;
        let mut samples = Vec::with_capacity(offsets.len());
        for &offset in offsets {
            let written = offset < border;
            let speedup = if written { 1.0 } else { drive.unwritten_speedup };
            let jitter = (1.0 + 0.1 * rng.normal()).max(0.2);
            let latency_ns = (drive.latency_ns as f64 / speedup * jitter) as u64;
            now_ns += latency_ns;
            if now_ns > max_ns {
                break;
            }
            let content = match drive.bad_from {
                Some(bad) if offset >= bad => BlockContent::Unreadable,
                _ if written => BlockContent::Data,
                _ => BlockContent::Filled(0),
            };
            samples.push(ProbeSample { offset, latency_ns, content });
        }
        Ok(samples)
    }
}

/// One job on one simulated drive.
struct Stream {
    drive: SimulatedDrive,
    bs: u64,
    direction: Direction,
    outstanding: u32,
    mean_iops: f64,
    /// The p99 of its latencies, if independent of the rate.
    p99_ns: Option<f64>,
    bad_share: f64,
    /// Bytes written to its drive, earlier phases included.
    written_bytes: u64,
    /// Working time of its drive since the last rest, earlier phases included, ns.
    worked_ns: u64,
    noise: NoiseState,
    report: JobReport,
    /// Ended by the observer.
    ended: bool,
}

impl Stream {
    fn new(drive: SimulatedDrive, job: &ClearedJob<'_>, rng: &mut Rng) -> Self {
        let outstanding = job.job.outstanding();
        let size = job.files.first().map_or(0, |file| file.read().size_bytes()) as f64;
        let bs = job.job.largest_block();
        let bad_share = drive.bad_from.map_or(0.0, |bad| (1.0 - bad as f64 / size).max(0.0));
        let mut mean_iops = drive.truth_iops(bs, outstanding);
        if job.job.space.extents.is_empty() && drive.written_share < 1.0 {
            mean_iops /=
                drive.written_share + (1.0 - drive.written_share) / drive.unwritten_speedup;
        }
        if drive.level_noise > 0.0 {
            mean_iops *= (drive.level_noise * rng.normal()).exp();
        }
        let report = JobReport {
            engine: "simulated".into(),
            threads: job.job.threads.shared_by,
            iodepth: job.job.depth.iodepth,
            ..JobReport::default()
        };
        let noise = NoiseState::new(drive.noise, rng);
        let direction = job.job.pattern.rw.direction();
        Self {
            bs,
            direction,
            outstanding,
            mean_iops,
            p99_ns: None,
            bad_share,
            written_bytes: 0,
            worked_ns: 0,
            ended: false,
            noise,
            report,
            drive,
        }
    }

    /// Adds the wake-up time of the link to each I/O.
    fn add_wake_latency(&mut self) {
        let latency_ns = 1e9 / self.mean_iops;
        self.mean_iops = 1e9 / (latency_ns + self.drive.wake_ns as f64);
    }

    /// Limits the rate to the CPU time of its threads; returns each thread's CPU share.
    fn limit_by_cpu(&mut self, per_io_ns: u64) -> f64 {
        let cost = per_io_ns as f64 / 1e9 / f64::from(self.report.threads.max(1));
        if cost > 0.0 {
            self.mean_iops = self.mean_iops.min(1.0 / cost);
        }
        (self.mean_iops * cost).min(1.0)
    }

    fn advance(&mut self, now_ns: u64, rng: &mut Rng) -> JobInterval {
        if self.ended {
            return JobInterval::default();
        }
        let mut factor = self.noise.next(now_ns, rng);
        if let Some((gap, constant_ns)) = self.drive.warm_up {
            factor *= 1.0 - gap * (-(now_ns as f64) / constant_ns).exp();
        }
        if let Some((after_ns, share)) = self.drive.throttles
            && self.worked_ns >= after_ns
        {
            factor *= share;
        }
        self.worked_ns += INTERVAL_NS;
        let is_beyond = |(bytes, _): &(u64, f64)| self.written_bytes >= *bytes;
        if let Some((_, share)) = self.drive.write_cliff.filter(is_beyond)
            && self.direction == Direction::Write
        {
            factor *= share;
        }
        if self.drive.vanishes_at_ns.is_some_and(|at| now_ns >= at) {
            self.report.failure = Some("the device vanished".into());
            return JobInterval::default();
        }
        let rate = (self.mean_iops * factor).max(0.0);
        let tried = (rate * INTERVAL_NS as f64 / 1e9).round() as u64;
        let errors = (tried as f64 * self.bad_share).round() as u64;
        let ios = tried - errors;
        let mut latency = Histogram::default();
        if ios > 0 {
            // Latencies of an interval by Little's law, spread a little so that percentiles differ:
            // 98 % slightly below the mean, 2 % at twice the mean.
            let mean = f64::from(self.outstanding) * 1e9 / rate;
            let slow = ios / 50;
            let low = (mean * (ios as f64 - 2.0 * slow as f64) / (ios - slow) as f64) as u64;
            let high = self.p99_ns.unwrap_or(2.0 * mean) as u64;
            let low = low.min(high / 2);
            let add = |h: &mut Histogram, ns: u64, n: u64| {
                let (value, n_f) = (ns as f64, n as f64);
                h.add_counts([(Histogram::index(ns), n)], value * n_f, value * value * n_f, ns, ns);
            };
            add(&mut latency, low, ios - slow);
            add(&mut latency, high, slow);
        }
        let bytes = ios * self.bs;
        if self.direction == Direction::Write {
            self.written_bytes += bytes;
        }
        let whole = self.report.whole.of_mut(self.direction);
        whole.ios += ios;
        whole.bytes += bytes;
        whole.errors += errors;
        if errors > 0 && self.report.first_error.is_none() {
            let at = self.drive.bad_from.unwrap_or(0);
            self.report.first_error = Some(Failure::of(5, format!("EIO at offset {at}")));
        }
        let mut directions = PerDirection::default();
        *directions.of_mut(self.direction) =
            DirectionInterval { ios, bytes, errors, latency, ..DirectionInterval::default() };
        JobInterval { active_ns: INTERVAL_NS, directions, ..JobInterval::default() }
    }
}
