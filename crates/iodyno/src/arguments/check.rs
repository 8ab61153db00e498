//! `iodyno check`.

use std::path::PathBuf;

use clap::Args;
use iodyno_report::export::{Command as Exporting, Format};

use super::{DataSheets, DriveTable, Generator, LiveOutput, RunName, formats, time};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo iodyno check                            # every NVMe drive
  iodyno check --no-load
  iodyno check nvme0n1 --budget 1m --run-name before
  iodyno check /mnt/data --baseline before
  iodyno check --format junit > check.xml")]
pub(crate) struct Check {
    /// Drives, namespaces, block devices, files or directories (nvme0, /dev/nvme0n1, /mnt/data)
    /// [default: every NVMe drive; where there is none, the current directory]
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Check links, health and inventory only, in under a second
    #[arg(long)]
    pub(crate) no_load: bool,
    /// Also measure drives that are busy
    #[arg(long)]
    pub(crate) busy: bool,
    /// Time limit for all measurements together
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time)]
    pub(crate) budget: u64,
    /// Time limit of each measurement [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) max_time: Option<u64>,
    /// Measure each for exactly this time, whatever the precision
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "max_time")]
    pub(crate) time: Option<u64>,
    /// Exit 4 instead of 0 for unjudged results: nothing to compare with, or not valid
    #[arg(long)]
    pub(crate) require_verdict: bool,
    /// Compare with an earlier run: its id, its name, or `last`
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Option<String>,
    /// Expected inventory: a TOML file with `drives = 8` or `serials = ["..."]`
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sheets: DataSheets,
    #[command(flatten)]
    pub(crate) naming: RunName,
    /// Print everything: host, conditions, evidence, all findings and undecided rules
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print another tool's format instead of text
    #[arg(long, value_parser = formats(Exporting::Show), value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) streaming: LiveOutput,
    #[command(flatten)]
    pub(crate) table: DriveTable,
    /// Plan: `check`, or `quick` of `iodyno accept quick`
    #[arg(long, value_parser = ["check", "quick"], default_value = "check", hide = true)]
    pub(crate) plan: String,
    /// Load generator
    #[arg(long, value_enum, default_value = "native", hide = true)]
    pub(crate) generator: Generator,
}
