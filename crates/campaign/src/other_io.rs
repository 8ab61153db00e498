//! Detects I/O of other processes on the devices.

use std::time::{Duration, Instant};

use iodyno_model::{BlockKind, DiskStats, Host, Run, SkipReason};
use iodyno_target::Target;

use crate::tools::Tools;
use crate::watch::Event;

/// I/O on a device that this run did not issue.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OtherIo {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// Above either of these a drive counts as busy.
pub(crate) const BUSY: OtherIo = OtherIo { iops: 100.0, bytes_per_s: 10e6 };

/// I/O issued by a load generator in the same time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Issued {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
}

impl OtherIo {
    /// True if a drive with this much other I/O is busy.
    pub fn is_busy(&self) -> bool {
        self.iops > BUSY.iops || self.bytes_per_s > BUSY.bytes_per_s
    }
}

/// Least bytes of an I/O: a sector.
const SECTOR_BYTES: u64 = 512;

/// I/O on a device between two readings of its counters, less what was `issued`; `None` if time or
/// counters did not move forward. An I/O larger than `largest_bytes`, the queue's limit, counts as
/// several. Into how many pieces the kernel cuts own I/O is not known exactly, its bytes are: no more
/// I/Os are others' than their bytes allow.
pub fn other_io(
    before: &DiskStats,
    after: &DiskStats,
    seconds: f64,
    issued: Issued,
    largest_bytes: Option<u64>,
) -> Option<OtherIo> {
    if seconds <= 0.0 {
        return None;
    }
    let ios = (after.reads + after.writes).checked_sub(before.reads + before.writes)?;
    let bytes = (after.read_bytes + after.written_bytes)
        .checked_sub(before.read_bytes + before.written_bytes)?;
    let pieces = match (issued.ios, largest_bytes) {
        (0, _) | (_, None | Some(0)) => issued.ios,
        (n, Some(largest)) => n * (issued.bytes / n).div_ceil(largest).max(1),
    };
    let others_bytes = bytes.saturating_sub(issued.bytes);
    Some(OtherIo {
        iops: ios.saturating_sub(pieces).min(others_bytes / SECTOR_BYTES) as f64 / seconds,
        bytes_per_s: others_bytes as f64 / seconds,
    })
}

/// Devices below a device that can be idle.
fn watched(host: &Host, device: &str) -> Vec<String> {
    let bottom = host.bottom_of(device).into_iter();
    let drives = bottom.filter(|block| !matches!(block.kind, BlockKind::Virtual));
    drives.map(|block| block.name.clone()).collect()
}

/// Targets whose devices are not busy, observed for 1 s. Virtual disks are shared by nature and
/// never idle: they are measured, and the I/O of others is reported with the result.
pub(crate) fn without_busy<'t>(
    tools: &mut Tools<'_>,
    host: &Host,
    run: &mut Run,
    targets: &'t [Target],
) -> Vec<&'t Target> {
    let devices: Vec<Vec<String>> = targets
        .iter()
        .map(|target| target.device().map_or(Vec::new(), |device| watched(host, device)))
        .collect();
    if devices.iter().all(Vec::is_empty) {
        return targets.iter().collect();
    }
    tools.watcher.event(&Event::Looking);
    let before = iodyno_host::disk_stats(tools.source);
    let start = Instant::now();
    std::thread::sleep(Duration::from_secs(1));
    let after = iodyno_host::disk_stats(tools.source);
    let seconds = start.elapsed().as_secs_f64();
    let mut idle = Vec::new();
    for (target, devices) in targets.iter().zip(&devices) {
        let busy = devices.iter().find_map(|device| {
            let (a, b) = (DiskStats::of(&before, device)?, DiskStats::of(&after, device)?);
            let other = other_io(a, b, seconds, Issued::default(), None)?;
            other.is_busy().then_some((device, other))
        });
        match busy {
            None => idle.push(target),
            Some((device, other)) => {
                let OtherIo { iops, bytes_per_s } = other;
                let why = SkipReason::Busy { device: device.clone(), iops, bytes_per_s };
                let next = format!("iodyno check {} --busy", target.name());
                tools.skip(run, target.name(), None, why, &next);
            }
        }
    }
    idle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(reads: u64, read_bytes: u64) -> DiskStats {
        let name = "x".into();
        DiskStats { name, reads, read_bytes, writes: 5, written_bytes: 50, ..DiskStats::default() }
    }

    #[test]
    fn own_io_is_subtracted() {
        let issued = Issued { ios: 1000, bytes: 1000 << 18 };
        let after = stats(2100, (1000 << 18) + 409_600);
        let other = other_io(&stats(0, 0), &after, 2.0, issued, Some(1 << 17)).unwrap();
        assert_eq!(other, OtherIo { iops: 50.0, bytes_per_s: 204_800.0 });
        assert!(!other.is_busy());
        // Scattered buffers: 64 segments of a page for each I/O. The bytes are all its own.
        let cut = other_io(&stats(0, 0), &stats(64_000, 1000 << 18), 2.0, issued, Some(1 << 17));
        assert_eq!(cut, Some(OtherIo::default()));
        assert!(OtherIo { iops: 101.0, bytes_per_s: 0.0 }.is_busy());
        assert!(OtherIo { iops: 0.0, bytes_per_s: 1.1e7 }.is_busy());
    }

    #[test]
    fn decreasing_counters_give_nothing() {
        assert_eq!(other_io(&stats(5, 5), &stats(4, 5), 1.0, Issued::default(), None), None);
        assert_eq!(other_io(&stats(5, 5), &stats(5, 5), 0.0, Issued::default(), None), None);
    }
}
