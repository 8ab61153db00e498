//! The SMART / Health Information log.

use iodyno_model::HealthLog;
use zerocopy::byteorder::little_endian::{U16, U32, U128};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// Log page 02h (Base Specification 2.0, figure 207).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HealthPage {
    critical_warning: u8,
    temperature_k: U16,
    available_spare_percent: u8,
    spare_threshold_percent: u8,
    used_percent: u8,
    _endurance_group: [u8; 26],
    data_units_read: U128,
    data_units_written: U128,
    host_read_commands: U128,
    host_write_commands: U128,
    _busy_min: U128,
    power_cycles: U128,
    power_on_hours: U128,
    unsafe_shutdowns: U128,
    media_errors: U128,
    error_log_entries: U128,
    warning_temperature_min: U32,
    critical_temperature_min: U32,
    _sensors_k: [U16; 8],
    thermal_transitions: [U32; 2],
    thermal_seconds: [U32; 2],
}

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(HealthPage, data_units_read) == 32);
    assert!(offset_of!(HealthPage, power_cycles) == 112);
    assert!(offset_of!(HealthPage, media_errors) == 160);
    assert!(offset_of!(HealthPage, warning_temperature_min) == 192);
    assert!(offset_of!(HealthPage, thermal_transitions) == 216);
    assert!(offset_of!(HealthPage, thermal_seconds) == 224);
};

/// One data unit is a thousand blocks of 512 bytes.
const DATA_UNIT_BYTES: u128 = 512_000;

/// Reads a SMART / Health Information log (log page 02h, 512 bytes; Base
/// Specification 2.0, figure 207); `None` where it is too short.
pub fn parse_health_log(page: &[u8]) -> Option<HealthLog> {
    let (page, _) = HealthPage::ref_from_prefix(page).ok()?;
    Some(HealthLog {
        critical_warning: page.critical_warning,
        temperature_k: page.temperature_k.get(),
        available_spare_percent: page.available_spare_percent,
        spare_threshold_percent: page.spare_threshold_percent,
        used_percent: page.used_percent,
        host_read_bytes: page.data_units_read.get().saturating_mul(DATA_UNIT_BYTES),
        host_written_bytes: page.data_units_written.get().saturating_mul(DATA_UNIT_BYTES),
        host_read_commands: page.host_read_commands.get(),
        host_write_commands: page.host_write_commands.get(),
        power_on_hours: page.power_on_hours.get(),
        power_cycles: page.power_cycles.get(),
        unsafe_shutdowns: page.unsafe_shutdowns.get(),
        media_errors: page.media_errors.get(),
        error_log_entries: page.error_log_entries.get(),
        warning_temperature_min: page.warning_temperature_min.get(),
        critical_temperature_min: page.critical_temperature_min.get(),
        thermal_transitions: page.thermal_transitions.map(U32::get),
        thermal_seconds: page.thermal_seconds.map(U32::get),
    })
}
