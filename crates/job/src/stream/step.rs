//! Generates one request at a time, by any rules: fio's `set_io_u_file` and `fill_io_u` (io_u.c).

use iodyno_model::Direction;

use super::rng::Rng;
use super::rules::{Rules, index};
use super::{Request, Stream};
use crate::{Distribution, FileService, Operation, Sequencer};

/// The state of fio's `get_file` and `fill_io_u`.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    /// The file in service.
    pub(super) file: Option<usize>,
    /// Further requests to the file in service.
    pub(super) service_left: u32,
    /// The next file in turn.
    pub(super) next_file: usize,
    pub(super) open_files: usize,
    pub(super) done_files: usize,
    /// Requests until the next random offset.
    pub(super) countdown: u64,
    /// Bytes of I/O in the zone.
    pub(super) zone_bytes: u64,
    /// Requests so far, by direction.
    pub(super) made: [u64; 3],
}

impl Progress {
    pub(super) const fn new() -> Self {
        Self {
            file: None,
            service_left: 0,
            next_file: 0,
            open_files: 0,
            done_files: 0,
            // The first offset is random (fio's init.c).
            countdown: 1,
            zone_bytes: 0,
            made: [0; 3],
        }
    }
}

/// Random generators, one for each purpose.
#[derive(Debug, Clone)]
pub(super) struct Generators {
    pub(super) offsets: Rng,
    pub(super) order: Rng,
    pub(super) mix: Rng,
    pub(super) lengths: Rng,
    pub(super) files: Rng,
}

impl Stream {
    /// The next request, starting further rounds as needed; `None` when the work is done.
    pub(super) fn step(&mut self) -> Option<Request> {
        while !self.finished {
            if self.budget.round_continues()
                && let Some(request) = self.next_of_round()
            {
                self.budget.count(request.operation, 1, request.length.into());
                return Some(request);
            }
            let files_done = self.progress.done_files == self.files.len();
            self.finished = !self.budget.start_round(files_done);
            for file in &mut self.files {
                (file.open, file.done, file.base) = (false, false, file.area.start);
                file.restarts += u64::from(!self.finished);
            }
            if let Some(first) = &self.initial_generators {
                self.generators = first.clone();
            }
            self.progress.open_files = 0;
            self.progress.done_files = 0;
            self.progress.zone_bytes = 0;
        }
        None
    }

    /// The next request of this round; `None` when all files are done.
    fn next_of_round(&mut self) -> Option<Request> {
        while self.progress.done_files < self.files.len() {
            let number = self.pick_file();
            if let Some(request) = self.next_of_file(number) {
                return Some(request);
            }
            let file = &mut self.files[number];
            (file.done, file.open) = (true, false);
            self.progress.done_files += 1;
            self.progress.open_files -= 1;
        }
        None
    }

    /// Chooses the next file; at least one must not be done.
    fn pick_file(&mut self) -> usize {
        let progress = &mut self.progress;
        if let Some(number) = progress.file.filter(|number| self.files[*number].open) {
            if self.rules.service == FileService::Sequential {
                return number;
            }
            if progress.service_left > 0 {
                progress.service_left -= 1;
                return number;
            }
        }
        let number = loop {
            let number = match self.rules.service {
                FileService::Random => {
                    self.generators.files.below(self.files.len() as u64) as usize
                }
                FileService::RoundRobin | FileService::Sequential => {
                    let number = progress.next_file;
                    progress.next_file = if number + 1 < self.files.len() { number + 1 } else { 0 };
                    number
                }
            };
            let file = &mut self.files[number];
            if file.done {
                continue;
            }
            if !file.open {
                if progress.open_files >= self.rules.open_files {
                    continue;
                }
                progress.open_files += 1;
                file.open = true;
                file.reset();
            }
            break number;
        };
        progress.file = Some(number);
        progress.service_left = self.rules.service_ios - 1;
        number
    }

