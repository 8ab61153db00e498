//! Parses Identify Controller and Identify Namespace.

use iodyno_model::{IdentifyController, IdentifyNamespace, LbaFormat, PowerState};

use super::page::Page;

/// Identify Controller page up to the end of its power states; NVM Express Base Specification 2.0,
/// figure 275.
const CONTROLLER_BYTES: usize = 3072;
/// Identify Namespace page up to the end of its formats; NVM Command Set Specification 1.0, figure
/// 97.
const NAMESPACE_BYTES: usize = 384;

/// Total capacity of the NVM subsystem (TNVMCAP), bytes, from an Identify Controller page; `None`
/// if it is too short or the drive does not report it.
pub(crate) fn total_capacity(page: &[u8]) -> Option<u64> {
    u64::try_from(Page::of(page, CONTROLLER_BYTES)?.u128(280)).ok().filter(|bytes| *bytes > 0)
}

/// Features announced by an Identify Controller page, which decide on further commands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Features {
    /// Has a UUID List (CTRATT bit 9).
    pub(crate) uuid_list: bool,
    /// Has several power states (NPSS, zero-based).
    pub(crate) power_states: bool,
    /// Supports autonomous power state transitions (APSTA bit 0).
    pub(crate) autonomous_power_states: bool,
    /// Has a volatile write cache (VWC bit 0).
    pub(crate) write_cache: bool,
}

impl Features {
    /// Parses an Identify Controller page; none if it is too short.
    pub(crate) fn of(page: &[u8]) -> Self {
        let Some(page) = Page::of(page, CONTROLLER_BYTES) else { return Self::default() };
        Self {
            uuid_list: page.u32(96) & 1 << 9 != 0,
            power_states: page.u8(263) > 0,
            autonomous_power_states: page.u8(265) & 1 != 0,
            write_cache: page.u8(525) & 1 != 0,
        }
    }
}

/// Parses an Identify Controller page (CNS 01h, 4096 bytes; Base Specification 2.0, figure 275);
/// `None` if it is too short. MDTS counts in units of CAP.MPSMIN, a register that admin commands
/// cannot read: 4096 bytes is assumed, as on every known drive.
pub fn parse_identify_controller(page: &[u8]) -> Option<IdentifyController> {
    let page = Page::of(page, CONTROLLER_BYTES)?;
    let version = page.u32(80);
    Some(IdentifyController {
        version: format!("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff),
        max_transfer_bytes: match page.u8(77) {
            0 => None,
            shift => 4096_u64.checked_shl(shift.into()).filter(|bytes| *bytes >= 4096),
        },
        warning_temperature_k: page.u16(266),
        critical_temperature_k: page.u16(268),
        namespace_count: page.u32(516),
        volatile_write_cache: page.u8(525) & 1 != 0,
        supports_trim: page.u16(520) & 1 << 2 != 0,
        unallocated_bytes: page.u128(296),
        // Bit 0: the subsystem may have several ports.
        multi_port: page.u8(76) & 1 != 0,
        // NPSS is zero-based.
        power_states: page
            .table(2048, 32)
            .take(usize::from(page.u8(263).min(31)) + 1)
            .map(power_state)
            .collect(),
    })
}

/// Parses a Power State Descriptor (figure 276 there).
fn power_state(entry: Page<'_>) -> PowerState {
    let (max_power, flags) = (u64::from(entry.u16(0)), entry.u8(3));
    PowerState {
        // In hundredths of a watt, or with MXPS (bit 0) in ten thousandths.
        max_power_mw: (max_power > 0)
            .then(|| if flags & 1 == 0 { max_power * 10 } else { max_power / 10 }),
        operational: flags & 2 == 0,
        entry_us: entry.u32(4),
        exit_us: entry.u32(8),
    }
}

/// Parses an Identify Namespace page (CNS 00h, 4096 bytes; NVM Command Set Specification 1.0,
/// figures 97 and 98); `None` if it is too short, or of an inactive namespace (all zero).
pub fn parse_identify_namespace(page: &[u8]) -> Option<IdentifyNamespace> {
    let page = Page::of(page, NAMESPACE_BYTES)?;
    if page.u64(0) == 0 {
        return None;
    }
    // NLBAF is zero-based; formats past 63 do not exist.
    let count = (usize::from(page.u8(25)) + 1).min(64);
    let formats = page.table(128, 4).take(count).map(|format| LbaFormat {
        metadata_bytes: format.u16(0),
        data_bytes: 1_u32.checked_shl(format.u8(2).into()).unwrap_or(0),
        relative_performance: format.u8(3) & 3,
    });
    Some(IdentifyNamespace {
        size_blocks: page.u64(0),
        capacity_blocks: page.u64(8),
        used_blocks: page.u64(16),
        deallocated_reads_as: match page.u8(33) & 7 {
            1 => Some(0x00),
            2 => Some(0xff),
            _ => None,
        },
        deallocated_read_may_fail: page.u8(24) & 1 << 2 != 0,
        formats: formats.collect(),
        format_in_use: format_index(page).into(),
    })
}

/// Format in use according to an Identify Namespace page: FLBAS bits 3:0, and 6:5 above them if
/// there are more than 16 formats.
pub(super) fn format_index(page: Page<'_>) -> u8 {
    let flbas = page.u8(26);
    flbas & 0xf | if page.u8(25) > 15 { (flbas & 0x60) >> 1 } else { 0 }
}
