//! Estimates the cost of a plan: its duration, and its share of a drive's endurance.

use std::collections::BTreeMap;

use iodyno_job::script::Script;
use iodyno_job::{Job, Room, Stream};
use iodyno_judge::{ClaimBook, claim_of};
use iodyno_model::{Bytes, Claim, Direction, Host, format_duration_ns};

use crate::announce::{endurance, written_of};
use crate::targets::device_of;

/// Sentences with the longest duration of `script` and the bytes written to each drive. The speeds
/// of data sheets give the duration of work bounded by bytes, and the bytes of work bounded by
/// time.
pub fn cost(script: &Script, host: &Host, claims: &ClaimBook) -> Vec<String> {
    let mut total_ns = Some(0.0_f64);
    let mut written: BTreeMap<String, Option<f64>> = BTreeMap::new();
    for phase in &script.phases {
        let mut phase_ns = Some(0.0_f64);
        for job in phase.jobs.iter().map(|job| &job.job) {
            for device in devices(job) {
                let cost = of_job(job, &device, host, claims);
                phase_ns = phase_ns.zip(cost.map(|cost| cost.ns)).map(|(most, ns)| most.max(ns));
                // A trim destroys data but writes nothing.
                if written_of(job) > 0.0 {
                    let sum = written.entry(device).or_insert(Some(0.0));
                    *sum = sum.zip(cost.map(|cost| cost.written)).map(|(sum, more)| sum + more);
                }
            }
        }
        total_ns = total_ns.zip(phase_ns).map(|(total, ns)| total + ns);
    }
    let mut sentences: Vec<String> = written
        .into_iter()
        .map(|(device, bytes)| {
            let Some(bytes) = bytes else {
                return format!(
                    "Bytes written to {device} are unknown: no data sheet states its speed."
                );
            };
            let drive = host.namespace(&device).map(|(drive, _)| drive);
            let share = drive.map_or(String::new(), |drive| endurance(bytes as u64, drive, claims));
            format!("Writes about {} to {device}{share}.", Bytes(bytes as u64).decimal())
        })
        .collect();
    sentences.push(match total_ns {
        Some(ns) => format!("All points take at most about {}.", format_duration_ns(ns)),
        None => "Total duration unknown: no data sheet states the speed of the drive.".into(),
    });
    sentences
}

/// Cost of a job on one device.
#[derive(Clone, Copy)]
struct Cost {
    ns: f64,
    written: f64,
}

/// `None` if it depends on the device's speed and no data sheet states that.
fn of_job(job: &Job, device: &str, host: &Host, claims: &ClaimBook) -> Option<Cost> {
    let share = written_of(job);
    let sheet = host.namespace(device).and_then(|(drive, _)| claim_of(claims, drive));
    let rate = sheet.and_then(|sheet| claimed_rate(job, sheet));
    if let Some(ns) = job.longest_ns() {
        let ns = ns as f64;
        let written = if share == 0.0 { Some(0.0) } else { rate.map(|rate| rate * ns / 1e9) };
        return written.map(|written| Cost { ns, written: written * share });
    }
    let block = host.block(device)?;
    let size_bytes = block.size.get()?.0;
    let block_bytes = block.queue.logical_block_bytes.value().unwrap_or(512);
    let rooms = vec![Room { size_bytes, block_bytes }; job.files.paths.len()];
    let bytes = Stream::new(job, &rooms, 0, 0).ok()?.planned()?.bytes as f64;
    // Data verified at the end is read again.
    let passes = if job.writes() && job.verify.do_verify { 2.0 } else { 1.0 };
    rate.map(|rate| Cost { ns: bytes * passes / rate * 1e9, written: bytes * share })
}

/// Speed of a job's I/O by the data sheet, bytes per second in all directions; the slower figure
/// (after the cache is full) where there is one.
fn claimed_rate(job: &Job, sheet: &Claim) -> Option<f64> {
    let rw = job.pattern.rw;
    let (reads, writes) = (rw.has(Direction::Read), rw.has(Direction::Write));
    let sequential = |mbs: Option<f64>| mbs.map(|mbs| mbs * 1e6);
    let random = |iops: Option<f64>| iops.map(|iops| iops * job.largest_block() as f64);
    let slow_write = sheet.after_cache_write_mbs.or(sheet.seq_write_mbs);
    let rate = match (rw.is_random(), reads, writes) {
        (false, true, false) => sequential(sheet.seq_read_mbs),
        (false, false, true) => sequential(slow_write),
        (true, true, false) => random(sheet.rand_read_iops),
        (true, false, true) => random(sheet.rand_write_iops),
        (true, true, true) => random(sheet.mix7030_iops),
        _ => None,
    };
    // Large random blocks are no faster than sequential ones.
    let bound = sequential(if writes { slow_write } else { sheet.seq_read_mbs });
    let rate = rate?;
    Some(bound.map_or(rate, |bound| rate.min(bound))).filter(|rate| *rate > 0.0)
}

/// Names of a job's block devices.
fn devices(job: &Job) -> impl Iterator<Item = String> {
    job.files.paths.iter().filter_map(|path| {
        let device = device_of(path)?;
        let real = std::fs::canonicalize(&device).ok()?;
        Some(real.file_name()?.to_str()?.to_owned())
    })
}
