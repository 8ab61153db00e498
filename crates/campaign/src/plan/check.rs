//! Checks a plan for mistakes.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_job::{Amount, Job, Kind, apply, find, is_fio_only};
use iodyno_judge::LoadSurface;
use iodyno_model::Direction;

use super::error::Mistake;
use super::order::{Axis, cells};
use super::points::{POINTS_MAX, Point, axes};
use super::study::{FORMAT, MadeBy, Order, Study, StudyStep, Until, apply_value, written};

/// Options of which a point that lasts until it is known keeps none.
const UNTIL_DONE: [&str; 9] = [
    "runtime",
    "startdelay",
    "io_size",
    "number_ios",
    "loops",
    "steadystate",
    "steadystate_duration",
    "steadystate_ramp_time",
    "steadystate_check_interval",
];

impl Study {
    /// Returns the first mistake.
    pub(super) fn validate(&self) -> Result<(), Mistake> {
        if self.format != FORMAT {
            let what = format!("format `{}` is not known; this iodyno reads {FORMAT}", self.format);
            return Err(Mistake::at(&["format"], what));
        }
        self.stop.resolve()?;
        if let Some(n) = self.targets.iter().position(|target| target.contains("${")) {
            let what = format!("targets: `{}`: plans expand no variables", self.targets[n]);
            return Err(Mistake::at(&["targets", &n.to_string()], what));
        }
        let count = self.point_count();
        if count > POINTS_MAX {
            let what = format!(
                "{count} points, and a study has {POINTS_MAX} at most: fewer values, rounds or repetitions"
            );
            let key = if self.repeat > 1 { "repeat" } else { "grid" };
            return Err(Mistake::at(&[key], what));
        }
        self.check_options()?;
        self.check_rounds()?;
        self.check_scaling()?;
        self.check_headroom()?;
        self.check_steps()?;
        if let Some(preparation) = &self.preparation {
            preparation.validate()?;
            if preparation.condition.is_some() && self.rounds.is_some() {
                let what = "preparation: condition: remove it: rounds condition a drive themselves";
                return Err(Mistake::at(&["preparation", "condition"], what));
            }
        }
        self.check_adaptive()
    }

    fn check_options(&self) -> Result<(), Mistake> {
        if self.repeat == 0 {
            return Err(Mistake::at(&["repeat"], "repeat: expected at least 1"));
        }
        for (at, step) in self.parts().iter().enumerate() {
            // A step's own options and grid take precedence over those of the study.
            let wrong = |option: &str, what: String| {
                let n = at.to_string();
                let own = |table| ["step", n.as_str(), table, option];
                let is_own = |step: &&StudyStep| {
                    step.job.contains_key(option) || step.grid.contains_key(option)
                };
                let part = self.steps.get(at).filter(is_own);
                let part = part.map_or(String::new(), |step| format!("step `{}`: ", step.name));
                Mistake::at(&own("job"), format!("{part}{what}"))
                    .or_at(&own("grid"))
                    .or_at(&["job", option])
                    .or_at(&["grid", option])
            };
            let grids = step
                .grid
                .iter()
                .flat_map(|(option, values)| values.iter().map(move |value| (option, value)));
            for (option, value) in self.job.iter().chain(&step.job).chain(grids) {
                let mut job = Job::default();
                let applied = apply_value(&mut job, option, value);
                applied
                    .and_then(|()| self.check_option(step, option, &job))
                    .map_err(|what| wrong(option, what))?;
            }
            self.check_cells(step, |option, what| wrong(option, what))?;
            if let Some((option, _)) = step.grid.iter().find(|(_, values)| values.is_empty()) {
                return Err(wrong(option, format!("grid: `{option}` has no values")));
            }
        }
        Ok(())
    }

