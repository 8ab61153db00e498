//! How many completions the loop waits for.

use super::*;

/// A full queue at an unreachable rate waits for as many completions as a job without one.
fn waits_for_several<E: Engine>() {
    let mut job = reads(Pattern::RandRead, 16);
    job.pace.rate_iops.read = Some(1_000_000_000);
    let file = NumberedFile::new(BLOCKS);
    for (asked, most) in [(0, 1), (1, 1), (4, 4), (100, 16)] {
        let both = <(JobControl, Tally)>::default();
        let engine = E::open(Setup::read_only(vec![file.open()], 16, LENGTH)).unwrap().engine;
        let engine = Watched::new(engine, &both.0, BLOCKS);
        let mut io_loop = io_loop(engine, &job, 16, &both);
        io_loop.min_completions = asked;
        io_loop.run().unwrap();
        assert_eq!(io_loop.engine.most_waited, most, "{}: {asked}", E::NAME);
        assert_eq!(io_loop.slots.count(), 0);
    }
}

#[test]
fn a_pace_leaves_the_number_of_completions_as_configured() {
    waits_for_several::<Uring>();
    waits_for_several::<Libaio>();
}
