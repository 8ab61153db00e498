//! A plan as it is written: jobs over a grid of options, as points in an order that gives the
//! answer early; or steps on whole targets.

use std::collections::BTreeMap;

use iodyno_job::{Job, ValueError, apply, parse_seconds};
use iodyno_model::{
    HeadroomPlan, PlanPreparation, PtsStatement, Purpose, Rounds, RoundsPlan, Run, RunKind, Scaling,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::PlanError;
use super::preparation::Preparation;
use super::schema::{OptionGrid, OptionValues};
use super::settings::Settings;
use super::steps::{On, Search};
use super::stop::{Stop, StopForm};

/// The version of the format that this iodyno reads.
pub(super) const FORMAT: &str = "iodyno.plan/1";
/// So many blocks are sampled to tell which were ever written, unless a plan says another.
pub(crate) const USUAL_SAMPLES: u32 = 4096;

/// A study: what is measured at which points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Version of the format.
    #[schemars(extend("const" = FORMAT))]
    pub(super) format: String,
    /// Its name.
    pub name: String,
    /// One line about it.
    #[serde(default)]
    pub about: String,
    /// What has to be done to a drive before, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// Files and devices, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// All targets at the same time, in place of one after the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub targets_together: bool,
    /// Who makes the I/O.
    #[serde(default, skip_serializing_if = "MadeBy::is_native")]
    pub generator: MadeBy,
    /// In which order the points are measured.
    #[serde(default)]
    pub order: Order,
    /// Points that write need not be steady: what is asked is the drive as it is just now.
    #[serde(default)]
    pub fresh: bool,
    /// Points that measured neighbours bound are predicted in place of being measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adaptive: bool,
    /// The best point whose p99 keeps to this time is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_bound: Option<String>,
    /// How often all of them are measured, one time after the other.
    #[serde(default = "once")]
    pub repeat: u32,
    /// When points end.
    #[serde(default)]
    pub stop: StopForm,
    /// Sampling which blocks were ever written.
    #[serde(default, skip_serializing_if = "WrittenForm::is_usual")]
    pub(super) written: WrittenForm,
    /// Points are measured in rounds, until a drive is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Points are measured on 1, 2, ... of the targets at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// How p99 of reads depends on the rates of reads and of background writes is looked for: shares
    /// of what its two steps, one that writes and one that reads, come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<HeadroomPlan>,
    /// What is set on the machine before, and restored after it.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// What nobody can read of drives and people, for the report of SNIA tests.
    #[serde(default, skip_serializing_if = "PtsStatement::is_empty")]
    pub report: PtsStatement,
    /// What is done to the drives before: all that they hold is lost.
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
    /// Parts with options and a grid of their own; none: there is one part.
    #[serde(default, rename = "step", skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StudyStep>,
}

/// A part of a study. What it says goes before what the whole says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyStep {
    /// Its name, with which the names of its points begin.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Purpose::is_measure")]
    pub purpose: Purpose,
    /// When a point of it ends.
    #[serde(default)]
    pub until: Until,
    /// Each of its points has a new file of its own in the target, a directory.
    #[serde(default)]
    pub own_file: bool,
    /// It is measured on each target alone, on all at once, or both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<On>,
    /// How many I/Os are outstanding is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<Search>,
    /// It is measured once, after the rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after: bool,
    /// Options of its points.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "OptionValues")]
    pub job: BTreeMap<String, toml::Value>,
    /// Its grid, in place of the study's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "OptionGrid")]
    pub grid: BTreeMap<String, Vec<toml::Value>>,
}

/// `[written]` of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenForm {
    /// Blocks that are looked at; 0: none.
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

/// When a point ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Once it is known well enough (`[stop]`).
    #[default]
    Known,
    /// When its work is done: the options bound it (`size`, `io_size`, `runtime`).
    Done,
}

/// Who makes the I/O of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MadeBy {
    /// iodyno itself.
    #[default]
    Native,
    /// fio; every point lasts its whole time.
    Fio,
}

impl MadeBy {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it skips by reference")]
    fn is_native(&self) -> bool {
        *self == Self::Native
    }
}

/// In which order points are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The corners of the grid, then what lies between: the shape is seen early.
    #[default]
    Corners,
    /// As the grid is written, the last option's values first.
    Written,
    /// Shuffled, so that a drift of the machine does not look like an effect.
    Random,
}

