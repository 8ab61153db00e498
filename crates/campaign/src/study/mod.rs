//! Studies: jobs over a grid of options, as points in an order that gives the
//! answer early. TOML, in the same format as plans of steps.

use std::collections::BTreeMap;

use iodyno_job::script::{Compile, Script, compile};
use iodyno_job::syntax::{Entry, Place, Section, write_file};
use iodyno_job::{Job, apply, parse_seconds};
use iodyno_model::Rounds;
use serde::{Deserialize, Serialize};

mod bench_fio;
mod order;
mod outlook;
mod rounds;
mod scale;
mod surface;

use crate::plan::{FORMAT, PlanError, Stop, StopForm};
use order::{Axis, cells, refinement};

pub(crate) use outlook::{known, outlook};
pub(crate) use surface::{Known, Surface};

/// A study: what is measured at which points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    format: String,
    /// Its name.
    pub name: String,
    /// One line about it.
    #[serde(default)]
    pub about: String,
    /// What has to be done to a drive before, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// Files and devices, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// In which order the points are measured.
    #[serde(default)]
    pub order: Order,
    /// Points that write may end early: what is asked is the drive as it is just now.
    #[serde(default)]
    pub fresh: bool,
    /// Points that measured neighbours bound are predicted in place of being measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adaptive: bool,
    /// The best point whose 99 % percentile keeps to this time is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_bound: Option<String>,
    /// How often all of them are measured, one time after the other.
    #[serde(default = "once")]
    pub repeat: u32,
    #[serde(default)]
    stop: StopForm,
    /// Points are measured in rounds, until a drive is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Options of all points, as in a job file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub job: BTreeMap<String, toml::Value>,
    /// Options with several values: every combination is a point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grid: BTreeMap<String, Vec<toml::Value>>,
    /// Parts with options and a grid of their own; none: there is one part.
    #[serde(default, rename = "step", skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StudyStep>,
}

/// A part of a study. What it says goes before what the whole says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyStep {
    /// Its name, with which the names of its points begin.
    pub name: String,
    /// When a point of it ends.
    #[serde(default)]
    pub until: Until,
    /// Each of its points has a new file of its own in the target, a directory.
    #[serde(default)]
    pub own_file: bool,
    /// It is measured once, after the rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after: bool,
    /// Options of its points.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub job: BTreeMap<String, toml::Value>,
    /// Its grid, in place of the study's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grid: BTreeMap<String, Vec<toml::Value>>,
}

/// When a point ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Once it is known well enough (`[stop]`).
    #[default]
    Known,
    /// When its work is done: the options bound it (`size`, `io_size`, `runtime`).
    Done,
}

/// In which order points are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The corners of the grid, then what lies between: the shape is seen early.
    #[default]
    Corners,
    /// As the grid is written, the last option's values first.
    Written,
    /// Shuffled, so that a drift of the machine does not look like an effect.
    Random,
}

/// One point of a study on one target.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// Name of its part and its coordinates: `rw=randread bs=4k iodepth=16`.
    pub title: String,
    /// File or device.
    pub target: String,
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
    /// It has a new file of its own in the target, a directory.
    pub own_file: bool,
}

impl Point {
    /// It writes or trims.
    pub fn writes(&self) -> bool {
        let rw = self.options.iter().find(|(name, _)| name == "rw" || name == "readwrite");
        rw.is_some_and(|(_, rw)| !matches!(rw.split(':').next(), Some("read" | "randread")))
    }

    /// How long it takes, ns, where its options say so.
    pub fn runtime_ns(&self) -> Option<u64> {
        let (_, runtime) = self.options.iter().find(|(name, _)| name == "runtime")?;
        parse_seconds(runtime).ok()
    }
}

/// Options in the order in which people name them.
const FIRST: [&str; 6] = ["rw", "readwrite", "bs", "blocksize", "iodepth", "numjobs"];

const fn once() -> u32 {
    1
}

impl Study {
    /// Names of the presets, each with what it is about.
    pub fn presets() -> impl Iterator<Item = (&'static str, String)> {
        PRESETS.iter().filter_map(|(name, _)| Some((*name, Self::preset(name)?.about)))
    }

