//! `iodyno compare`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Runs, files or folders; RUN:NAME for the measurements of a name
    #[arg(required = true, num_args = 2..)]
    pub(crate) runs: Vec<String>,
}
