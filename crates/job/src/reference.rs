//! The option reference: Markdown generated from the option table.

use std::fmt::Write;

use crate::options::{GROUPS, OptionSpec, Support};

/// The text of docs/options.md: every option with its aliases, kind of value, fio's default,
/// support by the native generator, and help.
pub fn reference() -> String {
    let mut text = String::from(HEAD);
    for group in GROUPS {
        let _ = write!(text, "\n## {}\n\n", group.title);
        text += "| option | takes | default | native | |\n|---|---|---|---|---|\n";
        for spec in group.rows {
            text += &row(spec);
        }
    }
    text
}

const HEAD: &str = "\
# Options of jobs

Generated from the option table (`crates/job/src/options/`); do not edit:
`UPDATE_EXPECT=1 cargo test -p iodyno-job` writes it anew.

These are fio's options, of job files, of the command line and of plans, in
fio's notation. *Native* says what iodyno's own generator does: **yes**; *no
effect*, with the reason; or *by fio*, which means that `--generator fio` is
needed, except for the values in parentheses, which change nothing. What says
*use fio itself* is not passed to fio either.

Sizes are in bytes with k, m, g, t or p behind them, which are powers of 1024
(`kb_base=1000`: of 1000; as in fio KiB is the other one). Times have the unit
that stands in their row, or us, ms, s, m, h or d behind them. What is *for each
direction* is for all, or separated by commas for reads, writes and trims.
Numbers may be hexadecimal (`0x10`) and computed: `(4*256m)`.
";

fn row(spec: &OptionSpec) -> String {
    let mut names = format!("`{}`", spec.name);
    for alias in spec.aliases {
        let _ = write!(names, ", `{alias}`");
    }
    let native = match spec.support {
        Support::Native => "yes".into(),
        Support::Removed => "no; fio refuses it, too".into(),
        Support::IodynoOnly => "yes; fio has it not".into(),
        Support::Ignored(reason) => format!("no effect: {reason}"),
        Support::FioOnly(reason) if spec.no_effect.is_empty() => format!("by fio: {reason}"),
        Support::FioOnly(reason) => format!("by fio ({}): {reason}", spec.no_effect.join(", ")),
        Support::Foreign(reason) => format!("no; use fio itself: {reason}"),
    };
    let takes = spec.kind().to_string().replace('|', "\\|");
    let default = match spec.default {
        "" => String::new(),
        default => format!("`{default}`"),
    };
    let help = spec.help.replace('|', "\\|");
    format!("| {names} | {takes} | {default} | {native} | {help} |\n")
}
