//! Storage benchmarking terms as plain types.
//!
//! Everything here is a value: no I/O, no clock, no policy. A measurement has the same type
//! whichever load generator made it. The store keeps these types as serde writes them, and
//! `iodyno-report`'s documents show them: renaming a field changes both formats.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod accepted;
mod assessment;
mod block_life;
mod built;
mod caveat;
mod claim;
mod clean;
mod conditions;
mod control_group;
mod device_mapper;
mod disk_use;
mod distinct;
mod drive;
mod drive_state;
mod engine_kind;
mod estimate;
mod experiment;
mod fact;
mod failure;
mod figure_of;
pub mod figures;
mod file_system;
mod finding;
mod headroom;
mod histogram;
mod host;
mod interrupt;
mod iommu;
mod job_stats;
mod json;
mod latency;
mod layer;
mod link;
mod md;
mod measurement;
mod natural;
mod neighbour;
mod ocp;
mod own_command;
mod parse_error;
mod per_direction;
mod predictions;
mod priority;
mod profile;
mod purpose;
mod replayed;
mod rounds;
mod run;
mod sampled;
mod series;
mod shell;
mod stated;
mod subsystem;
mod together;
mod topology;
mod trace_model;
mod trace_summary;
mod units;
mod volume;
mod workload;
mod written;

pub use accepted::{Accepted, Launcher, Rank};
pub use assessment::{
    Assessment, Basis, BelowSaturation, EarlierJudgement, JudgedMeasurement, Metric,
    MetricJudgement, Reason, Validity, Verdict, Yardstick,
};
pub use block_life::{BlockLife, BlockState};
pub use built::{Built, Mark};
pub use caveat::{Caveat, DepthLimit, FileSystemEffect, NotPolled, Told, told};
pub use claim::{Claim, ClaimFigure, ClaimScope, MatchConfidence};
pub use clean::{clean, is_unsafe};
pub use conditions::{Beside, BlockTimes, Conditions, Setting, SteadyState};
pub use control_group::{ControlGroup, CpuThrottling, IoMax};
pub use device_mapper::{MappedDevice, MappedPlace, MappedSegment};
pub use disk_use::DiskUse;
pub use distinct::{add_missing, distinct};
pub use drive::{
    ABSOLUTE_ZERO_C, Drive, HealthLog, IdentifyController, IdentifyNamespace, LbaFormat, Namespace,
    PowerState, Temperature,
};
pub use drive_state::{ConditionState, DriveState, FillState, PreparationState, PurgeMethod};
pub use engine_kind::EngineKind;
pub use estimate::{Estimate, Spread};
pub use experiment::Experiment;
pub use fact::Fact;
pub use failure::{Cause, Failure, errno_text};
pub use figure_of::{FigureKind, FigureOf, IoOf, NotKnown, Scaled, filled, placeholders};
pub use file_system::FileSystem;
pub use finding::{Evidence, Finding, RuleOutcome, RuleReport, Severity};
pub use headroom::{EarlierHeadroom, Headroom, HeadroomPlan, Load, LoadCell, NoP99};
pub use histogram::{Bin, Histogram};
pub use host::{
    Cpus, DiskStats, Driver, Host, Kernel, Limits, NumaNode, PciFunction, Slot, StorageCard, System,
};
pub use interrupt::Interrupt;
pub use iommu::Iommu;
pub use job_stats::{CpuUse, ErrorCount, JobStats, SteadySample};
pub use latency::{LatencyKind, LatencyRange, LatencySummary, PERCENTILES, StatedLatencies};
pub use layer::{BackingFile, BlockDevice, BlockKind, Mount, Queue, Use};
pub use link::{Aspm, Link, LinkEnd, LinkState, PcieError, PcieSeverity};
pub use md::{MdArray, MdMember};
pub use measurement::{Clustering, DirectionResult, EndReason, Measurement, Part, SplitLatency};
pub use natural::natural;
pub use neighbour::Neighbour;
pub use ocp::{LatencyMonitor, OcpHealth};
pub use own_command::{own_command, set_called};
pub use parse_error::ParseError;
pub use per_direction::{DIRECTIONS, PerDirection};
pub use predictions::{Knee, Peak, PeakUnder, Prediction, Predictions, Under};
pub use priority::PriorityLatencies;
pub use profile::{
    Bound, Kept, Limit, PROFILE_FORMAT, Profile, ProfileError, ProfileQuantity, ProfileSetting,
    ProfileTarget, Smallest,
};
pub use purpose::Purpose;
pub use replayed::{
    PackedAddresses, ReplayPace, Replayed, ReplayedDevice, ReplayedIos, ReplayedLatency,
    ReplayedSize, ReplayedSlot, ReplayedTrace,
};
pub use rounds::{PtsStatement, Rounds, Scaling, Tracked};
pub use run::{
    Origin, Permitted, PlanPreparation, RoundsPlan, Run, RunKind, RunRecord, RunState, Scope,
    SkipReason, Skipped,
};
pub use sampled::{RateSamples, SampledRates};
pub use series::{LatencySeries, LatencyWindow, RateSeries, Window};
pub use shell::{json_word, shell_word};
pub use stated::{Stated, StatedBlocks, StatedCard};
pub use subsystem::{NamespacePath, Subsystem};
pub use together::{GroupTotal, group_totals, span_ns, totals};
pub use topology::{LinkLoad, Node, NodeKind, topology};
pub use trace_model::{ModelLikeness, TraceLikeness};
pub use trace_summary::{
    TraceBurst, TraceCourse, TraceSlot, TraceSummary, TracedActor, TracedOperation, TracedSize,
};
pub use units::{
    Bytes, WIDTH_NOT_KNOWN, format_count, format_duration_ns, format_mb_per_s, format_mib_per_s,
    format_percent, format_ratio, format_width, parse_duration_ns, parse_rfc3339, rfc3339,
    significant, with_micro,
};
pub use volume::{AboveLimit, VolumeLimit, VolumeLimits};
pub use workload::{Direction, Workload};
pub use written::{FillOrder, UnwrittenProof, WrittenEvidence, WrittenShare, WrittenState};
