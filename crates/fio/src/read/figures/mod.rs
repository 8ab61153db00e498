//! Figures that others published: files of figures (TOML), CSV, and tables
//! pasted from a page. docs/howto/import.md describes them.

mod document;
mod quantity;
mod row;
mod table;

use iodyno_model::{Measurement, Stated};

use super::findings::Problem;

/// Figures, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// The rows, in their order.
    pub rows: Vec<Row>,
    /// What could not be read, and where.
    pub problems: Vec<Problem>,
}

/// A measurement as its author tells it, and what is stated of where it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Where.
    pub stated: Stated,
    /// What. Its targets are not known, and its blocks not yet marked.
    pub measurement: Measurement,
}

/// A row before it is understood: names of columns with what stands in them.
struct Raw {
    line: usize,
    cells: Vec<(String, String)>,
}

/// The figures in `text`; `None` where it is neither a file of figures nor a
/// table of workloads with their rates. `name` is what problems call it.
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
