//! Builds Format NVM, Sanitize and Set Features commands as specified.

use iodyno_host::NamespaceFormat;

/// An admin command without data. Only [`Command::format`], [`Command::sanitize`] and
/// [`Command::write_cache`] build one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Command {
    /// Opcode.
    pub(super) opcode: u8,
    /// Namespace id; 0: none.
    pub(super) nsid: u32,
    /// Command dword 10.
    pub(super) dword_10: u32,
    /// Command dword 11.
    pub(super) dword_11: u32,
    /// Timeout, ms; 0: the kernel's default.
    pub(super) timeout_ms: u32,
}

/// Secure erase setting of a format (SES).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecureErase {
    /// None guaranteed: drives deallocate all blocks.
    None = 0,
    /// User data are erased.
    UserData = 1,
    /// The encryption key is changed.
    Cryptographic = 2,
}

/// Sanitize action (SANACT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SanitizeAction {
    /// The media are erased.
    BlockErase = 2,
    /// The encryption keys are changed.
    CryptoErase = 4,
}

const FORMAT_NVM: u8 = 0x80;
const SANITIZE: u8 = 0x84;
const SET_FEATURES: u8 = 0x09;
const VOLATILE_WRITE_CACHE: u32 = 0x06;

/// 12 h: a user data erase of a large drive takes long, and a shorter limit would make the kernel
/// reset the controller in the middle.
const PURGE_TIMEOUT_MS: u32 = 12 * 3600 * 1000;

impl Command {
    /// Format NVM (Base Specification 2.0, figures 332 and 333) of one namespace, which keeps its
    /// format.
    pub(crate) fn format(nsid: u32, as_is: NamespaceFormat, erase: SecureErase) -> Self {
        let index = u32::from(as_is.index);
        let dword_10 = index & 0xf
            | u32::from(as_is.metadata_inline) << 4
            | u32::from(as_is.protection & 7) << 5
            | u32::from(as_is.protection_first) << 8
            | (erase as u32) << 9
            | (index >> 4 & 3) << 12;
        Self { opcode: FORMAT_NVM, nsid, dword_10, dword_11: 0, timeout_ms: PURGE_TIMEOUT_MS }
    }

    /// Sanitize (Base Specification 2.0, figures 374 and 375) of the whole NVM subsystem. With AUSE
    /// (bit 3), so that a drive can be used again after a failed sanitize: the aim is a fresh
    /// drive, not guaranteed secrecy.
    pub(crate) const fn sanitize(action: SanitizeAction) -> Self {
        let dword_10 = action as u32 | 1 << 3;
        Self { opcode: SANITIZE, nsid: 0, dword_10, dword_11: 0, timeout_ms: PURGE_TIMEOUT_MS }
    }

    /// Set Features 06h (Base Specification 2.0, 5.27.1.4) of the controller: until its next reset,
    /// since it is not saved (SV, bit 31).
    pub(crate) const fn write_cache(on: bool) -> Self {
        let dword_10 = VOLATILE_WRITE_CACHE;
        Self { opcode: SET_FEATURES, nsid: 0, dword_10, dword_11: on as u32, timeout_ms: 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sanitize_is_of_the_whole_subsystem() {
        let block = Command::sanitize(SanitizeAction::BlockErase);
        assert_eq!((block.opcode, block.nsid, block.dword_10), (0x84, 0, 0b1010));
        assert_eq!(Command::sanitize(SanitizeAction::CryptoErase).dword_10, 0b1100);
    }

    #[test]
    fn the_write_cache_is_a_feature_that_is_not_saved() {
        for (on, dword_11) in [(true, 1), (false, 0)] {
            let set = Command::write_cache(on);
            assert_eq!((set.opcode, set.nsid), (0x09, 0));
            assert_eq!((set.dword_10, set.dword_11), (0x06, dword_11));
        }
    }

    proptest! {
        /// Each field is read back from its specified bits, and no other bits are set.
        #[test]
        fn a_format_has_every_field_in_its_bits(
            nsid in 1_u32..,
            index in 0_u8..64,
            metadata_inline: bool,
            protection in 0_u8..4,
            protection_first: bool,
            erase in 0_u32..3,
        ) {
            let ses = [SecureErase::None, SecureErase::UserData, SecureErase::Cryptographic];
            let as_is = NamespaceFormat { index, metadata_inline, protection, protection_first };
            let command = Command::format(nsid, as_is, ses[erase as usize]);
            let bits = |low: u32, count: u32| command.dword_10 >> low & ((1 << count) - 1);
            prop_assert_eq!((command.opcode, command.nsid), (0x80, nsid));
            prop_assert_eq!(bits(0, 4) | bits(12, 2) << 4, u32::from(index)); // LBAFL, LBAFU
            prop_assert_eq!(bits(4, 1), u32::from(metadata_inline)); // MSET
            prop_assert_eq!(bits(5, 3), u32::from(protection)); // PI
            prop_assert_eq!(bits(8, 1), u32::from(protection_first)); // PIL
            prop_assert_eq!(bits(9, 3), erase); // SES
            prop_assert_eq!(command.dword_10 >> 14, 0);
        }
    }
}
