//! The user's permission to write.

use iodyno_model::Mark;

use crate::WriteClearance;

/// The user's permission to write, as words.
///
/// A word names a device by something that stays the same across boots: a drive by its serial
/// number (all its namespaces) or `SERIAL:nsid`, a namespace or disk by its world-wide id (`eui.…`,
/// `nvme.…`, `uuid.…`, `naa.…`) or its name in /dev/disk/by-id; a device-mapper device or md array
/// by its UUID; a device without any of these (loop, zram, dm, md, memory, a virtual disk without a
/// serial number) by `NAME:SIZE`, the size in bytes or with a unit (`md0:3.6T`, binary, rounded to
/// the given digits, at least two unless exact); a partition by its PARTUUID or a word of its disk
/// and `-partN`. A path names a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permission {
    /// Words of `--allow-write`: these targets may be written.
    pub allow_write: Vec<String>,
    /// Words of `--discard-data`: unused data on these may be lost.
    pub discard_data: Vec<String>,
    /// Data without a signature on these may be lost, as a benchmark leaves it; a signature means
    /// that somebody created something since.
    pub discard_unmarked: Vec<String>,
    /// Words of `--assume-unused`: the user knows that these are unused although that cannot be
    /// checked ([`crate::BlindSpot`]).
    pub assume_unused: Vec<String>,
    /// Marks of this run or an earlier one ([`crate::stamp`]): a block with one is nobody's data.
    pub own_marks: Vec<Mark>,
}

impl Permission {
    /// A word that is only the kernel's name of the device `name`, which may change.
    pub(crate) fn kernel_name(&self, name: &str) -> Option<String> {
        let is_it = |word: &&String| word.strip_prefix("/dev/").unwrap_or(word) == name;
        self.allow_write.iter().find(is_it).cloned()
    }

    /// Returns all words, each once, for which `names` is true.
    pub(crate) fn naming(&self, names: impl Fn(&str) -> bool) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let Self { allow_write, discard_data, discard_unmarked, assume_unused, own_marks: _ } =
            self;
        for word in
            [allow_write, discard_data, discard_unmarked, assume_unused].into_iter().flatten()
        {
            if names(word) && !words.contains(word) {
                words.push(word.clone());
            }
        }
        words
    }

    /// Returns the permission with only those words that name one of `written`.
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
            own_marks: self.own_marks.clone(),
        }
    }
}

/// Returns the words of `permission` that name nothing in `written`, each once: a mistyped
/// permission should be reported, since the user relies on it.
pub fn unmatched_permissions<'a>(
    permission: &Permission,
    written: impl IntoIterator<Item = &'a WriteClearance>,
) -> Vec<String> {
    let used: Vec<&String> = written.into_iter().flat_map(WriteClearance::words).collect();
    permission.naming(|word| !used.iter().any(|used| *used == word))
}
