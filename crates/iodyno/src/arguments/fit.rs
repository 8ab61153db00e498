//! `iodyno fit`.

use std::path::PathBuf;

use clap::Args;

use super::{LoadOptions, RunName};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno fit --list
  iodyno fit etcd --explain
  iodyno fit etcd /mnt/data
  iodyno fit scylla /mnt/data --write io_properties.yaml
  sudo iodyno fit ceph-osd nvme1n1 --allow-write SERIAL --dry-run
  iodyno fit my-application.toml /mnt/data

A profile measures the I/O that an application waits for, in rounds, and compares it with the \
bounds that its authors published. In a directory it creates its own files and removes them. \
Settings are printed, never applied.

Exit status: 0 fits, 1 a bound is missed, 2 bad usage, 3 interrupted or a measurement failed, \
4 nothing could be judged (--require-verdict).")]
pub(crate) struct Fit {
    /// Profile: a name of --list, or a TOML file
    #[arg(value_name = "PROFILE", required_unless_present = "list")]
    pub(crate) profile: Option<String>,
    /// Directory or device, as the profile says
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// List the profiles
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the profile: its jobs as a job file of fio, its bounds and where they come from
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the planned writes and their time; measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also write the settings to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Exit 4 instead of 0 for unjudged results: nothing to compare with, or not valid
    #[arg(long)]
    pub(crate) require_verdict: bool,
    #[command(flatten)]
    pub(crate) naming: RunName,
    #[command(flatten)]
    pub(crate) load_options: LoadOptions,
}
