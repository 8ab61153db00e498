//! Records what a snapshot reads, so that it can be evaluated elsewhere.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iodyno_model::BackingFile;

use crate::captured::{Captured, Entry, TAKEN, backing_path, table_path};
use crate::snapshot::snapshot;
use crate::source::{AdminRead, Depth, Source, SourceError};
use crate::symlinks::follow;

/// Writes everything that a full snapshot of `source` reads, including raw Identify and SMART
/// pages, for [`Captured::open`]: to one file if the name of `to` ends in `.json`, else to a
/// folder, which must not exist yet. A snapshot of the capture equals that of `source` at this
/// moment.
///
/// With `mask_serials` the drives' serial numbers, world-wide ids and subsystem names are replaced
/// by masks of the same length, consistently and also within other texts; a namespace's NGUID and
/// EUI64 become zero.
///
/// # Errors
/// The capture cannot be written there.
pub fn capture(source: &dyn Source, to: &Path, mask_serials: bool) -> Result<(), SourceError> {
    let recorder = Recorder { source, entries: Mutex::default(), taken_ns: source.taken_ns() };
    snapshot(&recorder, Depth::Full);
    let mut entries = recorder.entries.into_inner().unwrap_or_else(PoisonError::into_inner);
    entries.insert(TAKEN.into(), Entry::Text(format!("{}\n", recorder.taken_ns)));
    if mask_serials {
        mask(&mut entries);
    }
    let captured = Captured::new(entries);
    if to.extension().is_some_and(|extension| extension == "json") {
        captured.save_file(to)
    } else {
        captured.save_folder(to)
    }
}

/// Source that records everything read through it.
struct Recorder<'s> {
    source: &'s dyn Source,
    entries: Mutex<BTreeMap<String, Entry>>,
    taken_ns: i64,
}

impl Recorder<'_> {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves all links in the path except, without `follow_last`, a last one; records every link
    /// on the way.
    fn walk(&self, path: &str, follow_last: bool) -> String {
        let walked = follow(path, |at, is_last| {
            let followed = follow_last || !is_last;
            let to = followed.then(|| self.source.link(at).ok()).flatten();
            if let Some(to) = &to {
                self.entries().insert(at.to_owned(), Entry::Link(to.clone()));
            }
            Ok(to)
        });
        // A loop of links stays as it is.
        walked.unwrap_or_else(|_| path.to_owned())
    }

    fn keep<T>(&self, real: String, result: &io::Result<T>, entry: impl FnOnce(&T) -> Entry) {
        let entry = match result {
            Ok(value) => entry(value),
            Err(error) => match (error.kind(), error.raw_os_error()) {
                (io::ErrorKind::NotFound, _) => return,
                (io::ErrorKind::PermissionDenied, _) => Entry::Denied,
                (_, Some(errno)) => Entry::Failed(errno),
                _ => Entry::Failed(libc::EIO),
            },
        };
        self.entries().insert(real, entry);
    }
}

