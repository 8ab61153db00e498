//! Logs of drives for data centers (OCP Datacenter NVMe SSD Specification 2.0).

use iodyno_model::{LatencyMonitor, OcpHealth};
use zerocopy::byteorder::little_endian::{U32, U64, U128};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// C194D55B-E094-4794-A21D-29998F56BE6F: these log pages are as OCP wants them.
const OCP: [u8; 16] = [
    0xc1, 0x94, 0xd5, 0x5b, 0xe0, 0x94, 0x47, 0x94, 0xa2, 0x1d, 0x29, 0x99, 0x8f, 0x56, 0xbe, 0x6f,
];

/// What the pages end with, as numbers: without it a page is another vendor's.
const HEALTH_GUID: u128 = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5;
const LATENCY_GUID: u128 = 0x85d4_5e58_d4e6_4370_9c6c_84d0_8cc0_7a92;

/// SMART / Health Information Extended (log page C0h, section 4.8.6 there).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HealthPage {
    media_written: U128,
    media_read: U128,
    _bad_blocks: [u8; 16],
    _xor_recoveries: U64,
    uncorrectable: U64,
    soft_ecc: U64,
    _end_to_end_to_used: [u8; 24],
    throttling_count: u8,
    throttling_now: u8,
    _versions: [u8; 6],
    pcie_correctable: U64,
    _incomplete_shutdowns: [u8; 8],
    free_blocks_percent: u8,
    _capacitor: [u8; 15],
    unaligned: U64,
    _security_to_endurance: [u8; 48],
    retrainings: U64,
    power_state_changes: U64,
    _lowest_firmware_to_version: [u8; 288],
    guid: U128,
}

/// Latency Monitor (log page C3h, section 4.8.9 there).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct LatencyPage {
    status: u8,
    _timers: [u8; 5],
    thresholds: [u8; 4],
    _configuration: [u8; 22],
    /// By threshold; in each reserved, deallocations, writes, reads.
    counts: [[U32; 4]; 4],
    _stamps_to_version: [u8; 400],
    guid: U128,
}

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(HealthPage, soft_ecc) == 64);
    assert!(offset_of!(HealthPage, throttling_count) == 96);
    assert!(offset_of!(HealthPage, pcie_correctable) == 104);
    assert!(offset_of!(HealthPage, free_blocks_percent) == 120);
    assert!(offset_of!(HealthPage, unaligned) == 136);
    assert!(offset_of!(HealthPage, retrainings) == 192);
    assert!(offset_of!(HealthPage, guid) == 496);
    assert!(offset_of!(LatencyPage, thresholds) == 6);
    assert!(offset_of!(LatencyPage, counts) == 0x20);
    assert!(offset_of!(LatencyPage, guid) == 496);
};

/// The index of OCP in a controller's UUID List (Identify, CNS 17h, 4096 bytes;
/// Base Specification 2.0, figure 287); `None` where it is not among them.
pub fn ocp_uuid_index(list: &[u8]) -> Option<u8> {
    // Entries of 32 bytes, their UUID in the second half; the first is reserved,
    // and one of zeros ends the list.
    let uuids = list.chunks_exact(32).map(|entry| &entry[16..]).take(128);
    let mut listed = uuids.enumerate().skip(1).take_while(|(_, uuid)| **uuid != [0; 16]);
    listed.find(|(_, uuid)| **uuid == OCP).and_then(|(index, _)| u8::try_from(index).ok())
}

/// Reads OCP's extended health log (log page C0h, 512 bytes); `None` where it
/// is too short or another vendor's.
pub fn parse_ocp_health(page: &[u8]) -> Option<OcpHealth> {
    let (page, _) = HealthPage::ref_from_prefix(page).ok()?;
    (page.guid.get() == HEALTH_GUID).then(|| OcpHealth {
        media_written_bytes: page.media_written.get(),
        media_read_bytes: page.media_read.get(),
        uncorrectable_reads: page.uncorrectable.get(),
        soft_ecc_errors: page.soft_ecc.get(),
        thermal_throttling_count: page.throttling_count,
        thermal_throttling_now: page.throttling_now,
        pcie_correctable_errors: page.pcie_correctable.get(),
        pcie_retrainings: page.retrainings.get(),
        power_state_changes: page.power_state_changes.get(),
        unaligned_ios: page.unaligned.get(),
        free_blocks_percent: page.free_blocks_percent,
    })
}

/// Reads OCP's latency monitor (log page C3h, 512 bytes); `None` where it is
/// too short or another vendor's.
pub fn parse_latency_monitor(page: &[u8]) -> Option<LatencyMonitor> {
    let (page, _) = LatencyPage::ref_from_prefix(page).ok()?;
    (page.guid.get() == LATENCY_GUID).then(|| LatencyMonitor {
        enabled: page.status & 1 != 0,
        // Zero-based, in units of 5 ms.
        thresholds_ms: page.thresholds.map(|code| (u32::from(code) + 1) * 5),
        counts: page.counts.map(|[_, trims, writes, reads]| [reads, writes, trims].map(U32::get)),
    })
}
