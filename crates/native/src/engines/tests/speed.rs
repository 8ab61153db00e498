//! Costs that the loop relies on.

use super::*;
use crate::testing::allocations;

fn allocates_nothing<E: Engine>() {
    const OPERATIONS: [Operation; 5] =
        [Operation::Read, Operation::Write, Operation::Trim, Operation::Sync, Operation::DataSync];
    let file = Scratch::new(64);
    let Opened { mut engine, depth, .. } = open::<E>(vec![file.open()], 32, true);
    let turn = |engine: &mut E, turn: u16| {
        let mut batch = [IoUnit::default(); 32];
        for (slot, unit) in (0..depth).zip(&mut batch) {
            let operation = OPERATIONS[usize::from(slot + turn) % OPERATIONS.len()];
            *unit = IoUnit { slot, ..block(operation, 0, slot.into()) };
            if operation > Operation::Trim {
                (unit.offset, unit.length) = (0, 0);
            }
        }
        engine.queue(batch.into_iter().take(depth.into()));
        let mut done = 0;
        while done < depth {
            engine.enter(1).unwrap();
            done += engine.completions().count() as u16;
        }
    };
    turn(&mut engine, 0);
    let before = allocations();
    (0..50).for_each(|number| turn(&mut engine, number));
    assert_eq!(allocations() - before, 0, "{}", E::NAME);
}

#[test]
fn no_engine_allocates() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations() - before, 1, "allocations are counted");
    each_engine!(allocates_nothing);
}

#[test]
fn io_units_are_small() {
    assert!(size_of::<IoUnit>() <= 24);
}
