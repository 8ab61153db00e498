//! `iodyno sweep` and `iodyno resume`.

use clap::{Args, ValueEnum};

use super::Carrying;
use super::prepare::Purge;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno sweep --list
  iodyno sweep blocksize --target /dev/nvme0n1 --dry-run
  iodyno sweep depth-grid --target /dev/nvme0n1 --grid rw=randread --grid iodepth=1,8,64
  iodyno sweep --target /mnt/data/file --set bs=4k --grid rw=read,randread --grid iodepth=1,16
  iodyno sweep scaling --target /dev/nvme0n1 --target /dev/nvme1n1 --target /dev/nvme2n1
  iodyno sweep acceptance --target /dev/nvme0n1 --allow-write SERIAL
  iodyno sweep depth-grid --target /dev/nvme0n1 --adaptive --p99-bound 500us
  iodyno sweep benchmark.ini                    bench-fio's own files

Points that write are left out unless --allow-write names the target, or the target is a file
that does not exist yet.")]
pub(crate) struct Sweep {
    /// A preset, a plan (.toml) or an INI file of bench-fio's; none: --set and --grid say it all
    pub(crate) plan: Option<String>,
    /// Where: a device or a file, or a directory for plans that make files of their own; also
    /// several times
    #[arg(long, value_name = "PATH")]
    pub(crate) target: Vec<String>,
    /// An option of all points, in place of the plan's
    #[arg(long, value_name = "OPTION=VALUE")]
    pub(crate) set: Vec<String>,
    /// An option and its values: every combination is a point
    #[arg(long, value_name = "OPTION=V,V...")]
    pub(crate) grid: Vec<String>,
    /// In which order points are measured
    #[arg(long, value_enum)]
    pub(crate) order: Option<SweepOrder>,
    /// All targets at the same time, not one after the other
    #[arg(long)]
    pub(crate) together: bool,
    /// How the drives are emptied before, in place of what the plan says: all their data are lost
    #[arg(long, value_enum, value_name = "METHOD")]
    pub(crate) purge: Option<Purge>,
    /// Volatile write caches of the NVMe drives that are targets, in place of what the plan says;
    /// they are switched back at the end
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) write_cache: Option<WriteCache>,
    /// State for the SNIA report: operator, auditor, form_factor or media
    #[arg(long, value_name = "WHAT=TEXT")]
    pub(crate) state: Vec<String>,
    /// How often all points are measured, one time after the other
    #[arg(long, value_name = "N")]
    pub(crate) repeat: Option<u32>,
    /// Measure all points again and again, for about so long
    #[arg(long = "for", value_name = "TIME", value_parser = super::time, conflicts_with = "repeat")]
    pub(crate) duration: Option<u64>,
    /// A point ends once its rate is known within so many percent [default: the plan's, else 2]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) precision: Option<f64>,
    /// ... and once its 99 % percentile is known within so many percent; 0: whatever is known of
    /// it [default: 10 where one I/O is outstanding]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) p99: Option<f64>,
    /// A point ends after this time at the latest [default: the plan's, else 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<String>,
    /// A point that writes ends once its rate is steady over five rounds of this time, too
    /// [default: the plan's, else 1m]
    #[arg(long, value_name = "TIME")]
    pub(crate) round: Option<String>,
    /// All times and sizes of the plan become so many times as much: 0.01 to try it out
    #[arg(long, value_name = "FACTOR")]
    pub(crate) scale: Option<f64>,
    /// Points that write need not be steady: what is asked is the drive as it is just now
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Leave points out that measured neighbours bound: they are predicted, with an interval
    #[arg(long)]
    pub(crate) adaptive: bool,
    /// Say which point gives most while its 99 % percentile keeps to this time
    #[arg(long, value_name = "TIME")]
    pub(crate) p99_bound: Option<String>,
    /// Show points, order and time, and measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// List the presets
    #[arg(long)]
    pub(crate) list: bool,
    /// Name of the run
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) carrying: Carrying,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The run: its id, its name, or `last` [default: the newest that was stopped or killed]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) carrying: Carrying,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriteCache {
    /// Switch it on, as SNIA's client tests want it
    On,
    /// Switch it off, as its enterprise tests want it
    Off,
    /// Leave it as it is
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SweepOrder {
    /// The corners of the grid, then what lies between
    Corners,
    /// As the grid is written
    Written,
    /// Shuffled, against drift
    Random,
}
