//! `iodyno runs export`, and the output formats of other tools.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use iodyno_report::export::{Command, Format, offered_by};

use super::DataSheets;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno runs export last > run.json
  iodyno runs export before after --format parquet -o results.parquet

docs/reference/export.md lists the columns.")]
pub(crate) struct Export {
    /// Runs (ids, names, `last`), files or folders
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Output format
    #[arg(long, value_parser = formats(Command::Export), default_value = "json")]
    pub(crate) format: Format,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sheets: DataSheets,
}

/// Parser for the formats that a command offers.
pub(crate) fn formats(command: Command) -> impl TypedValueParser<Value = Format> {
    let value = |format: Format| PossibleValue::new(format.name()).help(format.help());
    let values: Vec<PossibleValue> = offered_by(command).map(value).collect();
    PossibleValuesParser::new(values).try_map(move |name| {
        offered_by(command).find(|format| format.name() == name).ok_or("not supported")
    })
}
