//! Search for the number of outstanding I/Os: doubles it until the rate hardly grows.

use crate::plan::Search;

/// A search in progress. Pure: given the rate of a depth, it returns the next depth to try.
#[derive(Debug, Clone)]
pub(crate) struct DepthSearch {
    search: Search,
    tried: Vec<(u32, f64)>,
}

impl DepthSearch {
    /// New search; `limit` is an additional bound, the depth of the queue.
    pub(crate) fn new(search: Search, limit: u32) -> Self {
        let to = search.to.min(limit).max(1);
        Self { search: Search { from: search.from.min(to), to, ..search }, tried: Vec::new() }
    }

    /// Next number of outstanding I/Os to try; `None` at the end.
    pub(crate) fn next(&self) -> Option<u32> {
        match self.tried.as_slice() {
            [] => Some(self.search.from),
            [.., (_, before), (_, last)] if *last < before * self.growth() => None,
            [.., (depth, _)] => {
                let next = depth.saturating_mul(2);
                (next <= self.search.to).then_some(next)
            }
        }
    }

    fn growth(&self) -> f64 {
        1.0 + self.search.growth_percent / 100.0
    }

    /// Adds the IOPS of `depth`.
    pub(crate) fn tried(&mut self, depth: u32, iops: f64) {
        self.tried.push((depth, iops));
    }

    /// Smallest depth beyond which the rate hardly grew, or the first one.
    pub(crate) fn found(&self) -> u32 {
        match self.tried.as_slice() {
            [.., (depth, before), (_, last)] if *last < before * self.growth() => *depth,
            [.., (depth, _)] => *depth,
            [] => self.search.from,
        }
    }

    /// Every depth tried, with its rate.
    pub(crate) fn history(&self) -> &[(u32, f64)] {
        &self.tried
    }
}

/// Spreads `outstanding` I/Os over at most `cpus` threads: first threads of 64 I/Os each, then
/// deeper ones. Returns (threads, depth of each).
pub(crate) fn spread(outstanding: u32, cpus: u32) -> (u32, u32) {
    let threads = (outstanding / 64).clamp(1, cpus.max(1));
    (threads, outstanding.div_ceil(threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Search = Search { from: 64, to: 8192, growth_percent: 2.0 };

    fn run(limit: u32, rate: impl Fn(u32) -> f64) -> DepthSearch {
        let mut search = DepthSearch::new(SEARCH, limit);
        while let Some(depth) = search.next() {
            search.tried(depth, rate(depth));
        }
        search
    }

    #[test]
    fn search_stops_where_the_rate_stops_growing() {
        let search = run(u32::MAX, |depth| f64::from(depth.min(300)) * 1000.0);
        assert_eq!(search.found(), 512);
        assert_eq!(search.history().last().unwrap().0, 1024);
        assert_eq!(run(u32::MAX, |_| 1000.0).found(), 64);
        assert_eq!(run(u32::MAX, f64::from).found(), 8192);
        assert_eq!(run(1000, f64::from).found(), 512);
        assert_eq!(run(16, f64::from).found(), 16);
    }

    #[test]
    fn threads_come_before_depth_and_never_exceed_the_cpus() {
        assert_eq!(spread(64, 8), (1, 64));
        assert_eq!(spread(512, 8), (8, 64));
        assert_eq!(spread(4096, 8), (8, 512));
        assert_eq!(spread(256, 1), (1, 256));
        assert_eq!(spread(1, 0), (1, 1));
    }
}
