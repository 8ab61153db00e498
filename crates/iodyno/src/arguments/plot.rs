//! `iodyno plot`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use iodyno_figure::{Filter, Kind, Metric};
use iodyno_model::ParseError;

use super::time;

/// Selectable properties besides fio's options.
const OF_MEASUREMENTS: [&str; 4] = ["name", "target", "drives", "direction"];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno plot last --figure time -o time.png
  iodyno plot before after --figure latency -o latency.svg
  iodyno plot results/ --figure grid --metric p99 --where rw=randread,bs=4k -o grid.svg

docs/reference/figures.md shows every kind of figure.")]
pub(crate) struct Plot {
    /// Runs (ids, names, `last`), files or folders
    #[arg(default_value = "last", value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Kind of figure [default: chosen by the measurements]
    #[arg(long, value_name = "KIND", value_parser = kind())]
    pub(crate) figure: Option<Kind>,
    /// Metric: iops, bw, lat (mean), max, or a percentile such as p99.9
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<Metric>,
    /// Select measurements: rw=randread,bs=4k,name!=fill
    #[arg(long = "where", value_name = "OPTION=VALUE", value_delimiter = ',', value_parser = filter)]
    pub(crate) filters: Vec<Filter>,
    /// Option whose values make the series: bs
    #[arg(long, value_name = "OPTION", value_parser = option)]
    pub(crate) series: Option<String>,
    /// Title of the figure
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// End of the time axis: 40s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) xmax: Option<u64>,
    /// Width and height in pixels; text grows with widths beyond 1200 [default: 1200 wide, as high as needed]
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub(crate) size: Option<(u32, u32)>,
    /// Enlarge the picture with its text: 2x
    #[arg(long, value_name = "FACTOR", value_parser = scale, default_value = "1x")]
    pub(crate) scale: f64,
    /// Draw for a dark background
    #[arg(long)]
    pub(crate) dark: bool,
    /// Picture to write: .svg or .png
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

fn kind() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.map(|(_, name)| name);
    PossibleValuesParser::new(names).try_map(|name| {
        let found = Kind::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(kind, _)| kind).ok_or("no such figure")
    })
}

/// Parses `bs=4k`.
fn filter(text: &str) -> Result<Filter, String> {
    let filter: Filter = text.parse().map_err(|wrong: ParseError| wrong.to_string())?;
    option(filter.option())?;
    Ok(filter)
}

/// Accepts an option name unless it looks misspelt: a report may contain options unknown to us.
fn option(name: &str) -> Result<String, String> {
    let is_ours = OF_MEASUREMENTS.contains(&name) || iodyno_job::find(name).is_some();
    match iodyno_job::nearest_option(name).filter(|_| !is_ours) {
        Some(nearest) => Err(format!("there is no option `{name}`; did you mean `{nearest}`?")),
        None => Ok(name.to_owned()),
    }
}

/// Parses `2x`.
fn scale(text: &str) -> Result<f64, String> {
    let factor = text.trim_end_matches('x').parse().ok();
    let known = factor.filter(|factor: &f64| (0.1..=10.0).contains(factor));
    known.ok_or_else(|| "expected a factor: 2x".into())
}

/// Parses `1200x800`.
fn size(text: &str) -> Result<(u32, u32), String> {
    let parse = |(width, height): (&str, &str)| Some((width.parse().ok()?, height.parse().ok()?));
    text.split_once('x').and_then(parse).ok_or_else(|| "expected width and height: 1200x800".into())
}
