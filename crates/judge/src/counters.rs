//! What the kernel counted of the devices below a measurement while it ran.

use iodyno_model::{Direction, Measurement, Origin, RunRecord};

use crate::limiter::PASSTHROUGH;
use crate::place::bottoms;

/// The counters' growth from before a measurement to behind it.
pub(crate) struct Counted<'a> {
    /// Block devices at the bottom of its targets, by name.
    pub(crate) devices: Vec<&'a str>,
    /// All that ran at the same time, itself among it.
    together: Vec<&'a Measurement>,
    /// Bytes that the devices were asked for.
    pub(crate) read_bytes: u64,
    /// Bytes that they were sent.
    pub(crate) written_bytes: u64,
}

impl<'a> Counted<'a> {
    /// Of a measurement; `None` where nothing counts its I/O: a simulated drive
    /// has no counters, and passthrough is not in the kernel's.
    ///
    /// # Errors
    /// What is not recorded.
    pub(crate) fn of(record: &'a RunRecord, of: &Measurement) -> Result<Option<Self>, String> {
        if record.run.origin == Origin::Simulated {
            return Ok(None);
        }
        let around = |of: &Measurement| Some((of.before?, of.after?));
        let span = around(of).filter(|(before, after)| before != after);
        let snapshots = span.and_then(|(before, after)| {
            Some((record.snapshots.get(before)?, record.snapshots.get(after)?))
        });
        let Some((before, after)) = snapshots else {
            return Err("disk statistics around it are not recorded".into());
        };
        let together: Vec<&Measurement> =
            record.measurements.iter().filter(|other| around(other) == span).collect();
        let mut devices: Vec<&str> = Vec::new();
        for other in &together {
            if other.workload.ioengine.as_deref() == Some(PASSTHROUGH) {
                return Ok(None);
            }
            let below = bottoms(before, other);
            if below.is_empty() {
                return Err("the device below its target is not known".into());
            }
            devices.extend(below.iter().map(|device| device.name.as_str()));
        }
        devices.sort_unstable();
        devices.dedup();
        let mut counted = Self { devices, together, read_bytes: 0, written_bytes: 0 };
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

    /// Bytes that were issued meanwhile, warm-up included.
    pub(crate) fn issued_bytes(&self, direction: Direction) -> u64 {
        let results = self.together.iter().filter_map(|of| of.result(direction));
        results.filter_map(|result| result.whole_bytes).fold(0, u64::saturating_add)
    }
}
