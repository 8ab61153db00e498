//! What the user allowed to be written.

use crate::WriteClearance;

/// What the user allowed to be written, word by word.
///
/// A word names a device by what stays the same when the machine boots: a
/// drive by its serial number (all its namespaces) or `SERIAL:nsid`, a
/// namespace or disk by its world-wide id (`eui.…`, `nvme.…`, `uuid.…`,
/// `naa.…`) or its name in /dev/disk/by-id; a device-mapper device or md array
/// by its UUID; what has none of these (loop, zram, dm, md, memory, a virtual
/// disk without a serial number) by `NAME:SIZE`, the size in bytes or with a
/// unit (`md0:3.6T`, binary, rounded to the digits that are given); a
/// partition by its PARTUUID or a word of its disk and `-partN`. A path names
/// a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permission {
    /// The words after `--allow-write`: these may be written.
    pub allow_write: Vec<String>,
    /// The words after `--discard-data`: data on these that nobody uses may be lost.
    pub discard_data: Vec<String>,
    /// Data on these may be lost that bear no signature, as a benchmark leaves them. What bears
    /// one somebody made since.
    pub discard_unmarked: Vec<String>,
    /// The words after `--assume-unused`: the user knows that nobody uses
    /// these where that cannot be looked at ([`crate::BlindSpot`]).
    pub assume_unused: Vec<String>,
}

impl Permission {
    /// All words, each once, that `names` says name its target.
    pub(crate) fn naming(&self, names: impl Fn(&str) -> bool) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let Self { allow_write, discard_data, discard_unmarked, assume_unused } = self;
        for word in
            [allow_write, discard_data, discard_unmarked, assume_unused].into_iter().flatten()
        {
            if names(word) && !words.contains(word) {
                words.push(word.clone());
            }
        }
        words
    }

    /// It, with no other words than those that name one of `written`.
    #[must_use]
    pub fn only_of<'a>(&self, written: impl IntoIterator<Item = &'a WriteClearance>) -> Self {
        let used: Vec<&String> = written.into_iter().flat_map(WriteClearance::words).collect();
        let only =
            |words: &[String]| words.iter().filter(|word| used.contains(word)).cloned().collect();
        Self {
            allow_write: only(&self.allow_write),
            discard_data: only(&self.discard_data),
            discard_unmarked: only(&self.discard_unmarked),
            assume_unused: only(&self.assume_unused),
        }
    }
}

/// The words of `permission` that name nothing of what is written, each once:
/// a mistyped allowance should be told, since the user believes in it.
pub fn unused_allowances<'a>(
    permission: &Permission,
    written: impl IntoIterator<Item = &'a WriteClearance>,
) -> Vec<String> {
    let used: Vec<&String> = written.into_iter().flat_map(WriteClearance::words).collect();
    permission.naming(|word| !used.iter().any(|used| *used == word))
}
