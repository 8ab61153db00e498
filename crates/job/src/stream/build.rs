//! Builds a stream: restricts the job's areas to its extents, divides them between the threads that
//! share the job, and computes the planned work.

use iodyno_model::{Direction, PerDirection};

use super::area::{Area, Areas, smallest_block};
use super::blocks::BlockSource;
use super::budget::Budget;
use super::file::{File, random_blocks};
use super::permutation::Permutation;
use super::rng::{Rng, scramble};
use super::rules::Rules;
use super::sprandom::{SprandomOrder, physical_bytes};
use super::step::{Generators, Progress};
use super::{Burst, BurstOrder, PlannedWork, Region, Room, Sampler, Stream};
use crate::{Amount, Extent, IoEngine, Job};

/// Most blocks of all files in random maps (8 MiB of memory): in larger areas, blocks of varying
/// size are drawn without a map.
const MOST_MARKS: u64 = 1 << 26;

/// Checks the number of files.
///
/// # Errors
/// The job does not fit; the message says what would.
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
/// The job does not fit; the message says what would.
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
    let mut extent_map = Vec::new();
    if !job.space.extents.is_empty() {
        let cut = ExtentArea::new(job, &rules, rooms, &areas.areas[0], block)?;
        areas.size = areas.size.min(cut.area.length);
        areas.areas[0] = cut.area;
        (regions, extent_map) = (cut.regions, cut.extent_map);
    }
    let seed = seed_of(job, entropy);
    let mut budget = budget(job, &rules, areas.size);
    if job.pattern.sprandom {
        let options = &job.pattern.preconditioning;
        // All of it in one round.
        let bs = rules.for_direction(Direction::Write).smallest;
        let bytes = physical_bytes(options, areas.size, bs);
        (budget.io_size_given, budget.round_limit) = (false, u64::MAX);
        budget.restart_limit = bytes;
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
            rules.random.then(|| block_source(&rules, area, most_marks, seed, (thread, threads)));
        let blocks = match (blocks.transpose()?, job.pattern.sprandom) {
            (Some(BlockSource::EachOnce(fresh)), true) => {
                let options = &job.pattern.preconditioning;
                let bs = rules.for_direction(Direction::Write).smallest;
                Some(BlockSource::Sprandom(Box::new(SprandomOrder::new(options, fresh, bs)?)))
            }
            (blocks, _) => blocks,
        };
        files.push(File::new(*area, blocks));
    }
    let seeds = random_seeds(job, thread, entropy);
    let [offsets, order, mix, lengths, choice] = seeds.map(Rng::new);
    let burst = burst(&rules, &files);
    let planned = planned(&rules, &budget, &files);
    let generators = Generators { offsets, order, mix, lengths, files: choice };
    Ok(Stream {
        initial_generators: rules.repeats.then(|| generators.clone()),
        generators,
        rules,
        budget,
        files,
        progress: Progress::new(),
        burst,
        mix_directions: [Direction::Read, Direction::Write],
        burst_left: 0,
        finished: false,
        regions,
        extent_map,
        planned,
    })
}

fn budget(job: &Job, rules: &Rules, size: u64) -> Budget {
    let space = &job.space;
    let io_size = match space.io_size {
        // Blocks that were written twice are verified once.
        Some(Amount::Bytes(bytes))
            if bytes > size && job.verify.verify_only && !job.knows_write_order() =>
        {
            Some(size)
        }
        Some(Amount::Bytes(bytes)) if bytes > 0 => Some(bytes),
        _ => None,
    };
    let loops = space.loops.max(1);
    let restart_limit = io_size.unwrap_or(size);
    let job_limit = restart_limit.saturating_mul(loops);
    // With verify_only, the order of the reads is that of the writes.
    let writes = rules.mix.is_some()
        || rules.direction == Direction::Write
        || (job.verify.verify_only && rules.direction == Direction::Read);
    let mut round_limit = size;
    if rules.random && writes && job.pattern.norandommap {
        round_limit = round_limit.max(io_size.unwrap_or(0));
    }
    // fio counts only queued I/Os towards a round: not trims, and not I/Os that complete on
    // submission.
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
        restart_limit,
        ios_limit: ios_limit.saturating_mul(pair),
        loops: loops - 1,
        largest: largest.unwrap_or(1),
        counted: 0,
        issued: 0,
        round: 0,
        ios: 0,
    }
}

/// Assigns a thread its share of the job: in sequence a contiguous part of each file; at random its
/// turns of a permutation or, for independent blocks, its share of the bytes.
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
    let bs = rules.for_direction(rules.direction).smallest;
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
    if rules.each_once {
        // The thread ends with its turns of the permutation.
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
        budget.restart_limit = part(budget.restart_limit);
    } else {
        budget.job_limit = size.saturating_mul(budget.loops + 1);
        budget.restart_limit = size;
    }
    Ok(())
}