impl Source for Recorder<'_> {
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>> {
        let result = self.source.read(path, limit);
        self.keep(self.walk(path, true), &result, |bytes| Entry::file(bytes));
        result
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let result = self.source.list(path);
        let real = self.walk(path, true);
        self.keep(real.clone(), &result, |_| Entry::Directory);
        for name in result.iter().flatten() {
            let child = format!("{real}/{name}");
            let entry = self.source.link(&child).map_or(Entry::Listed, Entry::Link);
            self.entries().entry(child).or_insert(entry);
        }
        result
    }

    fn link(&self, path: &str) -> io::Result<String> {
        let result = self.source.link(path);
        // `InvalidInput`: it exists but is no link.
        if !matches!(&result, Err(error) if error.kind() == io::ErrorKind::InvalidInput) {
            self.keep(self.walk(path, false), &result, |to| Entry::Link(to.clone()));
        }
        result
    }

    fn mount_namespaces(&self) -> Box<dyn Iterator<Item = String> + '_> {
        // Only these are recorded, not every process of the machine.
        Box::new(self.source.mount_namespaces().inspect(|process| {
            let _ = self.link(&format!("/proc/{process}/ns/mnt"));
        }))
    }

    fn real_path(&self, path: &str) -> io::Result<String> {
        let result = self.source.real_path(path);
        if result.is_ok() {
            let real = self.walk(path, true);
            self.entries().entry(real).or_insert(Entry::Directory);
        }
        result
    }

    fn block_number(&self, path: &str) -> io::Result<(u32, u32)> {
        let result = self.source.block_number(path);
        self.keep(self.walk(path, true), &result, |(major, minor)| Entry::BlockDevice {
            major: *major,
            minor: *minor,
        });
        result
    }

    fn admin(&self, controller: &str, command: AdminRead) -> io::Result<Vec<u8>> {
        let result = self.source.admin(controller, command);
        self.keep(command.path(controller), &result, |bytes| Entry::file(bytes));
        result
    }

    fn dm_table(&self, name: &str, number: (u32, u32)) -> io::Result<String> {
        let result = self.source.dm_table(name, number);
        self.keep(table_path(name), &result, |text| Entry::Text(text.clone()));
        result
    }

    fn backing_file(&self, name: &str, number: (u32, u32)) -> io::Result<BackingFile> {
        let result = self.source.backing_file(name, number);
        self.keep(backing_path(name), &result, |file| {
            Entry::Text(serde_json::to_string(file).unwrap_or_default())
        });
        result
    }

    fn taken_ns(&self) -> i64 {
        self.taken_ns
    }
}

/// Masks what identifies a drive.
fn mask(entries: &mut BTreeMap<String, Entry>) {
    let mut secrets: Vec<String> = Vec::new();
    for (path, entry) in entries.iter() {
        let Entry::Text(text) = entry else { continue };
        let text = text.trim();
        let secret = match crate::read::file_name(path) {
            "serial" => Some(text),
            "wwid" => text.split_once('.').map(|(_, id)| id),
            "subsysnqn" => text.rsplit_once(':').map(|(_, id)| id),
            _ => None,
        };
        secrets.extend(secret.filter(|secret| !secret.is_empty()).map(String::from));
    }
    secrets.sort();
    secrets.dedup();
    // Longest first: a world-wide id may contain a serial number.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let masks: Vec<String> = (1..=secrets.len()).map(|i| format!("MASKED{i:04}")).collect();
    let pairs: Vec<(Vec<u8>, Vec<u8>)> = secrets
        .iter()
        .zip(&masks)
        .map(|(secret, mask)| {
            let mut mask = mask.clone().into_bytes();
            // The number distinguishes them: excess length is cut in front.
            mask.drain(..mask.len().saturating_sub(secret.len()));
            mask.resize(secret.len(), b'0');
            (secret.clone().into_bytes(), mask)
        })
        .collect();
    for (path, entry) in entries.iter_mut() {
        let identifies = path.starts_with("/ioctl/")
            || matches!(crate::read::file_name(path), "serial" | "wwid" | "subsysnqn");
        if !matches!(entry, Entry::Text(_) | Entry::Bytes { .. }) {
            continue;
        }
        let Ok(mut bytes) = entry.bytes() else { continue };
        // NGUID at 104 (16 bytes), EUI64 at 120 (8 bytes) of Identify Namespace.
        if path.ends_with(".idns") && bytes.len() >= 128 {
            bytes[104..128].fill(0);
        }
        // Names of a file system in its superblock: of ext4 UUID (104), label (120) and last mount
        // point (136) after 1024, of xfs UUID and label.
        if path.starts_with("/dev/") {
            for named in [32..48, 108..120, 1024 + 104..1024 + 200] {
                bytes.get_mut(named).into_iter().for_each(|named| named.fill(0));
            }
        }
        for (secret, mask) in &pairs {
            // A short one may be any number elsewhere.
            if identifies || secret.len() >= 8 {
                replace(&mut bytes, secret, mask);
            }
        }
        *entry = Entry::file(&bytes);
    }
}

/// Replaces every `from` by `to` of the same length.
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let mut at = 0;
    while at + from.len() <= bytes.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + from.len()].copy_from_slice(to);
            at += from.len();
        } else {
            at += 1;
        }
    }
}
