//! Imports folders of results with their logs, such as bench-fio's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iodyno_model::{Measurement, natural};

use super::bench_fio;
use super::findings::{Imported, Problem, nothing};
use super::imported::stream;
use super::log::{LogName, ReportInfo};
use super::match_logs::{Owners, assign_logs, known_from_folder};
use super::plain::plain_name;
use super::same_run::shift_phases;
use super::workload::complete;

const BUFFER_BYTES: usize = 256 << 10;
/// Extensions of files found next to results that contain none.
const PASSED_OVER: [&str; 12] =
    ["fio", "ini", "job", "png", "svg", "jpg", "jpeg", "gif", "webp", "pdf", "pickle", "fz"];

/// Logs by folder and stem (the value of `write_bw_log` and the like): each entry is one run.
type Logs = BTreeMap<(PathBuf, String), Vec<Log>>;

/// Parsed name and path of a log.
pub(super) type Log = (LogName, PathBuf);

/// A measurement and the file it was read from.
pub(super) struct Found {
    pub(super) folder: PathBuf,
    pub(super) stem: String,
    pub(super) measurement: Measurement,
}

/// Imports a file; a log becomes a measurement of its own.
///
/// # Errors
/// The file is unreadable.
pub(super) fn file(path: &Path) -> io::Result<Imported> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_block_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "block device, not a report"));
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match LogName::parse(plain_name(name)) {
        Some(log) => {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let mut imported = Imported::default();
            let logs = vec![(log.clone(), path.to_owned())];
            let known = known_from_folder(&folder, &log.stem);
            imported.add_logs_only(&folder, &log.stem, logs, known);
            Ok(imported)
        }
        None => stream(&path.display().to_string(), open(path)?),
    }
}

/// Imports all files below `folder`. Logs become series of the measurements that they belong to, or
/// measurements of their own if there are none.
///
/// # Errors
/// The folder is unreadable. Unreadable files in it are problems.
pub(super) fn folder(folder: &Path) -> io::Result<Imported> {
    let mut imported = Imported::default();
    let mut found: Vec<Found> = Vec::new();
    let mut logs = Logs::new();
    let mut next_phase = 0;
    for path in files(folder, &mut imported.problems)? {
        let name =
            path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let name = plain_name(&name);
        let inside = path.parent().unwrap_or(folder).to_owned();
        if let Some(log) = LogName::parse(name) {
            logs.entry((inside, log.stem.clone())).or_default().push((log, path));
            continue;
        }
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        if PASSED_OVER.contains(&ending.to_ascii_lowercase().as_str()) || name.starts_with('.') {
            continue;
        }
        let title = path.display().to_string();
        let here = match open(&path).and_then(|input| stream(&title, input)) {
            Ok(here) => here,
            Err(error) => {
                imported.problems.push(Problem::new(&title, None, error.to_string()));
                continue;
            }
        };
        imported.problems.extend(here.problems);
        let mut measurements = here.measurements;
        shift_phases(&mut next_phase, &mut measurements);
        for mut measurement in measurements {
            name_from_path(&mut measurement, &inside, stem);
            found.push(Found { folder: inside.clone(), stem: stem.to_owned(), measurement });
        }
    }
    let owners = Owners::among(&found);
    let owned = logs.into_iter().map(|((inside, stem), logs)| {
        let owners = owners.of(&inside, &stem);
        let shares = assign_logs(&owners, &found, &logs);
        (inside, stem, logs, owners, shares)
    });
    for (inside, stem, logs, owners, shares) in owned.collect::<Vec<_>>() {
        match shares {
            Some(shares) => {
                for (owner, logs) in shares {
                    imported.attach(&mut found[owner].measurement, logs);
                }
            }
            None => {
                if !owners.is_empty() {
                    let title = inside.join(&stem).display().to_string();
                    let what = "cannot tell which jobs these logs belong to";
                    imported.problems.push(Problem::new(&title, None, what));
                }
                imported.add_logs_only(&inside, &stem, logs, ReportInfo::default());
            }
        }
    }
    let alone = std::mem::take(&mut imported.measurements);
    imported.measurements = found.into_iter().map(|found| found.measurement).chain(alone).collect();
    if imported.measurements.is_empty() && imported.problems.is_empty() {
        return Ok(nothing(&folder.display().to_string()));
    }
    Ok(imported)
}

/// Sort key of a path by its name: `randread-2-1` before `randread-16-1`.
fn in_order(path: &Path) -> Vec<(String, u64)> {
    natural(&path.file_name().unwrap_or_default().to_string_lossy())
}

/// Lists all files below `folder`, sorted by path. Links to folders are not followed.
fn files(folder: &Path, problems: &mut Vec<Problem>) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort_by_cached_key(|path| (in_order(path), path.clone()));
    let mut found = Vec::new();
    for path in entries {
        let is_folder = path.symlink_metadata().is_ok_and(|entry| entry.is_dir());
        if is_folder {
            match files(&path, problems) {
                Ok(below) => found.extend(below),
                Err(error) => {
                    let title = path.display().to_string();
                    problems.push(Problem::new(&title, None, error.to_string()));
                }
            }
        } else if path.metadata().is_ok_and(|entry| entry.is_file()) {
            found.push(path);
        }
    }
    Ok(found)
}

pub(super) fn open(path: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(BUFFER_BYTES, File::open(path)?))
}

/// Completes the workload and target from bench-fio's names.
pub(super) fn name_from_path(measurement: &mut Measurement, folder: &Path, stem: &str) {
    if let Some((workload, target)) = bench_fio::named(folder, stem) {
        complete(&mut measurement.workload, workload);
        if measurement.targets.is_empty() {
            measurement.targets.extend(target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_sort_by_number() {
        let names = ["1m", "4k", "16k", "randread-1-16", "randread-2-1", "randread-16-1", "x"];
        let mut sorted = names;
        sorted.sort_by_cached_key(|name| in_order(Path::new(name)));
        assert_eq!(sorted, names);
        let long = format!("a{}", "9".repeat(40));
        assert!(in_order(Path::new("a1")) < in_order(Path::new(&long)));
    }
}
