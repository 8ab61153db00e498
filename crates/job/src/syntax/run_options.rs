//! The command-line options of a run as a whole, in contrast to those of jobs.
//!
//! Names, letters and arguments are those of fio's `l_opts` (init.c).

use iodyno_model::add_missing;

use super::command_line::CommandLine;
use super::invocation::{Debug, Eta, IdleProf, OutputFormat, Page};
use crate::parse_seconds;

/// A command-line option of the run.
pub(super) struct RunOption {
    pub(super) name: &'static str,
    /// The short option, after one dash.
    pub(super) letter: char,
    pub(super) argument: Argument,
    pub(super) effect: Effect,
}

/// The argument that an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    No,
    /// Only after `=`.
    Optional,
    Required,
}

/// The effect of an option.
pub(super) enum Effect {
    /// Sets something, or returns the values it accepts.
    Set(fn(&mut CommandLine, &str) -> Result<(), String>),
    /// None, for this reason, which becomes a note.
    Ignored(&'static str),
    /// Refused, with advice.
    Refused(&'static str),
}

use Argument::{No, Optional, Required};
use Effect::{Ignored, Refused, Set};

const REMOTE: &str = "run iodyno on each host and compare the runs afterwards";
const SELF_TEST: &str = "this tests fio itself; run fio for it";

const fn option(name: &'static str, letter: char, argument: Argument, effect: Effect) -> RunOption {
    RunOption { name, letter, argument, effect }
}

/// All options of the run.
pub(super) static RUN_OPTIONS: &[RunOption] = &[
    option(
        "output",
        'o',
        Required,
        Set(|line, value| {
            line.invocation.output = Some(value.into());
            Ok(())
        }),
    ),
    option("latency-log", 'l', Required, Refused("fio dropped it; give jobs write_lat_log=FILE")),
    option(
        "bandwidth-log",
        'b',
        Optional,
        Set(|line, prefix| {
            let prefix = if prefix.is_empty() { "agg" } else { prefix };
            line.invocation.bandwidth_log = Some(prefix.into());
            Ok(())
        }),
    ),
    option(
        "minimal",
        'm',
        No,
        Set(|line, _| {
            line.invocation.output_formats = vec![OutputFormat::Terse];
            Ok(())
        }),
    ),
    option("output-format", 'F', Required, Set(set_formats)),
    // The same by its name in iodyno's other commands.
    option("format", '\0', Required, Set(set_formats)),
    option(
        "append-terse",
        'f',
        Optional,
        Set(|line, _| {
            line.invocation.append_terse = true;
            Ok(())
        }),
    ),
    option("version", 'v', No, Set(|line, _| line.show(Page::Version))),
    option("help", 'h', No, Set(|line, _| line.show(Page::Usage))),
    option("cmdhelp", 'c', Optional, Set(|line, name| line.show(Page::Options(optional(name))))),
    option("enghelp", 'i', Optional, Set(|line, name| line.show(Page::Engines(optional(name))))),
    option(
        "showcmd",
        's',
        No,
        Set(|line, _| {
            line.invocation.show_cmd = true;
            Ok(())
        }),
    ),
    option(
        "readonly",
        'r',
        No,
        Set(|line, _| {
            line.invocation.readonly = true;
            Ok(())
        }),
    ),
    option(
        "eta",
        'e',
        Required,
        Set(|line, value| {
            line.invocation.eta = match value {
                "auto" => Eta::Auto,
                "always" => Eta::Always,
                "never" => Eta::Never,
                _ => return Err("expected one of auto, always, never".into()),
            };
            Ok(())
        }),
    ),
    option(
        "eta-interval",
        'O',
        Required,
        Set(|line, value| {
            line.invocation.eta_interval_ns = interval_ns(value, 250_000_000)?;
            Ok(())
        }),
    ),
    option(
        "eta-newline",
        'E',
        Required,
        Set(|line, value| {
            line.invocation.eta_newline_ns = Some(interval_ns(value, 1_000_000)?);
            Ok(())
        }),
    ),
    option(
        "debug",
        'd',
        Required,
        Set(|line, value| {
            line.invocation.debug = debug_categories(value)?;
            Ok(())
        }),
    ),
    option(
        "parse-only",
        'P',
        No,
        Set(|line, _| {
            line.invocation.parse_only = true;
            Ok(())
        }),
    ),
    option(
        "section",
        'x',
        Required,
        Set(|line, value| {
            if super::file::is_global(value) {
                return Err("expected the name of a job; [global] holds for all".into());
            }
            line.sections.push(value.into());
            Ok(())
        }),
    ),
    option(
        "inflate-log",
        'X',
        Required,
        Set(|line, path| line.show(Page::InflatedLog(path.into()))),
    ),
    option("alloc-size", 'a', Required, Ignored("memory is allocated as needed")),
    option("profile", 'p', Required, Refused("write the jobs of the profile into a job file")),
    option(
        "warnings-fatal",
        'w',
        No,
        Set(|line, _| {
            line.invocation.warnings_fatal = true;
            Ok(())
        }),
    ),
    option("max-jobs", 'j', Required, Ignored("there is no such limit")),
    option(
        "terse-version",
        'V',
        Required,
        Set(|line, value| {
            line.invocation.terse_version = match value {
                "2" => 2,
                "3" => 3,
                "4" => 4,
                "5" => 5,
                _ => return Err("expected 2, 3, 4 or 5".into()),
            };
            Ok(())
        }),
    ),
    option("server", 'S', Optional, Refused(REMOTE)),
    option("daemonize", 'D', Required, Refused(REMOTE)),
    option("client", 'C', Required, Refused(REMOTE)),
    option("remote-config", 'R', Required, Refused(REMOTE)),
    option("cpuclock-test", 'T', No, Refused(SELF_TEST)),
    option("crctest", 'G', Optional, Refused(SELF_TEST)),
    option("memcpytest", 'M', Optional, Refused(SELF_TEST)),
    option(
        "idle-prof",
        'I',
        Required,
        Set(|line, value| {
            line.invocation.idle_prof = Some(match value {
                "system" => IdleProf::System,
                "percpu" => IdleProf::PerCpu,
                "calibrate" => return line.show(Page::Calibration),
                _ => return Err("expected one of system, percpu, calibrate".into()),
            });
            Ok(())
        }),
    ),
    option(
        "status-interval",
        'L',
        Required,
        Set(|line, value| {
            line.invocation.status_interval_ns = Some(interval_ns(value, 1_000_000)?);
            Ok(())
        }),
    ),
    option(
        "trigger-file",
        'W',
        Required,
        Set(|line, value| {
            line.invocation.trigger.file = Some(value.into());
            Ok(())
        }),
    ),
    option(
        "trigger-timeout",
        'B',
        Required,
        Set(|line, value| {
            line.invocation.trigger.timeout_ns = parse_seconds(value)?;
            Ok(())
        }),
    ),
    option(
        "trigger",
        'H',
        Required,
        Set(|line, value| {
            line.invocation.trigger.command = Some(value.into());
            Ok(())
        }),
    ),
    option("trigger-remote", 'J', Required, Ignored("there is no server")),
    option(
        "aux-path",
        'K',
        Required,
        Set(|line, value| {
            line.invocation.aux_path = Some(value.into());
            Ok(())
        }),
    ),
    option("merge-blktrace-only", 'A', No, Refused("run fio for it")),
];

/// Parses fio's `--debug`, keeping the categories that print something.
fn debug_categories(list: &str) -> Result<Vec<Debug>, String> {
    const KNOWN: [&str; 20] = [
        "process",
        "file",
        "io",
        "mem",
        "blktrace",
        "verify",
        "random",
        "parse",
        "diskutil",
        "job",
        "mutex",
        "profile",
        "time",
        "net",
        "rate",
        "compress",
        "steadystate",
        "helperthread",
        "zbd",
        "sprandom",
    ];
    let mut categories = Vec::new();
    for word in list.split(',').map(|word| word.split(':').next().unwrap_or(word)) {
        match word {
            "parse" => categories.push(Debug::Parse),
            "random" => categories.push(Debug::Random),
            "all" => categories.extend([Debug::Parse, Debug::Random]),
            _ if KNOWN.contains(&word) => {}
            _ => return Err(format!("expected a list of {}", KNOWN.join(", "))),
        }
    }
    Ok(categories)
}

/// The value of an option that may be given without one.
fn optional(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.into())
}

fn set_formats(line: &mut CommandLine, list: &str) -> Result<(), String> {
    let mut formats = Vec::new();
    for name in list.split(',') {
        let format = match name {
            "normal" => OutputFormat::Normal,
            "json" => OutputFormat::Json,
            "json+" => OutputFormat::JsonPlus,
            "terse" | "minimal" | "csv" => OutputFormat::Terse,
            _ => return Err("expected a list of normal, json, json+, terse".into()),
        };
        add_missing(&mut formats, [format]);
    }
    line.invocation.output_formats = formats;
    Ok(())
}

fn interval_ns(text: &str, least_ns: u64) -> Result<u64, String> {
    let ns = parse_seconds(text)?;
    if ns < least_ns {
        return Err(format!("{} ms is the least", least_ns / 1_000_000));
    }
    Ok(ns)
}
