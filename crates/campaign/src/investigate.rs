//! What limits a workload: the experiments that the limiter asks for, carried
//! out one after the other until it names something or the time is over.

use iodyno_job::{BlockSize, Extent, Job};
use iodyno_judge::limiter::{Answer, Evidence, Experiment, explain};
use iodyno_model::{Estimate, WrittenShare, WrittenState, format_duration_ns};

use crate::bench::Ready;
use crate::error::CampaignError;
use crate::execute::Campaign;
use crate::plan::{Plan, Step, Stop};
use crate::watch::Event;
use crate::written::Written;

/// Name of the measurement that is asked about.
const ASKED: &str = "asked";
/// Measurements that an investigation takes at most, which divide its time.
const MEASUREMENTS: u64 = 10;
/// Each takes between these, ns.
const SHORTEST_NS: u64 = 1_000_000_000;
const LONGEST_NS: u64 = 30_000_000_000;
/// Width of an interval that suffices: effects below 5 % are none.
const PRECISION: f64 = 0.015;
/// Larger blocks than this are of no interest, bytes.
const LARGEST_BLOCK: u64 = 4 << 20;
/// How many times as large blocks become.
const LARGER: u64 = 4;
/// Less than this is too little to read, bytes: a drive's buffer would hold it.
const LEAST_BYTES: u64 = 1 << 30;

impl Plan {
    /// The plan that asks what limits `job`, within `budget_ns` in all; `text`
    /// says so in the record.
    pub fn of_question(job: Job, text: String, budget_ns: u64) -> Self {
        let max_ns = (budget_ns / MEASUREMENTS).clamp(SHORTEST_NS, LONGEST_NS);
        let stop =
            Stop { precision: PRECISION, level: 0.95, p99: Some(0.0), min_ns: max_ns / 3, max_ns };
        Self {
            about: "what limits a workload".into(),
            steps: vec![step(ASKED, job)],
            investigates: true,
            ..Self::empty("explain", stop, text)
        }
    }
}

fn step(name: &str, mut job: Job) -> Step {
    name.clone_into(&mut job.name);
    Step { name: name.to_owned(), each: true, together: true, job, outstanding: None }
}

impl Campaign<'_, '_> {
    /// What is going to happen, in sentences.
    pub(crate) fn what_is_asked(
        &self,
        targets: &[String],
        directories: &[String],
        writes: bool,
    ) -> Vec<String> {
        let mut sentences: Vec<String> = directories
            .iter()
            .map(|directory| {
                format!(
                    "In {directory} a scratch file is written for about 10 s, then read; it is \
                     removed afterwards."
                )
            })
            .collect();
        let does = if writes { "Writes, and destroys what is there" } else { "Only reads" };
        sentences.push(format!("{does}, at full speed: {}.", targets.join(", ")));
        sentences.push(format!(
            "One thing is changed at a time; that takes at most {}. Ctrl-C stops it and keeps \
             what was measured.",
            format_duration_ns(self.options.budget_ns as f64)
        ));
        sentences
    }

