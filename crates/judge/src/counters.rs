//! Kernel counters of the devices below a measurement while it ran.

use std::collections::HashMap;

use iodyno_model::{Direction, Measurement, Origin};

use crate::index::{Index, span};
use crate::limiter::PASSTHROUGH;
use crate::place::bottom_devices;

/// Growth of the counters during a measurement.
#[derive(Debug, Clone)]
pub(crate) struct Counted<'a> {
    /// Names of the block devices at the bottom of its targets.
    pub(crate) devices: Vec<&'a str>,
    /// Bytes read from the devices.
    pub(crate) read_bytes: u64,
    /// Bytes written to the devices.
    pub(crate) written_bytes: u64,
    /// Bytes issued by it and everything that ran at the same time, warm-up included.
    issued: HashMap<Direction, u64>,
}
/// [`Counted::of`] by the snapshots around the measurements.
pub(crate) type BySpan<'a> = HashMap<Option<(usize, usize)>, Result<Option<Counted<'a>>, String>>;

impl<'a> Counted<'a> {
    /// Returns the counters of a measurement; `None` if its I/O is not counted: a simulated drive
    /// has no counters, and the kernel does not count passthrough.
    ///
    /// # Errors
    /// What is not recorded.
    pub(crate) fn of(index: &Index<'a>, of: &Measurement) -> Result<Option<Self>, String> {
        let record = index.record();
        if record.run.origin == Origin::Simulated {
            return Ok(None);
        }
        let snapshots = span(of).and_then(|(before, after)| {
            Some((record.snapshots.get(before)?, record.snapshots.get(after)?))
        });
        let Some((before, after)) = snapshots else {
            return Err("no disk statistics were recorded".into());
        };
        let mut devices: Vec<&str> = Vec::new();
        let mut issued = HashMap::new();
        for other in index.concurrent(of) {
            if other.workload.ioengine.as_deref() == Some(PASSTHROUGH) {
                return Ok(None);
            }
            let below = bottom_devices(before, other);
            if below.is_empty() {
                return Err("the device below the target is not known".into());
            }
            devices.extend(below.iter().map(|device| device.name.as_str()));
            for result in &other.total {
                let bytes: &mut u64 = issued.entry(result.direction).or_default();
                *bytes = bytes.saturating_add(result.whole_bytes.unwrap_or(0));
            }
        }
        devices.sort_unstable();
        devices.dedup();
        let mut counted = Self { devices, read_bytes: 0, written_bytes: 0, issued };
        for name in &counted.devices {
            let (Some(before), Some(after)) = (before.stats(name), after.stats(name)) else {
                return Err(format!("disk statistics of {name} are not recorded"));
            };
            let grown = |before: u64, after: u64| after.saturating_sub(before);
            let read_bytes = grown(before.read_bytes, after.read_bytes);
            let written_bytes = grown(before.written_bytes, after.written_bytes);
            counted.read_bytes = counted.read_bytes.saturating_add(read_bytes);
            counted.written_bytes = counted.written_bytes.saturating_add(written_bytes);
        }
        Ok(Some(counted))
    }

    /// Returns the counters of all measurements of a run, by the snapshots around them.
    pub(crate) fn all(index: &Index<'a>) -> BySpan<'a> {
        let spans = index.record().measurements.iter().map(|of| (span(of), of));
        let mut all = BySpan::new();
        for (span, of) in spans {
            all.entry(span).or_insert_with(|| Self::of(index, of));
        }
        all
    }

    /// Returns the bytes issued in the meantime, warm-up included.
    pub(crate) fn issued_bytes(&self, direction: Direction) -> u64 {
        self.issued.get(&direction).copied().unwrap_or(0)
    }
}
