//! Finds metrics that should have been judged and could not be.

use std::collections::HashSet;

use iodyno_model::{JudgedMeasurement, Metric, MetricJudgement, RunRecord, Verdict};

use crate::place::place;

/// Targets of which at least one metric was judged.
pub(crate) struct JudgedTargets<'r> {
    record: &'r RunRecord,
    names: HashSet<&'r str>,
}

impl<'r> JudgedTargets<'r> {
    pub(crate) fn of(record: &'r RunRecord, measurements: &[JudgedMeasurement]) -> Self {
        let is_judged = |of: &&JudgedMeasurement| {
            of.metrics.iter().any(|metric| metric.verdict != Verdict::Unjudged)
        };
        let targets = |of: &JudgedMeasurement| &record.measurements[of.measurement].targets;
        let names = measurements.iter().filter(is_judged).flat_map(targets);
        Self { record, names: names.map(String::as_str).collect() }
    }

    /// True if the metric should have been judged and could not be. In a series of depths the best
    /// one stands for the others. Few data sheets state a latency, so one without a claim is shown
    /// and not judged beside judged rates, or beside the links and health of drives in a check; of
    /// other targets it is all that was looked at.
    pub(crate) fn is_open(&self, of: &JudgedMeasurement, metric: &MetricJudgement) -> bool {
        let stands_for_it = metric.below_saturation.is_some_and(|why| why.surpassed_by.is_some());
        let measurement = &self.record.measurements[of.measurement];
        let is_drive =
            |target: &str| place(self.record.host(), measurement, target).drive.is_some();
        let checks = self.record.run.kind.is_of_drives();
        let is_judged =
            |target: &String| self.names.contains(target.as_str()) || checks && is_drive(target);
        let is_beside =
            metric.metric == Metric::LatencyMean && measurement.targets.iter().any(is_judged);
        metric.verdict == Verdict::Unjudged && !stands_for_it && !is_beside
    }
}
