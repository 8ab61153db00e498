//! Carries out the phases of a script: what fio's job files say, one after the
//! other, each job measured as one.

use std::collections::BTreeMap;
use std::time::Instant;

use iodyno_host::Depth;
use iodyno_job::Job;
use iodyno_job::script::{Phase, Script, ScriptJob};
use iodyno_load::{ClearedJob, Counting, LoadError};
use iodyno_model::Measurement;
use iodyno_stats::{Rule, SHORT, Stopper};
use iodyno_target::{Permission, Target, TargetKind};

use crate::bench::Ready;
use crate::error::CampaignError;
use crate::execute::{Campaign, now_ns};
use crate::measure::Cut;
use crate::places::{Held, Places};
use crate::plan::Ends;
use crate::played::Played;
use crate::rounds::Turn;
use crate::steady::SteadyWatch;
use crate::tail;
use crate::watch::{Event, PhaseWatch, Progress};

impl Campaign<'_, '_> {
    /// Clears what `script` needs, and measures its phases.
    pub(crate) fn play(&mut self, script: &Script) -> Result<(), CampaignError> {
        let places = self.places(script, &self.options.permission)?;
        let bench: Vec<Ready<'_>> = places.all().iter().map(|held| self.ready(held)).collect();
        let sentences = crate::expect::writes(script, &bench, self.host, self.tools.claims);
        if !sentences.is_empty() {
            self.tools.watcher.event(&Event::Expect(&sentences));
        }
        drop(bench);
        self.play_on(script, &places, self.turns(script))
    }

    /// Clears what `script` needs.
    pub(crate) fn places(
        &mut self,
        script: &Script,
        permission: &Permission,
    ) -> Result<Places, CampaignError> {
        // What a preparation was allowed to write may be only read after it.
        let all_words = !self.touched && !self.options.standing;
        // As the first phase is refused, see `phase`; of a run that goes on it was done before.
        let first = script.phases.first().filter(|_| self.phase == 0);
        Places::clear(self.tools, self.host, script, permission, all_words, first)
            .map_err(|error| error.placed(script))
    }

    /// Measures phases of `script`, in the order of `turns`, on what was
    /// cleared for it.
    pub(crate) fn play_on(
        &mut self,
        script: &Script,
        places: &Places,
        turns: Vec<Turn<'_>>,
    ) -> Result<(), CampaignError> {
        let mut bench: Vec<Ready<'_>> = places.all().iter().map(|held| self.ready(held)).collect();
        self.played = bench.iter().map(|ready| ready.name.clone()).collect();
        for (ready, is_read) in bench.iter_mut().zip(places.are_read(script)) {
            let is_there = *ready.clearance.kind() != TargetKind::Nothing;
            if !self.is_interrupted() && is_read && is_there {
                self.sample(ready)?;
            }
        }
        self.round = None;
        if let Some(adapting) = &self.plan.adapting {
            self.play_adapting(script, adapting, places, &bench)?;
            let unlink = |phase| places.unlink(phase, std::iter::empty());
            return script.phases.iter().try_for_each(unlink);
        }
        for (n, turn) in turns.iter().enumerate() {
            if !self.is_interrupted() && !self.is_needless(turn) {
                let left = turns[n..].iter().filter(|turn| !self.is_needless(turn));
                let left_ns = left.map(|turn| lasts_ns(turn.phase)).sum();
                self.round = turn.round();
                self.phase(script, turn.phase, places, &bench, left_ns)
                    .map_err(|error| error.placed(script))?;
                self.after_round(turn, turns.get(n + 1))?;
                self.after_drives(turn, turns.get(n + 1))?;
            }
            // Also of what did not run: it was laid out all the same.
            places.unlink(turn.phase, turns[n + 1..].iter().map(|turn| turn.phase))?;
        }
        Ok(())
    }