const fn once() -> u32 {
    1
}

impl Study {
    /// Reads a study; `name` is the file or preset that errors name.
    ///
    /// # Errors
    /// What is wrong, with line and column.
    pub fn parse(text: &str, name: &str) -> Result<Self, PlanError> {
        let study: Self = toml::from_str(text)
            .map_err(|error| PlanError { name: name.into(), text: error.to_string() })?;
        study.look().map_err(|wrong| wrong.within(name, text))?;
        Ok(study)
    }

    /// Of a run that has one.
    pub fn of(run: &Run) -> Option<Self> {
        let has_one = matches!(run.kind, RunKind::Check | RunKind::Sweep | RunKind::Prepare);
        has_one.then(|| Self::parse(&run.plan, &run.plan_name).ok())?
    }

    /// What kind of run it makes.
    pub(crate) fn kind(&self) -> RunKind {
        let measures = !(self.job.is_empty() && self.grid.is_empty() && self.steps.is_empty());
        match self.preparation {
            _ if self.is_of_steps() => RunKind::Check,
            Some(_) if !measures => RunKind::Prepare,
            _ => RunKind::Sweep,
        }
    }

    /// What its rounds are judged and shown by.
    pub(crate) fn rounds_plan(&self) -> Option<RoundsPlan> {
        let preparation = self.preparation.as_ref();
        Some(RoundsPlan {
            about: self.about.clone(),
            before: self.before.clone(),
            preparation: preparation
                .map(|one| PlanPreparation { purge: one.purge, fill: one.fill }),
            report: self.report.clone(),
            rounds: self.rounds.clone()?,
        })
    }

    /// Checks what was not read from a text, or was changed since.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), PlanError> {
        self.look().map_err(|wrong| wrong.within(&self.name, ""))
    }

    /// A study of one part without anything in it yet.
    ///
    /// # Panics
    /// Never: what a plan need not say has a default.
    pub fn named(name: &str) -> Self {
        let keys = [("format", FORMAT), ("name", name)];
        let keys = toml::Table::from_iter(keys.map(|(key, text)| (key.to_owned(), text.into())));
        // As text: a study that is read of a table, too, would be as much code again.
        toml::from_str(&keys.to_string()).expect("all other keys have defaults")
    }

    /// The study as TOML, to be read again.
    ///
    /// # Errors
    /// It cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string(self)
            .map_err(|error| PlanError { name: self.name.clone(), text: error.to_string() })
    }

    /// The bound of the p99, ns.
    ///
    /// # Errors
    /// A text that is no time.
    pub(crate) fn p99_bound_ns(&self) -> Result<Option<u64>, ValueError> {
        self.p99_bound.as_deref().map(parse_seconds).transpose()
    }

    /// So many blocks are sampled to tell which were ever written; 0: none.
    pub const fn written_samples(&self) -> u32 {
        self.written.samples
    }

    /// When points end.
    ///
    /// # Errors
    /// Times that are none, or contradict each other.
    pub fn stop(&self) -> Result<Stop, PlanError> {
        self.stop.resolve().map_err(|wrong| wrong.within(&self.name, ""))
    }

    /// Points end at this precision (0.02 = 2 %), at this time at the latest;
    /// `None` leaves it as it is.
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
            // Whatever the plan says: this is the longest time.
            self.stop.min_time.take_if(is_longer);
        }
    }

    /// An option of all points, in place of what grids say of it.
    pub fn set(&mut self, option: &str, value: &str) {
        self.grid.remove(option);
        self.job.insert(option.into(), value.into());
        for step in &mut self.steps {
            step.grid.remove(option);
            step.job.remove(option);
        }
    }

    /// An option's values: in the grids that vary it, so that a part which fixes it stays as it
    /// is; in all grids where none does.
    pub fn vary(&mut self, option: &str, values: &[String]) {
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
        let values: Vec<toml::Value> = values.iter().map(|value| value.as_str().into()).collect();
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
    apply(job, option, &written(value)?).map_err(|error| error.to_string())
}

/// An option's value as a job file has it.
pub(super) fn written(value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(set) => Ok(u8::from(*set).to_string()),
        other => Err(format!("`{other}`: text or a number was expected")),
    }
}

/// The JSON schema of plans, for editors that complete and check TOML by one.
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