    /// The preset of this name, if there is one.
    ///
    /// # Panics
    /// Where a preset that is compiled in is broken, which a test excludes.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(text, name).expect("presets are parsed in a test"))
    }

    /// Reads a study; `name` is the file or preset that errors name.
    ///
    /// # Errors
    /// What is wrong, with line and column, or the option.
    pub fn parse(text: &str, name: &str) -> Result<Self, PlanError> {
        let form = |what: String| PlanError::Form { name: name.into(), text: what };
        let study: Self = toml::from_str(text).map_err(|error| form(error.to_string()))?;
        if study.format != FORMAT {
            let known = format!("this iodyno reads {FORMAT}");
            return Err(form(format!("format `{}` is not known; {known}", study.format)));
        }
        study.stop().map_err(form)?;
        study.check(name)?;
        study.check_rounds().map_err(form)?;
        study.check_adaptive().map_err(form)?;
        Ok(study)
    }

    /// A study of one part without anything in it yet.
    pub fn named(name: &str) -> Self {
        Self {
            format: FORMAT.into(),
            name: name.into(),
            about: String::new(),
            before: String::new(),
            targets: Vec::new(),
            order: Order::default(),
            fresh: false,
            adaptive: false,
            p99_bound: None,
            repeat: 1,
            stop: StopForm::default(),
            rounds: None,
            job: BTreeMap::new(),
            grid: BTreeMap::new(),
            steps: Vec::new(),
        }
    }

    /// The study as TOML, to be read again.
    ///
    /// # Errors
    /// It cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string(self)
            .map_err(|error| PlanError::Form { name: self.name.clone(), text: error.to_string() })
    }

    /// When points end.
    ///
    /// # Errors
    /// Times that are none, or contradict each other.
    pub fn stop(&self) -> Result<Stop, String> {
        self.stop.resolve()
    }

    /// Points end once their 99 % percentile is known within `percent`, too; 0:
    /// whatever is known of it.
    pub const fn know_p99(&mut self, percent: f64) {
        self.stop.p99_percent = Some(percent);
    }

    /// Points end at this precision (0.02 = 2 %), at this time at the latest;
    /// `None` leaves it as it is.
    pub fn stop_at(&mut self, precision: Option<f64>, max_time: Option<&str>) {
        if let Some(precision) = precision {
            self.stop.precision_percent = precision * 100.0;
        }
        if let Some(max_time) = max_time {
            max_time.clone_into(&mut self.stop.max_time);
            let shorter = parse_seconds(max_time).ok().zip(parse_seconds(&self.stop.min_time).ok());
            if shorter.is_some_and(|(max_ns, min_ns)| max_ns < min_ns) {
                max_time.clone_into(&mut self.stop.min_time);
            }
        }
    }

    /// An option of all points, in place of what grids say of it.
    pub fn set(&mut self, option: &str, value: &str) {
        self.grid.remove(option);
        self.job.insert(option.into(), value.into());
        for step in &mut self.steps {
            step.grid.remove(option);
            step.job.remove(option);
        }
    }

    /// An option's values, in all grids.
    pub fn vary(&mut self, option: &str, values: &[String]) {
        self.set(option, "");
        self.job.remove(option);
        let values: Vec<toml::Value> = values.iter().map(|value| value.as_str().into()).collect();
        let steps = self.steps.iter_mut().filter(|step| !step.grid.is_empty());
        for grid in steps.map(|step| &mut step.grid).chain([&mut self.grid]) {
            grid.insert(option.into(), values.clone());
        }
    }

    fn check(&self, name: &str) -> Result<(), PlanError> {
        let step_error = |step: &str, what: String| PlanError::Step {
            name: name.into(),
            step: step.into(),
            what,
        };
        if self.repeat == 0 {
            return Err(step_error("", "repeat: at least 1 was expected".into()));
        }
        for step in self.parts() {
            let grids = step
                .grid
                .iter()
                .flat_map(|(option, values)| values.iter().map(move |value| (option, value)));
            for (option, value) in self.job.iter().chain(&step.job).chain(grids) {
                let value = written(value).map_err(|what| step_error(&step.name, what))?;
                apply(&mut Job::default(), option, &value)
                    .map_err(|error| step_error(&step.name, error.to_string()))?;
            }
            if let Some((option, _)) = step.grid.iter().find(|(_, values)| values.is_empty()) {
                return Err(step_error(&step.name, format!("grid: `{option}` has no values")));
            }
        }
        Ok(())
    }

    /// Its parts; a study without has one, whose grid is the study's.
    fn parts(&self) -> Vec<StudyStep> {
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

    /// All points in their order; `seed` is of the random one.
    pub fn points(&self, seed: u64) -> Vec<Point> {
        if let Some(rounds) = &self.rounds {
            return self.points_in_rounds(rounds);
        }
        let mut points = Vec::new();
        for repetition in 0..self.repeat {
            for target in &self.targets {
                let first = points.len();
                for step in self.parts() {
                    let axes = axes(&step);
                    let mut cells = cells(&axes);
                    if self.order == Order::Corners {
                        cells.sort_by_key(|cell| refinement(&axes, cell));
                    }
                    let point =
                        |cell: &Vec<usize>| self.point(&step, &axes, cell, target, repetition);
                    points.extend(cells.iter().map(point));
                }
                if self.order == Order::Random {
                    let seed = seed.wrapping_add(repetition.into());
                    fastrand::Rng::with_seed(seed).shuffle(&mut points[first..]);
                }
            }
        }
        points
    }

    fn point(
        &self,
        step: &StudyStep,
        axes: &[Axis],
        cell: &[usize],
        target: &str,
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
            target: target.to_owned(),
            repetition,
            round: None,
            part: step.name.clone(),
            at,
            options: options.into_iter().collect(),
            // In a round each lasts its time.
            until_known: step.until == Until::Known && self.rounds.is_none(),
            own_file: step.own_file,
        }
    }

    /// The script that measures `points`, a phase for each.
    ///
    /// # Errors
    /// What is wrong with their options, by point.
    pub fn script(&self, points: &[Point], for_fio: bool) -> Result<Script, PlanError> {
        let form = |text: String| PlanError::Form { name: self.name.clone(), text };
        let stop = self.stop().map_err(form)?;
        let how = Compile { for_fio, ..Compile::default() };
        compile(&self.sections(points, stop.max_ns), &how).map_err(|error| form(error.to_string()))
    }

    /// The points as a job file for fio.
    ///
    /// # Errors
    /// A name or value that no job file can hold.
    pub fn job_file(&self, points: &[Point]) -> Result<String, PlanError> {
        let form = |text: String| PlanError::Form { name: self.name.clone(), text };
        let stop = self.stop().map_err(form)?;
        write_file(&self.sections(points, stop.max_ns)).map_err(|error| form(error.to_string()))
    }

    fn sections(&self, points: &[Point], max_ns: u64) -> Vec<Section> {
        let place = Place { source: self.name.clone(), line: None };
        let section = |point: &Point| {
            let mut entries: Vec<(String, Option<String>)> = vec![
                ("stonewall".into(), None),
                ("group_reporting".into(), None),
                match point.own_file {
                    true => ("directory".into(), Some(point.target.clone())),
                    false => ("filename".into(), Some(point.target.replace(':', "\\:"))),
                },
            ];
            let own = point.options.iter();
            entries.extend(own.map(|(name, value)| (name.clone(), Some(value.clone()))));
            if point.until_known {
                entries.push(("time_based".into(), None));
                entries.push(("runtime".into(), Some(format!("{}us", max_ns / 1000))));
            }
            let entry = |(name, value)| Entry { name, value, place: place.clone() };
            Section {
                name: point.title.clone(),
                place: place.clone(),
                entries: entries.into_iter().map(entry).collect(),
            }
        };
        points.iter().map(section).collect()
    }
}

