//! Generates the I/Os of a job in order.
//!
//! The rules are fio's (version 3.33: io_u.c, filesetup.c, backend.c). For one file, one block size
//! and one plain order, requests are generated in bursts: one dispatch per batch, with everything
//! that can end a burst (the end of the file, of a round, of the work) counted in advance. All
//! other requests, and those between bursts, are generated one at a time (`step`). Nothing is
//! allocated after construction.

mod area;
mod blocks;
mod budget;
mod build;
mod file;
mod lengths;
mod permutation;
mod request;
mod rng;
mod rules;
mod sampler;
mod sprandom;

mod step;
#[cfg(test)]
mod tests;

use iodyno_model::Direction;

pub use build::random_seeds;
pub use request::{PlannedWork, Region, Request, Room, Unfit};

use area::Areas;
use blocks::BlockSource;
use budget::Budget;
use file::File;
use rng::threshold;
use rules::{Rules, index};
use sampler::Sampler;
use step::{Generators, Progress};

use crate::{Job, Operation};

/// The I/Os of one thread, in order.
#[derive(Debug, Clone)]
pub struct Stream {
    rules: Rules,
    budget: Budget,
    files: Vec<File>,
    progress: Progress,
    generators: Generators,
    /// Initial state of the generators, restored for each round if rounds repeat.
    initial_generators: Option<Generators>,
    burst: Option<Burst>,
    /// Directions issued when the mix draws a read, and when it draws a write.
    mix_directions: [Direction; 2],
    /// Requests left in the burst.
    burst_left: u64,
    finished: bool,
    regions: Vec<Region>,
    /// Mapping of virtual offsets to the extents of the target: pairs of (virtual, target) offset;
    /// empty without extents.
    extent_map: Vec<(u64, u64)>,
    planned: Option<PlannedWork>,
}

/// A plain order of blocks of one size.
#[derive(Debug, Clone, Copy)]
struct Burst {
    bs: u64,
    order: BurstOrder,
}

#[derive(Debug, Clone, Copy)]
enum BurstOrder {
    Sequential,
    /// Random blocks start at multiples of `align`.
    EachOnce {
        align: u64,
    },
    Independent {
        blocks: u64,
        align: u64,
    },
}

impl Stream {
    /// Makes the stream of thread `thread` of `job.threads.shared_by` over `rooms`, the job's files
    /// and devices in order. `entropy` is the seed of a job with `randrepeat=0`, the same for all
    /// threads that share the job.
    ///
    /// # Errors
    /// The job does not fit; the message says what would.
    pub fn new(job: &Job, rooms: &[Room], thread: u32, entropy: u64) -> Result<Self, Unfit> {
        Ok(build::build(job, rooms, thread, entropy)?)
    }

    /// The regions of files that must exist before `job` can run: fio's layout. `rooms` have the
    /// present sizes of the files, 0 bytes for missing ones.
    ///
    /// # Errors
    /// The job does not fit; the message says what would.
    pub fn layout(job: &Job, rooms: &[Room]) -> Result<Vec<Region>, Unfit> {
        build::fits_rooms(job, rooms)?;
        Ok(Areas::new(job, rooms, true)?.regions(false))
    }

    /// Writes the next requests and returns their number: fewer than `requests` has if the work
    /// (`size`, `io_size`, `number_ios`, `loops`) is done. With `time_based` the stream starts over
    /// by itself.
    pub fn fill(&mut self, requests: &mut [Request]) -> usize {
        self.fill_within_pass(requests, requests.len())
    }

    /// As [`Self::fill`], but beyond the first `least` requests only those before the next
    /// [restart](Self::restarts): perhaps none.
    pub fn fill_within_pass(&mut self, requests: &mut [Request], least: usize) -> usize {
        let mut made = 0;
        while made < requests.len() {
            if self.burst_left == 0 {
                // Only a single step restarts a file.
                if made >= least {
                    break;
                }
                let Some(request) = self.step() else {
                    break;
                };
                requests[made] = request;
                made += 1;
                self.burst_left = self.burst_length();
            } else {
                made += self.burst(&mut requests[made..]);
            }
        }
        if !self.extent_map.is_empty() {
            self.map_to_extents(&mut requests[..made]);
        }
        made
    }

