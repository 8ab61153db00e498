//! Current activity of drives.

use iodyno_model::DiskStats;
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `top --once --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TopDocument {
    /// `iodyno.top/1`.
    pub schema: String,
    /// End of the interval, RFC 3339.
    pub taken: String,
    /// Length of the interval, s.
    pub interval_s: f64,
    /// Drives, in order of name.
    pub drives: Vec<TopDrive>,
}

/// Activity of a drive in an interval; unknown values are null.
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
    /// Mean number of I/Os in flight.
    pub queue: f64,
    /// Share of the time with I/O in flight, 0 to 1.
    pub utilisation: f64,
    /// Composite temperature, °C.
    pub temperature_c: Option<f64>,
    /// True if it may be asleep, so its health was not read.
    pub asleep: bool,
    /// Whether it throttled thermally since `top` started; null until read twice, so always with
    /// `--once`.
    pub throttled: Option<bool>,
    /// Media errors and uncorrectable link errors since `top` started.
    pub errors: Option<u64>,
    /// Current state of its link, `Gen4 x4`.
    pub link: Option<String>,
    /// True if the link is slower than both ends support.
    pub link_degraded: Option<bool>,
}

/// Rates of one direction.
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
    /// Computes the rates of a device from two readings of its counters; a counter that went back
    /// counts as 0.
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
        // A replaced device starts again from 0.
        let back = TopDrive::between(&after, &before, 2.0);
        assert_eq!((back.read.iops, back.read.latency_ns, back.queue), (0.0, None, 0.0));
    }
}
