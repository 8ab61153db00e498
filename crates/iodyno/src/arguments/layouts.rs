//! `iodyno layouts`.

use clap::Args;

use super::{RunOptions, StopCriteria};

#[derive(Debug, Args)]
#[command(after_help = "\
Layouts, from the drives up, joined by +:
  raw                      one drive as it is
  md0 md1 md5 md6 md10     md RAID over all drives, also with a chunk: md0:64k
  lvm-stripe lvm           a striped or linear volume over all drives: lvm-stripe:256k
  crypt                    dm-crypt; crypt:inline without the kernel's work queues
  ext4 xfs btrfs           a file system; ext4:new writes files that do not exist yet
Braces hold alternatives; quote them for the shell.

Examples:
  iodyno layouts nvme0n1 nvme1n1 --dry-run
  iodyno layouts nvme0n1 nvme1n1 --allow-write SERIAL1 --allow-write SERIAL2
  iodyno layouts nvme0n1 nvme1n1 --layout raw --layout 'lvm-stripe:{64k,256k}+{xfs,ext4}' --dry-run
  iodyno layouts --on-files 1g --layout raw --layout ext4

All data on the drives is lost; they are empty afterwards.")]
pub(crate) struct Layouts {
    /// Drives to build on; their data is lost (nvme0n1 nvme1n1)
    #[arg(value_name = "DRIVE")]
    pub(crate) drives: Vec<String>,
    /// Workload of each layout: a preset of `iodyno sweep --list`, or a plan (.toml)
    #[arg(long, value_name = "PLAN", default_value = "database")]
    pub(crate) plan: String,
    /// A layout to build; repeatable [default: raw, lvm-stripe, md0; on one drive raw, lvm, ext4]
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: Vec<String>,
    /// Size of the range to write and measure [default: 16g, or 80 % of the smallest drive]
    #[arg(long, alias = "size", value_name = "SIZE", value_parser = iodyno_job::parse_size)]
    pub(crate) range: Option<u64>,
    /// Try it on two loop devices over files of this size; results are not valid for drives
    #[arg(long, value_name = "SIZE", value_parser = iodyno_job::parse_size, conflicts_with = "drives")]
    pub(crate) on_files: Option<u64>,
    #[command(flatten)]
    pub(crate) stopping: StopCriteria,
    /// Print the steps to build, measure and take down; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Prefix of the runs' names, one run per layout [default: layouts, layouts-2, ...]
    #[arg(long, alias = "name", value_name = "NAME")]
    pub(crate) run_name: Option<String>,
    #[command(flatten)]
    pub(crate) run_options: RunOptions,
}
