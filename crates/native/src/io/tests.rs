//! Every engine, in the loop that uses it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use iodyno_job::{Extent, IoEngine, Offsets};
use iodyno_model::Histogram;

use super::*;
use crate::choose::{Engine, ProbedTarget, choose};
use crate::failure::Failure;
use crate::flights::Flights;
use crate::issue::Issuer;
use crate::tally::{Reading, Tally};
use crate::testing::{BLOCK, Look, NumberedFile, allocations};
use crate::worker::{Shared, closed_loop};

const BLOCKS: u64 = 500;

/// An engine that is watched: what is in flight, what was read, how often the
/// kernel was entered; stops the job after so many reads.
struct Watched<'a, I> {
    io: I,
    shared: &'a Shared,
    stop_after: u64,
    in_flight: BTreeMap<u16, u64>,
    deepest: usize,
    enters: u64,
    /// How often each block was read, and was itself.
    right: Vec<u64>,
    done: u64,
}

impl<'a, I: Io + Look> Watched<'a, I> {
    fn new(io: I, shared: &'a Shared, stop_after: u64) -> Self {
        let right = vec![0; BLOCKS as usize];
        let in_flight = BTreeMap::new();
        Self { io, shared, stop_after, in_flight, deepest: 0, enters: 0, right, done: 0 }
    }
}

impl<I: Io + Look> Io for Watched<'_, I> {
    const NAME: &'static str = I::NAME;

    fn open(_: OwnedFd, _: u16, _: u32) -> Result<Opened<Self>, SetupError> {
        unreachable!("it is made by `new`")
    }

    fn queue(&mut self, batch: &[Descriptor]) {
        for descriptor in batch {
            let taken = self.in_flight.insert(descriptor.slot, descriptor.offset);
            assert_eq!(taken, None, "slot {} is in flight", descriptor.slot);
        }
        self.deepest = self.deepest.max(self.in_flight.len());
        self.io.queue(batch);
    }

    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.enters += 1;
        self.io.enter(wait)
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let all: Vec<_> = self.io.completions().collect();
        for completion in &all {
            let offset = self.in_flight.remove(&completion.slot).expect("it was in flight");
            if completion.result == BLOCK as i64 {
                let data = self.io.buffers().snapshot(completion.slot);
                let number = u64::from_le_bytes(data[..8].try_into().unwrap());
                assert_eq!(number * BLOCK, offset, "the data of another block");
                assert!(data[8..].iter().all(|byte| *byte == !number as u8));
                self.right[number as usize] += 1;
            }
        }
        self.done += all.len() as u64;
        if self.done >= self.stop_after {
            self.shared.stop();
        }
        all.into_iter()
    }
}

fn order(random: bool, blocks: u64) -> Issuer {
    let extents = [Extent { offset: 0, length: blocks * BLOCK }];
    let order = Offsets::new(random, BLOCK, &extents, 7, 0, 1).unwrap();
    Issuer::new(order, BLOCK as u32)
}

fn latencies(tally: &Tally) -> (Histogram, u64) {
    let mut histogram = Histogram::default();
    let errors = Reading::default().take(tally, &mut histogram);
    (histogram, errors)
}

fn reads_what_is_there<I: Io + Look>(depth: u16, random: bool) {
    let file = NumberedFile::new(BLOCKS);
    let opened = I::open(file.open(), depth, BLOCK as u32).unwrap();
    let possible = opened.depth;
    assert!(possible == depth || I::NAME == "psync");
    let (shared, tally) = (Shared::default(), Tally::default());
    shared.start();
    let mut watched = Watched::new(opened.io, &shared, 3 * BLOCKS);
    let mut flights = Flights::new(possible);
    let ended =
        closed_loop(&mut watched, &mut order(random, BLOCKS), &mut flights, &tally, &shared);
    assert_eq!(ended.unwrap(), None);
    assert!(flights.is_empty() && watched.in_flight.is_empty());
    assert_eq!(watched.deepest, usize::from(possible), "the depth was reached and never exceeded");
    assert!(watched.right.iter().all(|times| *times >= 2), "three rounds see every block");
    let (histogram, errors) = latencies(&tally);
    assert_eq!((histogram.count(), errors), (watched.done, 0));
    assert_eq!(watched.right.iter().sum::<u64>(), watched.done);
    assert!(histogram.min_ns().unwrap() > 0);
    if depth == 1 {
        assert_eq!(watched.enters, watched.done, "one system call for each read");
    }
}

#[test]
fn io_uring_reads_what_is_there() {
    reads_what_is_there::<Uring>(1, true);
    reads_what_is_there::<Uring>(7, false);
    reads_what_is_there::<Uring>(100, true);
}

#[test]
fn libaio_reads_what_is_there() {
    reads_what_is_there::<Libaio>(1, true);
    reads_what_is_there::<Libaio>(7, false);
    reads_what_is_there::<Libaio>(100, true);
}

#[test]
fn psync_reads_what_is_there() {
    reads_what_is_there::<Psync>(1, true);
    reads_what_is_there::<Psync>(7, false);
}

/// Stops after so many turns, and counts what is allocated in them.
struct Quiet<'a, I> {
    io: I,
    shared: &'a Shared,
    turns: u32,
}

impl<I: Io> Io for Quiet<'_, I> {
    const NAME: &'static str = I::NAME;

    fn open(_: OwnedFd, _: u16, _: u32) -> Result<Opened<Self>, SetupError> {
        unreachable!("it is made as it is")
    }

    fn queue(&mut self, batch: &[Descriptor]) {
        self.io.queue(batch);
    }

    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.turns -= 1;
        if self.turns == 100 {
            self.shared.stop();
        }
        self.io.enter(wait)
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.io.completions()
    }
}

