//! Writes, trims and syncs.

use std::os::unix::fs::OpenOptionsExt;

use super::*;
use crate::testing::{LoopDevice, page_cache_holds_dirty_pages};

const COUNT: u64 = 24;

fn writes_what_others_read<E: Engine>() {
    let author = E::NAME.len() as u8;
    let (files, open_all) = scratches(2, COUNT);
    let mut writer = open::<E>(open_all(&files), 16, true);
    write_all(&mut writer, &blocks(Operation::Write, 2, COUNT), author);
    let sync = IoUnit { operation: Operation::Sync, ..IoUnit::default() };
    assert_eq!(execute_without_data(&mut writer, &[sync, IoUnit { file: 1, ..sync }]), [0, 0]);
    let reads = blocks(Operation::Read, 2, COUNT);
    read_all(&mut open::<Uring>(open_all(&files), 9, false), &reads, 1, author);
    read_all(&mut open::<Libaio>(open_all(&files), 9, false), &reads, 1, author);
    read_all(&mut open::<Psync>(open_all(&files), 1, false), &reads, 1, author);
    read_all(&mut open::<Pvsync2>(open_all(&files), 1, false), &reads, 1, author);
    read_all(&mut open::<Sync>(open_all(&files), 1, false), &reads, 1, author);
    read_all(&mut open::<Mmap>(open_all(&files), 1, false), &reads, 1, author);
    read_all(&mut open::<Splice>(open_all(&files), 1, false), &reads, 1, author);
    read_all(&mut open::<Posixaio>(open_all(&files), 9, false), &reads, 1, author);
    // And the writer itself, into the buffers that it wrote from.
    read_all(&mut writer, &reads, 1, author);
}

#[test]
fn every_engine_reads_what_another_wrote() {
    each_engine!(writes_what_others_read);
}

fn punches_holes<E: Engine>() {
    let file = Scratch::new(COUNT);
    let mut engine = open::<E>(vec![file.open()], 8, true);
    write_all(&mut engine, &blocks(Operation::Write, 1, COUNT), 1);
    let sync = IoUnit { operation: Operation::Sync, ..IoUnit::default() };
    assert_eq!(execute_without_data(&mut engine, &[sync]), [0]);
    // Mixed with other operations, longer than a buffer, and of one block.
    let long = IoUnit {
        offset: 4 * BLOCK,
        length: 10 * LENGTH,
        operation: Operation::Trim,
        ..IoUnit::default()
    };
    let mixed = [
        block(Operation::Read, 0, 2),
        long,
        block(Operation::Trim, 0, 20),
        block(Operation::Read, 0, 22),
    ];
    let results = execute_without_data(&mut engine, &mixed);
    assert_eq!(results, mixed.map(|d| i64::from(d.length)), "{}", E::NAME);
    holds_zeros_where_trimmed(vec![file.open()], E::NAME);
    assert_eq!(file.size(), COUNT * BLOCK, "the size is kept");
}

/// Asserts that blocks 4 to 13 and 20 are zeros and the others are not.
fn holds_zeros_where_trimmed(file: Vec<OwnedFd>, name: &str) {
    let mut reader = open::<Psync>(file, 1, false);
    for read in blocks(Operation::Read, 1, COUNT) {
        let number = read.offset / BLOCK;
        let inspect = |d: &IoUnit, buffer: &[u8]| match number {
            4..14 | 20 => assert!(buffer.iter().all(|byte| *byte == 0), "{name}: block {number}"),
            _ => assert!(buffer == contents(1, d), "{name}: block {number} was not trimmed"),
        };
        execute(&mut reader, &[read], 1, |_, buffer| buffer.fill(0xee), inspect);
    }
}

#[test]
fn trimmed_blocks_of_a_file_read_as_zeros() {
    each_engine!(punches_holes);
}

