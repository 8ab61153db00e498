//! Sources of requests, and their buffer.

use iodyno_job::{Operation, Request, Stream};
use iodyno_model::Direction;

use crate::follow_up::FollowUp;
use crate::page_cache::PageCache;
use crate::replay::Replay;
use crate::submission_hooks::VerifyContext;
use crate::verify::{Verdict, VerifyState};

/// Smallest number of requests generated at once: generating them singly would cost as much as the
/// rest of the loop at depth 1.
const AHEAD: usize = 256;

/// Requests in order, some of them generated ahead.
#[derive(Debug)]
pub(crate) struct Requests {
    source: Source,
    /// Invalidated each time the stream restarts its files.
    pub(crate) page_cache: Option<PageCache>,
    /// Smallest number generated at once.
    min_batch: usize,
    ahead: Box<[Request]>,
    /// Bounds of the requests in `ahead` that were not taken yet.
    first: usize,
    end: usize,
}

#[derive(Debug)]
enum Source {
    /// The job's own requests.
    Stream(Box<Stream>),
    /// I/Os that follow the job's own.
    FollowUp(FollowUp),
    /// An iolog or a trace.
    Replay(Box<Replay>),
    /// Verifying reads of what another run wrote.
    VerifyReads(Box<VerifyReads>),
}

/// The reads of a stream, or its writes turned into reads.
#[derive(Debug)]
struct VerifyReads {
    stream: Stream,
    operation: Operation,
    /// Number of the next one.
    number: u64,
    /// Limits the reads to completed writes.
    state: Option<VerifyState>,
    stopped: bool,
}

impl Requests {
    /// The requests of a job.
    pub(crate) fn stream(stream: Stream) -> Self {
        Self::new(Source::Stream(Box::new(stream)))
    }

    /// I/Os that follow the job's own.
    pub(crate) fn follow_up(follow_up: FollowUp) -> Self {
        Self::new(Source::FollowUp(follow_up))
    }

    /// The requests of a stream with `operation`, turned into reads: those that `state` allows.
    pub(crate) fn verify_reads(
        stream: Stream,
        operation: Operation,
        state: Option<VerifyState>,
    ) -> Self {
        let verify_reads = VerifyReads::new(stream, operation, state);
        Self::new(Source::VerifyReads(Box::new(verify_reads)))
    }

    /// As [`Self::verify_reads`], but each block once, in blocks of at most `length` bytes; records in
    /// `verifying` which request wrote it last.
    pub(crate) fn predicted(
        stream: Stream,
        operation: Operation,
        state: Option<VerifyState>,
        verifying: &mut VerifyContext,
        length: u32,
    ) -> Self {
        let mut verify_reads = VerifyReads::new(stream, operation, state);
        let mut next = [Request::default()];
        while verify_reads.fill(&mut next) == 1 {
            let Request { offset, length, file, .. } = next[0];
            if let Some(ledger) = verifying.ledgers.get_mut(usize::from(file)) {
                ledger.record_write(offset, length.into(), verify_reads.number - 1);
            }
        }
        Self::follow_up(verifying.reads(length))
    }

    /// The requests of an iolog or a trace.
    pub(crate) fn replay(replay: Replay) -> Self {
        Self::new(Source::Replay(Box::new(replay)))
    }

    /// The iolog or trace, if this is one.
    pub(crate) const fn replay_mut(&mut self) -> Option<&mut Replay> {
        match &mut self.source {
            Source::Replay(replay) => Some(replay),
            _ => None,
        }
    }

    fn new(source: Source) -> Self {
        Self { source, page_cache: None, min_batch: 1, ahead: Box::default(), first: 0, end: 0 }
    }

    /// Reserves room to take `count` at once. `ahead`: further requests may be generated ahead,
    /// which fixes their direction. The order is kept.
    pub(crate) fn reserve(&mut self, max: usize, ahead: bool) {
        self.min_batch = if ahead { AHEAD } else { 1 };
        let mut room = std::mem::take(&mut self.ahead).into_vec();
        room.resize(room.len().max(max).max(self.min_batch), Request::default());
        self.ahead = room.into();
    }

    /// The next `count` requests; fewer at the end, or beyond the [room](Self::reserve).
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> &[Request] {
        if self.end - self.first < count {
            self.make_more(count);
        }
        let first = self.first;
        self.first = self.end.min(first + count);
        &self.ahead[first..self.first]
    }

