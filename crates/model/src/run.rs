//! A plan carried out: what the store keeps.

use std::fmt;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::{Accepted, Host, Measurement, Profile, PtsStatement, PurgeMethod, Rounds};

/// What kind of run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Steps on whole targets, each by its own metric.
    Check,
    /// The machine as it is, without load.
    Capture,
    /// Job files, or jobs of a command line.
    #[default]
    Run,
    /// Points, one by one or in rounds: it can be resumed.
    Sweep,
    /// A preparation of drives alone: it can be resumed.
    Prepare,
    /// Experiments that tell what limits a job.
    Explain,
    /// What an application does to its storage, held against what it needs.
    Fit,
    /// Devices over files, which other runs are measured on.
    Files,
    /// What another tool measured.
    Import,
}

/// A plan in rounds, as far as rounds are judged and shown by it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RoundsPlan {
    /// What it is about, in a line.
    #[serde(default)]
    pub about: String,
    /// What it wants to be done to a drive before; empty: nothing.
    #[serde(default)]
    pub before: String,
    /// What the run itself did to its drives before; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<PlanPreparation>,
    /// What is stated for its report.
    #[serde(default)]
    pub report: PtsStatement,
    /// When its rounds are over.
    pub rounds: Rounds,
}

/// What a plan does to its drives before its rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanPreparation {
    /// How they are emptied; `None`: not at all.
    pub purge: Option<PurgeMethod>,
    /// How often they are filled; `None`: not at all.
    pub fill: Option<f64>,
}

impl RunKind {
    /// Of a check, or of a capture, which is judged as one without load: each drive is what it is
    /// about, and not each job.
    pub const fn is_of_drives(self) -> bool {
        matches!(self, Self::Check | Self::Capture)
    }

    /// Of a run of an earlier version, which stored the name and the text of its plan alone; and
    /// its rounds.
    pub fn of_earlier(plan_name: &str, plan: &str) -> (Self, Option<RoundsPlan>) {
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

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It is going on, or was killed.
    Running,
    /// Every step was carried out or skipped for a reason that is recorded.
    Done,
    /// The user stopped it.
    Interrupted,
    /// A step failed.
    Failed,
}

/// Where a run came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Measured on this machine.
    Measured,
    /// Measured on a simulated drive.
    Simulated,
    /// Read from somebody's output; says from where.
    Imported(String),
}

/// What a run was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The whole machine: nobody named a target. Also where it is not recorded, as in
    /// runs of earlier versions: what is wrong with any drive counts.
    #[default]
    Machine,
    /// The targets that were named: `Run::targets`, and those in `Run::skipped`.
    Targets,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// UUIDv7.
    pub id: String,
    /// Name; unique where the user gave one.
    pub name: String,
    /// The command as it was typed.
    pub command: String,
    /// How far it got.
    pub state: RunState,
    /// Start, ns since 1970 UTC.
    pub started_ns: i64,
    /// End, ns since 1970 UTC.
    pub ended_ns: Option<i64>,
    /// Version of iodyno that wrote it.
    pub writer: String,
    /// What kind of run it is.
    #[serde(default)]
    pub kind: RunKind,
    /// The plan's name.
    pub plan_name: String,
    /// The plan, as TOML.
    pub plan: String,
    /// Its rounds; `None`: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsPlan>,
    /// Where it came from.
    pub origin: Origin,
    /// Whether targets were named.
    #[serde(default)]
    pub scope: Scope,
    /// Targets that were asked for, by block device name or path, resolved.
    pub targets: Vec<String>,
    /// What was asked for and not done, and why.
    pub skipped: Vec<Skipped>,
    /// What it was a step of; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Accepted>,
}

impl Run {
    /// The profile that it holds an application's I/O against, where it is of one.
    pub fn profile(&self) -> Option<Profile> {
        (self.kind == RunKind::Fit).then(|| Profile::parse(&self.plan).ok())?
    }

    /// One that begins on this machine, of a plan without a name.
    pub fn new(id: impl Into<String>, started_ns: i64) -> Self {
        Self {
            id: id.into(),
            name: String::new(),
            command: String::new(),
            state: RunState::Running,
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
            accepted: None,
        }
    }
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SkipReason {
    /// The target serves others.
    Busy {
        /// The device that does.
        device: String,
        /// Their I/Os per second.
        iops: f64,
        /// Their bytes per second.
        bytes_per_s: f64,
    },
    /// The drive purges itself, and it was no longer waited for.
    PurgeGoesOn,
    /// Something failed on it before, or it may not be used.
    Failed {
        /// Why, in a sentence.
        why: String,
    },
    /// Words of an earlier version.
    #[serde(skip)]
    Said {
        /// A sentence.
        words: String,
    },
}

/// A reason with its sentence, as JSON has it.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ToldReason {
    /// Why, in a sentence.
    why: String,
    /// The same as a value; absent of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<SkipReason>,
}

/// JSON of a reason; read back, the value counts.
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
                "{device} serves others: {iops:.0} IOPS and {:.0} MB/s during a look of 1 s, so it \
                 was not loaded",
                bytes_per_s / 1e6
            ),
            Self::PurgeGoesOn => {
                f.write_str("it was no longer waited for; the drive goes on by itself")
            }
            Self::Failed { why } | Self::Said { words: why } => f.write_str(why),
        }
    }
}

impl<T: Into<String>> From<T> for SkipReason {
    fn from(words: T) -> Self {
        Self::Said { words: words.into() }
    }
}

/// Something that was asked for and not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Target.
    pub target: String,
    /// The step, or `None` for everything on the target.
    pub step: Option<String>,
    /// Why.
    #[serde(flatten, with = "told_reason")]
    #[schemars(with = "ToldReason")]
    pub why: SkipReason,
    /// What the user can type to have it done.
    pub next: String,
}

/// A run with all that was recorded of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The run.
    pub run: Run,
    /// Snapshots of the host, in order of time; the first is the run's start.
    pub snapshots: Vec<Host>,
    /// Measurements, in order of time.
    pub measurements: Vec<Measurement>,
}

impl RunRecord {
    /// The host at the start of the run.
    pub fn host(&self) -> Option<&Host> {
        self.snapshots.first()
    }

    /// The host at the end of the run.
    pub fn host_after(&self) -> Option<&Host> {
        self.snapshots.last()
    }
}
