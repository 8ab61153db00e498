//! `iodyno report`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Runs, files or folders
    #[arg(default_value = "last")]
    pub(crate) runs: Vec<String>,
    /// The page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
}
