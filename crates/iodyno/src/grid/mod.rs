//! Table of a sweep's points that fills while they are measured; pure, from events to lines.

mod table;

use std::path::{Path, PathBuf};

use iodyno_campaign::Point;
use iodyno_model::{EndReason, Measurement, Prediction};

/// Lines below the table.
const STATUS_LINES: usize = 2;

/// State of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Open,
    Measured { value: f64, is_wide: bool },
    Predicted(f64),
    Failed,
}

/// A point and its state.
struct Entry {
    point: Point,
    /// Resolved directories of its own files, as measurements name them.
    directories: Vec<PathBuf>,
    cell: Cell,
}

/// All points of a sweep. The part of the grid around the current point is shown.
pub(crate) struct Grid {
    entries: Vec<Entry>,
    /// Show bandwidth, since block sizes differ; else IOPS.
    by_bandwidth: bool,
    current: Option<usize>,
    rate: f64,
    done: usize,
}

impl Grid {
    /// Creates the grid of `points`, with the results in `measured`.
    pub(crate) fn new(points: &[Point], measured: &[Measurement]) -> Self {
        let directory =
            |typed: &String| std::fs::canonicalize(typed).unwrap_or_else(|_| typed.into());
        let entry = |point: &Point| Entry {
            point: point.clone(),
            directories: match point.own_file {
                true => point.targets.iter().map(directory).collect(),
                false => Vec::new(),
            },
            cell: Cell::Open,
        };
        let bs = |point: &Point| {
            let mut at = point.at.iter();
            at.find(|(option, _)| option == "bs").map(|(_, bs)| bs.clone())
        };
        let mut sizes: Vec<_> = points.iter().map(bs).collect();
        sizes.sort();
        sizes.dedup();
        let mut grid = Self {
            entries: points.iter().map(entry).collect(),
            by_bandwidth: sizes.len() > 1,
            current: None,
            rate: 0.0,
            done: 0,
        };
        measured.iter().for_each(|of| grid.measured(of));
        grid
    }

    /// Updates the rate of the running measurement: IOPS and bytes per second.
    pub(crate) fn progress(&mut self, step: &str, target: &str, [iops, bytes_per_s]: [f64; 2]) {
        self.current = self.find(step, target);
        self.rate = if self.by_bandwidth { bytes_per_s } else { iops };
    }

    /// Records a finished measurement.
    pub(crate) fn measured(&mut self, of: &Measurement) {
        let Some(at) = self.find(&of.name, &of.targets.join(" ")) else { return };
        self.done += 1;
        let figure = |result: &iodyno_model::DirectionResult| {
            let rate = if self.by_bandwidth { result.bandwidth } else { result.iops };
            rate.map(|rate| rate.value)
        };
        let values: Vec<f64> = of.total.iter().filter_map(figure).collect();
        self.entries[at].cell = match of.end {
            EndReason::Failed(_) => Cell::Failed,
            EndReason::Interrupted => Cell::Open,
            _ if values.is_empty() => Cell::Open,
            _ => {
                Cell::Measured { value: values.iter().sum(), is_wide: of.end == EndReason::MaxTime }
            }
        };
    }

    /// Replaces all predictions.
    pub(crate) fn predicted(&mut self, all: &[Prediction]) {
        let bytes_per_io = if self.by_bandwidth { self.block_bytes() } else { Vec::new() };
        for (n, entry) in self.entries.iter_mut().enumerate() {
            if matches!(entry.cell, Cell::Open | Cell::Predicted(_)) {
                let of = &entry.point;
                let its = all.iter().find(|one| one.name == of.title && one.target == of.place());
                let size = bytes_per_io.get(n).copied().unwrap_or(Some(1.0));
                let value = its.zip(size).map(|(one, size)| one.iops.value * size);
                entry.cell = value.map_or(Cell::Open, Cell::Predicted);
            }
        }
    }

    /// Block size of each point, bytes; `None`: several sizes.
    fn block_bytes(&self) -> Vec<Option<f64>> {
        let bytes = |entry: &Entry| {
            iodyno_job::parse_size(entry.point.option("bs")?).ok().map(|bytes| bytes as f64)
        };
        self.entries.iter().map(bytes).collect()
    }

    fn find(&self, title: &str, target: &str) -> Option<usize> {
        // The files of several jobs are shown as `2 targets`.
        let is_path = target.starts_with('/');
        let is_it = |entry: &Entry| {
            let own = entry.point.targets.iter().map(|target| last_word(target));
            let mut directories = entry.directories.iter();
            entry.point.title == title
                && (entry.point.own_file && !is_path
                    || directories.any(|directory| Path::new(target).starts_with(directory))
                    || entry.point.place() == target
                    || own.eq(target.split(' ').map(last_word)))
        };
        self.entries.iter().position(is_it)
    }

