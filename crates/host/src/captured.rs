//! Captured machine: a tree of recorded files in memory.
//!
//! On disk it is a folder (`sys/`, `proc/`, `ioctl/` as on the machine, and `entries.json` with
//! what a folder cannot represent) or one JSON file that maps each path to its entry. In memory
//! symbolic links are resolved inside the tree, so that a stranger's capture cannot lead to files
//! of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::path::Path;

use iodyno_files::{FileIdentity, NameOrigin};
use iodyno_model::BackingFile;
use serde::{Deserialize, Serialize};

use crate::source::{AdminRead, Source, SourceError};
use crate::symlinks::follow;

/// File for entries that a folder cannot represent.
const ENTRIES: &str = "entries.json";

/// Maximum size of a captured machine in one file, bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Path of the time of capture, ns since 1970 UTC, as text.
pub(crate) const TAKEN: &str = "/taken_ns";

/// Path of a device-mapper device's table in a captured machine.
pub(crate) fn table_path(name: &str) -> String {
    format!("/ioctl/{name}.table")
}

/// Path of a loop device's backing file in a captured machine, as JSON.
pub(crate) fn backing_path(name: &str) -> String {
    format!("/ioctl/{name}.backing")
}

/// Entry at a path of a captured machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// Text file.
    Text(String),
    /// Binary file of `length` bytes; those after `hex` are zero.
    Bytes {
        /// Number of bytes.
        length: usize,
        /// First bytes, two digits each.
        hex: String,
    },
    /// Symbolic link, as written in it.
    Link(String),
    /// Directory; one with entries below it needs none of its own.
    Directory,
    /// Exists, but was not read.
    Listed,
    /// Only root may read it.
    Denied,
    /// Reading it failed with this errno.
    Failed(i32),
    /// Block device, or a descriptor of one.
    BlockDevice {
        /// Device number, major.
        major: u32,
        /// Device number, minor.
        minor: u32,
    },
}

impl Entry {
    /// Makes a file of these bytes.
    pub(crate) fn file(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if !bytes.contains(&0) => Self::Text(text.into()),
            _ => {
                let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                let hex = bytes[..used].iter().map(|byte| format!("{byte:02x}")).collect();
                Self::Bytes { length: bytes.len(), hex }
            }
        }
    }

    /// Returns the bytes of a file.
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Bytes { length, hex } => {
                let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
                let mut bytes = Vec::with_capacity(hex.len() / 2);
                for pair in hex.as_bytes().chunks(2) {
                    let (Some(high), Some(low)) =
                        (digit(pair[0]), pair.get(1).and_then(|low| digit(*low)))
                    else {
                        return Err(io::ErrorKind::InvalidData.into());
                    };
                    bytes.push(high << 4 | low);
                }
                // No captured file is this long: reject.
                if *length > crate::read::MOST_BYTES {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                bytes.resize(*length, 0);
                Ok(bytes)
            }
            Self::Directory => Err(io::ErrorKind::IsADirectory.into()),
            Self::Denied => Err(io::ErrorKind::PermissionDenied.into()),
            Self::Failed(errno) => Err(io::Error::from_raw_os_error(*errno)),
            Self::Link(_) | Self::Listed | Self::BlockDevice { .. } => {
                Err(io::ErrorKind::NotFound.into())
            }
        }
    }
}

/// A captured machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    entries: BTreeMap<String, Entry>,
}

