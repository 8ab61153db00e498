//! What the control groups of the process took from a measurement.

use std::collections::HashMap;
use std::fmt;

use iodyno_model::{
    BlockDevice, ControlGroup, Direction, DirectionResult, Fact, Host, Measurement, Metric, Origin,
    format_count, format_mb_per_s,
};

use crate::figures::percent;
use crate::index::Index;
use crate::limiter::{CpuShare, cpu_share, saturated};
use crate::place::{device_of, tops};

/// A limit is reached from this share of it on: the kernel lets I/O through in slices of 100 ms.
const REACHED: f64 = 0.9;
/// A group that is out of CPU time in this share of its periods is held back …
const THROTTLED: f64 = 0.05;
/// … and in this share it is what limits.
const MOSTLY_THROTTLED: f64 = 0.25;
/// Submitters that need not wait for their I/Os and do so for this share of the time are not
/// let through.
const STALLED: f64 = 0.1;

/// A limit of a control group on what a measurement moved in one direction, in bytes or I/Os per
/// second.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IoLimit {
    /// Path of the group.
    group: String,
    devices: Vec<String>,
    direction: Direction,
    metric: Metric,
    /// What is let through to all of these devices together, in the metric's unit.
    pub(crate) most: f64,
    /// What was measured, in the metric's unit.
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
}

impl fmt::Display for IoLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.direction == Direction::Write { "writes" } else { "reads" };
        write!(
            f,
            "io.max of control group {} lets {} of {verb} through to {}",
            self.group,
            self.value(self.most),
            self.devices.join(" and ")
        )
    }
}

/// What the control groups of the process did to a measurement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HeldBack {
    /// It moved what io.max lets through.
    Io(IoLimit),
    /// It was out of the CPU time that cpu.max gives.
    Cpu {
        /// Path of the group.
        group: String,
        /// CPUs' worth of time.
        cpus: Option<f64>,
        /// Share of the periods in which it was.
        share: f64,
    },
    /// Its threads outnumber the CPUs that cpuset leaves it, and these had no time left.
    Confined {
        /// Path of the group.
        group: String,
        /// CPUs that it may use.
        cpus: usize,
        /// Share of their time.
        share: f64,
    },
    /// A group has a latency target or a share by cost on the device, which may have held it back.
    SharedOut {
        /// Path of the group.
        group: String,
        /// `io.latency`, `io.cost.qos`.
        setting: &'static str,
        /// Block device.
        device: String,
        /// Share of the time in which its threads were not let through; `None`: not known.
        share: Option<f64>,
    },
}

impl HeldBack {
    /// Nothing else has to be sought.
    pub(crate) fn is_the_limit(&self) -> bool {
        match self {
            Self::Io(_) | Self::Confined { .. } => true,
            Self::Cpu { share, .. } => *share >= MOSTLY_THROTTLED,
            Self::SharedOut { .. } => false,
        }
    }

    /// It is known to have held it back.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Self::SharedOut { share: None, .. })
    }

    /// Path of the group.
    pub(crate) fn group(&self) -> &str {
        match self {
            Self::Io(IoLimit { group, .. })
            | Self::Cpu { group, .. }
            | Self::Confined { group, .. }
            | Self::SharedOut { group, .. } => group,
        }
    }

    /// What to do about it.
    pub(crate) fn next(&self) -> String {
        // Version 1 has a hierarchy for its controllers: `cpu,cpuacct:/docker/a`.
        let group = self.group().trim_end_matches('/').replacen(':', "", 1);
        let slash = if group.starts_with('/') || group.is_empty() { "" } else { "/" };
        let setting = self.setting();
        let (of_units, of_containers) = match self {
            Self::Io(_) => (
                "IOReadBandwidthMax= IOWriteBandwidthMax= IOReadIOPSMax= IOWriteIOPSMax=",
                "--device-read-bps, --device-write-bps, --device-read-iops, --device-write-iops",
            ),
            Self::Cpu { .. } => ("CPUQuota=", "--cpus"),
            Self::Confined { .. } => ("AllowedCPUs=", "--cpuset-cpus"),
            Self::SharedOut { .. } => ("IODeviceLatencyTargetSec= IOWeight=", "--blkio-weight"),
        };
        format!(
            "Remove it and repeat, or measure outside of the group: cat /sys/fs/cgroup{slash}{group}/{setting}; of a systemd \
             unit: systemctl set-property UNIT {of_units}; of a container: {of_containers}"
        )
    }

    /// The file that limits.
    pub(crate) fn setting(&self) -> &'static str {
        match self {
            Self::Io(_) => "io.max",
            Self::Cpu { group, .. } if !group.starts_with('/') => "cpu.cfs_quota_us",
            Self::Cpu { .. } => "cpu.max",
            Self::Confined { .. } => "cpuset.cpus",
            Self::SharedOut { setting, .. } => setting,
        }
    }
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(limit) => write!(f, "{limit}, and {} were measured", limit.value(limit.rate)),
            Self::Cpu { group, cpus, share } => {
                let cpus = cpus.map(|cpus| format!(" ({cpus:.2} CPUs)")).unwrap_or_default();
                let share = percent(*share);
                let setting = self.setting();
                write!(
                    f,
                    "{setting}{cpus} of control group {group} stopped it in {share} of its periods"
                )
            }
            Self::Confined { group, cpus, share } => write!(
                f,
                "cpuset.cpus of control group {group} leaves its threads {cpus} CPUs, of which they used {}",
                percent(*share)
            ),
            Self::SharedOut { group, setting, device, share } => {
                write!(f, "control group {group} has {setting} on {device}")?;
                match share {
                    Some(share) => {
                        write!(
                            f,
                            ", and its threads were not let through {} of the time",
                            percent(*share)
                        )
                    }
                    None => write!(f, ", which may hold it back"),
                }
            }
        }
    }
}

