//! The option table: every option of fio, from which all that reads or writes
//! options is driven.
//!
//! The rows of a group of options stand in one file; those that fio alone can
//! do are in `by_fio.rs`. A row names the field of [`Job`] and the codec that
//! reads and prints it.

mod blocks;
mod by_fio;
mod check;
mod codecs;
mod command_priority;
mod contents;
mod cpu_load;
mod depth;
mod distribution;
mod engine;
mod errno;
mod errors;
mod files;
mod flush;
mod kind;
mod pace;
mod pattern;
mod pattern_bytes;
mod program;
mod replay;
mod report;
mod resolve;
mod space;
mod threads;
mod time;
mod value;
mod verify;
mod warnings;

use std::sync::LazyLock;

pub use check::{check, notes};
pub use kind::Kind;
use value::{Refusal, Taken, Value};
pub(crate) use warnings::warnings;

use crate::Job;
use crate::nearest::nearest_of;
use crate::value::{JobError, Units};

/// What becomes of an option here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The native generator does it.
    Native,
    /// The native generator does it, and fio does not know it.
    Own,
    /// It changes nothing of what is measured here, for this reason.
    Ignored(&'static str),
    /// Only fio does it; why not the native generator.
    ByFio(&'static str),
    /// fio took it out, and refuses it.
    Gone,
}

/// One option of a job.
#[derive(Debug)]
pub struct OptionSpec {
    /// fio's name of it.
    pub name: &'static str,
    /// Other names that fio takes.
    pub aliases: &'static [&'static str],
    /// fio's default, as text; empty: none.
    pub default: &'static str,
    /// Who does it.
    pub support: Support,
    /// Values with which an option that only fio does changes nothing.
    pub harmless: &'static [&'static str],
    /// Values that it takes.
    pub examples: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
    kind: fn() -> Kind,
    parse: fn(&mut Job, Value<'_>) -> Taken,
    print: fn(&Job) -> String,
}

/// Rows of the same group, with the heading of the reference.
#[derive(Debug)]
pub struct Group {
    /// What they have in common.
    pub title: &'static str,
    /// The rows.
    pub rows: &'static [OptionSpec],
}

/// Every option, in groups, in the order of the reference.
pub static GROUPS: &[Group] = &[
    Group { title: "Files and devices", rows: files::ROWS },
    Group { title: "How much of them", rows: space::ROWS },
    Group { title: "Direction, blocks and order", rows: pattern::ROWS },
    Group { title: "I/O engine", rows: engine::ROWS },
    Group { title: "Priorities of single I/Os", rows: command_priority::ROWS },
    Group { title: "Loading a CPU", rows: cpu_load::ROWS },
    Group { title: "Running a program", rows: program::ROWS },
    Group { title: "Depth", rows: depth::ROWS },
    Group { title: "Jobs, threads and CPUs", rows: threads::ROWS },
    Group { title: "Run time", rows: time::ROWS },
    Group { title: "Logs of I/O", rows: replay::ROWS },
    Group { title: "Rate and latency", rows: pace::ROWS },
    Group { title: "What is written", rows: contents::ROWS },
    Group { title: "When it is durable", rows: flush::ROWS },
    Group { title: "Verifying", rows: verify::ROWS },
    Group { title: "Errors", rows: errors::ROWS },
    Group { title: "Report and logs", rows: report::ROWS },
    Group { title: "By fio only: jobs", rows: by_fio::JOBS },
    Group { title: "By fio only: commands", rows: by_fio::COMMANDS },
    Group { title: "By fio only: what others of its options look at", rows: by_fio::PARTS },
    Group { title: "By fio only: other I/O engines", rows: by_fio::ENGINES },
];

/// A row whose field a codec reads and prints.
macro_rules! row {
    ($name:literal $(| $alias:literal)*, $($field:ident).+, $codec:expr, $default:literal,
     $examples:expr, $help:literal $(,)?) => {
        crate::options::OptionSpec {
            name: $name,
            aliases: &[$($alias),*],
            default: $default,
            examples: &$examples,
            help: $help,
            kind: || crate::options::codecs::Codec::kind(&$codec),
            parse: |job, value| {
                crate::options::codecs::Codec::set(&$codec, value, &mut job.$($field).+)
            },
            print: |job| crate::options::codecs::Codec::print(&$codec, &job.$($field).+),
            ..crate::options::OptionSpec::PLAIN
        }
    };
}

/// A row of a switch that is off unless it is given.
macro_rules! off {
    ($name:literal $(| $alias:literal)*, $($field:ident).+, $codec:expr, $help:literal $(,)?) => {
        crate::options::row!($name $(| $alias)*, $($field).+, $codec, "0", ["1"], $help)
    };
}

/// A row of a switch that is on unless it is given.
macro_rules! on {
    ($name:literal $(| $alias:literal)*, $($field:ident).+, $codec:expr, $help:literal $(,)?) => {
        crate::options::row!($name $(| $alias)*, $($field).+, $codec, "1", ["0"], $help)
    };
}

/// A row without a field that its codec checks.
macro_rules! ignored {
    ($name:literal $(| $alias:literal)*, $codec:expr, $default:literal, $examples:expr,
     $reason:literal, $help:literal $(,)?) => {
        crate::options::OptionSpec {
            name: $name,
            aliases: &[$($alias),*],
            default: $default,
            support: crate::options::Support::Ignored($reason),
            examples: &$examples,
            help: $help,
            kind: || crate::options::codecs::Codec::kind(&$codec),
            parse: |_, value| crate::options::codecs::Codec::read(&$codec, value).map(|_| ()),
            ..crate::options::OptionSpec::PLAIN
        }
    };
}

