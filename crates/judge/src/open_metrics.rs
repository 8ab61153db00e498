//! Finds metrics that should have been judged and could not be.

use std::collections::HashSet;

use iodyno_model::{JudgedMeasurement, Metric, MetricJudgement, RunRecord, Verdict};

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
    /// and not judged beside judged rates; alone it is all that was measured of its targets.
    pub(crate) fn is_open(&self, of: &JudgedMeasurement, metric: &MetricJudgement) -> bool {
        let stands_for_it = metric.below_saturation.is_some_and(|why| why.surpassed_by.is_some());
        let mut targets = self.record.measurements[of.measurement].targets.iter();
        let is_beside = metric.metric == Metric::LatencyMean
            && targets.any(|target| self.names.contains(target.as_str()));
        metric.verdict == Verdict::Unjudged && !stands_for_it && !is_beside
    }
}
