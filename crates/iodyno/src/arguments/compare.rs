//! `iodyno compare`.

use clap::Args;
use iodyno_judge::comparison::Limit;
use iodyno_report::export::{Command, Format};

use super::formats;

#[derive(Debug, Args)]
#[command(after_help = "\
Each argument is a side; the first is what the others are compared with. A side of several,
separated by commas, is one that was repeated: from three repetitions of each side on, whether a
difference is real is known. Measurements that a run itself repeats are repetitions, too.

Examples:
  iodyno compare before after
  iodyno compare before.json after.json:rand-read
  iodyno compare a1,a2,a3 b1,b2,b3 --fail-if 'iops < -5%' --fail-if 'p99 > 10%'
  iodyno compare before/ after/ --fail-if 'bw < -5%' --noise 3%")]
pub(crate) struct Compare {
    /// Runs (ids, names, `last`), files or folders; RUN:NAME for the measurements of a name;
    /// A,B,C for repetitions
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) sides: Vec<String>,
    /// Exit status 1 if a difference is beyond it: `iops < -5%`, `p99 > 10%`; also several times.
    /// Metrics: bw, iops, lat (mean), p50, p99, p99.9, p99.99
    #[arg(long, value_name = "LIMIT")]
    pub(crate) fail_if: Vec<Limit>,
    /// How much runs differ by chance, where they were not repeated: a limit is broken beyond that
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) noise: Option<f64>,
    /// Print what other tools read instead of text
    #[arg(long, value_parser = formats(Command::Compare), value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<Format>,
    /// All sides beside each other, however wide
    #[arg(long)]
    pub(crate) wide: bool,
}

/// `3%` or `3`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    let percent = number.parse::<f64>().ok();
    percent
        .filter(|percent| (0.0..=1000.0).contains(percent))
        .ok_or_else(|| "a share such as 3% was expected".into())
}
