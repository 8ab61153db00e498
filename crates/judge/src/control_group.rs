//! Limits that the process's control groups imposed on a measurement.

use std::collections::HashMap;
use std::fmt;

use iodyno_model::{
    BlockDevice, ControlGroup, Direction, DirectionResult, Fact, Host, Measurement, Metric, Origin,
    format_count, format_mb_per_s,
};

use crate::figures::percent;
use crate::index::Index;
use crate::limiter::{CpuShare, cpu_share, saturated};
use crate::place::{device_of, target_devices};

/// A limit counts as reached from this share on: the kernel admits I/O in slices of 100 ms.
const REACHED: f64 = 0.9;
/// A group out of CPU time in this share of its periods is throttled.
const THROTTLED: f64 = 0.05;
/// From this share on, CPU throttling is the limit.
const MOSTLY_THROTTLED: f64 = 0.25;
/// Submitters that need not wait for their I/Os but do so for this share of the time are being
/// throttled.
const STALLED: f64 = 0.1;

/// Limit of a control group on one direction of a measurement, in bytes or I/Os per second.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IoLimit {
    /// Path of the group.
    group: String,
    devices: Vec<String>,
    direction: Direction,
    metric: Metric,
    /// Limit for all of these devices together, in the metric's unit.
    pub(crate) most: f64,
    /// Measured rate, in the metric's unit.
    rate: f64,
}

impl IoLimit {
    pub(crate) fn is_reached(&self) -> bool {
        self.rate >= REACHED * self.most
    }

    fn value(&self, rate: f64) -> String {
        match self.metric {
            Metric::Bandwidth => format_mb_per_s(rate),
            _ => format!("{} IOPS", format_count(rate)),
        }
    }

    /// Returns the name of the limiting file; cgroup v1 has one for each kind of limit.
    fn setting(&self) -> &'static str {
        if self.group.starts_with('/') {
            return "io.max";
        }
        match (self.direction, self.metric) {
            (Direction::Write, Metric::Bandwidth) => "blkio.throttle.write_bps_device",
            (Direction::Write, _) => "blkio.throttle.write_iops_device",
            (_, Metric::Bandwidth) => "blkio.throttle.read_bps_device",
            (..) => "blkio.throttle.read_iops_device",
        }
    }
}

impl fmt::Display for IoLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.direction == Direction::Write { "writes" } else { "reads" };
        write!(
            f,
            "{} of control group {} limits {} of {verb} to {}",
            self.setting(),
            self.group,
            self.value(self.most),
            self.devices.join(" and ")
        )
    }
}

/// Effect of the process's control groups on a measurement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CgroupEffect {
    /// The rate reached a limit of I/O.
    Io(IoLimit),
    /// The group ran out of the CPU time of cpu.max.
    Cpu {
        /// Path of the group.
        group: String,
        /// Limit in CPUs.
        cpus: Option<f64>,
        /// Share of the periods that were throttled.
        share: f64,
    },
    /// More threads than the CPUs of the cpuset, and these CPUs were fully used.
    Cpuset {
        /// Path of the group.
        group: String,
        /// Number of CPUs allowed.
        cpus: usize,
        /// Share of their time that was used.
        share: f64,
    },
    /// A group has a latency target or cost-based shares on the device, which may have throttled
    /// it.
    LatencyOrCost {
        /// Path of the group.
        group: String,
        /// `io.latency`, `io.cost.qos`.
        setting: &'static str,
        /// Block device.
        device: String,
        /// Share of the time in which its threads were throttled; `None`: not known.
        share: Option<f64>,
    },
}

impl CgroupEffect {
    /// Returns true if no other limit has to be sought.
    pub(crate) fn is_the_limit(&self) -> bool {
        match self {
            Self::Io(_) | Self::Cpuset { .. } => true,
            Self::Cpu { share, .. } => *share >= MOSTLY_THROTTLED,
            Self::LatencyOrCost { .. } => false,
        }
    }

