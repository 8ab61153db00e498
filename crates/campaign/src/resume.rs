//! Resumes a run: finds the points that are left, and checks that the drives are unchanged.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Direction, DiskStats, Drive, EndReason, Fact, Host, Measurement,
    RunRecord, RunState, SkipReason, distinct,
};

use crate::plan::{Point, Refusal, Study, divided};
use crate::schedule::{convergences, growth, over_in};
use crate::target_names::{are_same_targets, is_same_target};
use crate::tools::Resumed;

/// Bytes written since the run stopped, by the device's own counter, above which others must have
/// written: 1 GiB, which a file system may write while idle.
const FOREIGN_BYTES: u128 = 1 << 30;

impl Resumed {
    /// The `points` still to be measured: those not measured, interrupted ones, and failed ones,
    /// which may work by now. Excludes points after the last round needed, and on more drives than
    /// bring a gain.
    pub fn of(record: &RunRecord, points: Vec<Point>, study: &Study) -> (Self, Vec<Point>) {
        let mut done: Done<'_> = BTreeMap::new();
        for of in &record.measurements {
            if !matches!(of.end, EndReason::Interrupted | EndReason::Failed(_)) {
                *done.entry((&of.name, &of.targets, of.round)).or_default() += 1;
            }
        }
        let mut over: BTreeMap<Vec<String>, Option<u32>> = BTreeMap::new();
        let mut last: BTreeMap<Vec<String>, u32> = BTreeMap::new();
        let left = points.into_iter().filter(|point| {
            if let (Some(rounds), Some(round)) = (&study.rounds, point.round) {
                // Rounds follow each other: an earlier one cannot be completed any more.
                let begun = || begun(&record.measurements, point);
                if round < *last.entry(point.targets.clone()).or_insert_with(begun) {
                    return false;
                }
                let found = || convergences(rounds, record.host(), &record.measurements, point);
                let over = over.entry(point.targets.clone()).or_insert_with(|| over_in(&found()));
                if over.is_some_and(|over| round > over) {
                    return false;
                }
            }
            if let Some(scaling) = &study.scaling {
                let growth = growth(scaling, &record.measurements, point);
                if growth.stopped_at.is_some_and(|drives| point.targets.len() > drives) {
                    return false;
                }
            }
            if study.headroom.is_some() {
                return !study.is_headroom_known(point, &record.measurements);
            }
            !is_done(&mut done, point)
        });
        let left = left.collect();
        let phases = record.measurements.iter().map(|of| of.phase).max().unwrap_or(0);
        (Self { run_id: record.run.id.clone(), phases, is_partial: false }, left)
    }
}

impl Study {
    /// What a stopped run did not begin, each with its targets; nothing of rounds, headroom,
    /// predictions and scaling, where results decide what follows.
    pub fn not_begun(&self, record: &RunRecord) -> Vec<(String, Vec<String>)> {
        let run = &record.run;
        let is_open = self.rounds.is_some() || self.headroom.is_some() || self.scaling.is_some();
        if run.state != RunState::Interrupted || is_open || self.adaptive {
            return Vec::new();
        }
        let has_begun = |title: &str, targets: &[String], own_file: bool| {
            let mut all = record.measurements.iter().filter(|of| of.name == title);
            all.any(|of| are_same_targets(&of.targets, targets, own_file))
        };
        // A target of which only what writes was skipped is used.
        let is_used = |target: &&String| {
            let mut own = run.skipped.iter().filter(|one| one.target == **target);
            own.all(|one| matches!(one.why, SkipReason::NotPermitted { .. }))
        };
        if self.is_of_steps() {
            let steps = self.target_steps().unwrap_or_default();
            let used: Vec<String> = run.targets.iter().filter(is_used).cloned().collect();
            let [each, together] = divided(&steps, used.len());
            let alone =
                used.iter().flat_map(|target| each.iter().map(|n| (*n, vec![target.clone()])));
            let all = alone.chain(together.into_iter().map(|n| (n, used.clone())));
            let all = all.map(|(n, targets)| (steps[n].name.clone(), targets));
            return all.filter(|(title, targets)| !has_begun(title, targets, false)).collect();
        }
        let may_write = run.not_permitted() == 0;
        let left = self.located(&run.targets).points(0).into_iter().filter(|point| {
            (may_write || !point.writes())
                && point.targets.iter().all(|target| is_used(&target))
                && !has_begun(&point.title, &point.targets, point.own_file)
        });
        // As the run calls them.
        let name = |typed: &String, own_file| {
            let called = run.targets.iter().find(|of| is_same_target(of, typed, own_file));
            called.unwrap_or(typed).clone()
        };
        distinct(left.map(|point| {
            let targets = point.targets.iter().map(|typed| name(typed, point.own_file));
            (point.title, targets.collect())
        }))
    }
}

