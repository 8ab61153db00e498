//! Limits of a measurement other than the drive. Predicates on one measurement; `None` or an error
//! text if undecided.

use iodyno_model::{
    Drive, Host, Measurement, Metric, OcpHealth, RunRecord, VolumeLimit, format_count,
    format_mb_per_s,
};

use crate::control_group;
use crate::convergence::total_figure;
use crate::figures::percent;
use crate::measured::is_paced;
use crate::outstanding::{STILL_GROWING, job_depth, syncing, waits_in_no_queue};

/// A submitting thread below this share of a CPU waits for the device, not for the CPU.
pub(super) const BUSY: f64 = 0.80;
/// A thread that is ready and has no CPU for this share of the time is kept from submitting.
const WAITED: f64 = 0.2;
/// A submitting thread at this share of a CPU is saturated.
pub(crate) const SATURATED: f64 = 0.95;
/// A depth is reached from this share on: with a mean latency from submission on, Little's law is
/// exact for a full queue.
pub(crate) const DEPTH_REACHED: f64 = 0.8;
/// Other I/O counts from this share of the job's own on: twice the default precision.
const OTHER_SHARE: f64 = 0.02;
/// Other I/O counts from these rates on, which a system log does not reach.
const OTHER_IOPS: f64 = 10.0;
const OTHER_BYTES_PER_S: f64 = 1e6;
/// Least bytes of an I/O: a sector.
const SECTOR_BYTES: f64 = 512.0;

/// CPU use of the submitting threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CpuShare {
    /// Share of a CPU that the busiest thread used.
    Busiest(f64),
    /// More threads than CPUs: the share of the CPU time that all of them used, and the number of
    /// CPUs.
    Together(f64, f64),
}

impl CpuShare {
    /// Share of the available CPU time, 0..1.
    pub(crate) const fn share(self) -> f64 {
        match self {
            Self::Busiest(share) | Self::Together(share, _) => share,
        }
    }

    /// `the busiest thread used 50 % of a CPU`.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Busiest(share) => format!("busiest thread: {} of a CPU", percent(share)),
            Self::Together(share, cpus) => {
                let cpus = format!("{cpus:.2}");
                let cpus = cpus.trim_end_matches('0').trim_end_matches('.');
                format!("all threads: {} of {cpus} CPUs", percent(share))
            }
        }
    }
}

/// Returns the CPU use of the submitting threads; `None`: not known. Threads that outnumber their
/// CPUs share them, so no single thread shows it.
pub(crate) fn cpu_share(host: Option<&Host>, of: &Measurement) -> Option<CpuShare> {
    let cpu = of.cpu?;
    let jobs = || Some(of.workload.numjobs?.saturating_mul(of.targets.len().max(1) as u32));
    let threads = of.conditions.threads.or_else(jobs).unwrap_or(1);
    match usable_cpus(host, of) {
        Some(cpus) if f64::from(threads) > cpus => {
            Some(CpuShare::Together((cpu.user + cpu.system) / cpus, cpus))
        }
        _ => Some(CpuShare::Busiest(cpu.busiest_thread)),
    }
}

/// Returns the number of CPUs that its threads may use, by their affinity and their control group;
/// `None`: not restricted, as far as known.
pub(super) fn usable_cpus(host: Option<&Host>, of: &Measurement) -> Option<f64> {
    let allowed = host.and_then(control_group::allowed_cpus);
    let own = of.conditions.cpus.len() as f64;
    [Some(own), allowed].into_iter().flatten().filter(|cpus| *cpus > 0.0).reduce(f64::min)
}

/// Returns the share of the time for which a submitting thread waited for a CPU that other processes
/// used, if it had hardly any time besides; `None`: it had, or that is not known. Threads that
/// outnumber their CPUs wait for each other.
pub(super) fn waited_for_cpu(host: Option<&Host>, of: &Measurement) -> Option<f64> {
    let CpuShare::Busiest(used) = cpu_share(host, of)? else { return None };
    let waited = of.cpu?.waited?;
    (waited >= WAITED && used + waited >= BUSY).then_some(waited)
}

/// Returns true if the submitting threads were saturated; `None`: not known. At depth 1 CPU time is
/// part of the latency, not a separate limit.
pub(crate) fn saturated(host: Option<&Host>, of: &Measurement) -> Option<bool> {
    let share = cpu_share(host, of)?;
    let is_busy = share.share() >= SATURATED;
    let one_at_a_time = job_depth(of) == Some(1) && matches!(share, CpuShare::Busiest(_));
    Some(is_busy && !one_at_a_time)
}

/// Returns the CPU use of the submitting threads if it bounds the rate.
pub(crate) fn busiest_share(host: Option<&Host>, of: &Measurement) -> Option<CpuShare> {
    let one_at_a_time = job_depth(of) == Some(1);
    cpu_share(host, of).filter(|share| !one_at_a_time || matches!(share, CpuShare::Together(..)))
}

