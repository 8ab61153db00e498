//! Key by which measurements of two runs are the same workload.

use std::collections::BTreeMap;

use iodyno_model::{Direction, Measurement, Workload};

use crate::shape::{Shape, is_workload_option};

/// Options that set place, time, duration or logging, not the workload.
const NOT_OF_WORKLOADS: [&str; 18] = [
    "description",
    "directory",
    "filename",
    "filename_format",
    "group_reporting",
    "loops",
    "name",
    "per_job_logs",
    "ramp_time",
    "randseed",
    "runtime",
    "stonewall",
    "thread",
    "time_based",
    "unified_rw_reporting",
    "unlink",
    "wait_for",
    "percentile_list",
];

/// Workload of a result, as far as known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) direction: Direction,
    pub(super) rw: Option<String>,
    pub(super) bs: Option<u64>,
    pub(super) depth: Depth,
    pub(super) numjobs: Option<u32>,
    pub(super) shape: BTreeMap<String, String>,
    /// Job name, if nothing else identifies the workload.
    pub(super) name: Option<String>,
}

/// Outstanding I/Os of each job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    Unknown,
    Fixed(u32),
    /// Found by a search, over all threads: the depth is a result.
    Searched,
}

impl Key {
    /// Builds the key; `searched`: the depth was found by a search.
    pub(super) fn of(measurement: &Measurement, direction: Direction, searched: bool) -> Self {
        let workload = &measurement.workload;
        let shape = Shape::of(workload).options.into_iter();
        let is_replay = measurement.replayed().is_some();
        let mut key = Self {
            direction,
            rw: workload.rw.clone(),
            bs: workload.bs.filter(|_| !is_replay),
            depth: match workload.iodepth {
                _ if searched => Depth::Searched,
                // A replay's size and depth are limits: the trace has many of both.
                _ if is_replay => Depth::Unknown,
                Some(depth) => Depth::Fixed(depth),
                None => Depth::Unknown,
            },
            numjobs: workload.numjobs.filter(|_| !searched),
            shape: shape.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            name: None,
        };
        key.name = (!key.is_identifying()).then(|| measurement.name.clone());
        key
    }

    /// Returns true if it identifies a workload without a name.
    fn is_identifying(&self) -> bool {
        let sizes = ["bs", "bsrange", "bssplit"];
        let size = self.bs.is_some() || sizes.iter().any(|name| self.shape.contains_key(*name));
        self.rw.is_some() && size
    }

    /// Returns true if part of it is not known.
    pub(super) fn is_partial(&self) -> bool {
        !self.is_identifying()
            || self.depth == Depth::Unknown
            || (self.numjobs.is_none() && self.depth != Depth::Searched)
    }

    /// Merges both keys, filling in what one lacks; `None` if they contradict each other. Options
    /// that are absent are not set.
    pub(super) fn joined(&self, other: &Self) -> Option<Self> {
        let depth = match (self.depth, other.depth) {
            (Depth::Unknown, depth) | (depth, Depth::Unknown) => depth,
            (a, b) if a == b => a,
            _ => return None,
        };
        let both_tell = self.is_identifying() && other.is_identifying();
        if self.direction != other.direction
            || clash(&self.bs, &other.bs)
            || clash(&self.numjobs, &other.numjobs)
            || clash(&self.rw, &other.rw)
            || clash(&self.name, &other.name)
            || (both_tell && self.shape != other.shape)
        {
            return None;
        }
        let (more, less) = if self.is_identifying() { (self, other) } else { (other, self) };
        let mut joined = Self {
            direction: self.direction,
            rw: more.rw.clone().or_else(|| less.rw.clone()),
            bs: more.bs.or(less.bs),
            depth,
            numjobs: more.numjobs.or(less.numjobs),
            shape: more.shape.clone(),
            name: more.name.clone().or_else(|| less.name.clone()),
        };
        if joined.is_identifying() {
            joined.name = None;
        }
        Some(joined)
    }

    /// Returns the key as a workload.
    pub(super) fn workload(&self) -> Workload {
        Workload {
            rw: self.rw.clone(),
            bs: self.bs,
            iodepth: match self.depth {
                Depth::Fixed(depth) => Some(depth),
                Depth::Unknown | Depth::Searched => None,
            },
            numjobs: self.numjobs,
            options: self.shape.clone(),
            ..Workload::default()
        }
    }
}

/// Returns true if both are known and differ.
fn clash<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a != b)
}

/// Returns the options that may differ without making another workload, by fio's names.
pub(super) fn free_options(of: &Measurement) -> BTreeMap<String, String> {
    let workload = &of.workload;
    let mut free_options: BTreeMap<String, String> = workload
        .options
        .iter()
        .filter(|(name, _)| {
            let logs =
                name.starts_with("log_") || (name.starts_with("write_") && name.ends_with("_log"));
            !is_workload_option(name)
                && !logs
                && !NOT_OF_WORKLOADS.contains(&name.as_str())
                && *name != "size"
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let direct = workload.direct.map(|direct| u8::from(direct).to_string());
    let size = workload.size.map(|bytes| bytes.to_string());
    let size = size.or_else(|| workload.options.get("size").cloned());
    let known = [("ioengine", workload.ioengine.clone()), ("direct", direct), ("size", size)];
    free_options
        .extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    free_options
}

/// Directions of a measurement; for a failed one, those that were asked for.
pub(super) fn directions(of: &Measurement) -> Vec<Direction> {
    if !of.total.is_empty() {
        return of.total.iter().map(|result| result.direction).collect();
    }
    let rw = of.workload.rw.as_deref().unwrap_or_default();
    let asked = |word| rw.contains(word) || rw == "rw" || rw == "randrw";
    let mut directions = Vec::new();
    if asked("read") {
        directions.push(Direction::Read);
    }
    if asked("write") {
        directions.push(Direction::Write);
    }
    if rw.contains("trim") {
        directions.push(Direction::Trim);
    }
    directions
}
