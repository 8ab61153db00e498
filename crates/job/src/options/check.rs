//! Checks for conflicting options, and notes on options without effect.

use iodyno_model::{Direction, PerDirection};

use super::{Support, find, is_given};
use crate::value::JobError;
use crate::{Amount, BlockSize, IoEngine, Job, Pattern, RandomGenerator, VerifyMethod, ZoneMode};

/// fio's `struct verify_header`, bytes.
const VERIFY_HEADER: u64 = 48;
/// Smallest unit of O_DIRECT on any device, bytes.
const SECTOR: u64 = 512;

/// Returns the conflicts between the options of a job.
pub fn check(job: &Job) -> Vec<JobError> {
    let mut errors = Vec::new();
    let wrong = &mut |is_wrong: bool, text: String| {
        if is_wrong {
            errors.push(JobError::Conflict(text));
        }
    };
    pace(job, wrong);
    space(job, wrong);
    files(job, wrong);
    engine(job, wrong);
    verify(job, wrong);
    steady_state(job, wrong);
    blocks(job, wrong);
    errors.extend(not_native(job));
    errors
}

/// Conflicts of rates; the first two are fio's (init.c, `fixup_options`).
fn pace(job: &Job, wrong: &mut impl FnMut(bool, String)) {
    let pace = &job.pace;
    let rates = |each: &PerDirection<Option<u64>>| each.iter().any(|(_, rate)| rate.is_some());
    wrong(
        (rates(&pace.rate) && rates(&pace.rate_iops))
            || (rates(&pace.rate_min) && rates(&pace.rate_iops_min)),
        "rate and rate_iops exclude each other: give one of them".into(),
    );
    for (greatest, least, name) in
        [(&pace.rate, &pace.rate_min, "rate"), (&pace.rate_iops, &pace.rate_iops_min, "rate_iops")]
    {
        let above = |(direction, least): (Direction, &Option<u64>)| matches!((greatest.of(direction), least), (Some(most), Some(least)) if most < least);
        wrong(least.iter().any(above), format!("{name}_min is above {name}"));
    }
    wrong(
        pace.latency_target.is_some() && (rates(&pace.rate) || rates(&pace.rate_iops)),
        "latency_target and a rate exclude each other: each chooses how many I/Os are made".into(),
    );
}

/// Conflicts of zones and sizes, as in fio.
fn space(job: &Job, wrong: &mut impl FnMut(bool, String)) {
    let pattern = &job.pattern;
    wrong(
        pattern.zonemode == ZoneMode::Strided && pattern.zonesize.is_none(),
        "zonemode=strided needs a zonesize".into(),
    );
    wrong(
        pattern.zonemode == ZoneMode::None && pattern.zonesize.is_some(),
        "zonemode=none and zonesize exclude each other".into(),
    );
    let smallest = job.pattern.used_sizes().map(|(_, bs)| bs.smallest()).min().unwrap_or(0);
    if let Some(Amount::Bytes(size)) = job.space.size {
        wrong(size < smallest, format!("size={size} is less than a block of {smallest} bytes"));
    }
}

fn files(job: &Job, wrong: &mut impl FnMut(bool, String)) {
    let pattern = &job.pattern;
    let files = &job.files;
    wrong(
        pattern.sprandom
            && (pattern.rw != Pattern::RandWrite
                || pattern.random_generator != RandomGenerator::Lfsr
                || !pattern.norandommap
                || pattern.bs.write.fixed().is_none()
                || job.files.nrfiles != 1),
        "sprandom needs rw=randwrite, random_generator=lfsr, norandommap=1, one block size and one \
         file"
            .into(),
    );
    wrong(
        job.report.block_error_percentiles && files.nrfiles != 1,
        "block_error_percentiles needs one file".into(),
    );
    let logs = &job.report.logs;
    wrong(
        logs.issue_time && (logs.latency.is_none() || !logs.offset),
        "log_issue_time needs write_lat_log and log_offset=1".into(),
    );
    wrong(
        pattern.rw.has(Direction::Trim)
            && !job.engine.ioengine.is_diskless()
            // falloc's trims punch holes.
            && job.engine.ioengine != IoEngine::Falloc
            && (!files.directory.is_empty()
                || (files.filename.is_empty() && files.paths.is_empty())),
        format!("rw={} needs a filename and no directory, or ioengine=falloc", pattern.rw.name()),
    );
    let replay = &job.replay;
    wrong(
        replay.write_iolog.is_some() && job.threads.numjobs > 1,
        "write_iolog is of one job: numjobs would write the same log several times".into(),
    );
    wrong(
        replay.align_bytes > 0 && !replay.align_bytes.is_power_of_two(),
        format!("replay_align={} is not a power of two", replay.align_bytes),
    );
}

