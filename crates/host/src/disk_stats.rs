//! Reads I/O counters of block devices.

use iodyno_model::DiskStats;

use crate::block::{SECTOR_BYTES, path_of_head};
use crate::read;
use crate::source::Source;

/// Reads I/O counters of all block devices since boot, in the kernel's order (/proc/diskstats;
/// kernel documentation, admin-guide/iostats). Those of a multipath head are at least the sum of
/// its paths': before Linux 6.4 a head counts nothing itself. Invalid lines are skipped; empty
/// without the file.
pub fn disk_stats(source: &dyn Source) -> Vec<DiskStats> {
    let text = read::file(source, "/proc/diskstats").unwrap_or_default();
    let mut all: Vec<DiskStats> = text.lines().filter_map(parse).collect();
    let of_paths: Vec<(String, DiskStats)> =
        all.iter().filter_map(|stats| Some((path_of_head(&stats.name)?, stats.clone()))).collect();
    for head in &mut all {
        let paths = || of_paths.iter().filter(|(name, _)| *name == head.name);
        let sum = |count: fn(&DiskStats) -> u64| {
            paths().map(|(_, path)| count(path)).fold(0, u64::saturating_add).max(count(head))
        };
        *head = DiskStats {
            reads: sum(|of| of.reads),
            read_bytes: sum(|of| of.read_bytes),
            writes: sum(|of| of.writes),
            written_bytes: sum(|of| of.written_bytes),
            // Paths are busy at the same time.
            busy_ms: paths().map(|(_, path)| path.busy_ms).fold(head.busy_ms, u64::max),
            read_merges: sum(|of| of.read_merges),
            write_merges: sum(|of| of.write_merges),
            read_ms: sum(|of| of.read_ms),
            write_ms: sum(|of| of.write_ms),
            in_queue_ms: sum(|of| of.in_queue_ms),
            name: head.name.clone(),
        };
    }
    all
}

/// Parses `major minor name reads merged sectors ms writes merged sectors ms in-flight busy-ms
/// queue-ms …`.
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
        read_merges: number(4)?,
        write_merges: number(8)?,
        read_ms: number(6)?,
        write_ms: number(10)?,
        in_queue_ms: number(13)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> Vec<(String, u64, u64)> {
        let entry = crate::captured::Entry::Text(text.into());
        let source = crate::captured::Captured::new(
            [("/proc/diskstats".to_owned(), entry)].into_iter().collect(),
        );
        let stats = disk_stats(&source);
        stats.into_iter().map(|stats| (stats.name, stats.reads, stats.written_bytes)).collect()
    }

    #[test]
    fn a_multipath_head_has_the_counters_of_its_paths() {
        // Linux 6.1: the head stays at zero. Its neighbour belongs to another drive.
        let text = "259 0 nvme0n1 0 0 0 0 0 0 0 0 0 0 0\n\
                    259 1 nvme0c0n1 100 0 800 5 10 0 16 5 0 7 10\n\
                    259 2 nvme0c1n1 50 0 400 5 30 0 48 5 0 9 10\n\
                    259 3 nvme1n1 3 0 24 5 4 0 8 5 0 7 10\n\
                    259 4 nvme1c4n1 9 0 72 5 1 0 2 5 0 7 10\n\
                    259 5 nvme10n1 1 0 8 5 1 0 8 5 0 7 10\n";
        let found = counted(text);
        let of = |name: &str| found.iter().find(|stats| stats.0 == name).unwrap();
        assert_eq!(*of("nvme0n1"), ("nvme0n1".into(), 150, 64 * 512));
        // The larger value of each: a head that counts, and a path added later.
        assert_eq!(*of("nvme1n1"), ("nvme1n1".into(), 9, 8 * 512));
        assert_eq!(*of("nvme0c1n1"), ("nvme0c1n1".into(), 50, 48 * 512));
        assert_eq!(*of("nvme10n1"), ("nvme10n1".into(), 1, 8 * 512));
    }

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
                read_merges: 33_231,
                write_merges: 53_489,
                read_ms: 823_415,
                write_ms: 39_017,
                in_queue_ms: 864_017,
            })
        );
        assert_eq!(parse("259 0 nvme0n1 1 2 3"), None);
        assert_eq!(parse(""), None);
    }
}