    /// Measures what is asked about on all targets at once, then what the
    /// limiter asks for.
    pub(crate) fn investigate(&mut self, bench: &mut [Ready<'_>]) -> Result<(), CampaignError> {
        let Some(asked) = self.plan.steps.first().cloned() else { return Ok(()) };
        self.budget.total_ns = self.options.budget_ns;
        for ready in bench.iter_mut() {
            if self.is_interrupted() {
                return Ok(());
            }
            self.sample(ready)?;
        }
        self.step(&asked, bench, true)?;
        let mut made: Vec<Experiment> = Vec::new();
        // Each is made once, so that this ends.
        while !self.is_interrupted()
            && self.spent_ns + self.budget.stop.max_ns <= self.options.budget_ns
        {
            let possible: Vec<Experiment> = Experiment::ALL
                .into_iter()
                .filter(|one| !made.contains(one) && variant(*one, &asked.job, bench).is_some())
                .collect();
            let record = self.tools.store.load(&self.run_id)?;
            let evidence =
                Evidence { records: &[&record], claims: self.tools.claims, possible: &possible };
            let Some(answer) = explain(&evidence, (0, 0)) else { break };
            let Answer::Experiment(experiment) = answer.answer else { break };
            made.push(experiment);
            let Some((job, mut on)) = variant(experiment, &asked.job, bench) else { break };
            let sentence = format!("{}; next, {}", answer.case.figure(), experiment.what());
            self.tools.watcher.event(&Event::Warning(&sentence));
            self.step(&step(experiment.name(), job), &mut on, false)?;
        }
        Ok(())
    }
}

/// The job of an experiment and where it is made; `None` where it cannot be
/// made here: what writes elsewhere, moves a drive or takes minutes is advice.
fn variant<'a>(
    experiment: Experiment,
    asked: &Job,
    bench: &[Ready<'a>],
) -> Option<(Job, Vec<Ready<'a>>)> {
    let mut job = asked.clone();
    let mut on = bench.to_vec();
    match experiment {
        Experiment::TwiceTheDepth => {
            // Engines that do one I/O at a time have no depth.
            if job.engine.ioengine.is_synchronous() {
                return None;
            }
            job.depth.iodepth = job.depth.iodepth.checked_mul(2).filter(|depth| *depth <= 4096)?;
        }
        Experiment::TwiceTheJobs => {
            let jobs = job.threads.shared_by.checked_mul(2).filter(|jobs| *jobs <= 1024)?;
            job.threads.shared_by = jobs;
        }
        Experiment::HalfTheDrives => {
            if bench.len() < 2 {
                return None;
            }
            on.truncate(bench.len() / 2);
        }
        Experiment::LargerBlocks => {
            for bs in [&mut job.pattern.bs.read, &mut job.pattern.bs.write] {
                let fixed = bs.fixed()?;
                *bs =
                    BlockSize::Fixed(fixed.checked_mul(LARGER).filter(|bs| *bs <= LARGEST_BLOCK)?);
            }
        }
        Experiment::OtherCpus => {
            for ready in &mut on {
                ready.near_cpus = ready.far_cpus.clone();
                if ready.near_cpus.is_empty() {
                    return None;
                }
            }
        }
        Experiment::UnwrittenBlocks => {
            if asked.writes() {
                return None;
            }
            for ready in &mut on {
                let unwritten = unwritten(ready)?;
                ready.written = Some(unwritten);
            }
        }
        Experiment::Polling => {
            if job.engine.hipri || !bench.iter().all(|ready| ready.polled) {
                return None;
            }
            job.engine.hipri = true;
        }
        Experiment::OnceMore => {}
        Experiment::WrittenBlocks
        | Experiment::SequentialFill
        | Experiment::OneDriveAlone
        | Experiment::MembersAtOnce
        | Experiment::FasterLink
        | Experiment::WithoutTheCard => return None,
    }
    Some((job, on))
}

/// The blocks of a target that were never written, where there are enough
/// beside those that were.
fn unwritten(ready: &Ready<'_>) -> Option<Written> {
    let written = ready.written.as_ref().filter(|written| !written.extents.is_empty())?;
    let mut extents: Vec<Extent> = Vec::new();
    let mut from = 0;
    let end = Extent { offset: ready.clearance.size_bytes(), length: 0 };
    for extent in written.extents.iter().chain([&end]) {
        if extent.offset > from {
            extents.push(Extent { offset: from, length: extent.offset - from });
        }
        from = from.max(extent.offset.saturating_add(extent.length));
    }
    let bytes: u64 = extents.iter().map(|extent| extent.length).sum();
    let share = WrittenShare {
        share: Estimate::bare(0.0),
        state: WrittenState::Unwritten,
        evidence: "what lies between the written stretches".into(),
        ..written.share.clone()
    };
    (bytes >= LEAST_BYTES).then_some(Written { share, extents })
}