    /// Returns true if it is known to have had an effect.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Self::LatencyOrCost { share: None, .. })
    }

    /// Path of the group.
    pub(crate) fn group(&self) -> &str {
        match self {
            Self::Io(IoLimit { group, .. })
            | Self::Cpu { group, .. }
            | Self::Cpuset { group, .. }
            | Self::LatencyOrCost { group, .. } => group,
        }
    }

    /// Returns the advice for it.
    pub(crate) fn next(&self) -> String {
        // Cgroup v1 has one hierarchy per controller: `cpu,cpuacct:/docker/a`.
        let group = self.group().trim_end_matches('/').replacen(':', "", 1);
        let slash = if group.starts_with('/') || group.is_empty() { "" } else { "/" };
        let setting = self.setting();
        let (of_units, of_containers) = match self {
            Self::Io(_) => (
                "IOReadBandwidthMax= IOWriteBandwidthMax= IOReadIOPSMax= IOWriteIOPSMax=",
                "--device-read-bps, --device-write-bps, --device-read-iops, --device-write-iops",
            ),
            Self::Cpu { .. } => ("CPUQuota=", "--cpus"),
            Self::Cpuset { .. } => ("AllowedCPUs=", "--cpuset-cpus"),
            Self::LatencyOrCost { .. } => ("IODeviceLatencyTargetSec= IOWeight=", "--blkio-weight"),
        };
        format!(
            "Remove it, or measure outside of the group: cat /sys/fs/cgroup{slash}{group}/{setting}; of a systemd \
             unit: systemctl set-property UNIT {of_units}; of a container: {of_containers}"
        )
    }

    /// Returns the name of the limiting file.
    pub(crate) fn setting(&self) -> &'static str {
        match self {
            Self::Io(limit) => limit.setting(),
            Self::Cpu { group, .. } if !group.starts_with('/') => "cpu.cfs_quota_us",
            Self::Cpu { .. } => "cpu.max",
            Self::Cpuset { .. } => "cpuset.cpus",
            Self::LatencyOrCost { setting, .. } => setting,
        }
    }
}

impl fmt::Display for CgroupEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(limit) => write!(f, "{limit}, and {} were measured", limit.value(limit.rate)),
            Self::Cpu { group, cpus, share } => {
                let cpus = cpus.map(|cpus| format!(" ({cpus:.2} CPUs)")).unwrap_or_default();
                let share = percent(*share);
                let setting = self.setting();
                write!(
                    f,
                    "{setting}{cpus} of control group {group} throttled it in {share} of periods"
                )
            }
            Self::Cpuset { group, cpus, share } => write!(
                f,
                "cpuset.cpus of control group {group} allows {cpus} CPUs, {} used",
                percent(*share)
            ),
            Self::LatencyOrCost { group, setting, device, share } => {
                write!(f, "control group {group} has {setting} on {device}")?;
                match share {
                    Some(share) => {
                        write!(f, ", which stalled its threads {} of the time", percent(*share))
                    }
                    None => write!(f, ", which may throttle it"),
                }
            }
        }
    }
}

/// Returns the effect of control groups on a measurement; `None`: none.
///
/// # Errors
/// What is missing to tell.
pub(crate) fn cgroup_effect(
    index: &Index<'_>,
    of: &Measurement,
) -> Result<Option<CgroupEffect>, String> {
    let record = index.record();
    // Control groups do not limit a simulated drive.
    if record.run.origin == Origin::Simulated {
        return Ok(None);
    }
    let at = |index: Option<usize>| record.snapshots.get(index?);
    let Some(before) = at(of.before).or_else(|| record.host()) else {
        return Err("the run holds no snapshot of the host".into());
    };
    let groups = match (before.control_groups.get(), before.control_groups.why_unknown()) {
        (Some(groups), _) => groups,
        // There are none, or the run was made without looking.
        (None, _) if before.control_groups == Fact::Absent => return Ok(None),
        (None, why) => return Err(format!("control groups: {}", why.unwrap_or_default())),
    };
    let reached = io_limits(index, before, of).into_iter().filter(IoLimit::is_reached);
    if let Some(limit) = reached.min_by(|a, b| (a.most / a.rate).total_cmp(&(b.most / b.rate))) {
        return Ok(Some(CgroupEffect::Io(limit)));
    }
    let after = at(of.after).filter(|after| after.taken_ns > before.taken_ns);
    let later = |group: &ControlGroup| {
        let groups = after?.control_groups.get()?;
        groups.iter().find(|later| later.path == group.path)
    };
    let throttled = groups.iter().filter_map(|group| {
        let (was, is) = (group.cpu_throttling.get()?, later(group)?.cpu_throttling.get()?);
        let periods = is.periods.checked_sub(was.periods).filter(|periods| *periods > 0)?;
        let throttled = is.throttled_periods.checked_sub(was.throttled_periods)?;
        let share = throttled as f64 / periods as f64;
        let (group, cpus) = (group.path.clone(), group.cpu_max.value());
        (share >= THROTTLED).then_some(CgroupEffect::Cpu { group, cpus, share })
    });
    if let Some(throttled) = throttled.into_iter().next() {
        return Ok(Some(throttled));
    }
    if let (Some((group, cpus)), Some(CpuShare::Together(share, _))) =
        (cpuset_group(before), cpu_share(Some(before), of))
        && saturated(Some(before), of) == Some(true)
    {
        return Ok(Some(CgroupEffect::Cpuset { group: group.into(), cpus, share }));
    }
    let Some((shared, own)) = latency_or_cost_setting(before, groups, of).zip(groups.first())
    else {
        return Ok(None);
    };
    let stalled_us = || {
        let is = later(own)?.io_stalled_us.value()?;
        is.checked_sub(own.io_stalled_us.value()?)
    };
    let elapsed_ns = after.map(|after| (after.taken_ns - before.taken_ns) as f64);
    let (group, setting, device) = shared;
    let share = stalled_us().zip(elapsed_ns).map(|(us, ns)| us as f64 * 1e3 / ns);
    // With other engines, waiting for completions counts as a stall; with io_uring since Linux 6.5.
    let share = share.filter(|_| of.workload.ioengine.as_deref() == Some("libaio"));
    let is_let_through = share.is_some_and(|share| share < STALLED);
    let group = group.path.clone();
    Ok((!is_let_through).then_some(CgroupEffect::LatencyOrCost { group, setting, device, share }))
}

