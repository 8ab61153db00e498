//! How a run was asked for, beside its jobs.

use crate::defaults::with_defaults;

with_defaults! {
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
        pub terse_version: u8 = 3,
        /// `--eta`.
        pub eta: Eta = Eta::Auto,
        /// `--eta-newline`, ns: the live line begins a new line this often.
        pub eta_newline_ns: Option<u64>,
        /// `--eta-interval`, ns: the live line is renewed this often.
        pub eta_interval_ns: u64 = 1_000_000_000,
        /// `--status-interval`, ns: the whole report is printed this often.
        pub status_interval_ns: Option<u64>,
        /// `--parse-only`: nothing is run.
        pub parse_only: bool,
        /// `--showcmd`: jobs are printed as a command line, and nothing is run.
        pub show_cmd: bool,
        /// `--readonly`: a job that writes or trims is an error.
        pub readonly: bool,
        /// `--bandwidth-log`: logs of the bandwidth of all jobs together, whose
        /// names begin with this.
        pub bandwidth_log: Option<String>,
        /// `--warnings-fatal`: what would be a warning is an error.
        pub warnings_fatal: bool,
        /// `--debug`, as far as it shows something.
        pub debug: Vec<Debug>,
        /// `--aux-path`: the folder for files that the run makes.
        pub aux_path: Option<String>,
        /// What is shown instead of a run. fio ends at the first of these: nothing
        /// behind it is looked at.
        pub page: Option<Page>,
        /// `--idle-prof`: how idle CPUs were stands behind the report.
        pub idle_prof: Option<IdleProf>,
        /// `--trigger`, `--trigger-file` and `--trigger-timeout`.
        pub trigger: Trigger,
    }
}

/// What fio shows instead of running jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// `--version`.
    Version,
    /// `--help`.
    Usage,
    /// `--cmdhelp`: all options, or one.
    Options(Option<String>),
    /// `--enghelp`: all I/O engines, one with its options, or one of these
    /// behind a comma.
    Engines(Option<String>),
    /// `--inflate-log`: the log of this name, which was stored compressed.
    InflatedLog(String),
    /// `--idle-prof=calibrate`: how long a unit of work takes.
    Calibration,
}

/// A word of `--debug` that shows something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Debug {
    /// `parse`: options as they are read.
    Parse,
    /// `random`: the seeds of all that is random.
    Random,
}

impl Debug {
    /// fio's word.
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
    /// `system`: of all CPUs together.
    System,
    /// `percpu`: of each, too.
    PerCpu,
}

/// What ends a run before its time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trigger {
    /// `--trigger-file`: that this file is there. It is removed.
    pub file: Option<String>,
    /// `--trigger-timeout`: this time, ns; 0 is never.
    pub timeout_ns: u64,
    /// `--trigger`: a shell's command to be run then.
    pub command: Option<String>,
}

impl Trigger {
    /// There is something to wait for.
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
