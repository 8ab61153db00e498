//! Finds processes that have devices and files open.

use std::collections::{HashMap, HashSet};
use std::io;

use iodyno_model::Use;

use crate::read;
use crate::source::{FileId, Source};

/// The kernel's name of its initial PID namespace, which sees all processes (PROC_PID_INIT_INO in
/// include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Processes that have files open, and the limits of the search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Openers {
    /// Each file that another process has open or mapped, once for each process, by process id.
    pub found: Vec<(FileId, Use)>,
    /// Number of processes that could not be examined: those of other users, without privileges.
    pub unreadable: usize,
    /// True if processes may not even be listed: this one is in a PID namespace of its own, or
    /// /proc is mounted with `hidepid`.
    pub hidden: bool,
}

/// Finds the other processes that have one of `wanted` open, or mapped and closed since. A file
/// registered with an io_uring and closed since is not seen. Walks all of /proc: not part of a
/// snapshot.
pub fn openers(source: &dyn Source, wanted: &[FileId]) -> Openers {
    let myself = source.link("/proc/self").ok().and_then(|pid| pid.parse::<u32>().ok());
    let names = source.list("/proc").unwrap_or_default();
    let mut pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    let namespace = source.link("/proc/self/ns/pid");
    let mut openers = Openers {
        hidden: pids.first() != Some(&1)
            || namespace.is_ok_and(|namespace| namespace != FIRST_PID_NAMESPACE),
        ..Openers::default()
    };
    let mut mapped = HashMap::new();
    for pid in pids.into_iter().filter(|pid| Some(*pid) != myself) {
        let Ok(mut open) = open_by(source, pid) else {
            openers.unreadable += 1;
            continue;
        };
        open.extend(mapped_by(source, pid, &mut mapped));
        for id in wanted.iter().filter(|id| open.contains(id)) {
            let command = read::text(source, &format!("/proc/{pid}/comm")).value();
            let by = Use::OpenBy { pid, command: command.unwrap_or_default() };
            openers.found.push((*id, by));
        }
    }
    openers
}

/// Files that a process has open; none if it has ended.
///
/// # Errors
/// Permission denied.
fn open_by(source: &dyn Source, pid: u32) -> io::Result<HashSet<FileId>> {
    let descriptors = |folder: String| match source.list(&folder) {
        Ok(names) => Ok(names.into_iter().map(|name| format!("{folder}/{name}")).collect()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        // It may end at any moment.
        Err(_) => Ok(Vec::new()),
    };
    let mut paths: Vec<String> = descriptors(format!("/proc/{pid}/fd"))?;
    if paths.is_empty() {
        // If its first thread has ended, the others still have the files.
        for thread in source.list(&format!("/proc/{pid}/task")).unwrap_or_default() {
            paths.extend(descriptors(format!("/proc/{pid}/task/{thread}/fd"))?);
        }
    }
    Ok(paths.iter().filter_map(|path| source.file_id(path).ok()).collect())
}

/// Files that a process has mapped. `known` caches the results of other processes by device and
/// inode in their maps: all of them map libraries.
fn mapped_by(
    source: &dyn Source,
    pid: u32,
    known: &mut HashMap<(String, String), Option<FileId>>,
) -> Vec<FileId> {
    let maps = read::file(source, &format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut found = Vec::new();
    for line in maps.lines() {
        // `begin-end access offset device inode path`
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [range, _, _, device, inode, path, ..] = fields[..] else { continue };
        if inode == "0" {
            continue;
        }
        let key = (device.to_owned(), inode.to_owned());
        let id = known.entry(key).or_insert_with(|| {
            // `maps` has the node's own inode, not the device's number.
            let (begin, end) = range.split_once('-')?;
            let plain = |address: &str| address.trim_start_matches('0').to_owned();
            let link = format!("/proc/{pid}/map_files/{}-{}", plain(begin), plain(end));
            source.file_id(&link).or_else(|_| source.file_id(path)).ok()
        });
        found.extend(*id);
    }
    found
}
