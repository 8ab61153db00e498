//! Knowledge of options that the parser needs: their names, and whether they take values.

use super::{Section, SyntaxError};

/// How an option takes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A value, in the next word if no `=` follows.
    Value,
    /// Any text, such as a command or a description.
    Text,
    /// An optional value after `=`: fio's flags, `time_based` or `time_based=1`.
    OptionalValue,
}

/// The known options of jobs.
pub trait KnownOptions {
    /// How the option of this name or alias takes its value; `None`: unknown option.
    fn takes(&self, name: &str) -> Option<Takes>;

    /// All names and aliases.
    fn names(&self) -> Vec<&str>;
}

/// Finds an option inside a value by mistake: the second word of `size=100g offset=100g` on one
/// line.
pub fn swallowed_option(value: &str, known: &dyn KnownOptions) -> Option<String> {
    let words = value.split_whitespace().skip(1);
    words
        .filter_map(|word| word.split_once('=').map(|(name, _)| name.trim_start_matches('-')))
        .find(|name| known.takes(name).is_some())
        .map(Into::into)
}

/// Refuses values that swallow another option, except in options that take any text.
///
/// # Errors
/// Names the place, the option and the one inside its value.
pub fn refuse_swallowed(sections: &[Section], known: &dyn KnownOptions) -> Result<(), SyntaxError> {
    for entry in sections.iter().flat_map(|section| &section.entries) {
        let Some(value) = &entry.value else { continue };
        if known.takes(&entry.name) == Some(Takes::Text) {
            continue;
        }
        if let Some(swallowed) = swallowed_option(value, known) {
            return Err(SyntaxError::Swallowed {
                place: entry.place.clone(),
                name: entry.name.clone(),
                value: value.clone(),
                swallowed,
            });
        }
    }
    Ok(())
}
