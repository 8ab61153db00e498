//! Reads: several files, batches, waiting for more than one, options.

use std::sync::atomic::Ordering;

use super::*;
use crate::usage::thread_usage;

const COUNT: u64 = 40;

/// Two files that hold what author 5 writes.
fn written() -> (Vec<Scratch>, impl Fn(&[Scratch]) -> Vec<OwnedFd>) {
    let (files, open_all) = scratches(2, COUNT);
    let mut writer = open::<Psync>(open_all(&files), 1, true);
    write_all(&mut writer, &blocks(Operation::Write, 2, COUNT), 5);
    (files, open_all)
}

fn reads_at_every_depth<E: Engine>() {
    let (files, open_all) = written();
    for depth in [1, 7, 100] {
        let mut opened = open::<E>(open_all(&files), depth, false);
        let synchronous = opened.depth == 1;
        assert!(
            opened.depth == depth || (synchronous && opened.shortfalls.len() == 1),
            "{}",
            E::NAME
        );
        read_all(&mut opened, &blocks(Operation::Read, 2, COUNT), 1, 5);
        read_all(&mut opened, &blocks(Operation::Read, 2, COUNT), 0, 5);
    }
}

#[test]
fn reads_return_written_data_at_every_depth() {
    each_engine!(reads_at_every_depth);
}

fn hands_over_in_batches<E: Engine>(size: u16) {
    let (files, open_all) = written();
    let mut setup = setup(open_all(&files), 64, false);
    setup.options.batch = size;
    let mut opened = E::open(setup).unwrap();
    read_all(&mut opened, &blocks(Operation::Read, 2, COUNT), 1, 5);
}

#[test]
fn batches_of_any_size_complete() {
    for size in [1, 3, 64, 200] {
        hands_over_in_batches::<Uring>(size);
        hands_over_in_batches::<Libaio>(size);
    }
}

fn waits_for_as_many_as_asked<E: Engine>() {
    let (files, open_all) = written();
    let mut engine = open::<E>(open_all(&files), 16, false).engine;
    let batch: Vec<_> = (0..16)
        .map(|slot| IoUnit { slot, ..block(Operation::Read, slot % 2, slot.into()) })
        .collect();
    engine.queue(batch.iter().copied());
    engine.enter(12).unwrap();
    let some = engine.completions().count();
    assert!(some >= 12, "{}: {some}", E::NAME);
    // More than there are: as many as there are.
    engine.enter(100).unwrap();
    assert_eq!(some + engine.completions().count(), 16, "{}", E::NAME);
    // None are: it does not wait at all.
    engine.enter(1).unwrap();
    assert_eq!(engine.completions().count(), 0);
}

#[test]
fn enter_waits_for_as_many_as_it_is_asked() {
    waits_for_as_many_as_asked::<Uring>();
    waits_for_as_many_as_asked::<Libaio>();
}

fn one_enter_makes_one_io<E: Engine>() {
    let (files, open_all) = written();
    let mut engine = open::<E>(open_all(&files), 1, false).engine;
    for number in 0..COUNT {
        engine.queue(once(block(Operation::Read, 0, number)));
        engine.enter(1).unwrap();
        assert_eq!(engine.completions().count(), 1, "{}", E::NAME);
    }
}

#[test]
fn at_depth_1_one_enter_makes_one_io() {
    each_engine!(one_enter_makes_one_io);
}

fn reads_with<E: Engine>(change: impl Fn(&mut EngineOptions)) -> Opened<E> {
    let (files, open_all) = written();
    let mut setup = setup(open_all(&files), 8, false);
    change(&mut setup.options);
    let mut opened = E::open(setup).unwrap();
    read_all(&mut opened, &blocks(Operation::Read, 2, COUNT), 1, 5);
    read_all(&mut opened, &blocks(Operation::Read, 2, COUNT), 8, 5);
    opened
}

