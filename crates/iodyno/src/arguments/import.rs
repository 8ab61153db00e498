//! `iodyno import`.

use std::path::PathBuf;

use clap::Args;

use super::MachineOptions;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno import fio-output.txt results/ *.json
  iodyno import --run-name 'P4510 single' post.md
  iodyno import hosts/ && iodyno runs fleet
  iodyno import --link gen2x4 --model '970 EVO 500GB' --blocks trimmed post.md

Exit status: 0 everything imported, 2 nothing readable in a path, 3 a measurement in it failed, \
4 some of it unreadable.")]
pub(crate) struct Import {
    /// Files and folders: fio's output and logs, iodyno's JSON, stores of other hosts, captures,
    /// figures (docs/howto/import.md); - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Import everything into one run of this name [default: one run per path, named after it]
    #[arg(long, alias = "name", value_name = "NAME")]
    pub(crate) run_name: Option<String>,
    /// Write a trace as another (.iotrace, .iolog, .parquet), and store nothing
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) environment: MachineOptions,
}
