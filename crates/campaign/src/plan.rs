//! Plans: what to measure, in order. TOML, the same format for presets and users.

use std::collections::BTreeMap;

use iodyno_job::script::Script;
use iodyno_job::{Job, parse_seconds};
use iodyno_judge::limits;
use iodyno_model::Rounds;
use iodyno_stats::PtsRounds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::adapting::Adapting;
use crate::layouts::LayoutPlan;
use crate::preparation::Preparing;
use crate::rounds::InRounds;
use crate::scaling::InScaling;
use crate::schema::OptionValues;
use crate::settings::Settings;
use crate::study::written;
use crate::wrong::Wrong;

pub(crate) const FORMAT: &str = "iodyno.plan/1";

/// How well the 99 % percentile has to be known where one I/O is outstanding.
const P99_AT_DEPTH_1: f64 = 0.1;

/// A plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// When a measurement ends.
    pub stop: Stop,
    /// Blocks to be sampled to tell which were ever written; 0 = none.
    pub written_samples: u32,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// What fio's job files say, in place of steps: its phases are the steps.
    pub script: Option<Script>,
    /// When the jobs of each section of the script end; `ByThemselves` where it says nothing.
    pub ends: Vec<Ends>,
    /// Drives are prepared before it.
    pub preparation: Option<Preparing>,
    /// Its phases are measured in rounds.
    pub rounds: Option<InRounds>,
    /// It is measured on a layout, which is built before and taken down after.
    pub layout: Option<LayoutPlan>,
    /// Its phases are measured on more and more drives.
    pub scaling: Option<InScaling>,
    /// What is set on the machine before, and restored after it.
    pub settings: Settings,
    /// Which of its phases are measured follows from those that are.
    pub adapting: Option<Adapting>,
    /// Its one step asks what limits it: experiments follow, as many as it takes.
    pub investigates: bool,
    /// The text that it was read from.
    pub text: String,
}

/// When jobs end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// They say so themselves.
    #[default]
    ByThemselves,
    /// Once they are known well enough (`stop`), at their run time at the latest.
    Known,
    /// Once their rate is steady over rounds, too: a drive's writes change for minutes.
    Steady,
}

/// When a measurement ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// Relative half width of the interval that suffices; 0.01 = 1 %.
    pub precision: f64,
    /// Level of the interval.
    pub level: f64,
    /// Relative half width of the 99 % percentile's interval that is asked for, too; 0: none
    /// is. `None`: 10 % where one I/O is outstanding, whose latency is what is measured.
    pub p99: Option<f64>,
    /// Looked at from this time on, ns.
    pub min_ns: u64,
    /// Ends then at the latest, ns.
    pub max_ns: u64,
    /// Length of a round of those over which a drive's writes have to be steady, ns.
    pub round_ns: u64,
}

impl Stop {
    /// Relative half width of the 99 % percentile's interval that suffices with so many I/Os
    /// outstanding; `None`: it is not asked for.
    pub fn p99_at(&self, outstanding: u32) -> Option<f64> {
        match self.p99 {
            None => (outstanding == 1).then_some(P99_AT_DEPTH_1),
            asked => asked.filter(|asked| *asked > 0.0),
        }
    }

    /// Over what writes have to be steady.
    pub fn rounds(&self) -> PtsRounds {
        let pts = Rounds::default();
        PtsRounds {
            limits: limits(&pts),
            window: pts.window as usize,
            round_seconds: self.round_ns as f64 / 1e9,
        }
    }
}

/// A step: one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name, which its measurements have.
    pub name: String,
    /// On each target alone.
    pub each: bool,
    /// On all targets at once.
    pub together: bool,
    /// What is to be done on each target.
    pub job: Job,
    /// How many I/Os are outstanding is searched for.
    pub outstanding: Option<Search>,
}

/// A search for the number of outstanding I/Os that suffices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Starts with this many.
    pub from: u32,
    /// Never tries more.
    pub to: u32,
    /// Doubled until the rate grows by less than this; 0.02 = 2 %.
    pub growth: f64,
}

/// What is wrong with a plan.
#[derive(Debug, Error)]
#[error("{name}: {text}")]
pub struct PlanError {
    /// File or preset.
    pub name: String,
    /// What is wrong, and what was expected; of what was read from a text with line and column.
    pub text: String,
}

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

/// `[stop]` of a plan.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StopForm {
    /// Half the interval's width that suffices, in percent of the mean rate.
    pub(crate) precision_percent: f64,
    /// Level of the interval.
    pub(crate) level_percent: f64,
    /// Half the interval's width of the 99th percentile that suffices, in percent of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p99_percent: Option<f64>,
    /// Never before this time: `5s`.
    pub(crate) min_time: String,
    /// At this time at the latest: `60s`.
    pub(crate) max_time: String,
    /// Points that write have to be steady over five rounds of this length, too: `1m`.
    pub(crate) round: String,
}

