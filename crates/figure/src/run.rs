//! Figures of a run's report.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::{Direction, Measurement, Predictions, RunRecord};

use crate::kinds::suggestion;
use crate::{Figure, Judged, Kind, Request, Source, Track, figure};

/// Maximum number of distinguishable lines in one figure.
const MOST_TOGETHER: usize = 8;

/// Maximum number of names for a figure over the whole run.
const MOST_PARTS: usize = 12;

/// Maximum number of names in a title.
const MOST_NAMES: usize = 3;

/// Minimum number of depths tried by a search for a curve.
const FEWEST_DEPTHS: usize = 3;

/// All figures of a run in report order, each with the indices of its measurements: for each sweep
/// the figure over the swept option, then over time and latencies of alike measurements (same name,
/// `rw` and `bs`), in distinguishable groups. `outlook` has their unmeasured points and knees.
/// Measurements after the first `most` are drawn in sweeps only, and those `judged` invalid in
/// figures of their own.
pub fn figures_of_run(
    record: &RunRecord,
    outlook: Option<&Predictions>,
    judged: &[Judged],
    most: usize,
) -> Vec<(Figure, Vec<usize>)> {
    let mut figures = sweeps(record, outlook, judged);
    for group in groups(record, |one| (one.workload.rw.clone(), one.workload.bs, &one.name)) {
        let drawn = &group[..group.partition_point(|index| *index < most)];
        for few in drawn.chunks(MOST_TOGETHER) {
            let kinds = [Kind::Time, Kind::Latency];
            figures.extend(
                kinds.into_iter().filter_map(|kind| try_figure(record, None, &[], kind, few)),
            );
        }
    }
    figures
}

/// Figures of a run in rounds: convergence and window of the tracked figures, the whole run if it
/// only writes, then the sweeps in `window`, which has each point once.
pub fn figures_of_rounds(record: &RunRecord, rounds: &[Track], window: &RunRecord) -> Vec<Figure> {
    let of_rounds = |kind| {
        let request = Request { rounds: rounds.to_vec(), ..Request::new(kind) };
        figure(&request, &[Source::new("", record)]).ok()
    };
    let mut figures: Vec<Figure> =
        [Kind::Convergence, Kind::Window].into_iter().filter_map(of_rounds).collect();
    let all: Vec<usize> = (0..record.measurements.len()).collect();
    let only_writes =
        |of: &Measurement| of.total.iter().all(|one| one.direction == Direction::Write);
    let names: BTreeSet<&str> = record.measurements.iter().map(|of| of.name.as_str()).collect();
    if names.len() <= MOST_PARTS && record.measurements.iter().all(only_writes) {
        figures.extend(try_figure(record, None, &[], Kind::Course, &all).map(|(figure, _)| figure));
    }
    figures.extend(sweeps(window, None, &[]).into_iter().map(|(figure, _)| figure));
    figures
}

/// The figure over the swept option of each sweep in a run.
fn sweeps(
    record: &RunRecord,
    outlook: Option<&Predictions>,
    judged: &[Judged],
) -> Vec<(Figure, Vec<usize>)> {
    let drawn = |kind, group: &[usize]| try_figure(record, outlook, judged, kind, group);
    let mut figures = Vec::new();
    for group in groups(record, |one| (one.workload.rw.clone(), None, "")) {
        if suggested(record, outlook, &group) == Kind::Blocksize {
            figures.extend(drawn(Kind::Blocksize, &group));
        }
    }
    for group in groups(record, |one| (one.workload.rw.clone(), one.workload.bs, "")) {
        let searched = |index: &usize| {
            record.measurements[*index].conditions.depths_tried.len() >= FEWEST_DEPTHS
        };
        let kinds: &[Kind] = match suggested(record, outlook, &group) {
            Kind::Grid => &[Kind::Grid],
            Kind::Depth => &[Kind::Depth],
            Kind::Scaling => &[Kind::Scaling],
            _ if group.iter().any(searched) => &[Kind::Depth],
            _ => &[],
        };
        figures.extend(kinds.iter().filter_map(|kind| drawn(*kind, &group)));
    }
    figures
}

type GroupKey<'a> = (Option<String>, Option<u64>, &'a str);

/// Indices of alike measurements, in order of appearance.
fn groups<'a>(
    record: &'a RunRecord,
    of: impl Fn(&'a Measurement) -> GroupKey<'a>,
) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<GroupKey<'_>, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, measurement) in record.measurements.iter().enumerate() {
        let at = *places.entry(of(measurement)).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(index);
    }
    groups
}

fn request(kind: Kind, group: &[usize]) -> Request {
    Request { measurements: Some(group.to_vec()), ..Request::new(kind) }
}

fn suggested(record: &RunRecord, outlook: Option<&Predictions>, group: &[usize]) -> Kind {
    suggestion(&request(Kind::Compare, group), &[Source { label: "", record, outlook }])
}

/// The figure of these measurements, if they have data for it.
fn try_figure(
    record: &RunRecord,
    outlook: Option<&Predictions>,
    judged: &[Judged],
    kind: Kind,
    group: &[usize],
) -> Option<(Figure, Vec<usize>)> {
    let names: BTreeSet<&str> =
        group.iter().map(|index| record.measurements[*index].name.as_str()).collect();
    let label = match names.len() {
        0..=MOST_NAMES => names.into_iter().collect::<Vec<_>>().join(", "),
        _ => String::new(),
    };
    let sources = [Source { label: &label, record, outlook }];
    let request = Request { judged: judged.to_vec(), ..request(kind, group) };
    let figure = figure(&request, &sources).ok()?;
    Some((figure, group.to_vec()))
}
