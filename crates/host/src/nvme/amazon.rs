//! Parses Amazon's log page D0h: time that EBS volumes and EC2 instance storage spent at their
//! limits. Layout: amzn/amzn-nvme.c of nvme-cli, ebsnvme of amazon-ec2-utils.

use iodyno_model::{Drive, VolumeLimits};

use crate::source::{AdminRead, Source};

use super::page::Page;

/// Magic numbers at the beginning of the page.
const EBS: u32 = 0x3c23_b510;
const INSTANCE_STORE: u32 = 0xec2c_0d7e;
/// Bytes that are parsed; histograms follow, up to the page's own length.
const READ_BYTES: usize = 96;

/// Model strings of volumes, and the length of their page, bytes.
const MODELS: [(&str, u16); 2] =
    [("Amazon Elastic Block Store", 4096), ("Amazon EC2 NVMe Instance Storage", 8192)];

/// Length of the page for a model string, bytes; `None` if it has none.
pub(crate) fn volume_limits_bytes(model: &str) -> Option<u16> {
    MODELS.iter().find(|(known, _)| model.starts_with(known)).map(|(_, bytes)| *bytes)
}

/// Parses the page; `None` if it is too short or another vendor's.
pub fn parse_volume_limits(page: &[u8]) -> Option<VolumeLimits> {
    let page = Page::of(page, READ_BYTES)?;
    let is_volume = match page.u32(0) {
        EBS => true,
        INSTANCE_STORE => false,
        _ => return None,
    };
    let of_volume = |at: usize| is_volume.then(|| page.u64(at));
    Some(VolumeLimits {
        volume_iops_us: of_volume(56),
        volume_throughput_us: of_volume(64),
        instance_iops_us: page.u64(72),
        instance_throughput_us: page.u64(80),
        queue_length: page.u64(88),
    })
}

/// Reads a volume's limit counters; `None` without such a page or if unreadable. Sends an admin
/// command: not while single latencies are measured, and at most once per second.
pub fn volume_limits(source: &dyn Source, drive: &Drive) -> Option<VolumeLimits> {
    let bytes = volume_limits_bytes(drive.model.get()?)?;
    parse_volume_limits(&source.admin(&drive.name, AdminRead::VolumeLimits(bytes)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(magic: u32, fields: [u64; 5]) -> Vec<u8> {
        let mut page = vec![0; 4096];
        page[..4].copy_from_slice(&magic.to_le_bytes());
        for (n, field) in fields.into_iter().enumerate() {
            page[56 + 8 * n..][..8].copy_from_slice(&field.to_le_bytes());
        }
        page
    }

    #[test]
    fn only_volumes_have_volume_limits() {
        let limits = parse_volume_limits(&page(EBS, [1, 2, 3, 4, 5])).unwrap();
        assert_eq!((limits.volume_iops_us, limits.volume_throughput_us), (Some(1), Some(2)));
        assert_eq!((limits.instance_iops_us, limits.instance_throughput_us), (3, 4));
        assert_eq!(limits.queue_length, 5);
        let local = parse_volume_limits(&page(INSTANCE_STORE, [9, 9, 3, 4, 5])).unwrap();
        assert_eq!(local.volume_iops_us, None);
        assert_eq!(local.instance_throughput_us, 4);
        assert_eq!(parse_volume_limits(&page(0, [0; 5])), None);
    }

    #[test]
    fn models_determine_the_page_length() {
        assert_eq!(volume_limits_bytes("Amazon Elastic Block Store"), Some(4096));
        assert_eq!(volume_limits_bytes("Amazon EC2 NVMe Instance Storage"), Some(8192));
        assert_eq!(volume_limits_bytes("nvme_card-pd"), None);
    }

    /// Pseudo-random bytes (Lehmer generator), without another crate.
    fn scattered(seed: u64, count: usize) -> Vec<u8> {
        let mut state = seed * 2 + 1;
        let mut next = || {
            state = state.wrapping_mul(0xda94_2042_e4dd_58b5);
            (state >> 56) as u8
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn any_page_is_read_or_refused() {
        for seed in 0..2000 {
            let mut bytes = scattered(seed, (seed % 300) as usize);
            assert_eq!(parse_volume_limits(&bytes), None, "no magic");
            if let Some(magic) = bytes.get_mut(..4) {
                magic.copy_from_slice(&EBS.to_le_bytes());
            }
            let found = parse_volume_limits(&bytes);
            assert_eq!(found.is_some(), bytes.len() >= READ_BYTES, "{} bytes", bytes.len());
            let since = found.map(|limits| limits.exceeded_since(&limits));
            assert!(since.unwrap_or_default().is_empty());
            // Differences between any two pages are defined and never 0.
            bytes.reverse();
            let start = bytes.len().min(4);
            bytes.splice(..start, EBS.to_le_bytes());
            let other = parse_volume_limits(&bytes);
            let grown = found.zip(other).map(|(a, b)| [a.exceeded_since(&b), b.exceeded_since(&a)]);
            assert!(grown.iter().flatten().flatten().all(|(_, us)| *us > 0));
        }
    }
}
