//! Interprets the columns of a row by their headings.

use std::collections::BTreeMap;

use iodyno_model::{
    Direction, DirectionResult, EndReason, Estimate, LinkState, Measurement, ParseError, Stated,
    StatedBlocks, StatedCard, StatedLatencies,
};

use super::quantity::{bytes_per_s, iops, time_ns};
use super::{Raw, Row};
use crate::read::workload::workload;

/// Meaning of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    /// Name of the row.
    Name,
    /// fio's options, as in a job file or command line.
    Workload,
    /// One of fio's options.
    Option(&'static str),
    /// A figure of one direction of a mix, or of the whole row; unit from the heading.
    Figure { quantity: Quantity, side: Option<Direction>, unit: String },
    /// Another condition that distinguishes rows, by its name among the options.
    Condition(&'static str),
    /// Model of the drives.
    Model,
    /// PCIe link of the drives.
    Link,
    /// Content of the blocks.
    Blocks,
    /// Card that the drives are attached to.
    Behind,
    /// Number of drives.
    Drives,
    /// Layer on top of the drives (RAID).
    Layer,
    /// Program that measured: `fio 3.36`.
    Tool,
}

/// Quantity of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quantity {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Latency,
    /// Latency percentile, in percent.
    Percentile(f64),
}

/// Parses the heading `text`; `None` if it is not used. A unit follows the name or is in brackets:
/// `bandwidth (MB/s)`, `BW MiB/s`, `MB/s`. `read` or `write` before or after a quantity is one
/// direction of a mix.
pub(super) fn column(text: &str) -> Option<Column> {
    let text = text.replace('_', " ");
    let text = text.trim();
    let (name, unit) = match text.split_once(['(', '[']) {
        Some((name, unit)) => (name.trim(), unit.trim_end_matches([')', ']']).trim()),
        None => match text.rsplit_once(' ') {
            Some((name, unit)) if is_unit(unit) => (name.trim(), unit),
            // A unit alone implies its quantity.
            _ if is_unit(text) => ("", text),
            _ => (text, ""),
        },
    };
    let name = name.to_ascii_lowercase();
    let (side, rest) = side(&name);
    if let Some(quantity) = quantity(rest, unit) {
        return Some(Column::Figure { quantity, side, unit: unit.to_owned() });
    }
    Some(match name.as_str() {
        "name" | "test" | "case" => Column::Name,
        "workload" | "options" => Column::Workload,
        "rw" | "readwrite" | "pattern" => Column::Option("rw"),
        "bs" | "block size" | "blocksize" => Column::Option("bs"),
        "iodepth" | "depth" | "qd" | "queue depth" => Column::Option("iodepth"),
        "numjobs" | "jobs" | "threads" => Column::Option("numjobs"),
        "ioengine" | "engine" => Column::Option("ioengine"),
        "size" => Column::Option("size"),
        "direct" => Column::Option("direct"),
        "layout" => Column::Condition("layout"),
        "file system" | "filesystem" | "fs" => Column::Condition("filesystem"),
        "kernel" => Column::Condition("kernel"),
        "scheduler" => Column::Condition("scheduler"),
        "model" | "drive" => Column::Model,
        "link" => Column::Link,
        "blocks" | "state" => Column::Blocks,
        "behind" | "card" => Column::Behind,
        "drives" => Column::Drives,
        "layer" | "raid" => Column::Layer,
        "tool" => Column::Tool,
        _ => return None,
    })
}

fn is_unit(text: &str) -> bool {
    text.ends_with("B/s") || ["us", "ms", "µs", "μs"].contains(&text)
}

/// Direction that a heading names, and the rest of the heading.
fn side(name: &str) -> (Option<Direction>, &str) {
    let sides = [("read", Direction::Read), ("write", Direction::Write)];
    let found = sides.into_iter().find_map(|(word, direction)| {
        let rest = name.strip_prefix(word).or_else(|| name.strip_suffix(word))?;
        let is_word = rest.is_empty() || rest.starts_with(' ') || rest.ends_with(' ');
        is_word.then_some((Some(direction), rest.trim()))
    });
    found.unwrap_or((None, name))
}

/// Quantity of a heading without its direction; a unit alone implies it.
fn quantity(name: &str, unit: &str) -> Option<Quantity> {
    Some(match name {
        "iops" => Quantity::Iops,
        "bandwidth" | "bw" | "throughput" => Quantity::Bandwidth,
        "latency" | "lat" | "mean latency" => Quantity::Latency,
        "" if unit.ends_with("B/s") => Quantity::Bandwidth,
        "" if is_unit(unit) => Quantity::Latency,
        _ => {
            let percent = name.strip_prefix('p')?.parse().ok();
            Quantity::Percentile(percent.filter(|percent| (1.0..100.0).contains(percent))?)
        }
    })
}

