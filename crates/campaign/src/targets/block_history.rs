//! Finds out which blocks in the range read by a phase were ever written, from samples and from
//! what this run and earlier preparations did.

use iodyno_job::{Amount, Extent, Region, Room, Stream};
use iodyno_load::ClearedJob;
use iodyno_model::{Direction, Host, Origin, PreparationState, WrittenEvidence};
use iodyno_target::ReadClearance;

use super::accounting::Accounting;
use super::prepared::{PreparedTarget, key_of, room};
use super::written::{self, Written};
use crate::tools::Tools;
use crate::watch::Event;

/// Time limit of sampling, ns, however few blocks were read.
const SAMPLING_NS: u64 = 10_000_000_000;
/// A range of at least this share of a target counts as all of it.
const ALL: f64 = 0.99;

/// Writes and trims of a run on its targets, and what is known of their blocks.
#[derive(Debug)]
pub(crate) struct BlockHistory {
    /// Number of blocks to sample for whether they were ever written; 0: none.
    samples: u32,
    /// Derived from the run's id: each run samples other blocks, reproducibly.
    seed: u64,
    /// A simulated drive is unrelated to the file that stands for it.
    is_simulated: bool,
    changes: Vec<Change>,
    found: Vec<Found>,
}

/// Range that a phase wrote or trimmed.
#[derive(Debug)]
struct Change {
    target: String,
    extent: Extent,
    is_trim: bool,
}

#[derive(Debug)]
struct Found {
    target: String,
    extent: Extent,
    /// Number of changes before it.
    changes: usize,
    written: Written,
}

impl BlockHistory {
    /// Of a run that has changed nothing yet.
    pub(crate) fn new(samples: u32, run_id: &str, origin: &Origin) -> Self {
        let seed = run_id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let is_simulated = *origin != Origin::Measured;
        Self { samples, seed, is_simulated, changes: Vec::new(), found: Vec::new() }
    }

    /// Notes the ranges that `jobs` changed.
    pub(crate) fn add(&mut self, jobs: &[ClearedJob<'_>]) {
        let targets = jobs.iter().flat_map(|job| &job.files).map(|file| file.read().name());
        for target in targets.collect::<std::collections::BTreeSet<_>>() {
            for job in jobs.iter().filter(|job| job.job.writes()) {
                if let Some(extent) = touched_range(std::slice::from_ref(job), target) {
                    let is_trim = !job.job.pattern.rw.has(Direction::Write);
                    self.changes.push(Change { target: target.to_owned(), extent, is_trim });
                }
            }
        }
    }

    /// True if the run trimmed all of a range and wrote nothing there since.
    fn is_trimmed(&self, target: &str, extent: Extent) -> bool {
        let mut own = self.changes.iter().rev().filter(|change| change.target == target);
        own.find(|change| overlap(change.extent, extent))
            .is_some_and(|last| last.is_trim && contains(last.extent, extent))
    }
}

fn end(extent: Extent) -> u64 {
    extent.offset.saturating_add(extent.length)
}

fn overlap(a: Extent, b: Extent) -> bool {
    a.offset < end(b) && b.offset < end(a)
}

fn contains(outer: Extent, inner: Extent) -> bool {
    outer.offset <= inner.offset && end(inner) <= end(outer)
}

/// Ranges that a job may touch, with the names of its files; `None` if it does not fit them.
pub(crate) fn touched_ranges<'j>(job: &'j ClearedJob<'_>) -> Option<Vec<(&'j str, Extent)>> {
    let rooms: Vec<Room> = job.files.iter().map(|file| room(file.read())).collect();
    let stream = Stream::new(&job.job, &rooms, 0, 0).ok()?;
    let range = |region: &Region| {
        let file = job.files.get(usize::from(region.file))?;
        Some((file.read().name(), Extent { offset: region.offset, length: region.length }))
    };
    stream.regions().iter().map(range).collect()
}

