//! Headroom: chooses rates of reads and of background writes by the measurements so far.

use iodyno_job::{Job, RateProcess};
use iodyno_judge::{LoadStep, LoadSurface};
use iodyno_model::{Headroom, Measurement, PerDirection, format_count, format_mb_per_s};

use crate::phase::{Phase, PhaseJob, RunView, Schedule};
use crate::plan::{Point, Study};
use crate::target_names::are_same_targets;
use crate::watch::Watcher;

/// Lowest rate of a job, per second; below it fewer jobs share the rate.
const LEAST_RATE: f64 = 100.0;

/// Loads on one target after the other.
#[derive(Debug, Clone)]
pub(super) struct InHeadroom {
    study: Study,
    targets: Vec<OnTarget>,
    /// Last measured target, and the number of its points left before.
    last: Option<(usize, usize)>,
}

/// Maximum writes and reads of a target, of which all other loads are shares.
#[derive(Debug, Clone)]
struct OnTarget {
    point: Point,
    writes: Phase,
    reads: Phase,
    /// Flushed writes that run with each load, if they are what is measured.
    syncs: Option<Phase>,
    is_lost: bool,
}

impl InHeadroom {
    /// Takes a phase for each of `points`: for every target one that writes and one that reads.
    pub(super) fn new(study: &Study, points: &[Point], phases: Vec<Phase>) -> Self {
        let mut targets: Vec<OnTarget> = Vec::new();
        for (point, phase) in points.iter().zip(phases) {
            let known = targets.iter_mut().find(|one| one.point.targets == point.targets);
            let of = match known {
                Some(known) => known,
                None => {
                    let (writes, reads) = (Phase::default(), Phase::default());
                    let (point, syncs) = (point.clone(), None);
                    targets.push(OnTarget { point, writes, reads, syncs, is_lost: false });
                    targets.last_mut().expect("it was just added")
                }
            };
            match (point.writes(), point.flushes() && study.headroom.is_some_and(|of| of.sync)) {
                (_, true) => of.syncs = Some(phase),
                (true, false) => of.writes = phase,
                (false, false) => of.reads = phase,
            }
        }
        Self { study: study.clone(), targets, last: None }
    }
}

/// Results of `measurements` under load on the targets of `point`.
fn surface(study: &Study, point: &Point, measurements: &[Measurement]) -> LoadSurface {
    let own = measurements.iter().enumerate();
    let own = own.filter(|(_, of)| are_same_targets(&of.targets, &point.targets, point.own_file));
    let asked = study.headroom.unwrap_or_default();
    // An invalid bound was reported when the study was parsed.
    let bound_ns = study.p99_bound_ns().ok().flatten().unwrap_or(u64::MAX);
    LoadSurface::of(&asked, bound_ns, own)
}

impl Study {
    /// Headroom of each target by `measurements`; empty if not requested.
    pub(super) fn headrooms(&self, measurements: &[Measurement]) -> Vec<Headroom> {
        if self.headroom.is_none() {
            return Vec::new();
        }
        let points = self.points(0);
        let reads = points.iter().filter(|point| !point.writes());
        let headroom = |point: &Point| surface(self, point, measurements).headroom(&point.place());
        reads.filter_map(headroom).collect()
    }

    /// True if no load is left to measure on the target of `point`.
    pub(crate) fn is_headroom_known(&self, point: &Point, measurements: &[Measurement]) -> bool {
        surface(self, point, measurements).next().is_none()
    }
}

impl Schedule for InHeadroom {
    fn next(&mut self, view: &RunView<'_>, _: &mut dyn Watcher) -> Option<Phase> {
        let (mut left_ns, mut next) = (0, None);
        let last = self.last.take();
        for (n, one) in self.targets.iter_mut().enumerate() {
            let surface = surface(&self.study, &one.point, &view.record.measurements);
            let left = surface.left();
            // Give up on a target whose measurement brought nothing new.
            one.is_lost |= last == Some((n, left));
            let Some(step) = surface.next().filter(|_| !one.is_lost) else { continue };
            left_ns += one.reads.most_ns * left as u64;
            next = next.or(Some((n, left, step)));
        }
        let (n, left, step) = next?;
        self.last = Some((n, left));
        let one = &self.targets[n];
        let phase = match step {
            LoadStep::MostWrites => one.writes.clone(),
            LoadStep::MostReads => one.reads.clone(),
            LoadStep::Rates { write_bytes_per_s, read_iops } => {
                one.at(write_bytes_per_s, read_iops)
            }
        };
        Some(Phase { left_ns, ..phase })
    }
}

impl OnTarget {
    /// Phase of reads and writes at these rates, per second, at the same time.
    fn at(&self, write_bytes_per_s: f64, read_iops: f64) -> Phase {
        let (writes, reads) = (format_mb_per_s(write_bytes_per_s), format_count(read_iops));
        let beside = match write_bytes_per_s > 0.0 {
            true => format!("beside {writes}"),
            false => "alone".into(),
        };
        let mut jobs = paced(&self.reads, 0, read_iops, |job, share| {
            job.name = format!("{reads} reads/s {beside}");
            // Arrivals as of independent users.
            job.pace.rate_process = RateProcess::Poisson;
            job.pace.rate_iops = in_all_directions(read_iops * share);
        });
        if write_bytes_per_s > 0.0 {
            jobs.extend(paced(&self.writes, 1, write_bytes_per_s, |job, share| {
                job.name = format!("{writes} beside {reads} reads/s");
                job.pace.rate = in_all_directions(write_bytes_per_s * share);
            }));
        }
        let syncs = self.syncs.iter().flat_map(|phase| &phase.jobs).cloned();
        jobs.extend(syncs.map(|one| PhaseJob { section: 2, ..one }));
        Phase { jobs, ..self.reads.clone() }
    }
}

/// Jobs of a phase as the section of this number, each with its share of a rate per second.
fn paced(phase: &Phase, section: usize, rate: f64, set: impl Fn(&mut Job, f64)) -> Vec<PhaseJob> {
    let most = ((rate / LEAST_RATE) as usize).clamp(1, phase.jobs.len().max(1));
    let mut jobs: Vec<PhaseJob> = phase.jobs.iter().take(most).cloned().collect();
    let count = jobs.len() as u32;
    for one in &mut jobs {
        one.section = section;
        one.job.threads.numjobs = count;
        set(&mut one.job, 1.0 / f64::from(count));
    }
    jobs
}

/// Rate of a job, as a whole number.
fn in_all_directions(rate: f64) -> PerDirection<Option<u64>> {
    let rate = Some((rate.round() as u64).max(1));
    PerDirection { read: rate, write: rate, trim: rate }
}
