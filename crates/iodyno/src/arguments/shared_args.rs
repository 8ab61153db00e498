//! Options that several commands share, each defined once.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use iodyno_campaign::{MadeBy, Options, Study};

use super::Table;
use super::global::address;
use crate::context::Usage;

/// Options of how jobs are run.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Load generator [default: native, or the plan's]
    #[arg(long, value_enum)]
    pub(crate) generator: Option<RunGenerator>,
    /// Use fio, by this binary [default of `--generator fio`: the one in PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) fio: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) load_options: LoadOptions,
}

/// Options of commands that make load: what they may write, and how progress is shown.
#[derive(Debug, Args)]
pub(crate) struct LoadOptions {
    #[command(flatten)]
    pub(crate) permissions: WritePermissions,
    #[command(flatten)]
    pub(crate) sheets: DataSheets,
    #[command(flatten)]
    pub(crate) streaming: LiveOutput,
    #[command(flatten)]
    pub(crate) table: Table,
}

/// Name of the run. `--name` is the former spelling; after `run` it opens a job.
#[derive(Debug, Args)]
pub(crate) struct RunName {
    /// Name of the run
    #[arg(long, alias = "name", value_name = "NAME", value_parser = run_name)]
    pub(crate) run_name: Option<String>,
}

/// Parses the name of a run; later commands would take `-x` for an option.
fn run_name(text: &str) -> Result<String, String> {
    match text.strip_prefix('-') {
        Some(_) => Err("a name does not begin with `-`".into()),
        None => Ok(text.into()),
    }
}

/// Claims about drives besides the built-in data sheets.
#[derive(Debug, Default, Args)]
pub(crate) struct DataSheets {
    /// Additional data sheets, a TOML file; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) datasheet: Vec<PathBuf>,
    /// Ordered type of cloud volumes: gp3, gp3,6000iops,500MB/s, nvme1=io2
    /// (docs/rules/volume-limit.md); repeatable
    #[arg(long, value_name = "[NAME=]TYPE[,IOPS][,RATE]")]
    pub(crate) volume: Vec<String>,
}

/// Permission for jobs to run commands.
#[derive(Debug, Args)]
pub(crate) struct ExecPermission {
    /// Run the job's commands: exec_prerun, exec_postrun and ioengine=exec without a shell,
    /// --trigger in one
    #[arg(long)]
    pub(crate) allow_exec: bool,
}

/// Criteria for ending a point.
#[derive(Debug, Args)]
pub(crate) struct StopCriteria {
    /// End a point once its rate is known within this many percent [default: the plan's, else 2]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) precision: Option<f64>,
    /// Time limit of a point [default: the plan's, else 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<String>,
    /// Measure writes without waiting for steady state: the target as it is now
    #[arg(long)]
    pub(crate) fresh: bool,
}

impl StopCriteria {
    /// Applies the criteria to the plan.
    pub(crate) fn apply(&self, study: &mut Study) {
        study.stop_at(self.precision.map(|percent| percent / 100.0), self.max_time.as_deref());
        study.fresh |= self.fresh;
    }
}

/// Parses `3%` or `3`.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    let percent = number.parse::<f64>().ok();
    percent
        .filter(|percent| (0.0..=1000.0).contains(percent))
        .ok_or_else(|| "expected a percentage: 3%".into())
}

/// Live output for other programs.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LiveOutput {
    /// Write a JSON line per second and measurement to a file, a pipe, a socket (unix:PATH) or
    /// standard output (-), in place of the results (docs/howto/stream.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) stream: Option<PathBuf>,
    /// Serve a live page, /metrics and /stream, read-only; a port alone is on loopback, 0 is any
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
}

/// Permissions to write.
#[derive(Debug, Args)]
pub(crate) struct WritePermissions {
    /// Allow writes and trims to this device: SERIAL[:nsid], WWID or by-id name; UUID or NAME:SIZE
    /// for dm, md and loop devices; the path of an existing file
    #[arg(long, value_name = "WORD")]
    pub(crate) allow_write: Vec<String>,
    /// Allow the loss of unused data on this device (a partition table, an unmounted file system,
    /// blocks of unknown content)
    #[arg(long, value_name = "WORD")]
    pub(crate) discard_data: Vec<String>,
    /// Vouch that nobody uses this device or file, where iodyno cannot check it: without root, in a
    /// container, for a drive that other hosts share
    #[arg(long, value_name = "WORD")]
    pub(crate) assume_unused: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunGenerator {
    /// iodyno's own
    Native,
    /// fio, as a child
    Fio,
}

impl RunGenerator {
    /// The generator as a plan names it.
    pub(crate) const fn made_by(self) -> MadeBy {
        match self {
            Self::Native => MadeBy::Native,
            Self::Fio => MadeBy::Fio,
        }
    }
}

impl LoadOptions {
    /// Options for running jobs unchanged, in a run of this name.
    pub(crate) fn options(&self, naming: &RunName) -> Options {
        Options::of_jobs(naming.name(), self.permissions.permission())
    }
}

impl RunName {
    /// Name of the run; empty: none was given.
    pub(crate) fn name(&self) -> &str {
        self.run_name.as_deref().unwrap_or_default()
    }
}

impl RunOptions {
    /// Requested load generator: fio also if its binary is named.
    pub(crate) fn generator(&self) -> Option<RunGenerator> {
        self.generator.or(self.fio.is_some().then_some(RunGenerator::Fio))
    }

    /// Permissions to write and to lose data.
    pub(crate) fn permission(&self) -> iodyno_target::Permission {
        self.load_options.permissions.permission()
    }
}

impl LiveOutput {
    /// True if no live output was requested.
    pub(crate) const fn is_empty(&self) -> bool {
        self.stream.is_none() && self.listen.is_none()
    }

    /// The file of `--stream`; `None`: none, standard output or a socket.
    pub(crate) fn stream_file(&self) -> Option<&Path> {
        let is_file = |path: &&Path| {
            *path != Path::new("-") && !path.as_os_str().as_encoded_bytes().starts_with(b"unix:")
        };
        self.stream.as_deref().filter(is_file)
    }

    /// Refuses `--stream -` if a document is also requested on standard output.
    pub(crate) fn refuse_beside(&self, is_asked: bool, what: &str) -> Result<(), Usage> {
        match self.stream.as_deref() {
            Some(path) if is_asked && path == Path::new("-") => Err(Usage(format!(
                "--stream - and {what} both need standard output: write the stream to a file, or \
                 print the run afterwards (iodyno show)"
            ))),
            _ => Ok(()),
        }
    }
}

impl WritePermissions {
    /// Permissions to write and to lose data.
    pub(crate) fn permission(&self) -> iodyno_target::Permission {
        iodyno_target::Permission {
            allow_write: self.allow_write.clone(),
            discard_data: self.discard_data.clone(),
            assume_unused: self.assume_unused.clone(),
            ..iodyno_target::Permission::default()
        }
    }
}
