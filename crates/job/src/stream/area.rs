//! Computes the part of each file that a job uses: fio's `setup_files` and `get_start_offset`
//! (filesetup.c).

use super::rng::{Rng, scramble};
use super::{Region, Room};
use crate::{Amount, Job};

/// The part of a file that a job uses, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    /// Start offset (fio's `get_start_offset`).
    pub(super) start: u64,
    /// Requests start within this length (fio's `io_size` of a file).
    pub(super) length: u64,
    /// The file's size, which no request exceeds.
    pub(super) file_bytes: u64,
}

impl Area {
    /// End of the area, which no request exceeds, unless [zones](super::rules::Strides) continue to
    /// the file's end. (fio's last sequential block exceeds it if the file is larger than `size`,
    /// and so writes outside the given range.)
    pub(super) const fn end(&self) -> u64 {
        let end = self.start.saturating_add(self.length);
        if end < self.file_bytes { end } else { self.file_bytes }
    }
}

/// The areas of all files, and the bytes of one round.
#[derive(Debug, Clone)]
pub(super) struct Areas {
    pub(super) areas: Vec<Area>,
    /// fio's `size`, with all defaults resolved.
    pub(super) size: u64,
}

impl Areas {
    /// Computes the areas of `job` in `rooms`. With `grow`, files grow to the size that the job
    /// needs.
    ///
    /// # Errors
    /// The job does not fit; the message says what would.
    pub(super) fn new(job: &Job, rooms: &[Room], grow: bool) -> Result<Self, String> {
        let space = &job.space;
        let smallest = smallest_block(job);
        let percent = |amount: Option<Amount>| match amount {
            Some(Amount::Percent(percent)) if percent != 100.0 => amount,
            _ => None,
        };
        let asked = match space.size {
            Some(Amount::Bytes(bytes)) => bytes,
            None if space.fill_device => u64::MAX,
            _ => 0,
        };
        let (each, mut extra) = match space.filesize {
            Some(_) => (0, 0),
            None => {
                let files = rooms.len() as u64;
                (asked / files, (asked % files) / smallest)
            }
        };
        let mut sizes = Rng::new(scramble(job.pattern.randseed ^ u64::from(job.threads.number)));
        let mut total = 0_u64;
        let mut areas = Vec::with_capacity(rooms.len());
        for (number, room) in rooms.iter().enumerate() {
            let mut file_bytes = room.size_bytes;
            let start = if space.file_append { file_bytes } else { start(job, file_bytes) };
            let behind = |end: u64| {
                format!(
                    "offset={start} does not fit: file {number} has {end} bytes; an offset below \
                     would"
                )
            };
            let mut length = match space.filesize {
                None if each > 0 => {
                    let more = if extra > 0 { smallest } else { 0 };
                    extra = extra.saturating_sub(1);
                    each.saturating_add(more)
                }
                None => file_bytes.checked_sub(start).ok_or_else(|| behind(file_bytes))?,
                Some((low, high)) => {
                    let drawn = low + sizes.below(high.saturating_sub(low));
                    let wanted = if (low..=high).contains(&file_bytes) {
                        file_bytes
                    } else if low == high {
                        low
                    } else {
                        drawn - drawn % smallest
                    };
                    wanted.checked_sub(start).ok_or_else(|| behind(wanted))?
                }
            };
            if let Some(percent) = percent(space.size) {
                let end = length.saturating_add(start);
                length = percent.of(end).min(length);
                length -= length % smallest;
            }
            let made = percent(space.io_size).map_or(length, |percent| percent.of(length));
            total = total.saturating_add(made);
            if grow {
                file_bytes = file_bytes.max(length.saturating_add(start));
            }
            areas.push(Area { start, length, file_bytes });
        }
        let size = if asked == 0 || (total > 0 && asked > total) { total } else { asked };
        if size < smallest {
            return Err(format!(
                "bs={smallest} does not fit: the job has {size} bytes to work on; use a smaller \
                 bs or a larger size"
            ));
        }
        Ok(Self { areas, size })
    }

    /// The regions that may be accessed: the areas, or with `to_the_end` all from their start.
    pub(super) fn regions(&self, to_the_end: bool) -> Vec<Region> {
        let files = (0_u16..=u16::MAX).zip(&self.areas);
        let regions = files.map(|(file, area)| {
            let end = if to_the_end { area.file_bytes } else { area.end() };
            Region { file, offset: area.start, length: end.saturating_sub(area.start) }
        });
        regions.collect()
    }
}

/// Smallest block of all directions: fio's `td_min_bs`.
pub(super) fn smallest_block(job: &Job) -> u64 {
    let sizes = job.pattern.bs.iter().map(|(_, bs)| bs.smallest());
    sizes.min().unwrap_or(1).max(1)
}

/// Start offset of a job in a file of `file_bytes`. Percentages are rounded up to whole blocks.
fn start(job: &Job, file_bytes: u64) -> u64 {
    let space = &job.space;
    let clone = u64::from(job.threads.clone);
    let increment = space.offset_increment.of(file_bytes);
    let offset = space.offset.of(file_bytes).saturating_add(clone.saturating_mul(increment));
    let is_share = |amount| matches!(amount, Amount::Percent(percent) if percent > 0.0);
    if !is_share(space.offset) && !is_share(space.offset_increment) {
        return offset;
    }
    let to = if space.offset_align > 0 { space.offset_align } else { smallest_block(job) };
    offset.checked_next_multiple_of(to).unwrap_or(offset)
}
