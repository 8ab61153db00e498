//! Points of a study, in their order.

use iodyno_job::{Job, apply_all};
use iodyno_model::Purpose;

use super::error::Refusal;
use super::order::{Axis, cells, refinement};
use super::stop::PointEnd;
use super::study::{MadeBy, Order, Study, StudyStep, Until, written};

/// Options that come first in titles, in the customary order.
const FIRST: [&str; 4] = ["rw", "bs", "iodepth", "numjobs"];

/// Most points of a study: as many as a script has jobs.
pub(super) const POINTS_MAX: u64 = 4096;

/// One point of a study.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// Name of its step and its coordinates: `rw=randread bs=4k iodepth=16`.
    pub title: String,
    /// File or device; several are measured at the same time.
    pub targets: Vec<String>,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    /// Its round, from 1; `None` outside of rounds.
    pub round: Option<u32>,
    /// Name of its step; empty if the study has none.
    pub part: String,
    /// Its coordinates in the grid: option and value, in the order of the title.
    pub at: Vec<(String, String)>,
    /// All its options, by name.
    pub options: Vec<(String, String)>,
    /// Ends once it is known precisely enough.
    pub until_known: bool,
    /// Uses a new file of its own in each target, a directory.
    pub own_file: bool,
    /// Purpose of its measurement.
    pub purpose: Purpose,
}

impl Point {
    /// Its targets, for display.
    pub fn place(&self) -> String {
        self.targets.join(" ")
    }

    /// Value of this option, by its main name.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Its options as a job has them, without those that a job cannot have.
    pub(crate) fn job(&self) -> Job {
        let mut job = Job::default();
        let options = self.options.iter();
        let options: Vec<_> = options.map(|(name, value)| (&**name, Some(&**value))).collect();
        // All others are set, too.
        let _ = apply_all(&mut job, &options);
        job
    }

    /// True if it writes or trims.
    pub fn writes(&self) -> bool {
        self.option("rw").is_some_and(writes)
    }

    /// True if it brings the targets into the state in which later points read them: it writes them
    /// until that is done, or trims.
    pub fn prepares(&self) -> bool {
        let trims = self.option("rw").is_some_and(|rw| rw.contains("trim"));
        self.writes() && (!self.until_known || trims)
    }

    /// True if its writes are flushed (`fsync`, `fdatasync`).
    pub(crate) fn flushes(&self) -> bool {
        let flush = self.job().flush;
        flush.fsync > 0 || flush.fdatasync > 0
    }

    /// True if it lasts its `runtime`, not only until its work is done.
    pub fn is_time_based(&self) -> bool {
        self.job().time.time_based
    }

    /// Its longest duration, ns, if its options set one.
    pub fn runtime_ns(&self) -> Option<u64> {
        self.job().longest_ns()
    }
}

impl Study {
    /// Its steps; a study without any has one, with the study's grid.
    pub(crate) fn parts(&self) -> Vec<StudyStep> {
        if self.prepares_only() {
            return Vec::new();
        }
        if self.steps.is_empty() {
            return vec![StudyStep { grid: self.grid.clone(), ..StudyStep::default() }];
        }
        let with_grid = |step: &StudyStep| {
            let grid = if step.grid.is_empty() { &self.grid } else { &step.grid };
            // A step does not vary what it fixes.
            let grid = grid.iter().filter(|(option, _)| !step.job.contains_key(*option));
            let grid = grid.map(|(option, values)| (option.clone(), values.clone())).collect();
            StudyStep { grid, ..step.clone() }
        };
        self.steps.iter().map(with_grid).collect()
    }

    /// True if drives are prepared and nothing is measured.
    fn prepares_only(&self) -> bool {
        let says_nothing = self.job.is_empty() && self.grid.is_empty() && self.steps.is_empty();
        says_nothing && self.preparation.is_some()
    }

    /// Number of points, counted without making them.
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
        // Together they are one, unless target after target is added.
        if self.targets_together && self.scaling.is_none() { once } else { product(once, targets) }
    }

    /// All points in their order; `seed` is for the random order.
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

    /// End condition of each of `points`.
    pub fn ends(&self, points: &[Point]) -> Vec<PointEnd> {
        let end = |point: &Point| match self.generator {
            MadeBy::Native if point.until_known && point.writes() && !self.fresh => {
                PointEnd::Steady
            }
            MadeBy::Native if point.until_known => PointEnd::Known,
            MadeBy::Native | MadeBy::Fio => PointEnd::ByThemselves,
        };
        points.iter().map(end).collect()
    }

    /// Groups of targets measured at the same time.
    pub(super) fn target_groups(&self) -> Vec<Vec<String>> {
        if self.targets_together || self.scaling.is_some() {
            return vec![self.targets.clone()];
        }
        self.targets.iter().map(|target| vec![target.clone()]).collect()
    }

    /// With scaling: a point of all targets on one of them, on two, and so on.
    fn scaled_up(&self, point: Point) -> Vec<Point> {
        if self.scaling.is_none() {
            return vec![point];
        }
        let on = |count| Point { targets: point.targets[..count].to_vec(), ..point.clone() };
        (1..=point.targets.len()).map(on).collect()
    }

    /// Repeats all points as often as they fit into `duration_ns`, at least once.
    ///
    /// # Errors
    /// A point without a duration, or a study in rounds.
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
            return Err("--for: the plan has points without a time limit".into());
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
        let at: Vec<(String, String)> = axes
            .iter()
            .zip(cell)
            .map(|(axis, at)| (axis.option.clone(), axis.values[*at].clone()))
            .collect();
        let fixed = self.job.iter().chain(&step.job);
        let fixed = fixed.map(|(name, value)| (name.clone(), written(value).unwrap_or_default()));
        // In this order, since of options that override each other (`bs`, `bsrange`) the last counts.
        let mut options: Vec<(String, String)> = Vec::new();
        for (name, value) in fixed.chain(at.iter().cloned()) {
            options.retain(|(known, _)| *known != name);
            options.push((name, value));
        }
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
            options,
            // In a round each point lasts its full time.
            until_known: step.until == Until::Known && self.rounds.is_none(),
            own_file: step.own_file,
            purpose: step.purpose,
        }
    }
}

/// True if this value of `rw` writes or trims.
pub(super) fn writes(rw: &str) -> bool {
    !matches!(rw.split(':').next().map(str::trim), Some("read" | "randread"))
}

/// Axes of a step's grid, the most customary options first.
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
