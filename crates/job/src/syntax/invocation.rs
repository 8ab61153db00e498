//! Options of a run as a whole, in contrast to those of its jobs.

use crate::defaults::with_defaults;

with_defaults! {
    /// Options of a run as a whole, in contrast to those of its jobs.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Invocation {
        /// `--output`: file to write instead of standard output.
        pub output: Option<String>,
        /// `--output-format` as listed, each once; `--minimal` is `[Terse]`; the last one given
        /// applies. Empty: iodyno's own summary.
        pub output_formats: Vec<OutputFormat>,
        /// `--append-terse`: terse output after all other output.
        pub append_terse: bool,
        /// `--terse-version`: 2 to 5.
        pub terse_version: u8 = 3,
        /// `--eta`.
        pub eta: Eta = Eta::Auto,
        /// `--eta-newline`, ns: interval at which the status line starts a new line.
        pub eta_newline_ns: Option<u64>,
        /// `--eta-interval`, ns: interval at which the status line is updated.
        pub eta_interval_ns: u64 = 1_000_000_000,
        /// `--status-interval`, ns: interval at which the full report is printed.
        pub status_interval_ns: Option<u64>,
        /// `--parse-only`: parses the options without running anything.
        pub parse_only: bool,
        /// `--showcmd`: prints jobs as a command line without running them.
        pub show_cmd: bool,
        /// `--readonly`: a job that writes or trims is an error.
        pub readonly: bool,
        /// `--bandwidth-log`: name prefix of logs of the aggregate bandwidth of all jobs.
        pub bandwidth_log: Option<String>,
        /// `--warnings-fatal`: warnings are errors.
        pub warnings_fatal: bool,
        /// `--debug`: the categories that print something.
        pub debug: Vec<Debug>,
        /// `--aux-path`: folder for files that the run creates.
        pub aux_path: Option<String>,
        /// Page to show instead of running jobs; as in fio, the first one ends the parsing.
        pub page: Option<Page>,
        /// `--idle-prof`: CPU idleness after the report.
        pub idle_prof: Option<IdleProf>,
        /// `--trigger`, `--trigger-file` and `--trigger-timeout`.
        pub trigger: Trigger,
    }
}

/// A page that fio shows instead of running jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// `--version`.
    Version,
    /// `--help`.
    Usage,
    /// `--cmdhelp`: all options, or one.
    Options(Option<String>),
    /// `--enghelp`: all I/O engines, one with its options, or one of its options after a comma.
    Engines(Option<String>),
    /// `--inflate-log`: this compressed log.
    InflatedLog(String),
    /// `--idle-prof=calibrate`: the time of a unit of work.
    Calibration,
}

/// A category of `--debug` that prints something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Debug {
    /// `parse`: options as they are parsed.
    Parse,
    /// `random`: all random seeds.
    Random,
}

impl Debug {
    /// Its name in fio.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Random => "random",
        }
    }
}

/// `--idle-prof`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleProf {
    /// `system`: all CPUs together.
    System,
    /// `percpu`: each CPU as well.
    PerCpu,
}

/// Conditions that end a run early.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trigger {
    /// `--trigger-file`: the run ends when this file appears, which is then removed.
    pub file: Option<String>,
    /// `--trigger-timeout`, ns; 0: never.
    pub timeout_ns: u64,
    /// `--trigger`: shell command to run then.
    pub command: Option<String>,
}

impl Trigger {
    /// True if there is a condition.
    pub const fn is_set(&self) -> bool {
        self.file.is_some() || self.timeout_ns > 0
    }
}

/// A format of fio's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// `normal`: fio's text.
    Normal,
    /// `json`.
    Json,
    /// `json+`: with latency bins.
    JsonPlus,
    /// `terse`, also `minimal` and `csv`.
    Terse,
}

/// When the status line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
