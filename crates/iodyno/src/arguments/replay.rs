//! `iodyno replay`.

use clap::Args;
use iodyno_campaign::parse_time;

use super::{LoadOptions, RunName, time};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno replay prod.iotrace --target copy
  sudo iodyno replay prod.iotrace --target nvme0n1 --read-only
  sudo iodyno replay prod.iotrace --target nvme0n1 --allow-write SERIAL --scale-addresses
  sudo iodyno replay prod.iotrace --target nvme0n1 --read-only --closed --from 500ms --for 10s

Each I/O is issued at its recorded time, and its latency counts from then: does the target carry \
this load? With --closed it waits for those that had completed before it, and for the pause behind \
them: how fast would the application run? Several recorded devices are placed in sequence on \
the target, which has to be as large as they are; else --scale-addresses.

Exit status: 0 replayed, 2 bad usage, 3 interrupted or a measurement failed, 4 part of the trace is \
missing.")]
pub(crate) struct Replay {
    /// Trace: .iotrace, or a format that `iodyno show` reads
    #[arg(value_name = "FILE")]
    pub(crate) trace: String,
    /// Device or file; a file is made as large as the trace needs
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: String,
    /// Replay faster or slower (2x, 0.5x); faster is more load than any application makes
    #[arg(long, value_name = "FACTOR", value_parser = percent, default_value = "1x", conflicts_with = "closed")]
    pub(crate) speed: u32,
    /// Issue each I/O after those that had completed before it, with the same pause
    #[arg(long)]
    pub(crate) closed: bool,
    /// Pack the pieces of 1 MiB that the trace touches into the target, in their order
    #[arg(long)]
    pub(crate) scale_addresses: bool,
    /// Leave out writes, discards and flushes
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Start time in the trace
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "0s")]
    pub(crate) from: u64,
    /// Duration to replay [default: to its end]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<u64>,
    #[command(flatten)]
    pub(crate) naming: RunName,
    #[command(flatten)]
    pub(crate) load_options: LoadOptions,
}

/// Parses `2x` or `0.5` as percent.
fn percent(text: &str) -> Result<u32, String> {
    let factor = text.trim().trim_end_matches(['x', 'X']).parse::<f64>().ok();
    let factor = factor.filter(|factor| (0.01..=1000.0).contains(factor));
    let percent = factor.map(|factor| (factor * 100.0).round() as u32);
    percent.ok_or_else(|| "expected a factor from 0.01x to 1000x".into())
}
