//! The points of a study: which there are, and in which order.

use std::collections::BTreeMap;

use iodyno_job::parse_seconds;
use iodyno_model::Purpose;

use super::error::Refusal;
use super::order::{Axis, cells, refinement};
use super::stop::Ends;
use super::study::{MadeBy, Order, Study, StudyStep, Until, written};

/// Options in the order in which people name them.
const FIRST: [&str; 6] = ["rw", "readwrite", "bs", "blocksize", "iodepth", "numjobs"];

/// No study has more points: as many as a script has jobs.
pub(super) const POINTS_MAX: u64 = 4096;

/// One point of a study.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// Name of its part and its coordinates: `rw=randread bs=4k iodepth=16`.
    pub title: String,
    /// File or device; several are measured at the same time.
    pub targets: Vec<String>,
    /// Which time it is, from 0.
    pub repetition: u32,
    /// Its round, from 1; `None`: it is not one of a round.
    pub round: Option<u32>,
    /// Name of its part; empty where the study has none.
    pub part: String,
    /// Its coordinates in the grid: option and value, in the order of the title.
    pub at: Vec<(String, String)>,
    /// All its options, by name.
    pub options: Vec<(String, String)>,
    /// It ends once it is known well enough.
    pub until_known: bool,
    /// It has a new file of its own in each target, a directory.
    pub own_file: bool,
    /// What it is for.
    pub purpose: Purpose,
}

impl Point {
    /// Its targets, as they are shown.
    pub fn place(&self) -> String {
        self.targets.join(" ")
    }

    /// It writes or trims.
    pub fn writes(&self) -> bool {
        let rw = self.options.iter().find(|(name, _)| name == "rw" || name == "readwrite");
        rw.is_some_and(|(_, rw)| !matches!(rw.split(':').next(), Some("read" | "randread")))
    }

    /// What it writes is flushed now and then.
    pub(crate) fn flushes(&self) -> bool {
        let is_flush = |name: &str| matches!(name, "fsync" | "fdatasync");
        self.options.iter().any(|(name, every)| is_flush(name) && every != "0")
    }

    /// How long it takes, ns, where its options say so.
    pub fn runtime_ns(&self) -> Option<u64> {
        let (_, runtime) = self.options.iter().find(|(name, _)| name == "runtime")?;
        parse_seconds(runtime).ok()
    }
}

impl Study {
    /// Its parts; a study without has one, whose grid is the study's.
    pub(crate) fn parts(&self) -> Vec<StudyStep> {
        if self.prepares_only() {
            return Vec::new();
        }
        if self.steps.is_empty() {
            return vec![StudyStep { grid: self.grid.clone(), ..StudyStep::default() }];
        }
        let with_grid = |step: &StudyStep| {
            let grid = if step.grid.is_empty() { &self.grid } else { &step.grid };
            // What a part fixes, it does not vary.
            let grid = grid.iter().filter(|(option, _)| !step.job.contains_key(*option));
            let grid = grid.map(|(option, values)| (option.clone(), values.clone())).collect();
            StudyStep { grid, ..step.clone() }
        };
        self.steps.iter().map(with_grid).collect()
    }

    /// Drives are prepared and nothing is measured.
    fn prepares_only(&self) -> bool {
        let says_nothing = self.job.is_empty() && self.grid.is_empty() && self.steps.is_empty();
        says_nothing && self.preparation.is_some()
    }

    /// How many points it has: counted, not made.
    pub(super) fn point_count(&self) -> u64 {
        let product = |of: u64, by: u64| of.saturating_mul(by);
        let cells = |step: &StudyStep| {
            step.grid.values().map(|values| values.len() as u64).fold(1, product)
        };
        let sum = |after: bool| {
            let parts = self.parts();
            let of = parts.iter().filter(|step| step.after == after || self.rounds.is_none());
            of.map(cells).fold(0, u64::saturating_add)
        };
        let targets = (self.targets.len() as u64).max(1);
        let once = match &self.rounds {
            Some(rounds) => product(sum(false), rounds.most.into()).saturating_add(sum(true)),
            None => product(sum(false), self.repeat.into()),
        };
        // Together they are one, unless there are more and more of them.
        if self.targets_together && self.scaling.is_none() { once } else { product(once, targets) }
    }