impl Captured {
    /// Opens a folder or file written by [`crate::capture`]; any folder with a machine's `sys` and
    /// `proc` in it will do.
    ///
    /// # Errors
    /// It is missing, unreadable, invalid, or has neither `sys` nor `proc`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SourceError> {
        let path = path.as_ref();
        let open = |error| SourceError::Open { path: path.into(), error };
        let mut captured = Self::default();
        if path.metadata().map_err(open)?.is_dir() {
            captured.load_folder(path, "").map_err(open)?;
            if let Some(list) = captured.entries.remove(&format!("/{ENTRIES}")) {
                let bytes = list.bytes().map_err(open)?;
                captured.entries.extend(parse(&bytes, &path.join(ENTRIES))?);
            }
        } else {
            captured.entries = parse(&iodyno_files::read(path, MAX_FILE_BYTES)?, path)?;
        }
        if !captured.exists("/sys") && !captured.exists("/proc") {
            return Err(SourceError::Empty { path: path.into() });
        }
        Ok(captured)
    }

    pub(crate) fn new(entries: BTreeMap<String, Entry>) -> Self {
        Self { entries }
    }

    fn load_folder(&mut self, folder: &Path, at: &str) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let (file, path) = (entry.path(), format!("{at}/{name}"));
            let kind = entry.file_type()?;
            let found = if kind.is_dir() {
                self.load_folder(&file, &path)?;
                Entry::Directory
            } else if kind.is_symlink() {
                let Ok(link) = std::fs::read_link(&file)?.into_os_string().into_string() else {
                    continue;
                };
                Entry::Link(link)
            } else if kind.is_file() {
                match std::fs::read(&file) {
                    Ok(bytes) => Entry::file(&bytes),
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Entry::Denied,
                    Err(error) => return Err(error),
                }
            } else {
                continue;
            };
            self.entries.insert(path, found);
        }
        Ok(())
    }

    /// Writes the machine as one file.
    pub(crate) fn save_file(&self, path: &Path) -> Result<(), SourceError> {
        write(path, NameOrigin::User, &self.to_json(|_| true, path)?)
    }

    /// Writes the machine as a folder, which must not exist yet, or nothing.
    pub(crate) fn save_folder(&self, folder: &Path) -> Result<(), SourceError> {
        let failed = |error| SourceError::Write { path: folder.into(), error };
        std::fs::create_dir(folder).map_err(failed)?;
        let made = rustix::fs::lstat(folder).map_err(|errno| failed(errno.into()))?;
        let filled = self.fill_folder(folder);
        if filled.is_err() {
            iodyno_files::remove_new_folder(folder, FileIdentity::of(&made));
        }
        filled
    }

    fn fill_folder(&self, folder: &Path) -> Result<(), SourceError> {
        let failed = |path: &Path, error| SourceError::Write { path: path.into(), error };
        // Links last: a stranger's capture must not lead files out of the folder.
        let is_link = |(_, entry): &(&String, &Entry)| matches!(entry, Entry::Link(_));
        let (links, others): (Vec<_>, Vec<_>) = self.entries.iter().partition(is_link);
        for (path, entry) in others.into_iter().chain(links) {
            let file = folder.join(path.trim_start_matches('/'));
            let parent =
                if *entry == Entry::Directory { Some(file.as_path()) } else { file.parent() };
            if let Some(parent) = parent.filter(|_| in_folder(entry)) {
                std::fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
            }
            match entry {
                Entry::Text(_) | Entry::Bytes { .. } => {
                    let bytes = entry.bytes().map_err(|error| failed(&file, error))?;
                    write(&file, NameOrigin::Iodyno, &bytes)?;
                }
                Entry::Link(to) => std::os::unix::fs::symlink(relative(path, to), &file)
                    .map_err(|error| failed(&file, error))?,
                _ => {}
            }
        }
        let list = folder.join(ENTRIES);
        write(&list, NameOrigin::Iodyno, &self.to_json(|entry| !in_folder(entry), &list)?)
    }

    /// Writes one line for each entry that `wanted` selects, so that captures can be diffed.
    fn to_json(
        &self,
        wanted: impl Fn(&Entry) -> bool,
        path: &Path,
    ) -> Result<Vec<u8>, SourceError> {
        let mut lines = Vec::new();
        for (name, entry) in self.entries.iter().filter(|(_, entry)| wanted(entry)) {
            let line = serde_json::to_string(name)
                .and_then(|name| Ok(format!("{name}: {}", serde_json::to_string(entry)?)))
                .map_err(|error| SourceError::Parse { path: path.into(), error })?;
            lines.push(line);
        }
        Ok(format!("{{\n{}\n}}\n", lines.join(",\n")).into_bytes())
    }

    /// Resolves symbolic links in the path.
    fn resolve(&self, path: &str) -> io::Result<String> {
        follow(path, |at, is_last| match self.entries.get(at) {
            Some(Entry::Link(to)) => Ok(Some(to.clone())),
            Some(Entry::Denied) if !is_last => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(None),
        })
    }

    fn entry(&self, path: &str) -> io::Result<&Entry> {
        let real = self.resolve(path)?;
        self.entries.get(&real).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Names below a link-free path, consecutive repeats included.
    fn below<'s>(&'s self, real: &str) -> impl Iterator<Item = &'s str> {
        let prefix = format!("{real}/");
        let start = (Bound::Included(prefix.clone()), Bound::Unbounded);
        self.entries.range::<String, _>(start).map_while(move |(path, _)| {
            let rest = path.strip_prefix(&prefix)?;
            Some(rest.split('/').next().unwrap_or(rest))
        })
    }

    fn exists(&self, path: &str) -> bool {
        self.resolve(path).is_ok_and(|real| {
            self.entries.contains_key(&real) || self.below(&real).next().is_some()
        })
    }
}

