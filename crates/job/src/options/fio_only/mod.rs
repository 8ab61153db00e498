//! Options that only fio supports, listed so that a job file is refused with the reason, rather
//! than as if the option were misspelt.

mod commands;
mod dependents;
mod engines;
mod jobs;

pub(super) use commands::ROWS as COMMANDS;
pub(super) use dependents::ROWS as DEPENDENTS;
pub(super) use engines::ROWS as ENGINES;
pub(super) use jobs::ROWS as JOBS;

/// A row that is refused, except for values that have no effect.
macro_rules! fio_only {
    ($name:literal $(| $alias:literal)*, $kind:expr, $default:literal, $no_effect:expr,
     $reason:literal) => {
        crate::options::OptionSpec {
            name: $name,
            aliases: &[$($alias),*],
            default: $default,
            support: crate::options::Support::FioOnly($reason),
            no_effect: &$no_effect,
            examples: &$no_effect,
            help: "see fio's manual",
            kind: || $kind,
            ..crate::options::OptionSpec::DEFAULT
        }
    };
}

/// A row without effect: it belongs to another one that is refused, or for the given reason.
macro_rules! dependent {
    ($name:literal $(| $alias:literal)*, $kind:expr, $default:literal, since $reason:expr) => {
        crate::options::OptionSpec {
            name: $name,
            aliases: &[$($alias),*],
            default: $default,
            support: crate::options::Support::Ignored($reason),
            help: "see fio's manual",
            kind: || $kind,
            ..crate::options::OptionSpec::DEFAULT
        }
    };
    ($name:literal $(| $alias:literal)*, $kind:expr, $default:literal, $of:literal) => {
        dependent!($name $(| $alias)*, $kind, $default, since concat!("it belongs to ", $of, ", which fio alone does"))
    };
}

/// A row for an option that was removed from fio, which refuses it, too.
macro_rules! removed {
    ($name:literal, $help:literal) => {
        crate::options::OptionSpec {
            name: $name,
            support: crate::options::Support::Removed,
            help: $help,
            kind: || Kind::Number,
            parse: |_, _| Err("fio took this option out, and refuses it: remove it".into()),
            ..crate::options::OptionSpec::DEFAULT
        }
    };
}

/// A row that is refused, and not passed to fio.
macro_rules! foreign {
    ($name:literal $(| $alias:literal)*, $kind:expr, $reason:expr) => {
        crate::options::OptionSpec {
            name: $name,
            aliases: &[$($alias),*],
            support: crate::options::Support::Foreign($reason),
            help: "see fio's manual",
            kind: || $kind,
            ..crate::options::OptionSpec::DEFAULT
        }
    };
}

/// A row for an option of an engine that iodyno does not run.
macro_rules! engine_option {
    ($engines:literal, $name:literal $(| $alias:literal)*, $kind:expr) => {
        foreign!($name $(| $alias)*, $kind, concat!("it belongs to fio's I/O engine ", $engines))
    };
}

use {dependent, engine_option, fio_only, foreign, removed};
