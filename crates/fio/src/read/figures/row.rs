//! A row understood: its columns, whatever they are called.

use std::collections::BTreeMap;

use iodyno_model::{
    Direction, DirectionResult, EndReason, LinkState, Measurement, ParseError, Stated,
    StatedBlocks, StatedCard,
};

use super::quantity::{bytes_per_s, iops, time_ns};
use super::{Raw, Row};
use crate::read::workload::workload;

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    /// What the row is called.
    Name,
    /// fio's options, as a job or command line has them.
    Workload,
    /// One of fio's options.
    Option(&'static str),
    /// I/Os per second.
    Iops,
    /// Bytes per second, in the unit of the heading.
    Bandwidth(String),
    /// Mean latency, in the unit of the heading.
    Latency(String),
    /// Model of the drives.
    Model,
    /// Their link.
    Link,
    /// What the blocks held.
    Blocks,
    /// The card that they were behind.
    Behind,
    /// How many there were.
    Drives,
    /// What was made of them.
    Layer,
    /// Who measured: `fio 3.36`.
    Tool,
}

/// What the heading `text` names; `None`: something that is not read. A unit
/// stands behind the name or in brackets: `bandwidth (MB/s)`, `BW MiB/s`, `MB/s`.
pub(super) fn column(text: &str) -> Option<Column> {
    let text = text.trim();
    let (name, unit) = match text.split_once(['(', '[']) {
        Some((name, unit)) => (name.trim(), unit.trim_end_matches([')', ']']).trim()),
        None => match text.rsplit_once(' ') {
            Some((name, unit)) if unit.contains("B/s") || ["us", "ms", "µs"].contains(&unit) => {
                (name.trim(), unit)
            }
            _ => (text, ""),
        },
    };
    if name.ends_with("B/s") {
        return Some(Column::Bandwidth(name.to_owned()));
    }
    Some(match name.to_ascii_lowercase().as_str() {
        "name" | "test" | "case" => Column::Name,
        "workload" | "options" => Column::Workload,
        "rw" | "readwrite" | "pattern" => Column::Option("rw"),
        "bs" | "block size" | "blocksize" => Column::Option("bs"),
        "iodepth" | "depth" | "qd" | "queue depth" => Column::Option("iodepth"),
        "numjobs" | "jobs" | "threads" => Column::Option("numjobs"),
        "ioengine" | "engine" => Column::Option("ioengine"),
        "size" => Column::Option("size"),
        "direct" => Column::Option("direct"),
        "iops" => Column::Iops,
        "bandwidth" | "bw" | "throughput" => Column::Bandwidth(unit.to_owned()),
        "latency" | "lat" | "mean latency" => Column::Latency(unit.to_owned()),
        "model" => Column::Model,
        "link" => Column::Link,
        "blocks" | "state" => Column::Blocks,
        "behind" | "card" => Column::Behind,
        "drives" => Column::Drives,
        "layer" | "raid" => Column::Layer,
        "tool" => Column::Tool,
        _ => return None,
    })
}

/// The row; an error says which cell is wrong and how.
pub(super) fn row(raw: Raw) -> Result<Row, String> {
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    let mut stated = Stated::default();
    let mut tool = "figures".to_owned();
    let (mut name, mut rate, mut bandwidth, mut latency) = (String::new(), None, None, None);
    // What a table leaves out it marks.
    let blank = |cell: &str| ["", "-", "–", "n/a"].contains(&cell);
    for (heading, cell) in raw.cells.iter().filter(|(_, cell)| !blank(cell)) {
        let Some(column) = column(heading) else {
            // A table may tell more than is asked for.
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
                            placed(format!("`{word}`: fio's options (rw=read bs=4k) were expected"))
                        })?;
                    options.insert(option.to_owned(), value.to_owned());
                }
            }
            Column::Option(option) => {
                options.insert(option.to_owned(), cell.clone());
            }
            Column::Iops => rate = Some(iops(cell).map_err(placed)?),
            Column::Bandwidth(unit) => bandwidth = Some(bytes_per_s(cell, &unit).map_err(placed)?),
            Column::Latency(unit) => latency = Some(time_ns(cell, &unit).map_err(placed)?),
            Column::Model => stated.model = Some(cell.clone()),
            Column::Link => stated.link = Some(LinkState::parse(cell).map_err(typed)?),
            Column::Blocks => stated.blocks = Some(StatedBlocks::parse(cell).map_err(typed)?),
            Column::Behind => stated.behind = Some(StatedCard::parse(cell).map_err(typed)?),
            Column::Drives => {
                let count = cell.parse().ok().filter(|count| (1..=1024).contains(count));
                let wrong = || placed(format!("`{cell}`: a number of drives was expected"));
                stated.drives = Some(count.ok_or_else(wrong)?);
            }
            Column::Layer => stated.layer = Some(cell.clone()),
            Column::Tool => tool.clone_from(cell),
        }
    }
    if rate.is_none() && bandwidth.is_none() {
        return Err("neither iops nor bandwidth".into());
    }
    let workload = workload(options);
    let direction = direction(workload.rw.as_deref())?;
    // One follows from the other where all blocks are of a size.
    let bs = workload.bs.filter(|bs| *bs > 0).map(|bs| bs as f64);
    let result = DirectionResult {
        iops: rate.or_else(|| Some(bandwidth?.scaled(1.0 / bs?))),
        bandwidth: bandwidth.or_else(|| Some(rate?.scaled(bs?))),
        latency_mean: latency,
        ..DirectionResult::unknown(direction)
    };
    let measurement = Measurement {
        source: tool,
        total: vec![result],
        end: EndReason::Done,
        ..Measurement::unknown(if name.is_empty() { workload.label() } else { name })
    };
    let measurement = Measurement { workload, ..measurement };
    Ok(Row { stated, measurement })
}

fn direction(rw: Option<&str>) -> Result<Direction, String> {
    Ok(match rw {
        Some("read" | "randread") => Direction::Read,
        Some("write" | "randwrite") => Direction::Write,
        Some("trim" | "randtrim") => Direction::Trim,
        Some("rw" | "readwrite" | "randrw") => Direction::Mixed,
        Some(other) => return Err(format!("rw={other}: read, randread, write, … was expected")),
        None => return Err("rw is missing: what was done, in fio's words".into()),
    })
}
