//! `iodyno record`.

use std::path::PathBuf;

use clap::Args;

use super::time;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo iodyno record nvme0n1 --for 10s -o prod.iotrace
  sudo iodyno record nvme0n1 nvme1n1 --for 10m -o prod.iotrace --anonymise
  sudo iodyno record nvme0n1 --for 1m --summary
  iodyno show prod.iotrace

iodyno records addresses, sizes, times and process names, never contents. It ends after --for or \
with Ctrl-C. Each I/O takes about 9 bytes and 1 us of CPU.")]
pub(crate) struct Record {
    /// Drives or block devices (nvme0n1, /dev/sda)
    #[arg(required = true, value_name = "DRIVE")]
    pub(crate) devices: Vec<String>,
    /// Duration [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<u64>,
    /// Trace to write; with --summary its JSON
    #[arg(long, short, value_name = "FILE", required_unless_present = "summary")]
    pub(crate) output: Option<PathBuf>,
    /// Keep counts and histograms only, not each I/O
    #[arg(long)]
    pub(crate) summary: bool,
    /// Shift addresses by a random distance, and leave out the names of devices and processes
    #[arg(long, visible_alias = "anonymize")]
    pub(crate) anonymise: bool,
}
