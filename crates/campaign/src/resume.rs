//! A run that goes on: what of it is there, and whether the drives are still
//! those that it was measured on.

use std::collections::BTreeMap;

use iodyno_model::{Bytes, Drive, EndReason, Fact, Host, RunRecord};

use crate::rounds::{convergences, over_in};
use crate::scaling::growth;
use crate::study::{Point, Study};

/// More bytes than this written by the drive's own count since the run was
/// left are somebody else's: 1 GiB, what a file system may do while it rests.
const FOREIGN_BYTES: u128 = 1 << 30;

/// A run that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// Its id.
    pub run_id: String,
    /// Phases that it has.
    pub phases: u32,
}

impl Resumed {
    /// What of `points` is still to be measured: those that did not end by
    /// themselves, and those that failed, which may work by now. None behind the
    /// round with which they were over, nor on more drives than bring something.
    pub fn of(record: &RunRecord, points: Vec<Point>, study: &Study) -> (Self, Vec<Point>) {
        let mut done: Done<'_> = BTreeMap::new();
        for of in &record.measurements {
            if !matches!(of.end, EndReason::Interrupted | EndReason::Failed(_)) {
                *done.entry((&of.name, &of.targets, of.round)).or_default() += 1;
            }
        }
        let mut over: BTreeMap<Vec<String>, Option<u32>> = BTreeMap::new();
        let left = points.into_iter().filter(|point| {
            if let (Some(rounds), Some(round)) = (&study.rounds, point.round) {
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
            !is_done(&mut done, point)
        });
        let left = left.collect();
        let phases = record.measurements.iter().map(|of| of.phase).max().unwrap_or(0);
        (Self { run_id: record.run.id.clone(), phases }, left)
    }
}

/// A name, targets and a round.
type Key<'r> = (&'r str, &'r [String], Option<u32>);
/// How many measurements there are of it that no point was found for yet.
type Done<'r> = BTreeMap<Key<'r>, u32>;

/// Takes what `point` came to, as one or on each of its targets, out of `done`,
/// if it is there.
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

/// What `point` came to on these of its targets.
fn find<'r>(done: &Done<'r>, point: &Point, targets: &[String]) -> Option<Key<'r>> {
    let is_it = |key: &Key<'_>| {
        let (name, at, round) = *key;
        let is_there = |(at, typed): (&String, &String)| is_at(at, typed, point.own_file);
        name == point.title
            && round == point.round
            && at.len() == targets.len()
            && at.iter().zip(targets).all(is_there)
    };
    done.iter().find(|(key, count)| **count > 0 && is_it(key)).map(|(key, _)| *key)
}

/// Whether a measurement on `target` (a device's name or a path) is one of the
/// target that was `typed`: so, below /dev, or a file of its own in a directory.
pub(crate) fn is_at(target: &str, typed: &str, own_file: bool) -> bool {
    let resolved = std::fs::canonicalize(typed).ok();
    let resolved = resolved.as_deref().and_then(|path| path.to_str()).unwrap_or(typed);
    [typed, resolved].iter().any(|name| {
        target == *name
            || name.strip_prefix("/dev/") == Some(target)
            || (own_file && target.starts_with(name))
    })
}

/// What is not as it was when the run was left, in sentences; `prepares`: its
/// plan prepares the drives.
///
/// # Errors
/// A drive that the run was measured on is gone, is another one, or is not any
/// more what the run made of it.
pub fn differences(record: &RunRecord, now: &Host, prepares: bool) -> Result<Vec<String>, String> {
    let (Some(first), Some(last)) = (record.host(), record.host_after()) else {
        return Ok(Vec::new());
    };
    let mut said = Vec::new();
    if differ(&first.kernel.release, &now.kernel.release) {
        said.push("the kernel is another one than it was".into());
    }
    for target in &record.run.targets {
        let Some((before, namespace)) = first.namespace(target) else { continue };
        let Some((drive, same)) = now.namespace(target) else {
            return Err(format!("{target} is not there any more"));
        };
        if differ(&before.serial, &drive.serial) {
            return Err(format!("{target} is another drive: its serial number is not what it was"));
        }
        if differ(&namespace.size, &same.size) {
            return Err(format!("{target} has another size than it had"));
        }
        if differ(&before.firmware, &drive.firmware) {
            said.push(format!("{target}: its firmware is another one than it was"));
        }
        let link = |host: &Host, drive: &Drive| {
            let links = drive.links.iter().filter_map(|address| host.link(address));
            links.map(|link| link.current.value()).collect::<Vec<_>>()
        };
        if link(first, before) != link(now, drive) {
            said.push(format!("{target}: its link runs otherwise than it did"));
        }
        let written = |host: &Host| {
            let (drive, _) = host.namespace(target)?;
            drive.health.get().map(|health| health.host_written_bytes)
        };
        let since = written(now).zip(written(last)).map(|(now, then)| now.saturating_sub(then));
        if let Some(bytes) = since.filter(|bytes| *bytes > FOREIGN_BYTES) {
            let bytes = Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)).binary();
            // Of a run that was killed nobody counted what it wrote itself.
            if prepares && record.run.ended_ns.is_some() {
                return Err(format!(
                    "{target}: {bytes} were written by others since the run was left, so its \
                     preparation has to be repeated, by a run of its own"
                ));
            }
            said.push(format!(
                "{target}: {bytes} were written since the run was left; where its state matters, \
                 prepare it again"
            ));
        }
    }
    Ok(said)
}

/// Both are known and are not the same.
fn differ<T: PartialEq>(a: &Fact<T>, b: &Fact<T>) -> bool {
    a.get().zip(b.get()).is_some_and(|(a, b)| a != b)
}
