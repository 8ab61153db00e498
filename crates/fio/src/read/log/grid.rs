//! Time windows of equal length.

/// I/O done in a window. Amounts that span windows are divided by time, so they are not integers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Cell {
    pub(super) ios: f64,
    pub(super) bytes: f64,
    pub(super) latency_sum_ns: f64,
    /// Number of latencies, or of means.
    pub(super) latency_count: f64,
    /// True if the IOPS log ended before other logs of the same job.
    pub(super) ios_missing: bool,
    /// The same for the bandwidth log.
    pub(super) bytes_missing: bool,
}

impl Cell {
    pub(super) fn add(&mut self, other: &Self, share: f64) {
        self.ios += other.ios * share;
        self.bytes += other.bytes * share;
        self.latency_sum_ns += other.latency_sum_ns * share;
        self.latency_count += other.latency_count * share;
        self.ios_missing |= other.ios_missing;
        self.bytes_missing |= other.bytes_missing;
    }
}

/// Content of a window that can be joined with the next one's.
pub(super) trait Join: Default {
    /// Adds the content of `next`.
    fn join(&mut self, next: Self);
}

impl Join for Cell {
    fn join(&mut self, next: Self) {
        self.add(&next, 1.0);
    }
}

impl Join for iodyno_model::Histogram {
    fn join(&mut self, next: Self) {
        self.merge(&next);
    }
}

/// Windows from time 0 on, at most `LIMIT`: beyond that, pairs of windows are joined.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid<T, const LIMIT: usize> {
    pub(super) width_ns: u64,
    pub(super) cells: Vec<T>,
    /// End of the added data, ns.
    pub(super) end_ns: u64,
}

impl<T: Join, const LIMIT: usize> Grid<T, LIMIT> {
    pub(super) const fn new(width_ns: u64) -> Self {
        Self { width_ns, cells: Vec::new(), end_ns: 0 }
    }

    /// Window that contains the time `ns`.
    pub(super) fn at(&mut self, ns: u64) -> &mut T {
        while ns / self.width_ns >= LIMIT as u64 {
            self.widen();
        }
        let index = (ns / self.width_ns) as usize;
        if self.cells.len() <= index {
            self.cells.resize_with(index + 1, T::default);
        }
        &mut self.cells[index]
    }

    fn widen(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        while let Some(mut cell) = cells.next() {
            cells.next().into_iter().for_each(|next| cell.join(next));
            self.cells.push(cell);
        }
    }

    /// Joins windows until they are at least `width_ns` long.
    pub(super) fn widen_to(&mut self, width_ns: u64) {
        while self.width_ns < width_ns {
            self.widen();
        }
    }

    /// Adds all windows of `other`, each to the window that contains its middle.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.widen_to(other.width_ns);
        other.widen_to(self.width_ns);
        let width_ns = other.width_ns;
        for (n, cell) in other.cells.into_iter().enumerate() {
            self.at((n as u64).saturating_mul(width_ns).saturating_add(width_ns / 2)).join(cell);
        }
        self.end_ns = self.end_ns.max(other.end_ns);
    }
}

impl<const LIMIT: usize> Grid<Cell, LIMIT> {
    /// Adds an amount done from `from_ns` to `to_ns`, at a constant rate.
    pub(super) fn spread(&mut self, from_ns: u64, to_ns: u64, amount: &Cell) {
        let length = to_ns.saturating_sub(from_ns).max(1) as f64;
        self.at(to_ns.saturating_sub(1));
        let mut at = from_ns;
        while at < to_ns {
            let end = (at / self.width_ns + 1).saturating_mul(self.width_ns).min(to_ns);
            self.at(at).add(amount, (end - at) as f64 / length);
            at = end;
        }
        self.end_ns = self.end_ns.max(to_ns);
    }

    /// Window `n`; `None` after the last one.
    pub(super) fn cell(&self, n: usize) -> Option<Cell> {
        self.cells.get(n).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_amounts_keep_their_sum() {
        let mut grid: Grid<Cell, 8> = Grid::new(100);
        let one = Cell { ios: 30.0, ..Cell::default() };
        grid.spread(50, 350, &one);
        let ios: Vec<f64> = grid.cells.iter().map(|cell| cell.ios).collect();
        assert_eq!(ios, [5.0, 10.0, 10.0, 5.0]);
        grid.spread(350, 2000, &one);
        assert_eq!(grid.width_ns, 400);
        let mut other: Grid<Cell, 8> = Grid::new(100);
        other.spread(0, 100, &one);
        other.merge(grid);
        assert_eq!((other.width_ns, other.end_ns), (400, 2000));
        assert!((other.cells.iter().map(|cell| cell.ios).sum::<f64>() - 90.0).abs() < 1e-9);
        *other.at(u64::MAX) = one;
        assert_eq!(other.cells.len(), 1 + (u64::MAX / other.width_ns) as usize);
    }
}
