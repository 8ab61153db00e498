//! Limits of the generator and of the machine's memory.

use iodyno_job::{DEEPEST, Job};
use iodyno_model::Bytes;
use iodyno_target::Access;

/// Largest block, bytes. The kernel transfers up to 2 GiB less a page at once.
const MAX_BLOCK_BYTES: u64 = 1 << 30;
/// Most threads of all jobs: each takes four of the 65,530 mappings that a process may have
/// (vm.max_map_count), and Rust ends the process that lacks one.
const MAX_THREADS: u32 = 8192;
// Slot numbers have 16 bits.
const _: () = assert!(DEEPEST <= u16::MAX as u32);

/// Checks that the generator can run the job on `files`.
///
/// # Errors
/// A message with the offending value and the permitted range.
pub(crate) fn check_job(job: &Job, files: &[Access<'_>]) -> Result<(), String> {
    check_numbers(job, files.len())?;
    if job.writes() && files.iter().any(|file| file.write().is_none()) {
        let rw = job.pattern.rw.name();
        return Err(format!("rw={rw} needs a write clearance of every target"));
    }
    Ok(())
}

/// Checks the job's numbers against the generator's limits.
///
/// # Errors
/// A message with the offending value and the permitted range.
pub(crate) fn check_numbers(job: &Job, files: usize) -> Result<(), String> {
    let largest = job.largest_buffer();
    if largest == 0 || largest > MAX_BLOCK_BYTES || job.largest_block() > u32::MAX.into() {
        let largest = job.largest_block();
        return Err(format!("bs={largest} does not fit: blocks are 1 byte to 1 GiB"));
    }
    if job.threads.shared_by == 0 || !(1..=DEEPEST).contains(&job.depth.iodepth) {
        let depth = job.depth.iodepth;
        return Err(format!("iodepth={depth} does not fit: iodepth is 1 to {DEEPEST}"));
    }
    if files > usize::from(u16::MAX) {
        return Err(format!("{files} files do not fit: a job has up to 65535"));
    }
    Ok(())
}

/// Checks the number of threads of all `jobs`.
///
/// # Errors
/// A message with the number and the limit.
pub(crate) fn check_threads<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Result<(), String> {
    let of = |job: &Job| if job.depth.offload { job.outstanding() } else { job.threads.shared_by };
    let threads = jobs.into_iter().map(of).fold(0, u32::saturating_add);
    if threads <= MAX_THREADS {
        return Ok(());
    }
    Err(format!(
        "{threads} threads do not fit: numjobs, times iodepth with io_submit_mode=offload, is up to \
         {MAX_THREADS}"
    ))
}

/// Checks that the buffers of all `jobs` fit into half of `memory_bytes`. Linux would overcommit
/// far more, and its OOM killer would strike once they are touched.
///
/// # Errors
/// A message with the required and the available size.
pub(crate) fn check_memory<'a>(
    jobs: impl IntoIterator<Item = &'a Job>,
    memory_bytes: u64,
) -> Result<(), String> {
    let page = rustix::param::page_size() as u64;
    let needed = jobs.into_iter().fold(0_u64, |sum, job| {
        let stride = job.largest_buffer().checked_next_multiple_of(page).unwrap_or(u64::MAX);
        sum.saturating_add(stride.saturating_mul(job.outstanding().into()))
    });
    if needed <= memory_bytes / 2 {
        return Ok(());
    }
    Err(format!(
        "bs x iodepth x numjobs does not fit: buffers of {}, and the machine has {}; half of that \
         would fit",
        Bytes(needed).binary(),
        Bytes(memory_bytes).binary()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_for_each_io_that_they_submit() {
        let mut job = Job::direct();
        job.depth.iodepth = 4096;
        assert!(check_threads([&job, &job, &job]).is_ok());
        job.depth.offload = true;
        assert!(check_threads([&job, &job]).is_ok());
        assert!(check_threads([&job, &job, &job]).unwrap_err().contains("12288 threads"));
    }

    #[test]
    fn buffers_fit_into_half_of_the_memory() {
        let mut job = Job::direct();
        job.depth.iodepth = 32_768;
        job.threads.shared_by = 256;
        assert!(check_memory([&job], 1 << 40).is_ok());
        assert!(check_memory([&job, &job], 64 << 30).unwrap_err().contains("half"));
    }
}
