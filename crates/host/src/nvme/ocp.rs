//! Parses log pages of datacenter drives (OCP Datacenter NVMe SSD Specification 2.0).

use iodyno_model::{LatencyMonitor, OcpHealth};

use super::page::Page;

/// C194D55B-E094-4794-A21D-29998F56BE6F: log pages follow the OCP specification.
const OCP: [u8; 16] = [
    0xc1, 0x94, 0xd5, 0x5b, 0xe0, 0x94, 0x47, 0x94, 0xa2, 0x1d, 0x29, 0x99, 0x8f, 0x56, 0xbe, 0x6f,
];

/// GUIDs at the end of the pages, as numbers; without them a page is another vendor's.
const HEALTH_GUID: u128 = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5;
const LATENCY_GUID: u128 = 0x85d4_5e58_d4e6_4370_9c6c_84d0_8cc0_7a92;

/// Offset of the GUID and length of the pages, bytes.
const GUID_AT: usize = 496;
const PAGE_BYTES: usize = 512;

/// Index of OCP in a controller's UUID List (Identify, CNS 17h, 4096 bytes; Base Specification 2.0,
/// figure 287); `None` if absent.
pub fn ocp_uuid_index(list: &[u8]) -> Option<u8> {
    // Entries of 32 bytes, their UUID in the second half; the first is reserved,
    // and one of zeros ends the list.
    let uuids = list.chunks_exact(32).map(|entry| &entry[16..]).take(128);
    let mut listed = uuids.enumerate().skip(1).take_while(|(_, uuid)| **uuid != [0; 16]);
    listed.find(|(_, uuid)| **uuid == OCP).and_then(|(index, _)| u8::try_from(index).ok())
}

/// Parses OCP's extended health log (SMART / Health Information Extended, log page C0h, 512 bytes;
/// section 4.8.6 there); `None` if it is too short or another vendor's.
pub fn parse_ocp_health(page: &[u8]) -> Option<OcpHealth> {
    let page = Page::of(page, PAGE_BYTES)?;
    (page.u128(GUID_AT) == HEALTH_GUID).then(|| OcpHealth {
        media_written_bytes: page.u128(0),
        media_read_bytes: page.u128(16),
        uncorrectable_reads: page.u64(56),
        soft_ecc_errors: page.u64(64),
        thermal_throttling_count: page.u8(96),
        thermal_throttling_now: page.u8(97),
        pcie_correctable_errors: page.u64(104),
        free_blocks_percent: page.u8(120),
        unaligned_ios: page.u64(136),
        pcie_retrainings: page.u64(192),
        power_state_changes: page.u64(200),
    })
}

/// Parses OCP's latency monitor (log page C3h, 512 bytes; section 4.8.9 there); `None` if it is too
/// short or another vendor's.
pub fn parse_latency_monitor(page: &[u8]) -> Option<LatencyMonitor> {
    let page = Page::of(page, PAGE_BYTES)?;
    // By threshold; each has reserved, deallocations, writes, reads.
    let counts = |threshold: usize| [12, 8, 4].map(|of| page.u32(32 + 16 * threshold + of));
    (page.u128(GUID_AT) == LATENCY_GUID).then(|| LatencyMonitor {
        enabled: page.u8(0) & 1 != 0,
        // Zero-based, in units of 5 ms.
        thresholds_ms: page.bytes(6).map(|code| (u32::from(code) + 1) * 5),
        counts: [0, 1, 2, 3].map(counts),
    })
}
