//! Which files a job has, by fio's rules (`str_filename_cb`, `add_file`,
//! `make_filename` of options.c, filesetup.c and init.c).

use super::ScriptError;
use crate::Job;
use crate::options::{apply, find};
use crate::syntax::{Entry, Place, Section};

/// Whether something of this name exists and is no regular file.
pub fn is_special(name: &str) -> bool {
    std::fs::symlink_metadata(name).is_ok_and(|metadata| !metadata.is_file())
}

/// The files that a section names with `filename`.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// As written, without directories.
    pub(super) names: Vec<String>,
    /// With directories: all clones use the same.
    pub(super) paths: Vec<String>,
    /// What to tell.
    pub(super) notes: Vec<String>,
    /// What is wrong.
    pub(super) errors: Vec<ScriptError>,
}

/// Reads every `filename` among the entries, of which those up to `own_from`
/// are inherited. fio keeps the files of `[global]` beside those of a section,
/// and puts in front of a name the `directory` that is known where the name is
/// read: in a job file at the end of its section, on the command line at once.
pub(super) fn named(section: &Section, entries: &[Entry], own_from: usize) -> Named {
    let mut named = Named::default();
    let in_order = section.place == Place::command_line();
    // Of a list the first: only files without names go in turn.
    let first = |known: &[Entry]| names(known, "directory").into_iter().next();
    let (inherited, last) = (first(&entries[..own_from]), first(entries));
    let mut so_far = None;
    for (number, entry) in entries.iter().enumerate() {
        if is(entry, "directory") {
            so_far = first(std::slice::from_ref(entry));
        }
        if !is(entry, "filename") {
            continue;
        }
        let directory = match (in_order, number < own_from) {
            (true, _) => so_far.as_ref(),
            (false, true) => inherited.as_ref(),
            (false, false) => last.as_ref(),
        };
        let value = entry.value.as_deref().unwrap_or_default();
        let read = names(std::slice::from_ref(entry), "filename");
        if let Some(meant) = cut_at_colon(value, &read) {
            let (place, value) = (entry.place.clone(), value.to_owned());
            named.errors.push(ScriptError::CutAtColon { place, value, meant });
        }
        named.tell_of_directory(last.is_some(), directory, &read);
        named.paths.extend(read.iter().map(|name| join(directory, name)));
        named.names.extend(read);
    }
    let filenames = |entries: &[Entry]| entries.iter().any(|entry| is(entry, "filename"));
    let (inherited, own) = entries.split_at(own_from);
    if filenames(inherited) && filenames(own) {
        named.notes.push(format!(
            "the files of [global] are used beside the job's own, as in fio: {}",
            named.paths.join(", ")
        ));
    }
    // `nrfiles` counts only where it is read after the names.
    let first_own_name = own.iter().any(|entry| is(entry, "filename"));
    let limits = if in_order {
        let after = entries.iter().rposition(|entry| is(entry, "filename")).map_or(0, |n| n + 1);
        &entries[after..]
    } else if first_own_name {
        &[]
    } else {
        own
    };
    named.limit(limits);
    named
}

impl Named {
    fn tell_of_directory(
        &mut self,
        has_directory: bool,
        directory: Option<&String>,
        names_read: &[String],
    ) {
        let absolute = names_read.iter().find(|name| name.starts_with('/'));
        let note = match (directory, absolute) {
            (Some(directory), Some(name)) => format!(
                "directory={directory} is put in front of {name}, as in fio: {}",
                join(Some(directory), name)
            ),
            (None, None) if has_directory => format!(
                "directory does not hold for filename={}, which stands before it, as in fio",
                names_read.join(":")
            ),
            _ => return,
        };
        self.notes.push(note);
    }

    fn limit(&mut self, entries: &[Entry]) {
        let Some(entry) = entries.iter().rev().find(|entry| is(entry, "nrfiles")) else { return };
        let mut job = Job::default();
        let value = entry.value.as_deref().unwrap_or_default();
        if apply(&mut job, "nrfiles", value).is_err() {
            return;
        }
        let count = job.files.nrfiles as usize;
        if count < self.paths.len() {
            let all = self.paths.len();
            self.notes.push(format!("{count} of {all} files are used: nrfiles={value}"));
            self.paths.truncate(count);
            self.names.truncate(count);
        }
    }
}

