//! Invalidates the page cache of a job's files when fio does.

use std::os::fd::OwnedFd;

use rustix::fs::{Advice, fadvise, fsync};
use rustix::io::Errno;

/// The files of a buffered job with `invalidate`. Their pages are dropped each time the job
/// restarts its files (fio's `loop_cache_invalidate`) and before verification (`do_verify`):
/// otherwise every pass but the first measures memory.
#[derive(Debug)]
pub(crate) struct PageCache {
    files: Vec<OwnedFd>,
    /// [`Stream::restarts`](iodyno_job::Stream::restarts) at the last drop.
    restarts: u64,
}

impl PageCache {
    /// Tracks these files, whose pages were just dropped.
    pub(crate) const fn new(files: Vec<OwnedFd>) -> Self {
        Self { files, restarts: 0 }
    }

    /// Drops the pages if the files were restarted since.
    pub(crate) fn drop_on_restart(&mut self, restarts: u64) {
        if restarts != self.restarts {
            self.restarts = restarts;
            self.drop_clean();
        }
    }

    /// Drops the clean pages.
    pub(crate) fn drop_clean(&self) {
        self.files.iter().for_each(drop_pages);
    }

    /// Writes back dirty pages and drops all pages.
    ///
    /// # Errors
    /// The first file whose fsync fails: its pages may be clean and lost, so that reading them back
    /// would verify memory.
    pub(crate) fn write_back_and_drop(&self) -> Result<(), (u16, Errno)> {
        for (file, number) in self.files.iter().zip(0..) {
            fsync(file).map_err(|errno| (number, errno))?;
            drop_pages(file);
        }
        Ok(())
    }
}

/// Drops the clean pages of `file`; as in fio, a refusal is no error.
pub(crate) fn drop_pages(file: &OwnedFd) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use iodyno_job::{Job, Pattern, Room, Stream};

    use super::*;
    use crate::requests::Requests;
    use crate::testing::{BLOCK, NumberedFile, pages_in_memory};

    const BLOCKS: usize = 8;

    #[test]
    fn a_file_that_cannot_be_written_back_is_the_one_that_failed() {
        let numbered = NumberedFile::new(1);
        // Devices of this kind cannot be synced.
        let files = [numbered.path.as_path(), "/dev/null".as_ref(), "/dev/null".as_ref()];
        let files = files.map(|path| File::open(path).unwrap().into());
        let refused = PageCache::new(files.into()).write_back_and_drop();
        assert_eq!(refused, Err((1, Errno::INVAL)));
    }

    #[test]
    fn every_pass_begins_with_an_empty_page_cache() {
        let numbered = NumberedFile::new(BLOCKS as u64);
        let file = File::open(&numbered.path).unwrap();
        let read = || file.read_exact_at(&mut [0; BLOCKS * BLOCK as usize], 0).unwrap();
        for (rw, time_based, loops) in [
            (Pattern::Read, true, 1),
            (Pattern::Read, false, 3),
            (Pattern::RandRead, true, 1),
            (Pattern::RandRead, false, 3),
        ] {
            let mut job = Job::default();
            (job.pattern.rw, job.time.time_based, job.space.loops) = (rw, time_based, loops);
            let room = Room { size_bytes: BLOCKS as u64 * BLOCK, block_bytes: 1 };
            let mut requests = Requests::stream(Stream::new(&job, &[room], 0, 0).unwrap());
            requests.page_cache = Some(PageCache::new(vec![file.try_clone().unwrap().into()]));
            requests.reserve(BLOCKS, true);
            read();
            for pass in 0..3 {
                for take in 0..BLOCKS {
                    assert_eq!(requests.take(1).len(), 1);
                    // Emptied by the first request of each pass except the first.
                    let emptied = pass > 0 && take == 0;
                    let left = if emptied { 0 } else { BLOCKS };
                    assert_eq!(pages_in_memory(&numbered.path), left, "{rw:?} {pass} {take}");
                    read();
                }
            }
        }
    }
}
