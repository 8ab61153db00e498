//! The option table: all options of fio, with how each is parsed, printed and documented.
//!
//! Each group of options has a file; options that only fio supports are in `fio_only`. A row names
//! the field of [`Job`] and the codec that parses and prints it.

mod blocks;
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
mod fio_only;
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

pub(crate) use blocks::size_options;
pub use check::{check, notes};
pub use depth::DEEPEST;
pub use engine::READING_ENGINES_OF_FIO;
pub use errno::errno_name;
pub use kind::Kind;
pub use resolve::gcd;
use value::{Parsed, Refusal, Value};
pub(crate) use warnings::warnings;

use crate::Job;
use crate::nearest::nearest_name;
use crate::value::{JobError, Units};

/// Support of an option by the native generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Supported.
    Native,
    /// Supported, and unknown to fio.
    IodynoOnly,
    /// Accepted without effect on the measurement, for this reason.
    Ignored(&'static str),
    /// Supported by fio only, for this reason.
    FioOnly(&'static str),
    /// Supported by fio only, and not passed to it, for this reason.
    Foreign(&'static str),
    /// Removed from fio, which refuses it.
    Removed,
}

/// One option of a job.
#[derive(Debug)]
pub struct OptionSpec {
    /// Its name in fio.
    pub name: &'static str,
    /// Other names in fio.
    pub aliases: &'static [&'static str],
    /// fio's default, as text; empty: none.
    pub default: &'static str,
    /// Support by the native generator.
    pub support: Support,
    /// Values with which an option that only fio supports has no effect.
    pub no_effect: &'static [&'static str],
    /// Examples of valid values.
    pub examples: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
    kind: fn() -> Kind,
    parse: fn(&mut Job, Value<'_>) -> Parsed,
    print: fn(&Job) -> String,
}

/// A group of rows, with its heading in the reference.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) rows: &'static [OptionSpec],
}

/// All options by group, in the order of the reference.
pub(crate) static GROUPS: &[Group] = &[
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
    Group { title: "By fio only: jobs", rows: fio_only::JOBS },
    Group { title: "By fio only: commands", rows: fio_only::COMMANDS },
    Group { title: "By fio only: what others of its options look at", rows: fio_only::DEPENDENTS },
    Group { title: "By fio only: other I/O engines", rows: fio_only::ENGINES },
];

/// A row whose field a codec parses and prints.
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
            ..crate::options::OptionSpec::DEFAULT
        }
    };
}

/// A row for a switch that is off by default.
macro_rules! off {
    ($name:literal $(| $alias:literal)*, $($field:ident).+, $codec:expr, $help:literal $(,)?) => {
        crate::options::row!($name $(| $alias)*, $($field).+, $codec, "0", ["1"], $help)
    };
}

/// A row for a switch that is on by default.
macro_rules! on {
    ($name:literal $(| $alias:literal)*, $($field:ident).+, $codec:expr, $help:literal $(,)?) => {
        crate::options::row!($name $(| $alias)*, $($field).+, $codec, "1", ["0"], $help)
    };
}

/// A row without a field or effect, whose values a codec checks.
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
            parse: |_, value| crate::options::codecs::Codec::parse(&$codec, value).map(|_| ()),
            ..crate::options::OptionSpec::DEFAULT
        }
    };
}

use {ignored, off, on, row};

impl OptionSpec {
    /// The defaults of a row.
    const DEFAULT: Self = Self {
        name: "",
        aliases: &[],
        default: "",
        support: Support::Native,
        no_effect: &[],
        examples: &[],
        help: "",
        kind: || Kind::Text,
        parse: |_, _| Ok(()),
        print: |_| String::new(),
    };

    /// The kind of value it takes.
    pub fn kind(&self) -> Kind {
        (self.kind)()
    }

    /// True if it may be given without a value, such as `group_reporting`.
    pub fn value_is_optional(&self) -> bool {
        matches!(self.kind(), Kind::Flag | Kind::OptionalText)
    }

    /// Prints its value in `job` in fio's notation, or nothing if it is that of [`Job::default`]:
    /// the printed values of all options, applied to a default job, give the same job.
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
            Refusal::FioOnly(reason) => {
                JobError::NotNative { option: self.name, value: text.into(), reason }
            }
            Refusal::Foreign(reason) => {
                JobError::Foreign { option: self.name, value: text.into(), reason }
            }
        };
        match self.support {
            Support::FioOnly(reason) if !self.no_effect.contains(&text) => {
                return Err(refused(Refusal::FioOnly(reason.into())));
            }
            Support::Foreign(reason) => return Err(refused(Refusal::Foreign(reason.into()))),
            _ => {}
        }
        let units = Units { kb_base: job.report.kb_base.into() };
        (self.parse)(job, Value { text, units }).map_err(refused)
    }
}

