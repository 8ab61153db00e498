//! A measurement with its environment, as used to find its limiter.

use iodyno_model::{
    BlockDevice, BlockKind, Drive, Estimate, FillOrder, Host, LinkState, Measurement, Metric,
    RunKind, RunRecord, Spread, StorageCard, WrittenState, format_count, format_duration_ns,
    format_mb_per_s,
};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::measured::written;
use crate::outstanding::{allowed, job_depth, outstanding};
use crate::place::{device_count, device_of, devices, narrowest_link, own_link, target_devices};

/// Confidence level of a ratio's interval: several changes are tested, some more than once.
pub(super) const NAMING_LEVEL: f64 = 0.995;
/// Up to this many outstanding I/Os, the latency of single I/Os matters.
pub(super) const FEW: u32 = 4;
/// Block size from which bandwidth is the metric, bytes.
const LARGE_BLOCKS: u64 = 64 << 10;
/// No device needs I/Os that take longer than this, ns, or hold more memory than this, bytes, to be
/// busy: at 14 GB/s that is 75 ms of data.
const ABSURD_LATENCY_NS: f64 = 1e9;
const ABSURD_BYTES: f64 = 1024.0 * 1024.0 * 1024.0;
/// More layers than any machine has: a cycle.
const MOST_LAYERS: usize = 32;

/// Returns true for a run of `explain`.
pub fn is_explain_run(record: &RunRecord) -> bool {
    record.run.kind == RunKind::Explain
}

/// Variation between repetitions within a run: the standard deviation of their logarithms, pooled
/// over everything that was repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RunVariation {
    deviation: f64,
    degrees: usize,
}

impl RunVariation {
    pub(super) fn of(cases: &[Case<'_>], record: &RunRecord) -> Option<Self> {
        let (mut squares, mut degrees) = (0.0, 0);
        for case in cases.iter().filter(|case| std::ptr::eq(case.record, record)) {
            let logs: Vec<f64> = case.repetitions.iter().map(|rate| rate.value.ln()).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
            degrees += logs.len() - 1;
        }
        (degrees > 0).then(|| Self { deviation: (squares / degrees as f64).sqrt(), degrees })
    }

    /// Returns the factor by which the ratio of two means of this many measurements may be off
    /// (Student's t, with the pooled deviation).
    pub(super) fn factor(self, times: [usize; 2]) -> f64 {
        let Ok(student) = StudentsT::new(0.0, 1.0, self.degrees as f64) else {
            return f64::INFINITY;
        };
        let quantile = student.inverse_cdf(f64::midpoint(1.0, NAMING_LEVEL));
        let [a, b] = times.map(|count| 1.0 / count as f64);
        (quantile * self.deviation * (a + b).sqrt()).exp()
    }
}

/// A measurement with what is known of its environment.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    /// Run.
    pub record: &'a RunRecord,
    /// Index into the run's measurements.
    pub measurement: usize,
    /// Metric of its rate: bandwidth for large blocks, else IOPS.
    pub metric: Metric,
    /// Rate over all directions, in the metric's unit; mean of the repetitions.
    pub rate: Estimate,
    /// Rate of each repetition, its own first.
    pub repetitions: Vec<Estimate>,
    /// Variation between the repetitions of its run, if there are any.
    pub(super) variation: Option<RunVariation>,
    /// I/Os per second over all directions.
    pub(crate) iops: Option<f64>,
    /// Mean latency, ns.
    pub(crate) latency_ns: Option<f64>,
    /// Depth of each job as its engine allows, and jobs per target.
    pub(crate) depth: Option<u32>,
    pub(crate) jobs: Option<u32>,
    /// Known drives below its targets.
    pub(crate) drives: Vec<&'a Drive>,
    /// Number of devices below its targets.
    pub(crate) drive_count: usize,
    /// Layer that combines several devices to one target: `raid0`, `striped`.
    pub(crate) layer: Option<String>,
    /// Kind of virtual disk: of a hypervisor or a cloud.
    pub(crate) virtual_disk: Option<String>,
    pub(crate) blocks: WrittenState,
    pub(crate) fill: Option<FillOrder>,
}

