//! `iodyno import`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Files and folders (- for standard input)
    #[arg(required = true)]
    pub(crate) paths: Vec<String>,
    /// Name of the run
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}
