//! Plans of steps as TOML has them.

use std::collections::BTreeMap;

use iodyno_job::Job;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stop::StopForm;
use super::{Plan, PlanError, Search, Step};
use crate::schema::OptionValues;
use crate::study::written;
use crate::wrong::Wrong;

pub(crate) const FORMAT: &str = "iodyno.plan/1";

/// A plan of steps, as `iodyno check` has one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanForm {
    /// Version of the format.
    #[schemars(extend("const" = FORMAT))]
    format: String,
    /// Its name.
    name: String,
    /// One line about it.
    #[serde(default)]
    about: String,
    /// When measurements end.
    #[serde(default)]
    stop: StopForm,
    /// Sampling which blocks were ever written.
    #[serde(default)]
    written: WrittenForm,
    /// What is measured, in order.
    step: Vec<StepForm>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenForm {
    /// Blocks that are looked at; 0: none.
    samples: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StepForm {
    /// Its name, which its measurements have.
    name: String,
    /// On each target alone, on all at once, or both.
    #[serde(default = "on_each")]
    on: Vec<On>,
    /// Options of its jobs.
    #[schemars(with = "OptionValues")]
    job: BTreeMap<String, toml::Value>,
    /// How many I/Os are outstanding is searched for.
    outstanding: Option<SearchForm>,
}

fn on_each() -> Vec<On> {
    vec![On::Each]
}

#[derive(Serialize, Deserialize, PartialEq, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum On {
    /// On each target alone.
    Each,
    /// On all targets at once.
    Together,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchForm {
    /// Starts with this many.
    from: u32,
    /// Never tries more.
    to: u32,
    /// Doubled until the rate grows by less than this.
    until_growth_below_percent: f64,
}

impl Plan {
    /// Reads a plan; `name` is the file or preset that errors name.
    ///
    /// # Errors
    /// What is wrong, with line and column or the step.
    pub fn parse(text: &str, name: &str) -> Result<Self, PlanError> {
        let form: PlanForm = toml::from_str(text)
            .map_err(|error| PlanError { name: name.into(), text: error.to_string() })?;
        let within = |wrong: Wrong| wrong.within(name, text);
        check_format(&form.format).map_err(within)?;
        let stop = form.stop.resolve().map_err(within)?;
        let mut steps: Vec<Step> = Vec::with_capacity(form.step.len());
        for (n, step) in form.step.into_iter().enumerate() {
            let step = step.resolve(&n.to_string()).map_err(within)?;
            if steps.iter().any(|known| known.name == step.name) {
                let what = format!("there are two steps `{}`", step.name);
                return Err(within(Wrong::at(&["step", &n.to_string(), "name"], what)));
            }
            steps.push(step);
        }
        Ok(Self {
            about: form.about,
            written_samples: form.written.samples,
            steps,
            ..Self::empty(&form.name, stop, text.into())
        })
    }
}

/// Refuses another version of the format.
pub(crate) fn check_format(format: &str) -> Result<(), Wrong> {
    let what = || format!("format `{format}` is not known; this iodyno reads {FORMAT}");
    if format == FORMAT { Ok(()) } else { Err(Wrong::at(&["format"], what())) }
}

impl StepForm {
    /// The step; it is the `n`th.
    fn resolve(self, n: &str) -> Result<Step, Wrong> {
        let wrong = |path: &[&str], what: String| {
            let path = [&["step", n], path].concat();
            Wrong::at(&path, format!("step `{}`: {what}", self.name))
        };
        let mut job = Job { name: self.name.clone(), ..Job::direct() };
        for (option, value) in &self.job {
            let applied = written(value).and_then(|value| {
                iodyno_job::apply(&mut job, option, &value).map_err(|error| error.to_string())
            });
            applied.map_err(|what| wrong(&["job", option], what))?;
        }
        let outstanding = match self.outstanding {
            None => None,
            Some(form) if form.from >= 1 && form.from <= form.to => Some(Search {
                from: form.from,
                to: form.to,
                growth: form.until_growth_below_percent / 100.0,
            }),
            Some(_) => {
                let what = "outstanding: 1 <= from <= to was expected";
                return Err(wrong(&["outstanding"], what.into()));
            }
        };
        Ok(Step {
            each: self.on.contains(&On::Each),
            together: self.on.contains(&On::Together),
            name: self.name,
            job,
            outstanding,
        })
    }
}
