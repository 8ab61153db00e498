//! `iodyno explain`.

use std::path::PathBuf;

use clap::Args;

use super::{Allowing, Environment, Generator, time};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno explain /dev/nvme0n1                         4 KiB random reads, 32 outstanding
  iodyno explain nvme0n1 nvme1n1 rw=read bs=128k iodepth=32 numjobs=4
  iodyno explain last
  iodyno explain --link gen2x4 --model '970 EVO 500GB' --blocks trimmed fio-output.txt
  iodyno explain study.toml

A target is measured, with one thing changed at a time; it is only read unless rw= says otherwise
and --allow-write names it. A device that shares a link, a card or a controller with the target is
written for one of the experiments where --allow-write names that. A run, file or folder of results is explained from what was measured.

Exit status: 0 the limiter is named, 2 bad usage, 3 interrupted or a measurement failed, 4 the
evidence does not decide, or the measurement is invalid.")]
pub(crate) struct Explain {
    /// Targets (devices, files, directories) with fio's options of the workload, or runs (id,
    /// name, `last`), files and folders with results
    #[arg(value_name = "TARGET|RUN|OPTION=VALUE", default_value = "last")]
    pub(crate) words: Vec<String>,
    /// Run the commands of exec_prerun and exec_postrun, without a shell
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// Longest time of all experiments together
    #[arg(long, value_name = "TIME", default_value = "50s", value_parser = time)]
    pub(crate) time: u64,
    /// Name of the run
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) allowing: Allowing,
    #[command(flatten)]
    pub(crate) environment: Environment,
    /// More data sheets: a TOML file, also several times
    #[arg(long, value_name = "FILE")]
    pub(crate) datasheet: Vec<PathBuf>,
    /// Who makes the I/O
    #[arg(long, value_enum, default_value = "native", hide = true)]
    pub(crate) generator: Generator,
}
