//! Folders of results with their logs, such as bench-fio's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iodyno_model::{Conditions, Direction, EndReason, LatencyKind, Measurement, Workload};

use super::bench_fio;
use super::imported::{Imported, Problem, nothing, stream};
use super::json::{source, version_of};
use super::log::{Jobs, Kind, Known, LogName, Series};
use super::workload::complete;

const BUFFER_BYTES: usize = 256 << 10;
/// Endings of files that lie beside results and are none.
const PASSED_OVER: [&str; 12] =
    ["fio", "ini", "job", "png", "svg", "jpg", "jpeg", "gif", "webp", "pdf", "pickle", "fz"];

/// Logs of one run: what `write_bw_log` and the like were given, in a folder.
type Logs = BTreeMap<(PathBuf, String), Vec<Log>>;

/// A log by name and path.
type Log = (LogName, PathBuf);

/// A measurement, and the file that it was read from.
struct Found {
    folder: PathBuf,
    stem: String,
    measurement: Measurement,
}

/// What a file holds; of a log a measurement of its own.
///
/// # Errors
/// It cannot be read.
pub(super) fn file(path: &Path) -> io::Result<Imported> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_block_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a block device is no report"));
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match LogName::parse(name) {
        Some(log) => {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let mut imported = Imported::default();
            let logs = vec![(log.clone(), path.to_owned())];
            let known = known_beside(&folder, &log.stem);
            imported.of_logs_alone(&folder, &log.stem, logs, known);
            Ok(imported)
        }
        None => stream(&path.display().to_string(), open(path)?),
    }
}