fn usable(area: &Area) -> u64 {
    area.end().saturating_sub(area.start)
}

/// The source of random blocks of a file.
fn block_source(
    rules: &Rules,
    area: &Area,
    most_marks: u64,
    seed: u64,
    (thread, threads): (u32, u32),
) -> Result<BlockSource, String> {
    let blocks = random_blocks(area, rules.for_direction(rules.direction), rules);
    if rules.each_once && (!rules.random_map || (blocks <= most_marks && threads == 1)) {
        let permutation = Permutation::new(blocks, seed, (thread, threads), rules.repeats);
        return Ok(if rules.random_map {
            BlockSource::Mapped(permutation, vec![0; blocks.div_ceil(64) as usize])
        } else {
            BlockSource::EachOnce(permutation)
        });
    }
    let mut samplers = [const { Sampler::Uniform { blocks: 0 } }; 3];
    for (sampler, direction) in samplers.iter_mut().zip(&rules.per_direction) {
        let blocks = random_blocks(area, direction, rules);
        *sampler = Sampler::new(&direction.distribution, blocks, direction.align, seed)?;
    }
    Ok(BlockSource::Independent(Box::new(samplers)))
}

/// The order of bursts, if the job allows any.
fn burst(rules: &Rules, files: &[File]) -> Option<Burst> {
    let bs = rules.fixed_bs().filter(|_| rules.is_plain())?;
    let [file] = files else {
        return None;
    };
    let align = rules.for_direction(rules.direction).align;
    let order = match &file.blocks {
        None if rules.mix.is_none() => BurstOrder::Sequential,
        Some(BlockSource::EachOnce(_)) => BurstOrder::EachOnce { align },
        Some(BlockSource::Independent(samplers)) => {
            let mut directions = rules.directions();
            if !directions.all(|direction| rules.for_direction(direction).align == align) {
                return None;
            }
            match samplers[super::index(rules.direction)] {
                Sampler::Uniform { blocks } => BurstOrder::Independent { blocks, align },
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Burst { bs, order })
}

/// The planned work, if it can be computed: for requests of one size in files with a known end.
fn planned(rules: &Rules, budget: &Budget, files: &[File]) -> Option<PlannedWork> {
    let unknown = budget.time_based || (rules.trim_write && budget.io_size_given);
    let bs = rules.fixed_bs().filter(|_| !unknown)?;
    let each_once = |file: &File| match &file.blocks {
        Some(BlockSource::EachOnce(permutation)) => permutation.blocks_per_thread(),
        Some(_) => u64::MAX,
        None => file.requests_left(super::index(rules.direction), bs),
    };
    // A pair of a trim and a write counts once.
    let pair = if rules.trim_write { 2 } else { 1 };
    let capacity = files.iter().map(each_once).fold(0, u64::saturating_add);
    let capacity = match (rules.is_plain(), rules.mix, rules.random) {
        (false, ..) if !rules.trim_write || rules.strides.is_some() => u64::MAX,
        // Either direction may reach the end of a file first.
        (_, Some(_), false) if budget.job_limit / bs > capacity => return None,
        (_, Some(_), false) => u64::MAX,
        _ => capacity,
    };
    let round = (budget.round_limit / pair).div_ceil(bs).min(capacity);
    let job = budget.job_limit.div_ceil(bs);
    let more = if budget.io_size_given {
        // Rounds start until no more than a block is left.
        let begun = budget.restart_limit.saturating_add(1).saturating_sub(budget.largest);
        begun.div_ceil(bs).div_ceil(round.max(1))
    } else {
        0
    };
    let rounds = more.max(budget.loops + 1);
    let ios = job.min(round.saturating_mul(rounds)).min(budget.ios_limit / pair);
    let ios = (ios != u64::MAX && round > 0).then_some(ios.saturating_mul(pair))?;
    Some(PlannedWork { ios, bytes: ios.saturating_mul(bs) })
}

/// An area restricted to the job's extents: a contiguous virtual area of whole blocks, and the
/// mapping of its parts to the target.
struct ExtentArea {
    area: Area,
    /// Pairs of virtual offset and target offset.
    extent_map: Vec<(u64, u64)>,
    regions: Vec<Region>,
}

impl ExtentArea {
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
        // A request that starts within a block would end behind its extent.
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
            extent_map: Vec::with_capacity(job.space.extents.len()),
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
                cut.extent_map.push((cut.area.length, start));
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

/// Seeds of the random generators of a thread of `job`: offsets, order, mix, lengths, files.
/// `entropy` is a number unique to the run.
pub fn random_seeds(job: &Job, thread: u32, entropy: u64) -> [u64; 5] {
    let own = scramble(seed_of(job, entropy) ^ (u64::from(thread) << 1 | 1));
    [1, 2, 3, 4, 5].map(|number| own ^ number)
}
