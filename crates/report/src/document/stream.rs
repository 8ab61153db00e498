//! Records of a stream: results second by second, during the measurement.

use iodyno_model::{self as model, Direction, PerDirection, Run, RunState, rfc3339};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::measurement::Measurement;
use super::run::Origin;

/// Schema named in the first line of a run.
const STREAM_SCHEMA: &str = "iodyno.stream/1";

/// Line of a stream: `iodyno.stream/1`. SI base units (bytes, ns).
///
/// Over all seconds of a measurement, I/O with the state `measured` adds up exactly to its result
/// and its `warm_up`: I/Os, bytes, and each bin of the latencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamRecord {
    /// Start of a run.
    RunStart(RunStart),
    /// Start of a measurement, or of a trial in the search for the queue depth.
    MeasurementStart(MeasurementStart),
    /// I/O completed in about a second.
    Second(Second),
    /// End of a measurement.
    MeasurementEnd(Box<MeasurementEnd>),
    /// Lines are missing here because the reader was too slow.
    Dropped(Dropped),
    /// End of a run.
    RunEnd(RunEnd),
}

/// Start of a run.
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
    /// Name of the plan.
    pub plan: String,
    /// iodyno version.
    pub writer: String,
    /// Origin of the results.
    pub origin: Origin,
    /// Start, RFC 3339.
    pub started: String,
    /// Host name; null: not known.
    pub host: Option<String>,
    /// Requested targets.
    pub targets: Vec<String>,
}

/// Start of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasurementStart {
    /// Number in the stream, from 1.
    pub measurement: u32,
    /// Name of the step or job.
    pub name: String,
    /// Phase within the run; measurements of the same phase run at the same time.
    pub phase: u32,
    /// Queue depth of a trial. A trial has no end record, and is no result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trial: Option<u32>,
    /// Start, RFC 3339.
    pub started: String,
    /// Targets.
    pub targets: Vec<String>,
    /// Workload, in fio's option names.
    pub workload: model::Workload,
}

/// I/O completed in about a second, by all jobs running at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// End, seconds since 1970 UTC.
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

/// I/O of a job on a target in a second; clones of a job are combined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobSecond {
    /// Number of its measurement; null: background I/O that is not measured.
    pub measurement: Option<u32>,
    /// Name of the job.
    pub job: String,
    /// Target; several are joined by `:`.
    pub target: String,
    /// Whether it is in the result.
    pub state: State,
    /// Completed I/O.
    #[serde(flatten)]
    pub done: Directions,
}

/// Whether I/O is in the result.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// During the job's `ramp_time`: not in the result.
    Ramp,
    /// In the result, unless it belongs to the `warm_up`.
    Measured,
    /// After a measurement of rates ended, when no more I/O was submitted: not in the result.
    Drain,
    /// The process did not run (stopped, or machine asleep): not in the result.
    Lapse,
}

/// I/O by direction; absent for directions without any.
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

/// End of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasurementEnd {
    /// Number in the stream.
    pub measurement: u32,
    /// Final result, as in the run document, but without verdicts.
    pub result: Measurement,
    /// I/O in the result, with latencies in bins; `errors` are those of the whole measurement.
    pub measured: Directions,
    /// I/O measured before the window of the result, found to be warm-up at the end.
    pub warm_up: Directions,
}

/// Missing lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// Missing `second` lines.
    pub seconds: u64,
    /// Missing starts and ends.
    pub others: u64,
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// UUIDv7.
    pub id: String,
    /// State of the run.
    pub state: RunState,
    /// End, RFC 3339.
    pub ended: String,
}

impl RunStart {
    /// Builds the start of `run` on a host of this name.
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
    /// Builds the end of the measurement with this number; `counted` is the total of its seconds.
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
    /// Calls `of` for each direction.
    pub fn each(of: impl Fn(Direction) -> Option<Done>) -> Self {
        Self { read: of(Direction::Read), write: of(Direction::Write), trim: of(Direction::Trim) }
    }
}
