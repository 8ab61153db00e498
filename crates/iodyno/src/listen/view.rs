//! State of the run as shown by the live page and /metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use iodyno_campaign::Progress;
use iodyno_load::DirectionInterval;
use iodyno_model::{
    Direction, DirectionResult, LatencySeries, Measurement, RateSeries, Run, RunRecord, RunState,
    Window,
};
use iodyno_report::document::stream::State;
use iodyno_report::export::{LiveCounts, LiveMetrics};
use iodyno_report::page::LiveView;

use crate::stream::seconds::{IoByDirection, Phase, SecondData, add};

/// State of the run.
#[derive(Default)]
pub(crate) struct View {
    /// The run with its finished measurements, without their time series; shared with the page's
    /// code.
    run: Option<Arc<RunRecord>>,
    /// Running measurements, by number; between two phases those of the last one.
    now: BTreeMap<u32, Measurement>,
    /// Total I/O of all runs, by target.
    totals: BTreeMap<String, IoByDirection>,
    celsius: Option<f32>,
    left_ns: u64,
    /// Number of changes that a reader should see.
    pub(super) version: u64,
}

impl View {
    pub(crate) fn start(&mut self, run: Run) {
        self.run =
            Some(Arc::new(RunRecord { run, snapshots: Vec::new(), measurements: Vec::new() }));
        self.now.clear();
        self.version += 1;
    }

    pub(crate) fn end(&mut self, state: RunState) {
        self.run.iter_mut().for_each(|run| Arc::make_mut(run).run.state = state);
        self.left_ns = 0;
        self.version += 1;
    }

    pub(crate) fn begin(&mut self, measurements: Vec<(u32, Measurement)>) {
        self.now = measurements.into_iter().collect();
        self.version += 1;
    }

    pub(crate) fn progress(&mut self, progress: &Progress<'_>) {
        self.left_ns = progress.left_ns;
    }

    pub(crate) fn second(&mut self, phase: &Phase, of: &SecondData) {
        let mut moved: BTreeMap<u32, IoByDirection> = BTreeMap::new();
        for ((slot, state), one) in &of.jobs {
            let slot = &phase.slots[*slot];
            add(self.totals.entry(slot.target.clone()).or_default(), one);
            if let (Some(number), State::Measured | State::Ramp) = (slot.measurement, state) {
                add(moved.entry(number).or_default(), one);
            }
        }
        for (number, moved) in moved {
            let Some(measurement) = self.now.get_mut(&number) else { continue };
            for (direction, one) in moved.iter() {
                add_second(&mut measurement.total, direction, one, of);
            }
        }
        self.celsius = of.temperature_c;
        self.version += 1;
    }

    pub(crate) fn done(&mut self, number: u32, measurement: &Measurement) {
        self.now.insert(number, measurement.clone());
        let mut done = measurement.clone();
        for one in done.total.iter_mut().chain(done.parts.iter_mut().flat_map(|of| &mut of.results))
        {
            (one.series, one.latency_series) = (RateSeries::default(), LatencySeries::default());
        }
        if let Some(run) = &mut self.run {
            Arc::make_mut(run).measurements.push(done);
        }
        self.version += 1;
    }

    /// View for the page.
    pub(super) fn live(&self) -> LiveView {
        LiveView {
            run: self.run.clone(),
            now: self.now.values().cloned().collect(),
            left_ns: self.left_ns,
            temperature_c: self.celsius,
        }
    }

    /// Text for /metrics.
    pub(super) fn metrics(&self) -> String {
        let mut counts = Vec::new();
        for (target, moved) in &self.totals {
            for (direction, one) in moved.iter().filter(|(_, one)| one.ios + one.errors > 0) {
                let DirectionInterval { ios, bytes, errors, latency, .. } = one;
                let (ios, bytes, errors) = (*ios, *bytes, *errors);
                counts.push(LiveCounts { target, direction, ios, bytes, errors, latency });
            }
        }
        let metrics = LiveMetrics {
            run: self.run.as_ref().map(|run| &run.run),
            now: self.now.values().next().map(|one| one.name.as_str()),
            done: self.run.as_ref().map_or(0, |run| run.measurements.len()),
            left_ns: self.left_ns,
            temperature_c: self.celsius,
            counts,
        };
        metrics.to_string()
    }
}

/// Adds a second to the results of a direction.
fn add_second(
    total: &mut Vec<DirectionResult>,
    direction: Direction,
    one: &DirectionInterval,
    of: &SecondData,
) {
    let known = total.iter().position(|result| result.direction == direction);
    if known.is_none() && one.ios == 0 {
        return;
    }
    let at = known.unwrap_or(total.len());
    if at == total.len() {
        total.push(DirectionResult::unknown(direction));
    }
    let result = &mut total[at];
    result.series.push(Window {
        start_ns: of.start_ns,
        duration_ns: of.duration_ns,
        ios: Some(one.ios),
        bytes: Some(one.bytes),
        latency_sum_ns: one.latency.sum_ns(),
        latency_count: None,
        temperature_c: of.temperature_c,
    });
    result.latency_series.push(of.start_ns, of.duration_ns, &one.latency);
    result.latency.merge(&one.latency);
    result.ios = Some(result.ios.unwrap_or(0) + one.ios);
    result.bytes = Some(result.bytes.unwrap_or(0) + one.bytes);
}
