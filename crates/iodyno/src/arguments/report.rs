//! `iodyno report`.

use std::path::PathBuf;

use clap::Args;

use super::DataSheets;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno report
  iodyno report before after -o tuning.html
  iodyno report results/ fio.json -o ticket.html
  iodyno report prod.iotrace -o prod.html

docs/howto/report.md describes the page.")]
pub(crate) struct Report {
    /// Runs (ids, names, `last`), files or folders; or one trace
    #[arg(default_value = "last", value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Page to write
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Overwrite a file that is not a report
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) sheets: DataSheets,
}
