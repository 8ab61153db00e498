//! Which I/O a job makes, and in which order.
//!
//! The rules are fio's (version 3.33: io_u.c, filesetup.c, backend.c); its
//! options say what they mean. A job of one file, one block size and one plain
//! order is made in bursts: one dispatch for a batch, and everything that can
//! end a burst (the end of the file, of a round, of the work) counted before
//! it. Whatever else a job asks for, and the requests between bursts, are made
//! one at a time (`step`). Nothing is allocated after construction.

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
mod shape;
mod sprandom;

mod step;
#[cfg(test)]
mod tests;

use iodyno_model::Direction;

pub use build::random_seeds;
pub use request::{Planned, Region, Request, Room, Unfit};

use area::Areas;
use blocks::Blocks;
use budget::Budget;
use file::File;
use rng::threshold;
use rules::{Rules, index};
use shape::Shape;
use step::{Draws, Progress};

use crate::{Job, Operation};

/// The I/O of one thread, in order.
#[derive(Debug, Clone)]
pub struct Stream {
    rules: Rules,
    budget: Budget,
    files: Vec<File>,
    progress: Progress,
    draws: Draws,
    /// What each round begins with again, where rounds are alike.
    first_draws: Option<Draws>,
    burst: Option<Burst>,
    /// What is made where chance says read, and where it says write.
    instead: [Direction; 2],
    /// Requests of the burst until something ends.
    calm: u64,
    finished: bool,
    regions: Vec<Region>,
    /// Where the offsets that the files know are in the target: (theirs, the
    /// target's); of extents only.
    places: Vec<(u64, u64)>,
    planned: Option<Planned>,
}

/// A plain order of blocks of one size.
#[derive(Debug, Clone, Copy)]
struct Burst {
    bs: u64,
    order: Plain,
}

#[derive(Debug, Clone, Copy)]
enum Plain {
    Sequential,
    /// Random blocks start at multiples of `align`.
    Once {
        align: u64,
    },
    Free {
        blocks: u64,
        align: u64,
    },
}

impl Stream {
    /// The stream of thread `thread` of `job.threads.shared_by` over `rooms`,
    /// the files and devices of the job in their order. `entropy` is the seed
    /// of a job that does not repeat (`randrepeat=0`); threads that share a
    /// job take the same.
    ///
    /// # Errors
    /// A sentence that says what does not fit, and what would.
    pub fn new(job: &Job, rooms: &[Room], thread: u32, entropy: u64) -> Result<Self, Unfit> {
        Ok(build::build(job, rooms, thread, entropy)?)
    }

    /// What files have to hold for `job` before it can run: fio's layout.
    /// Rooms are as they are now, of 0 bytes where there is nothing yet.
    ///
    /// # Errors
    /// A sentence that says what does not fit, and what would.
    pub fn layout(job: &Job, rooms: &[Room]) -> Result<Vec<Region>, Unfit> {
        build::fits_rooms(job, rooms)?;
        Ok(Areas::new(job, rooms, true)?.regions(false))
    }

    /// Writes the next requests, and says how many: fewer than there is room
    /// for when the work (`size`, `io_size`, `number_ios`, `loops`) is done.
    /// With `time_based` it begins again by itself.
    pub fn fill(&mut self, requests: &mut [Request]) -> usize {
        let mut made = 0;
        while made < requests.len() {
            if self.calm == 0 {
                let Some(request) = self.step() else {
                    break;
                };
                requests[made] = request;
                made += 1;
                self.calm = self.calm_requests();
            } else {
                made += self.burst(&mut requests[made..]);
            }
        }
        if !self.places.is_empty() {
            self.place(&mut requests[..made]);
        }
        made
    }

    /// The next request of a mix, of the direction `instead.0` where chance says
    /// read, and `instead.1` where it says write: as in fio, a direction that
    /// is ahead of its rate leaves its turn to the other. `None` when the work
    /// is done.
    pub fn next_with(&mut self, instead: (Direction, Direction)) -> Option<Request> {
        self.instead = [instead.0, instead.1];
        self.calm = 0;
        let mut request = [self.step()?];
        self.instead = [Direction::Read, Direction::Write];
        if !self.places.is_empty() {
            self.place(&mut request);
        }
        Some(request[0])
    }

    /// How often its files were begun again from their start, all together: by
    /// `time_based`, `loops` or `io_size`.
    pub fn restarts(&self) -> u64 {
        self.files.iter().map(|file| file.restarts).sum()
    }

    /// How much this thread will make; `None` where time alone ends it, or
    /// where it cannot be told, as with blocks of several sizes. Of threads
    /// that take turns at random it is the mean.
    pub const fn planned(&self) -> Option<Planned> {
        self.planned
    }

    /// What the job may touch, all threads together.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    fn calm_requests(&self) -> u64 {
        let Some(Burst { bs, order }) = self.burst else {
            return 0;
        };
        let left = self.budget.requests_left(bs);
        match order {
            Plain::Sequential => {
                left.min(self.files[0].requests_left(index(self.rules.direction), bs))
            }
            Plain::Once { .. } | Plain::Free { .. } => left,
        }
    }

    /// Makes as many requests as it can in one go.
    fn burst(&mut self, requests: &mut [Request]) -> usize {
        let Some(Burst { bs, order }) = self.burst else {
            self.calm = 0;
            return 0;
        };
        let asked = requests.len().min(usize::try_from(self.calm).unwrap_or(usize::MAX));
        let requests = &mut requests[..asked];
        let direction = self.rules.direction;
        let file = &mut self.files[0];
        let operation = Operation::of(direction);
        let like = Request { offset: file.base, length: bs as u32, file: 0, operation };
        let made = match (order, &mut file.blocks) {
            (Plain::Sequential, _) => {
                let mut offset = file.ends[index(direction)];
                for request in &mut *requests {
                    *request = Request { offset, ..like };
                    offset += bs;
                }
                file.ends[index(direction)] = offset;
                asked
            }
            (Plain::Free { blocks, align }, _) => {
                let mut rng = self.draws.offsets.clone();
                for request in &mut *requests {
                    *request = Request { offset: file.base + rng.below(blocks) * align, ..like };
                }
                self.draws.offsets = rng;
                asked
            }
            (Plain::Once { align }, Some(Blocks::Once(permutation))) => {
                permutation.fill(requests, like, align)
            }
            (Plain::Once { .. }, _) => 0,
        };
        if let Some(reads) = self.rules.mix {
            let below = threshold(reads);
            let mut rng = self.draws.mix.clone();
            for request in &mut requests[..made] {
                let read = rng.bits() >> 32 < below;
                request.operation = if read { Operation::Read } else { Operation::Write };
            }
            self.draws.mix = rng;
        }
        self.budget.count(operation, made as u64, made as u64 * bs);
        self.calm = if made < asked { 0 } else { self.calm - made as u64 };
        made
    }

    /// From the offsets that the files know to those of the target.
    fn place(&self, requests: &mut [Request]) {
        for request in requests {
            let after = self.places.partition_point(|(first, _)| *first <= request.offset);
            let (first, offset) = self.places[after - 1];
            request.offset = offset + (request.offset - first);
        }
    }
}
