//! `iodyno explain`.

use clap::Args;

use super::{
    DataSheets, ExecPermission, Generator, LiveOutput, MachineOptions, RunName, WritePermissions,
    time,
};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno explain /dev/nvme0n1                         # 4 KiB random reads, 32 outstanding
  iodyno explain nvme0n1 nvme1n1 rw=read bs=128k iodepth=32 numjobs=4
  iodyno explain last
  iodyno explain --link gen2x4 --model '970 EVO 500GB' --blocks trimmed fio-output.txt
  iodyno explain study.toml

iodyno measures a target and changes one thing at a time. It only reads, unless rw= writes \
and --allow-write names the target. A device that shares a link, a card or a controller with the \
target is written in one experiment if --allow-write names it. Stored or imported results are \
explained without measurements.

Exit status: 0 limiter named, 2 bad usage, 3 interrupted or a measurement failed, 4 undecided, or \
the measurement is invalid.")]
pub(crate) struct Explain {
    /// Targets (devices, files, directories) with the workload as fio options; or runs (id, name,
    /// `last`), files and folders with results
    #[arg(value_name = "TARGET|RUN|OPTION=VALUE", default_value = "last")]
    pub(crate) words: Vec<String>,
    /// Time limit for all measurements together
    #[arg(long, alias = "time", value_name = "TIME", default_value = "50s", value_parser = time)]
    pub(crate) budget: u64,
    #[command(flatten)]
    pub(crate) naming: RunName,
    /// Print everything: bounds, what was changed, and every suspect
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) permissions: WritePermissions,
    #[command(flatten)]
    pub(crate) environment: MachineOptions,
    #[command(flatten)]
    pub(crate) sheets: DataSheets,
    #[command(flatten)]
    pub(crate) streaming: LiveOutput,
    #[command(flatten)]
    pub(crate) exec_permission: ExecPermission,
    /// Load generator
    #[arg(long, value_enum, default_value = "native", hide = true)]
    pub(crate) generator: Generator,
}
