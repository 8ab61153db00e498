//! The figures of a run's report.

use std::collections::BTreeSet;

use iodyno_model::{Measurement, RunRecord};

use crate::{Figure, Kind, Request, Source, figure, suggested};

/// Lines of one figure that can still be told apart.
const MOST_TOGETHER: usize = 8;

/// All figures that a run gives something for, in the order of a report, each
/// with the indices of the measurements that it shows: of each sweep the
/// figure over what was swept, then what is of one kind (same name, `rw` and
/// `bs`) over time and with its latencies, in groups that can be told apart.
pub fn figures_of_run(record: &RunRecord) -> Vec<(Figure, Vec<usize>)> {
    let mut figures = Vec::new();
    for group in groups(record, |one| (one.workload.rw.clone(), None, String::new())) {
        let kind = made(record, Kind::Compare, &group).and_then(|_| {
            let part = part(record, &group);
            let kind = suggested(&[], &[Source { label: "", record: &part }]);
            matches!(kind, Kind::Blocksize).then_some(kind)
        });
        figures.extend(kind.and_then(|kind| made(record, kind, &group)));
    }
    let same = |one: &Measurement| (one.workload.rw.clone(), one.workload.bs, String::new());
    for group in groups(record, same) {
        let part = part(record, &group);
        let kinds = match suggested(&[], &[Source { label: "", record: &part }]) {
            Kind::Grid => [Some(Kind::Grid), Some(Kind::Grid3d)],
            kind @ (Kind::Depth | Kind::Scaling) => [Some(kind), None],
            _ => [None, None],
        };
        figures.extend(kinds.into_iter().flatten().filter_map(|kind| made(record, kind, &group)));
    }
    let alike = |one: &Measurement| (one.workload.rw.clone(), one.workload.bs, one.name.clone());
    for group in groups(record, alike) {
        for few in group.chunks(MOST_TOGETHER) {
            let kinds = [Kind::Time, Kind::Latency];
            figures.extend(kinds.into_iter().filter_map(|kind| made(record, kind, few)));
        }
    }
    figures
}

type Likeness = (Option<String>, Option<u64>, String);

/// Indices of measurements that are alike, in order of appearance.
fn groups(record: &RunRecord, of: impl Fn(&Measurement) -> Likeness) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Likeness, Vec<usize>)> = Vec::new();
    for (index, measurement) in record.measurements.iter().enumerate() {
        let likeness = of(measurement);
        match groups.iter_mut().find(|(known, _)| *known == likeness) {
            Some((_, group)) => group.push(index),
            None => groups.push((likeness, vec![index])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The run with these measurements alone.
fn part(record: &RunRecord, group: &[usize]) -> RunRecord {
    RunRecord {
        run: record.run.clone(),
        snapshots: Vec::new(),
        measurements: group.iter().map(|index| record.measurements[*index].clone()).collect(),
    }
}

/// The figure of these measurements, where they give something for it.
fn made(record: &RunRecord, kind: Kind, group: &[usize]) -> Option<(Figure, Vec<usize>)> {
    let part = part(record, group);
    let names: BTreeSet<&str> = part.measurements.iter().map(|one| one.name.as_str()).collect();
    let label = names.into_iter().collect::<Vec<_>>().join(", ");
    let figure = figure(&Request::new(kind), &[Source { label: &label, record: &part }]).ok()?;
    Some((figure, group.to_vec()))
}