    fn next_of_file(&mut self, number: usize) -> Option<Request> {
        let direction = self.next_direction(number);
        let dir = index(direction);
        self.advance_zone(number, dir);
        let (offset, order) = self.next_offset(number, dir)?;
        let file = &mut self.files[number];
        if offset >= file.area.length {
            return None;
        }
        let offset = offset.checked_add(file.base)?;
        if self.rules.trim_write && direction == Direction::Trim && file.starts[2] == offset {
            // The same block again: forget its earlier write, so that a write follows. (fio does so
            // only at random; in sequence it trims for ever.)
            file.starts[1] = file.starts[1].wrapping_sub(1);
        }
        let area = file.area;
        let strided = self.rules.strides.is_some();
        let end = if strided { area.file_bytes } else { area.end() };
        let length = if order == Order::AsTrimmed {
            // Nothing was trimmed yet in a new zone: as in fio, the file ends there.
            file.ends[2].checked_sub(file.starts[2])?
        } else {
            let by = match (self.rules.lengths_by_order, order) {
                (false, _) => dir,
                (true, Order::Random) => index(Direction::Write),
                (true, _) => index(Direction::Read),
            };
            let fits =
                |length: u64| offset.checked_add(length).is_some_and(|last| last <= area.end());
            self.rules.per_direction[by].lengths.draw(&mut self.generators.lengths, fits)?
        };
        if offset.checked_add(length).is_none_or(|last| last > end) {
            return None;
        }
        let (offset, length) = match order {
            Order::Random => file.take(&self.rules.per_direction[dir], offset, length, end),
            _ => (offset, length),
        };
        self.progress.zone_bytes += length;
        self.progress.made[dir] += 1;
        file.starts[dir] = offset;
        file.ends[dir] = offset + length;
        let operation = Operation::of(direction);
        Some(Request { offset, length: length as u32, file: number as u16, operation })
    }

    fn next_direction(&mut self, number: usize) -> Direction {
        let file = &self.files[number];
        match self.rules.mix {
            Some(reads) => self.mix_directions[usize::from(!self.generators.mix.percent(reads))],
            None if !self.rules.trim_write => self.rules.direction,
            None if file.starts[1] == file.starts[2] => Direction::Trim,
            None => Direction::Write,
        }
    }

    /// The next offset, from the file's base.
    fn next_offset(&mut self, number: usize, dir: usize) -> Option<(u64, Order)> {
        let Rules { random, sequencer, ios_per_offset, .. } = self.rules;
        let alone = self.files.len() == 1;
        let file = &mut self.files[number];
        let countdown = &mut self.progress.countdown;
        let mut due = false;
        if ios_per_offset > 0 {
            *countdown = countdown.saturating_sub(1);
            due = *countdown == 0;
            if due {
                *countdown = ios_per_offset;
            }
        }
        if random && self.rules.trim_write && dir == index(Direction::Write) {
            return Some((file.starts[2].wrapping_sub(file.base), Order::AsTrimmed));
        }
        if due && random {
            let percent = self.rules.per_direction[dir].random_percent;
            if percent >= 100 || self.generators.order.percent(percent) {
                if let Distribution::Sequence(blocks) = &self.rules.per_direction[dir].distribution
                {
                    let (made, count) = (self.progress.made[dir], blocks.len() as u64);
                    let before = if self.rules.sequence_stride { made / count * count } else { 0 };
                    let block = before + u64::from(blocks[(made % count) as usize]);
                    return Some((block * self.rules.per_direction[dir].align, Order::Random));
                }
                let offset = file.next_random(&self.rules, dir, &mut self.generators.offsets)?;
                return Some((offset, Order::Random));
            }
        } else if !due && sequencer == Sequencer::Identical {
            let start = file.starts[dir];
            let offset = if start == u64::MAX { 0 } else { start - file.base };
            return Some((offset, Order::Sequential));
        }
        let next = file.next_sequential(&self.rules, dir, alone);
        let next =
            next.or_else(|| file.next_random(&self.rules, dir, &mut self.generators.offsets));
        let Rules { trim_write, paired_lengths, .. } = self.rules;
        let paired = trim_write && paired_lengths && dir == index(Direction::Write);
        next.map(|offset| (offset, if paired { Order::AsTrimmed } else { Order::Sequential }))
    }

    /// Moves to the next zone after `zonesize` bytes: fio's `setup_strided_zone_mode`.
    fn advance_zone(&mut self, number: usize, dir: usize) {
        let Some(zone) = self.rules.strides else {
            return;
        };
        let file = &mut self.files[number];
        let bytes = &mut self.progress.zone_bytes;
        if *bytes >= zone.size {
            *bytes = 0;
            file.base = file.base.saturating_add(zone.range).saturating_add(zone.skip);
            if file.base >= file.area.file_bytes {
                file.base = file.area.start;
            }
            file.ends[dir] = file.base;
        }
        if file.ends[dir] >= file.base.saturating_add(zone.range) {
            file.ends[dir] = file.base;
        }
        if bytes.is_multiple_of(zone.range) {
            file.reset();
        }
    }
}

/// The order that an offset belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Random,
    Sequential,
    /// Offset, or length, of the trim before.
    AsTrimmed,
}
