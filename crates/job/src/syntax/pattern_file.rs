//! Reads byte patterns from files: `buffer_pattern='FILE'`.

use std::fmt::Write;

use super::{Environment, Section, SyntaxError};
use crate::options::find;

/// fio's MAX_PATTERN_SIZE, bytes.
const MOST: usize = 128 << 10;

/// Replaces file names in patterns (in single quotes, as in fio) by the bytes of the files.
///
/// # Errors
/// A file that is unreadable, empty, or larger than fio accepts.
pub(super) fn read_patterns(
    sections: &mut [Section],
    environment: &Environment<'_>,
) -> Result<(), SyntaxError> {
    for entry in sections.iter_mut().flat_map(|section| &mut section.entries) {
        let is_pattern = find(&entry.name)
            .is_some_and(|spec| ["buffer_pattern", "verify_pattern"].contains(&spec.name));
        let Some(value) = entry.value.as_mut().filter(|value| is_pattern && value.contains('\''))
        else {
            continue;
        };
        let mut bytes = String::new();
        for (part, text) in value.split('\'').enumerate() {
            if part % 2 == 0 {
                bytes += text;
                continue;
            }
            let refused = |reason: String| SyntaxError::PatternFile {
                place: entry.place.clone(),
                name: entry.name.clone(),
                file: text.to_owned(),
                reason,
            };
            let read = (environment.read)(text).map_err(|error| refused(error.to_string()))?;
            if read.is_empty() || read.len() > MOST {
                return Err(refused(format!("{} bytes; 1 to {MOST} are taken", read.len())));
            }
            bytes += "0x";
            for byte in read {
                let _ = write!(bytes, "{byte:02x}");
            }
        }
        *value = bytes;
    }
    Ok(())
}
