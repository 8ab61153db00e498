//! CPU time and placement of the submitting threads, as suspects.

use iodyno_model::{Experiment, Metric};

use super::bottlenecks::{BUSY, cpu_share, saturated, usable_cpus, waited_for_cpu};
use super::case::{Case, figure};
use super::case_context::CaseContext;
use super::contrast::{Change, Effect, PASSTHROUGH};
use super::suspect::{Limiter, Suspect};
use crate::control_group::{CgroupEffect, cgroup_effect};
use crate::figures::percent;
use crate::index::Index;

/// Up to this rate CPU time is no limit: one thread submits three times as many, I/Os per second.
const IDLE_CPU_IOPS: f64 = 40_000.0;
/// Another case on the same CPUs that was faster by this factor shows that they had time.
const MUCH_FASTER: f64 = 1.4;
/// The same for I/Os in another direction, which cost about as much.
const FAR_FASTER: f64 = 3.0;

impl<'a> CaseContext<'a, '_> {
    pub(super) fn cpu(&self) -> Option<Suspect> {
        let case = self.case;
        // Its time was taken by a limit that is a suspect of its own.
        let effect = cgroup_effect(&Index::of(case.record), case.of_run());
        if matches!(&effect, Ok(Some(of @ CgroupEffect::Cpu { .. })) if of.is_the_limit()) {
            return None;
        }
        let cleared = |why: String| Some(Suspect::cleared(Limiter::Cpu, why));
        if let Some(waited) = waited_for_cpu(case.host(), case.of_run()) {
            let share = percent(waited);
            let why = format!(
                "a submitting thread waited for a CPU {share} of the time: other processes use it"
            );
            return Some(Suspect::confirmed(Limiter::Cpu, why));
        }
        let (deeper, jobs) = (self.deeper(), self.more_jobs());
        let share = cpu_share(case.host(), case.of_run());
        if let Some(share) = share.filter(|share| share.share() < BUSY) {
            return cleared(share.text());
        }
        if let Some((Effect::Grew, contrast)) = jobs {
            // The same number of outstanding I/Os in fewer threads did not help.
            let threads = deeper.is_some_and(|(effect, deeper)| {
                effect != Effect::Grew || deeper.ratio.high() < contrast.ratio.low()
            });
            let is_full = saturated(case.host(), case.of_run()) == Some(true);
            if is_full || (threads && case.depth != Some(1)) {
                let share = share.map(|share| format!("; {}", share.text())).unwrap_or_default();
                let why = format!("{}: {}{share}", contrast.title(), contrast.outcome());
                return Some(Suspect::confirmed(Limiter::Cpu, why));
            }
        }
        if let Some((Effect::Same | Effect::Fell, contrast)) = jobs {
            if self.all_cpus_busy() {
                let why = "all CPUs were busy with submitting";
                return Some(Suspect::confirmed(Limiter::Cpu, why));
            }
            return cleared(format!("{}: {}", contrast.title(), contrast.outcome()));
        }
        // With less work per I/O the same thread submits more.
        let passed = self.effect(is_passthrough);
        if let Some((Effect::Grew, contrast)) = &passed
            && case.outstanding() != Some(1)
        {
            let why = format!("{}: {}", contrast.title(), contrast.outcome());
            return Some(Suspect::confirmed(Limiter::Cpu, why));
        }
        if case.iops.is_some_and(|iops| iops < IDLE_CPU_IOPS) {
            let iops = figure(Metric::Iops, case.iops.unwrap_or_default());
            return cleared(format!("{iops} need little CPU"));
        }
        if let Some(faster) = self.faster_with_no_more() {
            return cleared(format!("the same jobs gave {}", faster.figure()));
        }
        let tried = jobs.is_some() && passed.is_none();
        let next = if tried { Experiment::Passthrough } else { Experiment::TwiceTheJobs };
        Some(Suspect::open(Limiter::Cpu, next))
    }

    fn all_cpus_busy(&self) -> bool {
        let used = self.case.of_run().cpu.map(|cpu| cpu.user + cpu.system);
        let cpus = usable_cpus(self.case.host(), self.case.of_run());
        used.zip(cpus).is_some_and(|(used, cpus)| used >= 0.9 * cpus)
    }

    /// Returns another case with no more jobs and the same block size that was much faster.
    fn faster_with_no_more(&self) -> Option<&Case<'a>> {
        let (ours, bs) = (self.case, self.case.of_run().workload.bs?);
        self.others.iter().find(|other| {
            other.of_run().workload.bs == Some(bs)
                && other.metric == ours.metric
                && other.depth <= ours.depth
                && other.jobs <= ours.jobs
                && other.rate.value
                    >= ours.rate.value
                        * match other.of_run().workload.rw == ours.of_run().workload.rw {
                            true => MUCH_FASTER,
                            false => FAR_FASTER,
                        }
        })
    }

    pub(super) fn placement(&self) -> Option<Suspect> {
        match self.effect(|change| *change == Change::Cpus) {
            Some((Effect::Grew, contrast)) => {
                Some(Suspect::confirmed(Limiter::Placement, contrast.outcome()))
            }
            Some((Effect::Same | Effect::Fell, contrast)) => Some(Suspect::cleared(
                Limiter::Placement,
                format!("{}: {}", contrast.title(), contrast.outcome()),
            )),
            _ => {
                let nodes = self.case.host().map_or(0, |host| host.cpus.nodes.len());
                (nodes > 1).then_some(Suspect::open(Limiter::Placement, Experiment::OtherCpus))
            }
        }
    }
}

/// Returns true for NVMe passthrough instead of reads through the block layer.
pub(super) fn is_passthrough(change: &Change) -> bool {
    matches!(change, Change::Engine(_, to) if to == PASSTHROUGH)
}
