//! `iodyno sweep` and `iodyno resume`.

use clap::{Args, ValueEnum};

use super::prepare::Purge;
use super::{RunName, RunOptions, StopCriteria, percent, time};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno sweep --list
  iodyno sweep blocksize --target /dev/nvme0n1 --dry-run
  iodyno sweep depth-grid --target /dev/nvme0n1 --grid rw=randread --grid iodepth=1,8,64
  iodyno sweep --target /mnt/data/file --set bs=4k --set direct=1 --set ioengine=auto \\
               --grid rw=read,randread --grid iodepth=1,16
  iodyno sweep scaling --target /dev/nvme0n1 --target /dev/nvme1n1 --target /dev/nvme2n1
  iodyno sweep acceptance --target /dev/nvme0n1 --allow-write SERIAL
  iodyno sweep depth-grid --target /dev/nvme0n1 --adaptive --p99-bound 500us
  iodyno sweep benchmark.ini                    # bench-fio's own files

Points that write are skipped unless --allow-write names the target, or the target is a file that \
does not exist yet or that iodyno filled.")]
pub(crate) struct Sweep {
    /// A preset, a plan (.toml) or bench-fio's INI file; without one, --set and --grid define the
    /// points
    pub(crate) plan: Option<String>,
    /// Target: a device or file, or a directory for plans that make their own files; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,
    /// Set an option of all points; overrides the plan
    #[arg(long, value_name = "OPTION=VALUE")]
    pub(crate) set: Vec<String>,
    /// Vary an option; every combination is a point
    #[arg(long, value_name = "OPTION=V,V...")]
    pub(crate) grid: Vec<String>,
    /// Print points, order and time; measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// List the presets
    #[arg(long)]
    pub(crate) list: bool,
    /// Order of the points
    #[arg(long, value_enum)]
    pub(crate) order: Option<SweepOrder>,
    /// Measure all targets at the same time instead of one by one
    #[arg(long)]
    pub(crate) together: bool,
    /// How to empty the drives first; overrides the plan. All their data is lost
    #[arg(long, value_enum, value_name = "METHOD")]
    pub(crate) purge: Option<Purge>,
    /// Volatile write cache of the NVMe targets; overrides the plan, restored at the end
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) write_cache: Option<WriteCache>,
    /// Statement for the SNIA report: operator, auditor, form_factor or media
    #[arg(long, value_name = "WHAT=TEXT")]
    pub(crate) state: Vec<String>,
    /// Number of passes over all points
    #[arg(long, value_name = "N")]
    pub(crate) repeat: Option<u32>,
    /// Repeat all points for about this long
    #[arg(long = "for", value_name = "TIME", value_parser = time, conflicts_with = "repeat")]
    pub(crate) duration: Option<u64>,
    #[command(flatten)]
    pub(crate) stopping: StopCriteria,
    /// Precision of p99 that also has to be reached, percent; 0 ignores it [default: 10
    /// at queue depth 1]
    #[arg(long, alias = "p99", value_name = "PERCENT", value_parser = percent)]
    pub(crate) p99_precision: Option<f64>,
    /// End a writing point only once its rate is steady over five rounds of this time [default: the
    /// plan's, else 1m]
    #[arg(long, value_name = "TIME")]
    pub(crate) round: Option<String>,
    /// Multiply all times and sizes of the plan: 0.01 to try it out
    #[arg(long, value_name = "FACTOR")]
    pub(crate) scale: Option<f64>,
    /// Predict points that measured neighbours bound, with an interval
    #[arg(long)]
    pub(crate) adaptive: bool,
    /// Report the fastest point whose p99 stays below this time
    #[arg(long, value_name = "TIME")]
    pub(crate) p99_bound: Option<String>,
    #[command(flatten)]
    pub(crate) naming: RunName,
    #[command(flatten)]
    pub(crate) run_options: RunOptions,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo iodyno resume
  sudo iodyno resume grid --allow-write SERIAL")]
pub(crate) struct Resume {
    /// The run: id, name, or `last` [default: the newest that was stopped or killed]
    #[arg(id = "stopped", value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) run_options: RunOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriteCache {
    /// Switch it on, as SNIA's client tests require
    On,
    /// Switch it off, as SNIA's enterprise tests require
    Off,
    /// Leave it as it is
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SweepOrder {
    /// Corners of the grid first, then the points between
    Corners,
    /// As written in the grid
    Written,
    /// Shuffled, against drift
    Random,
}
