//! Names the files of a job by fio's rules (`str_filename_cb`, `add_file`, `make_filename` of
//! options.c, filesetup.c and init.c).

use super::ScriptError;
use crate::Job;
use crate::options::{apply, find};
use crate::syntax::{Entry, Place, Section};

/// True if this name exists and is not a regular file.
pub fn is_special(name: &str) -> bool {
    std::fs::symlink_metadata(name).is_ok_and(|metadata| !metadata.is_file())
}

/// Files that a section names with `filename`.
#[derive(Debug, Default)]
pub(super) struct NamedFiles {
    /// As written, without directories.
    pub(super) names: Vec<String>,
    /// With directories; the same for all clones.
    pub(super) paths: Vec<String>,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
    /// Errors.
    pub(super) errors: Vec<ScriptError>,
}

/// Reads every `filename` among the entries, of which those before `own_from` are inherited. fio
/// adds a section's files to those of `[global]`, and prefixes a name with the `directory` that is
/// known when the name is read: in a job file at the end of its section, on the command line at
/// once.
pub(super) fn named_files(section: &Section, entries: &[Entry], own_from: usize) -> NamedFiles {
    let mut named = NamedFiles::default();
    let in_order = section.place == Place::command_line();
    // The first of a list: only generated names use the directories in turn.
    let first = |known: &[Entry]| names(known, "directory").into_iter().next();
    let (inherited, last) = (first(&entries[..own_from]), first(entries));
    let mut so_far = None;
    for (number, entry) in entries.iter().enumerate() {
        if is_option(entry, "directory") {
            so_far = first(std::slice::from_ref(entry));
        }
        if !is_option(entry, "filename") {
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
        named.note_directory(last.is_some(), directory, &read);
        named.paths.extend(read.iter().map(|name| join(directory, name)));
        named.names.extend(read);
    }
    let filenames = |entries: &[Entry]| entries.iter().any(|entry| is_option(entry, "filename"));
    let (inherited, own) = entries.split_at(own_from);
    if filenames(inherited) && filenames(own) {
        named.notes.push(format!(
            "the files of [global] are used beside the job's own, as in fio: {}",
            named.paths.join(", ")
        ));
    }
    // `nrfiles` takes effect only if it is read after the names.
    let first_own_name = own.iter().any(|entry| is_option(entry, "filename"));
    let limits = if in_order {
        let after =
            entries.iter().rposition(|entry| is_option(entry, "filename")).map_or(0, |n| n + 1);
        &entries[after..]
    } else if first_own_name {
        &[]
    } else {
        own
    };
    named.limit(limits);
    named
}

impl NamedFiles {
    fn note_directory(
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
        let Some(entry) = entries.iter().rev().find(|entry| is_option(entry, "nrfiles")) else {
            return;
        };
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

/// True if `entry` sets this option, by its name or an alias.
pub(super) fn is_option(entry: &Entry, option: &str) -> bool {
    find(&entry.name).is_some_and(|spec| spec.name == option)
}

/// The names of the last `option` among the entries, split at colons.
fn names(entries: &[Entry], option: &str) -> Vec<String> {
    let Some(entry) = entries.iter().rev().find(|entry| is_option(entry, option)) else {
        return Vec::new();
    };
    let mut job = Job::default();
    // Its errors were reported when the section was resolved.
    let _ = apply(&mut job, option, entry.value.as_deref().unwrap_or_default());
    if option == "directory" { job.files.directory } else { job.files.filename }
}

/// Prefixes a name with the directory, as fio does even with absolute names.
pub(super) fn join(directory: Option<&String>, name: &str) -> String {
    directory.map_or_else(|| name.to_owned(), |directory| format!("{directory}/{name}"))
}

/// The escaped form of a value that was split at colons within names such as
/// `/dev/disk/by-path/pci-0000:01:00.0-nvme-1`.
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

/// The name of file number `file` of a clone by `filename_format`: `$jobname`, `$jobnum` and
/// `$filenum` in upper or lower case; `$clientuid` is empty without a server.
pub(super) fn file_name(format: Option<&str>, job: &str, clone: u32, file: u32) -> String {
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
    fn file_names_follow_the_format_as_in_fio() {
        assert_eq!(file_name(None, "a", 2, 3), "a.2.3");
        assert_eq!(file_name(Some(""), "a", 2, 3), "a.2.3");
        assert_eq!(file_name(Some("$jobname.x.$JOBNUM"), "a", 1, 0), "a.x.1");
        assert_eq!(file_name(Some("$$filenum$other$clientuid$"), "a", 1, 7), "$7$other$");
        // fio 3.33 loops for ever on this one.
        assert_eq!(file_name(Some("$jobname"), "$jobname", 0, 0), "$jobname");
    }

    #[test]
    fn a_name_split_at_its_colons_is_told_from_a_list() {
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
