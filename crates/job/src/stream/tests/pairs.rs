//! Tests of `trimwrite`.

use super::properties::{all, job, room};
use crate::{BlockSize, Operation, Pattern};

#[test]
fn a_write_is_as_long_as_the_trim_before_it() {
    for rw in [Pattern::TrimWrite, Pattern::RandTrimWrite] {
        let mut job = job(rw, 512);
        job.pattern.bs.write = BlockSize::Range { low: 512, high: 4096 };
        job.pattern.bs.trim = job.pattern.bs.write.clone();
        job.pattern.norandommap = true;
        let requests = all(&job, &room(1 << 20));
        let lengths: std::collections::BTreeSet<u32> =
            requests.iter().map(|io| io.length).collect();
        assert!(requests.len() > 400 && lengths.len() > 3, "{lengths:?}");
        for pair in requests.chunks_exact(2) {
            let operations = (pair[0].operation, pair[1].operation);
            assert_eq!(operations, (Operation::Trim, Operation::Write));
            assert_eq!((pair[0].offset, pair[0].length), (pair[1].offset, pair[1].length));
        }
    }
}