/// The axes of a part's grid: those that everybody looks for first stand first.
fn axes(step: &StudyStep) -> Vec<Axis> {
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

/// An option's value as a job file has it.
fn written(value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(set) => Ok(u8::from(*set).to_string()),
        other => Err(format!("`{other}`: text or a number was expected")),
    }
}

const PRESETS: &[(&str, &str)] = &[
    ("blocksize", include_str!("../../../../plans/blocksize.toml")),
    ("depth-grid", include_str!("../../../../plans/depth-grid.toml")),
    ("limits", include_str!("../../../../plans/limits.toml")),
    ("database", include_str!("../../../../plans/database.toml")),
    ("file-layout", include_str!("../../../../plans/file-layout.toml")),
    ("trim-effect", include_str!("../../../../plans/trim-effect.toml")),
    ("snia-iops", include_str!("../../../../plans/snia-iops.toml")),
    ("snia-throughput", include_str!("../../../../plans/snia-throughput.toml")),
    ("snia-latency", include_str!("../../../../plans/snia-latency.toml")),
    ("snia-wsat", include_str!("../../../../plans/snia-wsat.toml")),
    ("snia-hir", include_str!("../../../../plans/snia-hir.toml")),
    ("snia-xsr", include_str!("../../../../plans/snia-xsr.toml")),
    ("snia-cbw", include_str!("../../../../plans/snia-cbw.toml")),
    ("snia-dirth", include_str!("../../../../plans/snia-dirth.toml")),
];
