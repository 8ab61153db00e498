//! `iodyno report`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Runs by id, name or `last`; or files and folders with what fio printed
    #[arg(default_value = "last")]
    pub(crate) runs: Vec<String>,
    /// The page to write
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Overwrite a file that is not a report
    #[arg(long)]
    pub(crate) force: bool,
    /// A data sheet of your own: a TOML file like those in datasheets/
    #[arg(long, value_name = "FILE")]
    pub(crate) datasheet: Vec<PathBuf>,
}
