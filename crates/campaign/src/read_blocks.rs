//! Whether the blocks that a phase is about to read were ever written: the
//! range that its jobs read is looked at, and what this run and earlier
//! preparations did to it counts.

use iodyno_job::{Extent, Room, Stream};
use iodyno_load::ClearedJob;
use iodyno_model::{Direction, Origin, PreparationState};

use crate::bench::Ready;
use crate::error::CampaignError;
use crate::execute::{Campaign, SAMPLING_NS};
use crate::preparation::key_of;
use crate::written::{self, Written};

/// A range of at least this share of a target is all of it.
const ALL: f64 = 0.99;

/// What a run did to stretches of its targets, and what it found there.
#[derive(Debug, Default)]
pub(crate) struct BlockHistory {
    changes: Vec<Change>,
    found: Vec<Found>,
}

/// A stretch that a phase wrote or trimmed.
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
    /// How many changes there had been.
    changes: usize,
    written: Written,
}

impl BlockHistory {
    /// Takes down what `jobs` changed.
    pub(crate) fn add(&mut self, jobs: &[ClearedJob<'_>]) {
        let targets = jobs.iter().flat_map(|job| &job.files).map(|file| file.read().name());
        for target in targets.collect::<std::collections::BTreeSet<_>>() {
            for job in jobs.iter().filter(|job| job.job.writes()) {
                if let Some(extent) = touched(std::slice::from_ref(job), target) {
                    let is_trim = !job.job.pattern.rw.has(Direction::Write);
                    self.changes.push(Change { target: target.to_owned(), extent, is_trim });
                }
            }
        }
    }

    /// The run trimmed all of a stretch and wrote nothing there since.
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

/// The stretch of `target` from the first to the last byte that `jobs` may touch.
fn touched(jobs: &[ClearedJob<'_>], target: &str) -> Option<Extent> {
    let mut all: Option<Extent> = None;
    for job in jobs {
        let room = |file: &iodyno_target::Access<'_>| Room {
            size_bytes: file.read().size_bytes(),
            block_bytes: file.read().block_bytes(),
        };
        let rooms: Vec<Room> = job.files.iter().map(room).collect();
        let Ok(stream) = Stream::new(&job.job, &rooms, 0, 0) else { continue };
        let is_of_target = |file: u16| {
            job.files.get(usize::from(file)).is_some_and(|file| file.read().name() == target)
        };
        for region in stream.regions().iter().filter(|region| is_of_target(region.file)) {
            let own = Extent { offset: region.offset, length: region.length };
            let (from, to) = match all {
                Some(all) => (all.offset.min(own.offset), end(all).max(end(own))),
                None => (own.offset, end(own)),
            };
            all = Some(Extent { offset: from, length: to - from });
        }
    }
    all.filter(|all| all.length > 0)
}

impl Campaign<'_, '_> {
    /// `bench` with what is known of the blocks that `jobs` are about to read.
    pub(crate) fn with_read_blocks<'r>(
        &mut self,
        jobs: &[ClearedJob<'_>],
        bench: &[Ready<'r>],
    ) -> Result<Vec<Ready<'r>>, CampaignError> {
        let mut bench = bench.to_vec();
        // Rounds go on without a pause, and were prepared.
        if self.round.is_some() || self.plan.written_samples == 0 {
            return Ok(bench);
        }
        let reading: Vec<ClearedJob<'_>> =
            jobs.iter().filter(|job| job.job.pattern.rw.has(Direction::Read)).cloned().collect();
        for ready in &mut bench {
            if let Some(extent) = touched(&reading, &ready.name)
                && let Some(found) = self.read_blocks(ready, extent)?
            {
                ready.written = Some(found);
            }
        }
        Ok(bench)
    }

    /// What is known of a stretch of a target; `None`: no more than of all of it.
    pub(crate) fn read_blocks(
        &mut self,
        ready: &Ready<'_>,
        extent: Extent,
    ) -> Result<Option<Written>, CampaignError> {
        let size = ready.clearance.size_bytes();
        let Some(whole) = ready.written.as_ref().filter(|_| !ready.scratch) else {
            return Ok(None);
        };
        let changes = self.blocks.changes.iter().filter(|one| one.target == ready.name).count();
        let is_all = extent.length as f64 >= ALL * size as f64;
        if changes == 0 && is_all {
            return Ok(None);
        }
        let known = self.blocks.found.iter().rev().find(|found| {
            found.target == ready.name && found.extent == extent && found.changes == changes
        });
        if let Some(found) = known {
            return Ok(Some(found.written.clone()));
        }
        let found = self.look_at(ready, extent, changes > 0, whole)?;
        if let Some(written) = &found {
            self.blocks.found.push(Found {
                target: ready.name.clone(),
                extent,
                changes,
                written: written.clone(),
            });
        }
        Ok(found)
    }

    fn look_at(
        &mut self,
        ready: &Ready<'_>,
        extent: Extent,
        is_changed: bool,
        whole: &Written,
    ) -> Result<Option<Written>, CampaignError> {
        if self.options.origin == Origin::Measured
            && let Some(data) = ready.clearance.data_extents(written::MOST_EXTENTS)
        {
            let inside = data.into_iter().filter_map(|(offset, length)| {
                let from = offset.max(extent.offset);
                let to = (offset + length).min(end(extent));
                (to > from).then_some((from, to - from))
            });
            let inside: Vec<(u64, u64)> = inside.collect();
            let mut found = written::of_file(&ready.name, extent.length, &inside);
            // Offsets are where the job says.
            found.extents.clear();
            return Ok(Some(found));
        }
        if let Some(why) = self.emptied_by(ready, extent) {
            return Ok(Some(written::emptied(&whole.share, &why)));
        }
        let block_bytes = u64::from(ready.clearance.block_bytes()).max(4096);
        let (count, seed) = (self.plan.written_samples, self.seed());
        let mut offsets = written::sample_offsets(extent.length, block_bytes, count, seed);
        let first = extent.offset.next_multiple_of(block_bytes);
        offsets.iter_mut().for_each(|offset| *offset += first);
        offsets.retain(|offset| offset + block_bytes <= end(extent));
        let samples =
            self.tools.generator.probe(ready.clearance, &offsets, block_bytes as u32, SAMPLING_NS);
        let Ok(samples) = samples else { return Ok(None) };
        // What the drive said of itself was said before that.
        let namespace = ready.drive.as_ref().filter(|_| !is_changed);
        let namespace = namespace.and_then(|_| self.host.namespace(&ready.name));
        let namespace = namespace.and_then(|(_, namespace)| namespace.identify.value());
        let reference = &ready.samples;
        Ok(Some(written::judge_range(&ready.name, &samples, reference, namespace.as_ref())))
    }

    /// What emptied a stretch of a target so that it holds nothing now.
    pub(crate) fn emptied_by(&self, ready: &Ready<'_>, extent: Extent) -> Option<String> {
        if self.blocks.is_trimmed(&ready.name, extent) {
            return Some("this run trimmed it, and wrote nothing there since".into());
        }
        if self.blocks.changes.iter().any(|one| one.target == ready.name) {
            return None;
        }
        let (serial, nsid) = key_of(&ready.name, self.host)?;
        let state = self.tools.store.newest_drive_state(&serial, nsid).ok()??;
        let (drive, _) = self.host.namespace(&ready.name)?;
        let now = drive.health.get()?.host_written_bytes;
        let is_empty = state.state == PreparationState::Done
            && state.fill.is_none()
            && state.condition.is_none()
            && state.host_written_bytes == Some(now);
        let method = state.purge.filter(|_| is_empty)?;
        Some(format!("iodyno emptied it ({}), and nothing was written since", method.name()))
    }
}
