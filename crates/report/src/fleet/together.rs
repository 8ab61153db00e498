//! Combined results of nodes with an agreed start.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::Histogram;

use super::node_run::{Load, LoadKey, Moment, NodeRun};

/// Nodes that started together, and their combined results.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// Agreed start and step.
    pub moment: Moment,
    /// Number of nodes with a document.
    pub nodes: usize,
    /// Ranks without a document, if their launcher recorded how many there are.
    pub missing: Vec<u32>,
    /// Spread of their starts by their clocks, ns.
    pub start_spread_ns: u64,
    /// Largest error of their clocks, ns; `None`: unknown for one of them.
    pub clock_error_ns: Option<u64>,
    /// Loads in the order measured.
    pub loads: Vec<GroupLoad>,
}

/// One load on all nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupLoad {
    /// Name of the load.
    pub of: LoadKey,
    /// The target, if the same on all nodes; `None` if names differ or there are several.
    pub target: Option<String>,
    /// Number of nodes measured.
    pub nodes: usize,
    /// Spread of the starts of the measurements by the nodes' clocks, ns.
    pub start_spread_ns: u64,
    /// Rates while all nodes were measuring; `None`: they never overlapped, or rates over time are
    /// unknown.
    pub common: Option<Rates>,
    /// Rates from the first start to the last end.
    pub whole: Rates,
    /// Latencies of all nodes, merged.
    pub latency: Histogram,
}

/// Rates over a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Duration, ns.
    pub duration_ns: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
}

/// Missing ranks listed at most.
const MOST_MISSING: usize = 1000;

/// Combines the nodes of each agreed start, the earliest first. Of several runs of one node for one
/// start the newest counts.
pub fn together(mut runs: Vec<NodeRun>) -> Vec<Together> {
    runs.sort_by(|a, b| (b.started_ns, &b.id).cmp(&(a.started_ns, &a.id)));
    let mut known = BTreeSet::new();
    runs.retain(|run| {
        let (name, host_id, rank) = &run.node;
        let rank = rank.as_ref().map(|of| (of.job.clone(), of.rank));
        known.insert((run.moment.clone(), name.clone(), host_id.clone(), rank))
    });
    let mut moments: BTreeMap<Moment, Vec<NodeRun>> = BTreeMap::new();
    for run in runs {
        moments.entry(run.moment.clone()).or_default().push(run);
    }
    moments.into_iter().map(|(moment, nodes)| of_moment(moment, &nodes)).collect()
}

fn of_moment(moment: Moment, nodes: &[NodeRun]) -> Together {
    let mut loads: BTreeMap<&LoadKey, Vec<(usize, &Load)>> = BTreeMap::new();
    for (node, load) in
        nodes.iter().enumerate().flat_map(|(n, of)| of.loads.iter().map(move |load| (n, load)))
    {
        loads.entry(&load.of).or_default().push((node, load));
    }
    Together {
        moment,
        nodes: nodes.len(),
        missing: missing(nodes),
        start_spread_ns: spread_ns(nodes.iter().map(|node| node.started_ns)),
        clock_error_ns: nodes.iter().try_fold(0, |most, node| Some(node.clock_error_ns?.max(most))),
        loads: loads.into_iter().map(|(of, all)| of_load(of, &all)).collect(),
    }
}

/// Ranks without a node.
fn missing(nodes: &[NodeRun]) -> Vec<u32> {
    let ranks = || nodes.iter().filter_map(|node| node.node.2.as_ref());
    let there: BTreeSet<u32> = ranks().map(|of| of.rank).collect();
    let count = ranks().filter_map(|of| of.of).max().unwrap_or(0);
    (0..count).filter(|rank| !there.contains(rank)).take(MOST_MISSING).collect()
}

fn of_load(of: &LoadKey, all: &[(usize, &Load)]) -> GroupLoad {
    let loads = || all.iter().map(|(_, load)| *load);
    let from =
        |first: fn(i64, i64) -> i64| loads().map(|load| load.at(load.measured_ns.0)).reduce(first);
    let to =
        |last: fn(i64, i64) -> i64| loads().map(|load| load.at(load.measured_ns.1)).reduce(last);
    let span = |from: Option<i64>, to: Option<i64>| Some((from?, to?));
    let sum = |of: fn(&Load) -> u64| loads().map(|load| of(load) as f64).sum::<f64>();
    let mut latency = Histogram::default();
    loads().for_each(|load| latency.merge(&load.latency));
    let targets: BTreeSet<&String> = loads().flat_map(|load| &load.targets).collect();
    let is_known = loads().all(|load| !load.seconds.is_empty());
    let common = span(from(i64::max), to(i64::min)).filter(|(from, to)| is_known && from < to);
    let (first, last) = span(from(i64::min), to(i64::max)).unwrap_or_default();
    GroupLoad {
        of: of.clone(),
        target: targets.first().filter(|_| targets.len() == 1).map(|one| (*one).clone()),
        nodes: all.iter().map(|(node, _)| node).collect::<BTreeSet<_>>().len(),
        start_spread_ns: spread_ns(loads().map(|load| load.began_ns)),
        common: common.map(|(from, to)| {
            let within = loads().map(|load| load.within(from, to));
            let (ios, bytes) = within.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            Rates::over(to.abs_diff(from), ios, bytes)
        }),
        whole: Rates::over(last.abs_diff(first), sum(|load| load.ios), sum(|load| load.bytes)),
        latency,
    }
}

fn spread_ns(times: impl Iterator<Item = i64> + Clone) -> u64 {
    times.clone().min().zip(times.max()).map_or(0, |(first, last)| last.abs_diff(first))
}

impl Rates {
    fn over(duration_ns: u64, ios: f64, bytes: f64) -> Self {
        let seconds = duration_ns.max(1) as f64 / 1e9;
        Self { duration_ns, iops: ios / seconds, bandwidth: bytes / seconds }
    }
}

impl Load {
    /// Converts a time since `began_ns` to ns since 1970 UTC.
    fn at(&self, ns: u64) -> i64 {
        self.began_ns.saturating_add_unsigned(ns)
    }

    /// I/Os and bytes between two times, ns since 1970 UTC; stretches partly within them count in
    /// proportion.
    fn within(&self, from_ns: i64, to_ns: i64) -> (f64, f64) {
        self.seconds.iter().fold((0.0, 0.0), |(ios, bytes), one| {
            let (start, end) = (self.at(one.start_ns), self.at(one.end_ns()));
            let shared = (end.min(to_ns)).saturating_sub(start.max(from_ns)).max(0);
            let part = shared as f64 / one.duration_ns.max(1) as f64;
            (ios + one.ios as f64 * part, bytes + one.bytes as f64 * part)
        })
    }
}