/// What all files below `folder` hold. Logs become series of the measurements
/// that they belong to; those that belong to none become measurements.
///
/// # Errors
/// The folder cannot be read. What cannot be read of its files is a problem.
pub(super) fn folder(folder: &Path) -> io::Result<Imported> {
    let mut imported = Imported::default();
    let mut found: Vec<Found> = Vec::new();
    let mut logs = Logs::new();
    for path in files(folder, &mut imported.problems)? {
        let name =
            path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let inside = path.parent().unwrap_or(folder).to_owned();
        if let Some(log) = LogName::parse(&name) {
            logs.entry((inside, log.stem.clone())).or_default().push((log, path));
            continue;
        }
        let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
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
        for mut measurement in here.measurements {
            name_from_path(&mut measurement, &inside, stem);
            found.push(Found { folder: inside.clone(), stem: stem.to_owned(), measurement });
        }
    }
    for ((inside, stem), logs) in logs {
        let owners: Vec<usize> = owners(&found, &inside, &stem);
        match shares(&owners, &found, &logs) {
            Some(shares) => {
                for (owner, logs) in shares {
                    imported.attach(&mut found[owner].measurement, logs);
                }
            }
            None => {
                if !owners.is_empty() {
                    let title = inside.join(&stem).display().to_string();
                    let what = "which of the jobs these logs belong to cannot be told";
                    imported.problems.push(Problem::new(&title, None, what));
                }
                imported.of_logs_alone(&inside, &stem, logs, Known::default());
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

/// All files below `folder`, sorted by path. Links to folders are not followed.
fn files(folder: &Path, problems: &mut Vec<Problem>) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
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

fn open(path: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(BUFFER_BYTES, File::open(path)?))
}

/// What the report of a run tells of its logs.
fn known_from(measurement: &Measurement) -> Known {
    let version = measurement.source.strip_prefix("fio ").and_then(version_of);
    let avg = measurement.workload.options.get("log_avg_msec");
    Known { version, log_avg_msec: avg.and_then(|ms| ms.parse().ok()) }
}

/// What a report beside a log tells of it: one that is called like the log, or
/// one of a few.
fn known_beside(folder: &Path, stem: &str) -> Known {
    const FEW: usize = 16;
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(here).into_iter().flatten().filter_map(Result::ok);
    let reports = entries.map(|entry| entry.path());
    let reports = reports.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let mut reports: Vec<PathBuf> = reports.filter(|path| path.is_file()).collect();
    let stem_of = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    if reports.len() > FEW {
        let log = bench_fio::named(folder, stem);
        reports.retain(|path| {
            let name = stem_of(path).unwrap_or_default();
            name == stem || log.is_some() && log == bench_fio::named(folder, &name)
        });
    }
    let mut found = Vec::new();
    for path in reports {
        let Ok(imported) = open(&path).and_then(|input| stream("", input)) else { continue };
        found.extend(imported.measurements.into_iter().map(|measurement| Found {
            folder: folder.to_owned(),
            stem: stem_of(&path).unwrap_or_default(),
            measurement,
        }));
    }
    let owner = owners(&found, folder, stem).first().copied();
    owner.map_or_else(Known::default, |owner| known_from(&found[owner].measurement))
}

/// What bench-fio's names say and the report does not.
fn name_from_path(measurement: &mut Measurement, folder: &Path, stem: &str) {
    if let Some((workload, target)) = bench_fio::named(folder, stem) {
        complete(&mut measurement.workload, workload);
        if measurement.targets.is_empty() {
            measurement.targets.extend(target);
        }
    }
}

/// The measurements that logs of this stem may belong to: by the options that
/// named them, else by the name of the file, of bench-fio's, or of the job.
fn owners(found: &[Found], folder: &Path, stem: &str) -> Vec<usize> {
    const OPTIONS: [&str; 4] =
        ["write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log"];
    let asked = |one: &Found| {
        let options = &one.measurement.workload.options;
        let mut given = OPTIONS.iter().filter_map(|name| options.get(*name));
        given.any(|given| Path::new(given).file_name().is_some_and(|name| name == stem))
    };
    let rules: [&dyn Fn(&Found) -> bool; 4] = [
        &asked,
        &|one| one.stem == stem,
        &|one| {
            let log = bench_fio::named(folder, stem);
            log.is_some() && log == bench_fio::named(&one.folder, &one.stem)
        },
        &|one| one.measurement.name == stem,
    ];
    let by = |rule: &dyn Fn(&Found) -> bool| -> Vec<usize> {
        let here = |n: &usize| found[*n].folder == folder && rule(&found[*n]);
        (0..found.len()).filter(here).collect()
    };
    rules.into_iter().map(by).find(|owners| !owners.is_empty()).unwrap_or_default()
}

/// The logs of each measurement: of several without `group_reporting` each has
/// its own, in the order of the jobs.
fn shares(owners: &[usize], found: &[Found], logs: &[Log]) -> Option<Vec<(usize, Vec<Log>)>> {
    let [first, _, ..] = owners else {
        return Some(vec![(*owners.first()?, logs.to_vec())]);
    };
    let mut jobs: Vec<u32> = logs.iter().map(|(name, _)| name.job).collect::<Option<_>>()?;
    jobs.sort_unstable();
    jobs.dedup();
    let clones = |owner: &usize| found[*owner].measurement.parts.len().max(1);
    // Of several files the same run cannot be all.
    if owners.iter().any(|owner| found[*owner].stem != found[*first].stem)
        || owners.iter().map(clones).sum::<usize>() != jobs.len()
    {
        return None;
    }
    let mut jobs = jobs.into_iter();
    let share = |owner: &usize| {
        let own: Vec<u32> = jobs.by_ref().take(clones(owner)).collect();
        let is_own = |log: &&Log| log.0.job.is_some_and(|job| own.contains(&job));
        (*owner, logs.iter().filter(is_own).cloned().collect())
    };
    Some(owners.iter().map(share).collect())
}

impl Imported {
    /// Gives `measurement` the series of its logs.
    fn attach(&mut self, measurement: &mut Measurement, logs: Vec<Log>) {
        let known = known_from(measurement);
        let mixed = measurement.result(Direction::Mixed).is_some();
        let series = self.read(logs, known, mixed, measurement.workload.numjobs);
        for result in series.results {
            let own = measurement.total.iter_mut().find(|own| own.direction == result.direction);
            let Some(own) = own else {
                measurement.total.push(result);
                continue;
            };
            own.series = result.series;
            own.latency_series = result.latency_series;
            // A log of each I/O holds all of its latencies.
            if own.ios.is_some() && own.ios == result.ios && own.latency.count() == 0 {
                own.latency = result.latency;
                own.split = own.split.take().or(result.split);
            }
        }
    }

    /// A measurement of which nothing but logs is there.
    fn of_logs_alone(&mut self, folder: &Path, stem: &str, logs: Vec<Log>, known: Known) {
        let series = self.read(logs, known, false, None);
        if series.results.is_empty() {
            return;
        }
        let mut measurement = Measurement {
            name: stem.to_owned(),
            phase: 0,
            group: 0,
            targets: Vec::new(),
            workload: Workload::default(),
            source: source(""),
            started_ns: None,
            duration_ns: Some(series.duration_ns),
            warmup_ns: 0,
            total: series.results,
            parts: Vec::new(),
            conditions: Conditions::default(),
            cpu: None,
            account: None,
            end: EndReason::Done,
            before: None,
            under_load: None,
            after: None,
        };
        name_from_path(&mut measurement, folder, stem);
        self.measurements.push(measurement);
    }

    fn read(
        &mut self,
        mut logs: Vec<Log>,
        known: Known,
        together: bool,
        numjobs: Option<u32>,
    ) -> Series {
        logs.sort_by_key(|(name, _)| (name.host.clone(), name.job, name.kind.rank()));
        let mut jobs = Jobs::new(known, together);
        let mut remarks = Remarks::default();
        let job_of = |log: &Log| (log.0.host.clone(), log.0.job);
        let mut job = logs.first().map(job_of);
        for log in &logs {
            if job != Some(job_of(log)) {
                jobs.end_job();
                job = Some(job_of(log));
            }
            let (name, path) = log;
            let title = path.display().to_string();
            match open(path).and_then(|input| jobs.read(name.kind, name.job.is_none(), input)) {
                Ok(remark) => remarks.add(title, name.kind, &remark, &mut self.problems),
                Err(error) => self.problems.push(Problem::new(&title, None, error.to_string())),
            }
        }
        remarks.tell(&mut self.problems);
        let mut numbers: Vec<u32> = logs.iter().filter_map(|(name, _)| name.job).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if let (Some(numjobs), Some((_, path))) = (numjobs, logs.first())
            && !numbers.is_empty()
            && numbers.len() < numjobs as usize
        {
            let what = format!(
                "logs of {} of {numjobs} jobs are there: series are of those",
                numbers.len()
            );
            self.problems.push(Problem::new(&path.display().to_string(), None, what));
        }
        jobs.series()
    }
}

/// What is told once of all logs of a run.
#[derive(Default)]
struct Remarks {
    empty: Vec<(Kind, String)>,
    /// A log has rows.
    any: bool,
    unit_assumed: Vec<String>,
}

impl Remarks {
    fn add(
        &mut self,
        title: String,
        kind: Kind,
        log: &super::log::Remarks,
        problems: &mut Vec<Problem>,
    ) {
        if let Some((line, rows)) = log.damage {
            let what = match rows {
                1 => "not a row of a log: it is passed over".to_owned(),
                _ => format!("not a row of a log: it is passed over, with {} more lines", rows - 1),
            };
            problems.push(Problem::new(&title, Some(line), what));
        }
        self.any |= !log.empty;
        if log.empty {
            self.empty.push((kind, title));
        } else if log.unit_assumed {
            self.unit_assumed.push(title);
        }
    }

    fn tell(self, problems: &mut Vec<Problem>) {
        let more = |titles: &[String]| match titles.len() {
            1 => String::new(),
            several => format!(" (and {} more logs of this run)", several - 1),
        };
        // Engines that submit and complete at once have no submission latency.
        let usual = |kind| self.any && kind == Kind::Latency(LatencyKind::Submission);
        let empty = self.empty.into_iter().filter(|(kind, _)| !usual(*kind));
        let empty: Vec<String> = empty.map(|(_, title)| title).collect();
        if let Some(first) = empty.first() {
            let what = format!("the log holds no row{}", more(&empty));
            problems.push(Problem::new(first, None, what));
        }
        if let Some(first) = self.unit_assumed.first() {
            let what = format!(
                "latencies were taken for ns: fio 2 logged us, and neither a report of this run \
                 nor the log tells its version{}",
                more(&self.unit_assumed)
            );
            problems.push(Problem::new(first, None, what));
        }
    }
}
