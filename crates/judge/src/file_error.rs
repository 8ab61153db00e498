//! Errors in files that the user wrote.

/// Error in a data sheet or an expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}, column {column}: {what}; {next}")]
pub struct FileError {
    /// Name of the file as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub next: String,
}

impl FileError {
    /// Returns an error at byte `offset` of `text`.
    pub(crate) fn at(
        file: &str,
        text: &str,
        offset: usize,
        what: impl Into<String>,
        next: &str,
    ) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Self {
            file: file.to_owned(),
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            // UTF-8 continuation bytes are not counted as characters.
            column: before[line_start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1,
            what: what.into(),
            next: next.into(),
        }
    }

    /// Converts an error of the TOML parser.
    pub(crate) fn of_toml(file: &str, text: &str, error: &toml::de::Error, next: &str) -> Self {
        let offset = error.span().map_or(0, |span| span.start);
        // The first line names the fault; the others draw it.
        let what = error.message().lines().next().unwrap_or("not TOML").to_owned();
        Self::at(file, text, offset, what, next)
    }
}