impl<'a> Case<'a> {
    /// Builds the case of a finished measurement that has a rate.
    pub fn of(record: &'a RunRecord, measurement: usize) -> Option<Self> {
        let of = record.measurements.get(measurement)?;
        if of.failure().is_some() {
            return None;
        }
        let metric = match of.workload.bs {
            Some(bs) if bs >= LARGE_BLOCKS => Metric::Bandwidth,
            None if of.total.iter().all(|result| result.iops.is_none()) => Metric::Bandwidth,
            _ => Metric::Iops,
        };
        let sum = |metric: Metric| {
            let rates = of.total.iter().map(|result| match metric {
                Metric::Bandwidth => result.bandwidth,
                _ => result.iops,
            });
            rates.collect::<Option<Vec<Estimate>>>()?.into_iter().reduce(added)
        };
        let rate = sum(metric).filter(|rate| rate.value.is_finite() && rate.value > 0.0)?;
        let host = host_of(record, of);
        let bottoms = devices(host, of);
        let mut drives: Vec<&Drive> = Vec::new();
        for bottom in &bottoms {
            let found = host.and_then(|host| host.namespace(bottom)).map(|(drive, _)| drive);
            if let Some(drive) = found
                && !drives.iter().any(|known| known.name == drive.name)
            {
                drives.push(drive);
            }
        }
        let kind = |name: &&str| host.and_then(|host| host.block(name)).map(|block| &block.kind);
        let virtual_disk = match bottoms.iter().map(kind).next() {
            Some(Some(BlockKind::Virtual)) => Some("a hypervisor".to_owned()),
            _ => drives.iter().find_map(|drive| drive.virtual_disk.clone()),
        };
        let [first, ..] = of.targets.as_slice() else {
            return Some(Self::plain(record, measurement, metric, rate, sum(Metric::Iops)));
        };
        let layer = host.filter(|_| bottoms.len() > target_devices(of).len());
        let layer = layer.and_then(|host| layer_block(host, device_of(of, first)));
        let states: Vec<WrittenState> =
            of.targets.iter().map(|target| written(of, target)).collect();
        let alike = states.windows(2).all(|pair| pair[0] == pair[1]);
        Some(Self {
            drive_count: device_count(host, of),
            drives,
            layer: layer.map(layer_name),
            virtual_disk,
            blocks: states.first().copied().filter(|_| alike).unwrap_or(WrittenState::Unknown),
            ..Self::plain(record, measurement, metric, rate, sum(Metric::Iops))
        })
    }

    fn plain(
        record: &'a RunRecord,
        measurement: usize,
        metric: Metric,
        rate: Estimate,
        iops: Option<Estimate>,
    ) -> Self {
        let of = &record.measurements[measurement];
        let known = iops.map(|iops| iops.value).or_else(|| {
            let bytes = of.workload.bs.filter(|bs| *bs > 0)? as f64;
            (metric == Metric::Bandwidth).then(|| rate.value / bytes)
        });
        let latency = of.total.first().and_then(|result| result.mean_latency());
        Self {
            record,
            measurement,
            metric,
            rate,
            repetitions: vec![rate],
            variation: None,
            iops: known,
            latency_ns: latency.map(|(_, mean)| mean.value).filter(|ns| *ns > 0.0),
            depth: job_depth(of),
            jobs: of.workload.numjobs,
            drives: Vec::new(),
            drive_count: 1,
            layer: None,
            virtual_disk: None,
            blocks: WrittenState::Unknown,
            fill: of.conditions.fill,
        }
    }

