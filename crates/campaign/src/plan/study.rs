//! A plan as written: jobs over a grid of options, as points in an order that gives the answer
//! early; or steps on whole targets.

use std::collections::BTreeMap;

use iodyno_job::{Job, Kind, OptionSpec, ValueError, apply, find, main_name, parse_seconds};
use iodyno_model::{
    HeadroomPlan, PlanPreparation, PtsStatement, Purpose, Rounds, RoundsPlan, Run, RunKind, Scaling,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::PlanError;
use super::option_names::main_value;
use super::points::POINTS_MAX;
use super::preparation::Preparation;
use super::schema::{OptionGrid, OptionValues};
use super::settings::Settings;
use super::steps::{On, Search};
use super::stop::{Stop, StopForm};

/// Supported version of the format.
pub(super) const FORMAT: &str = "iodyno.plan/1";
/// Default number of blocks to sample for whether they were ever written.
pub(crate) const USUAL_SAMPLES: u32 = 4096;

/// A study: what is measured at which points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Version of the format.
    #[schemars(extend("const" = FORMAT))]
    pub(super) format: String,
    /// Name of the study.
    pub name: String,
    /// One-line description.
    #[serde(default)]
    pub about: String,
    /// Manual preparation of a drive before the run, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// Files and devices, measured one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Measure all targets at the same time instead of one after the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub targets_together: bool,
    /// Load generator.
    #[serde(default, skip_serializing_if = "MadeBy::is_native")]
    pub generator: MadeBy,
    /// Order in which the points are measured.
    #[serde(default)]
    pub order: Order,
    /// Points that write need not be steady: the drive is measured as it is now.
    #[serde(default)]
    pub fresh: bool,
    /// Predict points that are bounded by measured neighbours instead of measuring them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adaptive: bool,
    /// Find the best point whose p99 stays within this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_bound: Option<String>,
    /// Number of repetitions of all points, one after the other.
    #[serde(default = "once")]
    pub repeat: u32,
    /// End condition of points.
    #[serde(default)]
    pub stop: StopForm,
    /// Sampling of blocks for whether they were ever written.
    #[serde(default, skip_serializing_if = "WrittenForm::is_usual")]
    pub(super) written: WrittenForm,
    /// Measure points in rounds until a drive is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Measure points on 1, 2, ... of the targets at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// Measure how the p99 of reads depends on the rates of reads and of background writes, as
    /// shares of the maximum of its two steps, one that writes and one that reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<HeadroomPlan>,
    /// Machine settings, restored after the run.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// Facts about drives and people that cannot be read, for the report of SNIA tests.
    #[serde(default, skip_serializing_if = "PtsStatement::is_empty")]
    pub report: PtsStatement,
    /// Preparation of the drives: destroys all data on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
    /// Options of all points, as in a job file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "OptionValues")]
    pub job: BTreeMap<String, toml::Value>,
    /// Options with several values: every combination is a point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "OptionGrid")]
    pub grid: BTreeMap<String, Vec<toml::Value>>,
    /// Steps with options and a grid of their own; default: one step.
    #[serde(default, rename = "step", skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StudyStep>,
}

/// A step of a study. Its options override those of the study.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyStep {
    /// Name of the step; the names of its points begin with it.
    pub name: String,
    /// Purpose of its measurements.
    #[serde(default, skip_serializing_if = "Purpose::is_measure")]
    pub purpose: Purpose,
    /// End condition of its points.
    #[serde(default)]
    pub until: Until,
    /// Each of its points uses a new file of its own in the target, a directory.
    #[serde(default)]
    pub own_file: bool,
    /// Measure it on each target alone, on all at once, or both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<On>,
    /// Search for the number of outstanding I/Os.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<Search>,
    /// Measure it once, after the rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after: bool,
    /// Options of its points.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "OptionValues")]
    pub job: BTreeMap<String, toml::Value>,
    /// Its grid, instead of the study's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "OptionGrid")]
    pub grid: BTreeMap<String, Vec<toml::Value>>,
}

