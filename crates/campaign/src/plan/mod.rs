//! Plans: what to measure, in order. TOML, the same format for presets and users.

mod form;
mod stop;

use iodyno_job::Job;
use iodyno_job::script::Script;
use thiserror::Error;

use crate::adapting::Adapting;
use crate::layouts::LayoutPlan;
use crate::preparation::Preparing;
use crate::rounds::InRounds;
use crate::scaling::InScaling;
use crate::settings::Settings;

pub(crate) use form::{FORMAT, PlanForm, check_format};
pub use stop::Stop;
pub(crate) use stop::StopForm;

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
            "check" => include_str!("../../../../plans/check.toml"),
            _ => return None,
        };
        Some(Self::parse(text, name).expect("presets are parsed in a test"))
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
        let base = include_str!("../../../../plans/check.toml");
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
