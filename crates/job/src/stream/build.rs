//! How a stream is built: the job's areas cut to its extents, divided between
//! the threads that share it, and what is planned.

use iodyno_model::{Direction, PerDirection};

use super::area::{Area, Areas, smallest_block};
use super::blocks::Blocks;
use super::budget::Budget;
use super::file::{File, random_blocks};
use super::permutation::Permutation;
use super::rng::{Rng, scramble};
use super::rules::Rules;
use super::sprandom::{Regions, physical_bytes};
use super::step::{Draws, Progress};
use super::{Burst, Plain, Planned, Region, Room, Shape, Stream};
use crate::{Amount, Extent, IoEngine, Job};

/// Marks for no more blocks of all files than this (8 MiB of memory): larger
/// regions are drawn without a map where blocks vary in size.
const MOST_MARKS: u64 = 1 << 26;

/// # Errors
/// A sentence that says what does not fit, and what would.
pub(super) fn fits_rooms(job: &Job, rooms: &[Room]) -> Result<(), String> {
    let most = usize::from(u16::MAX);
    if rooms.is_empty() || rooms.len() > most {
        return Err(format!(
            "{} files do not fit job {}: it takes 1 to {most}",
            rooms.len(),
            job.name.escape_debug()
        ));
    }
    Ok(())
}

/// Builds the stream of one thread.
///
/// # Errors
/// A sentence that says what does not fit, and what would.
pub(super) fn build(
    job: &Job,
    rooms: &[Room],
    thread: u32,
    entropy: u64,
) -> Result<Stream, String> {
    fits_rooms(job, rooms)?;
    let threads = job.threads.shared_by;
    if thread >= threads {
        return Err(format!("thread {thread} does not fit: {threads} share the job, from 0"));
    }
    let block = rooms.iter().map(|room| room.block_bytes).max().unwrap_or(1).max(1).into();
    let rules = Rules::new(job, rooms.len(), block);
    rules.check(job)?;
    let mut areas = Areas::new(job, rooms, false)?;
    for area in &areas.areas {
        if !area.start.is_multiple_of(block) {
            return Err(format!(
                "offset={} does not fit: the target takes multiples of {block} bytes",
                area.start
            ));
        }
    }
    let mut regions = areas.regions(rules.strides.is_some());
    let mut places = Vec::new();
    if !job.space.extents.is_empty() {
        let cut = Cut::new(job, &rules, rooms, &areas.areas[0], block)?;
        areas.size = areas.size.min(cut.area.length);
        areas.areas[0] = cut.area;
        (regions, places) = (cut.regions, cut.places);
    }
    let seed = seed_of(job, entropy);
    let mut budget = budget(job, &rules, areas.size);
    if job.pattern.sprandom {
        let how = &job.pattern.preconditioning;
        // All of it in one round, and no other.
        let bs = rules.way(Direction::Write).smallest;
        let bytes = physical_bytes(how, areas.size, bs);
        (budget.io_size_given, budget.round_limit) = (false, u64::MAX);
        budget.again_limit = bytes;
        budget.job_limit = bytes.saturating_mul(budget.loops + 1);
    }
    if threads > 1 {
        divide(&rules, &mut areas, &mut budget, thread, threads)?;
    }
    let most_marks = MOST_MARKS / rooms.len() as u64;
    let mut files = Vec::with_capacity(rooms.len());
    for (number, area) in (0_u64..).zip(&areas.areas) {
        let seed = scramble(seed ^ (number << 32));
        let blocks =
            rules.random.then(|| random(&rules, area, most_marks, seed, (thread, threads)));
        let blocks = match (blocks.transpose()?, job.pattern.sprandom) {
            (Some(Blocks::Once(fresh)), true) => {
                let how = &job.pattern.preconditioning;
                let bs = rules.way(Direction::Write).smallest;
                Some(Blocks::Regions(Box::new(Regions::new(how, fresh, bs)?)))
            }
            (blocks, _) => blocks,
        };
        files.push(File::new(*area, blocks));
    }
    let seeds = random_seeds(job, thread, entropy);
    let [offsets, order, mix, lengths, choice] = seeds.map(Rng::new);
    let burst = burst(&rules, &files);
    let planned = planned(&rules, &budget, &files);
    let draws = Draws { offsets, order, mix, lengths, files: choice };
    Ok(Stream {
        first_draws: rules.repeats.then(|| draws.clone()),
        draws,
        rules,
        budget,
        files,
        progress: Progress::new(),
        burst,
        instead: [Direction::Read, Direction::Write],
        calm: 0,
        finished: false,
        regions,
        places,
        planned,
    })
}