/// Returns a group with a latency target or cost-based shares on a device of the measurement.
fn latency_or_cost_setting<'g>(
    host: &Host,
    groups: &'g [ControlGroup],
    of: &Measurement,
) -> Option<(&'g ControlGroup, &'static str, String)> {
    let stacked: Vec<&str> =
        crate::place::stacked_devices(host, of).iter().map(|device| device.name.as_str()).collect();
    let is_its = |name: &&String| stacked.contains(&name.as_str());
    groups.iter().find_map(|group| {
        let by_latency = group.io_latency.iter().map(|(device, _)| device).find(is_its);
        let by_cost = || group.io_cost.iter().find(is_its);
        by_latency
            .map(|device| (group, "io.latency", device.clone()))
            .or_else(|| Some((group, "io.cost.qos", by_cost()?.clone())))
    })
}

/// Returns every io.max limit for a measurement; the rates include everything that ran at the same
/// time.
fn io_limits(index: &Index<'_>, host: &Host, of: &Measurement) -> Vec<IoLimit> {
    let beside = || index.concurrent(of).iter().filter(|other| !std::ptr::eq(**other, of));
    let own = results_by_device(of)
        .into_iter()
        .flat_map(|(device, results)| limits_of(host, of, device, results));
    own.map(|limit| {
        let mut below: HashMap<&str, bool> = HashMap::new();
        let others =
            beside().flat_map(|other| results_by_device(other)).flat_map(|(device, results)| {
                let is_below = *below.entry(device).or_insert_with(|| {
                    let levels = host.levels_under(device);
                    levels.iter().flatten().any(|block| limit.devices.contains(&block.name))
                });
                let same = results.iter().filter(|result| result.direction == limit.direction);
                let rates =
                    same.filter_map(|result| crate::measured::figure_of(result, limit.metric));
                rates.filter(|_| is_below).map(|rate| rate.high()).collect::<Vec<_>>()
            });
        let rate = limit.rate + others.sum::<f64>();
        IoLimit { rate, ..limit }
    })
    .collect()
}

/// Returns the io.max bound of a measurement over all devices, in the metric's unit, and its
/// description; `None` if a device is not limited.
pub(crate) fn io_ceiling(host: &Host, of: &Measurement, metric: Metric) -> Option<(f64, String)> {
    let bs = of.workload.bs.filter(|bs| *bs > 0)? as f64;
    // Reads and writes have separate limits.
    let ([_], false) = (of.total.as_slice(), metric == Metric::LatencyMean) else { return None };
    let mut sum = 0.0;
    let mut what = None;
    for (device, results) in results_by_device(of) {
        let in_metric = |limit: &IoLimit| match (limit.metric, metric) {
            (Metric::Bandwidth, Metric::Iops) => limit.most / bs,
            (Metric::Iops, Metric::Bandwidth) => limit.most * bs,
            _ => limit.most,
        };
        let all = limits_of(host, of, device, results);
        let least = all.iter().min_by(|a, b| in_metric(a).total_cmp(&in_metric(b)))?;
        sum += in_metric(least);
        what.get_or_insert_with(|| least.to_string());
    }
    Some((sum, what?))
}

