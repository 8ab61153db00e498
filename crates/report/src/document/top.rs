//! What drives do right now.

use iodyno_model::DiskStats;
use schemars::JsonSchema;
use serde::Serialize;

/// What `top --once --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TopDocument {
    /// `iodyno.top/1`.
    pub schema: String,
    /// When the interval ended, RFC 3339.
    pub taken: String,
    /// Length of the interval, s.
    pub interval_s: f64,
    /// The drives, in the order of their names.
    pub drives: Vec<TopDrive>,
}

/// A drive in an interval; what is not known is null.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct TopDrive {
    /// Block device, `nvme0n1`.
    pub device: String,
    /// Controller, `nvme0`.
    pub controller: Option<String>,
    /// Model string.
    pub model: Option<String>,
    /// Reads.
    pub read: TopRates,
    /// Writes.
    pub write: TopRates,
    /// I/Os in flight, on average.
    pub queue: f64,
    /// Share of the time with I/O in flight, 0 to 1.
    pub utilisation: f64,
    /// Composite temperature, °C.
    pub temperature_c: Option<f64>,
    /// It may sleep, so it was not asked.
    pub asleep: bool,
    /// It throttled for heat since `top` began; null until it was asked twice, so with `--once`.
    pub throttled: Option<bool>,
    /// Media errors, and uncorrectable errors of its link, since `top` began.
    pub errors: Option<u64>,
    /// Its link as it is trained, `Gen4 x4`.
    pub link: Option<String>,
    /// The link is slower than both of its ends could be.
    pub link_degraded: Option<bool>,
}

/// One direction.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct TopRates {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean time in the kernel's queue and the drive, ns; null without I/O.
    pub latency_ns: Option<f64>,
}

impl TopDrive {
    /// Of a device, between two readings of its counters; nothing where they went back.
    pub fn between(before: &DiskStats, after: &DiskStats, seconds: f64) -> Self {
        let rates = |ios: [u64; 2], bytes: [u64; 2], ms: [u64; 2]| {
            let [ios, bytes, ms] =
                [ios, bytes, ms].map(|[from, to]| to.saturating_sub(from) as f64);
            TopRates {
                iops: ios / seconds,
                bytes_per_s: bytes / seconds,
                latency_ns: (ios > 0.0).then(|| ms / ios * 1e6),
            }
        };
        let share = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e3 / seconds;
        Self {
            device: after.name.clone(),
            read: rates(
                [before.reads, after.reads],
                [before.read_bytes, after.read_bytes],
                [before.read_ms, after.read_ms],
            ),
            write: rates(
                [before.writes, after.writes],
                [before.written_bytes, after.written_bytes],
                [before.write_ms, after.write_ms],
            ),
            queue: share(before.in_queue_ms, after.in_queue_ms),
            utilisation: share(before.busy_ms, after.busy_ms).min(1.0),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_rates() {
        let before = DiskStats { name: "sda".into(), reads: 1000, ..DiskStats::default() };
        let after = DiskStats {
            reads: 3000,
            read_bytes: 8_192_000,
            read_ms: 400,
            busy_ms: 1500,
            in_queue_ms: 800,
            ..before.clone()
        };
        let found = TopDrive::between(&before, &after, 2.0);
        let read = TopRates { iops: 1000.0, bytes_per_s: 4_096_000.0, latency_ns: Some(200_000.0) };
        assert_eq!((found.read, found.write), (read, TopRates::default()));
        assert_eq!((found.utilisation, found.queue), (0.75, 0.4));
        // A device that was replaced begins anew.
        let back = TopDrive::between(&after, &before, 2.0);
        assert_eq!((back.read.iops, back.read.latency_ns, back.queue), (0.0, None, 0.0));
    }
}
