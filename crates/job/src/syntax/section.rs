//! Sections of entries, the parsed form of job files and command lines.

use std::fmt;

/// A job as written, after inheritance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its name: the text between the brackets, or the value of `--name`. An entry `name`, which
    /// overrides it in fio, stays an entry.
    pub name: String,
    /// Place of its header.
    pub place: Place,
    /// The entries of `[global]` first, then its own, in the order written; of two with the same
    /// name the later one applies.
    pub entries: Vec<Entry>,
    /// Number of the entries of `[global]`.
    pub inherited: usize,
}

/// One option as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name as written: aliases are not resolved.
    pub name: String,
    /// Value; `None` without `=` (`time_based`). In files, comments are cut, blanks around the
    /// value trimmed, `${NAME}` and keywords expanded. Quotation marks and arithmetic stay, as in
    /// fio.
    pub value: Option<String>,
    /// Its place.
    pub place: Place,
}

/// A place in a job file or on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file's name, or `command line`.
    pub source: String,
    /// Line, counted from 1; `None` without lines.
    pub line: Option<u32>,
}

impl Place {
    /// The command line.
    pub fn command_line() -> Self {
        Self { source: "command line".into(), line: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{} line {line}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

/// A job file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFile {
    /// Its jobs in order; names may repeat. `[global]` is not among them.
    pub sections: Vec<Section>,
}
