//! Sorts I/Os by time, within a window.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Io;

/// Size of the window, I/Os.
const WINDOW: usize = 1 << 16;

/// A window of I/Os; times count from the first that leaves it.
#[derive(Debug, Default)]
pub(super) struct SortWindow {
    /// By time, then by arrival.
    held: BinaryHeap<Reverse<(u64, u64)>>,
    ios: std::collections::HashMap<u64, Io>,
    number: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    /// I/Os that were too late for the window, and got the time of the one before.
    pub(super) displaced: u64,
}

impl SortWindow {
    pub(super) fn push(&mut self, io: Io) {
        self.number += 1;
        self.held.push(Reverse((io.at_ns, self.number)));
        self.ios.insert(self.number, io);
    }

    pub(super) fn is_full(&self) -> bool {
        self.held.len() >= WINDOW
    }

    /// Time 0, ns as in the source.
    pub(super) const fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    /// Removes the oldest I/O.
    pub(super) fn pop(&mut self) -> Option<Io> {
        let Reverse((time_ns, number)) = self.held.pop()?;
        let io = self.ios.remove(&number)?;
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        let at_ns = time_ns.saturating_sub(first_ns);
        self.displaced += u64::from(at_ns < self.last_ns);
        self.last_ns = self.last_ns.max(at_ns);
        Some(Io { at_ns: self.last_ns, ..io })
    }
}
