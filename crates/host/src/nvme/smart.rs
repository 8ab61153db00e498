//! Parses the SMART / Health Information log.

use iodyno_model::HealthLog;

use super::page::Page;

/// Size of a data unit: a thousand blocks of 512 bytes.
const DATA_UNIT_BYTES: u128 = 512_000;

/// Parses a SMART / Health Information log (log page 02h, 512 bytes; Base Specification 2.0, figure
/// 207); `None` if it is too short.
pub fn parse_health_log(page: &[u8]) -> Option<HealthLog> {
    let page = Page::of(page, 232)?;
    Some(HealthLog {
        critical_warning: page.u8(0),
        temperature_k: page.u16(1),
        available_spare_percent: page.u8(3),
        spare_threshold_percent: page.u8(4),
        used_percent: page.u8(5),
        host_read_bytes: page.u128(32).saturating_mul(DATA_UNIT_BYTES),
        host_written_bytes: page.u128(48).saturating_mul(DATA_UNIT_BYTES),
        host_read_commands: page.u128(64),
        host_write_commands: page.u128(80),
        power_cycles: page.u128(112),
        power_on_hours: page.u128(128),
        unsafe_shutdowns: page.u128(144),
        media_errors: page.u128(160),
        error_log_entries: page.u128(176),
        warning_temperature_min: page.u32(192),
        critical_temperature_min: page.u32(196),
        thermal_transitions: [page.u32(216), page.u32(220)],
        thermal_seconds: [page.u32(224), page.u32(228)],
    })
}