    /// Table around the current point with a summary below, in at most `height` lines of `width`
    /// columns.
    pub(crate) fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let mut lines = match self.current {
            Some(current) => self.table(current, width, height.saturating_sub(STATUS_LINES)),
            None => Vec::new(),
        };
        let predicted = self.count(|cell| matches!(cell, Cell::Predicted(_)));
        let mut items = vec![format!("{} of {} points", self.done, self.entries.len())];
        if predicted > 0 {
            items.push(format!("{predicted} predicted"));
        }
        lines.push(items.join("  "));
        lines.push(self.legend());
        lines.retain(|line| !line.is_empty());
        lines.iter().map(|line| truncated(line, width)).collect()
    }

    fn count(&self, is: impl Fn(&Cell) -> bool) -> usize {
        self.entries.iter().filter(|entry| is(&entry.cell)).count()
    }

    /// Legend of the marks in use.
    fn legend(&self) -> String {
        let marks = [
            ("~ predicted", self.count(|cell| matches!(cell, Cell::Predicted(_)))),
            (
                "? less precise than asked",
                self.count(|cell| matches!(cell, Cell::Measured { is_wide: true, .. })),
            ),
            ("x failed", self.count(|cell| *cell == Cell::Failed)),
        ];
        let used = marks.iter().filter(|(_, count)| *count > 0).map(|(mark, _)| *mark);
        used.collect::<Vec<_>>().join("  ")
    }
}

/// Last component of a path.
fn last_word(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

fn truncated(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use iodyno_campaign::Study;
    use iodyno_model::Estimate;

    use super::*;

    fn grid() -> Grid {
        let mut study = Study::preset("depth-grid").unwrap();
        study.targets = vec!["/dev/nvme0n1".into()];
        Grid::new(&study.points(0), &[])
    }

    /// Rate of 4k reads: IOPS, bytes per second.
    const RATE: [f64; 2] = [142_000.0, 582e6];
    const STEP: &str = "rw=read iodepth=16 numjobs=4";

    #[test]
    fn the_current_part_is_shown_with_what_is_known_of_it() {
        let mut grid = grid();
        assert!(grid.lines(80, 24)[0].starts_with("0 of 196 points"), "nothing is current yet");
        grid.progress(STEP, "nvme0n1", RATE);
        let name = "rw=read iodepth=64 numjobs=64".to_owned();
        let (target, iops) = ("/dev/nvme0n1".to_owned(), Estimate::bare(512_000.0));
        let prediction = Prediction { name, target, beside: 0, iodepth: 64, numjobs: 64, iops };
        grid.predicted(&[prediction]);
        let lines = grid.lines(80, 24);
        assert_eq!(lines[0], "rw=read nvme0n1: IOPS");
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["iodepth", "\\", "numjobs", "1", "2", "4", "8", "16", "32", "64"]
        );
        assert_eq!(
            lines[6].split_whitespace().collect::<Vec<_>>()[..4],
            ["16", ".", ".", "[142k]"]
        );
        assert!(lines[8].ends_with("~512k"), "{lines:?}");
        assert_eq!(lines[9], "0 of 196 points  1 predicted");
        assert_eq!(lines[10], "~ predicted");
    }

    #[test]
    fn files_belong_to_the_points_of_their_directory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let directories = ["a", "ab"].map(|name| {
            std::fs::create_dir(path.join(name)).unwrap();
            path.join(name).display().to_string()
        });
        let mut study = Study::preset("file-layout").unwrap();
        study.targets = directories.iter().rev().cloned().collect();
        let grid = Grid::new(&study.points(0), &[]);
        for directory in &directories {
            for file in [format!("{directory}/new.0.0"), format!("{directory}/x {directory}/y")] {
                let found = grid.find("new", &file).map(|at| grid.entries[at].point.place());
                assert_eq!(found.as_ref(), Some(directory), "{file}");
            }
        }
        assert!(grid.find("new", "2 targets").is_some());
        assert_eq!(grid.find("new", "/elsewhere/new.0.0"), None);
    }

    #[test]
    fn grid_fits_every_terminal() {
        let mut grid = grid();
        grid.progress(STEP, "nvme0n1", RATE);
        for (width, height) in [(1, 1), (20, 6), (40, 10), (80, 24), (120, 50)] {
            let lines = grid.lines(width, height);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:?}");
            assert!(lines.len() <= height.max(STATUS_LINES + 3), "{height}: {lines:?}");
            // The current point stays visible wherever there is any room.
            let seen = lines.iter().any(|line| line.contains("[142k]"));
            assert!(seen || width < 40, "{width}x{height}: {lines:?}");
        }
    }
}
