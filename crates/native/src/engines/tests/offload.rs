//! Submitting threads.

use super::*;

fn offloaded(submit: SubmitFn, files: Vec<OwnedFd>, writable: bool) -> Opened<Offload> {
    Offload::open(Setup { submit: Some(submit), ..setup(files, 8, writable) }).unwrap()
}

#[test]
fn data_written_by_threads_reads_back() {
    let file = Scratch::new(64);
    let [writes, reads] =
        [Operation::Write, Operation::Read].map(|operation| blocks(operation, 1, 64));
    let engines: [SubmitFn; 4] =
        [submit_with::<Psync>, submit_with::<Uring>, submit_with::<Libaio>, submit_with::<Mmap>];
    for (author, submit) in (1..).zip(engines) {
        let mut opened = offloaded(submit, vec![file.open()], true);
        assert_eq!(opened.depth, 8, "as many at once as a synchronous engine has not");
        write_all(&mut opened, &writes, author);
        for wait in [1, 8] {
            read_all(&mut opened, &reads, wait, author);
        }
        let sync = [IoUnit { operation: Operation::Sync, ..IoUnit::default() }];
        assert_eq!(execute_without_data(&mut opened, &sync), [0]);
        assert!(opened.engine.finish().cpu_ns() > 0, "what threads used is known");
        assert_eq!(opened.engine.finish(), Usage::default());
    }
}

#[test]
fn a_failed_io_is_a_completion() {
    let file = Scratch::new(4);
    let mut opened = offloaded(submit_with::<Psync>, vec![file.open()], false);
    // Behind the end of the file.
    assert_eq!(execute_without_data(&mut opened, &[block(Operation::Read, 0, 9)]), [0]);
    // A bug in the thread that submits: there is no such file.
    assert_eq!(
        execute_without_data(&mut opened, &[block(Operation::Read, 7, 0)]),
        [-i64::from(libc::EIO)]
    );
    let next = [1, 2].map(|number| block(Operation::Read, 0, number));
    assert_eq!(execute_without_data(&mut opened, &next)[1], BLOCK as i64, "other threads go on");
}

#[test]
#[should_panic(expected = "must do nothing else")]
fn a_read_only_engine_submits_no_write() {
    let file = Scratch::new(1);
    let mut opened = offloaded(submit_with::<Null>, vec![file.open()], false);
    opened.engine.queue(once(block(Operation::Write, 0, 0)));
}

#[test]
fn a_thread_that_cannot_be_set_up_is_an_error() {
    let file = Scratch::new(1);
    let setup =
        Setup { submit: Some(submit_with::<UringCmd>), ..setup(vec![file.open()], 2, true) };
    assert!(Offload::open(setup).unwrap_err().to_string().contains("character device"));
}
