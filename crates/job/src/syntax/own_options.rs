//! fio's own options, which say how it runs and not what a job is.
//!
//! Names, letters and arguments are those of fio's `l_opts` (init.c).

use iodyno_model::add_missing;

use super::command_line::CommandLine;
use super::invocation::{Debug, Eta, IdleProf, OutputFormat, Page};
use crate::parse_seconds;

/// One of fio's own options.
pub(super) struct OwnOption {
    pub(super) name: &'static str,
    /// The short option, taken behind one dash.
    pub(super) letter: char,
    pub(super) argument: Argument,
    pub(super) effect: Effect,
}

/// Whether a value follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    No,
    /// Behind `=` only.
    Optional,
    Required,
}

/// What it does.
pub(super) enum Effect {
    /// Sets something, or says what it takes.
    Set(fn(&mut CommandLine, &str) -> Result<(), String>),
    /// Nothing, and why; said in a note.
    Nothing(&'static str),
    /// Is refused, with advice.
    Refused(&'static str),
}

use Argument::{No, Optional, Required};
use Effect::{Nothing, Refused, Set};

const REMOTE: &str = "run iodyno on each host and compare the runs afterwards";
const SELF_TEST: &str = "this tests fio itself; run fio for it";

const fn own(name: &'static str, letter: char, argument: Argument, effect: Effect) -> OwnOption {
    OwnOption { name, letter, argument, effect }
}

/// All of them.
pub(super) static OWN_OPTIONS: &[OwnOption] = &[
    own(
        "output",
        'o',
        Required,
        Set(|line, value| {
            line.invocation.output = Some(value.into());
            Ok(())
        }),
    ),
    own("latency-log", 'l', Required, Refused("fio dropped it; give jobs write_lat_log=FILE")),
    own(
        "bandwidth-log",
        'b',
        Optional,
        Set(|line, prefix| {
            let prefix = if prefix.is_empty() { "agg" } else { prefix };
            line.invocation.bandwidth_log = Some(prefix.into());
            Ok(())
        }),
    ),
    own(
        "minimal",
        'm',
        No,
        Set(|line, _| {
            line.invocation.output_formats = vec![OutputFormat::Terse];
            Ok(())
        }),
    ),
    own("output-format", 'F', Required, Set(set_formats)),
    // The same by the name that iodyno's other commands have for it.
    own("format", '\0', Required, Set(set_formats)),
    own(
        "append-terse",
        'f',
        Optional,
        Set(|line, _| {
            line.invocation.append_terse = true;
            Ok(())
        }),
    ),
    own("version", 'v', No, Set(|line, _| line.show(Page::Version))),
    own("help", 'h', No, Set(|line, _| line.show(Page::Usage))),
    own("cmdhelp", 'c', Optional, Set(|line, name| line.show(Page::Options(named(name))))),
    own("enghelp", 'i', Optional, Set(|line, name| line.show(Page::Engines(named(name))))),
    own(
        "showcmd",
        's',
        No,
        Set(|line, _| {
            line.invocation.show_cmd = true;
            Ok(())
        }),
    ),
    own(
        "readonly",
        'r',
        No,
        Set(|line, _| {
            line.invocation.readonly = true;
            Ok(())
        }),
    ),
    own(
        "eta",
        'e',
        Required,
        Set(|line, value| {
            line.invocation.eta = match value {
                "auto" => Eta::Auto,
                "always" => Eta::Always,
                "never" => Eta::Never,
                _ => return Err("one of auto, always, never was expected".into()),
            };
            Ok(())
        }),
    ),
    own(
        "eta-interval",
        'O',
        Required,
        Set(|line, value| {
            line.invocation.eta_interval_ns = interval_ns(value, 250_000_000)?;
            Ok(())
        }),
    ),
    own(
        "eta-newline",
        'E',
        Required,
        Set(|line, value| {
            line.invocation.eta_newline_ns = Some(interval_ns(value, 1_000_000)?);
            Ok(())
        }),
    ),
    own(
        "debug",
        'd',
        Required,
        Set(|line, value| {
            line.invocation.debug = shown(value)?;
            Ok(())
        }),
    ),
    own(
        "parse-only",
        'P',
        No,
        Set(|line, _| {
            line.invocation.parse_only = true;
            Ok(())
        }),
    ),
    own(
        "section",
        'x',
        Required,
        Set(|line, value| {
            if super::file::is_global(value) {
                return Err("the name of a job was expected; [global] holds for all".into());
            }
            line.sections.push(value.into());
            Ok(())
        }),
    ),
    own("inflate-log", 'X', Required, Set(|line, path| line.show(Page::InflatedLog(path.into())))),
    own("alloc-size", 'a', Required, Nothing("memory is allocated as needed")),
    own("profile", 'p', Required, Refused("write the jobs of the profile into a job file")),
    own(
        "warnings-fatal",
        'w',
        No,
        Set(|line, _| {
            line.invocation.warnings_fatal = true;
            Ok(())
        }),
    ),
    own("max-jobs", 'j', Required, Nothing("there is no such limit")),
    own(
        "terse-version",
        'V',
        Required,
        Set(|line, value| {
            line.invocation.terse_version = match value {
                "2" => 2,
                "3" => 3,
                "4" => 4,
                "5" => 5,
                _ => return Err("2, 3, 4 or 5 was expected".into()),
            };
            Ok(())
        }),
    ),
    own("server", 'S', Optional, Refused(REMOTE)),
    own("daemonize", 'D', Required, Refused(REMOTE)),
    own("client", 'C', Required, Refused(REMOTE)),
    own("remote-config", 'R', Required, Refused(REMOTE)),
    own("cpuclock-test", 'T', No, Refused(SELF_TEST)),
    own("crctest", 'G', Optional, Refused(SELF_TEST)),
    own("memcpytest", 'M', Optional, Refused(SELF_TEST)),
    own(
        "idle-prof",
        'I',
        Required,
        Set(|line, value| {
            line.invocation.idle_prof = Some(match value {
                "system" => IdleProf::System,
                "percpu" => IdleProf::PerCpu,
                "calibrate" => return line.show(Page::Calibration),
                _ => return Err("one of system, percpu, calibrate was expected".into()),
            });
            Ok(())
        }),
    ),
    own(
        "status-interval",
        'L',
        Required,
        Set(|line, value| {
            line.invocation.status_interval_ns = Some(interval_ns(value, 1_000_000)?);
            Ok(())
        }),
    ),
    own(
        "trigger-file",
        'W',
        Required,
        Set(|line, value| {
            line.invocation.trigger.file = Some(value.into());
            Ok(())
        }),
    ),
    own(
        "trigger-timeout",
        'B',
        Required,
        Set(|line, value| {
            line.invocation.trigger.timeout_ns = parse_seconds(value)?;
            Ok(())
        }),
    ),
    own(
        "trigger",
        'H',
        Required,
        Set(|line, value| {
            line.invocation.trigger.command = Some(value.into());
            Ok(())
        }),
    ),
    own("trigger-remote", 'J', Required, Nothing("there is no server")),
    own(
        "aux-path",
        'K',
        Required,
        Set(|line, value| {
            line.invocation.aux_path = Some(value.into());
            Ok(())
        }),
    ),
    own("merge-blktrace-only", 'A', No, Refused("run fio for it")),
];

/// What is shown of fio's words for `--debug`: the others change nothing.
fn shown(list: &str) -> Result<Vec<Debug>, String> {
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
    let mut shown = Vec::new();
    for word in list.split(',').map(|word| word.split(':').next().unwrap_or(word)) {
        match word {
            "parse" => shown.push(Debug::Parse),
            "random" => shown.push(Debug::Random),
            "all" => shown.extend([Debug::Parse, Debug::Random]),
            _ if KNOWN.contains(&word) => {}
            _ => return Err(format!("a list of {} was expected", KNOWN.join(", "))),
        }
    }
    Ok(shown)
}

/// The value of an option that may stand alone.
fn named(value: &str) -> Option<String> {
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
            _ => return Err("a list of normal, json, json+, terse was expected".into()),
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
