//! What a measurement was taken under.

use iodyno_model as model;
use iodyno_model::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, finite};

/// What a measurement was taken under; what is not known is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// Why this I/O engine.
    pub engine_reason: Option<String>,
    /// Kernel worker threads ran the I/O.
    pub punted: Option<bool>,
    /// Buffers were registered with the kernel.
    pub registered_buffers: Option<bool>,
    /// Threads that submitted.
    pub threads: Option<u32>,
    /// CPUs that they were kept on.
    pub cpus: Vec<u32>,
    /// Outstanding I/Os that were asked for.
    pub depth_asked: Option<u32>,
    /// Outstanding I/Os on the average.
    pub depth_reached: Option<f64>,
    /// Depths tried by the search for the depth that suffices.
    pub depths_tried: Vec<DepthTried>,
    /// Offsets stayed inside these ranges; empty: the whole target.
    pub ranges: Vec<Range>,
    /// Which share of the blocks was ever written, for each target.
    pub written: Vec<Written>,
    /// In which order they were written; null where that is not known.
    #[serde(default)]
    pub fill: Option<FillOrder>,
    /// The block device under a file or directory.
    pub device: Option<String>,
    /// The target is a scratch file that was made for the run.
    pub scratch: bool,
    /// What qualifies the target.
    #[serde(with = "model::told")]
    #[schemars(with = "Vec<model::ToldCaveat>")]
    pub target_remarks: Vec<Caveat>,
    /// What qualifies the load.
    #[serde(with = "model::told")]
    #[schemars(with = "Vec<model::ToldCaveat>")]
    pub shortfalls: Vec<Caveat>,
    /// I/Os on the devices that were not ours, per second.
    pub other_iops: Option<f64>,
    /// Bytes on the devices that were not ours, per second.
    pub other_bytes_per_s: Option<f64>,
    /// Relative half width of the interval that was asked for.
    pub precision_asked: Option<f64>,
    /// How long the measuring process did not run, ns, each time: not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lapses_ns: Vec<u64>,
    /// Settings of the machine that the plan asked for.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Relative half width of the 99 % percentile's interval that was asked for; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_precision_asked: Option<f64>,
    /// What its rate had to be steady over, too; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyState>,
    /// Our own I/O beside what was measured, where that was the experiment; absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
}

/// A steady state that was asked of a measurement's own rate over the last of its rounds (SNIA
/// PTS 2.0.2, 2.1.24), and what they came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyState {
    /// Rounds of the window.
    pub rounds: u32,
    /// Length of a round, ns.
    pub round_ns: u64,
    /// Greatest less smallest rate of them as a share of their average; null: there were not as
    /// many rounds.
    pub excursion: Option<f64>,
    /// Rise or fall of the line through them as a share of their average.
    pub slope_excursion: Option<f64>,
}

/// Our own I/O that went on beside what was measured, and is not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Its target.
    pub target: String,
    /// What it did, as fio's `rw`.
    pub rw: String,
    /// Bytes per second that it moved.
    pub bytes_per_s: Option<f64>,
}

/// A setting of the machine while it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its file in sysfs.
    pub path: String,
    /// What it was before the plan.
    pub before: String,
    /// What it was set to.
    pub value: String,
}

/// One depth of the search for the depth that suffices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthTried {
    /// Outstanding I/Os.
    pub depth: u32,
    /// I/Os per second that came of it.
    pub iops: Option<f64>,
}

/// A range of offsets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// First byte.
    pub offset_bytes: u64,
    /// Length, bytes.
    pub length_bytes: u64,
}

/// Which share of a target's blocks was ever written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// Target.
    pub target: String,
    /// Blocks that were looked at.
    pub samples: u32,
    /// Share that holds data, 0..1.
    pub share: Option<Estimate>,
    /// What follows from it.
    pub state: WrittenState,
    /// How it was told.
    pub evidence: String,
}