/// `[written]` of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenForm {
    /// Number of blocks to sample; 0: none.
    samples: u32,
}

impl Default for WrittenForm {
    fn default() -> Self {
        Self { samples: USUAL_SAMPLES }
    }
}

impl WrittenForm {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// End condition of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Once it is known precisely enough (`[stop]`).
    #[default]
    Known,
    /// When its work is done, as bounded by its options (`size`, `io_size`, `runtime`).
    Done,
}

/// Load generator of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MadeBy {
    /// iodyno itself.
    #[default]
    Native,
    /// fio; every point lasts its full time.
    Fio,
}

impl MadeBy {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it skips by reference")]
    fn is_native(&self) -> bool {
        *self == Self::Native
    }
}

/// Order in which points are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Corners of the grid first, then the points between them: shows the shape early.
    #[default]
    Corners,
    /// As the grid is written, the last option varying fastest.
    Written,
    /// Shuffled, so that a drift of the machine does not look like an effect.
    Random,
}

const fn once() -> u32 {
    1
}

impl Study {
    /// Parses a study; `name` is the file or preset for errors.
    ///
    /// # Errors
    /// A mistake, with line and column.
    pub fn parse(text: &str, name: &str) -> Result<Self, PlanError> {
        let mut study: Self =
            toml::from_str(text).map_err(|error| PlanError::of_toml(&error, name, text))?;
        let named = study.name_options();
        named.and_then(|()| study.validate()).map_err(|wrong| wrong.within(name, text))?;
        Ok(study)
    }

    /// Study of a run, if it has one: as it was measured, also if this version would refuse it.
    pub fn of(run: &Run) -> Option<Self> {
        let has_one = matches!(run.kind, RunKind::Check | RunKind::Sweep | RunKind::Prepare);
        let study: Self = has_one.then(|| toml::from_str(&run.plan).ok())??;
        // A document may come from anybody.
        (study.point_count() <= POINTS_MAX).then_some(study)
    }

    /// Kind of its runs.
    pub(crate) fn kind(&self) -> RunKind {
        let measures = !(self.job.is_empty() && self.grid.is_empty() && self.steps.is_empty());
        match self.preparation {
            _ if self.is_of_steps() => RunKind::Check,
            Some(_) if !measures => RunKind::Prepare,
            _ => RunKind::Sweep,
        }
    }

    /// Criteria and texts for judging and showing its rounds.
    pub(crate) fn rounds_plan(&self) -> Option<RoundsPlan> {
        self.report_plan().filter(|_| self.rounds.is_some())
    }

    /// Texts for the report of a test; without [rounds] nothing is tracked. `None`: it is no test
    /// that states or requires anything to be reported.
    pub fn report_plan(&self) -> Option<RoundsPlan> {
        let is_test = self.rounds.is_some() || !self.before.is_empty() || !self.report.is_empty();
        let preparation = self.preparation.as_ref();
        is_test.then(|| RoundsPlan {
            about: self.about.clone(),
            before: self.before.clone(),
            preparation: preparation
                .map(|one| PlanPreparation { purge: one.purge, fill: one.fill }),
            report: self.report.clone(),
            rounds: self.rounds.clone().unwrap_or_default(),
        })
    }

    /// Checks a study that was not parsed from a text, or was changed since.
    ///
    /// # Errors
    /// A mistake.
    pub fn check(&self) -> Result<(), PlanError> {
        let checked = self.validate().and_then(|()| self.check_titles());
        checked.map_err(|wrong| wrong.within(&self.name, ""))
    }

    /// An empty study of one step.
    ///
    /// # Panics
    /// Never: all other keys have defaults.
    pub fn named(name: &str) -> Self {
        let keys = [("format", FORMAT), ("name", name)];
        let keys = toml::Table::from_iter(keys.map(|(key, text)| (key.to_owned(), text.into())));
        // Via text: deserializing a study from a table as well would double the generated code.
        toml::from_str(&keys.to_string()).expect("all other keys have defaults")
    }

