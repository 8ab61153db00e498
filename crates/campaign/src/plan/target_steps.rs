//! Steps of a plan on whole targets.

use iodyno_job::Job;
use iodyno_model::Purpose;

use super::error::{Mistake, PlanError};
use super::steps::{On, Step};
use super::study::{Study, StudyStep, Until, apply_value};

impl Study {
    /// True if it has steps on whole targets instead of points.
    pub fn is_of_steps(&self) -> bool {
        self.steps.iter().any(|step| !step.on.is_empty() || step.outstanding.is_some())
    }

    /// Its steps on whole targets.
    ///
    /// # Errors
    /// A mistake in a step.
    pub fn target_steps(&self) -> Result<Vec<Step>, PlanError> {
        let steps = self.steps.iter().enumerate().map(|(n, step)| self.target_step(step, n));
        steps.collect::<Result<_, _>>().map_err(|wrong: Mistake| wrong.within(&self.name, ""))
    }

    /// Checks for options that contradict steps on whole targets.
    pub(super) fn check_steps(&self) -> Result<(), Mistake> {
        if !self.is_of_steps() {
            return Ok(());
        }
        let plain = Self {
            targets: self.targets.clone(),
            about: self.about.clone(),
            stop: self.stop.clone(),
            written: self.written,
            job: self.job.clone(),
            steps: self.steps.clone(),
            ..Self::named(&self.name)
        };
        let is_plain = |step: &StudyStep| {
            step.grid.is_empty()
                && !step.own_file
                && !step.after
                && (step.until, step.purpose) == (Until::Known, Purpose::Measure)
        };
        if plain != *self || !self.steps.iter().all(is_plain) {
            let what = "step: `on` and `outstanding` go with nothing but stop, written and jobs";
            return Err(Mistake::at(&["step"], what));
        }
        for (n, step) in self.steps.iter().enumerate() {
            self.target_step(step, n)?;
            if self.steps[..n].iter().any(|known| known.name == step.name) {
                let what = format!("there are two steps `{}`", step.name);
                return Err(Mistake::at(&["step", &n.to_string(), "name"], what));
            }
        }
        Ok(())
    }

    /// The `n`th step.
    fn target_step(&self, step: &StudyStep, n: usize) -> Result<Step, Mistake> {
        let wrong = |path: &[&str], what: &str| {
            let n = n.to_string();
            let path = [&["step", n.as_str()], path].concat();
            Mistake::at(&path, format!("step `{}`: {what}", step.name))
        };
        let mut job = Job { name: step.name.clone(), ..Job::direct() };
        for (option, value) in self.job.iter().chain(&step.job) {
            apply_value(&mut job, option, value).map_err(|what| wrong(&["job", option], &what))?;
        }
        if step.outstanding.is_some_and(|search| !(1..=search.to).contains(&search.from)) {
            return Err(wrong(&["outstanding"], "outstanding: expected 1 <= from <= to"));
        }
        if !step.outstanding.is_none_or(|search| search.growth_percent > 0.0) {
            let what = "outstanding: until_growth_below_percent: expected a number above 0";
            return Err(wrong(&["outstanding", "until_growth_below_percent"], what));
        }
        Ok(Step {
            each: step.on.is_empty() || step.on.contains(&On::Each),
            together: step.on.contains(&On::Together),
            name: step.name.clone(),
            job,
            outstanding: step.outstanding,
        })
    }
}
