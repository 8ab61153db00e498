//! Tests of `sprandom`.

use super::properties::{all, job, room};
use crate::{IoEngine, Pattern};

const BLOCKS: usize = 64 << 20 >> 12;

#[test]
fn sprandom_writes_the_physical_capacity_in_each_loop_whatever_the_engine() {
    for (engine, loops) in [(IoEngine::Psync, 1), (IoEngine::Libaio, 1), (IoEngine::Libaio, 2)] {
        let mut job = job(Pattern::RandWrite, 4096);
        job.pattern.sprandom = true;
        job.pattern.norandommap = true;
        job.pattern.random_generator = crate::RandomGenerator::Lfsr;
        job.pattern.preconditioning.over_provisioning = 0.25;
        job.engine.ioengine = engine;
        job.space.loops = loops;
        let written = all(&job, &room(64 << 20)).len();
        let physical = BLOCKS * 5 / 4 * loops as usize;
        assert!(written.abs_diff(physical) < physical / 30, "{engine:?}: {written} of {physical}");
    }
}

#[test]
fn sprandom_on_regions_smaller_than_the_cache_is_refused() {
    let mut job = job(Pattern::RandWrite, 4096);
    (job.pattern.sprandom, job.pattern.norandommap) = (true, true);
    job.pattern.random_generator = crate::RandomGenerator::Lfsr;
    job.pattern.preconditioning.cache_bytes = 32 << 20;
    let refused = super::super::Stream::new(&job, &room(32 << 20), 0, 0).unwrap_err();
    assert!(refused.0.contains("spr_cs"), "{refused:?}");
}
