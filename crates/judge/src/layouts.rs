//! Compares storage layouts with one drive and with all drives at once: the gain and cost of each
//! layer.

use iodyno_model::{BlockKind, Direction, Measurement, Metric, RunKind, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ceiling::gain;
use crate::counters::Counted;
use crate::index::Index;
use crate::limiter::Case;
use crate::place::device_of;
use crate::shape::Shape;

/// Block size from which bandwidth is the metric, below it IOPS, bytes.
const LARGE_BYTES: u64 = 64 << 10;

/// Runs to compare.
#[derive(Debug, Clone)]
pub struct Layouts<'a> {
    /// One raw drive.
    pub one: Option<&'a RunRecord>,
    /// All raw drives at the same time.
    pub all: Option<&'a RunRecord>,
    /// Each layout's notation with its run.
    pub built: Vec<(&'a str, &'a RunRecord)>,
}

/// A workload on all layouts, the fastest first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayoutWorkload {
    /// Name of the measurement.
    pub name: String,
    /// Metric of the rates: bandwidth for large blocks, else IOPS.
    pub metric: Metric,
    /// Results by layout.
    pub results: Vec<LayoutResult>,
}

/// A workload on a layout. Ratios are of single runs: the variation between runs is not known.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayoutResult {
    /// Notation of the layout.
    pub layout: String,
    /// Run id.
    #[serde(rename = "run")]
    pub run_id: String,
    /// Rate over all directions, in the metric's unit; `None`: it failed.
    pub rate: Option<f64>,
    /// Rate divided by that of one drive.
    pub of_one: Option<f64>,
    /// Expected rate divided by that of one drive, from the layers; `None` if their effect on the
    /// I/O is not known.
    pub expected: Option<f64>,
    /// Rate divided by that of all drives at once: the efficiency of the layout.
    pub of_all: Option<f64>,
    /// Mean latency, ns, weighted by I/Os if there are several directions.
    pub latency_ns: Option<f64>,
    /// Latency added to that of one drive, ns.
    pub added_ns: Option<f64>,
    /// CPU time of the submitting threads per I/O, ns, without kernel threads (parity, encryption).
    pub cpu_ns: Option<f64>,
    /// Bytes written to the drives per byte written by the job, from the kernel's counters: 2 on a
    /// mirror of two, more with parity, journals and metadata. Includes writes of other processes.
    pub write_amplification: Option<f64>,
}

impl<'a> Layouts<'a> {
    /// Recognizes runs as layouts, given with their names: `None` unless all are of one machine and
    /// one plan, as `iodyno layouts` makes them, one is of a raw drive, and others are of devices
    /// built on drives. A common prefix of the names is dropped.
    pub fn among(runs: &[(&'a str, &'a RunRecord)]) -> Option<Self> {
        let on = |record: &'a RunRecord| record.host().and_then(|host| host.hostname.get());
        let first = runs.first().and_then(|(_, record)| on(record))?;
        let plan = |record: &'a RunRecord| (record.run.kind, record.run.plan_name.as_str());
        let of_plan = runs.first().map(|(_, record)| plan(record))?;
        if of_plan.0 != RunKind::Sweep || runs.iter().any(|(_, record)| plan(record) != of_plan) {
            return None;
        }
        let known = runs.iter().map(|(_, record)| {
            let target_kind = target_kind(record).filter(|_| on(record) == Some(first))?;
            Some((target_kind, *record))
        });
        let known = known.collect::<Option<Vec<_>>>()?;
        let found = |is: &dyn Fn(TargetKind) -> bool| {
            known.iter().find(|(target_kind, _)| is(*target_kind)).map(|(_, record)| *record)
        };
        let one = found(&|target_kind| target_kind == TargetKind::Raw(1))?;
        let all = found(&|target_kind| matches!(target_kind, TargetKind::Raw(2..)));
        found(&|target_kind| target_kind == TargetKind::Built)?;
        let names: Vec<&str> = runs.iter().map(|(name, _)| *name).collect();
        let prefix_len = common_prefix_len(&names);
        let built = runs.iter().map(|(name, record)| (&name[prefix_len..], *record)).collect();
        Some(Self { one: Some(one), all, built })
    }

