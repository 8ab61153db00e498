//! `iodyno model`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno model prod.iotrace -o prod.iomodel
  iodyno model prod.iotrace -o prod.iomodel -o prod.fio -o prod.toml
  iodyno show prod.iomodel

A model (.iomodel) holds counts in slices of 10 ms, 1 ms in bursts, and no I/O of the trace; \
commands that read a trace read a model. A job file (.fio) or plan (.toml) keeps means and lists \
the losses.

Exit status: 0 modelled, 2 bad usage, 4 part of the trace is missing.")]
pub(crate) struct Model {
    /// Trace of any format that `show` reads
    #[arg(value_name = "FILE")]
    pub(crate) trace: PathBuf,
    /// File to write: .iomodel, .fio or .toml; repeatable
    #[arg(long, short, value_name = "FILE", required = true)]
    pub(crate) output: Vec<PathBuf>,
    /// Seed of the I/Os generated from the model
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}
