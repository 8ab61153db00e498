//! Imported measurements and the problems found on the way.

use std::fmt;

use iodyno_model::Measurement;

/// Problem of a text without fio output.
pub(super) const NOTHING: &str = "no fio output found";
/// Problem of a text with more jobs than [`most_jobs`].
pub(super) const TOO_MANY: &str = "too many jobs for a text of this length: the rest is not read";

/// Limit of jobs read from a text of this length: far more than fio ever writes.
pub(super) fn most_jobs(bytes: usize) -> usize {
    (8_192 + bytes / 1024).min(65_536)
}

/// Imported results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// Measurements, in the order of the text.
    pub measurements: Vec<Measurement>,
    /// Problems, and where they are.
    pub problems: Vec<Problem>,
}

/// Part of an input that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// File as named by the caller; empty for a text without a name.
    pub file: String,
    /// Line, from 1; `None` for the whole file.
    pub line: Option<usize>,
    /// Description in one sentence.
    pub what: String,
}

impl Problem {
    pub(super) fn new(file: &str, line: Option<usize>, what: impl Into<String>) -> Self {
        Self { file: file.into(), line, what: what.into() }
    }
}

/// Longest description printed, characters: it may quote a file.
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

/// Result for a text without fio output.
pub(super) fn nothing(name: &str) -> Imported {
    Imported { problems: vec![Problem::new(name, None, NOTHING)], ..Imported::default() }
}