/// What control groups did to a measurement; `None`: nothing.
///
/// # Errors
/// What is missing to tell.
pub(crate) fn held_back(index: &Index<'_>, of: &Measurement) -> Result<Option<HeldBack>, String> {
    let record = index.record();
    // A simulated drive is limited by nothing here.
    if record.run.origin == Origin::Simulated {
        return Ok(None);
    }
    let at = |index: Option<usize>| record.snapshots.get(index?);
    let Some(before) = at(of.before).or_else(|| record.host()) else {
        return Err("the run holds no snapshot of the host".into());
    };
    let groups = match (before.control_groups.get(), before.control_groups.why_unknown()) {
        (Some(groups), _) => groups,
        // There are none, or nobody looked when the run was made.
        (None, _) if before.control_groups == Fact::Absent => return Ok(None),
        (None, why) => return Err(format!("control groups: {}", why.unwrap_or_default())),
    };
    let reached = io_limits(index, before, of).into_iter().filter(IoLimit::is_reached);
    if let Some(limit) = reached.min_by(|a, b| (a.most / a.rate).total_cmp(&(b.most / b.rate))) {
        return Ok(Some(HeldBack::Io(limit)));
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
        (share >= THROTTLED).then_some(HeldBack::Cpu { group, cpus, share })
    });
    if let Some(throttled) = throttled.into_iter().next() {
        return Ok(Some(throttled));
    }
    if let (Some((group, cpus)), Some(CpuShare::Together(share, _))) =
        (confined(before), cpu_share(Some(before), of))
        && saturated(Some(before), of) == Some(true)
    {
        return Ok(Some(HeldBack::Confined { group: group.into(), cpus, share }));
    }
    let Some((shared, own)) = shared_out(before, groups, of).zip(groups.first()) else {
        return Ok(None);
    };
    let stalled_us = || {
        let is = later(own)?.io_stalled_us.value()?;
        is.checked_sub(own.io_stalled_us.value()?)
    };
    let elapsed_ns = after.map(|after| (after.taken_ns - before.taken_ns) as f64);
    let (group, setting, device) = shared;
    let share = stalled_us().zip(elapsed_ns).map(|(us, ns)| us as f64 * 1e3 / ns);
    // All other engines' waiting for completions counts as a stall, io_uring's since Linux 6.5.
    let share = share.filter(|_| of.workload.ioengine.as_deref() == Some("libaio"));
    let is_let_through = share.is_some_and(|share| share < STALLED);
    let group = group.path.clone();
    Ok((!is_let_through).then_some(HeldBack::SharedOut { group, setting, device, share }))
}

/// A group that has a latency target or shares by cost on a device of the measurement.
fn shared_out<'g>(
    host: &Host,
    groups: &'g [ControlGroup],
    of: &Measurement,
) -> Option<(&'g ControlGroup, &'static str, String)> {
    let stacked: Vec<&str> =
        crate::place::stacked(host, of).iter().map(|device| device.name.as_str()).collect();
    let is_its = |name: &&String| stacked.contains(&name.as_str());
    groups.iter().find_map(|group| {
        let by_latency = group.io_latency.iter().map(|(device, _)| device).find(is_its);
        let by_cost = || group.io_cost.iter().find(is_its);
        by_latency
            .map(|device| (group, "io.latency", device.clone()))
            .or_else(|| Some((group, "io.cost.qos", by_cost()?.clone())))
    })
}

