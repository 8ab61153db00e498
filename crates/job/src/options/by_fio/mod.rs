//! What fio alone does: known here, so that a job file is refused by the name
//! and with the reason, and not as if it were misspelt.

mod commands;
mod engines;
mod jobs;
mod parts;

pub(super) use commands::ROWS as COMMANDS;
pub(super) use engines::ROWS as ENGINES;
pub(super) use jobs::ROWS as JOBS;
pub(super) use parts::ROWS as PARTS;

/// A row that is refused, but for values with which it changes nothing.
macro_rules! by_fio {
    ($name:literal $(| $alias:literal)*, $kind:expr, $default:literal, $harmless:expr,
     $reason:literal) => {
        crate::options::OptionSpec {
            name: $name,
            aliases: &[$($alias),*],
            default: $default,
            support: crate::options::Support::ByFio($reason),
            harmless: &$harmless,
            examples: &$harmless,
            help: "see fio's manual",
            kind: || $kind,
            ..crate::options::OptionSpec::PLAIN
        }
    };
}

/// A row that changes nothing, since it belongs to another one that is refused, or for a reason.
macro_rules! part {
    ($name:literal $(| $alias:literal)*, $kind:expr, $default:literal, since $reason:expr) => {
        crate::options::OptionSpec {
            name: $name,
            aliases: &[$($alias),*],
            default: $default,
            support: crate::options::Support::Ignored($reason),
            help: "see fio's manual",
            kind: || $kind,
            ..crate::options::OptionSpec::PLAIN
        }
    };
    ($name:literal $(| $alias:literal)*, $kind:expr, $default:literal, $of:literal) => {
        part!($name $(| $alias)*, $kind, $default, since concat!("it belongs to ", $of, ", which fio alone does"))
    };
}

/// fio refuses it, too.
macro_rules! taken_out {
    ($name:literal, $help:literal) => {
        crate::options::OptionSpec {
            name: $name,
            support: crate::options::Support::Gone,
            help: $help,
            kind: || Kind::Number,
            parse: |_, _| Err("fio took this option out, and refuses it: remove it".into()),
            ..crate::options::OptionSpec::PLAIN
        }
    };
}

/// A row of an engine that only fio has.
macro_rules! of {
    ($engines:literal, $name:literal $(| $alias:literal)*, $kind:expr) => {
        crate::options::OptionSpec {
            name: $name,
            aliases: &[$($alias),*],
            support: crate::options::Support::ByFio(concat!("it belongs to fio's I/O engine ", $engines)),
            help: concat!("see fio's manual, I/O engine ", $engines),
            kind: || $kind,
            ..crate::options::OptionSpec::PLAIN
        }
    };
}

use {by_fio, of, part, taken_out};