    /// True if these I/Os follow the job's own.
    pub(crate) const fn is_follow_up(&self) -> bool {
        matches!(self.source, Source::FollowUp(_))
    }

    /// [`Stream::next_with`]; `None` if requests were generated ahead, or there is no stream.
    pub(crate) fn next_with(&mut self, instead: (Direction, Direction)) -> Option<Option<Request>> {
        match &mut self.source {
            Source::Stream(stream) if self.first == self.end => {
                let request = stream.next_with(instead);
                drop_pages_on_restart(&mut self.page_cache, stream);
                Some(request)
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn make_more(&mut self, count: usize) {
        self.ahead.copy_within(self.first..self.end, 0);
        let kept = self.end - self.first;
        let until = self.ahead.len().min(count.max(self.min_batch));
        let empty = &mut self.ahead[kept..until];
        let count = match &mut self.source {
            Source::Stream(stream) => {
                // The page cache is dropped at the start of a pass, not long before.
                let least = if self.page_cache.is_some() { count - kept } else { empty.len() };
                let count = stream.fill_within_pass(empty, least);
                drop_pages_on_restart(&mut self.page_cache, stream);
                count
            }
            Source::FollowUp(follow_up) => follow_up.fill(empty),
            Source::Replay(replay) => replay.fill(empty),
            Source::VerifyReads(verify_reads) => verify_reads.fill(empty),
        };
        (self.first, self.end) = (0, kept + count);
    }
}

fn drop_pages_on_restart(page_cache: &mut Option<PageCache>, stream: &Stream) {
    if let Some(page_cache) = page_cache {
        page_cache.drop_on_restart(stream.restarts());
    }
}

impl VerifyReads {
    const fn new(stream: Stream, operation: Operation, state: Option<VerifyState>) -> Self {
        Self { stream, operation, number: 0, state, stopped: false }
    }

    /// Fills `requests`; returns fewer at the end.
    fn fill(&mut self, requests: &mut [Request]) -> usize {
        let mut kept = 0;
        while kept < requests.len() && !self.stopped {
            let start = kept;
            let count = self.stream.fill(&mut requests[start..]);
            self.stopped = count == 0;
            for at in start..start + count {
                if requests[at].operation != self.operation || self.stopped {
                    continue;
                }
                let state = self.state.as_ref();
                match state.map_or(Verdict::Verify, |state| state.verdict(self.number)) {
                    Verdict::Verify => {
                        requests[kept] = Request { operation: Operation::Read, ..requests[at] };
                        kept += 1;
                    }
                    Verdict::Skip => {}
                    Verdict::Stop => self.stopped = true,
                }
                self.number += 1;
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use iodyno_job::{Job, Room};

    use super::*;

    #[test]
    fn a_state_skips_failed_writes_and_ends_at_unknown_ones() {
        let job = Job::default();
        let rooms = [Room { size_bytes: 1000 * 4096, block_bytes: 512 }];
        let stream = Stream::new(&job, &rooms, 0, 0).unwrap();
        let state = VerifyState::new(500, vec![400], (100..300).collect());
        let mut requests = Requests::verify_reads(stream, Operation::Read, Some(state));
        requests.reserve(64, true);
        let mut taken = Vec::new();
        loop {
            let some = requests.take(64);
            taken.extend(some.iter().map(|request| request.offset / 4096));
            if some.len() < 64 {
                break;
            }
        }
        assert_eq!(taken, (0..100).chain(300..400).collect::<Vec<_>>());
        assert!(requests.take(1).is_empty());
    }

    #[test]
    fn no_request_is_lost_for_any_batch_size() {
        let job = Job::default();
        let rooms = [Room { size_bytes: 1000 * 4096, block_bytes: 512 }];
        for sizes in [[1, 1, 1], [7, 32, 3], [50, 1, 64]] {
            let mut requests = Requests::stream(Stream::new(&job, &rooms, 0, 0).unwrap());
            requests.reserve(64, true);
            let mut taken = Vec::new();
            for count in sizes.into_iter().cycle() {
                let some = requests.take(count);
                taken.extend_from_slice(some);
                if some.len() < count {
                    break;
                }
                // More room keeps the order.
                requests.reserve(64 + taken.len() % 3, !taken.len().is_multiple_of(5));
            }
            assert!(taken.iter().enumerate().all(|(n, request)| request.offset == 4096 * n as u64));
            assert_eq!(taken.len(), 1000);
        }
    }
}
