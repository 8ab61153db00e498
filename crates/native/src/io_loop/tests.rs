//! The loop around every engine, and around devices that misbehave.

mod waits;

use std::collections::BTreeMap;

use iodyno_job::{Job, Pattern, Region, Room, Stream};

use super::*;
use crate::buffers::Buffers;
use crate::engines::{
    IoUnit, Libaio, Mmap, Opened, Posixaio, Psync, Pvsync2, Setup, SetupError, Sync, Uring,
};
use crate::pace::Pacer;
use crate::requests::Requests;
use crate::tally::{Counts, TallyReader};
use crate::testing::{BLOCK, NumberedFile, allocations};

const BLOCKS: u64 = 500;
const LENGTH: u32 = BLOCK as u32;

/// Calls a function that is generic in the engine for each that needs no NVMe drive.
macro_rules! each_engine {
    ($test:ident $arguments:tt) => {
        $test::<Uring> $arguments;
        $test::<Libaio> $arguments;
        $test::<Psync> $arguments;
        $test::<Pvsync2> $arguments;
        $test::<Sync> $arguments;
        $test::<Mmap> $arguments;
    };
}

/// A job that reads until it is stopped.
fn reads(rw: Pattern, depth: u16) -> Job {
    let mut job = Job::direct();
    job.pattern.rw = rw;
    job.depth.iodepth = depth.into();
    job
}

fn issuer(job: &Job, depth: u16) -> Issuer {
    let rooms = [Room { size_bytes: BLOCKS * BLOCK, block_bytes: 512 }];
    let requests = Requests::stream(Stream::new(job, &rooms, 0, 0).unwrap());
    Issuer::new(job, depth, requests, Pacer::new(&job.pace, Clock::get(), 1))
}

/// The bounds of the first `blocks` of the file.
fn bounds(blocks: u64) -> Bounds {
    let regions = [Region { file: 0, offset: 0, length: blocks * BLOCK }];
    Bounds::new(&regions, std::iter::once(BLOCKS * BLOCK), 4 * LENGTH)
}

fn io_loop<'a, E: Engine>(
    engine: E,
    job: &Job,
    depth: u16,
    both: &'a (JobControl, Tally),
) -> IoLoop<'a, E> {
    let (control, tally) = both;
    control.start();
    let bounds = bounds(BLOCKS);
    let issuer = issuer(job, depth);
    let mut io_loop =
        IoLoop::new(engine, issuer, SlotTable::new(depth), bounds, [tally; 5], control);
    io_loop.policy.errors = job.errors.clone();
    io_loop
}

fn counted(tally: &Tally) -> Counts {
    let mut counts = Counts::default();
    TallyReader::default().read_into(tally, &mut counts);
    counts
}

/// Wraps an engine and records what is in flight, what was read and how often the kernel was
/// entered; stops the job after some completions.
struct Watched<'a, E> {
    engine: E,
    control: &'a JobControl,
    stop_after: u64,
    in_flight: BTreeMap<u16, u64>,
    deepest: usize,
    enters: u64,
    /// Most completions that were waited for at once, with a timeout.
    most_waited: u32,
    /// By block: number of reads with the right data.
    right: Vec<u64>,
    done: u64,
}

impl<'a, E: Engine> Watched<'a, E> {
    fn new(engine: E, control: &'a JobControl, stop_after: u64) -> Self {
        let right = vec![0; BLOCKS as usize];
        let in_flight = BTreeMap::new();
        let (deepest, enters, most_waited, done) = (0, 0, 0, 0);
        Self { engine, control, stop_after, in_flight, deepest, enters, most_waited, right, done }
    }
}