fn discards<E: Engine>() {
    let file = Scratch::new(COUNT);
    let device = LoopDevice::new(&file.path);
    let mut engine = open::<E>(vec![device.open()], 8, true);
    write_all(&mut engine, &blocks(Operation::Write, 1, COUNT), 1);
    let mut trims: Vec<_> = (4..14).map(|number| block(Operation::Trim, 0, number)).collect();
    trims.push(block(Operation::Trim, 0, 20));
    let results = execute_without_data(&mut engine, &trims);
    assert!(results.iter().all(|result| *result == BLOCK as i64), "{}: {results:?}", E::NAME);
    let data_sync = IoUnit { operation: Operation::DataSync, ..IoUnit::default() };
    assert_eq!(execute_without_data(&mut engine, &[data_sync]), [0], "{}", E::NAME);
    holds_zeros_where_trimmed(vec![device.open()], E::NAME);
}

#[test]
#[ignore = "needs root"]
fn trimmed_blocks_of_a_device_read_as_zeros() {
    each_engine!(discards);
}

fn discards_dirty_pages<E: Engine>() {
    let file = Scratch::new(COUNT);
    let device = LoopDevice::new(&file.path);
    let open = |flags| {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).custom_flags(flags).open(&device.path).unwrap().into()
    };
    // As the guard in `target` holds it, and as a job opens it.
    let claims = vec![open(libc::O_EXCL)];
    let setup = Setup { claims, ..setup(vec![open(0)], 4, true) };
    let mut engine = E::open(setup).unwrap();
    write_all(&mut engine, &blocks(Operation::Write, 1, COUNT), 1);
    let trims: Vec<_> = (4..14).map(|number| block(Operation::Trim, 0, number)).collect();
    let results = execute_without_data(&mut engine, &trims);
    assert!(results.iter().all(|result| *result == BLOCK as i64), "{}: {results:?}", E::NAME);
}

#[test]
#[ignore = "needs root"]
fn dirty_pages_are_trimmed_through_the_claim() {
    each_engine!(discards_dirty_pages);
}

fn makes_durable<E: Engine>(operation: Operation) {
    // Through the page cache, which tracks dirty pages.
    let file = Scratch::new(COUNT);
    let mut engine = open::<E>(vec![file.open_cached()], 4, true);
    // Under heavy write load, the kernel may already have written them back.
    let mut dirties = || {
        write_all(&mut engine, &blocks(Operation::Write, 1, COUNT), 2);
        page_cache_holds_dirty_pages(&file.path)
    };
    assert!((0..100).any(|_| dirties()), "{}: nothing to be synced", E::NAME);
    let sync = IoUnit { operation, ..IoUnit::default() };
    assert_eq!(execute_without_data(&mut engine, &[sync]), [0], "{}", E::NAME);
    assert!(!page_cache_holds_dirty_pages(&file.path), "{} {operation:?}", E::NAME);
}

fn makes_all_durable<E: Engine>() {
    makes_durable::<E>(Operation::Sync);
    makes_durable::<E>(Operation::DataSync);
}

#[test]
#[ignore = "needs root"]
fn synced_pages_are_clean() {
    each_engine!(makes_all_durable);
}

fn cannot_change_anything<E: Engine>() {
    // The descriptor is writable: the engine must refuse.
    let file = Scratch::new(COUNT);
    write_all(
        &mut open::<Psync>(vec![file.open()], 1, true),
        &blocks(Operation::Write, 1, COUNT),
        3,
    );
    for operation in [Operation::Write, Operation::Trim, Operation::Sync, Operation::DataSync] {
        let Opened { mut engine, depth, .. } = open::<E>(vec![file.open()], 4, false);
        let batch = [block(Operation::Read, 0, 1), IoUnit { slot: 1, ..block(operation, 0, 1) }];
        let batch = if depth > 1 { &batch[..] } else { &[block(operation, 0, 1)] };
        let queue = || engine.queue(batch.iter().copied());
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(queue));
        let Err(panic) = refused else { panic!("{} took a {operation:?}", E::NAME) };
        let message = panic.downcast_ref::<String>().map(String::as_str);
        assert_eq!(message, Some(READ_ONLY), "{} {operation:?}", E::NAME);
        engine.enter(0).unwrap();
        assert_eq!(engine.completions().count(), 0, "{} has handed some of it over", E::NAME);
    }
    read_all(&mut open::<E>(vec![file.open()], 4, false), &blocks(Operation::Read, 1, COUNT), 1, 3);
}

#[test]
fn a_read_only_engine_changes_nothing() {
    each_engine!(cannot_change_anything);
}
