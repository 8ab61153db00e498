//! What was read, and what could not be.

use std::fmt;

use iodyno_model::Measurement;

/// Said where a text has nothing to read.
pub(super) const NOTHING: &str = "nothing of fio's was found";
/// Said where a text has more jobs than [`most_jobs`].
pub(super) const TOO_MANY: &str =
    "more jobs than fio reports in a text of this length: what follows is not read";

/// Jobs that are read of a text of this length: many more than any has that fio wrote.
pub(super) fn most_jobs(bytes: usize) -> usize {
    (8_192 + bytes / 1024).min(65_536)
}

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

impl Problem {
    pub(super) fn new(file: &str, line: Option<usize>, what: impl Into<String>) -> Self {
        Self { file: file.into(), line, what: what.into() }
    }
}

/// A problem's words up to so many characters: they may quote a file.
const LONGEST: usize = 300;

/// `file:12: what is wrong`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let words: String = self.what.chars().take(LONGEST).collect();
        let cut = if words.len() < self.what.len() { "…" } else { "" };
        write!(f, "{}{line}: {words}{cut}", self.file)
    }
}

/// Of a text that has nothing to read.
pub(super) fn nothing(name: &str) -> Imported {
    Imported { problems: vec![Problem::new(name, None, NOTHING)], ..Imported::default() }
}
