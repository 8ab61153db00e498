//! Commands as argument vectors, and as a script to read.

use std::fmt::Write as _;

use iodyno_model::shell_word;

use crate::build::Step;

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program's name.
    pub program: &'static str,
    /// Its arguments, without the name in front.
    pub arguments: Vec<String>,
}

impl Command {
    /// A command of these words.
    pub(crate) fn new<S: Into<String>>(
        program: &'static str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        Self { program, arguments: arguments.into_iter().map(Into::into).collect() }
    }

    /// More arguments behind the others.
    pub(crate) fn with<S: Into<String>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(more.into_iter().map(Into::into));
        self
    }

    /// As a shell takes it; nothing here is run by one.
    pub fn line(&self) -> String {
        let words = std::iter::once(self.program).chain(self.arguments.iter().map(String::as_str));
        words.map(shell_word).collect::<Vec<_>>().join(" ")
    }
}

/// What is done to build a layout and to take it down, as a script to read.
pub fn script(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let _ = writeln!(text, "# {}", step.what);
        let _ = writeln!(text, "{}", step.command.line());
    }
    text
}
