//! `iodyno plot`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// Runs, files or folders
    #[arg(default_value = "last")]
    pub(crate) runs: Vec<String>,
    /// The picture: .svg or .png
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
}