/// The last round that began on one of the targets of `point`; 0: none.
fn begun(measurements: &[Measurement], point: &Point) -> u32 {
    let is_of = |of: &&Measurement| {
        let mut pairs =
            of.targets.iter().flat_map(|at| point.targets.iter().map(move |to| (at, to)));
        pairs.any(|(at, to)| is_same_target(at, to, point.own_file))
    };
    let rounds = measurements.iter().filter(is_of).filter_map(|of| of.round);
    rounds.max().unwrap_or(0)
}

/// Name, targets and round.
type Key<'r> = (&'r str, &'r [String], Option<u32>);
/// Number of measurements that are not matched to a point yet.
type Done<'r> = BTreeMap<Key<'r>, u32>;

/// Removes the measurements of `point`, as one or on each of its targets, from `done`, if all are
/// there.
fn is_done(done: &mut Done<'_>, point: &Point) -> bool {
    let found = match find(done, point, &point.targets) {
        Some(whole) => Some(vec![whole]),
        None => point.targets.chunks(1).map(|target| find(done, point, target)).collect(),
    };
    for key in found.iter().flatten() {
        done.entry(*key).and_modify(|count| *count -= 1);
    }
    found.is_some()
}

/// Measurement of `point` on these of its targets.
fn find<'r>(done: &Done<'r>, point: &Point, targets: &[String]) -> Option<Key<'r>> {
    let is_it = |key: &Key<'_>| {
        let (name, at, round) = *key;
        name == point.title && round == point.round && are_same_targets(at, targets, point.own_file)
    };
    done.iter().find(|(key, count)| **count > 0 && is_it(key)).map(|(key, _)| *key)
}

/// Differences of the host since the run stopped, in sentences.
///
/// # Errors
/// A device of the run is missing, or was replaced by another one.
pub fn differences(record: &RunRecord, now: &Host) -> Result<Vec<String>, Refusal> {
    let Some(first) = record.host() else { return Ok(Vec::new()) };
    let mut messages = Vec::new();
    if differ(&first.kernel.release, &now.kernel.release) {
        messages.push("the kernel has changed".into());
    }
    for target in &targets_of(record) {
        for name in disks_of(first, target) {
            if let Some(what) = replaced(first, now, name) {
                return Err(format!("{name} {what}").into());
            }
        }
        let Some((before, _)) = first.namespace(target) else { continue };
        let Some((drive, _)) = now.namespace(target) else { continue };
        if differ(&before.firmware, &drive.firmware) {
            messages.push(format!("{target}: its firmware has changed"));
        }
        let link = |host: &Host, drive: &Drive| {
            let links = drive.links.iter().filter_map(|address| host.link(address));
            links.map(|link| link.current.value()).collect::<Vec<_>>()
        };
        if link(first, before) != link(now, drive) {
            messages.push(format!("{target}: its link has changed"));
        }
    }
    Ok(messages)
}

/// Refuses files that are gone, larger or smaller since `points` without a size of their own were
/// measured on them: of another file of the same size nothing is known.
///
/// # Errors
/// There is such a file.
pub fn refuse_resized(record: &RunRecord, points: &[Point]) -> Result<(), Refusal> {
    let is_sized = |point: &Point| {
        ["size", "filesize", "offset"].iter().any(|name| point.option(name).is_some())
    };
    for of in &record.measurements {
        let ([target], Some(size)) = (of.targets.as_slice(), of.workload.size) else { continue };
        let is_whole = |point: &&Point| {
            let is_it = point.title == of.name && !point.own_file && !is_sized(point);
            is_it && are_same_targets(&of.targets, &point.targets, false)
        };
        let now = match std::fs::metadata(target) {
            Ok(file) if file.is_file() && file.len() != size => {
                format!("has {}", Bytes(file.len()).binary())
            }
            Err(error) if error.kind() == ErrorKind::NotFound && target.starts_with('/') => {
                "is gone".into()
            }
            _ => continue,
        };
        if points.iter().any(|point| is_whole(&point)) {
            let then = Bytes(size).binary();
            return Err(format!("{target} had {then} when it was measured, and {now}").into());
        }
    }
    Ok(())
}

/// Targets of a run, also of a killed one.
fn targets_of(record: &RunRecord) -> Vec<String> {
    let measured = record.measurements.iter().flat_map(|of| &of.targets);
    distinct(record.run.targets.iter().chain(measured).cloned())
}

/// `target`, and the disk that it is a partition of; none for a file.
fn disks_of<'h>(host: &'h Host, target: &'h str) -> impl Iterator<Item = &'h str> {
    let block = host.block(target);
    let is_part = |block: &&BlockDevice| block.kind == BlockKind::Partition;
    let disk = block.filter(is_part).and_then(|part| part.stands_on.first());
    let itself = block.is_some() || host.namespace(target).is_some();
    itself.then_some(target).into_iter().chain(disk.map(String::as_str))
}