/// Whether it is this option, by its name or an alias.
pub(super) fn is(entry: &Entry, option: &str) -> bool {
    find(&entry.name).is_some_and(|spec| spec.name == option)
}

/// The names that `option` has behind the last entry, split at their colons.
fn names(entries: &[Entry], option: &str) -> Vec<String> {
    let Some(entry) = entries.iter().rev().find(|entry| is(entry, option)) else {
        return Vec::new();
    };
    let mut job = Job::default();
    // What is wrong with it was told when the whole section was read.
    let _ = apply(&mut job, option, entry.value.as_deref().unwrap_or_default());
    if option == "directory" { job.files.directory } else { job.files.filename }
}

/// fio puts one in front of absolute names as well.
pub(super) fn join(directory: Option<&String>, name: &str) -> String {
    directory.map_or_else(|| name.to_owned(), |directory| format!("{directory}/{name}"))
}

/// How a name should have been written that names like
/// `/dev/disk/by-path/pci-0000:01:00.0-nvme-1` were cut from.
fn cut_at_colon(value: &str, names: &[String]) -> Option<String> {
    let cut = |pair: &[String]| pair[0].starts_with("/dev/disk/by-") && !pair[1].starts_with('/');
    if !names.windows(2).any(cut) {
        return None;
    }
    let mut meant = String::new();
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ':' && letters.peek() != Some(&'/') && !meant.ends_with('\\') {
            meant.push('\\');
        }
        meant.push(letter);
    }
    Some(meant)
}

/// The name of file number `file` of a clone after `format`: `$jobname`,
/// `$jobnum` and `$filenum` in any case; `$clientuid` is empty without a server.
pub(super) fn formatted(format: Option<&str>, job: &str, clone: u32, file: u32) -> String {
    let Some(format) = format.filter(|format| !format.is_empty()) else {
        return format!("{job}.{clone}.{file}");
    };
    let keywords = [
        ("$jobname", job.to_owned()),
        ("$jobnum", clone.to_string()),
        ("$filenum", file.to_string()),
        ("$clientuid", String::new()),
    ];
    let mut name = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        name.push_str(&rest[..at]);
        rest = &rest[at..];
        let starts = |keyword: &str| {
            rest.get(..keyword.len()).is_some_and(|start| start.eq_ignore_ascii_case(keyword))
        };
        let skipped = match keywords.iter().find(|(keyword, _)| starts(keyword)) {
            Some((keyword, value)) => {
                name.push_str(value);
                keyword.len()
            }
            None => {
                name.push('$');
                1
            }
        };
        rest = &rest[skipped..];
    }
    name + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_as_fio_makes_them() {
        assert_eq!(formatted(None, "a", 2, 3), "a.2.3");
        assert_eq!(formatted(Some(""), "a", 2, 3), "a.2.3");
        assert_eq!(formatted(Some("$jobname.x.$JOBNUM"), "a", 1, 0), "a.x.1");
        assert_eq!(formatted(Some("$$filenum$other$clientuid$"), "a", 1, 7), "$7$other$");
        // fio 3.33 never ends on this one.
        assert_eq!(formatted(Some("$jobname"), "$jobname", 0, 0), "$jobname");
    }

    #[test]
    fn a_name_that_its_colons_cut_is_told_from_a_list() {
        let split = |value: &str| {
            let mut job = Job::default();
            apply(&mut job, "filename", value).unwrap();
            cut_at_colon(value, &job.files.filename)
        };
        let by_path = "/dev/disk/by-path/pci-0000:01:00.0-nvme-1";
        let escaped = r"/dev/disk/by-path/pci-0000\:01\:00.0-nvme-1";
        assert_eq!(split(by_path).as_deref(), Some(escaped));
        assert_eq!(split(escaped), None);
        assert_eq!(split("/dev/disk/by-id/a:/dev/disk/by-id/b"), None);
        let two = split(&format!("{by_path}:/dev/sda"));
        assert_eq!(two, Some(format!("{escaped}:/dev/sda")));
    }
}
