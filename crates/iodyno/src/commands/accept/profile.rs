//! Acceptance profiles as data: commands, their order and their time.

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

use crate::context::{Usage, bail_usage, read};

/// Supported format.
const FORMAT: &str = "iodyno.accept/1";

/// Commands allowed as steps: those that measure and print a run.
const COMMANDS: [&str; 3] = ["check", "fit", "sweep"];

/// A profile: steps in order.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    format: String,
    /// Name: letters, digits and `-`.
    pub(super) name: String,
    /// One-line description.
    pub(super) about: String,
    /// Time limit of the whole profile.
    deadline: String,
    /// Destroys the data of its targets: `--allow-write` has to name them.
    #[serde(default)]
    pub(super) writes: bool,
    #[serde(rename = "step")]
    pub(super) steps: Vec<Step>,
}

/// A step: one iodyno command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// Words of the command. `{left}`: the remaining time, in seconds; `{targets}`: the named
    /// targets, a word each; `{--OPTION}`: the same, each after the option; `{allow}`: the
    /// permissions to write.
    pub(super) run: Vec<String>,
    /// Time to leave for later steps.
    leaves: Option<String>,
}

/// Values of the placeholders of a step.
pub(super) struct Placeholders<'a> {
    /// Remaining time, ns.
    pub(super) left_ns: u64,
    /// Named targets.
    pub(super) targets: &'a [String],
    /// `--allow-write WORD` and similar options.
    pub(super) allow: &'a [String],
}

impl Profile {
    /// Loads the profile of this name, or from this file.
    ///
    /// # Errors
    /// There is none, or it is not a valid profile.
    pub(super) fn load(name: &str) -> Result<Self> {
        if let Some((_, text)) = PROFILES.iter().find(|(known, _)| *known == name) {
            return Self::parse(text, name);
        }
        let path = Path::new(name);
        if !path.exists() {
            let next = match iodyno_job::nearest_name(name, PROFILES.iter().map(|(name, _)| *name))
            {
                Some(meant) => format!("did you mean {meant}?"),
                None => "iodyno accept --list shows the profiles".into(),
            };
            bail_usage!("{name} is neither a profile nor a file; {next}");
        }
        Self::parse(&read(path)?, name)
    }

    /// All built-in profiles.
    pub(super) fn builtin() -> impl Iterator<Item = Self> {
        PROFILES.iter().filter_map(|(name, text)| Self::parse(text, name).ok())
    }

    fn parse(text: &str, source: &str) -> Result<Self> {
        let wrong = |what: String| Usage(format!("{source}: {what}"));
        let profile: Self = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if profile.format != FORMAT {
            return Err(wrong(format!("format is {:?}, not {FORMAT:?}", profile.format)).into());
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if profile.name.is_empty() || !profile.name.chars().all(is_plain) {
            return Err(wrong("name: use letters, digits and - only".into()).into());
        }
        profile.deadline_ns().map_err(|what| wrong(format!("deadline: {what}")))?;
        for step in &profile.steps {
            step.leaves_ns().map_err(|what| wrong(format!("leaves: {what}")))?;
            if !step.run.first().is_some_and(|word| COMMANDS.contains(&word.as_str())) {
                let known = COMMANDS.join(", ");
                return Err(wrong(format!("a step begins with one of {known}")).into());
            }
        }
        match profile.steps.is_empty() {
            true => Err(wrong("no steps".into()).into()),
            false => Ok(profile),
        }
    }

    /// Time limit of the whole profile, ns.
    pub(super) fn deadline_ns(&self) -> Result<u64, String> {
        time(&self.deadline)
    }
}

/// Parses a time such as `20s`, as ns.
fn time(text: &str) -> Result<u64, String> {
    iodyno_campaign::parse_time(text).map_err(|error| error.to_string())
}

impl Step {
    fn leaves_ns(&self) -> Result<u64, String> {
        self.leaves.as_deref().map_or(Ok(0), time)
    }

    /// Words with their placeholders replaced; a step leaves at most half of the remaining time to
    /// others.
    pub(super) fn words(&self, given: &Placeholders<'_>) -> Vec<String> {
        let leaves_ns = self.leaves_ns().unwrap_or(0).min(given.left_ns / 2);
        let left_s = ((given.left_ns - leaves_ns) as f64 / 1e9).max(1.0);
        let mut words = Vec::new();
        for word in &self.run {
            match word.as_str() {
                "{left}" => words.push(format!("{}s", left_s as u64)),
                "{targets}" => words.extend_from_slice(given.targets),
                "{allow}" => words.extend_from_slice(given.allow),
                word => match word.strip_prefix('{').and_then(|of| of.strip_suffix('}')) {
                    Some(option) if option.starts_with("--") => words.extend(
                        given.targets.iter().flat_map(|target| [option.into(), target.clone()]),
                    ),
                    _ => words.push(word.into()),
                },
            }
        }
        words
    }
}

macro_rules! listed {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../acceptance/", $name, ".toml")))),*]
    };
}

const PROFILES: &[(&str, &str)] = listed!["quick", "check", "fit", "write", "burn-in"];

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::Arguments;

    const TARGETS: [&str; 2] = ["nvme0n1", "nvme1n1"];

    #[test]
    fn builtin_profiles_use_valid_commands() {
        for (name, text) in PROFILES {
            let profile = Profile::parse(text, name).unwrap();
            assert_eq!(profile.name, *name);
            let targets = TARGETS.map(str::to_owned);
            let allow = ["--allow-write", "S1"].map(str::to_owned);
            let given = Placeholders { left_ns: 600_000_000_000, targets: &targets, allow: &allow };
            for step in &profile.steps {
                let words = step.words(&given);
                assert!(!words.iter().any(|word| word.contains('{')), "{name}: {words:?}");
                let line = ["iodyno".to_owned()].into_iter().chain(words.clone());
                if let Err(error) = Arguments::try_parse_from(line) {
                    panic!("{name}: {words:?}: {error}");
                }
                let is_cleared = words.contains(&"--allow-write".to_owned());
                assert_eq!(is_cleared, profile.writes && words[0] == "sweep", "{name}: {words:?}");
            }
        }
    }

    #[test]
    fn placeholders_are_replaced_and_time_is_shared() {
        let profile = Profile::load("burn-in").unwrap();
        let targets = TARGETS.map(str::to_owned);
        let soak = |left_s: u64| {
            let given =
                Placeholders { left_ns: left_s * 1_000_000_000, targets: &targets, allow: &[] };
            profile.steps[1].words(&given).join(" ")
        };
        let rest = "--target nvme0n1 --target nvme1n1";
        assert_eq!(soak(3600), format!("sweep soak --together --for 3000s {rest}"));
        assert_eq!(soak(60), format!("sweep soak --together --for 30s {rest}"));
    }

    #[test]
    fn invalid_profiles_are_refused() {
        let fine = PROFILES[0].1;
        assert!(Profile::parse(fine, "a").is_ok());
        for (from, to) in [
            ("accept/1", "accept/2"),
            ("name = \"quick\"", "name = \"../quick\""),
            ("\"20s\"", "\"soon\""),
            ("[\"check\"", "[\"clean-up\""),
            ("deadline", "dead_line"),
        ] {
            assert!(fine.contains(from));
            let refused = Profile::parse(&fine.replace(from, to), "a").unwrap_err();
            assert!(refused.is::<Usage>(), "{to}: {refused}");
        }
        let unknown = Profile::load("quikc").unwrap_err().to_string();
        assert!(unknown.ends_with("did you mean quick?"), "{unknown}");
    }
}