impl<E: Engine> Engine for Watched<'_, E> {
    const NAME: &'static str = E::NAME;

    fn open(_: Setup) -> Result<Opened<Self>, SetupError> {
        unreachable!("it is made around another")
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.engine.buffers()
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        for descriptor in batch.clone() {
            let taken = self.in_flight.insert(descriptor.slot, descriptor.offset);
            assert_eq!(taken, None, "slot {} is in flight", descriptor.slot);
        }
        self.deepest = self.deepest.max(self.in_flight.len());
        self.engine.queue(batch);
    }

    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.enters += 1;
        self.engine.enter(wait)
    }

    fn enter_within(&mut self, wait: u32, timeout: Duration) -> io::Result<()> {
        self.most_waited = self.most_waited.max(wait);
        self.engine.enter_within(wait, timeout)
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let all: Vec<_> = self.engine.completions().collect();
        for completion in &all {
            let offset = self.in_flight.remove(&completion.slot).expect("it was in flight");
            if completion.result == BLOCK as i64 {
                let data = self.engine.buffers().slot(completion.slot, LENGTH);
                let number = u64::from_le_bytes(data[..8].try_into().unwrap());
                assert_eq!(number * BLOCK, offset, "the data of another block");
                assert!(data[8..].iter().all(|byte| *byte == !number as u8));
                self.right[number as usize] += 1;
            }
        }
        self.done += all.len() as u64;
        if self.done >= self.stop_after {
            self.control.stop_issuing();
        }
        all.into_iter()
    }
}

fn reads_at_depth<E: Engine>(depth: u16, rw: Pattern) {
    // A fast disk may complete a batch before the next one is submitted.
    let is_reached = (0..5).any(|_| reaches_its_depth::<E>(depth, rw));
    assert!(is_reached, "{}: {depth} outstanding", E::NAME);
}

/// Reads a file three times. Returns whether the engine's depth was reached.
fn reaches_its_depth<E: Engine>(depth: u16, rw: Pattern) -> bool {
    let file = NumberedFile::new(BLOCKS);
    let Opened { engine, depth, .. } =
        E::open(Setup::read_only(vec![file.open()], depth, LENGTH)).unwrap();
    let both = <(JobControl, Tally)>::default();
    let watched = Watched::new(engine, &both.0, 3 * BLOCKS);
    let mut io_loop = io_loop(watched, &reads(rw, depth), depth, &both);
    assert_eq!(io_loop.run().unwrap(), Ending::Done);
    assert_eq!(io_loop.slots.count(), 0);
    let watched = io_loop.engine;
    assert!(watched.in_flight.is_empty());
    assert!(watched.deepest <= usize::from(depth), "{} of {depth}", watched.deepest);
    assert!(watched.right.iter().all(|times| *times >= 2), "three rounds see every block");
    assert_eq!(watched.right.iter().sum::<u64>(), watched.done);
    let counts = counted(&both.1);
    assert_eq!((counts.latency.count(), counts.errors), (watched.done, 0));
    assert_eq!(counts.bytes, watched.done * BLOCK);
    assert!(counts.latency.min_ns().unwrap() > 0);
    if depth == 1 {
        // The kernel may, rarely, return early.
        let more = watched.enters - watched.done;
        assert!(more <= watched.done / 100, "one system call for each read, and {more} more");
    }
    watched.deepest == usize::from(depth)
}

#[test]
fn data_is_read_at_the_requested_depth() {
    each_engine!(reads_at_depth(1, Pattern::RandRead));
    each_engine!(reads_at_depth(7, Pattern::Read));
    each_engine!(reads_at_depth(100, Pattern::RandRead));
}

/// Stops the job after some completions.
struct Limited<'a, E> {
    engine: E,
    control: &'a JobControl,
    left: u32,
}

impl<E: Engine> Engine for Limited<'_, E> {
    const NAME: &'static str = E::NAME;

    fn open(_: Setup) -> Result<Opened<Self>, SetupError> {
        unreachable!("it is made around another")
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.engine.buffers()
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.engine.queue(batch);
    }

    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.engine.enter(wait)
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let Self { engine, control, left } = self;
        engine.completions().inspect(|_| {
            *left = left.saturating_sub(1);
            if *left == 0 {
                control.stop_issuing();
            }
        })
    }
}