fn allocates_nothing<I: Io>() {
    let file = NumberedFile::new(BLOCKS);
    let (shared, tally) = (Shared::default(), Tally::default());
    shared.start();
    let opened = I::open(file.open(), 64, BLOCK as u32).unwrap();
    let mut quiet = Quiet { io: opened.io, shared: &shared, turns: 1000 };
    let (mut flights, mut issuer) = (Flights::new(opened.depth), order(true, BLOCKS));
    Clock::get();
    let before = allocations();
    closed_loop(&mut quiet, &mut issuer, &mut flights, &tally, &shared).unwrap();
    assert_eq!(allocations() - before, 0, "{}", I::NAME);
    assert!(latencies(&tally).0.count() >= 800);
}

#[test]
fn the_loop_allocates_nothing() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations() - before, 1, "allocations are counted");
    allocates_nothing::<Uring>();
    allocates_nothing::<Libaio>();
    allocates_nothing::<Psync>();
}

fn counts_reads_that_fail<I: Io + Look>() {
    // The last 100 blocks that the job thinks it has are not there.
    let file = NumberedFile::new(BLOCKS - 100);
    let (shared, tally) = (Shared::default(), Tally::default());
    shared.start();
    let opened = I::open(file.open(), 16, BLOCK as u32).unwrap();
    let mut watched = Watched::new(opened.io, &shared, BLOCKS);
    let mut flights = Flights::new(opened.depth);
    closed_loop(&mut watched, &mut order(false, BLOCKS), &mut flights, &tally, &shared).unwrap();
    let (histogram, errors) = latencies(&tally);
    assert_eq!(histogram.count() + errors, watched.done);
    assert_eq!(errors, 100, "{}", I::NAME);
    let first = shared.first_error().unwrap();
    assert_eq!((first.result, first.length), (0, BLOCK as u32));
    assert!(first.offset >= (BLOCKS - 100) * BLOCK);
}

#[test]
fn reads_that_fail_are_counted_and_do_not_stop() {
    counts_reads_that_fail::<Uring>();
    counts_reads_that_fail::<Libaio>();
    counts_reads_that_fail::<Psync>();
}

fn names_what_the_kernel_says<I: Io>() {
    // Offsets that are no multiple of the block size are EINVAL with O_DIRECT.
    let file = NumberedFile::new(4);
    let mut io = I::open(file.open(), 4, BLOCK as u32).unwrap().io;
    let (_, result) = read_once(&mut io, 100, BLOCK as u32).unwrap();
    let failure = Failure { offset: 100, length: BLOCK as u32, result };
    assert_eq!(failure.to_string(), "EINVAL at offset 100", "{}", I::NAME);
    let (latency_ns, result) = read_once(&mut io, BLOCK, BLOCK as u32).unwrap();
    assert_eq!(result, BLOCK as i64, "{} goes on after a failure", I::NAME);
    assert!(latency_ns > 0);
}

#[test]
fn a_failed_read_has_the_kernels_reason() {
    names_what_the_kernel_says::<Uring>();
    names_what_the_kernel_says::<Libaio>();
    names_what_the_kernel_says::<Psync>();
}

/// A device that answers the first reads, then says that it is gone.
struct Vanishing {
    in_flight: Vec<u16>,
    answers: u32,
}

impl Io for Vanishing {
    const NAME: &'static str = "vanishing";

    fn open(_: OwnedFd, _: u16, _: u32) -> Result<Opened<Self>, SetupError> {
        unreachable!("it is made as it is")
    }

    fn queue(&mut self, batch: &[Descriptor]) {
        self.in_flight.extend(batch.iter().map(|descriptor| descriptor.slot));
    }

    fn enter(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let answers = &mut self.answers;
        self.in_flight.drain(..).map(|slot| {
            *answers = answers.saturating_sub(1);
            let result = if *answers > 0 { BLOCK as i64 } else { -i64::from(libc::ENODEV) };
            Completion { slot, result }
        })
    }
}

#[test]
fn a_device_that_is_gone_ends_the_job() {
    let (shared, tally) = (Shared::default(), Tally::default());
    shared.start();
    let mut io = Vanishing { in_flight: Vec::new(), answers: 101 };
    let mut flights = Flights::new(8);
    let gone = closed_loop(&mut io, &mut order(true, BLOCKS), &mut flights, &tally, &shared);
    assert_eq!(gone.unwrap().unwrap().result, -i64::from(libc::ENODEV));
    assert!(shared.is_stopping() && flights.is_empty());
    assert_eq!(latencies(&tally).0.count(), 100);
}

#[test]
fn io_uring_registers_its_buffers() {
    let file = NumberedFile::new(1);
    let opened = Uring::open(file.open(), 64, 4096).unwrap();
    assert_eq!(opened.registered_buffers, Some(opened.shortfalls.is_empty()));
}

#[test]
fn the_engine_that_was_asked_for_is_used() {
    let file = NumberedFile::new(1);
    let descriptor = file.open();
    let target =
        ProbedTarget { descriptor: descriptor.as_fd(), direct: true, offset: 0, block_bytes: 512 };
    for (asked, engine) in [
        (IoEngine::IoUring, Engine::IoUring),
        (IoEngine::Libaio, Engine::Libaio),
        (IoEngine::Psync, Engine::Psync),
    ] {
        let choice = choose(asked, 4, &target).unwrap();
        assert_eq!(choice.engine, engine);
        assert!(choice.reason.contains(engine.name()), "{}", choice.reason);
    }
    let choice = choose(IoEngine::Auto, 4, &target).unwrap();
    assert!(!choice.reason.is_empty());
}