use {ignored, off, on, row};

impl OptionSpec {
    /// What a row is where it says nothing else.
    const PLAIN: Self = Self {
        name: "",
        aliases: &[],
        default: "",
        support: Support::Native,
        harmless: &[],
        examples: &[],
        help: "",
        kind: || Kind::Text,
        parse: |_, _| Ok(()),
        print: |_| String::new(),
    };

    /// What it takes.
    pub fn kind(&self) -> Kind {
        (self.kind)()
    }

    /// It may stand alone: `group_reporting`.
    pub fn value_is_optional(&self) -> bool {
        matches!(self.kind(), Kind::Flag | Kind::OptionalText)
    }

    /// Its value in `job`, in fio's notation; empty where it is that of
    /// [`Job::default`], so that what is printed for all options, applied to a
    /// default job, gives the same job.
    pub fn print(&self, job: &Job) -> String {
        let text = (self.print)(job);
        if text == (self.print)(&Job::default()) { String::new() } else { text }
    }

    fn apply(&'static self, job: &mut Job, text: &str) -> Result<(), JobError> {
        let text = text.trim();
        let refused = |refusal| match refusal {
            Refusal::Expected(expected) => {
                JobError::BadValue { option: self.name, value: text.into(), expected }
            }
            Refusal::ByFio(reason) => {
                JobError::NotNative { option: self.name, value: text.into(), reason }
            }
        };
        if let Support::ByFio(reason) = self.support
            && !self.harmless.contains(&text)
        {
            return Err(refused(Refusal::ByFio(reason.into())));
        }
        let units = Units { kb_base: job.report.kb_base.into() };
        (self.parse)(job, Value { text, units }).map_err(refused)
    }
}

/// Whether a [`Job`] has no room for an option as it is written: where fio runs
/// the job, it has to get the option itself.
pub fn is_for_fio_alone(name: &str, value: Option<&str>) -> bool {
    let Some(spec) = find(name) else { return false };
    let value = value.unwrap_or_default().trim();
    match spec.support {
        Support::ByFio(_) | Support::Ignored(_) => true,
        Support::Gone | Support::Own => false,
        Support::Native => {
            let mut job = Job::default();
            match spec.apply(&mut job, value) {
                Err(JobError::NotNative { .. }) => true,
                // Some of fio's engines are one of ours.
                Ok(()) => spec.name == "ioengine" && (spec.print)(&job) != value,
                Err(_) => false,
            }
        }
    }
}

/// Every option, in the order of the reference.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    GROUPS.iter().flat_map(|group| group.rows)
}

/// Names and aliases, sorted.
static NAMES: LazyLock<Vec<(&'static str, &'static OptionSpec)>> = LazyLock::new(|| {
    let names = |spec: &'static OptionSpec| {
        let names = std::iter::once(spec.name).chain(spec.aliases.iter().copied());
        names.map(move |name| (name, spec))
    };
    let mut all: Vec<_> = options().flat_map(names).collect();
    all.sort_unstable_by_key(|(name, _)| *name);
    all
});

/// The option of this name, or with this alias.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    let at = NAMES.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(NAMES[at].1)
}

/// Sets the option `name` (or one of its aliases) of `job`.
///
/// # Errors
/// An unknown option with the nearest name, a value that it does not take, or
/// one that only fio does.
pub fn apply(job: &mut Job, name: &str, value: &str) -> Result<(), JobError> {
    known(name)?.apply(job, value)
}

fn known(name: &str) -> Result<&'static OptionSpec, JobError> {
    find(name).ok_or_else(|| JobError::UnknownOption { name: name.into(), nearest: nearest(name) })
}

/// Sets all of `entries` (a name, and a value if there is one), in their order
/// but for the units, which count for all of them; then settles what fio
/// settles when a section is complete, such as `gtod_reduce`'s effects.
///
/// # Errors
/// Everything that is wrong, with the number of its entry. The rest is set,
/// and settled: a caller that hands [`JobError::NotNative`] options to fio has
/// the job for its own uses.
pub fn apply_all(
    job: &mut Job,
    entries: &[(&str, Option<&str>)],
) -> Result<(), Vec<(usize, JobError)>> {
    let mut errors = Vec::new();
    let mut given = Vec::new();
    for units_only in [true, false] {
        for (number, (name, value)) in entries.iter().enumerate() {
            if (*name == "kb_base") != units_only {
                continue;
            }
            match apply_entry(job, name, *value) {
                Ok(spec) => given.push(spec.name),
                Err(error) => errors.push((number, error)),
            }
        }
    }
    resolve::resolve(job, &given);
    errors.sort_by_key(|(number, _)| *number);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn apply_entry(
    job: &mut Job,
    name: &str,
    value: Option<&str>,
) -> Result<&'static OptionSpec, JobError> {
    let spec = known(name)?;
    let missing = match value {
        Some(value) => value.trim().is_empty(),
        None => !spec.value_is_optional(),
    };
    if missing {
        return Err(JobError::NoValue { option: spec.name, takes: spec.kind().to_string() });
    }
    spec.apply(job, value.unwrap_or_default()).map(|()| spec)
}

/// The option whose name is nearest to `name`, if any is near.
pub fn nearest(name: &str) -> Option<&'static str> {
    nearest_of(name, NAMES.iter().map(|(known, _)| *known))
}
