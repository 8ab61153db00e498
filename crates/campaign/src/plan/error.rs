//! Mistakes in a plan, with their place in its text.

use std::ops::Range;

use iodyno_job::{main_name, options};
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// Mistake in a plan.
#[derive(Debug, Error)]
#[error("{name}: {text}")]
pub struct PlanError {
    /// File or preset.
    pub name: String,
    /// What is wrong, and what was expected; with line and column if read from a text.
    pub text: String,
}

impl PlanError {
    /// Error of the TOML parser in the plan `name` read from `text`.
    pub(super) fn of_toml(error: &toml::de::Error, name: &str, text: &str) -> Self {
        let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
        // The first line names the fault; the others draw it.
        let what = error.message().lines().next().unwrap_or("not TOML");
        let hint = match what.ends_with("expected a sequence") {
            true => ": a list, as in iodepth = [8]; of tables, as in [[step]]",
            false => "",
        };
        Self { name: name.into(), text: format!("line {line}, column {column}: {what}{hint}") }
    }
}

/// Mistake in a plan whose place is not looked up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    /// What is wrong, and what was expected, in a sentence.
    pub(super) what: String,
    /// Paths of keys and array indices; the first path that exists in the text gives the place.
    at: Vec<Vec<String>>,
}

impl Mistake {
    /// Mistake at the end of this path.
    pub(super) fn at(path: &[&str], what: impl Into<String>) -> Self {
        Self { what: what.into(), at: Vec::new() }.or_at(path)
    }

    /// Adds a path, used if none of the paths before exists in the text.
    pub(super) fn or_at(mut self, path: &[&str]) -> Self {
        self.at.push(path.iter().map(|key| (*key).to_owned()).collect());
        self
    }

    /// Error of the plan `name` read from `text`, with line and column (from 1, in characters) of
    /// the wrong value; without a place if the value is not in the text.
    pub(super) fn within(self, name: &str, text: &str) -> PlanError {
        let what = self.what;
        let text = match place(text, &self.at) {
            Some((line, column)) => format!("line {line}, column {column}: {what}"),
            None => what,
        };
        PlanError { name: name.into(), text }
    }
}

fn place(text: &str, paths: &[Vec<String>]) -> Option<(usize, usize)> {
    let plan = DeValue::Table(DeTable::parse(text).ok()?.into_inner());
    let span = paths.iter().find_map(|path| span(&plan, path))?;
    Some(line_and_column(text, span.start))
}

/// Line and column of a byte, both from 1, the column in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn span(plan: &DeValue<'_>, path: &[String]) -> Option<Range<usize>> {
    let (mut here, mut span) = (plan, None);
    for key in path {
        let next = match here {
            DeValue::Array(entries) => entries.get(key.parse::<usize>().ok()?)?,
            of => spelled(key).find_map(|key| of.get(key))?,
        };
        (here, span) = (next.get_ref(), Some(next.span()));
    }
    span
}

/// Names under which a plan may have this key: those of options have been made their main names.
fn spelled(key: &str) -> impl Iterator<Item = &str> {
    let others = options().flat_map(|option| [&[option.name], option.aliases].concat());
    std::iter::once(key).chain(others.filter(move |other| main_name(other) == key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_existing_path_gives_the_place() {
        let text = "[job]\nbs = \"4k\"\n[grid]\niodepth = [1]\n\
                    [[step]]\nname = \"a\"\njob = { bs = \"8k\", rw = \"read\" }\n\
                    [[step]]\nname = \"b\"\n[step.grid]\n# ü\nrw = [1]\n";
        let wrong = |path: &[&str]| Mistake::at(path, "x");
        let said = |wrong: Mistake| wrong.within("p", text).to_string();
        for (path, place) in [
            (&["step", "0", "job", "bs"][..], "line 7, column 14"),
            (&["step", "1", "grid", "rw"], "line 12, column 6"),
            (&["step", "1", "grid", "rw", "0"], "line 12, column 7"),
            (&["grid", "iodepth"], "line 4, column 11"),
            (&["job"], "line 1, column 1"),
        ] {
            assert_eq!(said(wrong(path)), format!("p: {place}: x"), "{path:?}");
        }
        assert_eq!(said(wrong(&["job", "rw"]).or_at(&["job", "bs"])), "p: line 2, column 6: x");
        for path in [&["step", "2"][..], &["step", "x"], &["job", "bs", "0"], &[]] {
            assert_eq!(said(wrong(path)), "p: x", "{path:?}");
        }
        assert_eq!(wrong(&["x"]).within("p", "x = [").to_string(), "p: x");
    }
}

/// Why a study cannot be carried out or resumed, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl<T: Into<String>> From<T> for Refusal {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}
