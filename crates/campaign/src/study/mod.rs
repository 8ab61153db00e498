//! Studies: jobs over a grid of options, as points in an order that gives the
//! answer early. TOML, in the same format as plans of steps.

use std::collections::BTreeMap;

use iodyno_job::{Job, apply, parse_seconds};
use iodyno_model::{PtsStatement, Rounds, Scaling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod bench_fio;
mod order;
mod outlook;
mod points;
mod presets;
mod rounds;
mod scale;
mod sections;
mod surface;

use points::POINTS_MAX;
pub use points::Point;

use crate::error::Refusal;
use crate::plan::{FORMAT, PlanError, Stop, StopForm, check_format};
use crate::preparation::Preparation;
use crate::schema::{OptionGrid, OptionValues};
use crate::settings::Settings;
use crate::wrong::Wrong;

pub(crate) use outlook::{known, outlook};
pub(crate) use surface::{Known, Surface};

/// A study: what is measured at which points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Version of the format.
    #[schemars(extend("const" = FORMAT))]
    format: String,
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
    /// The best point whose 99 % percentile keeps to this time is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_bound: Option<String>,
    /// How often all of them are measured, one time after the other.
    #[serde(default = "once")]
    pub repeat: u32,
    /// When points end.
    #[serde(default)]
    stop: StopForm,
    /// Points are measured in rounds, until a drive is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Points are measured on 1, 2, ... of the targets at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
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
    /// When a point of it ends.
    #[serde(default)]
    pub until: Until,
    /// Each of its points has a new file of its own in the target, a directory.
    #[serde(default)]
    pub own_file: bool,
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

    /// Checks what was not read from a text, or was changed since.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), PlanError> {
        self.look().map_err(|wrong| wrong.within(&self.name, ""))
    }

    /// Looks for what is wrong with it.
    pub(crate) fn look(&self) -> Result<(), Wrong> {
        check_format(&self.format)?;
        self.stop.resolve()?;
        let count = self.point_count();
        if count > POINTS_MAX {
            let what = format!(
                "{count} points, and a study has {POINTS_MAX} at most: fewer values, rounds or repetitions"
            );
            let key = if self.repeat > 1 { "repeat" } else { "grid" };
            return Err(Wrong::at(&[key], what));
        }
        self.check_options()?;
        self.check_rounds()?;
        self.check_scaling()?;
        if let Some(preparation) = &self.preparation {
            preparation.look()?;
            if preparation.condition.is_some() && self.rounds.is_some() {
                let what =
                    "preparation: condition: rounds condition a drive themselves; leave it out";
                return Err(Wrong::at(&["preparation", "condition"], what));
            }
        }
        self.check_adaptive()
    }

    /// A study of one part without anything in it yet.
    pub fn named(name: &str) -> Self {
        Self {
            format: FORMAT.into(),
            name: name.into(),
            about: String::new(),
            before: String::new(),
            targets: Vec::new(),
            targets_together: false,
            generator: MadeBy::default(),
            order: Order::default(),
            fresh: false,
            adaptive: false,
            p99_bound: None,
            repeat: 1,
            stop: StopForm::default(),
            rounds: None,
            scaling: None,
            settings: Settings::default(),
            report: PtsStatement::default(),
            preparation: None,
            job: BTreeMap::new(),
            grid: BTreeMap::new(),
            steps: Vec::new(),
        }
    }

    /// The study as TOML, to be read again.
    ///
    /// # Errors
    /// It cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string(self)
            .map_err(|error| PlanError { name: self.name.clone(), text: error.to_string() })
    }

    /// When points end.
    ///
    /// # Errors
    /// Times that are none, or contradict each other.
    pub fn stop(&self) -> Result<Stop, Refusal> {
        self.stop.resolve().map_err(|wrong| Refusal(wrong.what))
    }

    /// Points end once their 99 % percentile is known within `percent`, too; 0:
    /// whatever is known of it.
    pub const fn know_p99(&mut self, percent: f64) {
        self.stop.p99_percent = Some(percent);
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

    /// Points that write end once they are steady over five rounds of this length, as a time.
    pub fn steady_over(&mut self, round: &str) {
        round.clone_into(&mut self.stop.round);
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

    /// What is wrong with its options.
    fn check_options(&self) -> Result<(), Wrong> {
        if self.repeat == 0 {
            return Err(Wrong::at(&["repeat"], "repeat: at least 1 was expected"));
        }
        for (at, step) in self.parts().iter().enumerate() {
            // A part's own options and grid go before those of the whole.
            let wrong = |option: &str, what: String| {
                let n = at.to_string();
                let own = |table| ["step", n.as_str(), table, option];
                let is_own = |step: &&StudyStep| {
                    step.job.contains_key(option) || step.grid.contains_key(option)
                };
                let part = self.steps.get(at).filter(is_own);
                let part = part.map_or(String::new(), |step| format!("step `{}`: ", step.name));
                Wrong::at(&own("job"), format!("{part}{what}"))
                    .or_at(&own("grid"))
                    .or_at(&["job", option])
                    .or_at(&["grid", option])
            };
            let grids = step
                .grid
                .iter()
                .flat_map(|(option, values)| values.iter().map(move |value| (option, value)));
            for (option, value) in self.job.iter().chain(&step.job).chain(grids) {
                let applied = written(value).and_then(|value| {
                    apply(&mut Job::default(), option, &value).map_err(|error| error.to_string())
                });
                applied.map_err(|what| wrong(option, what))?;
            }
            if let Some((option, _)) = step.grid.iter().find(|(_, values)| values.is_empty()) {
                return Err(wrong(option, format!("grid: `{option}` has no values")));
            }
        }
        Ok(())
    }

    /// What contradicts more and more targets at once.
    fn check_scaling(&self) -> Result<(), Wrong> {
        let Some(scaling) = &self.scaling else { return Ok(()) };
        if self.rounds.is_some() || self.order == Order::Random {
            let what = "scaling: neither rounds nor order = \"random\" go with it: one more drive \
                        is compared with one less, in that order";
            return Err(Wrong::at(&["scaling"], what));
        }
        if !(scaling.least_gain_percent > 0.0 && scaling.least_gain_percent < 100.0) {
            let what = "scaling: least_gain_percent: above 0 and below 100 was expected";
            return Err(Wrong::at(&["scaling", "least_gain_percent"], what));
        }
        Ok(())
    }
}

/// An option's value as a job file has it.
pub(crate) fn written(value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(set) => Ok(u8::from(*set).to_string()),
        other => Err(format!("`{other}`: text or a number was expected")),
    }
}
