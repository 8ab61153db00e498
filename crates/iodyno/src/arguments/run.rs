//! `iodyno run`, and `iodyno fio`.

use clap::Args;

use super::{ExecPermission, RunName, RunOptions};

#[derive(Debug, Args)]
#[command(
    override_usage = "iodyno run [OPTIONS] FILE...\n       \
    iodyno run [OPTIONS] --name=NAME --OPTION=VALUE...",
    after_help = "\
All other options are fio's: --name=NAME opens a job, and every option of a
job file is an option here (docs/options.md). Options that belong to no job:
  --section=NAME            run only this job of the files
  --output=FILE             write the results there
  --format=LIST             fio's formats: normal, json, json+, terse (fio's --output-format)
  --parse-only, --showcmd   only parse the jobs; print them as a command line
  --readonly                refuse jobs that write or trim
  --eta=WHEN                live progress: auto, always, never

Examples:
  iodyno run random-read.fio
  iodyno run --run-name before random-read.fio --format json
  iodyno run --name=t --filename=/dev/nvme0n1 --rw=randread --bs=4k --iodepth=32 \\
      --ioengine=io_uring --direct=1 --runtime=30 --time_based
  iodyno run --name=w --filename=/dev/nvme0n1 --rw=write --bs=128k --allow-write SERIAL
  iodyno run --generator fio random-read.fio

iodyno writes to a device only if --allow-write names it, and never to one in use. A job may write \
files that it creates, empty files and files that iodyno filled; others need --allow-write. Where \
iodyno cannot see whether a device is in use (without root, in a container), --assume-unused vouches \
for that."
)]
pub(crate) struct Run {
    /// fio job files (- for standard input) and job options
    #[arg(value_name = "FILE", allow_hyphen_values = true, trailing_var_arg = true)]
    pub(crate) job: Vec<String>,
    #[command(flatten)]
    pub(crate) naming: RunName,
    #[command(flatten)]
    pub(crate) run_options: RunOptions,
    #[command(flatten)]
    pub(crate) exec_permission: ExecPermission,
}
