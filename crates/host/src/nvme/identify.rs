//! Identify Controller and Identify Namespace.

use iodyno_model::{IdentifyController, IdentifyNamespace, LbaFormat, PowerState};
use zerocopy::byteorder::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// NVM Express Base Specification 2.0, figure 275; only what is used has a name.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ControllerPage {
    _vendor_to_ieee: [u8; 76],
    cmic: u8,
    mdts: u8,
    _cntlid: U16,
    version: U32,
    _rtd3r_oaes: [u8; 12],
    ctratt: U32,
    _rrls_to_elpe: [u8; 163],
    npss: u8,
    _avscc: u8,
    apsta: u8,
    wctemp: U16,
    cctemp: U16,
    _mtfa_to_hmmin: [u8; 10],
    tnvmcap: U128,
    unvmcap: U128,
    _rpmbs_to_maxcmd: [u8; 204],
    namespace_count: U32,
    oncs: U16,
    _fuses_fna: [u8; 3],
    vwc: u8,
    _awun_to_subnqn: [u8; 1522],
    power_states: [PowerStateEntry; 32],
}

/// Power State Descriptor (figure 276 there).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct PowerStateEntry {
    max_power: U16,
    _reserved: u8,
    flags: u8,
    entry_us: U32,
    exit_us: U32,
    _rrt_to_apw: [u8; 20],
}

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(ControllerPage, cmic) == 76);
    assert!(offset_of!(ControllerPage, version) == 80);
    assert!(offset_of!(ControllerPage, ctratt) == 96);
    assert!(offset_of!(ControllerPage, npss) == 263);
    assert!(offset_of!(ControllerPage, apsta) == 265);
    assert!(offset_of!(ControllerPage, wctemp) == 266);
    assert!(offset_of!(ControllerPage, tnvmcap) == 280);
    assert!(offset_of!(ControllerPage, unvmcap) == 296);
    assert!(offset_of!(ControllerPage, namespace_count) == 516);
    assert!(offset_of!(ControllerPage, vwc) == 525);
    assert!(offset_of!(ControllerPage, power_states) == 2048);
};

/// NVM Command Set Specification 1.0, figure 97.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct NamespacePage {
    nsze: U64,
    ncap: U64,
    nuse: U64,
    nsfeat: u8,
    nlbaf: u8,
    flbas: u8,
    _mc_to_fpi: [u8; 6],
    dlfeat: u8,
    _nawun_to_eui64: [u8; 94],
    formats: [FormatEntry; 64],
}

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(NamespacePage, flbas) == 26);
    assert!(offset_of!(NamespacePage, dlfeat) == 33);
    assert!(offset_of!(NamespacePage, formats) == 128);
};

/// LBA Format (figure 98 there).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct FormatEntry {
    metadata_bytes: U16,
    data_shift: u8,
    relative_performance: u8,
}

/// The total capacity of the NVM subsystem (TNVMCAP), bytes, of an Identify
/// Controller page; `None` where it is too short or the drive does not say.
pub(crate) fn total_capacity(page: &[u8]) -> Option<u64> {
    let (page, _) = ControllerPage::ref_from_prefix(page).ok()?;
    u64::try_from(page.tnvmcap.get()).ok().filter(|bytes| *bytes > 0)
}

/// Which further questions make sense, as an Identify Controller page says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Knows {
    /// There is a list of UUIDs (CTRATT bit 9).
    pub(crate) uuid_list: bool,
    /// There is more than one power state (NPSS, zero-based).
    pub(crate) power_states: bool,
    /// The controller may change it itself (APSTA bit 0).
    pub(crate) autonomous_power_states: bool,
    /// There is a volatile write cache (VWC bit 0).
    pub(crate) write_cache: bool,
}

impl Knows {
    /// Of an Identify Controller page; none of a short one.
    pub(crate) fn of(page: &[u8]) -> Self {
        let Ok((page, _)) = ControllerPage::ref_from_prefix(page) else { return Self::default() };
        Self {
            uuid_list: page.ctratt.get() & 1 << 9 != 0,
            power_states: page.npss > 0,
            autonomous_power_states: page.apsta & 1 != 0,
            write_cache: page.vwc & 1 != 0,
        }
    }
}

/// Reads an Identify Controller page (CNS 01h, 4096 bytes; Base Specification
/// 2.0, figure 275); `None` where it is too short. MDTS counts in units of
/// CAP.MPSMIN, a register that admin commands cannot read: 4096 bytes is taken,
/// as on every known drive.
pub fn parse_identify_controller(page: &[u8]) -> Option<IdentifyController> {
    let (page, _) = ControllerPage::ref_from_prefix(page).ok()?;
    let version = page.version.get();
    Some(IdentifyController {
        version: format!("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff),
        max_transfer_bytes: match page.mdts {
            0 => None,
            shift => 4096_u64.checked_shl(shift.into()).filter(|bytes| *bytes >= 4096),
        },
        warning_temperature_k: page.wctemp.get(),
        critical_temperature_k: page.cctemp.get(),
        namespace_count: page.namespace_count.get(),
        volatile_write_cache: page.vwc & 1 != 0,
        supports_trim: page.oncs.get() & 1 << 2 != 0,
        unallocated_bytes: page.unvmcap.get(),
        // Bit 0: the subsystem may have several ports.
        multi_port: page.cmic & 1 != 0,
        // NPSS is zero-based.
        power_states: page
            .power_states
            .iter()
            .take(usize::from(page.npss) + 1)
            .map(power_state)
            .collect(),
    })
}

fn power_state(entry: &PowerStateEntry) -> PowerState {
    let max_power = u64::from(entry.max_power.get());
    PowerState {
        // In hundredths of a watt, or with MXPS (bit 0) in ten thousandths.
        max_power_mw: (max_power > 0)
            .then(|| if entry.flags & 1 == 0 { max_power * 10 } else { max_power / 10 }),
        operational: entry.flags & 2 == 0,
        entry_us: entry.entry_us.get(),
        exit_us: entry.exit_us.get(),
    }
}

/// Reads an Identify Namespace page (CNS 00h, 4096 bytes; NVM Command Set
/// Specification 1.0, figures 97 and 98); `None` where it is too short, or
/// where the page is of an inactive namespace (all zero).
pub fn parse_identify_namespace(page: &[u8]) -> Option<IdentifyNamespace> {
    let (page, _) = NamespacePage::ref_from_prefix(page).ok()?;
    if page.nsze.get() == 0 {
        return None;
    }
    // NLBAF is zero-based; formats past 63 do not exist.
    let count = (usize::from(page.nlbaf) + 1).min(page.formats.len());
    let formats = page.formats[..count].iter().map(|format| LbaFormat {
        data_bytes: 1_u32.checked_shl(format.data_shift.into()).unwrap_or(0),
        metadata_bytes: format.metadata_bytes.get(),
        relative_performance: format.relative_performance & 3,
    });
    Some(IdentifyNamespace {
        size_blocks: page.nsze.get(),
        capacity_blocks: page.ncap.get(),
        used_blocks: page.nuse.get(),
        deallocated_reads_as: match page.dlfeat & 7 {
            1 => Some(0x00),
            2 => Some(0xff),
            _ => None,
        },
        deallocated_read_may_fail: page.nsfeat & 1 << 2 != 0,
        formats: formats.collect(),
        // Bits 3:0, and 6:5 above them where there are more than 16 formats.
        format_in_use: usize::from(
            page.flbas & 0xf | if page.nlbaf > 15 { (page.flbas & 0x60) >> 1 } else { 0 },
        ),
    })
}
