//! Layout of text.

use super::columns::{ColumnError, parse};

/// Layout of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; below 40, lines may be longer.
    pub width: usize,
    /// Colour by ANSI codes.
    pub color: bool,
    /// Show every column of a table, at any width.
    pub wide: bool,
    /// Columns of the drive table by name, at any width; `None`: as many as fit.
    pub columns: Option<Vec<String>>,
}

impl Style {
    /// Checks the names of `columns`, to be called before measuring.
    ///
    /// # Errors
    ///
    /// An unknown column name.
    pub fn check(&self) -> Result<(), ColumnError> {
        self.columns.as_deref().map_or(Ok(()), |names| parse(names).map(|_| ()))
    }
}
