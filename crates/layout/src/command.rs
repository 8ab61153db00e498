//! Commands as argument vectors, and as a readable script.

use std::fmt::Write as _;

use iodyno_model::shell_word;

use crate::build::Step;

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program's name.
    pub program: &'static str,
    /// Its arguments, without the program.
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

    /// Appends arguments.
    pub(crate) fn with<S: Into<String>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(more.into_iter().map(Into::into));
        self
    }

    /// Shell command line, for display; nothing here is run by a shell.
    pub fn line(&self) -> String {
        let words = std::iter::once(self.program).chain(self.arguments.iter().map(String::as_str));
        words.map(shell_word).collect::<Vec<_>>().join(" ")
    }
}

/// The steps as a readable script.
pub fn script(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let _ = writeln!(text, "# {}", step.what);
        let _ = writeln!(text, "{}", step.command.line());
    }
    text
}
