//! I/O counters of block devices.

use iodyno_model::DiskStats;

use crate::block::SECTOR_BYTES;
use crate::read;
use crate::source::Source;

/// I/O counters of all block devices since boot, in the kernel's order
/// (/proc/diskstats; kernel documentation, admin-guide/iostats). Lines that
/// make no sense are left out; empty where there is no such file.
pub fn disk_stats(source: &dyn Source) -> Vec<DiskStats> {
    read::whole(source, "/proc/diskstats").unwrap_or_default().lines().filter_map(parse).collect()
}

/// `major minor name reads merged sectors ms writes merged sectors ms in-flight busy-ms …`
fn parse(line: &str) -> Option<DiskStats> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let name = read::clean(fields.get(2)?);
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(DiskStats {
        name,
        reads: number(3)?,
        read_bytes: number(5)?.saturating_mul(SECTOR_BYTES),
        writes: number(7)?,
        written_bytes: number(9)?.saturating_mul(SECTOR_BYTES),
        busy_ms: number(12)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_in_bytes() {
        let line = " 259 0 nvme0n1 226188 33231 14387770 823415 35124 53489 12722952 39017 0 36676 864017 9383 39";
        assert_eq!(
            parse(line),
            Some(DiskStats {
                name: "nvme0n1".into(),
                reads: 226_188,
                read_bytes: 14_387_770 * 512,
                writes: 35_124,
                written_bytes: 12_722_952 * 512,
                busy_ms: 36_676,
            })
        );
        assert_eq!(parse("259 0 nvme0n1 1 2 3"), None);
        assert_eq!(parse(""), None);
    }
}