fn engine(job: &Job, wrong: &mut impl FnMut(bool, String)) {
    let ioengine = job.engine.ioengine;
    let takes_flags = matches!(
        ioengine,
        IoEngine::Auto | IoEngine::IoUring | IoEngine::Libaio | IoEngine::Pvsync2
    );
    wrong(
        job.engine.atomic && !takes_flags,
        format!(
            "atomic cannot be used with ioengine={}: take io_uring, libaio or pvsync2",
            ioengine.name()
        ),
    );
    let load = &job.engine.cpu_load;
    let burns = ioengine == IoEngine::Cpuio;
    wrong(
        ioengine == IoEngine::Exec && job.engine.program.name.is_none(),
        "ioengine=exec needs a program".into(),
    );
    wrong(burns && load.percent == 0, "ioengine=cpuio needs cpuload: percent of a CPU".into());
    wrong(
        burns && job.time.runtime_ns.is_none() && !load.exit_on_io_done,
        "ioengine=cpuio would not end: give runtime or exit_on_io_done=1".into(),
    );
    let files = &job.files;
    wrong(
        ioengine == IoEngine::PageFault && (files.nrfiles > 1 || files.filename.len() > 1),
        "ioengine=page_fault works on memory in place of one file: give no more of them".into(),
    );
    let priority = &job.engine.command_priority;
    let by_size = &priority.by_size;
    wrong(
        priority.percent.read + priority.percent.write > 0
            && !(by_size.read.is_empty() && by_size.write.is_empty()),
        "cmdprio_percentage and cmdprio_bssplit exclude each other: give one of them".into(),
    );
    wrong(
        priority.is_on() && !matches!(ioengine, IoEngine::IoUring | IoEngine::Libaio),
        format!(
            "cmdprio_percentage and cmdprio_bssplit cannot be used with ioengine={}: take io_uring \
             or libaio",
            ioengine.name()
        ),
    );
}

fn steady_state(job: &Job, wrong: &mut impl FnMut(bool, String)) {
    if let Some(state) = job.time.steadystate {
        let second = 1_000_000_000;
        wrong(
            state.check_interval_ns < second,
            "steadystate_check_interval is less than 1s".into(),
        );
        wrong(
            state.check_interval_ns > 0
                && (!state.duration_ns.is_multiple_of(state.check_interval_ns)
                    || state.duration_ns <= state.check_interval_ns),
            "steadystate_duration is not a multiple of steadystate_check_interval".into(),
        );
    }
}

/// Block sizes that do not fit the device or the verify pattern.
fn blocks(job: &Job, wrong: &mut impl FnMut(bool, String)) {
    let every = u64::from(job.verify.pattern_interval);
    let divided = job.pattern.used_sizes().all(|(_, bs)| every == 0 || bs.smallest() % every == 0);
    // Blocks are read back as they were written only if all have the same size and alignment.
    let mut sizes = job.pattern.used_sizes().map(|(_, bs)| bs.fixed());
    let first = sizes.next().flatten();
    let alike = first.is_some() && sizes.all(|bs| bs == first) && job.pattern.blockalign.is_none();
    wrong(
        !divided && !alike,
        format!("verify_pattern_interval={every} does not divide the blocks, which differ"),
    );
    if job.engine.direct && !job.pattern.bs_unaligned {
        let uneven = job.pattern.used_sizes().find(|(_, bs)| bs.smallest() % SECTOR != 0);
        if let Some((direction, bs)) = uneven {
            let size = bs.smallest();
            wrong(
                true,
                format!(
                    "{direction:?} blocks of {size} bytes cannot be made with direct=1: multiples of {SECTOR} can \
                 (in sizes KiB is 1000 as in fio, k is 1024)",
                ),
            );
        }
    }
}

