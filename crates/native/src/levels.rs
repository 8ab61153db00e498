//! How deep the queue was, and how large the batches: fio's distributions.

use iodyno_model::Account;

/// Counts of batches and of I/Os by the depth they met.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Levels {
    depth: [u64; 7],
    submit: [u64; 7],
    complete: [u64; 7],
}

impl Levels {
    /// `count` I/Os were submitted at once, and then `in_flight` were outstanding.
    #[inline]
    pub(crate) const fn submitted(&mut self, count: usize, in_flight: usize) {
        if count > 0 {
            self.depth[depth_level(in_flight)] += count as u64;
            self.submit[batch_level(count)] += 1;
        }
    }

    /// `count` completions were seen at once.
    #[inline]
    pub(crate) const fn completed(&mut self, count: usize) {
        self.complete[batch_level(count)] += 1;
    }

    /// Adds them to an account.
    pub(crate) fn add_to(&self, account: &mut Account) {
        for (sum, one) in [
            (&mut account.depth_levels, &self.depth),
            (&mut account.submit_levels, &self.submit),
            (&mut account.complete_levels, &self.complete),
        ] {
            sum.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
        }
    }
}

/// 1, 2, 4, 8, 16, 32, 64 and more.
const fn depth_level(depth: usize) -> usize {
    let level = depth.ilog2() as usize;
    if level < 7 { level } else { 6 }
}

/// 0, 1 to 4, 5 to 8, 9 to 16, 17 to 32, 33 to 64, more.
const fn batch_level(count: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let level = (count - 1) >> 2;
    let level = if level == 0 { 1 } else { level.ilog2() as usize + 2 };
    if level < 7 { level } else { 6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_fio() {
        let levels = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 1000].map(batch_level);
        assert_eq!(levels, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
        let levels = [1, 2, 3, 4, 63, 64, 4096].map(depth_level);
        assert_eq!(levels, [0, 1, 1, 2, 5, 6, 6]);
    }
}