/// Interprets a row; errors name the cell and the problem.
pub(super) fn row(raw: Raw) -> Result<Row, String> {
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    let mut stated = Stated::default();
    let mut tool = "figures".to_owned();
    let mut name = String::new();
    let mut sides: BTreeMap<Option<Direction>, DirectionResult> = BTreeMap::new();
    // Markers for empty cells.
    let blank = |cell: &str| ["", "-", "–", "n/a"].contains(&cell);
    for (heading, cell) in raw.cells.iter().filter(|(_, cell)| !blank(cell)) {
        let Some(column) = column(heading) else {
            // Unknown columns are ignored.
            continue;
        };
        let placed = |what: String| format!("{heading}: {what}");
        let typed = |wrong: ParseError| placed(wrong.to_string());
        match column {
            Column::Name => name.clone_from(cell),
            Column::Workload => {
                for word in cell.split_whitespace() {
                    let (option, value) =
                        word.trim_start_matches("--").split_once('=').ok_or_else(|| {
                            placed(format!("`{word}`: expected fio options (rw=read bs=4k)"))
                        })?;
                    options.insert(option.to_owned(), value.to_owned());
                }
            }
            Column::Option(option) => {
                options.insert(option.to_owned(), cell.clone());
            }
            Column::Figure { quantity, side, unit } => {
                let of = DirectionResult::unknown(side.unwrap_or(Direction::Mixed));
                let result = sides.entry(side).or_insert(of);
                state(result, quantity, cell, &unit).map_err(placed)?;
            }
            Column::Condition(condition) => {
                options.insert(condition.to_owned(), cell.clone());
            }
            Column::Model => stated.model = Some(cell.clone()),
            Column::Link => stated.link = Some(LinkState::parse(cell).map_err(typed)?),
            Column::Blocks => stated.blocks = Some(StatedBlocks::parse(cell).map_err(typed)?),
            Column::Behind => stated.behind = Some(StatedCard::parse(cell).map_err(typed)?),
            Column::Drives => {
                let count = cell.parse().ok().filter(|count| (1..=1024).contains(count));
                let wrong = || placed(format!("`{cell}`: expected a number of drives"));
                stated.drives = Some(count.ok_or_else(wrong)?);
            }
            Column::Layer => stated.layer = Some(cell.clone()),
            Column::Tool => tool.clone_from(cell),
        }
    }
    let workload = workload(options);
    let measurement = Measurement {
        source: tool,
        total: total(sides, workload.rw.as_deref(), workload.bs)?,
        end: EndReason::Done,
        ..Measurement::unknown(if name.is_empty() { workload.label() } else { name })
    };
    let measurement = Measurement { workload, ..measurement };
    Ok(Row { stated, measurement })
}

/// Adds a figure to the result of a direction.
fn state(
    result: &mut DirectionResult,
    quantity: Quantity,
    cell: &str,
    unit: &str,
) -> Result<(), String> {
    match quantity {
        Quantity::Iops => result.iops = Some(iops(cell)?),
        Quantity::Bandwidth => result.bandwidth = Some(bytes_per_s(cell, unit)?),
        Quantity::Latency => result.latency_mean = Some(time_ns(cell, unit)?),
        Quantity::Percentile(percent) => {
            let value = time_ns(cell, unit)?;
            let stated = result.stated.get_or_insert_with(|| Box::new(StatedLatencies::default()));
            let percentiles = &mut stated.total.percentiles;
            percentiles.retain(|(known, _)| *known != percent);
            percentiles.push((percent, value));
            percentiles.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        }
    }
    Ok(())
}

/// Results of each direction. The total is dropped if a mix has figures per direction.
fn total(
    mut sides: BTreeMap<Option<Direction>, DirectionResult>,
    rw: Option<&str>,
    bs: Option<u64>,
) -> Result<Vec<DirectionResult>, String> {
    let whole = direction(rw)?;
    if let Some(mut all) = sides.remove(&None).filter(|_| sides.is_empty()) {
        all.direction = whole;
        sides.insert(Some(whole), all);
    }
    let is_done = |done: Direction| whole == done || whole == Direction::Mixed;
    if let Some(other) = sides.values().map(|of| of.direction).find(|of| !is_done(*of)) {
        return Err(format!("a {} figure of rw={}", other.name(), rw.unwrap_or_default()));
    }
    // With a single block size IOPS and bandwidth follow from each other.
    let bs = bs.filter(|bs| *bs > 0).map(|bs| bs as f64);
    let scaled = |of: Option<Estimate>, by: Option<f64>| Some(of?.scaled(by?));
    let mut total: Vec<DirectionResult> = sides.into_values().collect();
    for of in &mut total {
        if of.iops.is_none() && of.bandwidth.is_none() {
            return Err("neither iops nor bandwidth".into());
        }
        of.iops = of.iops.or_else(|| scaled(of.bandwidth, bs.map(f64::recip)));
        of.bandwidth = of.bandwidth.or_else(|| scaled(of.iops, bs));
    }
    match total.is_empty() {
        true => Err("neither iops nor bandwidth".into()),
        false => Ok(total),
    }
}

fn direction(rw: Option<&str>) -> Result<Direction, String> {
    Ok(match rw {
        Some("read" | "randread") => Direction::Read,
        Some("write" | "randwrite") => Direction::Write,
        Some("trim" | "randtrim") => Direction::Trim,
        Some("rw" | "readwrite" | "randrw") => Direction::Mixed,
        Some(other) => return Err(format!("rw={other}: expected read, randread, write, …")),
        None => return Err("rw is missing: access pattern, as in fio".into()),
    })
}