fn allocates_nothing<E: Engine>(job: &Job) {
    let file = NumberedFile::new(BLOCKS);
    let both = <(JobControl, Tally)>::default();
    let setup = Setup::read_only(vec![file.open()], job.depth.iodepth as u16, 4 * LENGTH);
    let Opened { engine, depth, .. } = E::open(setup).unwrap();
    let limited = Limited { engine, control: &both.0, left: 1000 };
    let mut io_loop = io_loop(limited, job, depth, &both);
    let before = allocations();
    let ending = io_loop.run().unwrap();
    assert_eq!(allocations() - before, 0, "{}", E::NAME);
    assert_eq!(ending, Ending::Done);
    let count = counted(&both.1).latency.count();
    assert!(count >= 1000, "{}: {count} reads", E::NAME);
}

#[test]
fn the_loop_allocates_nothing() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations() - before, 1, "allocations are counted");
    each_engine!(allocates_nothing(&reads(Pattern::RandRead, 64)));
    each_engine!(allocates_nothing(&reads(Pattern::Read, 1)));
    let mut picky = reads(Pattern::RandRead, 16);
    let lengths = iodyno_job::BlockSize::Range { low: 4096, high: 16384 };
    picky.pattern.bs = iodyno_model::PerDirection::all(lengths);
    picky.depth.batch = Some(5);
    picky.depth.serialize_overlap = true;
    each_engine!(allocates_nothing(&picky));
    let mut paced = reads(Pattern::RandRead, 16);
    paced.pace.rate_iops.read = Some(1_000_000_000);
    each_engine!(allocates_nothing(&paced));
}

fn counts_reads_that_fail<E: Engine>() {
    // The last 100 blocks of the job's size do not exist.
    let file = NumberedFile::new(BLOCKS - 100);
    let mut job = reads(Pattern::Read, 16);
    for goes_on in [true, false] {
        (job.errors.continue_on_error.read, job.errors.gives_up) = (goes_on, false);
        let both = <(JobControl, Tally)>::default();
        let opened = E::open(Setup::read_only(vec![file.open()], 16, LENGTH)).unwrap();
        let depth = opened.depth;
        let watched = Watched::new(opened.engine, &both.0, BLOCKS);
        let mut io_loop = io_loop(watched, &job, depth, &both);
        let ending = io_loop.run().unwrap();
        let (counts, done) = (counted(&both.1), io_loop.engine.done);
        assert_eq!(counts.latency.count() + counts.errors, done);
        let first = both.0.first_error().unwrap();
        assert!(first.result <= 0 && first.length == LENGTH, "{first:?}");
        assert!(first.offset >= (BLOCKS - 100) * BLOCK);
        if goes_on {
            assert_eq!((ending, counts.errors), (Ending::Done, 100), "{}", E::NAME);
        } else {
            assert_eq!(ending, Ending::Failed(first), "{}", E::NAME);
            assert!((1..=u64::from(depth) + 32).contains(&counts.errors), "{}", E::NAME);
        }
    }
}

#[test]
fn failed_reads_are_counted_and_stop_only_as_configured() {
    each_engine!(counts_reads_that_fail());
}

#[test]
fn a_lack_of_space_ends_a_job_that_goes_on() {
    let policy = ErrorPolicy { errors: Job::direct().errors, ..ErrorPolicy::default() };
    let io = InFlight { operation: Operation::Write, length: LENGTH, ..InFlight::default() };
    let (control, tally) = <(JobControl, Tally)>::default();
    let ending = |errno: i32| handle_failure(&policy, &control, &tally, &io, -i64::from(errno));
    assert_eq!(ending(libc::EIO), None);
    let failure = IoFailure::new(&io, -i64::from(libc::ENOSPC));
    assert_eq!(ending(libc::ENOSPC), Some(Ending::Failed(failure)));
}

#[test]
fn ignored_errors_are_counted() {
    let mut job = Job::default();
    job.errors.ignore_error.write = vec![libc::ENOSPC];
    let policy = ErrorPolicy { errors: job.errors, ..ErrorPolicy::default() };
    let io = InFlight { operation: Operation::Write, length: LENGTH, ..InFlight::default() };
    let (control, tally) = <(JobControl, Tally)>::default();
    let ending = |errno: i32| handle_failure(&policy, &control, &tally, &io, -i64::from(errno));
    assert_eq!(ending(libc::ENOSPC), None);
    assert_eq!((counted(&tally).errors, control.errors()[0].errno), (1, libc::ENOSPC));
    assert!(matches!(ending(libc::EIO), Some(Ending::Failed(_))), "it is not in the list");
}

