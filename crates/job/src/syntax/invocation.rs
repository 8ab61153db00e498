//! fio's own options, which say how it runs and not what a job is.
//!
//! Names, letters and arguments are those of fio's `l_opts` (init.c).

use super::command_line::CommandLine;
use crate::parse_seconds;

/// How a run was asked for, beside its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// `--output`: the file that takes the place of standard output.
    pub output: Option<String>,
    /// `--output-format` as listed, each once; `--minimal` is `[Terse]`; the
    /// last one given holds. Empty: the summary that is ours.
    pub output_formats: Vec<OutputFormat>,
    /// `--append-terse`: terse behind whatever else is printed.
    pub append_terse: bool,
    /// `--terse-version`: 2 to 5.
    pub terse_version: u8,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-newline`, ns: the live line begins a new line this often.
    pub eta_newline_ns: Option<u64>,
    /// `--eta-interval`, ns: the live line is renewed this often.
    pub eta_interval_ns: u64,
    /// `--status-interval`, ns: the whole report is printed this often.
    pub status_interval_ns: Option<u64>,
    /// `--parse-only`: nothing is run.
    pub parse_only: bool,
    /// `--showcmd`: jobs are printed as a command line, and nothing is run.
    pub show_cmd: bool,
    /// `--readonly`: a job that writes or trims is an error.
    pub readonly: bool,
    /// `--bandwidth-log`: logs of the bandwidth of all jobs together.
    pub bandwidth_log: bool,
    /// `--warnings-fatal`: what would be a warning is an error.
    pub warnings_fatal: bool,
    /// `--aux-path`: the folder for files that the run makes.
    pub aux_path: Option<String>,
}

impl Default for Invocation {
    /// fio's defaults.
    fn default() -> Self {
        Self {
            output: None,
            output_formats: Vec::new(),
            append_terse: false,
            terse_version: 3,
            eta: Eta::Auto,
            eta_newline_ns: None,
            eta_interval_ns: 1_000_000_000,
            status_interval_ns: None,
            parse_only: false,
            show_cmd: false,
            readonly: false,
            bandwidth_log: false,
            warnings_fatal: false,
            aux_path: None,
        }
    }
}

/// A format of fio's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// `normal`: fio's text.
    Normal,
    /// `json`.
    Json,
    /// `json+`: with the latency bins.
    JsonPlus,
    /// `terse`, also `minimal` and `csv`.
    Terse,
}

/// When the live line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

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
const TRIGGER: &str = "start a program of your own beside the run instead";

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
        No,
        Set(|line, _| {
            line.invocation.bandwidth_log = true;
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
    own(
        "output-format",
        'F',
        Required,
        Set(|line, value| {
            line.invocation.output_formats = formats(value)?;
            Ok(())
        }),
    ),
    own(
        "append-terse",
        'f',
        Optional,
        Set(|line, _| {
            line.invocation.append_terse = true;
            Ok(())
        }),
    ),
    own("version", 'v', No, Refused("run `iodyno --version`")),
    own("help", 'h', No, Refused("run `iodyno run --help`")),
    own("cmdhelp", 'c', Optional, Refused("see the option reference in the documentation")),
    own("enghelp", 'i', Optional, Refused("see the option reference in the documentation")),
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
    own("debug", 'd', Required, Refused("this shows fio at work; run fio for it")),
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
    own(
        "inflate-log",
        'X',
        Required,
        Refused("logs are written uncompressed; run fio for its own"),
    ),
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
    own("idle-prof", 'I', Required, Refused("look at the CPU time that the report shows")),
    own(
        "status-interval",
        'L',
        Required,
        Set(|line, value| {
            line.invocation.status_interval_ns = Some(interval_ns(value, 1_000_000)?);
            Ok(())
        }),
    ),
    own("trigger-file", 'W', Required, Refused(TRIGGER)),
    own("trigger-timeout", 'B', Required, Refused(TRIGGER)),
    own("trigger", 'H', Required, Refused(TRIGGER)),
    own("trigger-remote", 'J', Required, Refused(TRIGGER)),
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

fn formats(list: &str) -> Result<Vec<OutputFormat>, String> {
    let mut formats = Vec::new();
    for name in list.split(',') {
        let format = match name {
            "normal" => OutputFormat::Normal,
            "json" => OutputFormat::Json,
            "json+" => OutputFormat::JsonPlus,
            "terse" | "minimal" | "csv" => OutputFormat::Terse,
            _ => return Err("a list of normal, json, json+, terse was expected".into()),
        };
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    Ok(formats)
}

fn interval_ns(text: &str, least_ns: u64) -> Result<u64, String> {
    let ns = parse_seconds(text)?;
    if ns < least_ns {
        return Err(format!("{} ms is the least", least_ns / 1_000_000));
    }
    Ok(ns)
}