/// Range of `target` from the first to the last byte that `jobs` may touch.
fn touched_range(jobs: &[ClearedJob<'_>], target: &str) -> Option<Extent> {
    let mut all: Option<Extent> = None;
    for job in jobs {
        let touched = touched_ranges(job).unwrap_or_default();
        for (_, own) in touched.into_iter().filter(|(name, _)| *name == target) {
            let (from, to) = match all {
                Some(all) => (all.offset.min(own.offset), end(all).max(end(own))),
                None => (own.offset, end(own)),
            };
            all = Some(Extent { offset: from, length: to - from });
        }
    }
    all.filter(|all| all.length > 0)
}

impl BlockHistory {
    /// Finds out which blocks of a target were ever written; only in the range that `job` reads, if
    /// that is a part of it.
    pub(crate) fn sample_for_job(
        &mut self,
        tools: &mut Tools<'_>,
        host: &Host,
        target: &mut PreparedTarget,
        job: &ClearedJob<'_>,
    ) {
        let [file] = job.files.as_slice() else { return };
        if std::mem::replace(&mut target.is_sampled, true) {
            return;
        }
        self.sample(tools, host, target, file.read());
        let space = &job.job.space;
        let is_part = space.size.is_some() || space.offset != Amount::Bytes(0);
        if is_part && job.job.pattern.rw.has(Direction::Read) {
            target.written.iter_mut().for_each(|written| written.extents.clear());
            let found = self.read_by(tools, host, std::slice::from_ref(job), target);
            target.written = found.or(target.written.take());
        }
    }

    /// Finds out which blocks of a target were ever written.
    pub(crate) fn sample(
        &self,
        tools: &mut Tools<'_>,
        host: &Host,
        target: &mut PreparedTarget,
        clearance: &ReadClearance,
    ) {
        if target.written.is_some() || self.samples == 0 {
            return;
        }
        tools.watcher.event(&Event::Sampling { target: &target.name });
        let size = clearance.size_bytes();
        if !self.is_simulated
            && let Some(data) = clearance.data_extents(written::MOST_EXTENTS)
        {
            target.written = Some(written::of_file(&target.name, size, &data));
            return;
        }
        let block_bytes = u64::from(clearance.block_bytes()).max(4096);
        let offsets = written::sample_offsets(size, block_bytes, self.samples, self.seed);
        // 4096 reads at depth 1 take less than a second on an SSD; a slow device gets limited time
        // and a wider interval.
        let samples = tools.generator.probe(clearance, &offsets, block_bytes as u32, SAMPLING_NS);
        match samples {
            Ok(samples) => {
                let whole = Extent { offset: 0, length: size };
                let accounting = Accounting::of(host, &target.name);
                let sampled = written::infer(&target.name, size, &samples, accounting);
                target.written = Some(match self.emptied_by(tools, host, target, whole) {
                    Some(evidence) => written::emptied(&sampled.share, evidence),
                    None => sampled,
                });
                target.samples = samples;
            }
            Err(error) => {
                let why = error.to_string();
                tools.watcher.event(&Event::Warning(&format!(
                    "{why}: unknown which blocks were ever written"
                )));
                target.lost = Some(why);
            }
        }
    }

    /// Knowledge of the blocks of `target` that `jobs` will read; `None` if no more than of the
    /// whole target.
    pub(crate) fn read_by(
        &mut self,
        tools: &mut Tools<'_>,
        host: &Host,
        jobs: &[ClearedJob<'_>],
        target: &PreparedTarget,
    ) -> Option<Written> {
        let reading: Vec<ClearedJob<'_>> =
            jobs.iter().filter(|job| job.job.pattern.rw.has(Direction::Read)).cloned().collect();
        let extent = touched_range(&reading, &target.name).filter(|_| self.samples > 0)?;
        let whole = target.written.as_ref().filter(|_| !target.scratch)?;
        let changes = self.changes.iter().filter(|one| one.target == target.name).count();
        let is_all = extent.length as f64 >= ALL * target.room.size_bytes as f64;
        if changes == 0 && is_all {
            return None;
        }
        let known = self.found.iter().rev().find(|found| {
            found.target == target.name && found.extent == extent && found.changes == changes
        });
        if let Some(found) = known {
            return Some(found.written.clone());
        }
        let mut files = reading.iter().flat_map(|job| &job.files).map(|file| file.read());
        let clearance = files.find(|file| file.name() == target.name)?;
        let written =
            self.sample_range(tools, host, (target, clearance), extent, changes > 0, whole)?;
        let found =
            Found { target: target.name.clone(), extent, changes, written: written.clone() };
        self.found.push(found);
        Some(written)
    }

    fn sample_range(
        &self,
        tools: &mut Tools<'_>,
        host: &Host,
        (target, clearance): (&PreparedTarget, &ReadClearance),
        extent: Extent,
        is_changed: bool,
        whole: &Written,
    ) -> Option<Written> {
        if !self.is_simulated
            && let Some(data) = clearance.data_extents(written::MOST_EXTENTS)
        {
            let inside = data.into_iter().filter_map(|(offset, length)| {
                let from = offset.max(extent.offset);
                let to = (offset + length).min(end(extent));
                (to > from).then_some((from, to - from))
            });
            let inside: Vec<(u64, u64)> = inside.collect();
            let mut found = written::of_file(&target.name, extent.length, &inside);
            // The job chooses the offsets.
            found.extents.clear();
            return Some(found);
        }
        if let Some(evidence) = self.emptied_by(tools, host, target, extent) {
            return Some(written::emptied(&whole.share, evidence));
        }
        let block_bytes = u64::from(clearance.block_bytes()).max(4096);
        let mut offsets =
            written::sample_offsets(extent.length, block_bytes, self.samples, self.seed);
        let first = extent.offset.next_multiple_of(block_bytes);
        offsets.iter_mut().for_each(|offset| *offset += first);
        offsets.retain(|offset| offset + block_bytes <= end(extent));
        let samples = tools.generator.probe(clearance, &offsets, block_bytes as u32, SAMPLING_NS);
        // The device's own figures are older than the changes.
        let accounting = match is_changed {
            true => Accounting::default(),
            false => Accounting::of(host, &target.name),
        };
        Some(written::infer_range(&target.name, &samples.ok()?, &target.samples, accounting))
    }

    /// What emptied a range of a target, if it holds no data now.
    fn emptied_by(
        &self,
        tools: &Tools<'_>,
        host: &Host,
        target: &PreparedTarget,
        extent: Extent,
    ) -> Option<WrittenEvidence> {
        if self.is_trimmed(&target.name, extent) {
            return Some(WrittenEvidence::Trimmed);
        }
        if self.changes.iter().any(|one| one.target == target.name) {
            return None;
        }
        let (serial, nsid) = key_of(&target.name, host)?;
        let state = tools.store.newest_drive_state(&serial, nsid).ok()??;
        let (drive, _) = host.namespace(&target.name)?;
        let now = drive.health.get()?.host_written_bytes;
        let is_empty = state.state == PreparationState::Done
            && state.fill.is_none()
            && state.condition.is_none()
            && state.host_written_bytes == Some(now);
        let method = state.purge.filter(|_| is_empty)?;
        Some(WrittenEvidence::Purged { method })
    }
}
