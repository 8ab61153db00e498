//! Runs: executed plans, as kept by the store.

use std::fmt;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::{
    Accepted, EarlierJudgement, EndReason, Host, Measurement, Profile, PtsStatement, PurgeMethod,
    Rounds, own_command, shell_word,
};

/// Kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Check: steps on whole targets, each with its own metric.
    Check,
    /// Capture: state of the machine, without load.
    Capture,
    /// Job files, or jobs on the command line.
    #[default]
    Run,
    /// Sweep: single points or rounds; resumable.
    Sweep,
    /// Preparation of drives only; resumable.
    Prepare,
    /// Explain: experiments to find what limits a job.
    Explain,
    /// Fit: an application's I/O compared with its needs.
    Fit,
    /// Files: devices with files for other runs.
    Files,
    /// Import: results of another tool.
    Import,
}

/// Plan in rounds, as far as judging and reporting rounds needs it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RoundsPlan {
    /// One-line description.
    #[serde(default)]
    pub about: String,
    /// Preparation of the drive that the user has to do; empty: none.
    #[serde(default)]
    pub before: String,
    /// Preparation done by the run itself; null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<PlanPreparation>,
    /// Stated facts for the report.
    #[serde(default)]
    pub report: PtsStatement,
    /// End condition of the rounds.
    pub rounds: Rounds,
}

/// Preparation of drives by a plan before its rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanPreparation {
    /// Purge method; null: no purge.
    pub purge: Option<PurgeMethod>,
    /// Number of fills; null: no fill.
    pub fill: Option<f64>,
}

impl RunKind {
    /// True for a check, or a capture, which is judged as a check without load: drives are judged,
    /// not jobs.
    pub const fn is_of_drives(self) -> bool {
        matches!(self, Self::Check | Self::Capture)
    }

    /// Kind and rounds of a run stored by an earlier version, which kept only the name and the text
    /// of the plan.
    pub fn from_earlier_version(plan_name: &str, plan: &str) -> (Self, Option<RoundsPlan>) {
        #[derive(Deserialize)]
        struct Step {
            on: Option<IgnoredAny>,
            outstanding: Option<IgnoredAny>,
        }
        #[derive(Deserialize)]
        struct Earlier {
            #[serde(rename = "format")]
            _format: IgnoredAny,
            #[serde(default)]
            step: Vec<Step>,
        }
        let kind = match (plan_name, toml::from_str::<Earlier>(plan)) {
            ("check", _) => Self::Check,
            ("capture", _) => Self::Capture,
            ("import", _) => Self::Import,
            (_, Ok(Earlier { step, .. }))
                if step.iter().any(|one| one.on.is_some() || one.outstanding.is_some()) =>
            {
                Self::Check
            }
            ("prepare", Ok(_)) => Self::Prepare,
            (_, Ok(_)) => Self::Sweep,
            ("explain", _) => Self::Explain,
            ("files", _) => Self::Files,
            _ => Self::Run,
        };
        (kind, toml::from_str(plan).ok())
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// In progress, or killed.
    Running,
    /// All steps were executed, or skipped for a recorded reason.
    Done,
    /// Interrupted by the user.
    Interrupted,
    /// A step failed.
    Failed,
}

/// Origin of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured on this machine.
    Measured,
    /// Measured on a simulated drive.
    Simulated,
    /// Imported from another tool's output; holds the source.
    Imported(String),
}