impl Source for Captured {
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = self.entry(path)?.bytes()?;
        bytes.truncate(limit);
        Ok(bytes)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let real = self.resolve(path)?;
        let names: BTreeSet<&str> = self.below(&real).collect();
        if !names.is_empty() {
            return Ok(names.into_iter().map(String::from).collect());
        }
        match self.entries.get(&real) {
            Some(Entry::Directory) => Ok(Vec::new()),
            Some(Entry::Denied) => Err(io::ErrorKind::PermissionDenied.into()),
            Some(Entry::Failed(errno)) => Err(io::Error::from_raw_os_error(*errno)),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn link(&self, path: &str) -> io::Result<String> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let real = format!("{}/{name}", self.resolve(parent)?);
        match self.entries.get(&real) {
            Some(Entry::Link(to)) => Ok(to.clone()),
            Some(Entry::Denied) => Err(io::ErrorKind::PermissionDenied.into()),
            Some(_) => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn real_path(&self, path: &str) -> io::Result<String> {
        let real = self.resolve(path)?;
        if self.exists(&real) { Ok(real) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn block_number(&self, path: &str) -> io::Result<(u32, u32)> {
        match self.entry(path)? {
            Entry::BlockDevice { major, minor } => Ok((*major, *minor)),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn admin(&self, controller: &str, command: AdminRead) -> io::Result<Vec<u8>> {
        self.read(&command.path(controller), command.length_bytes())
    }

    fn dm_table(&self, name: &str, _: (u32, u32)) -> io::Result<String> {
        crate::read::file(self, &table_path(name))
    }

    fn backing_file(&self, name: &str, _: (u32, u32)) -> io::Result<BackingFile> {
        let text = crate::read::file(self, &backing_path(name))?;
        serde_json::from_str(&text).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn taken_ns(&self) -> i64 {
        let text = crate::read::file(self, TAKEN).unwrap_or_default();
        text.trim().parse().unwrap_or_default()
    }
}

/// True if a folder can represent the entry.
fn in_folder(entry: &Entry) -> bool {
    matches!(entry, Entry::Text(_) | Entry::Bytes { .. } | Entry::Link(_) | Entry::Directory)
}

/// Makes an absolute link of the machine relative, so that it stays in the folder.
fn relative(path: &str, to: &str) -> String {
    match to.strip_prefix('/') {
        Some(rest) => {
            let up = path.matches('/').count() - 1;
            format!("{}{rest}", "../".repeat(up))
        }
        None => to.into(),
    }
}

fn parse(bytes: &[u8], path: &Path) -> Result<BTreeMap<String, Entry>, SourceError> {
    serde_json::from_slice(bytes).map_err(|error| SourceError::Parse { path: path.into(), error })
}

fn write(path: &Path, by: NameOrigin, bytes: &[u8]) -> Result<(), SourceError> {
    Ok(iodyno_files::write(path, by, bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, Entry)]) -> Captured {
        Captured::new(entries.iter().map(|(path, e)| ((*path).into(), e.clone())).collect())
    }

    #[test]
    fn links_are_followed_inside_the_tree_only() {
        let captured = tree(&[
            ("/sys/class/nvme/nvme0", Entry::Link("../../devices/nvme0".into())),
            ("/sys/devices/nvme0/model", Entry::Text("A\n".into())),
            ("/sys/out", Entry::Link("../../../../../etc/passwd".into())),
            ("/sys/loop", Entry::Link("loop".into())),
        ]);
        assert_eq!(captured.read("/sys/class/nvme/nvme0/model", 9).unwrap(), b"A\n");
        assert_eq!(captured.real_path("/sys/class/nvme/nvme0").unwrap(), "/sys/devices/nvme0");
        assert_eq!(captured.list("/sys/class/nvme").unwrap(), ["nvme0"]);
        assert_eq!(captured.list("/sys/class/nvme/nvme0").unwrap(), ["model"]);
        assert_eq!(captured.read("/sys/out", 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(captured.read("/sys/loop", 9).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    }

    #[test]
    fn bytes_keep_their_length_and_bad_digits_are_an_error() {
        let page = [1, 0xff, 0, 0, 0];
        assert_eq!(Entry::file(&page), Entry::Bytes { length: 5, hex: "01ff".into() });
        assert_eq!(Entry::file(&page).bytes().unwrap(), page);
        for hex in ["0", "zz", "é"] {
            assert!(Entry::Bytes { length: 9, hex: hex.into() }.bytes().is_err());
        }
        assert!(Entry::Bytes { length: usize::MAX, hex: String::new() }.bytes().is_err());
    }

    #[test]
    fn no_link_leads_a_file_out_of_the_folder() {
        let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let out = format!("{}{}", "../".repeat(40), outside.path().display());
        let hostile = tree(&[
            ("/ioctl", Entry::Link(out)),
            ("/ioctl/dm-0.table", Entry::Text("theirs".into())),
        ]);
        // A folder has the link's name by then.
        assert!(hostile.save_folder(&folder.path().join("new")).is_err());
        assert!(!folder.path().join("new").exists(), "no half of a capture stays");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_endless_file_is_no_capture() {
        assert!(matches!(Captured::open("/dev/zero"), Err(SourceError::File(_))));
    }

    #[test]
    fn a_folder_that_is_no_capture_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Captured::open(folder.path()), Err(SourceError::Empty { .. })));
        assert!(matches!(
            Captured::open(folder.path().join("absent")),
            Err(SourceError::Open { .. })
        ));
        let file = folder.path().join("x.json");
        std::fs::write(&file, "{\"/sys\": 1}").unwrap();
        assert!(matches!(Captured::open(&file), Err(SourceError::Parse { .. })));
    }
}