    /// Checks that the points of `step` can keep this option, with its value in `job`.
    fn check_option(&self, step: &StudyStep, option: &str, job: &Job) -> Result<(), String> {
        match option {
            "directory" | "filename" => {
                return Err(format!("`{option}`: `targets` names files and devices"));
            }
            "name" => return Err("`name`: points are named by their step and grid".into()),
            "stonewall" | "wait_for" => {
                return Err(format!("`{option}`: points are measured one after the other"));
            }
            "exec_prerun" | "exec_postrun" | "program" => {
                return Err(format!("`{option}`: plans run no commands"));
            }
            "numjobs" if self.is_of_steps() && job.threads.numjobs > 1 => {
                return Err(
                    "`numjobs`: a step with `on` or `outstanding` is one job on each target: use iodepth"
                        .into(),
                );
            }
            _ => {}
        }
        // What other steps use is not refused.
        let is_shared = !step.job.contains_key(option) && !step.grid.contains_key(option);
        let holds = |of: &dyn Fn(&StudyStep) -> bool| {
            of(step) && (!is_shared || self.parts().iter().all(of))
        };
        if option == "iodepth" && holds(&|step| step.outstanding.is_some()) {
            return Err("`iodepth`: `outstanding` searches for it".into());
        }
        if !holds(&|step| step.until == Until::Known && self.rounds.is_none()) {
            return Ok(());
        }
        if UNTIL_DONE.contains(&option) || (option == "time_based" && !job.time.time_based) {
            return Err(format!(
                "`{option}`: points last until they are known: use max_time of [stop], or until = \"done\""
            ));
        }
        if self.stop.resolve().is_ok_and(|stop| job.time.ramp_ns >= stop.max_ns) {
            return Err(
                "`ramp_time`: expected less than max_time of [stop], which includes it".into()
            );
        }
        Ok(())
    }

    /// Checks that each point of `step` has a whole block to work on, and a mix if the mix varies.
    fn check_cells(
        &self,
        step: &StudyStep,
        wrong: impl Fn(&str, String) -> Mistake,
    ) -> Result<(), Mistake> {
        let axes = axes(step);
        for cell in cells(&axes) {
            let mut job = Job::default();
            for (option, value) in self.point(step, &axes, &cell, &[], 0).options {
                apply(&mut job, &option, &value)
                    .map_err(|error| wrong(&option, error.to_string()))?;
            }
            let (rw, mix) = (job.pattern.rw, "rwmixread");
            if step.grid.contains_key(mix) && !(rw.has(Direction::Read) && rw.has(Direction::Write))
            {
                let what = format!(
                    "`{mix}`: `rw={}` has no mix to vary: a step of its own can have it",
                    rw.name()
                );
                return Err(wrong(mix, what));
            }
            let smallest = job.pattern.bs.iter().map(|(_, bs)| bs.smallest()).min();
            if let Some(Amount::Bytes(size @ 1..)) = job.space.size
                && smallest > Some(size)
            {
                let block = smallest.unwrap_or_default();
                return Err(wrong(
                    "size",
                    format!("`size`: {size} bytes are less than a block of {block}"),
                ));
            }
        }
        Ok(())
    }

    /// Checks that no two points have the same name, by which results are found again, or the same
    /// value in two spellings.
    pub(super) fn check_titles(&self) -> Result<(), Mistake> {
        for (at, step) in self.parts().iter().enumerate() {
            let kb_base = step.job.get("kb_base").or(self.job.get("kb_base"));
            let kb_base = kb_base.and_then(|value| written(value).ok());
            for Axis { option, values, .. } in axes(step) {
                let plain = |value: &String| plain(&option, value, kb_base.as_deref());
                let mut known: BTreeMap<String, &String> = BTreeMap::new();
                for value in &values {
                    let other = known.insert(plain(value), value);
                    if let Some(other) = other.filter(|other| *other != value) {
                        let what = format!(
                            "grid: `{option}`: `{other}` and `{value}` are one value: expected it once"
                        );
                        let n = at.to_string();
                        return Err(Mistake::at(&["step", &n, "grid", &option], what)
                            .or_at(&["grid", &option]));
                    }
                }
            }
        }
        let targets = vec![String::new()];
        let once = Self { targets, rounds: None, scaling: None, repeat: 1, ..self.clone() };
        let mut known = BTreeSet::new();
        match once.points(0).into_iter().find(|point| !known.insert(point.title.clone())) {
            Some(Point { title, .. }) => {
                let what = format!(
                    "several points are `{title}`: expected each step name and each value of a grid once"
                );
                Err(Mistake::at(&["step"], what).or_at(&["grid"]))
            }
            None => Ok(()),
        }
    }