/// Scope of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The whole machine: no target was named, or the scope is not recorded (earlier versions).
    /// Problems of any drive count.
    #[default]
    Machine,
    /// The named targets: those in `Run::targets` and `Run::skipped`.
    Targets,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// UUIDv7.
    pub id: String,
    /// Name; unique where the user gave one.
    pub name: String,
    /// Command line, as typed.
    pub command: String,
    /// Progress.
    pub state: RunState,
    /// True if a process was seen working on it when it was loaded; not stored.
    #[serde(skip)]
    pub is_alive: bool,
    /// That process, if this one can see it; not stored.
    #[serde(skip)]
    pub pid: Option<u32>,
    /// True if it was read from a document, so that the store may not have it; not stored.
    #[serde(skip)]
    pub is_copy: bool,
    /// Start, ns since 1970 UTC.
    pub started_ns: i64,
    /// End, ns since 1970 UTC.
    pub ended_ns: Option<i64>,
    /// iodyno version that wrote the run.
    pub writer: String,
    /// Kind of run.
    #[serde(default)]
    pub kind: RunKind,
    /// Name of the plan.
    pub plan_name: String,
    /// Plan, as TOML.
    pub plan: String,
    /// Rounds of the plan; null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsPlan>,
    /// Origin.
    pub origin: Origin,
    /// Scope: the whole machine or named targets.
    #[serde(default)]
    pub scope: Scope,
    /// Requested targets, by block device name or path, resolved.
    pub targets: Vec<String>,
    /// Requested but skipped targets, steps or points, with reasons.
    pub skipped: Vec<Skipped>,
    /// Layout that it was measured on, built for it and taken down after it; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Permissions to write that it was given.
    #[serde(default, skip_serializing_if = "Permitted::is_empty")]
    pub permitted: Permitted,
    /// Number of measurements that it had each time it was resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_at: Vec<usize>,
    /// Acceptance step that the run belongs to; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Accepted>,
    /// What was found in it before it became a document; absent: it was measured here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Box<EarlierJudgement>>,
}

/// Words of the options that permit writing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Permitted {
    /// Of `--allow-write`.
    pub allow_write: Vec<String>,
    /// Of `--discard-data`.
    pub discard_data: Vec<String>,
    /// Of `--assume-unused`.
    pub assume_unused: Vec<String>,
}

impl Permitted {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Run {
    /// Word that selects it: its name, else its id.
    pub fn selector(&self) -> &str {
        if self.name.is_empty() { &self.id } else { &self.name }
    }

    /// Number of points that it left out, since they write and that was not permitted.
    pub fn not_permitted(&self) -> usize {
        let points = self.skipped.iter().map(|one| match one.why {
            SkipReason::NotPermitted { points } => points,
            _ => 0,
        });
        points.sum()
    }

    /// True if `iodyno resume` can continue it once it has stopped: its points are known
    /// individually, the store has it, and its targets outlive it.
    pub fn is_resumable(&self) -> bool {
        let has_points = matches!(self.kind, RunKind::Sweep | RunKind::Prepare);
        has_points && self.layout.is_none() && !self.is_copy
    }

    /// Command that continues it, by this name, with the permissions that it had.
    pub fn resume_command(&self, run: &str) -> String {
        let Permitted { allow_write, discard_data, assume_unused } = &self.permitted;
        let mut typed = format!("resume {}", shell_word(run));
        for (option, words) in [
            ("--allow-write", allow_write),
            ("--discard-data", discard_data),
            ("--assume-unused", assume_unused),
        ] {
            for word in words {
                typed.push_str(&format!(" {option} {}", shell_word(word)));
            }
        }
        own_command(&typed)
    }

    /// Returns the application profile of a fit run.
    pub fn profile(&self) -> Option<Profile> {
        (self.kind == RunKind::Fit).then(|| Profile::of_run(&self.plan).ok())?
    }

    /// Makes a run that starts on this machine, with an unnamed plan.
    pub fn new(id: impl Into<String>, started_ns: i64) -> Self {
        Self {
            id: id.into(),
            name: String::new(),
            command: String::new(),
            state: RunState::Running,
            is_alive: false,
            pid: None,
            is_copy: false,
            started_ns,
            ended_ns: None,
            writer: env!("CARGO_PKG_VERSION").into(),
            kind: RunKind::default(),
            plan_name: String::new(),
            plan: String::new(),
            rounds: None,
            origin: Origin::Measured,
            scope: Scope::default(),
            targets: Vec::new(),
            skipped: Vec::new(),
            layout: None,
            permitted: Permitted::default(),
            resumed_at: Vec::new(),
            accepted: None,
            judged: None,
        }
    }
}

/// Reason for skipping something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SkipReason {
    /// The target is in use by others.
    Busy {
        /// Busy device.
        device: String,
        /// I/Os per second by others.
        iops: f64,
        /// Bytes per second by others.
        bytes_per_s: f64,
    },
    /// Points of the target write, and writing was not permitted.
    NotPermitted {
        /// Number of points.
        points: usize,
    },
    /// A purge takes longer than iodyno waited; the drive continues it.
    PurgeGoesOn,
    /// The run was stopped before.
    Stopped,
    /// Something failed before, or the target may not be used.
    Failed {
        /// Reason, one sentence.
        why: String,
    },
    /// Sentence of an earlier version.
    #[serde(skip)]
    Said {
        /// Text of the sentence.
        words: String,
    },
}

