//! Reads published figures: files of figures (TOML), CSV, and tables pasted from a page. See
//! docs/howto/import.md.

mod document;
mod quantity;
mod row;
mod table;

use iodyno_model::{Measurement, Stated};

use super::findings::Problem;

/// Imported figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// Rows, in their order.
    pub rows: Vec<Row>,
    /// Problems, and where they are.
    pub problems: Vec<Problem>,
}

/// A published measurement, and what its author states of the machine and drives.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Machine and drives.
    pub stated: Stated,
    /// Results. The targets are unknown, and the blocks not yet marked.
    pub measurement: Measurement,
}

/// A raw row: column headings and their cells.
struct Raw {
    line: usize,
    cells: Vec<(String, String)>,
}

/// Reads the figures in `text`; `None` if it is neither a file of figures nor a table of workloads
/// and rates. `name` is used in problems.
pub fn figures(name: &str, text: &str) -> Option<Figures> {
    let raws = match document::read(text) {
        Some(Ok(raws)) => raws,
        Some(Err(document::Wrong { line, what })) => {
            let problems = vec![Problem::new(name, line, what)];
            return Some(Figures { rows: Vec::new(), problems });
        }
        None => table::read(text)?,
    };
    let mut found = Figures::default();
    for raw in raws {
        let line = raw.line;
        match row::row(raw) {
            Ok(row) => found.rows.push(row),
            Err(what) => found.problems.push(Problem::new(name, Some(line), what)),
        }
    }
    Some(found)
}
