//! `iodyno layouts`.

use clap::Args;

use super::Carrying;

#[derive(Debug, Args)]
#[command(after_help = "\
Layouts, from the drives up, joined by +:
  raw                      one drive as it is
  md0 md1 md5 md6 md10     md RAID over all drives, also with a chunk: md0:64k
  lvm-stripe lvm           a striped or linear volume over all drives: lvm-stripe:256k
  crypt                    dm-crypt; crypt:inline without the kernel's work queues
  ext4 xfs btrfs           a file system; ext4:new writes files that do not exist yet
Lists in braces are alternatives; quote them, or the shell takes them apart.

Examples:
  iodyno layouts nvme0n1 nvme1n1 --dry-run
  iodyno layouts nvme0n1 nvme1n1 --allow-write SERIAL1 --allow-write SERIAL2
  iodyno layouts nvme0n1 nvme1n1 --layout raw --layout 'lvm-stripe:{64k,256k}+{xfs,ext4}' ...
  iodyno layouts --on-files 1g --layout raw --layout ext4

Everything on the drives is lost, and they are given back empty.")]
pub(crate) struct Layouts {
    /// Drives that are given up for it (nvme0n1 nvme1n1)
    pub(crate) drives: Vec<String>,
    /// What is measured on each layout: a preset of `iodyno sweep --list`, or a plan (.toml)
    #[arg(long, default_value = "database")]
    pub(crate) plan: String,
    /// A layout, also several times [default: raw, lvm-stripe, md0; on one drive raw, lvm, ext4]
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: Vec<String>,
    /// How much of each layout is written and measured [default: 16g, or 80 % of the smallest drive]
    #[arg(long, value_name = "SIZE", value_parser = iodyno_job::parse_size)]
    pub(crate) size: Option<u64>,
    /// Two loop devices over files of this size in place of drives, to try it out; what is
    /// measured says nothing of drives
    #[arg(long, value_name = "SIZE", value_parser = iodyno_job::parse_size, conflicts_with = "drives")]
    pub(crate) on_files: Option<u64>,
    /// A point ends once its rate is known within so many percent
    #[arg(long, value_name = "PERCENT")]
    pub(crate) precision: Option<f64>,
    /// A point ends after this time at the latest
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<String>,
    /// Points that write need not be steady: what is asked is the layout as it is just now
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Print what would be built, measured and taken down, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Name of the runs, one for each layout, in front of the layout's [default: layouts, layouts-2, ...]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) carrying: Carrying,
}
