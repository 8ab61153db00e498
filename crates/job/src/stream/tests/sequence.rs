//! Tests of `random_distribution=sequence` with the blocks of fio's t/sequence.py.

use iodyno_model::PerDirection;

use super::super::{Request, Room, Stream, Unfit};
use crate::{Amount, Distribution, Job, Pattern};

const BLOCK: u64 = 4096;

fn stream(blocks: &[u32], stride: bool) -> Result<Stream, Unfit> {
    let mut job = Job::default();
    job.pattern.rw = Pattern::RandRead;
    job.pattern.random_distribution = PerDirection::all(Distribution::Sequence(blocks.into()));
    job.pattern.norandommap = true;
    job.pattern.random_sequence_stride = stride;
    job.space.io_size = Some(Amount::Bytes(6 * BLOCK));
    Stream::new(&job, &[Room { size_bytes: 12 * BLOCK, block_bytes: 512 }], 0, 0)
}

#[test]
fn blocks_come_in_the_order_of_the_list() {
    for (stride, expected) in [(false, [2, 0, 1, 2, 0, 1]), (true, [2, 0, 1, 5, 3, 4])] {
        let mut requests = [Request::default(); 10];
        let made = stream(&[2, 0, 1], stride).unwrap().fill(&mut requests);
        let blocks: Vec<u64> = requests[..made].iter().map(|io| io.offset / BLOCK).collect();
        assert_eq!(blocks, expected, "stride {stride}");
    }
    let refused = stream(&[0, 12], false).unwrap_err();
    assert!(refused.0.contains("block 12 of 12"), "{refused}");
}
