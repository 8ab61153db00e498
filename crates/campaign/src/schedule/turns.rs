//! The phases of a script in the order in which they are carried out: each once, or as often as
//! there are rounds.

use std::collections::{BTreeMap, HashSet};

use iodyno_job::Job;
use iodyno_job::script::{self, Script, ScriptJob};
use iodyno_stats::SHORT;

use crate::measurement::p99;
use crate::phase::{End, Phase, PhaseJob, Schedule, Seen};
use crate::plan::{Ends, Point, Stop};
use crate::targets::keys;
use crate::watch::Watcher;

/// A phase of a script that is carried out, and which point of a study it is.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'s> {
    pub(crate) phase: &'s script::Phase,
    pub(crate) point: Option<&'s Point>,
}

impl Turn<'_> {
    /// The round that it belongs to.
    pub(crate) fn round(&self) -> Option<u32> {
        self.point.and_then(|point| point.round)
    }
}

/// Turns, and how far they are carried out.
pub(crate) struct Turns<'s> {
    turns: Vec<Turn<'s>>,
    /// Keys of the files that nothing works on after each turn.
    unlink: Vec<Vec<String>>,
    making: Making<'s>,
    next: usize,
}

/// How phases are made of those of a script.
#[derive(Clone, Copy)]
pub(crate) struct Making<'s> {
    pub(crate) stop: Stop,
    /// When the jobs of each section end.
    pub(crate) ends: &'s [Ends],
}

impl<'s> Turns<'s> {
    pub(crate) fn new(turns: Vec<Turn<'s>>, making: Making<'s>) -> Self {
        let mut later: HashSet<String> = HashSet::new();
        let mut unlink: Vec<Vec<String>> = Vec::with_capacity(turns.len());
        for Turn { phase, .. } in turns.iter().rev() {
            let ended = phase.jobs.iter().filter(|job| job.job.files.unlink);
            let ended = ended.flat_map(|job| keys(&job.job)).filter(|key| !later.contains(key));
            unlink.push(ended.collect());
            later.extend(phase.jobs.iter().flat_map(|job| keys(&job.job)));
        }
        unlink.reverse();
        Self { turns, unlink, making, next: 0 }
    }

    /// Each phase of a script once.
    pub(crate) fn once(script: &'s Script, making: Making<'s>) -> Self {
        let turn = |phase| Turn { phase, point: None };
        Self::new(script.phases.iter().map(turn).collect(), making)
    }

    /// The turn that was carried out last, and the one behind it.
    pub(crate) fn last(&self) -> Option<(Turn<'s>, Option<Turn<'s>>)> {
        let last = self.turns.get(self.next.checked_sub(1)?)?;
        Some((*last, self.turns.get(self.next).copied()))
    }

    /// The phase of the next turn that is not needless.
    pub(crate) fn next(&mut self, is_needless: impl Fn(&Turn<'_>) -> bool) -> Option<Phase> {
        let needed = |turn: &&Turn<'_>| !is_needless(turn);
        let ahead = self.turns[self.next..].iter().position(|turn| !is_needless(turn))?;
        let n = self.next + ahead;
        self.next = n + 1;
        let turn = self.turns[n];
        let left_ns = self.turns[n..].iter().filter(needed).map(|turn| lasts_ns(turn.phase)).sum();
        Some(Phase {
            left_ns,
            round: turn.round(),
            unlink: std::mem::take(&mut self.unlink[n]),
            ..self.making.phase(turn.phase, turn.round())
        })
    }
}

/// Each turn once.
impl Schedule for Turns<'_> {
    fn next(&mut self, _: &Seen<'_>, _: &mut dyn Watcher) -> Option<Phase> {
        self.next(|_| false)
    }
}

impl Making<'_> {
    /// A phase of a script as it is carried out.
    pub(crate) fn phase(&self, phase: &script::Phase, round: Option<u32>) -> Phase {
        let job = |ScriptJob { job, section, .. }: &ScriptJob| PhaseJob {
            job: job.clone(),
            section: *section,
            on: None,
        };
        let jobs = phase.jobs.iter().map(|job| &job.job);
        let p99 = p99::asked(&self.stop, jobs);
        let end = match self.ends(phase, round) {
            Ends::ByThemselves => End::ByThemselves,
            ends => End::Known { least_times: SHORT, p99, steady: ends == Ends::Steady },
        };
        let jobs = phase.jobs.iter().map(job).collect();
        Phase { jobs, end, most_ns: lasts_ns(phase), ..Phase::default() }
    }

    /// When a phase ends: all of its jobs are of one point.
    fn ends(&self, phase: &script::Phase, round: Option<u32>) -> Ends {
        let time = |job: &ScriptJob| job.job.time.time_based && job.job.time.steadystate.is_none();
        // What prepares drives fills them, or goes on in rounds that last their time.
        let by_itself = round.is_some() || !phase.jobs.iter().all(time);
        let section = phase.jobs.first().map(|job| job.section);
        let asked = section.and_then(|section| self.ends.get(section));
        asked.copied().filter(|_| !by_itself).unwrap_or_default()
    }
}

/// How long a phase takes at most, ns; 0: as long as its work takes.
pub(crate) fn lasts_ns(phase: &script::Phase) -> u64 {
    phase.jobs.iter().filter_map(|job| longest_ns(&job.job)).max().unwrap_or(0)
}

/// How long a job takes at most, ns; `None`: as long as its work takes.
pub(crate) fn longest_ns(job: &Job) -> Option<u64> {
    let time = &job.time;
    time.runtime_ns.map(|runtime_ns| runtime_ns + time.ramp_ns + job.threads.startdelay_ns.1)
}

/// The phases of a script by the section of their first job.
pub(crate) fn by_section(script: &Script) -> BTreeMap<usize, &script::Phase> {
    let section = |phase: &'_ script::Phase| phase.jobs.first().map(|job| job.section);
    script.phases.iter().filter_map(|phase| Some((section(phase)?, phase))).collect()
}