/// What has become of the device `name` if it is no longer the same one.
fn replaced(first: &Host, now: &Host, name: &str) -> Option<&'static str> {
    const OTHER: Option<&str> = Some("is another device");
    if let Some((before, namespace)) = first.namespace(name) {
        let Some((drive, same)) = now.namespace(name) else { return Some("no longer exists") };
        if differ(&before.serial, &drive.serial) {
            return Some("is another drive: its serial number has changed");
        }
        if differ(&namespace.size, &same.size) {
            return Some("has changed in size");
        }
        return differ(&namespace.wwid, &same.wwid).then_some("is another namespace");
    }
    let before = first.block(name)?;
    let Some(same) = now.block(name) else { return Some("no longer exists") };
    let is_other = match (&before.kind, &same.kind) {
        (
            BlockKind::Loop { backing_file, backing },
            BlockKind::Loop { backing_file: file, backing: its },
        ) => match backing.get().zip(its.get()) {
            // Numbers of file systems may change with a boot.
            Some((then, now)) => (then.inode, then.offset_bytes) != (now.inode, now.offset_bytes),
            None => backing_file.as_ref().zip(file.as_ref()).is_some_and(|(then, now)| then != now),
        },
        (BlockKind::DeviceMapper(mapped), BlockKind::DeviceMapper(other)) => {
            before.unique_id.get().is_none() && mapped.name != other.name
        }
        _ => false,
    };
    if is_other || differ(&before.unique_id, &same.unique_id) || differ(&before.model, &same.model)
    {
        return OTHER;
    }
    (differ(&before.size, &same.size) || differ(&before.start, &same.start))
        .then_some("has changed in size or place")
}

/// A killed run may have written this many times faster than measured: a mean hides peaks.
const FASTER: f64 = 2.0;

/// Rest of a study.
#[derive(Debug, Clone, Copy)]
pub struct Left<'a> {
    /// The study.
    pub study: &'a Study,
    /// Points still to be measured.
    pub points: &'a [Point],
    /// The preparation is not finished.
    pub prepares: bool,
}

impl Left<'_> {
    /// Most bytes that the run itself wrote to a drive since its last snapshot; `None` if unknown.
    fn own_bytes(&self, record: &RunRecord) -> Option<u128> {
        if record.run.ended_ns.is_some() {
            return Some(0);
        }
        if self.prepares {
            return None;
        }
        // It was killed in one of the points that are left.
        let max_ns = self.study.stop().ok()?.max_ns;
        let lasts = |point: &Point| match point.until_known {
            true => Some(max_ns),
            false => point.runtime_ns(),
        };
        let writing = self.points.iter().filter(|point| point.writes());
        let all_ns: Vec<u64> = writing.map(lasts).collect::<Option<_>>()?;
        let Some(longest_ns) = all_ns.into_iter().max() else { return Some(0) };
        let written = record.measurements.iter().filter_map(|of| of.result(Direction::Write));
        let rates = written.filter_map(|result| Some(result.bandwidth?.value));
        let fastest = rates.filter(|rate| rate.is_finite()).reduce(f64::max)?;
        Some((FASTER * fastest * longest_ns as f64 / 1e9) as u128)
    }
}

/// Bytes written to the devices since the run stopped, by their own or the kernel's counters, in
/// sentences.
///
/// # Errors
/// A drive that the run prepared was written by others since.
pub fn writes_since_stop(
    record: &RunRecord,
    now: &Host,
    left: &Left<'_>,
) -> Result<Vec<String>, Refusal> {
    let Some(last) = record.host_after() else { return Ok(Vec::new()) };
    let mut messages = Vec::new();
    for target in &targets_of(record) {
        let written = |host: &Host| match host.namespace(target) {
            Some((drive, _)) => drive.health.get().map(|health| health.host_written_bytes),
            // Counted since boot: less was written than since the run stopped if it was later.
            None => DiskStats::of(&host.disk_stats, target).map(|of| of.written_bytes.into()),
        };
        let since = written(now).zip(written(last)).map(|(now, then)| now.saturating_sub(then));
        let Some(bytes) = since.filter(|bytes| *bytes > FOREIGN_BYTES) else { continue };
        let own = left.own_bytes(record).filter(|_| left.study.preparation.is_some());
        let is_foreign = own.is_some_and(|own| bytes.saturating_sub(own) > FOREIGN_BYTES);
        let bytes = Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)).binary();
        if is_foreign {
            return Err(format!(
                "{target}: {bytes} were written since the run stopped, more than its own writes, so its preparation has to be repeated, in a new run"
            )
            .into());
        }
        messages.push(format!(
            "{target}: {bytes} were written since the run stopped; if its state matters, prepare it again"
        ));
    }
    Ok(messages)
}

/// True if both are known and differ.
fn differ<T: PartialEq>(a: &Fact<T>, b: &Fact<T>) -> bool {
    a.get().zip(b.get()).is_some_and(|(a, b)| a != b)
}