    /// Returns the measurement itself.
    pub fn of_run(&self) -> &'a Measurement {
        &self.record.measurements[self.measurement]
    }

    /// Returns the host before the measurement.
    pub(crate) fn host(&self) -> Option<&'a Host> {
        host_of(self.record, self.of_run())
    }

    /// Returns the whole devices below its targets, as far as known.
    pub(crate) fn devices(&self) -> Vec<&'a str> {
        devices(self.host(), self.of_run())
    }

    /// Returns the array or volume that combines several devices to one target.
    pub(crate) fn layer_block(&self) -> Option<&'a BlockDevice> {
        self.layer.as_ref()?;
        let of = self.of_run();
        layer_block(self.host()?, device_of(of, of.targets.first()?))
    }

    /// Returns the I/Os that all jobs on all targets may have outstanding with their engine.
    pub(crate) fn outstanding(&self) -> Option<u32> {
        allowed(self.of_run())
    }

    /// Returns the mean number of outstanding I/Os and the time of each, ns: the measured mean
    /// latency; without one, by Little's law at the allowed depth.
    pub(crate) fn in_flight(&self) -> Option<(f64, f64)> {
        let count = outstanding(self.of_run())?;
        Some((count, count * 1e9 / self.iops?))
    }

    /// Returns true if its engine is synchronous, so that only more jobs increase the depth.
    pub(crate) fn waits_for_each(&self) -> bool {
        self.of_run().workload.waits_for_each() == Some(true)
    }

    /// Returns true if deeper queues would be absurd: they would hold more memory, or take longer,
    /// than any device needs to be busy.
    pub(crate) fn is_absurdly_deep(&self) -> bool {
        let Some((count, latency_ns)) = self.in_flight() else { return false };
        let bytes = self.of_run().workload.bs.map_or(0.0, |bs| bs as f64 * count);
        latency_ns >= ABSURD_LATENCY_NS || bytes >= ABSURD_BYTES
    }

    /// Returns bytes per second.
    pub(crate) fn bytes_per_s(&self) -> Option<f64> {
        match self.metric {
            Metric::Bandwidth => Some(self.rate.value),
            _ => Some(self.rate.value * self.of_run().workload.bs? as f64),
        }
    }

    /// Returns true if it only reads.
    pub(crate) fn reads(&self) -> bool {
        let total = &self.of_run().total;
        total.iter().all(|result| result.direction == iodyno_model::Direction::Read)
    }

    /// Returns true if it only reads, from copies.
    pub(crate) fn reads_a_mirror(&self) -> bool {
        self.reads() && matches!(self.layer.as_deref(), Some("raid1" | "raid10"))
    }

    /// State of its drives' own links, if all are equal.
    pub(crate) fn own_link(&self) -> Option<LinkState> {
        let host = self.host()?;
        let mut links = self.drives.iter().map(|drive| {
            let own = drive.links.last().filter(|name| !self.is_of_card(name))?;
            host.link(own).and_then(|_| own_link(host, drive))
        });
        let first = links.next()??;
        links.all(|link| link == Some(first)).then_some(first)
    }

    /// State of the narrowest link to each of its drives that no other shares, if all are equal: the
    /// link that [`crate::ceiling::Bound::Link`] is about.
    pub(super) fn narrowest_link(&self) -> Option<LinkState> {
        let host = self.host()?;
        let paths = self.paths();
        let is_own = |name: &&String| {
            let users = paths.iter().filter(|path| path.contains(name)).count();
            users == 1 && !self.is_of_card(name)
        };
        let mut narrowest =
            paths.iter().map(|path| narrowest_link(host, path.iter().filter(is_own)));
        let first = narrowest.next()??;
        narrowest.all(|link| link == Some(first)).then_some(first)
    }

    /// Returns the cards between the slots and its drives.
    pub(crate) fn cards(&self) -> Vec<&'a StorageCard> {
        let Some(host) = self.host() else { return Vec::new() };
        let blocks = self.devices();
        host.cards
            .iter()
            // A chipset's SATA controller has a port of its own for each disk, and no link.
            .filter(|card| !card.is_vmd() && (card.kind != "SATA" || !card.links.is_empty()))
            .filter(|card| card.blocks.iter().any(|block| blocks.contains(&block.as_str())))
            .collect()
    }

    /// Returns the links from the root port down to each device below its targets, by each of its
    /// paths.
    pub(crate) fn paths(&self) -> Vec<&'a [String]> {
        let Some(host) = self.host() else { return Vec::new() };
        let (mut ways, mut known): (Vec<&[String]>, Vec<&str>) = (Vec::new(), Vec::new());
        for block in self.devices() {
            let controllers = host.controllers_of(block);
            if controllers.is_empty() {
                ways.extend(host.way_to(block));
            }
            // Namespaces of one drive share its path.
            for drive in controllers {
                if !known.contains(&drive.name.as_str()) {
                    known.push(&drive.name);
                    ways.push(&drive.links);
                }
            }
        }
        ways
    }

    /// Returns true if `alone` may be the rate of one of its layer's devices: in the same run it must
    /// be one of them, in another it may be any of their model.
    pub(crate) fn may_contain(&self, alone: &Case<'_>) -> bool {
        let (below, theirs) = (self.devices(), alone.devices());
        !std::ptr::eq(self.record, alone.record) || theirs.iter().all(|name| below.contains(name))
    }

    pub(crate) fn is_of_card(&self, link: &str) -> bool {
        self.host().is_some_and(|host| host.cards.iter().any(|card| card.address == link))
    }

    /// Returns `rw=read bs=128k iodepth=32 numjobs=4`, as far as known.
    pub fn workload(&self) -> String {
        let mut plain = self.of_run().workload.clone();
        plain.options.clear();
        plain.label()
    }

    /// Returns its targets: `nvme0n1`, `12 targets`.
    pub fn place(&self) -> String {
        match self.of_run().targets.as_slice() {
            [] => "unknown targets".into(),
            [only] => only.clone(),
            several => format!("{} targets", several.len()),
        }
    }

    /// Returns `, 85.2 us each`; empty if not known.
    pub fn latency_text(&self) -> String {
        let text = |ns: f64| format!(", {} each", format_duration_ns(ns));
        self.latency_ns.map(text).unwrap_or_default()
    }

    /// Returns the rate as text: `1110 MB/s`, `343k IOPS`.
    pub fn figure(&self) -> String {
        figure(self.metric, self.rate.value)
    }
}