/// Results by device: those of each target if they are known separately.
fn results_by_device(of: &Measurement) -> Vec<(&str, &[DirectionResult])> {
    let parts = of.parts.iter().filter(|part| part.clone.is_none());
    let parts: Vec<_> =
        parts.map(|part| (device_of(of, &part.target), part.results.as_slice())).collect();
    match target_devices(of).as_slice() {
        [only] => vec![(only, &of.total)],
        _ => parts,
    }
}

fn limits_of(
    host: &Host,
    of: &Measurement,
    device: &str,
    results: &[DirectionResult],
) -> Vec<IoLimit> {
    let mut found = Vec::new();
    let levels = host.levels_under(device);
    for group in host.control_groups.get().into_iter().flatten() {
        for level in &levels {
            let of_level = level
                .iter()
                .map(|block| group.io_max.iter().find(|limit| limit.device == block.name));
            let Some(limits) = of_level.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
            else {
                continue;
            };
            for result in results {
                let [bytes, ios] = match result.direction {
                    Direction::Read => [
                        limits.iter().map(|limit| limit.read_bytes_per_s).sum::<Option<u64>>(),
                        limits.iter().map(|limit| limit.read_iops).sum(),
                    ],
                    Direction::Write => [
                        limits.iter().map(|limit| limit.written_bytes_per_s).sum(),
                        limits.iter().map(|limit| limit.write_iops).sum(),
                    ],
                    Direction::Trim | Direction::Mixed => continue,
                };
                let rates = [
                    (Metric::Bandwidth, bytes, result.bandwidth),
                    (Metric::Iops, ios, result.iops),
                ];
                for (metric, most, rate) in rates {
                    let (Some(most), Some(rate)) = (most.filter(|most| *most > 0), rate) else {
                        continue;
                    };
                    // An I/O larger than a request counts several times.
                    let requests_per_io =
                        if metric == Metric::Iops { requests_per_io(of, level) } else { 1.0 };
                    found.push(IoLimit {
                        group: group.path.clone(),
                        devices: level.iter().map(|block| block.name.clone()).collect(),
                        direction: result.direction,
                        metric,
                        most: most as f64 / requests_per_io,
                        rate: rate.high(),
                    });
                }
            }
        }
    }
    found
}

/// Returns the number of requests per I/O of a measurement on these devices.
fn requests_per_io(of: &Measurement, level: &[&BlockDevice]) -> f64 {
    let largest = level.iter().filter_map(|block| block.queue.max_sectors_kib.value()).min();
    match (of.workload.bs, largest) {
        (Some(bs), Some(kib)) if kib > 0 => bs.div_ceil(u64::from(kib) << 10).max(1) as f64,
        _ => 1.0,
    }
}

/// Returns the CPU time that the process may use, in CPUs; `None`: not known.
pub(crate) fn allowed_cpus(host: &Host) -> Option<f64> {
    let online = host.cpus.online.get()?;
    let groups = || host.control_groups.get().into_iter().flatten();
    let is_allowed =
        |cpu: &&u32| groups().filter_map(|group| group.cpus.get()).all(|cpus| cpus.contains(cpu));
    let allowed = online.iter().filter(is_allowed).count() as f64;
    Some(groups().filter_map(|group| group.cpu_max.value()).fold(allowed, f64::min))
}

/// Returns the group that restricts the process to some of the CPUs, and their number; `None`:
/// there is none.
pub(crate) fn cpuset_group(host: &Host) -> Option<(&str, usize)> {
    let online = host.cpus.online.get()?.len();
    let groups = host.control_groups.get().into_iter().flatten();
    let restricted =
        groups.filter_map(|group| Some((group.path.as_str(), group.cpus.get()?.len())));
    restricted.filter(|(_, cpus)| *cpus > 0 && *cpus < online).min_by_key(|(_, cpus)| *cpus)
}

#[cfg(test)]
#[path = "control_group_tests.rs"]
mod tests;