fn budget(job: &Job, rules: &Rules, size: u64) -> Budget {
    let space = &job.space;
    let io_size = match space.io_size {
        // What was written twice is verified once.
        Some(Amount::Bytes(bytes))
            if bytes > size && job.verify.verify_only && !job.foresees_writes() =>
        {
            Some(size)
        }
        Some(Amount::Bytes(bytes)) if bytes > 0 => Some(bytes),
        _ => None,
    };
    let loops = space.loops.max(1);
    let again_limit = io_size.unwrap_or(size);
    let job_limit = again_limit.saturating_mul(loops);
    // The order of what is only verified is that of the writes.
    let writes = rules.mix.is_some()
        || rules.direction == Direction::Write
        || (job.verify.verify_only && rules.direction == Direction::Read);
    let mut round_limit = size;
    if rules.random && writes && job.pattern.norandommap {
        round_limit = round_limit.max(io_size.unwrap_or(0));
    }
    // fio counts for a round only what its engine queues: not trims, and not
    // what is done when it was submitted.
    let at_once = job.engine.ioengine == IoEngine::Null && job.depth.iodepth == 1;
    let queued = !job.engine.ioengine.is_synchronous() && !at_once;
    if !queued || rules.direction == Direction::Trim {
        round_limit = u64::MAX;
    }
    let ios_limit = space.number_ios.map_or(u64::MAX, |ios| ios.saturating_mul(loops));
    let pair = if rules.trim_write { 2 } else { 1 };
    let largest = job.pattern.bs.iter().map(|(_, bs)| bs.largest()).max();
    Budget {
        time_based: rules.time_based,
        repeats: rules.repeats,
        io_size_given: io_size.is_some(),
        trims_are_extra: rules.trim_write,
        job_limit,
        round_limit,
        again_limit,
        ios_limit: ios_limit.saturating_mul(pair),
        loops: loops - 1,
        largest: largest.unwrap_or(1),
        counted: 0,
        issued: 0,
        round: 0,
        ios: 0,
    }
}

/// Gives a thread its share: in sequence a contiguous stretch of each file; at
/// random the turns of a permutation or, where blocks are independent, its
/// share of the bytes.
fn divide(
    rules: &Rules,
    areas: &mut Areas,
    budget: &mut Budget,
    thread: u32,
    threads: u32,
) -> Result<(), String> {
    let share =
        |whole: u64, upto: u32| (u128::from(whole) * u128::from(upto) / u128::from(threads)) as u64;
    let part = |whole: u64| share(whole, thread + 1) - share(whole, thread);
    let bs = rules.way(rules.direction).smallest;
    let blocks: u64 = areas.areas.iter().map(|area| usable(area) / bs).sum();
    if blocks < threads.into() {
        return Err(format!(
            "{threads} threads do not fit: there are {blocks} blocks of bs={bs} bytes, and each \
             thread needs one"
        ));
    }
    if budget.ios_limit != u64::MAX {
        budget.ios_limit = part(budget.ios_limit);
    }
    let mut size = part(areas.size);
    if rules.once {
        // It is through when its turns are.
        size = u64::MAX;
    } else if !rules.random {
        size = 0;
        for area in &mut areas.areas {
            let blocks = usable(area) / bs;
            let (first, end) = (share(blocks, thread), share(blocks, thread + 1));
            area.start += first * bs;
            area.length = (end - first) * bs;
            area.file_bytes = area.start + area.length;
            size += area.length;
        }
    }
    if budget.round_limit != u64::MAX {
        budget.round_limit = size;
    }
    if budget.io_size_given {
        budget.job_limit = part(budget.job_limit);
        budget.again_limit = part(budget.again_limit);
    } else {
        budget.job_limit = size.saturating_mul(budget.loops + 1);
        budget.again_limit = size;
    }
    Ok(())
}

fn usable(area: &Area) -> u64 {
    area.end().saturating_sub(area.start)
}

/// Where the random blocks of a file come from.
fn random(
    rules: &Rules,
    area: &Area,
    most_marks: u64,
    seed: u64,
    (thread, threads): (u32, u32),
) -> Result<Blocks, String> {
    let blocks = random_blocks(area, rules.way(rules.direction), rules);
    if rules.once && (!rules.marks || (blocks <= most_marks && threads == 1)) {
        let permutation = Permutation::new(blocks, seed, (thread, threads), rules.repeats);
        return Ok(if rules.marks {
            Blocks::Marked(permutation, vec![0; blocks.div_ceil(64) as usize])
        } else {
            Blocks::Once(permutation)
        });
    }
    let mut shapes = [const { Shape::Even { blocks: 0 } }; 3];
    for (shape, way) in shapes.iter_mut().zip(&rules.ways) {
        let blocks = random_blocks(area, way, rules);
        *shape = Shape::new(&way.distribution, blocks, way.align, seed)?;
    }
    Ok(Blocks::Free(Box::new(shapes)))
}