/// Formats a rate: `1110 MB/s`, `343k IOPS`.
pub fn figure(metric: Metric, rate: f64) -> String {
    match metric {
        Metric::Bandwidth => format_mb_per_s(rate),
        _ => format!("{} IOPS", format_count(rate)),
    }
}

/// Formats a range of rates: `1659 to 1801 MB/s`.
pub fn range(metric: Metric, low: f64, high: f64) -> String {
    let least = figure(metric, low);
    let number = least.split(' ').next().unwrap_or_default();
    format!("{number} to {}", figure(metric, high))
}

/// The host before a measurement; the run's first snapshot if that is not recorded.
fn host_of<'a>(record: &'a RunRecord, of: &Measurement) -> Option<&'a Host> {
    of.before.and_then(|before| record.snapshots.get(before)).or_else(|| record.host())
}

/// Finds the device that combines several devices, below any partitions or volumes on it.
fn layer_block<'h>(host: &'h Host, device: &str) -> Option<&'h BlockDevice> {
    let mut block = host.block(device)?;
    for _ in 0..MOST_LAYERS {
        let [only] = block.stands_on.as_slice() else { break };
        block = host.block(only)?;
    }
    Some(block)
}

/// Returns its name: `raid0`, `striped`.
fn layer_name(block: &BlockDevice) -> String {
    match &block.kind {
        BlockKind::Md(array) => array.level.clone(),
        BlockKind::DeviceMapper(mapped) => {
            let owner = mapped.owner.clone().unwrap_or_else(|| "device mapper".into());
            if mapped.stripes().is_some() { "striped".into() } else { owner }
        }
        _ => "a layer".into(),
    }
}

/// Adds two simultaneous rates; in the worst case their bounds add up.
fn added(a: Estimate, b: Estimate) -> Estimate {
    let value = a.value + b.value;
    match (a.spread, b.spread) {
        (Spread::Confidence { level, .. }, Spread::Confidence { .. }) => {
            Estimate::confident(value, a.low() + b.low(), a.high() + b.high(), level)
        }
        (Spread::Rounding { .. }, Spread::Rounding { .. }) => Estimate {
            value,
            spread: Spread::Rounding { low: a.low() + b.low(), high: a.high() + b.high() },
        },
        _ => Estimate::bare(value),
    }
}