    /// Checks for options that contradict predicting points.
    fn check_adaptive(&self) -> Result<(), Mistake> {
        let bound = self.p99_bound_ns();
        let wrong = |what: String| Mistake::at(&["p99_bound"], format!("p99_bound: {what}"));
        if bound.map_err(|what| wrong(what.to_string()))? == Some(0) {
            return Err(wrong("expected a time above 0, as in 1ms".into()));
        }
        let repeats = self.rounds.is_some() || self.repeat > 1;
        if self.adaptive && (repeats || self.scaling.is_some()) {
            let what = "adaptive: cannot be combined with rounds, repetitions or scaling: each would skip other points";
            return Err(Mistake::at(&["adaptive"], what));
        }
        Ok(())
    }

    /// Checks for options that contradict loads as shares of the maximum.
    fn check_headroom(&self) -> Result<(), Mistake> {
        let Some(headroom) = &self.headroom else { return Ok(()) };
        let wrong = |what: &str| Err(Mistake::at(&["headroom"], format!("headroom: {what}")));
        let others = self.rounds.is_some() || self.scaling.is_some() || self.adaptive;
        if others || self.repeat > 1 || self.targets_together || self.generator == MadeBy::Fio {
            return wrong(
                "not with rounds, scaling, adaptive, repetitions, targets_together or fio",
            );
        }
        let probe = Self { targets: vec![String::new()], ..self.clone() };
        let is_sync = |point: &Point| headroom.sync && point.flushes();
        let (syncs, loads): (Vec<Point>, Vec<Point>) =
            probe.points(0).into_iter().partition(is_sync);
        match loads.as_slice() {
            _ if syncs.len() != usize::from(headroom.sync) => {
                return wrong("sync: expected a third step, with fdatasync or fsync");
            }
            [one, other] if one.writes() != other.writes() => {}
            _ => {
                return wrong("expected two steps: one that only writes, one that only reads");
            }
        }
        if self.p99_bound.is_none() {
            return wrong("expected p99_bound: the longest time of reads");
        }
        if !(1..=LoadSurface::LOADS).contains(&(headroom.points as usize)) {
            let what = format!("headroom: points: expected 1 to {}", LoadSurface::LOADS);
            return Err(Mistake::at(&["headroom", "points"], what));
        }
        Ok(())
    }

    /// Checks for options that contradict adding target after target.
    fn check_scaling(&self) -> Result<(), Mistake> {
        let Some(scaling) = &self.scaling else { return Ok(()) };
        if self.rounds.is_some() || self.order == Order::Random {
            let what = "scaling: not with rounds or order = \"random\": each step adds one drive to those before, in order";
            return Err(Mistake::at(&["scaling"], what));
        }
        if !(scaling.least_gain_percent > 0.0 && scaling.least_gain_percent < 100.0) {
            let what = "scaling: least_gain_percent: expected a number above 0 and below 100";
            return Err(Mistake::at(&["scaling", "least_gain_percent"], what));
        }
        Ok(())
    }
}

/// An option's value in one spelling.
fn plain(option: &str, value: &str, kb_base: Option<&str>) -> String {
    let mut job = Job::default();
    let with_units = kb_base.map_or(Ok(()), |base| apply(&mut job, "kb_base", base));
    let applied = with_units.and_then(|()| apply(&mut job, option, value));
    match find(option).filter(|spec| !matches!(spec.kind(), Kind::Words(_))) {
        Some(spec) if applied.is_ok() && !is_fio_only(option, Some(value)) => spec.print(&job),
        // A job does not hold it, or two words mean one only to iodyno.
        _ => value.trim().to_owned(),
    }
}
