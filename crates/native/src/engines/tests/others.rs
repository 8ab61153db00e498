//! Engines that move no data.

use std::os::unix::fs::MetadataExt;

use super::*;

#[test]
fn null_completes_all_and_touches_nothing() {
    let file = Scratch::new(4);
    let mut engine = open::<Null>(vec![file.open()], 8, true);
    let [read, write, trim] = [Operation::Read, Operation::Write, Operation::Trim]
        .map(|operation| block(operation, 0, 1 << 40));
    let sync = IoUnit { operation: Operation::Sync, ..IoUnit::default() };
    let fill = |_: &IoUnit, buffer: &mut [u8]| buffer.fill(7);
    let all = [read, write, trim, sync, write];
    let results = execute(&mut engine, &all, 1, fill, |_, _| {});
    assert_eq!(results, [BLOCK as i64, BLOCK as i64, BLOCK as i64, 0, BLOCK as i64]);
    assert!(std::fs::read(&file.path).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
#[should_panic(expected = "must do nothing else")]
fn read_only_null_refuses_writes() {
    let file = Scratch::new(1);
    let mut engine = open::<Null>(vec![file.open()], 1, false);
    engine.engine.queue(once(block(Operation::Write, 0, 0)));
}

#[test]
fn ftruncate_makes_a_file_end_where_a_write_begins() {
    let file = Scratch::new(4);
    let mut engine = open::<Ftruncate>(vec![file.open_cached()], 1, true);
    for (operation, number, result, blocks) in [
        (Operation::Write, 2, BLOCK as i64, 2),
        (Operation::Write, 3, BLOCK as i64, 3),
        (Operation::Read, 1, -i64::from(libc::EINVAL), 3),
        (Operation::Sync, 0, 0, 3),
    ] {
        assert_eq!(
            execute_without_data(&mut engine, &[block(operation, 0, number)]),
            [result],
            "{operation:?}"
        );
        assert_eq!(file.size(), blocks * BLOCK);
    }
}

#[test]
fn falloc_allocates_and_only_its_writes_make_a_file_longer() {
    let file = Scratch::new(4);
    file.set_size(0);
    let mut engine = open::<Falloc>(vec![file.open_cached()], 1, true);
    let blocks = || std::fs::metadata(&file.path).unwrap().blocks();
    assert_eq!(execute_without_data(&mut engine, &[block(Operation::Read, 0, 2)]), [BLOCK as i64]);
    assert_eq!((file.size(), blocks()), (0, BLOCK / 512), "a read keeps the size");
    assert_eq!(execute_without_data(&mut engine, &[block(Operation::Write, 0, 2)]), [BLOCK as i64]);
    assert_eq!((file.size(), blocks()), (3 * BLOCK, BLOCK / 512));
    assert_eq!(execute_without_data(&mut engine, &[block(Operation::Trim, 0, 2)]), [BLOCK as i64]);
    assert_eq!((file.size(), blocks()), (3 * BLOCK, 0));
    // What may not be written is not allocated either.
    let reading = Setup { writable: false, ..setup(vec![file.open_to_read()], 1, false) };
    let mut engine = Falloc::open(reading).unwrap();
    let refused = execute_without_data(&mut engine, &[block(Operation::Read, 0, 0)]);
    assert_eq!((refused, blocks()), (vec![-i64::from(libc::EBADF)], 0));
}
