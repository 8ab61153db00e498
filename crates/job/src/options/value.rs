//! The raw value of an option, and how to parse it.

use iodyno_model::{DIRECTIONS, Direction, PerDirection};

use crate::nearest::nearest_name;
use crate::value::{Units, ValueError, parse_size_in};

/// Why a value is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// fio would refuse it, too; the expected values.
    Expected(String),
    /// Only fio supports it; why the native generator does not.
    FioOnly(String),
    /// Only fio supports it, and iodyno does not run fio for it; why.
    Foreign(String),
}

impl From<String> for Refusal {
    fn from(expected: String) -> Self {
        Self::Expected(expected)
    }
}

impl From<ValueError> for Refusal {
    fn from(error: ValueError) -> Self {
        Self::Expected(error.to_string())
    }
}

impl From<&str> for Refusal {
    fn from(expected: &str) -> Self {
        Self::Expected(expected.into())
    }
}

pub(super) type Parsed<T = ()> = Result<T, Refusal>;

/// The refusal of a word that is not in `names`.
pub(super) fn unknown_word(
    word: &str,
    names: impl Iterator<Item = &'static str> + Clone,
) -> Refusal {
    Refusal::Expected(match nearest_name(word, names.clone()) {
        // A long list would hide the suggestion.
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("expected one of {}", names.collect::<Vec<_>>().join(", ")),
    })
}

/// A value as written; empty: the option was given without one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) text: &'a str,
    pub(super) units: Units,
}

impl<'a> Value<'a> {
    pub(super) const fn with(self, text: &'a str) -> Self {
        Self { text, units: self.units }
    }

    /// Parses an integer, possibly with a unit of size.
    pub(super) fn number(self) -> Parsed<u64> {
        Ok(parse_size_in(self.text, self.units)?)
    }

    /// Parses an integer from `low` to `high`.
    pub(super) fn number_within(self, low: u64, high: u64) -> Parsed<u64> {
        let expected = || match high {
            u64::MAX => format!("expected a number from {low}"),
            _ => format!("expected a number from {low} to {high}"),
        };
        let misread = || format!("{}; fio misreads `{}`", expected(), self.text);
        let number = parse_size_in(self.text, self.units)
            .map_err(|_| if self.text.contains(['%', '.']) { misread() } else { expected() })?;
        if (low..=high).contains(&number) { Ok(number) } else { Err(expected().into()) }
    }

    /// Strips a percent sign, or two as written by configparser; `None` if there is none.
    pub(super) fn percent(self) -> Option<Self> {
        let number = self.text.trim_end().strip_suffix('%')?;
        Some(self.with(number.strip_suffix('%').unwrap_or(number)))
    }

    /// Parses a decimal number.
    pub(super) fn float(self) -> Parsed<f64> {
        let number = self.text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("expected a number, not `{}`", self.text).into())
    }

    /// Parses one of `words`, ignoring everything after a colon.
    pub(super) fn word<T: Copy>(self, words: &[(&'static str, T)]) -> Parsed<T> {
        let word = self.text.split(':').next().unwrap_or_default().trim();
        let found = words.iter().find(|(name, _)| *name == word);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| unknown_word(word, words.iter().map(|(name, _)| *name)))
    }

    /// Splits values for reads, writes and trims by fio's rules (parse.c, `handle_option`). They
    /// are separated by commas or, with `other_separators`, by colons or dashes. The last value
    /// also applies to the remaining directions, unless a separator follows it; an empty value
    /// leaves its direction unchanged.
    pub(super) fn directions(self, other_separators: bool) -> Parsed<Vec<(Direction, Self)>> {
        let mut parts = Vec::new();
        let mut rest = self.text.trim();
        let mut last = "";
        while !rest.is_empty() {
            let at = separator(rest, other_separators);
            last = &rest[..at.unwrap_or(rest.len())];
            parts.push(last.trim());
            match at {
                Some(at) if at + 1 == rest.len() => {
                    last = "";
                    break;
                }
                Some(at) => rest = &rest[at + 1..],
                None => break,
            }
        }
        if parts.is_empty() || parts.len() > DIRECTIONS.len() {
            return Err("expected one to three values, for reads, writes and trims".into());
        }
        while parts.len() < DIRECTIONS.len() && !last.is_empty() {
            parts.push(last.trim());
        }
        let parts = DIRECTIONS.into_iter().zip(parts).filter(|(_, part)| !part.is_empty());
        Ok(parts.map(|(direction, part)| (direction, self.with(part))).collect())
    }
}

/// Position of the first separator. One within parentheses is arithmetic, and one in front is a
/// sign.
fn separator(text: &str, other_separators: bool) -> Option<usize> {
    let outside = |sign: char| {
        let mut depth = 0_u32;
        text.char_indices().skip(usize::from(sign == '-')).find_map(|(at, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (c == sign && depth == 0).then_some(at)
        })
    };
    let others = || outside(':').or_else(|| outside('-'));
    outside(',').or_else(|| other_separators.then(others).flatten())
}

/// The inverse of [`Value::directions`]; `None` leaves a direction unchanged.
pub(super) fn print_directions(parts: &PerDirection<Option<String>>) -> String {
    let PerDirection { read, write, trim } = parts;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    match (read, write, trim) {
        (None, None, None) => String::new(),
        (Some(_), None, None) => text(read) + ",",
        (_, Some(_), None) => format!("{},{},", text(read), text(write)),
        (read, write, Some(trim)) if read.as_ref() == Some(trim) && read == write => trim.clone(),
        (_, _, Some(trim)) => format!("{},{},{trim}", text(read), text(write)),
    }
}
