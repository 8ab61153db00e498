//! Parses a drive's abilities to erase itself, and its progress.

use super::identify::format_index;
use super::page::Page;

/// Erase methods of a drive, and their reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgeSupport {
    /// Format NVM (OACS bit 1).
    pub format: bool,
    /// Namespace management: all namespaces can be listed, and the controllers that each is
    /// attached to (OACS bit 3).
    pub namespace_management: bool,
    /// The drive may have other controllers than this one (CMIC bit 1).
    pub several_controllers: bool,
    /// A format affects all namespaces (FNA bit 0).
    pub formats_all_namespaces: bool,
    /// A secure erase affects all namespaces (FNA bit 1).
    pub erases_all_namespaces: bool,
    /// Format NVM supports cryptographic erase (FNA bit 2).
    pub format_crypto: bool,
    /// Sanitize by cryptographic erase (SANICAP bit 0).
    pub sanitize_crypto: bool,
    /// Sanitize by block erase (SANICAP bit 1).
    pub sanitize_block: bool,
}

/// Parses an Identify Controller page (Base Specification 2.0, figure 275); `None` if it is too
/// short.
pub fn parse_purge_support(page: &[u8]) -> Option<PurgeSupport> {
    let page = Page::of(page, 525)?;
    let (cmic, oacs, sanicap, fna) = (page.u8(76), page.u16(256), page.u32(328), page.u8(524));
    Some(PurgeSupport {
        format: oacs & 1 << 1 != 0,
        namespace_management: oacs & 1 << 3 != 0,
        several_controllers: cmic & 1 << 1 != 0,
        formats_all_namespaces: fna & 1 != 0,
        erases_all_namespaces: fna & 1 << 1 != 0,
        format_crypto: fna & 1 << 2 != 0,
        sanitize_crypto: sanicap & 1 != 0,
        sanitize_block: sanicap & 1 << 1 != 0,
    })
}

/// Format of a namespace: the parameters of Format NVM that preserve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamespaceFormat {
    /// LBA format, 0..=63.
    pub index: u8,
    /// Metadata is part of the logical block (FLBAS bit 4).
    pub metadata_inline: bool,
    /// Type of end-to-end protection, 0 = none (DPS bits 2:0).
    pub protection: u8,
    /// Protection information is in the first bytes of the metadata (DPS bit 3).
    pub protection_first: bool,
}

/// Parses an Identify Namespace page (NVM Command Set Specification 1.0, figure 97); `None` if it
/// is too short.
pub fn parse_format_in_use(page: &[u8]) -> Option<NamespaceFormat> {
    let page = Page::of(page, 31)?;
    let (flbas, dps) = (page.u8(26), page.u8(29));
    Some(NamespaceFormat {
        index: format_index(page),
        metadata_inline: flbas & 1 << 4 != 0,
        protection: dps & 7,
        protection_first: dps & 1 << 3 != 0,
    })
}

/// State of the last sanitize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SanitizeState {
    /// Never sanitized.
    Never,
    /// Completed.
    Done,
    /// In progress.
    Going,
    /// Failed.
    Failed,
}

/// Content of the Sanitize Status log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SanitizeStatus {
    /// State of the last sanitize.
    pub state: SanitizeState,
    /// Completed share, 0..=1.
    pub done: f64,
    /// Estimated time of a block erase, s; `None` if not reported.
    pub block_erase_s: Option<u32>,
    /// Estimated time of a cryptographic erase, s; `None` if not reported.
    pub crypto_erase_s: Option<u32>,
}

/// Parses a Sanitize Status log (log page 81h; Base Specification 2.0, figure 267); `None` if it is
/// too short or has an unspecified status.
pub fn parse_sanitize_status(page: &[u8]) -> Option<SanitizeStatus> {
    let page = Page::of(page, 20)?;
    let state = match page.u16(2) & 7 {
        0 => SanitizeState::Never,
        // 4: completed, but deallocated its blocks although asked not to.
        1 | 4 => SanitizeState::Done,
        2 => SanitizeState::Going,
        3 => SanitizeState::Failed,
        _ => return None,
    };
    let seconds = |at| Some(page.u32(at)).filter(|seconds| !matches!(seconds, 0 | &u32::MAX));
    Some(SanitizeStatus {
        state,
        // 65535 also means idle.
        done: f64::from(page.u16(0)) / 65536.0,
        block_erase_s: seconds(12),
        crypto_erase_s: seconds(16),
    })
}