impl Default for StopForm {
    fn default() -> Self {
        Self {
            precision_percent: 2.0,
            level_percent: 95.0,
            p99_percent: None,
            min_time: "5s".into(),
            max_time: "60s".into(),
            round: "1m".into(),
        }
    }
}

impl StopForm {
    /// Its times and shares.
    ///
    /// # Errors
    /// Times that are none, or contradict each other.
    pub(crate) fn resolve(&self) -> Result<Stop, Wrong> {
        let wrong = |key: &str, what: &str| {
            Wrong::at(&["stop", key], format!("stop: {key}: {what}")).or_at(&["stop"])
        };
        let time = |key, text| parse_seconds(text).map_err(|what| wrong(key, &what));
        let stop = Stop {
            precision: self.precision_percent / 100.0,
            level: self.level_percent / 100.0,
            p99: self.p99_percent.map(|percent| percent / 100.0),
            min_ns: time("min_time", &self.min_time)?,
            max_ns: time("max_time", &self.max_time)?,
            round_ns: time("round", &self.round)?,
        };
        let no_less = format!("{} (min_time) or longer", self.min_time);
        // A NaN is none of these.
        let expected = [
            (stop.precision > 0.0, "precision_percent", "above 0"),
            (stop.level > 0.0 && stop.level < 1.0, "level_percent", "above 0 and below 100"),
            (stop.p99.is_none_or(|p99| p99 >= 0.0), "p99_percent", "0 (not asked for) or above"),
            (stop.min_ns <= stop.max_ns, "max_time", &no_less),
            (stop.round_ns > 0, "round", "a time above 0"),
        ];
        match expected.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, what)) => Err(wrong(key, &format!("{what} was expected"))),
            None => Ok(stop),
        }
    }
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
    /// A plan that measures nothing yet.
    pub(crate) fn empty(name: &str, stop: Stop, text: String) -> Self {
        Self {
            name: name.into(),
            about: String::new(),
            stop,
            written_samples: 4096,
            steps: Vec::new(),
            script: None,
            ends: Vec::new(),
            preparation: None,
            rounds: None,
            layout: None,
            scaling: None,
            settings: Settings::default(),
            adapting: None,
            investigates: false,
            text,
        }
    }

    /// The plan of a script that was read from `text`; `name` is the job file.
    pub fn of_script(name: &str, script: Script, text: String) -> Self {
        // Jobs say themselves when they end.
        let (min_ns, max_ns, round_ns) = (0, u64::MAX, u64::MAX);
        let stop = Stop { precision: 1.0, level: 0.95, p99: None, min_ns, max_ns, round_ns };
        Self { script: Some(script), ..Self::empty(name, stop, text) }
    }

    /// The plan of a study whose points are the phases of `script`, and end so.
    pub fn of_study(name: &str, script: Script, text: String, stop: Stop, ends: Vec<Ends>) -> Self {
        Self { stop, ends, ..Self::of_script(name, script, text) }
    }

    /// The preset of this name, if there is one.
    ///
    /// # Panics
    /// Where a preset that is compiled in is broken, which a test excludes.
    pub fn preset(name: &str) -> Option<Self> {
        let text = match name {
            "check" => include_str!("../../../plans/check.toml"),
            _ => return None,
        };
        Some(Self::parse(text, name).expect("presets are parsed in a test"))
    }

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

#[cfg(test)]
mod tests {
    use iodyno_job::Pattern;

    use super::*;

    #[test]
    fn the_preset_is_what_the_guide_says() {
        let plan = Plan::preset("check").unwrap();
        let names: Vec<_> = plan.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["seq-read", "rand-read", "latency"]);
        assert_eq!(plan.steps[0].job.largest_block(), 256 << 10);
        assert_eq!(plan.steps[0].job.depth.iodepth, 32);
        assert_eq!(plan.steps[1].job.pattern.rw, Pattern::RandRead);
        assert_eq!(plan.steps[1].outstanding.unwrap().from, 64);
        assert_eq!(plan.stop.max_ns, 10_000_000_000);
        assert!(plan.written_samples >= 4096);
        assert!(Plan::preset("chekc").is_none());
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let base = include_str!("../../../plans/check.toml");
        let parse = |text: &str| Plan::parse(text, "mine.toml").unwrap_err().to_string();
        let typo = parse(&base.replace("iodepth = 32", "iodeth = 32"));
        assert!(
            typo.contains("step `seq-read`") && typo.contains("did you mean `iodepth`"),
            "{typo}"
        );
        let key = parse(&base.replace("about =", "abuot ="));
        assert!(key.contains("line") && key.contains("abuot"), "{key}");
        let format = parse(&base.replace("plan/1", "plan/9"));
        assert!(format.contains("plan/9"), "{format}");
        let twice = parse(&base.replace("\"latency\"", "\"seq-read\""));
        assert!(twice.contains("two steps"), "{twice}");
        assert!(parse("step = ").contains("line 1"));
    }
}
