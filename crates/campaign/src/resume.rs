//! A run that goes on: what of it is there, and whether the drives are still
//! those that it was measured on.

use std::collections::BTreeMap;

use iodyno_model::{Bytes, Drive, EndReason, Fact, Host, Rounds, RunRecord};

use crate::rounds::convergence;
use crate::study::Point;

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
    /// themselves, and those that failed, which may work by now. Of `rounds`
    /// none behind the one with which they were over.
    pub fn of(
        record: &RunRecord,
        points: Vec<Point>,
        rounds: Option<&Rounds>,
    ) -> (Self, Vec<Point>) {
        let mut done: BTreeMap<(&str, &str, Option<u32>), u32> = BTreeMap::new();
        for of in &record.measurements {
            let ended = !matches!(of.end, EndReason::Interrupted | EndReason::Failed(_));
            if let (true, [target]) = (ended, of.targets.as_slice()) {
                *done.entry((&of.name, target, of.round)).or_default() += 1;
            }
        }
        let mut over: BTreeMap<String, Option<u32>> = BTreeMap::new();
        let left = points.into_iter().filter(|point| {
            if let (Some(rounds), Some(round)) = (rounds, point.round) {
                let over = over
                    .entry(point.target.clone())
                    .or_insert_with(|| convergence(rounds, record, point).over_in());
                if over.is_some_and(|over| round > over) {
                    return false;
                }
            }
            let known = done.iter_mut().find(|((name, target, round), count)| {
                **count > 0 && *name == point.title && *round == point.round && is_at(target, point)
            });
            match known {
                Some((_, count)) => {
                    *count -= 1;
                    false
                }
                None => true,
            }
        });
        let left = left.collect();
        let phases = record.measurements.iter().map(|of| of.phase).max().unwrap_or(0);
        (Self { run_id: record.run.id.clone(), phases }, left)
    }
}

/// Whether a measurement on `target` (a device's name or a path) is one of the
/// point's: as it was typed, below /dev, or a file of its own in a directory.
pub(crate) fn is_at(target: &str, point: &Point) -> bool {
    let typed = point.target.as_str();
    let resolved = std::fs::canonicalize(typed).ok();
    let resolved = resolved.as_deref().and_then(|path| path.to_str()).unwrap_or(typed);
    [typed, resolved].iter().any(|name| {
        target == *name
            || name.strip_prefix("/dev/") == Some(target)
            || (point.own_file && target.starts_with(name))
    })
}

/// What is not as it was when the run was left, in sentences.
///
/// # Errors
/// A drive that the run was measured on is gone, or is another one.
pub fn differences(record: &RunRecord, now: &Host) -> Result<Vec<String>, String> {
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
