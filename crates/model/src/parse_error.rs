//! A word that is not what was expected.

use std::fmt;

/// What was typed, and what would be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What was typed.
    pub text: String,
    /// What was expected: `a link such as gen4x4`.
    pub expected: String,
}

impl ParseError {
    /// `text` stands where something else was expected.
    pub fn new(text: &str, expected: impl Into<String>) -> Self {
        Self { text: text.into(), expected: expected.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {} was expected", self.text, self.expected)
    }
}

impl std::error::Error for ParseError {}
