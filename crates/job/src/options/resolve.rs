//! Resolves options that depend on each other once all are known, as fio does (init.c,
//! `fixup_options`, and the callbacks in options.c).

use crate::{BlockSize, Distribution, Job, Pattern, RandomGenerator, VerifyMethod, ZoneMode};

/// Resolves the options of `job`. `given` are the names of the options given, which override
/// implied values as in fio.
pub(super) fn resolve(job: &mut Job, given: &[&str]) {
    let given = |name: &str| given.contains(&name);
    time(job);
    job.engine.direct |= job.engine.atomic;
    pattern(job);
    depth(job);
    if job.pattern.sprandom {
        if !given("random_generator") {
            job.pattern.random_generator = RandomGenerator::Lfsr;
        }
        job.pattern.norandommap |= !given("norandommap");
    }
    if given("randseed") {
        // As in fio, a seed overrides randrepeat.
        job.pattern.randrepeat = true;
    }
    if given("verify_pattern") && !given("verify") {
        job.verify.method = VerifyMethod::PatternHeader;
    }
    contents(job, given("refill_buffers"));
    if job.verify.method != VerifyMethod::None {
        verify_interval(job);
        // Another run wrote, perhaps in another order.
        job.verify.write_sequence &= given("verify_write_sequence") || !job.verify.verify_only;
    }
    if job.verify.verify_only {
        read_instead_of_writing(job);
    }
    if !given("log_alternate_epoch") {
        job.report.logs.alternate_epoch = None;
    }
    report(job);
}

fn time(job: &mut Job) {
    if job.time.runtime_ns.is_none() {
        job.time.time_based = false;
    }
    // Steady state is only tested for with a duration.
    job.time.steadystate = job.time.steadystate.filter(|state| state.duration_ns > 0);
    let pace = &mut job.pace;
    pace.latency_target = pace.latency_target.filter(|target| target.target_ns > 0);
    pace.thinktime_spin_ns = pace.thinktime_spin_ns.min(pace.thinktime_ns);
}

fn pattern(job: &mut Job) {
    let pattern = &mut job.pattern;
    if pattern.zonemode == ZoneMode::NotGiven && pattern.zonesize.is_some() {
        pattern.zonemode = ZoneMode::Strided;
    }
    if pattern.zonemode == ZoneMode::Strided && pattern.zonerange.is_none() {
        pattern.zonerange = pattern.zonesize;
    }
    if let Some(align) = &mut pattern.blockalign {
        let smallest = pattern.bs.map(BlockSize::smallest);
        for (direction, smallest) in smallest.iter() {
            let align = align.of_mut(direction);
            *align = if *align == 0 { *smallest } else { *align };
        }
        // fio: "Any use of blockalign= turns off randommap".
        pattern.norandommap |= pattern.rw.is_random() && *align != smallest;
    }
    let uneven = |distribution: &Distribution| *distribution != Distribution::Random;
    pattern.norandommap |= pattern.random_distribution.iter().any(|(_, d)| uneven(d));
}

fn depth(job: &mut Job) {
    let depth = &mut job.depth;
    depth.batch = depth.batch.map(|batch| batch.min(depth.iodepth));
    depth.low = depth.low.map(|low| low.min(depth.iodepth));
}

fn contents(job: &mut Job, refill_given: bool) {
    let verifies = job.verify.method != VerifyMethod::None;
    let reads = job.pattern.rw.has(iodyno_model::Direction::Read);
    let contents = &mut job.contents;
    match contents.buffer_compress_percentage {
        Some(0) => contents.buffer_compress_percentage = None,
        Some(100) => {
            contents.buffer_compress_percentage = None;
            contents.zero_buffers = true;
        }
        Some(_) if !refill_given => contents.refill_buffers = true,
        _ => {}
    }
    if contents.dedupe_percentage > 0 || (verifies && !refill_given) {
        contents.refill_buffers = true;
    }
    if !contents.buffer_pattern.is_empty() {
        contents.scramble_buffers = false;
        contents.zero_buffers = false;
        // Reads overwrite the pattern in the buffers that writes use.
        contents.refill_buffers = reads || contents.buffer_compress_percentage.is_some();
    }
}

/// Adjusts the verify interval so that it divides all written blocks.
fn verify_interval(job: &mut Job) {
    let bs = &job.pattern.bs;
    let (smallest, largest) = (bs.write.smallest(), bs.write.largest());
    let mut interval = job.verify.interval.map_or(0, u64::from).min(smallest);
    if interval == 0 && smallest != largest {
        interval = smallest;
    }
    if interval == 0 || smallest % interval != 0 || largest % interval != 0 {
        interval = gcd(smallest, largest);
    }
    job.verify.interval = u32::try_from(interval).ok();
}

/// Turns writes into reads of the same blocks in the same order, for `verify_only`. A mix stays as
/// it is, since its order decides which I/Os are writes; a job that only reads has no writes.
fn read_instead_of_writing(job: &mut Job) {
    let pattern = &mut job.pattern;
    pattern.rw = match pattern.rw {
        Pattern::Write => Pattern::Read,
        Pattern::RandWrite => Pattern::RandRead,
        rw => {
            job.verify.verify_only = rw.has(iodyno_model::Direction::Write);
            return;
        }
    };
    pattern.bs.read = pattern.bs.write.clone();
    pattern.random_distribution.read = pattern.random_distribution.write.clone();
    pattern.percentage_random.read = pattern.percentage_random.write;
    if let Some(align) = &mut pattern.blockalign {
        align.read = align.write;
    }
}

/// Greatest common divisor; that of 0 and `b` is `b`.
#[must_use]
pub const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn report(job: &mut Job) {
    let report = &mut job.report;
    if report.gtod_reduce {
        report.disable_lat = true;
        report.disable_clat = true;
        report.disable_slat = true;
        report.disable_bw = true;
    }
    report.percentiles.lat &= !report.disable_lat;
    report.percentiles.clat &= !report.disable_clat;
    report.percentiles.slat &= !report.disable_slat;
}