/// How requests are made in bursts, if they can be.
fn burst(rules: &Rules, files: &[File]) -> Option<Burst> {
    let bs = rules.fixed_bs().filter(|_| rules.is_plain())?;
    let [file] = files else {
        return None;
    };
    let align = rules.way(rules.direction).align;
    let order = match &file.blocks {
        None if rules.mix.is_none() => Plain::Sequential,
        Some(Blocks::Once(_)) => Plain::Once { align },
        Some(Blocks::Free(shapes)) => {
            let mut directions = rules.directions();
            if !directions.all(|direction| rules.way(direction).align == align) {
                return None;
            }
            match shapes[super::index(rules.direction)] {
                Shape::Even { blocks } => Plain::Free { blocks, align },
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Burst { bs, order })
}

/// What will be made, where that can be told: of requests of one size whose
/// files are through at a known place.
fn planned(rules: &Rules, budget: &Budget, files: &[File]) -> Option<Planned> {
    let unknown = budget.time_based || (rules.trim_write && budget.io_size_given);
    let bs = rules.fixed_bs().filter(|_| !unknown)?;
    let each_once = |file: &File| match &file.blocks {
        Some(Blocks::Once(permutation)) => permutation.in_turn(),
        Some(_) => u64::MAX,
        None => file.requests_left(super::index(rules.direction), bs),
    };
    // A pair of a trim and a write counts once.
    let pair = if rules.trim_write { 2 } else { 1 };
    let capacity = files.iter().map(each_once).fold(0, u64::saturating_add);
    let capacity = match (rules.is_plain(), rules.mix, rules.random) {
        (false, ..) if !rules.trim_write || rules.strides.is_some() => u64::MAX,
        // Either direction may come to the end of a file first.
        (_, Some(_), false) if budget.job_limit / bs > capacity => return None,
        (_, Some(_), false) => u64::MAX,
        _ => capacity,
    };
    let round = (budget.round_limit / pair).div_ceil(bs).min(capacity);
    let job = budget.job_limit.div_ceil(bs);
    let more = if budget.io_size_given {
        // Rounds begin until no more than a block is left.
        let begun = budget.again_limit.saturating_add(1).saturating_sub(budget.largest);
        begun.div_ceil(bs).div_ceil(round.max(1))
    } else {
        0
    };
    let rounds = more.max(budget.loops + 1);
    let ios = job.min(round.saturating_mul(rounds)).min(budget.ios_limit / pair);
    let ios = (ios != u64::MAX && round > 0).then_some(ios.saturating_mul(pair))?;
    Some(Planned { ios, bytes: ios.saturating_mul(bs) })
}

/// An area cut to the job's extents: one stretch for the orders, of whole
/// blocks, and where its parts are.
struct Cut {
    area: Area,
    places: Vec<(u64, u64)>,
    regions: Vec<Region>,
}

impl Cut {
    fn new(
        job: &Job,
        rules: &Rules,
        rooms: &[Room],
        area: &Area,
        block: u64,
    ) -> Result<Self, String> {
        let ([room], Some(bs)) = (rooms, rules.fixed_bs()) else {
            return Err("extents do not fit: they need one target and blocks of one size".into());
        };
        // What begins within a block would end behind its extent.
        let of_blocks =
            |align: PerDirection<u64>| align.iter().all(|(_, align)| align.is_multiple_of(bs));
        if rules.strides.is_some()
            || !rules.step.unsigned_abs().is_multiple_of(bs)
            || !job.pattern.blockalign.is_none_or(of_blocks)
        {
            return Err(format!("extents do not fit: offsets have to be multiples of bs={bs}"));
        }
        let mut cut = Self {
            area: Area { start: 0, length: 0, file_bytes: 0 },
            places: Vec::with_capacity(job.space.extents.len()),
            regions: Vec::new(),
        };
        for Extent { offset, length } in &job.space.extents {
            let end = offset.checked_add(*length).filter(|end| *end <= room.size_bytes);
            let Some(end) = end.filter(|_| offset.is_multiple_of(block)) else {
                return Err(format!(
                    "an extent of {length} bytes at {offset} does not fit: extents start at a \
                     multiple of {block} and end within {} bytes",
                    room.size_bytes
                ));
            };
            let start = (*offset).max(area.start);
            let end = end.min(area.start.saturating_add(area.length));
            let length = end.saturating_sub(start) / bs * bs;
            if length > 0 {
                cut.places.push((cut.area.length, start));
                cut.regions.push(Region { file: 0, offset: start, length });
                cut.area.length += length;
            }
        }
        cut.area.file_bytes = cut.area.length;
        if cut.area.length < smallest_block(job).max(bs) {
            return Err(format!("bs={bs} does not fit: no extent has a whole block of it"));
        }
        Ok(cut)
    }
}

fn seed_of(job: &Job, entropy: u64) -> u64 {
    let seed = if job.pattern.randrepeat { job.pattern.randseed } else { entropy };
    scramble(seed ^ scramble(job.threads.number.into()))
}

/// Seeds of the random streams of a thread of `job`: offsets, order, mix, lengths, files.
/// `entropy` is a number that no other run has.
pub fn random_seeds(job: &Job, thread: u32, entropy: u64) -> [u64; 5] {
    let own = scramble(seed_of(job, entropy) ^ (u64::from(thread) << 1 | 1));
    [1, 2, 3, 4, 5].map(|number| own ^ number)
}