    fn ready<'p>(&self, held: &'p Held) -> Ready<'p> {
        let access = held.access();
        let clearance = access.read();
        let resolved;
        let target: Option<&Target> = match held {
            Held::Read(target, _) | Held::Write(target, _) => Some(target),
            Held::Nothing(clearance) if clearance.entry().is_none() => None,
            Held::File(..) | Held::Nothing(_) => {
                let path = match held {
                    Held::File(path, _) => path.display().to_string(),
                    _ => access.name().to_owned(),
                };
                resolved = iodyno_target::resolve_anywhere(self.host, &path)
                    .ok()
                    .and_then(|targets| targets.into_iter().next());
                resolved.as_ref()
            }
        };
        let mut remarks = target.map(Target::remarks).unwrap_or_default();
        remarks.extend(clearance.remark());
        let device = target.and_then(|target| target.device());
        Ready::new(self.host, clearance.name(), access, device, false, remarks)
    }

    /// Runs one phase and commits what came of it: a measurement for each
    /// section. It and all behind it take `left_ns` at most.
    pub(crate) fn phase(
        &mut self,
        script: &Script,
        phase: &Phase,
        places: &Places,
        bench: &[Ready<'_>],
        left_ns: u64,
    ) -> Result<Vec<Measurement>, CampaignError> {
        self.phase += 1;
        let (sections, jobs): (Vec<usize>, Vec<ClearedJob<'_>>) = phase
            .jobs
            .iter()
            .filter_map(|job| Some((job.section, places.cleared(&job.job)?)))
            .unzip();
        let mut names: Vec<&str> = sections
            .iter()
            .filter_map(|section| script.sections.get(*section))
            .map(|section| section.name.as_str())
            .collect();
        names.dedup();
        let bench = &self.with_read_blocks(&jobs, bench)?;
        let step = names.join(" ");
        let mut targets: Vec<String> = jobs.iter().map(ClearedJob::target).collect();
        targets.sort();
        targets.dedup();
        let target = match targets.as_slice() {
            [only] => only.clone(),
            several => format!("{} targets", several.len()),
        };
        let source = self.tools.source;
        let progress = Progress {
            target: &target,
            step: &step,
            trying: None,
            iops: 0.0,
            bytes_per_s: 0.0,
            elapsed_ns: 0,
            most_ns: lasts_ns(phase),
            left_ns,
            done_bytes: 0,
            work_bytes: crate::expect::work_bytes(&jobs),
        };
        // Reading a temperature makes the kernel send an admin command: never
        // while single latencies may be what is measured.
        let mut nothing = || None;
        let started_ns = now_ns();
        let stats_before = iodyno_host::disk_stats(source);
        let clock = Instant::now();
        let ends = self.ends(phase);
        let rounds = (ends == Ends::Steady).then(|| self.plan.stop.rounds());
        let until_known = ends != Ends::ByThemselves;
        let p99 = tail::asked(&self.plan.stop, phase.jobs.iter().map(|job| &job.job));
        let rule = match until_known {
            true => self.rule(SHORT, p99, rounds),
            false => Rule::Time { seconds: f64::INFINITY },
        };
        let mut watch = PhaseWatch::new(
            Stopper::new(rule),
            self.tools.watcher,
            self.tools.interrupted,
            progress,
            &mut nothing,
        )
        .counting(if until_known { Counting::Steady } else { Counting::Whole })
        .over(rounds)
        .showing(&jobs)
        .until_steady(SteadyWatch::of(jobs.iter().map(|job| &job.job)));
        let report = self.tools.generator.run(&jobs, &mut watch);
        if let (Err(LoadError::Unfit { what, .. }), 1, Some(first)) =
            (&report, self.phase, jobs.first())
        {
            // Nothing was done yet: it is refused like a mistyped option.
            return Err(CampaignError::Job { name: first.job.name.clone(), what: what.clone() });
        }
        let seconds = clock.elapsed().as_secs_f64();
        self.blocks.add(&jobs);
        let stats_after = iodyno_host::disk_stats(source);
        let steady = std::mem::take(&mut watch.steady);
        let steady_state = watch.steady_state();
        let cut = if until_known { watch.cut() } else { Cut::Nothing };
        let (recorder, end) = watch.finish();
        let played = Played {
            jobs: &jobs,
            bench,
            report,
            recorder,
            end,
            started_ns,
            seconds,
            disk_stats: (stats_before, stats_after),
            steady,
            until_known,
            cut,
            steady_state,
            p99_asked: p99.filter(|_| until_known),
        };
        let after = iodyno_host::snapshot(source, Depth::Full);
        self.tools.watcher.event(&Event::Host(&after));
        let after = self.tools.store.add_snapshot(&self.run_id, &after)?;
        let before = std::mem::replace(&mut self.last_snapshot, after);
        let mut by_section: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, section) in sections.iter().enumerate() {
            by_section.entry(*section).or_default().push(index);
        }
        let mut measured = Vec::with_capacity(by_section.len());
        for mut members in by_section.into_values() {
            members.sort_by_key(|index| jobs[*index].job.threads.clone);
            let mut measurement = self.measured(&played, &members);
            measurement.round = self.round;
            measurement.before = Some(before);
            measurement.after = Some(after);
            self.tools.store.add_measurement(&self.run_id, &measurement)?;
            self.failed |= measurement.failure().is_some();
            self.tools.watcher.event(&Event::Done(&measurement));
            measured.push(measurement);
        }
        Ok(measured)
    }

    /// When a phase ends: all of its jobs are of one point.
    fn ends(&self, phase: &Phase) -> Ends {
        let time = |job: &ScriptJob| job.job.time.time_based && job.job.time.steadystate.is_none();
        // What prepares drives fills them, or goes on in rounds that last their time.
        let by_itself = self.round.is_some() || !phase.jobs.iter().all(time);
        let section = phase.jobs.first().map(|job| job.section);
        let asked = section.and_then(|section| self.plan.ends.get(section));
        asked.copied().filter(|_| !by_itself).unwrap_or_default()
    }
}

/// How long a phase takes at most, ns; 0: as long as its work takes.
pub(crate) fn lasts_ns(phase: &Phase) -> u64 {
    phase.jobs.iter().filter_map(|job| longest_ns(&job.job)).max().unwrap_or(0)
}

/// How long a job takes at most, ns; `None`: as long as its work takes.
pub(crate) fn longest_ns(job: &Job) -> Option<u64> {
    let time = &job.time;
    time.runtime_ns.map(|runtime_ns| runtime_ns + time.ramp_ns + job.threads.startdelay_ns.1)
}