    /// Returns the number of drives that were measured together.
    pub fn drives(&self) -> usize {
        let all = self.all.and_then(|record| record.measurements.first());
        all.map_or(1, |of| of.targets.len())
    }

    /// Returns true if the one drive is a file behind a loop device.
    pub fn are_on_files(&self) -> bool {
        let device = self.one.and_then(|record| {
            let of = record.measurements.first()?;
            record.host()?.block(device_of(of, of.targets.first()?))
        });
        device.is_some_and(|block| matches!(block.kind, BlockKind::Loop { .. }))
    }

    /// Returns all runs with their labels, the one drive first.
    pub fn ranked(&self) -> impl Iterator<Item = (&'a str, &'a RunRecord)> {
        let is_one = |record: &RunRecord| self.one.is_some_and(|one| one.run.id == record.run.id);
        let mut all = self.built.clone();
        all.sort_by_key(|(_, record)| !is_one(record));
        all.into_iter()
    }

    /// Returns every workload of any layout, in order of first occurrence.
    pub fn workloads(&self) -> Vec<LayoutWorkload> {
        let mut workloads: Vec<(&Measurement, LayoutWorkload)> = Vec::new();
        for (layout, record) in &self.built {
            for (index, of) in record.measurements.iter().enumerate() {
                if of.purpose.is_fill() {
                    continue;
                }
                let known = workloads.iter_mut().find(|(first, _)| are_alike(first, of));
                match known {
                    Some((_, workload)) => {
                        let result = self.result(layout, record, index, workload.metric);
                        workload.results.push(result);
                    }
                    None => {
                        let metric = metric(of);
                        let results = vec![self.result(layout, record, index, metric)];
                        let name = of.name.clone();
                        workloads.push((of, LayoutWorkload { name, metric, results }));
                    }
                }
            }
        }
        let mut workloads: Vec<LayoutWorkload> =
            workloads.into_iter().map(|(_, workload)| workload).collect();
        for workload in &mut workloads {
            let rate = |result: &LayoutResult| result.rate.unwrap_or(-1.0);
            workload.results.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        }
        workloads
    }

    fn result(
        &self,
        layout: &str,
        record: &RunRecord,
        index: usize,
        metric: Metric,
    ) -> LayoutResult {
        let of = &record.measurements[index];
        let beside = |record: Option<&RunRecord>| {
            let same = record?.measurements.iter().find(|other| are_alike(other, of))?;
            Some((rate(same, metric), latency_ns(same)))
        };
        let (one, all) = (beside(self.one), beside(self.all));
        let (rate, latency_ns) = (rate(of, metric), latency_ns(of));
        let over = |other: Option<(Option<f64>, _)>| {
            let other = other?.0.filter(|other| *other > 0.0)?;
            Some(rate? / other)
        };
        LayoutResult {
            layout: layout.to_owned(),
            run_id: record.run.id.clone(),
            rate,
            of_one: over(one),
            expected: expected(record, index),
            of_all: over(all),
            latency_ns,
            added_ns: latency_ns.zip(one.and_then(|one| one.1)).map(|(ours, one)| ours - one),
            cpu_ns: cpu_ns(of),
            write_amplification: write_amplification(record, of),
        }
    }
}

/// Returns true if two measurements are of the same point of a plan: a name alone may be that of
/// other I/Os.
fn are_alike(one: &Measurement, other: &Measurement) -> bool {
    one.name == other.name && Shape::of(&one.workload) == Shape::of(&other.workload)
}

/// Kind of target of all measurements of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    /// Number of whole raw devices, measured at the same time.
    Raw(usize),
    /// One device or file system built on devices.
    Built,
}

