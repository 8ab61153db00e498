//! Announces what a run is about to do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use iodyno_job::script::Script;
use iodyno_job::{Job, Room, Stream};
use iodyno_judge::{ClaimBook, claim_of};
use iodyno_load::ClearedJob;
use iodyno_model::{Bytes, Direction, Drive, Host, format_duration_ns};
use iodyno_target::Target;

use crate::budget::Budget;
use crate::targets::{PreparedTarget, room};

/// Above this many files in one directory only their number is given.
const MOST_FILES_NAMED: usize = 4;

/// Expected load of steps, in sentences, none without targets; directories get a scratch file.
pub(crate) fn steps(
    targets: &[Target],
    writes: bool,
    scratch_ns: u64,
    budget: &Budget,
) -> Vec<String> {
    if targets.is_empty() {
        return Vec::new();
    }
    let (directories, devices) = split_directories(targets);
    let seconds = |ns: u64| format_duration_ns((ns as f64 / 1e9).ceil() * 1e9);
    let mut sentences = Vec::new();
    for directory in &directories {
        sentences.push(format!(
            "In {directory} iodyno first writes a scratch file for about {} (256 MiB to 8 GiB, at most a quarter of the free space), and removes it at the end.",
            seconds(scratch_ns)
        ));
    }
    let time = if budget.together_ns > 0 && budget.each_ns == 0 {
        format!("all at once for up to {}", seconds(budget.together_ns))
    } else if budget.together_ns > 0 {
        format!(
            "each alone for up to {}, then all at once for up to {} ({} in all)",
            seconds(budget.each_ns),
            seconds(budget.together_ns),
            minutes(budget.total_ns)
        )
    } else {
        format!("for up to {}", minutes(budget.total_ns))
    };
    let action = action(writes, targets, &devices);
    sentences.push(format!("{action}, {time}; Ctrl-C keeps the results."));
    if budget.total_ns > budget.limit_ns {
        let limit = minutes(budget.limit_ns);
        sentences.push(format!("That is the shortest: --budget {limit} is not enough."));
    }
    sentences
}

/// Expected load of an investigation, in sentences.
pub(crate) fn question(
    targets: &[Target],
    writes: bool,
    neighbours: &[&Target],
    scratch_ns: u64,
    budget_ns: u64,
) -> Vec<String> {
    let (directories, devices) = split_directories(targets);
    let mut sentences: Vec<String> = directories
        .iter()
        .map(|directory| {
            format!(
                "In {directory} iodyno first writes a scratch file for about {}, and removes it at the end.",
                format_duration_ns(scratch_ns as f64)
            )
        })
        .collect();
    if !neighbours.is_empty() {
        sentences.push(format!(
            "For one experiment it also writes, and destroys the data on: {}.",
            joined(neighbours.iter().copied())
        ));
    }
    sentences.push(format!(
        "{}, changing one thing at a time, for up to {}; Ctrl-C keeps the results.",
        action(writes, targets, &devices),
        format_duration_ns(budget_ns as f64)
    ));
    sentences
}

/// What is done at full speed; data is destroyed on `devices` only.
fn action(writes: bool, targets: &[Target], devices: &[&str]) -> String {
    let names = joined(targets.iter());
    match (writes, devices) {
        (false, _) => format!("Reads {names} at full speed"),
        (true, []) => format!("Writes to {names} at full speed"),
        (true, _) => format!("Destroys all data on {}: writes at full speed", devices.join(", ")),
    }
}

fn joined<'t>(targets: impl Iterator<Item = &'t Target>) -> String {
    targets.map(Target::name).collect::<Vec<_>>().join(", ")
}

/// Names of directories, and of all other targets.
fn split_directories(targets: &[Target]) -> (Vec<&str>, Vec<&str>) {
    let (directories, others): (Vec<&Target>, Vec<&Target>) =
        targets.iter().partition(|target| target.is_directory());
    let names = |of: Vec<_>| of.into_iter().map(Target::name).collect();
    (names(directories), names(others))
}

fn minutes(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match (seconds / 60, seconds % 60) {
        (0, s) => format!("{s} s"),
        (m, 0) => format!("{m} min"),
        (m, s) => format!("{m} min {s} s"),
    }
}

/// Destructive operation of jobs on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Write,
    Trim,
}

impl Change {
    /// Share of a job's bytes that this operation covers, 0..1.
    fn share_of(self, job: &Job) -> f64 {
        match self {
            Self::Write => written_of(job),
            Self::Trim if job.pattern.rw.has(Direction::Trim) => 1.0 - written_of(job),
            Self::Trim => 0.0,
        }
    }

    /// Sentence for `target`, a name or several files; `bytes` where known.
    fn sentence(self, bytes: Option<u64>, target: &str, share: &str) -> String {
        let amount = bytes.map(|bytes| Bytes(bytes).binary());
        match (self, amount) {
            (Self::Write, Some(amount)) => format!("Writes {amount} to {target}{share}."),
            (Self::Write, None) => format!("Writes to {target} until the jobs end."),
            (Self::Trim, Some(amount)) => format!("Trims {amount} of {target}: that data is lost."),
            (Self::Trim, None) => {
                format!("Trims {target} until the jobs end: that data is lost.")
            }
        }
    }
}

