//! Reports and resets the zones of a zoned device.
#![allow(unsafe_code)] // two ioctls, which the standard library does not offer

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use crate::{ReadClearance, TargetError, WriteClearance};

/// `_IOWR(0x12, 130, struct blk_zone_report)`: `BLKREPORTZONE` of linux/blkzoned.h.
const REPORT_ZONES: u64 = 3 << 30 | (size_of::<Header>() as u64) << 16 | 0x1282;
/// `_IOW(0x12, 131, struct blk_zone_range)`: `BLKRESETZONE`.
const RESET_ZONES: u64 = 1 << 30 | (size_of::<Range>() as u64) << 16 | 0x1283;

/// Zones per report.
const ZONES: usize = 64;
/// The kernel counts in units of 512 bytes, whatever the device's block size.
const SECTOR_BYTES: u64 = 512;
/// `BLK_ZONE_REP_CAPACITY`: the report includes zone capacities.
const HAS_CAPACITY: u32 = 1;
/// `BLK_ZONE_TYPE_SEQWRITE_REQ`.
const WRITTEN_IN_SEQUENCE: u8 = 2;

/// `struct blk_zone_report`, without its zones.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Header {
    sector: u64,
    nr_zones: u32,
    flags: u32,
}

/// `struct blk_zone`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Zone {
    start: u64,
    len: u64,
    _write_pointer: u64,
    kind: u8,
    _condition_and_flags: [u8; 7],
    capacity: u64,
    _reserved: [u64; 3],
}

/// `struct blk_zone_range`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Range {
    sector: u64,
    nr_sectors: u64,
}

#[repr(C)]
#[derive(Debug)]
struct Report {
    header: Header,
    zones: [Zone; ZONES],
}

const _: () =
    assert!(size_of::<Header>() == 16 && size_of::<Zone>() == 64 && size_of::<Range>() == 16);

/// The zones of a device, which are all alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zones {
    /// Zone size: distance of zone starts, bytes.
    pub zone_bytes: u64,
    /// Zone capacity: writable bytes from its start.
    pub capacity_bytes: u64,
    /// Number of zones.
    pub count: u64,
}

impl Zones {
    /// Reads the zones of a device.
    ///
    /// # Errors
    /// The kernel does not report them, or they are not all alike.
    pub fn of(device: &ReadClearance) -> Result<Self, TargetError> {
        let name = device.name();
        let refused = |why: &str| TargetError::Refused { name: name.into(), why: why.into() };
        let failed =
            |error| TargetError::Io { name: name.into(), action: "report its zones", error };
        let mut found: Option<Self> = None;
        let mut at = 0;
        while at * SECTOR_BYTES < device.size_bytes() {
            let report = report(device.as_fd(), at).map_err(failed)?;
            let count = (report.header.nr_zones as usize).min(ZONES);
            for zone in &report.zones[..count] {
                let has_capacity = report.header.flags & HAS_CAPACITY != 0;
                let capacity = if has_capacity { zone.capacity } else { zone.len };
                let first = found.get_or_insert(Self {
                    zone_bytes: zone.len * SECTOR_BYTES,
                    capacity_bytes: capacity * SECTOR_BYTES,
                    count: 0,
                });
                let alike = zone.kind == WRITTEN_IN_SEQUENCE
                    && (zone.len, capacity)
                        == (first.zone_bytes / SECTOR_BYTES, first.capacity_bytes / SECTOR_BYTES);
                if !alike || zone.len == 0 {
                    return Err(refused("its zones differ, which iodyno does not support"));
                }
                first.count += 1;
                at = zone.start + zone.len;
            }
            if count == 0 {
                break;
            }
        }
        found.ok_or_else(|| refused("it reports no zones"))
    }
}

impl WriteClearance {
    /// Resets all zones: their data is gone, and they can be written again. Does not check for
    /// zones first: a device without zones refuses.
    ///
    /// # Errors
    /// The device refuses or fails.
    pub fn reset_zones(&self) -> Result<(), TargetError> {
        let nr_sectors = self.as_read().size_bytes() / SECTOR_BYTES;
        let range = Range { sector: 0, nr_sectors };
        // SAFETY: the descriptor is open, and `range` is the struct that this ioctl reads (its size
        // is in the request number).
        let status =
            unsafe { libc::ioctl(self.as_fd().as_raw_fd(), RESET_ZONES as _, &raw const range) };
        if status == 0 {
            return Ok(());
        }
        let name = self.as_read().name().to_owned();
        Err(TargetError::Io { name, action: "reset its zones", error: io::Error::last_os_error() })
    }
}

/// Reports the zones from `sector` on.
fn report(device: BorrowedFd<'_>, sector: u64) -> io::Result<Box<Report>> {
    let header = Header { sector, nr_zones: ZONES as u32, flags: 0 };
    let mut report = Box::new(Report { header, zones: [Zone::default(); ZONES] });
    // SAFETY: the descriptor is open; the kernel writes the header and at most `nr_zones` zones
    // behind it, for which `report` has room.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), REPORT_ZONES as _, &raw mut *report) };
    if status == 0 { Ok(report) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_numbers_are_the_kernels() {
        assert_eq!((REPORT_ZONES, RESET_ZONES), (0xc010_1282, 0x4010_1283));
    }

    #[test]
    fn a_file_without_zones_reports_none() {
        let file = tempfile::tempfile().unwrap();
        assert!(report(file.as_fd(), 0).is_err());
    }
}
