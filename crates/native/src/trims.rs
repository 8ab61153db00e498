//! Trims of some of the writes that are verified (fio's `trim_percentage`, trim.c).

use std::collections::VecDeque;

use iodyno_job::{Job, Operation, Request};

use crate::contents::mix;

/// Selects the writes to trim, and when.
#[derive(Debug)]
pub(crate) struct Trims {
    percent: u64,
    random: u64,
    /// Sum of `percent` over all writes.
    sum: u64,
    /// Next value of `sum` at which another trim is owed, drawn at random from each hundred: the
    /// share is exact even for few writes, and the choice is random.
    next: u64,
    owed: u64,
    queued: VecDeque<Request>,
    /// Writes between two batches of trims.
    pub(crate) every: u64,
    /// Largest batch of trims.
    batch: usize,
}

impl Trims {
    /// The trims of `job`, if it has any; `seed` selects the writes.
    pub(crate) fn new(job: &Job, seed: u64) -> Option<Self> {
        let verify = &job.verify;
        let batch = if verify.trim_batch > 0 { verify.trim_batch } else { verify.trim_backlog };
        job.trims_writes().then(|| Self {
            percent: verify.trim_percent.into(),
            random: seed,
            sum: 0,
            next: draw_percent(seed),
            owed: 0,
            queued: VecDeque::new(),
            every: verify.trim_backlog,
            batch: usize::try_from(batch).unwrap_or(usize::MAX),
        })
    }

    /// Records a write and decides if it is to be trimmed.
    pub(crate) fn add_write(&mut self, file: u16, offset: u64, length: u32) {
        self.sum += self.percent;
        while self.next <= self.sum {
            self.owed += 1;
            self.random = mix(self.random, offset);
            self.next = self.next.next_multiple_of(100) + draw_percent(self.random);
        }
        if self.owed > 0 {
            self.owed -= 1;
            self.queued.push_back(Request { offset, length, file, operation: Operation::Trim });
        }
    }

    /// Takes the next batch of trims.
    pub(crate) fn next_batch(&mut self) -> Vec<Request> {
        let count = self.batch.min(self.queued.len());
        self.queued.drain(..count).collect()
    }
}

/// A number from 1 to 100, from the upper bits, evenly distributed.
const fn draw_percent(random: u64) -> u64 {
    1 + (((random >> 32) * 100) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trimmed_share_is_exact_and_depends_on_the_seed() {
        let chosen = |percent, seed| {
            let mut job = Job::default();
            job.pattern.rw = iodyno_job::Pattern::Write;
            job.verify.method = iodyno_job::VerifyMethod::Md5;
            (job.verify.trim_percent, job.verify.trim_backlog) = (percent, 1000);
            let mut trims = Trims::new(&job, mix(seed, 0)).unwrap();
            (0..64).for_each(|n| trims.add_write(0, 4096 * n, 4096));
            trims.next_batch()
        };
        for percent in 1..=100 {
            for seed in 0..20 {
                let count = chosen(percent, seed).len() as f64;
                let asked = f64::from(percent) * 0.64;
                assert!((count - asked).abs() <= 1.0, "{percent} %: {count}");
            }
        }
        assert_ne!(chosen(50, 1), chosen(50, 2));
    }
}