/// Combinations of options that fio supports and the native generator does not.
fn not_native(job: &Job) -> Vec<JobError> {
    let mut errors = Vec::new();
    let pattern = &job.pattern;
    let verifies = !matches!(job.verify.method, VerifyMethod::None | VerifyMethod::Null);
    let is_range = |(_, bs): (Direction, &BlockSize)| matches!(bs, BlockSize::Range { low, high } if low < high);
    if verifies && pattern.bs_unaligned && job.pattern.used_sizes().any(is_range) {
        errors.push(JobError::NotNative {
            option: "bs_unaligned",
            value: "1".into(),
            reason: "what is verified are whole intervals, which blocks of any size cut in two"
                .into(),
        });
    }
    if job.engine.command_priority.is_on() && job.depth.offload {
        errors.push(JobError::NotNative {
            option: "io_submit_mode",
            value: "offload".into(),
            reason: "its threads give all I/Os the priority of the job, and cmdprio is given"
                .into(),
        });
    }
    if job.replay.read_iolog.is_some() && (job.space.loops > 1 || job.time.time_based) {
        errors.push(JobError::NotNative {
            option: "read_iolog",
            value: job.replay.read_iolog.clone().unwrap_or_default(),
            reason: "a log is made again once: without loops and time_based".into(),
        });
    }
    errors
}

fn verify(job: &Job, wrong: &mut impl FnMut(bool, String)) {
    use VerifyMethod::{None as Nothing, Null, Pattern};

    let verify = &job.verify;
    if !matches!(verify.method, Nothing | Null | Pattern) {
        let interval = verify.interval.map_or(job.pattern.bs.write.smallest(), u64::from);
        wrong(
            u64::from(verify.offset) + VERIFY_HEADER > interval,
            format!(
                "verify needs {VERIFY_HEADER} bytes for its header, behind verify_offset, in every {interval} bytes: \
                 larger blocks or a larger verify_interval are needed"
            ),
        );
    }
    let needs = matches!(verify.method, Pattern | crate::VerifyMethod::PatternHeader);
    wrong(needs && verify.pattern.is_empty(), "verify=pattern needs a verify_pattern".into());
}

/// Returns notes for the user on options that have no effect here, or less than they seem to.
pub fn notes(job: &Job, entries: &[(&str, Option<&str>)]) -> Vec<String> {
    let engine = job.engine.ioengine;
    let mut notes = Vec::new();
    for (name, value) in entries {
        let (Some(spec), value) = (find(name), value.unwrap_or_default()) else { continue };
        // pvsync2 shares some of io_uring's options.
        let of_io_uring = IoEngine::IoUring.has_option(spec.name)
            && !IoEngine::Pvsync2.has_option(spec.name)
            && !engine.has_option(spec.name);
        if let Support::Ignored(reason) = spec.support {
            notes.push(format!("{name} changes nothing here: {reason}"));
        } else if of_io_uring {
            notes.push(format!("{name} has no effect with ioengine={}", engine.name()));
        } else if spec.name == "ioengine" && matches!(value, "pvsync" | "vsync") {
            notes.push(format!("ioengine={value} is run as pvsync2"));
        } else if spec.kind().is_of_sizes() && value.to_ascii_lowercase().contains("ib") {
            let (binary, decimal) =
                if job.report.kb_base == 1000 { (1024, 1000) } else { (1000, 1024) };
            notes.push(format!(
                "{name}={value}: as in fio with kb_base={}, KiB is {binary} bytes and k is {decimal}",
                job.report.kb_base
            ));
        }
    }
    let given = |wanted| is_given(entries, wanted);
    if engine.is_synchronous() && job.depth.iodepth > 1 && !job.depth.offload {
        notes.push(format!(
            "iodepth={} has no effect: {} makes one I/O at a time; raise numjobs, or take io_uring or libaio",
            job.depth.iodepth,
            engine.name(),
        ));
    }
    if job.depth.batch_complete_min > job.depth.iodepth {
        notes.push(format!(
            "iodepth_batch_complete_min={} is above iodepth={}: as in fio, all I/Os are waited for",
            job.depth.batch_complete_min, job.depth.iodepth,
        ));
    }
    let block = |name: &&String| name.starts_with("/dev/nvme");
    if let (IoEngine::IoUringCmd, Some(name)) = (engine, job.files.filename.iter().find(block)) {
        notes.push(format!(
            "ioengine=io_uring_cmd needs a character device such as /dev/ng0n1, and {name} is a block device"
        ));
    }
    if given("time_based") && job.time.runtime_ns.is_none() {
        notes.push("time_based has no effect without runtime".into());
    }
    if given("steadystate") && job.time.steadystate.is_none() {
        notes.push("steadystate has no effect without steadystate_duration".into());
    }
    notes
}