    /// The next request of a mix: of the first direction if a read is drawn, of the second if a
    /// write is drawn. As in fio, a direction that is ahead of its rate leaves its turn to the
    /// other. `None` when the work is done.
    pub fn next_with(&mut self, directions: (Direction, Direction)) -> Option<Request> {
        self.mix_directions = [directions.0, directions.1];
        self.burst_left = 0;
        let mut request = [self.step()?];
        self.mix_directions = [Direction::Read, Direction::Write];
        if !self.extent_map.is_empty() {
            self.map_to_extents(&mut request);
        }
        Some(request[0])
    }

    /// Number of restarts of all its files together, by `time_based`, `loops` or `io_size`.
    pub fn restarts(&self) -> u64 {
        self.files.iter().map(|file| file.restarts).sum()
    }

    /// The planned work of this thread; `None` if only time ends it, or if it cannot be computed,
    /// as with several block sizes. For threads that share a random order it is the mean.
    pub const fn planned(&self) -> Option<PlannedWork> {
        self.planned
    }

    /// The regions that the job may access, all threads together.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Requests until the file, the round or the work ends.
    fn burst_length(&self) -> u64 {
        let Some(Burst { bs, order }) = self.burst else {
            return 0;
        };
        let left = self.budget.requests_left(bs);
        match order {
            BurstOrder::Sequential => {
                left.min(self.files[0].requests_left(index(self.rules.direction), bs))
            }
            BurstOrder::EachOnce { .. } | BurstOrder::Independent { .. } => left,
        }
    }

    /// Generates as many requests as possible in one burst.
    fn burst(&mut self, requests: &mut [Request]) -> usize {
        let Some(Burst { bs, order }) = self.burst else {
            self.burst_left = 0;
            return 0;
        };
        let asked = requests.len().min(usize::try_from(self.burst_left).unwrap_or(usize::MAX));
        let requests = &mut requests[..asked];
        let direction = self.rules.direction;
        let file = &mut self.files[0];
        let operation = Operation::of(direction);
        let template = Request { offset: file.base, length: bs as u32, file: 0, operation };
        let made = match (order, &mut file.blocks) {
            (BurstOrder::Sequential, _) => {
                let mut offset = file.ends[index(direction)];
                for request in &mut *requests {
                    *request = Request { offset, ..template };
                    offset += bs;
                }
                file.ends[index(direction)] = offset;
                asked
            }
            (BurstOrder::Independent { blocks, align }, _) => {
                let mut rng = self.generators.offsets.clone();
                for request in &mut *requests {
                    let offset = file.base + rng.below(blocks) * align;
                    *request = Request { offset, ..template };
                }
                self.generators.offsets = rng;
                asked
            }
            (BurstOrder::EachOnce { align }, Some(BlockSource::EachOnce(permutation))) => {
                permutation.fill(requests, template, align)
            }
            (BurstOrder::EachOnce { .. }, _) => 0,
        };
        if let Some(reads) = self.rules.mix {
            let below = threshold(reads);
            let mut rng = self.generators.mix.clone();
            for request in &mut requests[..made] {
                let read = rng.bits() >> 32 < below;
                request.operation = if read { Operation::Read } else { Operation::Write };
            }
            self.generators.mix = rng;
        }
        self.budget.count(operation, made as u64, made as u64 * bs);
        self.burst_left = if made < asked { 0 } else { self.burst_left - made as u64 };
        made
    }

    /// Maps virtual offsets to those of the target.
    fn map_to_extents(&self, requests: &mut [Request]) {
        for request in requests {
            let after = self.extent_map.partition_point(|(first, _)| *first <= request.offset);
            let (first, offset) = self.extent_map[after - 1];
            request.offset = offset + (request.offset - first);
        }
    }
}
