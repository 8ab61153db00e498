//! Lookup of a run's measurements by several keys.

use std::collections::HashMap;
use std::ops::Deref;

use iodyno_model::{Measurement, Metric, RunRecord, Workload};

use crate::measured::{is_paced, metric};
use crate::saturation::Depths;
use crate::shape::Shape;

/// Targets and workload.
type LatencyKey<'a> = (&'a [String], Shape<'a>);

fn latency_key(of: &Measurement) -> LatencyKey<'_> {
    (&of.targets, Shape::of(&of.workload))
}

/// A run with hash indexes, so that lookups need not scan all measurements.
#[derive(Debug)]
pub struct Index<'a> {
    record: &'a RunRecord,
    steps: HashMap<(&'a str, &'a [String]), Vec<&'a Measurement>>,
    repeated: HashMap<(&'a str, &'a Workload), Vec<&'a Measurement>>,
    concurrent: HashMap<(usize, usize), Vec<&'a Measurement>>,
    located: HashMap<&'a str, &'a Measurement>,
    latencies: HashMap<LatencyKey<'a>, &'a Measurement>,
    pub(crate) depths: Depths<'a>,
}

impl<'a> Index<'a> {
    /// Indexes a run.
    pub fn of(record: &'a RunRecord) -> Self {
        let mut index = Self {
            record,
            steps: HashMap::new(),
            repeated: HashMap::new(),
            concurrent: HashMap::new(),
            located: HashMap::new(),
            latencies: HashMap::new(),
            depths: Depths::default(),
        };
        for of in &record.measurements {
            index.steps.entry((&of.name, &of.targets)).or_default().push(of);
            if let Some(span) = span(of) {
                index.concurrent.entry(span).or_default().push(of);
            }
            if let ([target], Some(_)) = (of.targets.as_slice(), &of.conditions.device) {
                index.located.entry(target).or_insert(of);
            }
            if of.failure().is_none() {
                index.repeated.entry((&of.name, &of.workload)).or_default().push(of);
                index.depths.add(of);
                // The latency of a paced I/O includes the wait for those before it, however few are
                // outstanding.
                if metric(of) == Metric::LatencyMean && !is_paced(of) {
                    index.latencies.entry(latency_key(of)).or_insert(of);
                }
            }
        }
        index
    }

    /// The run.
    pub(crate) const fn record(&self) -> &'a RunRecord {
        self.record
    }

    /// Returns the measurements of this name on these targets.
    pub fn named_on<'s>(&'s self, name: &'s str, targets: &'s [String]) -> &'s [&'a Measurement] {
        self.steps.get(&(name, targets)).map_or(&[], Vec::as_slice)
    }

    /// Returns the first of those that finished.
    pub fn finished_step(&self, name: &str, targets: &[String]) -> Option<&'a Measurement> {
        self.named_on(name, targets).iter().copied().find(|of| of.failure().is_none())
    }

    /// Returns the first finished latency measurement of the same workload on the same targets.
    pub(crate) fn latency(&self, of: &Measurement) -> Option<&'a Measurement> {
        self.latencies.get(&latency_key(of)).copied()
    }

    /// Returns the finished measurements with the same name and workload.
    pub(crate) fn repeated<'s>(&'s self, of: &'s Measurement) -> &'s [&'a Measurement] {
        self.repeated.get(&(of.name.as_str(), &of.workload)).map_or(&[], Vec::as_slice)
    }

    /// Returns everything that ran between the same two snapshots as a measurement, itself
    /// included; empty if these are not known.
    pub(crate) fn concurrent(&self, of: &Measurement) -> &[&'a Measurement] {
        span(of).and_then(|span| self.concurrent.get(&span)).map_or(&[], Vec::as_slice)
    }

    /// Returns the first measurement of this target alone that names the device it is on.
    pub(crate) fn located(&self, target: &str) -> Option<&'a Measurement> {
        self.located.get(target).copied()
    }
}

impl Deref for Index<'_> {
    type Target = RunRecord;

    fn deref(&self) -> &RunRecord {
        self.record
    }
}

/// Returns the snapshots before and after a measurement, if they are different.
pub(crate) fn span(of: &Measurement) -> Option<(usize, usize)> {
    of.before.zip(of.after).filter(|(before, after)| before != after)
}
