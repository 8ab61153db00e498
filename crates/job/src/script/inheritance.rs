//! What a section has of `[global]`, and what of its own.

use crate::syntax::{Entry, Place, Section};

/// The number of the first entry that stands in the section itself, given the
/// options before the first `--name`.
///
/// What comes of an included file right behind `[global]` counts as the
/// section's own.
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

/// Whether nobody wrote it: the `stonewall` between two job files.
pub(super) fn is_between_files(entry: &Entry) -> bool {
    entry.name == "stonewall" && entry.place.line.is_none() && entry.place != Place::command_line()
}