/// Describes a depth that was not reached, or a rate that still grew at the greatest depth.
/// `Ok(None)`: the depth sufficed, no queue holds its I/Os, or the job was rate-limited and its depth
/// is only a bound.
/// `Err`: what is missing.
pub(crate) fn depth_short(of: &Measurement) -> Result<Option<String>, String> {
    if is_paced(of) || waits_in_no_queue(of) {
        return Ok(None);
    }
    if let [.., (_, before), (depth, last)] = of.conditions.depths_tried.as_slice()
        && *before > 0.0
        && *last >= before * STILL_GROWING
    {
        return Ok(Some(format!(
            "the rate still grew by {:.0} % at the greatest depth tried, {depth}",
            (last / before - 1.0) * 100.0
        )));
    }
    let (Some(asked), Some(reached)) = (of.conditions.depth_asked, of.conditions.depth_reached)
    else {
        return Err("requested or reached depth is not recorded".into());
    };
    if !reached.is_finite() {
        return Err("depth reached is not recorded".into());
    }
    // One I/O at a time is outstanding whenever the job does nothing else.
    let short = asked > 1 && reached + syncing(of) < DEPTH_REACHED * f64::from(asked);
    Ok(short.then(|| format!("{reached:.1} of {asked} I/Os were outstanding on average")))
}

/// Describes I/O of other processes on the devices. `None`: not known.
pub(crate) fn other_io(of: &Measurement) -> Option<Option<String>> {
    let (iops, bytes) = (other_iops(of)?, of.conditions.other_bytes_per_s?);
    let much = (iops > OTHER_IOPS && iops > OTHER_SHARE * total_figure(Metric::Iops, of)?)
        || moves_much(of)?;
    let bytes = if of.workload.direct == Some(false) { 0.0 } else { bytes };
    Some(much.then(|| {
        // The kernel merges I/Os: even with fewer than the job's own, some bytes may be another's.
        let iops = (iops >= 1.0).then(|| format!("{} IOPS", format_count(iops)));
        let bytes = (bytes >= 1.0).then(|| format_mb_per_s(bytes));
        let words: Vec<String> = iops.into_iter().chain(bytes).collect();
        format!("other processes did {}", words.join(", "))
    }))
}

/// I/Os per second of other processes: no more than their bytes allow, since own I/O that the kernel
/// cut into more pieces than expected has no others' bytes.
pub(super) fn other_iops(of: &Measurement) -> Option<f64> {
    Some(of.conditions.other_iops?.min(of.conditions.other_bytes_per_s? / SECTOR_BYTES))
}

/// Describes I/O of other processes that took a part of what the device can move. `None`: not known,
/// or not that much.
pub(crate) fn other_load(of: &Measurement) -> Option<String> {
    moves_much(of).filter(|much| *much).and_then(|_| other_io(of)?)
}

/// True if others moved much; `None`: not known.
fn moves_much(of: &Measurement) -> Option<bool> {
    let bytes = of.conditions.other_bytes_per_s?;
    // The page cache reads ahead and writes back later: these bytes are the job's own.
    let is_others = of.workload.direct != Some(false) && bytes > OTHER_BYTES_PER_S;
    Some(is_others && bytes > OTHER_SHARE * total_figure(Metric::Bandwidth, of)?)
}

/// A drive before and after a measurement.
fn snapshots_of<'a>(
    record: &'a RunRecord,
    of: &Measurement,
    drive: &str,
) -> Option<(&'a Drive, &'a Drive)> {
    let at = |index: Option<usize>| record.snapshots.get(index?)?.drive(drive);
    Some((at(of.before)?, at(of.after)?))
}

/// Growth of a counter in OCP's extended health log; `None`: no such log, or not read.
pub(crate) fn ocp_grown(
    record: &RunRecord,
    of: &Measurement,
    drive: &str,
    count: fn(&OcpHealth) -> u64,
) -> Option<u64> {
    let (before, after) = snapshots_of(record, of, drive)?;
    count(after.ocp_health.get()?).checked_sub(count(before.ocp_health.get()?))
}

/// Time that a cloud volume demanded more than each of its limits, us, the longest first; `None`:
/// not counted, or not read.
pub(crate) fn volume_exceeded(
    record: &RunRecord,
    of: &Measurement,
    drive: &str,
) -> Option<Vec<(VolumeLimit, u64)>> {
    let (before, after) = snapshots_of(record, of, drive)?;
    Some(after.volume_limits.get()?.exceeded_since(before.volume_limits.get()?))
}

/// Returns true if the drive throttled for heat during the measurement; `None`: not known.
pub(crate) fn throttled(record: &RunRecord, of: &Measurement, drive: &str) -> Option<bool> {
    let (before, after) = snapshots_of(record, of, drive)?;
    throttled_between(before, after)
}

/// Minutes that the drive was above its warning temperature during the measurement; `None`: not
/// known.
pub(crate) fn overheated_min(record: &RunRecord, of: &Measurement, drive: &str) -> Option<u32> {
    let (before, after) = snapshots_of(record, of, drive)?;
    Some(after.health.get()?.overheated_since(before.health.get()?))
}

/// Whether the drive throttled between two snapshots, by whichever logs were read.
pub(crate) fn throttled_between(before: &Drive, after: &Drive) -> Option<bool> {
    let health = before.health.get().zip(after.health.get());
    let by_health = health.map(|(before, after)| after.throttled_since(before));
    let ocp = before.ocp_health.get().zip(after.ocp_health.get());
    // One-byte counter that wraps around to 0.
    let by_ocp = ocp.map(|(was, is)| is.thermal_throttling_count != was.thermal_throttling_count);
    match (by_health, by_ocp) {
        (None, by_ocp) => by_ocp,
        (Some(by_health), by_ocp) => Some(by_health || by_ocp == Some(true)),
    }
}
