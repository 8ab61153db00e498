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
    Setup { writable, ..Setup::read_only(files, depth, LENGTH) }
}

fn open<E: Engine>(files: Vec<OwnedFd>, depth: u16, writable: bool) -> Opened<E> {
    E::open(setup(files, depth, writable)).expect(E::NAME)
}

/// A descriptor of block `number`.
fn block(operation: Operation, file: u16, number: u64) -> IoUnit {
    IoUnit { offset: number * BLOCK, length: LENGTH, slot: 0, file, operation }
}

/// Executes all of `units`, in batches of the depth, and waits for `wait` at a time. Fills
/// buffers before and inspects them after. Returns the results in order.
fn execute<E: Engine>(
    opened: &mut Opened<E>,
    units: &[IoUnit],
    wait: u32,
    mut fill: impl FnMut(&IoUnit, &mut [u8]),
    mut inspect: impl FnMut(&IoUnit, &[u8]),
) -> Vec<i64> {
    let engine = &mut opened.engine;
    let mut results = Vec::new();
    for some in units.chunks(opened.depth.into()) {
        let mut batch = some.to_vec();
        for (slot, unit) in batch.iter_mut().enumerate() {
            unit.slot = slot as u16;
            fill(unit, engine.buffers().slot_mut(slot as u16, LENGTH));
        }
        engine.queue(batch.iter().copied());
        let mut done = vec![None; batch.len()];
        while done.contains(&None) {
            engine.enter(wait).unwrap();
            for Completion { slot, result } in engine.completions() {
                let before = done[usize::from(slot)].replace(result);
                assert_eq!(before, None, "{}: slot {slot} completed twice", E::NAME);
            }
        }
        assert_eq!(engine.completions().next(), None, "{}: more than was asked for", E::NAME);
        for unit in &batch {
            inspect(unit, engine.buffers().slot(unit.slot, LENGTH));
        }
        results.extend(done.into_iter().flatten());
    }
    results
}

/// As [`execute`], for operations without data.
fn execute_without_data<E: Engine>(opened: &mut Opened<E>, units: &[IoUnit]) -> Vec<i64> {
    execute(opened, units, 1, |_, _| {}, |_, _| {})
}

/// Contents of a block that `author` wrote.
fn contents(author: u8, unit: &IoUnit) -> Vec<u8> {
    let mut contents = vec![author ^ (unit.offset / BLOCK) as u8; LENGTH as usize];
    contents[..8].copy_from_slice(&unit.offset.to_le_bytes());
    contents[8..10].copy_from_slice(&unit.file.to_le_bytes());
    contents
}

fn write_all<E: Engine>(opened: &mut Opened<E>, blocks: &[IoUnit], author: u8) {
    let fill = |d: &IoUnit, buffer: &mut [u8]| buffer.copy_from_slice(&contents(author, d));
    let results = execute(opened, blocks, 1, fill, |_, _| {});
    assert!(results.iter().all(|result| *result == BLOCK as i64), "{}: {results:?}", E::NAME);
}

fn read_all<E: Engine>(opened: &mut Opened<E>, blocks: &[IoUnit], wait: u32, author: u8) {
    let inspect = |d: &IoUnit, buffer: &[u8]| {
        assert!(buffer == contents(author, d), "{}: {d:?} holds something else", E::NAME);
    };
    let results = execute(opened, blocks, wait, |_, buffer| buffer.fill(0xee), inspect);
    assert!(results.iter().all(|result| *result == BLOCK as i64), "{}: {results:?}", E::NAME);
}

/// Blocks 0 to `count` of each of `files`, shuffled.
fn blocks(operation: Operation, files: u16, count: u64) -> Vec<IoUnit> {
    let of_file = |file| (0..count).map(move |n| block(operation, file, (n * 7 + 3) % count));
    (0..files).flat_map(of_file).collect()
}

fn scratches(count: usize, blocks: u64) -> (Vec<Scratch>, impl Fn(&[Scratch]) -> Vec<OwnedFd>) {
    let files = (0..count).map(|_| Scratch::new(blocks)).collect();
    (files, |files: &[Scratch]| files.iter().map(Scratch::open).collect())
}
