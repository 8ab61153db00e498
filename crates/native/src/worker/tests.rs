//! The passes of a thread on a device that records its operations.

use std::time::Duration;

use iodyno_job::{Region, Request, Room};

use super::*;
use crate::buffers::Buffers;
use crate::engines::{Completion, IoUnit};
use crate::tally::{Counts, Tally, TallyReader};
use crate::verify::{Ledger, Verifier};

const BLOCK: u32 = 4096;
const BLOCKS: u64 = 8;
const BYTES: u64 = BLOCKS * BLOCK as u64;
const DEPTH: u16 = 4;

/// A device with instant writes and slow other operations.
struct Recorded {
    seen: Vec<Operation>,
    in_flight: Vec<IoUnit>,
    slow: Duration,
    buffers: Buffers,
}

impl Engine for Recorded {
    const NAME: &'static str = "recorded";

    fn open(_: Setup) -> Result<Opened<Self>, SetupError> {
        unreachable!("it is made as it is")
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.in_flight.extend(batch);
    }

    fn enter(&mut self, _: u32) -> io::Result<()> {
        if self.in_flight.iter().any(|unit| unit.operation != Operation::Write) {
            std::thread::sleep(self.slow);
        }
        Ok(())
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.seen.extend(self.in_flight.iter().map(|unit| unit.operation));
        let done = |unit: IoUnit| Completion { slot: unit.slot, result: unit.length.into() };
        self.in_flight.drain(..).map(done)
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

/// Runs a job that writes and verifies. Returns its operations, the latencies of its writes, and
/// when the next write would be due.
fn run_staged(options: &str, slow: Duration) -> (Vec<Operation>, Counts, u64) {
    let mut job = Job::default();
    for option in format!("rw=write bs=4k verify=crc32c {options}").split_whitespace() {
        let (name, value) = option.split_once('=').unwrap();
        iodyno_job::apply(&mut job, name, value).unwrap();
    }
    let mut per_loop = job.clone();
    per_loop.space.loops = 1;
    let stream = Stream::new(&per_loop, &[Room { size_bytes: BYTES, block_bytes: 512 }], 0, 0);
    let stream = stream.unwrap();
    let (control, writes, others) = (JobControl::default(), Tally::default(), Tally::default());
    control.start();
    let region = Region { file: 0, offset: 0, length: BYTES };
    let bounds = Bounds::new(&[region], std::iter::once(BYTES), BLOCK);
    let pacer = Pacer::new(&job.pace, Clock::get(), 1);
    let issuer = Issuer::new(&job, DEPTH, Requests::stream(stream.clone()), pacer);
    let buffers = Buffers::new(DEPTH.into(), BLOCK).unwrap();
    let engine = Recorded { seen: Vec::new(), in_flight: Vec::new(), slow, buffers };
    let tallies = [&others, &writes, &others, &others, &others];
    let mut io_loop = IoLoop::new(engine, issuer, SlotTable::new(DEPTH), bounds, tallies, &control);
    let sizes = &job.pattern.bs.write;
    let verifying = VerifyContext {
        verifier: Verifier::new(&job.verify, &job.contents, sizes, 0, 1, 0).unwrap(),
        ledgers: vec![Ledger::new(0, BLOCK.into(), BLOCKS, 1 << 20).unwrap()],
        dumps: None,
        backlog: (job.verify.backlog > 0).then(Vec::new),
        trims: Trims::new(&job, 1),
        trimmed_are_zeros: true,
        write_tracker: None,
        pretended: true,
    };
    io_loop.submission_hooks =
        Some(SubmissionHooks { filler: None, verifying: Some(verifying), number: 0 });
    let tallies = Arc::new(Tallies::new(|_| true, true));
    io_loop.completion_hooks = CompletionHooks::new(&job, DEPTH, true, true, &tallies, None, None);
    let ending = run_passes(&mut io_loop, &job, &stream, BLOCK, &mut None).unwrap();
    assert_eq!(ending, Ending::Done, "{options}");
    let mut counts = Counts::default();
    TallyReader::default().read_into(&writes, &mut counts);
    let next = Request { operation: Operation::Write, ..Request::default() };
    let due = io_loop.issuer.pacer.as_ref().map_or(0, |pacer| pacer.due(&next));
    (io_loop.engine.seen, counts, due)
}

#[test]
fn the_final_sync_precedes_verification() {
    use Operation::{Read, Sync, Write};
    for (options, loops) in [("end_fsync=1", 1), ("fsync_on_close=1 loops=3", 3)] {
        let (seen, ..) = run_staged(options, Duration::ZERO);
        let turn = [[Write; BLOCKS as usize].as_slice(), &[Sync], &[Read; BLOCKS as usize]];
        assert_eq!(seen, turn.concat().repeat(loops), "{options}");
    }
    let (seen, ..) = run_staged("end_fsync=1 verify_backlog=6", Duration::ZERO);
    let turns = [[Write; 6].as_slice(), &[Read; 6], &[Write; 2], &[Sync], &[Read; 2]];
    assert_eq!(seen, turns.concat());
}

#[test]
fn verification_delays_no_write() {
    let slow = Duration::from_millis(150);
    for options in [
        "loops=2",
        "loops=2 end_fsync=1",
        "verify_backlog=4",
        "trim_percentage=100 trim_backlog=2 do_verify=0",
    ] {
        let (_, writes, _) = run_staged(&format!("rate_iops=1000 {options}"), slow);
        let latest_ns = writes.latency.max_ns().unwrap();
        assert!(latest_ns < 100_000_000, "{options}: {latest_ns}");
    }
}

#[test]
fn verifying_reads_do_not_count_for_thinktime() {
    let think = "thinktime=1h thinktime_blocks=9 thinktime_blocks_type=complete";
    let (seen, _, due) = run_staged(think, Duration::ZERO);
    assert_eq!(seen.len() as u64, 2 * BLOCKS);
    assert!(due <= Clock::get().now(), "it pauses after eight writes");
}