/// Whether blocks were ever written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenState {
    /// All measured blocks hold data.
    Written,
    /// Some were never written.
    Partly,
    /// None, or too few to measure.
    Unwritten,
    /// It cannot be told.
    Unknown,
}

/// In which order blocks were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FillOrder {
    /// In sequence.
    Sequential,
    /// At random.
    Random,
}

/// CPU time of the submitting threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// User time over run time, 1 = one CPU.
    pub user: Option<f64>,
    /// System time over run time, 1 = one CPU.
    pub system: Option<f64>,
    /// The busiest thread's share of a CPU, 0..1.
    pub busiest_thread: Option<f64>,
}

impl From<&model::Conditions> for Conditions {
    fn from(conditions: &model::Conditions) -> Self {
        let of_number = |value: Option<f64>| value.and_then(finite);
        Self {
            engine_reason: conditions.engine_reason.clone(),
            punted: conditions.punted,
            registered_buffers: conditions.registered_buffers,
            threads: conditions.threads,
            cpus: conditions.cpus.clone(),
            depth_asked: conditions.depth_asked,
            depth_reached: of_number(conditions.depth_reached),
            depths_tried: conditions
                .depths_tried
                .iter()
                .map(|(depth, iops)| DepthTried { depth: *depth, iops: finite(*iops) })
                .collect(),
            ranges: conditions
                .ranges
                .iter()
                .map(|(offset, length)| Range { offset_bytes: *offset, length_bytes: *length })
                .collect(),
            written: conditions.written.iter().map(Written::from).collect(),
            fill: conditions.fill.map(|fill| match fill {
                model::FillOrder::Sequential => FillOrder::Sequential,
                model::FillOrder::Random => FillOrder::Random,
            }),
            device: conditions.device.clone(),
            scratch: conditions.scratch,
            target_remarks: conditions.target_remarks.clone(),
            shortfalls: conditions.shortfalls.clone(),
            other_iops: of_number(conditions.other_iops),
            other_bytes_per_s: of_number(conditions.other_bytes_per_s),
            precision_asked: of_number(conditions.precision_asked),
            lapses_ns: conditions.lapses_ns.clone(),
            settings: conditions.settings.iter().map(Setting::from).collect(),
            p99_precision_asked: of_number(conditions.p99_precision_asked),
            steady_state: conditions.steady_state.as_ref().map(SteadyState::from),
            beside: conditions.beside.iter().map(Beside::from).collect(),
        }
    }
}

impl From<&model::SteadyState> for SteadyState {
    fn from(of: &model::SteadyState) -> Self {
        Self {
            rounds: of.rounds,
            round_ns: of.round_ns,
            excursion: of.excursion.and_then(finite),
            slope_excursion: of.slope_excursion.and_then(finite),
        }
    }
}

impl From<&model::WrittenShare> for Written {
    fn from(written: &model::WrittenShare) -> Self {
        Self {
            target: written.target.clone(),
            samples: written.samples,
            share: Estimate::new(&written.share),
            state: match written.state {
                model::WrittenState::Written => WrittenState::Written,
                model::WrittenState::Partly => WrittenState::Partly,
                model::WrittenState::Unwritten => WrittenState::Unwritten,
                model::WrittenState::Unknown => WrittenState::Unknown,
            },
            evidence: written.evidence.clone(),
        }
    }
}

impl From<&model::Setting> for Setting {
    fn from(setting: &model::Setting) -> Self {
        let model::Setting { path, before, value } = setting.clone();
        Self { path, before, value }
    }
}

impl From<&model::Beside> for Beside {
    fn from(beside: &model::Beside) -> Self {
        let model::Beside { target, rw, bytes_per_s } = beside.clone();
        Self { target, rw, bytes_per_s: finite(bytes_per_s) }
    }
}

impl From<&model::CpuUse> for CpuUse {
    fn from(cpu: &model::CpuUse) -> Self {
        Self {
            user: finite(cpu.user),
            system: finite(cpu.system),
            busiest_thread: finite(cpu.busiest_thread),
        }
    }
}