/// A reason with its sentence, as in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ToldReason {
    /// Reason, one sentence.
    why: String,
    /// Reason as a value; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<SkipReason>,
}

/// JSON form of a reason; when reading, the value takes precedence.
mod told_reason {
    use serde::{Deserializer, Serializer};

    use super::*;

    pub(super) fn serialize<S: Serializer>(of: &SkipReason, to: S) -> Result<S::Ok, S::Error> {
        let reason = Some(of.clone()).filter(|of| !matches!(of, SkipReason::Said { .. }));
        ToldReason { why: of.to_string(), reason }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SkipReason, D::Error> {
        let ToldReason { why, reason } = ToldReason::deserialize(from)?;
        Ok(reason.unwrap_or_else(|| why.into()))
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { device, iops, bytes_per_s } => write!(
                f,
                "{device} is busy, skipped: {iops:.0} IOPS and {:.0} MB/s by others, measured for 1 s",
                bytes_per_s / 1e6
            ),
            Self::NotPermitted { points: 1 } => {
                f.write_str("1 point that writes, which was not permitted")
            }
            Self::NotPermitted { points } => {
                write!(f, "{points} points that write, which was not permitted")
            }
            Self::PurgeGoesOn => {
                f.write_str("no longer waited for; the drive finishes it by itself")
            }
            Self::Stopped => f.write_str("the run was stopped before it"),
            Self::Failed { why } | Self::Said { words: why } => f.write_str(why),
        }
    }
}

impl<T: Into<String>> From<T> for SkipReason {
    fn from(words: T) -> Self {
        Self::Said { words: words.into() }
    }
}

/// Something requested and not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Target.
    pub target: String,
    /// Name of the step; null: everything on the target, or what the reason counts.
    pub step: Option<String>,
    /// Reason.
    #[serde(flatten, with = "told_reason")]
    #[schemars(with = "ToldReason")]
    pub why: SkipReason,
    /// Command to type to have it done.
    pub next: String,
}

/// A run with all recorded data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The run.
    pub run: Run,
    /// Host snapshots, in time order; the first is from the run's start.
    pub snapshots: Vec<Host>,
    /// Measurements, in time order.
    pub measurements: Vec<Measurement>,
}

impl RunRecord {
    /// Host at the start of the run.
    pub fn host(&self) -> Option<&Host> {
        self.snapshots.first()
    }

    /// True if it was imported from reports without dates: its start is when they were read.
    pub fn is_undated(&self) -> bool {
        let is_import = self.run.kind == RunKind::Import;
        is_import && self.measurements.iter().all(|of| of.started_ns.is_none())
    }

    /// The last repetition of this measurement, which failed or was interrupted, after the run was
    /// resumed: one that succeeded or, after a failure, failed again.
    pub fn repetition(&self, measurement: usize) -> Option<&Measurement> {
        let is_cut =
            |of: &Measurement| matches!(of.end, EndReason::Interrupted | EndReason::Failed(_));
        let cut = self.measurements.get(measurement).filter(|of| is_cut(of))?;
        let is_again = |of: &&Measurement| {
            let counts = !is_cut(of) || (of.failure().is_some() && cut.failure().is_some());
            counts && (&of.name, &of.targets, of.round) == (&cut.name, &cut.targets, cut.round)
        };
        let later = self.run.resumed_at.iter().filter(|at| **at > measurement).min()?;
        self.measurements.iter().skip(*later).rfind(is_again)
    }

    /// True if this measurement failed or was interrupted, and another one took its place after the
    /// run was resumed.
    pub fn is_repeated(&self, measurement: usize) -> bool {
        self.repetition(measurement).is_some()
    }

    /// Measurements that failed and were not repeated, with their index.
    pub fn failures(&self) -> impl Iterator<Item = (usize, &Measurement)> {
        let all = self.measurements.iter().enumerate();
        all.filter(|(n, of)| of.failure().is_some() && !self.is_repeated(*n))
    }

    /// Host at the end of the run.
    pub fn host_after(&self) -> Option<&Host> {
        self.snapshots.last()
    }
}
