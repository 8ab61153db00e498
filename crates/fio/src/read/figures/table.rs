//! Reads CSV, and tables as in pages and mails.

use super::Raw;
use super::row::{Column, Quantity, column};

/// Returns the rows of the first table in `text` whose heading has a workload and a rate; `None` if
/// there is none.
pub(super) fn read(text: &str) -> Option<Vec<Raw>> {
    let lines: Vec<&str> = text.lines().collect();
    let (start, split, heading) = lines.iter().enumerate().find_map(|(at, line)| {
        let splits =
            [Split::Bars, Split::Csv(b','), Split::Csv(b';'), Split::Csv(b'\t'), Split::Gaps];
        splits.into_iter().find_map(|split| {
            let heading = split.cells(line);
            is_heading(&heading).then_some((at, split, heading))
        })
    })?;
    let rows = lines.iter().enumerate().skip(start + 1).map_while(|(at, line)| {
        let cells = split.cells(line);
        // A table ends at the first line that is not a row.
        (!line.trim().is_empty() && cells.len() > 1).then_some((at, cells))
    });
    let rows = rows.filter(|(_, cells)| !is_rule(cells)).map(|(at, cells)| {
        let named = heading.iter().cloned().zip(cells).filter(|(_, cell)| !cell.is_empty());
        Raw { line: at + 1, cells: named.collect() }
    });
    Some(rows.collect())
}

/// Way to split a line into cells.
#[derive(Debug, Clone, Copy)]
enum Split {
    /// `| a | b |`, as in Markdown and psql.
    Bars,
    Csv(u8),
    /// At tabs, and at two spaces or more.
    Gaps,
}

impl Split {
    fn cells(self, line: &str) -> Vec<String> {
        let owned = |cell: &str| cell.trim().trim_matches('*').trim().to_owned();
        match self {
            Self::Bars if line.contains('|') => {
                let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
                inner.split('|').map(owned).collect()
            }
            Self::Bars => Vec::new(),
            Self::Csv(delimiter) => {
                let mut reader = csv::ReaderBuilder::new()
                    .has_headers(false)
                    .delimiter(delimiter)
                    .flexible(true)
                    .from_reader(line.as_bytes());
                let record = reader.records().next().and_then(Result::ok);
                record.map(|record| record.iter().map(owned).collect()).unwrap_or_default()
            }
            Self::Gaps => {
                let marked = line.trim().replace('\t', "  ");
                marked.split("  ").map(owned).filter(|cell| !cell.is_empty()).collect()
            }
        }
    }
}

fn is_heading(cells: &[String]) -> bool {
    let columns: Vec<Column> = cells.iter().filter_map(|cell| column(cell)).collect();
    let has = |pick: fn(&Column) -> bool| columns.iter().any(pick);
    cells.len() > 1
        && has(|column| matches!(column, Column::Workload | Column::Option("rw")))
        && has(|column| {
            let Column::Figure { quantity, .. } = column else { return false };
            matches!(quantity, Quantity::Iops | Quantity::Bandwidth)
        })
}

/// True for a rule such as `---|:--:` below a heading.
fn is_rule(cells: &[String]) -> bool {
    cells.iter().all(|cell| cell.chars().all(|c| "-:=+ ".contains(c)))
}