/// True if a [`Job`] cannot represent an option as written: when fio runs the job, it must be given
/// the option itself.
pub fn is_fio_only(name: &str, value: Option<&str>) -> bool {
    let Some(spec) = find(name) else { return false };
    let value = value.unwrap_or_default().trim();
    match spec.support {
        Support::FioOnly(_) | Support::Ignored(_) => true,
        Support::Removed | Support::IodynoOnly | Support::Foreign(_) => false,
        Support::Native => {
            let mut job = Job::default();
            match spec.apply(&mut job, value) {
                Err(JobError::NotNative { .. }) => true,
                // Several of fio's engines map to the same native one.
                Ok(()) => spec.name == "ioengine" && (spec.print)(&job) != value,
                Err(_) => false,
            }
        }
    }
}

/// All options, in the order of the reference.
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

/// The option with this name or alias.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    let at = NAMES.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(NAMES[at].1)
}

/// Options that set the opposite of another one.
const OPPOSITES: [(&str, &str); 2] = [("buffered", "direct"), ("rwmixwrite", "rwmixread")];

/// The name under which a table keeps an option that it holds once: `bs` for `blocksize`, `direct` for
/// `buffered`; `name` itself if there is no such option.
pub fn main_name(name: &str) -> &str {
    let own = find(name).map_or(name, |spec| spec.name);
    OPPOSITES.iter().find(|(opposite, _)| *opposite == own).map_or(own, |(_, main)| main)
}

/// `value` of the option `name` as one of its [`main_name`]: `1` for `buffered=0`.
///
/// # Errors
/// A bad value of an option that sets the opposite of its main name.
pub fn main_value(name: &str, value: &str) -> Result<String, JobError> {
    let main = main_name(name);
    match find(name).zip(find(main)) {
        Some((own, main)) if own.name != main.name => {
            let mut job = Job::default();
            own.apply(&mut job, value)?;
            Ok((main.print)(&job))
        }
        _ => Ok(value.into()),
    }
}

/// True if `wanted` is among the entries, by its name or an alias.
fn is_given(entries: &[(&str, Option<&str>)], wanted: &str) -> bool {
    entries.iter().any(|(name, _)| find(name).is_some_and(|spec| spec.name == wanted))
}

/// Sets the option `name` (or one of its aliases) of `job`.
///
/// # Errors
/// An unknown option, with the most similar name; a bad value; an option or value that only fio
/// supports.
pub fn apply(job: &mut Job, name: &str, value: &str) -> Result<(), JobError> {
    known(name)?.apply(job, value)
}

fn known(name: &str) -> Result<&'static OptionSpec, JobError> {
    find(name)
        .ok_or_else(|| JobError::UnknownOption { name: name.into(), nearest: nearest_option(name) })
}

/// Sets all of `entries` (name and optional value) in order, except for `kb_base`, which applies to
/// all of them; then resolves what fio resolves when a section is complete, such as the effects of
/// `gtod_reduce`.
///
/// # Errors
/// All errors, each with the index of its entry. The other entries are set and resolved, so that a
/// caller that hands [`JobError::NotNative`] options to fio can use the job.
pub fn apply_all(
    job: &mut Job,
    entries: &[(&str, Option<&str>)],
) -> Result<(), Vec<(usize, JobError)>> {
    apply_section(job, entries, 0)
}

/// The same for a section whose own entries begin at `own_from`: its `kb_base` applies to these, and
/// to no inherited ones.
pub(crate) fn apply_section(
    job: &mut Job,
    entries: &[(&str, Option<&str>)],
    own_from: usize,
) -> Result<(), Vec<(usize, JobError)>> {
    let mut errors = Vec::new();
    let mut given = Vec::new();
    for (is_own, units_only) in [(false, true), (false, false), (true, true), (true, false)] {
        for (number, (name, value)) in entries.iter().enumerate() {
            if (*name == "kb_base") != units_only || (number >= own_from) != is_own {
                continue;
            }
            match apply_entry(job, name, *value) {
                Ok(spec) => given.push(spec.name),
                Err(error) => errors.push((number, error)),
            }
        }
    }
    resolve::resolve(job, &given);
    for (_, error) in &mut errors {
        if let JobError::NotNative { option: "ioengine", value, .. } = error
            && job.writes()
        {
            let reason = "for a partition it writes to the whole drive".into();
            *error = JobError::Foreign { option: "ioengine", value: std::mem::take(value), reason };
        }
    }
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
        // As in fio, an empty prefix of a log is none, and an empty flag an error.
        Some(value) => value.trim().is_empty() && spec.kind() != Kind::OptionalText,
        None => !spec.value_is_optional(),
    };
    if missing {
        return Err(JobError::NoValue { option: spec.name, takes: spec.kind().to_string() });
    }
    spec.apply(job, value.unwrap_or_default()).map(|()| spec)
}

/// The option with the name most similar to `name`, if any is similar.
pub fn nearest_option(name: &str) -> Option<&'static str> {
    nearest_name(name, NAMES.iter().map(|(known, _)| *known))
}