#[test]
fn options_of_io_uring_work() {
    let opened = reads_with::<Uring>(|_| {});
    assert_eq!(opened.registered_buffers, Some(opened.shortfalls.is_empty()));
    let opened = reads_with::<Uring>(|options| options.fixed_buffers = false);
    assert_eq!((opened.registered_buffers, opened.shortfalls), (Some(false), vec![]));
    reads_with::<Uring>(|options| options.registered_files = false);
    reads_with::<Uring>(|options| options.force_async = 1);
    reads_with::<WithPerIoOptions<Uring>>(|options| options.force_async = 3);
    reads_with::<Uring>(|options| options.sqpoll = Some(None));
    reads_with::<Uring>(|options| options.sqpoll = Some(Some(0)));
}

/// An invalid class is refused, which proves that it reached the kernel.
fn priorities_reach_the_kernel<E: Engine>() {
    let file = Scratch::new(64);
    let mut job = iodyno_job::Job::default();
    job.engine.command_priority.percent.read = 50;
    job.engine.command_priority.class.read = 5;
    let cmdprio = CmdPrio::new(&job, 8, 1).unwrap();
    let slot_priorities = cmdprio.slot_priorities();
    let setup = Setup { cmdprio: Some(cmdprio), ..setup(vec![file.open()], 8, false) };
    let mut engine = E::open(setup).unwrap().engine;
    let mut refused = 0;
    for turn in 0..8 {
        engine.queue(
            (0..8).map(|slot| IoUnit {
                slot,
                ..block(Operation::Read, 0, 8 * turn + u64::from(slot))
            }),
        );
        let mut left = 8;
        while left > 0 {
            engine.enter(1).unwrap();
            for Completion { slot, result } in engine.completions() {
                let priority = slot_priorities[usize::from(slot)].load(Ordering::Relaxed);
                let expected = match priority {
                    0 => LENGTH.into(),
                    0xa000 => -i64::from(libc::EINVAL),
                    other => panic!("{other:x}"),
                };
                assert_eq!(result, expected, "{}", E::NAME);
                refused += u32::from(result < 0);
                left -= 1;
            }
        }
    }
    assert!((16..=48).contains(&refused), "{refused}");
}

#[test]
fn some_ios_have_a_priority_of_their_own() {
    priorities_reach_the_kernel::<WithPerIoOptions<Uring>>();
    priorities_reach_the_kernel::<WithPerIoOptions<Libaio>>();
}

#[test]
fn a_large_ring_and_large_blocks_work() {
    let file = Scratch::new(64);
    let mut setup = setup(vec![file.open()], 40_000, true);
    setup.length = 512;
    let opened = Uring::open(setup).unwrap();
    assert_eq!(opened.depth, 32768);
    assert!(opened.shortfalls[0].to_string().contains("iodepth=32768 instead of 40000"));
    let mut large = super::setup(vec![file.open()], 2, true);
    large.length = 64 * LENGTH;
    let mut engine = Uring::open(large).unwrap().engine;
    for (operation, byte) in [(Operation::Write, 9), (Operation::Read, 0)] {
        if operation == Operation::Write {
            engine.buffers().slot_mut(1, 64 * LENGTH).fill(byte | 9);
        }
        let length = 64 * LENGTH;
        engine.queue(once(IoUnit { length, operation, slot: 1, ..IoUnit::default() }));
        engine.enter(1).unwrap();
        let done: Vec<_> = engine.completions().collect();
        assert_eq!(done, [Completion { slot: 1, result: 64 * BLOCK as i64 }]);
        assert!(engine.buffers().slot(1, 64 * LENGTH).iter().all(|byte| *byte == 9));
    }
}

