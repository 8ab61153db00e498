//! What has to be known of options before they can be read.

use super::{Section, SyntaxError};

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A value, in the next word where no `=` follows.
    Value,
    /// A value which is any text, such as a command or a description.
    Text,
    /// A value behind `=` only: fio's flags, `time_based` or `time_based=1`.
    OptionalValue,
}

/// The options that jobs have.
pub trait Known {
    /// What the option of this name or alias takes; `None`: there is none.
    fn takes(&self, name: &str) -> Option<Takes>;

    /// Every name and alias.
    fn names(&self) -> Vec<&str>;
}

/// The option that stands inside a value by mistake: the second word of
/// `size=100g offset=100g` on one line.
pub fn swallowed_option(value: &str, known: &dyn Known) -> Option<String> {
    let words = value.split_whitespace().skip(1);
    words
        .filter_map(|word| word.split_once('=').map(|(name, _)| name.trim_start_matches('-')))
        .find(|name| known.takes(name).is_some())
        .map(Into::into)
}

/// Refuses values that swallow an option, but in options that take any text.
///
/// # Errors
/// Names the place, the option and the one inside its value.
pub fn refuse_swallowed(sections: &[Section], known: &dyn Known) -> Result<(), SyntaxError> {
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