/// Has only the first half of some blocks read, and checks each of them once its rest was, too.
struct Halved<'a, E> {
    engine: E,
    control: &'a JobControl,
    rests: BTreeMap<u16, u64>,
    checked: u64,
}

impl<E: Engine> Engine for Halved<'_, E> {
    const NAME: &'static str = E::NAME;

    fn open(_: Setup) -> Result<Opened<Self>, SetupError> {
        unreachable!("it is made around another")
    }

    fn buffers(&mut self) -> &mut Buffers {
        self.engine.buffers()
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        let is_halved = |unit: &IoUnit| (unit.offset / BLOCK).is_multiple_of(5);
        let part =
            |unit| if is_halved(&unit) { IoUnit { length: LENGTH / 2, ..unit } } else { unit };
        self.engine.queue(batch.map(part));
    }

    fn queue_rest(&mut self, unit: IoUnit, done: u32) {
        assert_eq!((unit.length, done), (LENGTH, LENGTH / 2));
        self.rests.insert(unit.slot, unit.offset);
        self.engine.queue_rest(unit, done);
    }

    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.engine.enter(wait)
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let all: Vec<_> = self.engine.completions().collect();
        for Completion { slot, .. } in &all {
            let Some(offset) = self.rests.remove(slot) else { continue };
            let data = self.engine.buffers().slot(*slot, LENGTH);
            let number = u64::from_le_bytes(data[..8].try_into().unwrap());
            assert_eq!(number * BLOCK, offset, "the first part stays");
            assert!(data[8..].iter().all(|byte| *byte == !number as u8));
            self.checked += 1;
        }
        if self.checked >= BLOCKS / 5 {
            self.control.stop_issuing();
        }
        all.into_iter()
    }
}

fn finishes_short_ios<E: Engine>() {
    let file = NumberedFile::new(BLOCKS);
    let both = <(JobControl, Tally)>::default();
    let cached = std::fs::File::open(&file.path).unwrap();
    let opened = E::open(Setup::read_only(vec![cached.into()], 4, LENGTH)).unwrap();
    let (engine, depth) = (opened.engine, opened.depth);
    let halved = Halved { engine, control: &both.0, rests: BTreeMap::new(), checked: 0 };
    let mut io_loop = io_loop(halved, &reads(Pattern::Read, depth), depth, &both);
    assert_eq!(io_loop.run().unwrap(), Ending::Done, "{}", E::NAME);
    assert_eq!((io_loop.slots.count(), io_loop.engine.rests.len()), (0, 0), "{}", E::NAME);
    let counts = counted(&both.1);
    assert_eq!((counts.errors, counts.short), (0, io_loop.engine.checked), "{}", E::NAME);
    assert_eq!(counts.bytes, counts.latency.count() * BLOCK, "{}", E::NAME);
    assert!(counts.latency.count() >= BLOCKS - 4, "{}", E::NAME);
}

#[test]
fn the_rest_of_a_short_io_is_done() {
    each_engine!(finishes_short_ios());
    finishes_short_ios::<Posixaio>();
}