/// `None` if it is not known, or differs between measurements.
fn target_kind(record: &RunRecord) -> Option<TargetKind> {
    let host = record.host()?;
    let is_raw = |of: &Measurement, target: &str| {
        let device = device_of(of, target);
        let block = host.block(device)?;
        let kind = &block.kind;
        let is_layer =
            matches!(kind, BlockKind::Md(_) | BlockKind::DeviceMapper(_) | BlockKind::Partition);
        Some(!is_layer && target.strip_prefix("/dev/").unwrap_or(target) == device)
    };
    let of_one = |of: &Measurement| {
        // Files: each job may have its own.
        if let Some(device) = &of.conditions.device {
            return host.block(device).map(|_| TargetKind::Built);
        }
        let raw: Option<Vec<bool>> = of.targets.iter().map(|target| is_raw(of, target)).collect();
        match raw?.as_slice() {
            [false] => Some(TargetKind::Built),
            all if !all.is_empty() && all.iter().all(|raw| *raw) => {
                Some(TargetKind::Raw(all.len()))
            }
            _ => None,
        }
    };
    let first = of_one(record.measurements.first()?)?;
    record.measurements.iter().all(|of| of_one(of) == Some(first)).then_some(first)
}

/// Returns the length in bytes of the common prefix of all names, up to its last blank.
fn common_prefix_len(names: &[&str]) -> usize {
    let Some((first, others)) = names.split_first() else { return 0 };
    let ends = first.match_indices(' ').map(|(at, _)| at + 1).rev();
    let shared = |end: &usize| others.iter().all(|name| name.starts_with(&first[..*end]));
    ends.into_iter().find(shared).unwrap_or(0)
}

fn expected(record: &RunRecord, measurement: usize) -> Option<f64> {
    Some(gain(&Case::of(record, measurement)?)?.expected)
}

fn metric(of: &Measurement) -> Metric {
    match of.workload.bs.is_some_and(|bytes| bytes >= LARGE_BYTES) {
        true => Metric::Bandwidth,
        false => Metric::Iops,
    }
}

/// Sum over all directions; a `Mixed` result already is that sum.
fn rate(of: &Measurement, metric: Metric) -> Option<f64> {
    let mixed = of.result(Direction::Mixed);
    let results = mixed.map_or(of.total.as_slice(), std::slice::from_ref);
    if of.failure().is_some() || results.is_empty() {
        return None;
    }
    let rates = results.iter().map(|result| match metric {
        Metric::Bandwidth => result.bandwidth.map(|rate| rate.value),
        _ => result.iops.map(|rate| rate.value),
    });
    rates.sum()
}

fn latency_ns(of: &Measurement) -> Option<f64> {
    if of.failure().is_some() {
        return None;
    }
    let (mut sum, mut ios) = (0.0, 0.0);
    for result in &of.total {
        let (count, (_, mean)) = (result.ios? as f64, result.mean_latency()?);
        sum += mean.value * count;
        ios += count;
    }
    (ios > 0.0).then(|| sum / ios)
}

fn cpu_ns(of: &Measurement) -> Option<f64> {
    let cpu = of.cpu?;
    let ios: u64 = of.total.iter().map(|result| result.ios).sum::<Option<u64>>()?;
    (ios > 0).then(|| (cpu.user + cpu.system) * of.duration_ns.unwrap_or(0) as f64 / ios as f64)
}

