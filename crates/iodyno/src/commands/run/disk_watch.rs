//! Reads what block devices did while jobs ran, without iodyno's preparation of it.

use iodyno_campaign::{Event, now_ns};
use iodyno_host::Source;
use iodyno_model::{DiskStats, DiskUse, Measurement};

/// Counters of all block devices, and when they were read, ns since 1970 UTC.
struct Reading {
    taken_ns: i64,
    stats: Vec<DiskStats>,
}

/// Counters directly before the first job and after the last one: files are laid out, and written
/// blocks sampled, before.
pub(super) struct DiskWatch {
    source: Box<dyn Source>,
    first: Option<Reading>,
    last: Option<Reading>,
}

impl DiskWatch {
    pub(super) const fn new(source: Box<dyn Source>) -> Self {
        Self { source, first: None, last: None }
    }

    /// Reads the counters when jobs begin, and takes those of the host as it is after them.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begin(_) if self.first.is_none() => {
                let stats = iodyno_host::disk_stats(self.source.as_ref());
                self.first = Some(Reading { taken_ns: now_ns(), stats });
            }
            Event::Host(host) if self.first.is_some() => {
                let stats = host.disk_stats.clone();
                self.last = Some(Reading { taken_ns: host.taken_ns, stats });
            }
            _ => {}
        }
    }

    /// Activity of the devices below the targets of `measurements`.
    pub(super) fn activity(&self, measurements: &[Measurement]) -> Vec<DiskUse> {
        let (Some(first), Some(last)) = (&self.first, &self.last) else { return Vec::new() };
        let mut names: Vec<&str> = measurements.iter().flat_map(devices).collect();
        names.sort_unstable();
        names.dedup();
        let elapsed_ns = last.taken_ns.saturating_sub(first.taken_ns).max(0) as u64;
        let activity = names.into_iter().filter_map(|name| {
            let before = DiskStats::of(&first.stats, name)?;
            let after = DiskStats::of(&last.stats, name)?;
            Some(DiskUse::between(before, after, elapsed_ns))
        });
        activity.collect()
    }
}

fn devices(measurement: &Measurement) -> impl Iterator<Item = &str> {
    let device = measurement.conditions.device.as_deref();
    device.into_iter().chain(measurement.targets.iter().map(String::as_str))
}
