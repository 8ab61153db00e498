//! How text is laid out.

use super::columns::{ColumnError, parse};

/// How text is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; below 40 lines may be longer than that.
    pub width: usize,
    /// Colour by ANSI codes.
    pub color: bool,
    /// Every column of a table, however wide.
    pub wide: bool,
    /// The columns of the table of drives, by name, however wide; `None`: as many as fit.
    pub columns: Option<Vec<String>>,
}

impl Style {
    /// Checks the names of `columns`, which is better done before measuring.
    ///
    /// # Errors
    ///
    /// A name that is no column.
    pub fn check(&self) -> Result<(), ColumnError> {
        self.columns.as_deref().map_or(Ok(()), |names| parse(names).map(|_| ()))
    }
}