fn writes_nothing_outside<E: Engine>(depth: u16, rate: Option<u64>) {
    // The offsets are wrong: they run to the end of the file.
    let file = NumberedFile::new(BLOCKS);
    let before = std::fs::read(&file.path).unwrap();
    let mut job = reads(Pattern::Write, depth);
    job.pace.rate_iops.write = rate;
    job.pattern.bs = iodyno_model::PerDirection::all(iodyno_job::BlockSize::Fixed(BLOCK));
    let both = <(JobControl, Tally)>::default();
    let descriptor = std::fs::OpenOptions::new().read(true).write(true).open(&file.path);
    let setup = Setup {
        writable: true,
        ..Setup::read_only(vec![descriptor.unwrap().into()], depth, LENGTH)
    };
    let Opened { engine, depth, .. } = E::open(setup).unwrap();
    let mut io_loop = io_loop(engine, &job, depth, &both);
    io_loop.bounds = bounds(40);
    let Ending::Error(why) = io_loop.run().unwrap() else { panic!("{}: it goes on", E::NAME) };
    assert!(why.1.contains("a write of 4096 bytes at offset 163840 of file 0"), "{}", why.1);
    assert_eq!(io_loop.slots.count(), 0);
    let written = counted(&both.1).latency.count();
    // Nothing of the batch with the first out-of-bounds request is submitted.
    assert!(written <= 40 && written + u64::from(depth) > 40, "{}: {written}", E::NAME);
    let after = std::fs::read(&file.path).unwrap();
    assert!(before[(written * BLOCK) as usize..] == after[(written * BLOCK) as usize..]);
}

#[test]
fn nothing_is_written_out_of_bounds() {
    each_engine!(writes_nothing_outside(1, None));
    each_engine!(writes_nothing_outside(16, None));
    each_engine!(writes_nothing_outside(16, Some(1_000_000)));
}

/// A device that answers some reads, then disappears.
struct Vanishing {
    in_flight: Vec<u16>,
    answers: u32,
    buffers: Buffers,
}

impl Engine for Vanishing {
    const NAME: &'static str = "vanishing";

    fn open(_: Setup) -> Result<Opened<Self>, SetupError> {
        unreachable!("it is made as it is")
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.in_flight.extend(batch.map(|descriptor| descriptor.slot));
    }

    fn enter(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let answers = &mut self.answers;
        self.in_flight.drain(..).map(|slot| {
            let result = if *answers > 0 { BLOCK as i64 } else { -i64::from(libc::ENODEV) };
            *answers = answers.saturating_sub(1);
            Completion { slot, result }
        })
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

#[test]
fn a_lost_device_ends_the_job() {
    let both = <(JobControl, Tally)>::default();
    let buffers = Buffers::new(8, LENGTH).unwrap();
    let engine = Vanishing { in_flight: Vec::new(), answers: 100, buffers };
    let mut io_loop = io_loop(engine, &reads(Pattern::RandRead, 8), 8, &both);
    let Ending::DeviceGone(failure) = io_loop.run().unwrap() else { panic!("it is gone") };
    assert_eq!(failure.errno(), libc::ENODEV);
    assert!(both.0.is_stopped(true) && io_loop.slots.count() == 0);
    assert_eq!(counted(&both.1).latency.count(), 100);
}

#[test]
fn a_full_device_ends_a_fill() {
    let (control, tally) = <(JobControl, Tally)>::default();
    let write = InFlight { length: LENGTH, operation: Operation::Write, ..InFlight::default() };
    let full = -i64::from(libc::ENOSPC);
    let failed = Ending::Failed(IoFailure::new(&write, full));
    for (fills_device, ends) in [(true, Ending::Done), (false, failed)] {
        let policy = ErrorPolicy { fills_device, ..ErrorPolicy::default() };
        let ending = handle_failure(&policy, &control, &tally, &write, full);
        assert_eq!(ending, Some(ends), "{fills_device}");
    }
}

#[test]
fn nothing_is_due_while_the_process_does_not_run() {
    let mut job = reads(Pattern::RandRead, 1);
    job.pace.rate_iops.read = Some(1000);
    let file = NumberedFile::new(BLOCKS);
    let both = <(JobControl, Tally)>::default();
    let engine = Psync::open(Setup::read_only(vec![file.open()], 1, LENGTH)).unwrap().engine;
    let mut io_loop = io_loop(Watched::new(engine, &both.0, 20), &job, 1, &both);
    // Started five seconds ago, and stopped since.
    let (clock, stop) = (Clock::get(), Clock::get().ticks(5_000_000_000));
    io_loop.issuer.pacer.as_mut().unwrap().start(clock.now() - stop);
    both.0.add_lapse(stop);
    io_loop.run().unwrap();
    assert!(counted(&both.1).latency.max_ns().unwrap() < 1_000_000_000);
}
