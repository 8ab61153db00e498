//! What job files and command lines are read into: named sections of entries.

use std::fmt;

/// A job as it was written, after inheritance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its name: the text between the brackets, or the value of `--name`. An
    /// entry `name`, which fio lets override it, stays an entry.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// The entries of `[global]` first, then its own, in the order written; of
    /// two with the same name the later one holds.
    pub entries: Vec<Entry>,
}

/// One option as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name, as written: aliases are not folded.
    pub name: String,
    /// Value; `None` where there was no `=` (`time_based`). In files comments
    /// are cut, blanks around it trimmed, `${NAME}` and keywords expanded.
    /// Quotation marks stay, and arithmetic does, as in fio.
    pub value: Option<String>,
    /// Where it stands.
    pub place: Place,
}

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file's name, or `command line`.
    pub source: String,
    /// Line, counted from 1; `None` where there are none.
    pub line: Option<u32>,
}

impl Place {
    /// On the command line.
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
