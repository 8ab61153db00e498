//! Every engine against real files: what one writes another reads.

mod changes;
mod failures;
mod offload;
mod others;
mod reads;
mod speed;

use std::iter::once;
use std::os::fd::OwnedFd;

use super::*;
use crate::testing::{BLOCK, Scratch};

const LENGTH: u32 = BLOCK as u32;

/// Calls a function that is generic in the engine for each that needs no NVMe drive.
macro_rules! each_engine {
    ($test:ident) => {
        $test::<Uring>();
        $test::<Libaio>();
        $test::<Psync>();
        $test::<Pvsync2>();
        $test::<Sync>();
        $test::<Mmap>();
        $test::<Splice>();
        $test::<Posixaio>();
    };
}
use each_engine;

fn setup(files: Vec<OwnedFd>, depth: u16, writable: bool) -> Setup {
    let options = EngineOptions::default();
    let entries = Vec::new();
    Setup {
        claims: Vec::new(),
        files,
        character: None,
        entries,
        depth,
        length: LENGTH,
        options,
        writable,
        submit: None,
        part: None,
        priorities: None,
    }
}

fn open<I: Io>(files: Vec<OwnedFd>, depth: u16, writable: bool) -> Opened<I> {
    I::open(setup(files, depth, writable)).expect(I::NAME)
}

/// A descriptor of block `number`.
fn block(operation: Operation, file: u16, number: u64) -> Descriptor {
    Descriptor { offset: number * BLOCK, length: LENGTH, slot: 0, file, operation }
}

/// Executes all of `descriptors`, in batches of the depth, and waits for `wait` at a time. Fills
/// buffers before and inspects them after. Returns the results in order.
fn carry_out<I: Io>(
    opened: &mut Opened<I>,
    descriptors: &[Descriptor],
    wait: u32,
    mut fill: impl FnMut(&Descriptor, &mut [u8]),
    mut look: impl FnMut(&Descriptor, &[u8]),
) -> Vec<i64> {
    let io = &mut opened.io;
    let mut results = Vec::new();
    for some in descriptors.chunks(opened.depth.into()) {
        let mut batch = some.to_vec();
        for (slot, descriptor) in batch.iter_mut().enumerate() {
            descriptor.slot = slot as u16;
            fill(descriptor, io.buffers().slot_mut(slot as u16, LENGTH));
        }
        io.queue(batch.iter().copied());
        let mut done = vec![None; batch.len()];
        while done.contains(&None) {
            io.enter(wait).unwrap();
            for Completion { slot, result } in io.completions() {
                let before = done[usize::from(slot)].replace(result);
                assert_eq!(before, None, "{}: slot {slot} completed twice", I::NAME);
            }
        }
        assert_eq!(io.completions().next(), None, "{}: more than was asked for", I::NAME);
        for descriptor in &batch {
            look(descriptor, io.buffers().slot(descriptor.slot, LENGTH));
        }
        results.extend(done.into_iter().flatten());
    }
    results
}

/// As [`carry_out`], for operations without data.
fn just_do<I: Io>(opened: &mut Opened<I>, descriptors: &[Descriptor]) -> Vec<i64> {
    carry_out(opened, descriptors, 1, |_, _| {}, |_, _| {})
}

/// Contents of a block that `author` wrote.
fn contents(author: u8, descriptor: &Descriptor) -> Vec<u8> {
    let mut contents = vec![author ^ (descriptor.offset / BLOCK) as u8; LENGTH as usize];
    contents[..8].copy_from_slice(&descriptor.offset.to_le_bytes());
    contents[8..10].copy_from_slice(&descriptor.file.to_le_bytes());
    contents
}

fn write_all<I: Io>(opened: &mut Opened<I>, blocks: &[Descriptor], author: u8) {
    let fill = |d: &Descriptor, buffer: &mut [u8]| buffer.copy_from_slice(&contents(author, d));
    let results = carry_out(opened, blocks, 1, fill, |_, _| {});
    assert!(results.iter().all(|result| *result == BLOCK as i64), "{}: {results:?}", I::NAME);
}

fn read_all<I: Io>(opened: &mut Opened<I>, blocks: &[Descriptor], wait: u32, author: u8) {
    let look = |d: &Descriptor, buffer: &[u8]| {
        assert!(buffer == contents(author, d), "{}: {d:?} holds something else", I::NAME);
    };
    let results = carry_out(opened, blocks, wait, |_, buffer| buffer.fill(0xee), look);
    assert!(results.iter().all(|result| *result == BLOCK as i64), "{}: {results:?}", I::NAME);
}

/// Blocks 0 to `count` of each of `files`, shuffled.
fn blocks(operation: Operation, files: u16, count: u64) -> Vec<Descriptor> {
    let of_file = |file| (0..count).map(move |n| block(operation, file, (n * 7 + 3) % count));
    (0..files).flat_map(of_file).collect()
}

fn scratches(count: usize, blocks: u64) -> (Vec<Scratch>, impl Fn(&[Scratch]) -> Vec<OwnedFd>) {
    let files = (0..count).map(|_| Scratch::new(blocks)).collect();
    (files, |files: &[Scratch]| files.iter().map(Scratch::open).collect())
}
