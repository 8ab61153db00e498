//! `iodyno import`.

use clap::Args;

use super::Environment;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno import fio-output.txt results/ *.json
  iodyno import --name 'P4510 single' post.md
  iodyno import hosts/ && iodyno runs fleet
  iodyno import --link gen2x4 --model '970 EVO 500GB' --blocks trimmed post.md

Exit status: 0 all was read, 2 a path of which nothing could be read, 3 a measurement in it
failed, 4 something of it could not be read.")]
pub(crate) struct Import {
    /// Files and folders with what fio printed or logged, our own --json, stores of other hosts,
    /// what `iodyno capture` wrote, figures (docs/explain.md; - for standard input)
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// All in one run of this name [default: a run for each path, named after it]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) environment: Environment,
}
