//! Colours, which only repeat what the words say.

use iodyno_model::{Severity, Verdict};

/// Role of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Normal text.
    Plain,
    /// A bar and its number, kept on one line.
    Bar,
    /// Heading.
    Bold,
    /// Secondary detail.
    Dim,
    /// Passed.
    Good,
    /// Doubtful.
    Doubt,
    /// Failed.
    Bad,
    /// Not judged.
    Open,
}

impl Ink {
    pub(crate) fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Good,
            Verdict::Unjudged => Self::Open,
            Verdict::Warn => Self::Doubt,
            Verdict::Fail => Self::Bad,
        }
    }

    pub(crate) fn of_severity(severity: Severity) -> Self {
        match severity {
            Severity::Info => Self::Open,
            Severity::Warn => Self::Doubt,
            Severity::Fail => Self::Bad,
        }
    }

    /// Colour of a table cell.
    pub(super) fn color(self) -> Option<comfy_table::Color> {
        match self {
            Self::Plain | Self::Bar | Self::Bold => None,
            Self::Dim => Some(comfy_table::Color::DarkGrey),
            Self::Good => Some(comfy_table::Color::DarkGreen),
            Self::Doubt => Some(comfy_table::Color::DarkYellow),
            Self::Bad => Some(comfy_table::Color::DarkRed),
            Self::Open => Some(comfy_table::Color::DarkCyan),
        }
    }

    /// Returns `text` in this ink if `color` is set (ECMA-48, Select Graphic Rendition).
    pub(super) fn paint(self, text: &str, color: bool) -> String {
        let code = match self {
            Self::Plain | Self::Bar => return text.into(),
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Doubt => "33",
            Self::Bad => "1;31",
            Self::Open => "36",
        };
        if !color || text.is_empty() {
            return text.into();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
