//! The lines of a stream: what is measured, second by second, while it goes on.

use iodyno_model::{self as model, Direction, PerDirection, Run, RunState, rfc3339};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::measurement::Measurement;
use super::run::Origin;

/// The schema that the first line of a run names.
const STREAM_SCHEMA: &str = "iodyno.stream/1";

/// A line of a stream: `iodyno.stream/1`. SI base units (bytes, ns).
///
/// Over all seconds of a measurement, what has the state `measured` adds up to its result and its
/// `warm_up`, exactly: I/Os, bytes, and each bin of the latencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamRecord {
    /// A run begins.
    RunStart(RunStart),
    /// A measurement begins, or a trial of the search for the queue depth.
    MeasurementStart(MeasurementStart),
    /// What was completed in about a second.
    Second(Second),
    /// A measurement is over.
    MeasurementEnd(Box<MeasurementEnd>),
    /// Lines that should stand here are missing: they were read too slowly.
    Dropped(Dropped),
    /// A run is over.
    RunEnd(RunEnd),
}

/// A run that begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStart {
    /// `iodyno.stream/1`.
    pub schema: String,
    /// UUIDv7.
    pub id: String,
    /// Name.
    pub name: String,
    /// The command as it was typed.
    pub command: String,
    /// The plan's name.
    pub plan: String,
    /// Version of iodyno.
    pub writer: String,
    /// Where the results come from.
    pub origin: Origin,
    /// Start, RFC 3339.
    pub started: String,
    /// Host name; null: not known.
    pub host: Option<String>,
    /// Targets that were asked for.
    pub targets: Vec<String>,
}

/// A measurement that begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasurementStart {
    /// Its number in the stream, from 1.
    pub measurement: u32,
    /// Name of the step or job.
    pub name: String,
    /// Phase within the run: equal phase means at the same time.
    pub phase: u32,
    /// I/Os kept outstanding, where it is a trial: it has no end of its own, and is no result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trial: Option<u32>,
    /// Start, RFC 3339.
    pub started: String,
    /// Targets.
    pub targets: Vec<String>,
    /// The I/O, in fio's option names.
    pub workload: model::Workload,
}

/// What was completed in about a second: of all jobs that ran at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// When it was over, seconds since 1970 UTC.
    pub time_s: f64,
    /// Start, ns since the start of the phase.
    pub start_ns: u64,
    /// Length, ns. A second ends with the first interval of 100 ms that reaches its end; the last
    /// one of a phase is shorter.
    pub duration_ns: u64,
    /// Temperature of the hottest drive, °C; absent where it was not read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub temperature_c: Option<f32>,
    /// By job, target and state.
    pub jobs: Vec<JobSecond>,
}

/// What a job did on a target in a second; clones of one job together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobSecond {
    /// The measurement that it belongs to; null: it goes on beside what is measured.
    pub measurement: Option<u32>,
    /// Name of the job.
    pub job: String,
    /// Target; several are joined by `:`.
    pub target: String,
    /// Whether it counts.
    pub state: State,
    /// What was done.
    #[serde(flatten)]
    pub done: Directions,
}

/// Whether I/O counts.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Within the job's `ramp_time`: not in the result.
    Ramp,
    /// In the result, unless it belongs to the `warm_up`.
    Measured,
    /// After the end of a measurement of rates, when no more I/O was submitted: not in the result.
    Drain,
    /// The process did not run (stopped, machine asleep): not in the result.
    Lapse,
}

/// I/O of each direction that occurred.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Directions {
    /// Reads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub read: Option<Done>,
    /// Writes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write: Option<Done>,
    /// Trims.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trim: Option<Done>,
}

/// I/O of one direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Latencies, submission to completion; absent where none were recorded.
    #[serde(skip_serializing_if = "Bins::is_empty", default)]
    pub latency: Bins,
}

/// A measurement that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasurementEnd {
    /// Its number in the stream.
    pub measurement: u32,
    /// The final result, as in the document of the run, but not judged.
    pub result: Measurement,
    /// What is in the result, with the latencies in bins; `errors` are those of all of it.
    pub measured: Directions,
    /// What was measured before the result's window: found to be warm-up at the end.
    pub warm_up: Directions,
}

/// Lines that are missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// Seconds.
    pub seconds: u64,
    /// Starts and ends.
    pub others: u64,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// UUIDv7.
    pub id: String,
    /// How far it got.
    pub state: RunState,
    /// End, RFC 3339.
    pub ended: String,
}

impl RunStart {
    /// Of `run` on a host of this name.
    pub fn new(run: &Run, host: Option<String>) -> Self {
        Self {
            schema: STREAM_SCHEMA.into(),
            id: run.id.clone(),
            name: run.name.clone(),
            command: run.command.clone(),
            plan: run.plan_name.clone(),
            writer: run.writer.clone(),
            origin: Origin::from(&run.origin),
            started: rfc3339(run.started_ns),
            host,
            targets: run.targets.clone(),
        }
    }
}

impl MeasurementEnd {
    /// Of the measurement of this number, whose seconds came to `counted`.
    pub fn new(
        number: u32,
        measurement: &model::Measurement,
        counted: &PerDirection<Done>,
    ) -> Self {
        let measured = |direction| {
            measurement.result(direction).map(|one| Done {
                ios: one.ios.unwrap_or(0),
                bytes: one.bytes.unwrap_or(0),
                errors: one.errors.unwrap_or(0),
                latency: Bins::from(&one.latency),
            })
        };
        let warm_up = |direction| {
            let (all, measured) = (counted.of(direction), measured(direction).unwrap_or_default());
            let before = Done {
                ios: all.ios.saturating_sub(measured.ios),
                bytes: all.bytes.saturating_sub(measured.bytes),
                errors: 0,
                latency: all.latency.without(&measured.latency),
            };
            (before != Done::default()).then_some(before)
        };
        Self {
            measurement: number,
            result: Measurement::new(measurement, None),
            measured: Directions::each(measured),
            warm_up: Directions::each(warm_up),
        }
    }
}

impl Directions {
    /// What `of` gives of each direction.
    pub fn each(of: impl Fn(Direction) -> Option<Done>) -> Self {
        Self { read: of(Direction::Read), write: of(Direction::Write), trim: of(Direction::Trim) }
    }
}