/// Bytes by target and operation, where known.
type Changes<'t> = BTreeMap<(&'t str, Change), Option<u64>>;

/// Announces what the jobs of a script will write to and trim on each target, with the amount where
/// known, since it wears drives and destroys data.
pub(crate) fn script(
    script: &Script,
    targets: &[PreparedTarget],
    host: &Host,
    claims: &ClaimBook,
) -> Vec<String> {
    let mut known = Changes::new();
    for job in script.phases.iter().flat_map(|phase| &phase.jobs).map(|job| &job.job) {
        let targets: Vec<&PreparedTarget> =
            job.files.paths.iter().filter_map(|path| target_of(targets, path)).collect();
        for change in [Change::Write, Change::Trim] {
            let of_job = change.share_of(job);
            if of_job == 0.0 {
                continue;
            }
            let rooms = targets.iter().map(|ready| ready.room).collect();
            let bytes = planned_bytes(job, rooms).map(|bytes| (bytes as f64 * of_job) as u64);
            for ready in &targets {
                let share = bytes.map(|bytes| bytes / targets.len() as u64);
                let sum = known.entry((&ready.name, change)).or_insert(Some(0));
                *sum = sum.zip(share).map(|(sum, share)| sum + share);
            }
        }
    }
    let sentence = |((target, change), bytes): ((&str, Change), Option<u64>)| {
        let name = targets.iter().find(|ready| ready.name == target);
        let drive = name.and_then(|ready| host.drive(ready.drive.as_deref()?));
        let share = bytes.zip(drive).map(|(bytes, drive)| endurance(bytes, drive, claims));
        change.sentence(bytes, target, &share.unwrap_or_default())
    };
    let (files, mut sentences) = in_directories(&known);
    let others = known.into_iter().filter(|(key, _)| !files.contains(key));
    sentences.extend(others.map(sentence));
    sentences
}

/// Files that share a directory with many others, and one sentence for each such directory.
fn in_directories<'t>(known: &Changes<'t>) -> (BTreeSet<(&'t str, Change)>, Vec<String>) {
    let mut directories: BTreeMap<(&Path, Change), Vec<(&'t str, Change)>> = BTreeMap::new();
    for (target, change) in known.keys() {
        if let Some(directory) = Path::new(*target).parent().filter(|path| path.is_absolute()) {
            directories.entry((directory, *change)).or_default().push((target, *change));
        }
    }
    directories.retain(|_, files| files.len() > MOST_FILES_NAMED);
    let sentence = |((directory, change), files): (&(&Path, Change), &Vec<_>)| {
        let bytes = files.iter().map(|file| known[file]).sum::<Option<u64>>();
        let files = format!("{} files in {}", files.len(), directory.display());
        change.sentence(bytes, &files, "")
    };
    let sentences = directories.iter().map(sentence).collect();
    (directories.into_values().flatten().collect(), sentences)
}

/// Share of the rated endurance (TBW of the data sheet) that `bytes` use, as part of a sentence;
/// empty if unknown.
pub(crate) fn endurance(bytes: u64, drive: &Drive, claims: &ClaimBook) -> String {
    let Some(terabytes) = claim_of(claims, drive).and_then(|claim| claim.tbw_tb) else {
        return String::new();
    };
    let percent = bytes as f64 / (terabytes * 1e12) * 100.0;
    let rated = Bytes((terabytes * 1e12) as u64).decimal();
    format!(", {percent:.2} % of the {rated} rated by its data sheet")
}

/// Total bytes of the jobs, where independent of their speed.
pub(crate) fn work_bytes(jobs: &[ClearedJob<'_>]) -> Option<u64> {
    let rooms = |job: &ClearedJob<'_>| job.files.iter().map(|file| room(file.read())).collect();
    jobs.iter().map(|job| planned_bytes(&job.job, rooms(job))).sum()
}

fn target_of<'t>(targets: &'t [PreparedTarget], path: &str) -> Option<&'t PreparedTarget> {
    let canonical = std::fs::canonicalize(path).ok()?.display().to_string();
    targets.iter().find(|ready| {
        ready.name == canonical || canonical.strip_prefix("/dev/") == Some(ready.name.as_str())
    })
}

/// Total bytes of a job, where independent of its speed.
fn planned_bytes(job: &Job, rooms: Vec<Room>) -> Option<u64> {
    if let Some(trace) = &job.replay.trace {
        return Some(trace.trace.read_bytes + trace.trace.write_bytes);
    }
    if job.time.time_based || job.time.runtime_ns.is_some() {
        return None;
    }
    Some(Stream::new(job, &rooms, 0, 0).ok()?.planned()?.bytes)
}

/// Share of a job's bytes that are writes, 0..1.
pub(crate) fn written_of(job: &Job) -> f64 {
    let rw = job.pattern.rw;
    if let Some(of) = job.replay.trace.as_ref().map(|trace| &trace.trace) {
        let all = (of.read_bytes + of.write_bytes).max(1);
        return of.write_bytes as f64 / all as f64;
    }
    match (rw.has(Direction::Write), rw.has(Direction::Read)) {
        (false, _) => 0.0,
        (true, true) => 1.0 - f64::from(job.pattern.rwmixread_percent.min(100)) / 100.0,
        (true, false) if rw.trims_and_writes() => 0.5,
        (true, false) => 1.0,
    }
}
