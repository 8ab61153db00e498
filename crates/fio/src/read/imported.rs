//! What a text, a file or a folder holds.

use std::path::Path;

use iodyno_model::Measurement;

use super::json;

/// What was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// The measurements, in the order in which they stand there.
    pub measurements: Vec<Measurement>,
    /// What could not be read, and where.
    pub problems: Vec<Problem>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// File, as it was named; empty where a text has no name.
    pub file: String,
    /// Line, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// What is wrong, in a sentence.
    pub what: String,
}

/// What `text` holds, whatever fio printed it as, and whatever stands around it.
pub fn text(name: &str, text: &str) -> Imported {
    match json(text) {
        Ok(measurements) => Imported { measurements, problems: Vec::new() },
        Err(error) => Imported {
            problems: vec![Problem { file: name.into(), line: None, what: error.to_string() }],
            ..Imported::default()
        },
    }
}

/// What a file holds, or all files below a folder.
///
/// # Errors
/// It cannot be read at all.
pub fn path(path: &Path) -> std::io::Result<Imported> {
    let bytes = std::fs::read(path)?;
    Ok(text(&path.display().to_string(), &String::from_utf8_lossy(&bytes)))
}
