//! `iodyno compare`.

use clap::Args;
use iodyno_judge::comparison::Limit;
use iodyno_report::export::{Command, Format};

use super::{formats, percent};

#[derive(Debug, Args)]
#[command(after_help = "\
Each argument is a side; all sides are compared with the first. Runs separated by commas are \
repetitions of one side: three of each side tell whether a difference is real. Measurements that a \
run itself repeats count as repetitions.

Examples:
  iodyno compare before after
  iodyno compare before.json after.json:rand-read
  iodyno compare a1,a2,a3 b1,b2,b3 --fail-if 'iops < -5%' --fail-if 'p99 > 10%'
  iodyno compare before/ after/ --fail-if 'bw < -5%' --noise 3%")]
pub(crate) struct Compare {
    /// Runs (ids, names, `last`), files or folders; RUN:NAME selects measurements by name;
    /// A,B,C are repetitions
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) sides: Vec<String>,
    /// Exit 1 if a difference exceeds this limit: `iops < -5%`, `p99 > 10%`; repeatable.
    /// Metrics: bw, iops, lat (mean), p50, p99, p99.9, p99.99
    #[arg(long, value_name = "LIMIT")]
    pub(crate) fail_if: Vec<Limit>,
    /// Run-to-run spread to assume for runs without repetitions; only larger differences break a
    /// limit
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) noise: Option<f64>,
    /// Print another tool's format instead of text
    #[arg(long, value_parser = formats(Command::Compare), value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<Format>,
    /// Print everything: figures without a difference, caveats and conditions
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print all sides in one table, however wide
    #[arg(long)]
    pub(crate) wide: bool,
}
