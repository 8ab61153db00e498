//! Failed and short I/O.

use super::*;
use crate::io_failure::IoFailure;
use crate::testing::LoopDevice;

const COUNT: u64 = 16;

fn returns_short_reads<E: Engine>() {
    let file = Scratch::new(COUNT);
    file.set_size(COUNT * BLOCK - 1024);
    let mut opened = open::<E>(vec![file.open()], 4, true);
    let last = [COUNT - 2, COUNT - 1, COUNT, COUNT + 100].map(|n| block(Operation::Read, 0, n));
    let results = execute_without_data(&mut opened, &last);
    assert_eq!(results, [BLOCK as i64, BLOCK as i64 - 1024, 0, 0], "{}", E::NAME);
    // The file grows: what is there now is read.
    file.set_size(2 * COUNT * BLOCK);
    assert_eq!(execute_without_data(&mut opened, &last[1..3]), [BLOCK as i64; 2], "{}", E::NAME);
}

#[test]
fn the_end_of_a_file_is_a_short_read() {
    each_engine!(returns_short_reads);
}

fn names_the_errno<E: Engine>() {
    // Offsets that are no multiple of the block size are EINVAL with O_DIRECT.
    let file = Scratch::new(COUNT);
    let mut engine = open::<E>(vec![file.open()], 4, false).engine;
    let (_, result) = read_once(&mut engine, 100, LENGTH).unwrap();
    let failure = IoFailure { operation: Operation::Read, offset: 100, length: LENGTH, result };
    assert_eq!(failure.to_string(), "EINVAL at offset 100", "{}", E::NAME);
    let (latency_ns, result) = read_once(&mut engine, BLOCK, LENGTH).unwrap();
    assert_eq!(result, BLOCK as i64, "{} goes on after a failure", E::NAME);
    assert!(latency_ns > 0);
}

#[test]
fn a_failed_read_has_the_kernels_reason() {
    names_the_errno::<Uring>();
    names_the_errno::<Libaio>();
    names_the_errno::<Psync>();
    names_the_errno::<Pvsync2>();
    names_the_errno::<Sync>();
}

fn returns_io_errors<E: Engine>() {
    // The file behind the device's last blocks is truncated.
    let file = Scratch::new(COUNT);
    let device = LoopDevice::new(&file.path);
    file.set_size(COUNT / 2 * BLOCK);
    let mut opened = open::<E>(vec![device.open()], 8, true);
    let reads = [0, COUNT - 1, 1, COUNT - 2].map(|n| block(Operation::Read, 0, n));
    let (fine, eio) = (BLOCK as i64, -i64::from(libc::EIO));
    assert_eq!(execute_without_data(&mut opened, &reads), [fine, eio, fine, eio], "{}", E::NAME);
}

#[test]
#[ignore = "needs root"]
fn a_bad_block_is_eio() {
    returns_io_errors::<Uring>();
    returns_io_errors::<Libaio>();
    returns_io_errors::<Psync>();
    returns_io_errors::<Pvsync2>();
    returns_io_errors::<Sync>();
}

fn refuses_requests_beyond_its_setup<E: Engine>() {
    let file = Scratch::new(COUNT);
    let wrong = [
        IoUnit { slot: 4, ..block(Operation::Read, 0, 0) },
        IoUnit { length: 2 * LENGTH, ..block(Operation::Read, 0, 0) },
        block(Operation::Read, 1, 0),
    ];
    for unit in wrong {
        let mut engine = open::<E>(vec![file.open()], 4, false).engine;
        let make = || {
            engine.queue(once(unit));
            engine.enter(1)
        };
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
        assert!(refused.is_err(), "{}: {unit:?}", E::NAME);
    }
}

#[test]
fn requests_beyond_the_setup_panic() {
    each_engine!(refuses_requests_beyond_its_setup);
}
