//! Costs that the loop relies on.

use super::*;
use crate::testing::allocations;

fn allocates_nothing<I: Io>() {
    const OPERATIONS: [Operation; 5] =
        [Operation::Read, Operation::Write, Operation::Trim, Operation::Sync, Operation::DataSync];
    let file = Scratch::new(64);
    let Opened { mut io, depth, .. } = open::<I>(vec![file.open()], 32, true);
    let turn = |io: &mut I, turn: u16| {
        let mut batch = [Descriptor::default(); 32];
        for (slot, descriptor) in (0..depth).zip(&mut batch) {
            let operation = OPERATIONS[usize::from(slot + turn) % OPERATIONS.len()];
            *descriptor = Descriptor { slot, ..block(operation, 0, slot.into()) };
            if operation > Operation::Trim {
                (descriptor.offset, descriptor.length) = (0, 0);
            }
        }
        io.queue(batch.into_iter().take(depth.into()));
        let mut done = 0;
        while done < depth {
            io.enter(1).unwrap();
            done += io.completions().count() as u16;
        }
    };
    turn(&mut io, 0);
    let before = allocations();
    (0..50).for_each(|number| turn(&mut io, number));
    assert_eq!(allocations() - before, 0, "{}", I::NAME);
}

#[test]
fn no_engine_allocates() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations() - before, 1, "allocations are counted");
    each_engine!(allocates_nothing);
}

#[test]
fn descriptors_are_small() {
    assert!(size_of::<Descriptor>() <= 24);
}