/// True if an Identify Namespace page allows attaching the namespace to several controllers at once
/// (NMIC bit 0); `None` if it is too short.
pub fn namespace_is_shared(page: &[u8]) -> Option<bool> {
    Some(Page::of(page, 31)?.u8(30) & 1 != 0)
}

/// Ids of a controller list (Base Specification 2.0, figure 273): count, then ids.
pub fn controller_ids(page: &[u8]) -> Vec<u16> {
    let (ids, _) = page.as_chunks::<2>();
    let mut ids = ids.iter().map(|id| u16::from_le_bytes(*id));
    let count = ids.next().unwrap_or(0);
    ids.take(count.into()).collect()
}

/// Ids of a namespace list (Base Specification 2.0, figure 274): ascending, ended by a zero.
pub fn namespace_ids(page: &[u8]) -> Vec<u32> {
    let (ids, _) = page.as_chunks::<4>();
    ids.iter().map(|id| u32::from_le_bytes(*id)).take_while(|id| *id != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_where_the_specification_has_it() {
        let mut page = vec![0_u8; 4096];
        let none = parse_purge_support(&page).unwrap();
        assert!(!none.format && !none.sanitize_block && !none.erases_all_namespaces);
        let with = |page: &mut Vec<u8>, at: usize, bits: u8| {
            page[at] = bits;
            let support = parse_purge_support(page).unwrap();
            page[at] = 0;
            support
        };
        assert_eq!(with(&mut page, 256, 1 << 1), PurgeSupport { format: true, ..none });
        let managed = PurgeSupport { namespace_management: true, ..none };
        assert_eq!(with(&mut page, 256, 1 << 3), managed);
        assert_eq!(with(&mut page, 524, 1), PurgeSupport { formats_all_namespaces: true, ..none });
        assert_eq!(with(&mut page, 524, 2), PurgeSupport { erases_all_namespaces: true, ..none });
        assert_eq!(with(&mut page, 524, 4), PurgeSupport { format_crypto: true, ..none });
        assert_eq!(with(&mut page, 328, 1), PurgeSupport { sanitize_crypto: true, ..none });
        assert_eq!(with(&mut page, 328, 2), PurgeSupport { sanitize_block: true, ..none });
    }

    #[test]
    fn a_format_in_use_has_all_that_a_format_sets() {
        let mut page = vec![0_u8; 384];
        page[25] = 63; // NLBAF, zero-based
        page[26] = 0b0101_0011; // FLBAS
        page[29] = 0b1010; // DPS
        let expected = NamespaceFormat {
            index: 0b10_0011,
            metadata_inline: true,
            protection: 2,
            protection_first: true,
        };
        assert_eq!(parse_format_in_use(&page), Some(expected));
        page[25] = 15;
        assert_eq!(parse_format_in_use(&page).unwrap().index, 3);
    }

    #[test]
    fn sanitize_status_has_progress() {
        let mut page = vec![0_u8; 512];
        page[..2].copy_from_slice(&0x8000_u16.to_le_bytes());
        page[2..4].copy_from_slice(&0x0102_u16.to_le_bytes());
        page[12..16].copy_from_slice(&90_u32.to_le_bytes());
        page[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        let status = parse_sanitize_status(&page).unwrap();
        assert_eq!((status.state, status.done), (SanitizeState::Going, 0.5));
        assert_eq!((status.block_erase_s, status.crypto_erase_s), (Some(90), None));
        page[2] = 7;
        assert_eq!(parse_sanitize_status(&page), None);
    }

    #[test]
    fn short_pages_are_refused() {
        assert_eq!(parse_purge_support(&[0; 524]), None);
        assert_eq!(parse_format_in_use(&[0; 29]), None);
        assert_eq!(parse_sanitize_status(&[0; 19]), None);
        assert_eq!(namespace_ids(&[1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9]), [1, 7]);
        assert!(namespace_ids(&[]).is_empty());
    }
}