    /// The study as TOML that can be parsed again.
    ///
    /// # Errors
    /// It cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string(self)
            .map_err(|error| PlanError { name: self.name.clone(), text: error.to_string() })
    }

    /// Bound of the p99, ns.
    ///
    /// # Errors
    /// The text is not a time.
    pub(crate) fn p99_bound_ns(&self) -> Result<Option<u64>, ValueError> {
        self.p99_bound.as_deref().map(parse_seconds).transpose()
    }

    /// Number of blocks to sample for whether they were ever written; 0: none.
    pub const fn written_samples(&self) -> u32 {
        self.written.samples
    }

    /// End condition of points.
    ///
    /// # Errors
    /// Invalid times, or times that contradict each other.
    pub fn stop(&self) -> Result<Stop, PlanError> {
        self.stop.resolve().map_err(|wrong| wrong.within(&self.name, ""))
    }

    /// Sets the precision (0.02 = 2 %) and the maximum duration of points; `None` leaves it
    /// unchanged.
    pub fn stop_at(&mut self, precision: Option<f64>, max_time: Option<&str>) {
        if let Some(precision) = precision {
            self.stop.precision_percent = precision * 100.0;
        }
        if let Some(max_time) = max_time {
            max_time.clone_into(&mut self.stop.max_time);
            let ns = |time: &str| parse_seconds(time).ok();
            let max_ns = ns(max_time);
            let is_longer = |min_time: &mut String| {
                ns(min_time).zip(max_ns).is_some_and(|(min_ns, max_ns)| min_ns > max_ns)
            };
            // Overrides the plan's minimum: this is the longest time.
            self.stop.min_time.take_if(is_longer);
        }
    }

    /// Sets an option of all points, overriding grids.
    pub fn set(&mut self, option: &str, value: &str) {
        let value = main_value(option, value.into());
        let option = main_name(option);
        self.grid.remove(option);
        self.job.insert(option.into(), value);
        for step in &mut self.steps {
            step.grid.remove(option);
            step.job.remove(option);
        }
    }

    /// Sets an option's values in the grids that vary it, so that a step which fixes it stays
    /// unchanged; in all grids if none does.
    pub fn vary(&mut self, option: &str, values: &[String]) {
        let values: Vec<toml::Value> =
            values.iter().map(|value| main_value(option, value.as_str().into())).collect();
        let option = main_name(option);
        let known = self
            .steps
            .iter()
            .map(|step| &step.grid)
            .chain([&self.grid])
            .any(|grid| grid.contains_key(option));
        if !known {
            self.set(option, "");
            self.job.remove(option);
        }
        let steps =
            self.steps.iter_mut().map(|step| &mut step.grid).filter(|grid| !grid.is_empty());
        for grid in steps.chain([&mut self.grid]) {
            if !known || grid.contains_key(option) {
                grid.insert(option.into(), values.clone());
            }
        }
    }
}

/// Sets an option of a job.
pub(super) fn apply_value(job: &mut Job, option: &str, value: &toml::Value) -> Result<(), String> {
    apply(job, option, &written(value)?).map_err(|error| error.to_string())?;
    match find(option).map(OptionSpec::kind) {
        // `sync` and others have the words 0 and 1.
        Some(kind)
            if value.is_bool() && !matches!(kind, Kind::Bool | Kind::Flag | Kind::Words(_)) =>
        {
            Err(format!("`{option} = {value}`: expected {kind}"))
        }
        _ => Ok(()),
    }
}

/// An option's value as written in a job file.
pub(super) fn written(value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(set) => Ok(u8::from(*set).to_string()),
        other => Err(format!("`{other}`: expected text or a number")),
    }
}

/// JSON schema of plans, for editors that complete and check TOML with it.
pub fn plan_schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let study = generator.subschema_for::<Study>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "iodyno.plan/1",
        "description": "A plan: what is measured, in which order, and until when.",
        "anyOf": [study],
        "$defs": generator.take_definitions(true),
    })
}
