//! Decides when the work of a job is done: fio's `io_bytes_exceeded`, `do_io` and `keep_running`
//! (backend.c).
//!
//! A job goes through its files in rounds (`loops`, and more if `io_size` is larger than `size`). A
//! round ends when all files are done or, with queued I/O, after `size` bytes; the job ends after
//! `io_size` (or `size`) times `loops`, or after `number_ios`.

use crate::Operation;

/// The limits of a job's work, and the work done so far.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    pub(super) time_based: bool,
    /// Rounds end although the job is `time_based`: each is the same as the first.
    pub(super) repeats: bool,
    /// `io_size` is given: the end of all files does not end the job.
    pub(super) io_size_given: bool,
    /// Trims do not count towards the job's bytes.
    pub(super) trims_are_extra: bool,
    /// Bytes of the job.
    pub(super) job_limit: u64,
    /// Bytes of one round.
    pub(super) round_limit: u64,
    /// Another round starts while fewer bytes were issued.
    pub(super) restart_limit: u64,
    /// Requests of the job.
    pub(super) ios_limit: u64,
    /// Further rounds to start.
    pub(super) loops: u64,
    /// Largest block: no round starts for less than this, bytes.
    pub(super) largest: u64,
    /// Bytes of the job so far, without extra trims.
    pub(super) counted: u64,
    /// Bytes of the job so far.
    pub(super) issued: u64,
    /// Bytes of the round so far.
    pub(super) round: u64,
    /// Requests of the job so far.
    pub(super) ios: u64,
}

impl Budget {
    /// True if the round continues.
    #[inline]
    pub(super) const fn round_continues(&self) -> bool {
        if self.time_based {
            return !self.repeats || self.round < self.round_limit;
        }
        self.counted < self.job_limit && self.round < self.round_limit && self.ios < self.ios_limit
    }

    /// Requests of `bs` bytes until the round or the job ends.
    pub(super) const fn requests_left(&self, bs: u64) -> u64 {
        if self.time_based && !self.repeats {
            return u64::MAX;
        }
        let job = self.job_limit.saturating_sub(self.counted).div_ceil(bs);
        let round = self.round_limit.saturating_sub(self.round).div_ceil(bs);
        let ios = self.ios_limit.saturating_sub(self.ios);
        if self.time_based {
            return round;
        }
        let least = if job < round { job } else { round };
        if least < ios { least } else { ios }
    }

    /// Counts `ios` requests of `bytes` in total.
    #[inline]
    pub(super) const fn count(&mut self, operation: Operation, ios: u64, bytes: u64) {
        if !(self.trims_are_extra && matches!(operation, Operation::Trim)) {
            self.counted += bytes;
        }
        self.issued += bytes;
        self.round += bytes;
        self.ios += ios;
    }

    /// Ends a round, and returns whether another one starts; `files_done`: all files are done.
    pub(super) const fn start_round(&mut self, files_done: bool) -> bool {
        if self.round == 0 {
            return false;
        }
        self.round = 0;
        if self.time_based {
            return true;
        }
        if self.loops > 0 {
            self.loops -= 1;
            return true;
        }
        self.ios < self.ios_limit
            && self.restart_limit != u64::MAX
            && self.issued < self.restart_limit
            && self.restart_limit - self.issued >= self.largest
            && (self.io_size_given || !files_done)
    }
}
