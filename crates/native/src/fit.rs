//! Whether a job fits its target and the machine.

use iodyno_job::{Extent, Job, Offsets, Pattern};

/// The largest block, bytes. The kernel moves up to 2 GiB less a page at once.
const LARGEST_BLOCK: u64 = 1 << 30;
/// Slots are numbered by 16 bits, and a ring has no more entries.
const DEEPEST: u32 = 1 << 15;

/// What a job is to fit into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) size_bytes: u64,
    pub(crate) block_bytes: u32,
    /// The target bypasses the page cache.
    pub(crate) direct: bool,
}

/// A job's numbers, in the range that the generator works with.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    pub(crate) length: u32,
    pub(crate) depth: u16,
    /// For each thread.
    pub(crate) orders: Vec<Offsets>,
    /// Where the first extent starts, bytes.
    pub(crate) first_offset: u64,
    pub(crate) shortfalls: Vec<String>,
}

/// Fits `job` into `room`.
///
/// # Errors
/// A sentence that says what does not fit, and what would.
pub(crate) fn fit(job: &Job, room: &Room) -> Result<Fit, String> {
    let block = u64::from(room.block_bytes);
    match job.rw {
        Pattern::Read | Pattern::RandRead => {}
        Pattern::Write | Pattern::RandWrite => {
            let rw = job.rw.name();
            return Err(format!("rw={rw} needs a write clearance, which there is not yet"));
        }
    }
    if job.bs == 0 || !job.bs.is_multiple_of(block) || job.bs > LARGEST_BLOCK {
        return Err(format!(
            "bs={} does not fit: the target takes multiples of {block} bytes up to 1 GiB",
            job.bs
        ));
    }
    if job.numjobs == 0 || !(1..=DEEPEST).contains(&job.iodepth) {
        return Err(format!(
            "iodepth={} of numjobs={} does not fit: iodepth is 1 to {DEEPEST}, numjobs at least 1",
            job.iodepth, job.numjobs
        ));
    }
    let mut shortfalls = Vec::new();
    match (job.direct, room.direct) {
        (false, true) => {
            return Err("direct=0 does not fit: the target was opened past the page cache; \
                        use direct=1"
                .into());
        }
        (true, false) => shortfalls
            .push("the target takes no O_DIRECT: reads may come from the page cache".into()),
        _ => {}
    }
    let whole = [Extent { offset: 0, length: room.size_bytes }];
    let extents = if job.extents.is_empty() { &whole[..] } else { &job.extents };
    for Extent { offset, length } in extents {
        let end = offset.checked_add(*length);
        if !offset.is_multiple_of(block) || end.is_none_or(|end| end > room.size_bytes) {
            return Err(format!(
                "an extent of {length} bytes at {offset} does not fit: extents start at a \
                 multiple of {block} and end within {} bytes",
                room.size_bytes
            ));
        }
    }
    let order = |thread| {
        let random = job.rw.is_random();
        Offsets::new(random, job.bs, extents, job.randseed, thread, job.numjobs).ok_or_else(|| {
            let blocks: u64 = extents.iter().map(|extent| extent.length / job.bs).sum();
            format!(
                "numjobs={} does not fit: there are {blocks} blocks of bs={} bytes, and each \
                 thread needs one",
                job.numjobs, job.bs
            )
        })
    };
    Ok(Fit {
        length: job.bs as u32,
        depth: job.iodepth as u16,
        orders: (0..job.numjobs).map(order).collect::<Result<_, _>>()?,
        first_offset: extents
            .iter()
            .find(|extent| extent.length >= block)
            .map_or(0, |extent| extent.offset),
        shortfalls,
    })
}

/// Whether buffers for all of `jobs` fit into half of `memory_bytes`. Linux
/// would promise far more, and kill somebody when it is touched.
///
/// # Errors
/// A sentence that says what does not fit, and what would.
pub(crate) fn fit_memory<'a>(
    jobs: impl IntoIterator<Item = &'a Job>,
    memory_bytes: u64,
) -> Result<(), String> {
    let page = rustix::param::page_size() as u64;
    let needed = jobs.into_iter().fold(0_u64, |sum, job| {
        let stride = job.bs.checked_next_multiple_of(page).unwrap_or(u64::MAX);
        sum.saturating_add(stride.saturating_mul(job.outstanding().into()))
    });
    if needed <= memory_bytes / 2 {
        return Ok(());
    }
    Err(format!(
        "bs x iodepth x numjobs does not fit: buffers of {needed} bytes, and the machine has \
         {memory_bytes}; half of that would fit"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { size_bytes: 1 << 20, block_bytes: 4096, direct: true };

    #[test]
    fn what_does_not_fit_is_said() {
        type Change = fn(&mut Job);
        let cases: [(Change, &str); 9] = [
            (|job| job.rw = Pattern::RandWrite, "write clearance"),
            (|job| job.bs = 512, "multiples of 4096"),
            (|job| job.bs = 1 << 31, "1 GiB"),
            (|job| job.iodepth = 0, "iodepth"),
            (|job| job.iodepth = 40_000, "iodepth"),
            (|job| job.direct = false, "direct=1"),
            (|job| job.numjobs = 257, "256 blocks"),
            (|job| job.extents = vec![Extent { offset: 100, length: 4096 }], "multiple of 4096"),
            (|job| job.extents = vec![Extent { offset: 4096, length: u64::MAX }], "within 1048576"),
        ];
        for (change, expected) in cases {
            let mut job = Job::default();
            change(&mut job);
            let said = fit(&job, &ROOM).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn what_fits_fits() {
        let job = Job { numjobs: 256, bs: 4096, iodepth: 32_768, ..Job::default() };
        let fit = fit(&job, &ROOM).unwrap();
        assert_eq!((fit.orders.len(), fit.depth), (256, 32_768));
        assert!(fit_memory([&job], 1 << 40).is_ok());
        assert!(fit_memory([&job, &job], 64 << 30).unwrap_err().contains("half"));
    }
}