/// `None` if nothing was written, if there are no counters, or if the page cache writes later.
fn write_amplification(record: &RunRecord, of: &Measurement) -> Option<f64> {
    if of.failure().is_some() || of.workload.is_buffered() == Some(true) {
        return None;
    }
    let counted = Counted::of(&Index::of(record), of).ok().flatten()?;
    let issued_bytes = counted.issued_bytes(Direction::Write);
    (issued_bytes > 0).then(|| counted.written_bytes as f64 / issued_bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{DiskStats, Origin, Run};

    use crate::testing::{Bench, array, each};

    #[test]
    fn layouts_are_ranked_and_held_against_one_drive() {
        let one = Bench::new(1).measured().record();
        let (mut fast, mut slow) = (one.clone(), one.clone());
        let of = |record: &mut RunRecord, factor: f64| {
            for result in record.measurements.iter_mut().flat_map(|of| &mut of.total) {
                for rate in [&mut result.iops, &mut result.bandwidth].into_iter().flatten() {
                    rate.value *= factor;
                }
                if let Some(mean) = &mut result.latency_mean {
                    mean.value /= factor;
                }
            }
        };
        of(&mut fast, 1.9);
        of(&mut slow, 0.5);
        let layouts =
            Layouts { one: Some(&one), all: None, built: vec![("md5", &slow), ("md0", &fast)] };
        let workloads = layouts.workloads();
        assert_eq!(workloads.len(), one.measurements.len());
        assert_eq!(workloads[0].metric, Metric::Bandwidth);
        assert_eq!(workloads[1].metric, Metric::Iops);
        for workload in &workloads {
            let [first, second] = workload.results.as_slice() else { panic!("{workload:?}") };
            assert_eq!((first.layout.as_str(), second.layout.as_str()), ("md0", "md5"));
            assert!((first.of_one.unwrap() - 1.9).abs() < 1e-9);
            assert!((second.of_one.unwrap() - 0.5).abs() < 1e-9);
            assert_eq!((first.of_all, second.of_all), (None, None));
            assert_eq!((first.expected, second.expected), (Some(1.0), Some(1.0)));
            assert!(first.added_ns.unwrap() < 0.0 && second.added_ns.unwrap() > 0.0);
            assert!(first.cpu_ns.unwrap() > 0.0);
        }
    }

    #[test]
    fn runs_are_layouts_where_one_is_of_a_drive_and_another_of_what_stands_on_it() {
        let of_a_plan = |bench: Bench| {
            let mut record = bench.record();
            record.run.kind = RunKind::Sweep;
            record
        };
        let raw = of_a_plan(Bench::new(1).measured());
        let bench = Bench::new(2).measured().host(|host| {
            host.blocks.push(array(&["nvme0n1", "nvme1n1"]));
        });
        let mut striped = of_a_plan(bench);
        striped.measurements.truncate(3);
        let mut both = striped.clone();
        for of in &mut striped.measurements {
            of.targets = vec!["/dev/md0".into()];
        }
        for of in &mut both.measurements {
            of.targets = vec!["nvme0n1".into(), "/dev/nvme1n1".into()];
        }
        let runs = [("a raw", &raw), ("a 2 raw at once", &both), ("a md0:512k", &striped)];
        let held = Layouts::among(&runs).unwrap();
        let labels: Vec<&str> = held.built.iter().map(|(label, _)| *label).collect();
        assert_eq!((labels, held.drives()), (vec!["raw", "2 raw at once", "md0:512k"], 2));
        let workloads = held.workloads();
        let of = |name: &str| {
            let results = &workloads.iter().find(|one| one.name == "rand-read").unwrap().results;
            results.iter().find(|one| one.layout == name).unwrap().clone()
        };
        assert_eq!(of("md0:512k").expected, Some(2.0));
        assert!(of("raw").of_one.is_some() && of("md0:512k").of_all.is_some());
        // Jobs that write files of their own have as many targets.
        let mut files = raw.clone();
        for of in &mut files.measurements {
            of.targets = vec!["/mnt/job.0".into(), "/mnt/job.1".into()];
            of.conditions.device = Some("nvme0n1".into());
        }
        let runs_of_files = [("a raw", &raw), ("a ext4:new", &files)];
        let workloads = Layouts::among(&runs_of_files).unwrap().workloads();
        let results = &workloads[0].results;
        let new = results.iter().find(|one| one.layout == "ext4:new").unwrap();
        assert_eq!(new.expected, Some(1.0), "both files lie on the one drive");
        // A file system on an array gains what the array gains.
        let mut on_array = striped.clone();
        for of in &mut on_array.measurements {
            of.targets = vec!["/mnt/job.0".into(), "/mnt/job.1".into(), "/mnt/job.2".into()];
            of.conditions.device = Some("md0".into());
        }
        let runs_on_array = [("a raw", &raw), ("a md0+ext4:new", &on_array)];
        let workloads = Layouts::among(&runs_on_array).unwrap().workloads();
        let results = &workloads[0].results;
        let new = results.iter().find(|one| one.layout == "md0+ext4:new").unwrap();
        assert_eq!(new.expected, Some(2.0));
        // Raw drives alone are no layouts, nor is a device built on drives that were not measured.
        assert!(Layouts::among(&runs[..2]).is_none());
        assert!(Layouts::among(&runs[1..]).is_none());
        // Jobs of the same name in unrelated runs are no layouts, nor are those of another plan.
        let changes: [fn(&mut Run); 2] =
            [|run| run.kind = RunKind::Run, |run| run.plan_name = "x".into()];
        for change in changes {
            let mut unrelated = raw.clone();
            change(&mut unrelated.run);
            assert!(Layouts::among(&[("raw", &unrelated), ("md0", &striped)]).is_none());
        }
        let mut larger = raw.clone();
        larger.measurements[1].workload.bs = Some(8192);
        let runs = [("raw", &larger), ("md0", &striped)];
        let workloads = Layouts::among(&runs).unwrap().workloads();
        let of_blocks = workloads.iter().filter(|one| one.name == "rand-read");
        assert!(
            of_blocks
                .flat_map(|one| &one.results)
                .all(|one| one.layout == "raw" || one.of_one.is_none())
        );
        // Another machine's drive is no reference.
        let mut elsewhere = raw.clone();
        elsewhere.snapshots[0].hostname = iodyno_model::Fact::Read("other".into());
        assert!(Layouts::among(&[("raw", &elsewhere), ("md0", &striped)]).is_none());
    }

    #[test]
    fn failed_results_have_no_rate_and_sort_last() {
        let one = Bench::new(1).measured().record();
        let mut failed = one.clone();
        failed.measurements[0].end = iodyno_model::EndReason::Failed("gone".into());
        let built = vec![("ext4", &failed), ("raw", &one)];
        let workloads = Layouts { one: None, all: Some(&one), built }.workloads();
        let results = &workloads[0].results;
        assert_eq!((results[0].of_all, results[1].rate), (Some(1.0), None));
        assert_eq!(results[1].layout, "ext4");
    }

    #[test]
    fn mirrored_writes_are_amplified() {
        let stats = |written_bytes| {
            let name = "nvme0n1".to_owned();
            DiskStats { name, written_bytes, ..DiskStats::default() }
        };
        let amplified = |change: fn(&mut Measurement)| {
            let bench = Bench::new(1).measured().host(|host| host.disk_stats = vec![stats(7)]);
            // The bench's three measurements run at the same time.
            let bench = bench.after(|host| host.disk_stats = vec![stats(7 + 60_000)]);
            let mut record = each(bench, change).record();
            record.run.origin = Origin::Measured;
            let layouts = Layouts { one: None, all: None, built: vec![("md1", &record)] };
            layouts.workloads()[0].results[0].write_amplification
        };
        fn write(of: &mut Measurement) {
            of.total[0].direction = Direction::Write;
            of.total[0].whole_bytes = Some(10_000);
        }
        assert_eq!(amplified(write), Some(2.0));
        let files = |of: &mut Measurement| {
            write(of);
            of.targets = vec!["/mnt/job.0".into(), "/mnt/job.1".into()];
            of.conditions.device = Some("nvme0n1".into());
        };
        assert_eq!(amplified(files), Some(2.0));
        assert_eq!(amplified(|_| ()), None);
    }
}