/// The machine may have poll queues or not; the result is clear either way.
fn polls_or_says_why_not<E: Engine>() {
    let (files, open_all) = written();
    let mut setup = setup(open_all(&files), 8, true);
    setup.options.polled = true;
    match E::open(setup) {
        Ok(mut opened) => {
            read_all(&mut opened, &blocks(Operation::Read, 2, COUNT), 1, 5);
            let sync = IoUnit { operation: Operation::Sync, ..IoUnit::default() };
            assert_eq!(execute_without_data(&mut opened, &[sync]), [0]);
        }
        Err(refused) => {
            let message = refused.to_string();
            assert!(
                message.contains("EOPNOTSUPP") && message.contains("poll_queues=N"),
                "{message}"
            );
        }
    }
}

#[test]
fn polling_works_or_is_refused_with_advice() {
    polls_or_says_why_not::<Uring>();
    polls_or_says_why_not::<Pvsync2>();
}

#[test]
fn setup_errors_have_messages() {
    let file = Scratch::new(1);
    assert!(Uring::open(setup(vec![], 1, false)).is_err());
    let message = UringCmd::open(setup(vec![file.open()], 1, false)).err().unwrap().to_string();
    assert!(message.contains("/dev/ng0n1"), "{message}");
}

#[test]
fn passthrough_completes_whatever_the_kernel_says() {
    // A file in place of a namespace: the kernel knows no passthrough for it.
    let file = Scratch::new(4);
    let char_device = Some(NvmeCharDevice { device: file.open(), nsid: 1, lba_shift: 12 });
    let setup = Setup { char_device, ..setup(vec![file.open()], 8, true) };
    let mut opened = UringCmd::open(setup).unwrap();
    let sync = IoUnit { operation: Operation::Sync, ..IoUnit::default() };
    let unaligned = |operation| IoUnit { offset: 100, ..block(operation, 0, 0) };
    let all = [
        block(Operation::Read, 0, 0),
        block(Operation::Write, 0, 1),
        unaligned(Operation::Read),
        block(Operation::Trim, 0, 2),
        unaligned(Operation::Trim),
        sync,
    ];
    let (refused, invalid) = (-i64::from(libc::EOPNOTSUPP), -i64::from(libc::EINVAL));
    let expected = [refused, refused, invalid, refused, invalid, refused];
    for _ in 0..10 {
        assert_eq!(execute_without_data(&mut opened, &all), expected);
    }
    let mut reader = UringCmd::open(Setup {
        char_device: Some(NvmeCharDevice { device: file.open(), nsid: 1, lba_shift: 12 }),
        ..super::setup(vec![file.open()], 8, false)
    })
    .unwrap();
    for changes in [Operation::Write, Operation::Trim, Operation::Sync, Operation::DataSync] {
        let queue = || reader.engine.queue(once(block(changes, 0, 0)));
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(queue));
        assert!(refused.is_err(), "{changes:?}");
    }
    assert_eq!(execute_without_data(&mut reader, &all[..1]), [-i64::from(libc::EOPNOTSUPP)]);
}

#[test]
fn a_wait_in_a_ring_has_an_end_and_takes_no_cpu() {
    use std::io::Write;
    let (reader, mut writer) = std::io::pipe().unwrap();
    // An empty pipe: the read blocks.
    let mut engine = open::<Uring>(vec![reader.into()], 4, false).engine;
    engine.queue(once(block(Operation::Read, 0, 0)));
    let timeout = Duration::from_millis(200);
    let (begun, before) = (std::time::Instant::now(), thread_usage());
    engine.enter_within(1, timeout).unwrap();
    assert!(begun.elapsed() >= timeout, "Linux 5.11 or later");
    assert_eq!(engine.completions().next(), None);
    let used = thread_usage().since(before);
    assert!(used.cpu_ns() < 50_000_000, "{used:?}");
    writer.write_all(&[7; LENGTH as usize]).unwrap();
    engine.enter_within(1, Duration::from_secs(60)).unwrap();
    let done = engine.completions().next();
    assert_eq!(done, Some(Completion { slot: 0, result: LENGTH.into() }));
}