    /// All points in their order; `seed` is of the random one.
    pub fn points(&self, seed: u64) -> Vec<Point> {
        if let Some(rounds) = &self.rounds {
            return self.points_in_rounds(rounds);
        }
        let mut points = Vec::new();
        for repetition in 0..self.repeat {
            for targets in self.target_groups() {
                let first = points.len();
                for step in self.parts() {
                    let axes = axes(&step);
                    let mut cells = cells(&axes);
                    if self.order == Order::Corners {
                        cells.sort_by_key(|cell| refinement(&axes, cell));
                    }
                    for cell in &cells {
                        let point = self.point(&step, &axes, cell, &targets, repetition);
                        points.extend(self.scaled_up(point));
                    }
                }
                if self.order == Order::Random {
                    let seed = seed.wrapping_add(repetition.into());
                    fastrand::Rng::with_seed(seed).shuffle(&mut points[first..]);
                }
            }
        }
        points
    }

    /// When each of `points` ends.
    pub fn ends(&self, points: &[Point]) -> Vec<Ends> {
        let end = |point: &Point| match self.generator {
            MadeBy::Native if point.until_known && point.writes() && !self.fresh => Ends::Steady,
            MadeBy::Native if point.until_known => Ends::Known,
            MadeBy::Native | MadeBy::Fio => Ends::ByThemselves,
        };
        points.iter().map(end).collect()
    }

    /// What is measured at the same time.
    pub(super) fn target_groups(&self) -> Vec<Vec<String>> {
        if self.targets_together || self.scaling.is_some() {
            return vec![self.targets.clone()];
        }
        self.targets.iter().map(|target| vec![target.clone()]).collect()
    }

    /// A point of all targets on one of them, on two, and so on, where that is asked.
    fn scaled_up(&self, point: Point) -> Vec<Point> {
        if self.scaling.is_none() {
            return vec![point];
        }
        let on = |count| Point { targets: point.targets[..count].to_vec(), ..point.clone() };
        (1..=point.targets.len()).map(on).collect()
    }

    /// All points are measured as often as they fit into `duration_ns`, at
    /// least once.
    ///
    /// # Errors
    /// A point does not say how long it takes, or there are rounds.
    pub fn repeat_for(&mut self, duration_ns: u64) -> Result<(), Refusal> {
        if self.rounds.is_some() {
            return Err("--for: rounds last until the drive is steady".into());
        }
        let max_ns = self.stop().map_err(|error| error.text)?.max_ns;
        self.repeat = 1;
        let lasts = |point: &Point| match point.until_known {
            true => Some(max_ns),
            false => point.runtime_ns(),
        };
        let Some(once_ns) = self.points(0).iter().map(lasts).sum::<Option<u64>>() else {
            return Err("--for: the plan has points that take as long as their work does".into());
        };
        self.repeat = u32::try_from(duration_ns / once_ns.max(1)).unwrap_or(u32::MAX).max(1);
        Ok(())
    }

    pub(super) fn point(
        &self,
        step: &StudyStep,
        axes: &[Axis],
        cell: &[usize],
        targets: &[String],
        repetition: u32,
    ) -> Point {
        let mut options: BTreeMap<String, String> = BTreeMap::new();
        for (option, value) in self.job.iter().chain(&step.job) {
            options.insert(option.clone(), written(value).unwrap_or_default());
        }
        let at: Vec<(String, String)> = axes
            .iter()
            .zip(cell)
            .map(|(axis, at)| (axis.option.clone(), axis.values[*at].clone()))
            .collect();
        options.extend(at.iter().cloned());
        let named = Some(step.name.clone()).filter(|name| !name.is_empty());
        let coordinates = at.iter().map(|(option, value)| format!("{option}={value}"));
        let words: Vec<String> = named.into_iter().chain(coordinates).collect();
        let title = if words.is_empty() { self.name.clone() } else { words.join(" ") };
        Point {
            title,
            targets: targets.to_vec(),
            repetition,
            round: None,
            part: step.name.clone(),
            at,
            options: options.into_iter().collect(),
            // In a round each lasts its time.
            until_known: step.until == Until::Known && self.rounds.is_none(),
            own_file: step.own_file,
            purpose: step.purpose,
        }
    }
}

/// The axes of a part's grid: those that everybody looks for first stand first.
pub(super) fn axes(step: &StudyStep) -> Vec<Axis> {
    let mut axes: Vec<Axis> = step
        .grid
        .iter()
        .map(|(option, values)| {
            let values = values.iter().map(|value| written(value).unwrap_or_default());
            Axis::new(option, values.collect())
        })
        .collect();
    let rank = |axis: &Axis| FIRST.iter().position(|option| *option == axis.option);
    axes.sort_by_key(|axis| rank(axis).unwrap_or(FIRST.len()));
    axes
}
