//! Tells the entries that a section inherits from `[global]` from its own.

use crate::syntax::{Entry, Place, Section};

/// The index of the section's first own entry; `command_line` are the options before the first
/// `--name`.
///
/// Entries of a file included directly after `[global]` count as the section's own.
pub(super) fn own_from(section: &Section, command_line: &[Entry]) -> usize {
    let entries = &section.entries;
    if section.place == Place::command_line() {
        return entries.iter().zip(command_line).take_while(|(a, b)| a == b).count();
    }
    let inherited = |entry: &Entry| {
        entry.place == Place::command_line()
            || entry.place.source == section.place.source && entry.place.line < section.place.line
    };
    entries.iter().rposition(inherited).map_or(0, |last| last + 1)
}

/// True for the implicit `stonewall` between two job files.
pub(super) fn is_between_files(entry: &Entry) -> bool {
    entry.name == "stonewall" && entry.place.line.is_none() && entry.place != Place::command_line()
}
