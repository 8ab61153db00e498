//! Errors of parsing user input.

use std::fmt;

/// Input text that could not be parsed, and the expected form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Input text.
    pub text: String,
    /// Expected form: `a link such as gen4x4`.
    pub expected: String,
}

impl ParseError {
    /// Makes an error for `text`, with the expected form.
    pub fn new(text: &str, expected: impl Into<String>) -> Self {
        Self { text: text.into(), expected: expected.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: expected {}", self.text, self.expected)
    }
}

impl std::error::Error for ParseError {}