/// Every limit of io.max on what a measurement moved, with all that ran at the same time.
fn io_limits(index: &Index<'_>, host: &Host, of: &Measurement) -> Vec<IoLimit> {
    let beside = || index.together(of).iter().filter(|other| !std::ptr::eq(**other, of));
    let own =
        views(of).into_iter().flat_map(|(device, results)| limits_of(host, of, device, results));
    own.map(|limit| {
        let mut below: HashMap<&str, bool> = HashMap::new();
        let others = beside().flat_map(|other| views(other)).flat_map(|(device, results)| {
            let is_below = *below.entry(device).or_insert_with(|| {
                let levels = host.levels_under(device);
                levels.iter().flatten().any(|block| limit.devices.contains(&block.name))
            });
            let same = results.iter().filter(|result| result.direction == limit.direction);
            let rates = same.filter_map(|result| crate::measured::figure_of(result, limit.metric));
            rates.filter(|_| is_below).map(|rate| rate.high()).collect::<Vec<_>>()
        });
        let rate = limit.rate + others.sum::<f64>();
        IoLimit { rate, ..limit }
    })
    .collect()
}

/// What io.max lets a measurement have in all, in the metric's unit, and what says so; `None`
/// where something of it is not limited.
pub(crate) fn io_ceiling(host: &Host, of: &Measurement, metric: Metric) -> Option<(f64, String)> {
    let bs = of.workload.bs.filter(|bs| *bs > 0)? as f64;
    // Reads and writes are limited each for themselves.
    let ([_], false) = (of.total.as_slice(), metric == Metric::LatencyMean) else { return None };
    let mut sum = 0.0;
    let mut what = None;
    for (device, results) in views(of) {
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

/// What was measured on each device: that of each target where they are told apart.
fn views(of: &Measurement) -> Vec<(&str, &[DirectionResult])> {
    let parts = of.parts.iter().filter(|part| part.clone.is_none());
    let parts: Vec<_> =
        parts.map(|part| (device_of(of, &part.target), part.results.as_slice())).collect();
    match tops(of).as_slice() {
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
                    // What is larger than a request counts as several I/Os.
                    let pieces = if metric == Metric::Iops { pieces(of, level) } else { 1.0 };
                    found.push(IoLimit {
                        group: group.path.clone(),
                        devices: level.iter().map(|block| block.name.clone()).collect(),
                        direction: result.direction,
                        metric,
                        most: most as f64 / pieces,
                        rate: rate.high(),
                    });
                }
            }
        }
    }
    found
}

/// Requests that one I/O of a measurement becomes on these devices.
fn pieces(of: &Measurement, level: &[&BlockDevice]) -> f64 {
    let largest = level.iter().filter_map(|block| block.queue.max_sectors_kib.value()).min();
    match (of.workload.bs, largest) {
        (Some(bs), Some(kib)) if kib > 0 => bs.div_ceil(u64::from(kib) << 10).max(1) as f64,
        _ => 1.0,
    }
}

/// CPUs' worth of time that the process may use; `None`: not known.
pub(crate) fn cpus(host: &Host) -> Option<f64> {
    let online = host.cpus.online.get()?;
    let groups = || host.control_groups.get().into_iter().flatten();
    let is_allowed =
        |cpu: &&u32| groups().filter_map(|group| group.cpus.get()).all(|cpus| cpus.contains(cpu));
    let allowed = online.iter().filter(is_allowed).count() as f64;
    Some(groups().filter_map(|group| group.cpu_max.value()).fold(allowed, f64::min))
}

/// The group that keeps the process on a part of the CPUs, and how many these are; `None`:
/// there is none.
pub(crate) fn confined(host: &Host) -> Option<(&str, usize)> {
    let online = host.cpus.online.get()?.len();
    let groups = host.control_groups.get().into_iter().flatten();
    let confined = groups.filter_map(|group| Some((group.path.as_str(), group.cpus.get()?.len())));
    confined.filter(|(_, cpus)| *cpus > 0 && *cpus < online).min_by_key(|(_, cpus)| *cpus)
}

#[cfg(test)]
#[path = "control_group_tests.rs"]
mod tests;
