//! A run's measurements by what they are looked up by.

use std::collections::HashMap;
use std::ops::Deref;

use iodyno_model::{Measurement, Metric, RunRecord, Workload};

use crate::claim_reach::Depths;
use crate::measured::{is_paced, metric};
use crate::shape::Shape;

/// Targets, and what is done on them.
type Alone<'a> = (&'a [String], Shape<'a>);

fn alone(of: &Measurement) -> Alone<'_> {
    (&of.targets, Shape::of(&of.workload))
}

/// A run of which measurements are found without looking through all of them.
#[derive(Debug)]
pub struct Index<'a> {
    record: &'a RunRecord,
    steps: HashMap<(&'a str, &'a [String]), Vec<&'a Measurement>>,
    repeated: HashMap<(&'a str, &'a Workload), Vec<&'a Measurement>>,
    together: HashMap<(usize, usize), Vec<&'a Measurement>>,
    located: HashMap<&'a str, &'a Measurement>,
    latencies: HashMap<Alone<'a>, &'a Measurement>,
    pub(crate) depths: Depths<'a>,
}

impl<'a> Index<'a> {
    /// Of a run.
    pub fn of(record: &'a RunRecord) -> Self {
        let mut index = Self {
            record,
            steps: HashMap::new(),
            repeated: HashMap::new(),
            together: HashMap::new(),
            located: HashMap::new(),
            latencies: HashMap::new(),
            depths: Depths::default(),
        };
        for of in &record.measurements {
            index.steps.entry((&of.name, &of.targets)).or_default().push(of);
            if let Some(span) = span(of) {
                index.together.entry(span).or_default().push(of);
            }
            if let ([target], Some(_)) = (of.targets.as_slice(), &of.conditions.device) {
                index.located.entry(target).or_insert(of);
            }
            if of.failure().is_none() {
                index.repeated.entry((&of.name, &of.workload)).or_default().push(of);
                index.depths.add(of);
                // A paced I/O waits for those before it, however few are outstanding.
                if metric(of) == Metric::LatencyMean && !is_paced(of) {
                    index.latencies.entry(alone(of)).or_insert(of);
                }
            }
        }
        index
    }

    /// The run.
    pub(crate) const fn record(&self) -> &'a RunRecord {
        self.record
    }

    /// The measurements of this name on these targets.
    pub fn of_step<'s>(&'s self, name: &'s str, targets: &'s [String]) -> &'s [&'a Measurement] {
        self.steps.get(&(name, targets)).map_or(&[], Vec::as_slice)
    }

    /// The first one of those that came to an end.
    pub fn finished_step(&self, name: &str, targets: &[String]) -> Option<&'a Measurement> {
        self.of_step(name, targets).iter().copied().find(|of| of.failure().is_none())
    }

    /// The first one of the latency of the same I/Os on the same targets that came to an end.
    pub(crate) fn latency(&self, of: &Measurement) -> Option<&'a Measurement> {
        self.latencies.get(&alone(of)).copied()
    }

    /// Those of the name and workload of a measurement that came to an end.
    pub(crate) fn repeated<'s>(&'s self, of: &'s Measurement) -> &'s [&'a Measurement] {
        self.repeated.get(&(of.name.as_str(), &of.workload)).map_or(&[], Vec::as_slice)
    }

    /// All that ran between the same two snapshots as a measurement, itself among
    /// them; empty where they are not known.
    pub(crate) fn together(&self, of: &Measurement) -> &[&'a Measurement] {
        span(of).and_then(|span| self.together.get(&span)).map_or(&[], Vec::as_slice)
    }

    /// The first measurement of a target alone that says on which device it lies.
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

/// The snapshots before and after a measurement, if they are two.
pub(crate) fn span(of: &Measurement) -> Option<(usize, usize)> {
    of.before.zip(of.after).filter(|(before, after)| before != after)
}
