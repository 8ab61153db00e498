//! Parses `Disk stats (read/write):` and the rows below it.

use iodyno_model::DiskUse;

use super::scan::{after, numbers, up_to};
use crate::read::printed_number::share;

/// Parses the disks of `Disk
/// stats(read/write):vda:ios=600/1,merge=0/0,ticks=9/0,in_queue=9,util=97.07%`, with all rows
/// joined. Truncated rows are dropped.
pub(super) fn disks(text: &str, elapsed_ns: u64) -> Vec<DiskUse> {
    const MARK: &str = ":ios=";
    let starts: Vec<usize> = text.match_indices(MARK).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let row = |(at, end): (&usize, usize)| {
        let name = text[..*at].rsplit([' ', ':', '%', '\n']).next()?;
        disk(name, &text[*at + 1..end], elapsed_ns)
    };
    starts.iter().zip(ends).filter_map(row).collect()
}

fn disk(name: &str, row: &str, elapsed_ns: u64) -> Option<DiskUse> {
    let pair = |key| {
        let figures = numbers(up_to(after(row, key)?, |c| c == ',')?);
        Some((*figures.first()?, *figures.get(1)?))
    };
    let (read_ios, write_ios) = pair("ios=")?;
    // Since 3.36.
    let (read_sectors, write_sectors) = pair("sectors=").unwrap_or_default();
    let (read_merges, write_merges) = pair("merge=")?;
    let (read_ticks_ms, write_ticks_ms) = pair("ticks=")?;
    let in_queue_ms = *numbers(up_to(after(row, "in_queue=")?, |c| c == ',')?).first()?;
    let util = share(up_to(after(row, "util=")?, |c| c == '%')?)?.value;
    // fio prints the ratio; without a run time it is stored as if of 1 s.
    let elapsed_ns = if elapsed_ns == 0 { 1_000_000_000 } else { elapsed_ns };
    Some(DiskUse {
        name: name.to_owned(),
        read_ios,
        write_ios,
        read_sectors,
        write_sectors,
        read_merges,
        write_merges,
        read_ticks_ms,
        write_ticks_ms,
        in_queue_ms,
        busy_ns: (util * elapsed_ns as f64).round() as u64,
        elapsed_ns,
        members: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::normal::statements;

    #[test]
    fn rows_of_disks() {
        let text = "Disk stats (read/write):\n    \
                    dm-0: ios=5/6, merge=0/0, ticks=7/8, in_queue=15, util=97.07%, aggrios=1/2, \
                    aggrmerge=3/4, aggrticks=5/6, aggrin_queue=11, aggrutil=50.00%\n  \
                    nvme0n1: ios=600/1, sectors=4800/8, merge=2/3, ticks=9/10, in_queue=19, \
                    util=0.50%\n  sda: ios=1/2, merge=0/0, ticks=7";
        let found = disks(&statements(text).remove(0).text, 2_000_000_000);
        let [dm, nvme] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&*dm.name, dm.read_ios, dm.write_ticks_ms), ("dm-0", 5, 8));
        assert!((dm.util_percent() - 97.07).abs() < 1e-6);
        assert_eq!((&*nvme.name, nvme.read_sectors, nvme.write_merges), ("nvme0n1", 4800, 3));
        assert_eq!((nvme.in_queue_ms, nvme.busy_ns), (19, 10_000_000));
    }
}
