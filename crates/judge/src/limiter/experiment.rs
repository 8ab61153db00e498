//! Experiments: one thing is changed, and it is seen what the rate does.

use iodyno_model::{RunKind, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;

/// Name of the measurement that a run was made to explain.
pub const ASKED: &str = "asked";

/// Something that can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Each job twice as deep.
    TwiceTheDepth,
    /// Twice as many jobs, each as deep.
    TwiceTheJobs,
    /// Half the drives at once.
    HalfTheDrives,
    /// Four times the block size.
    LargerBlocks,
    /// The submitting threads on other CPUs, of another NUMA node where there is one.
    OtherCpus,
    /// Blocks that were never written.
    UnwrittenBlocks,
    /// Blocks that hold data.
    WrittenBlocks,
    /// The same blocks, written in sequence before.
    SequentialFill,
    /// No change: what the provider of a virtual disk states for it.
    StatedLimit,
    /// Completions polled for, instead of awaited as interrupts.
    Polling,
    /// NVMe commands through io_uring, past the kernel's block layer.
    Passthrough,
    /// The submitting threads off the one CPU that takes the interrupts.
    OffInterrupts,
    /// While other reads let neither link nor drive rest.
    KeptAwake,
    /// In the drive's first power state.
    FullPower,
    /// The same at the end once more: warm against cool.
    OnceMore,
    /// The same once more after a rest: cool against warm.
    Rest,
    /// While a drive beside it is written.
    NeighbourWrites,
    /// The device alone, without what lies above it.
    OneDriveAlone,
    /// All devices under the layer at once, without it.
    MembersAtOnce,
    /// The same drive on a faster link.
    FasterLink,
    /// The drive on a slot of its own, without the card.
    WithoutTheCard,
}

impl Experiment {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::TwiceTheDepth,
        Self::TwiceTheJobs,
        Self::HalfTheDrives,
        Self::LargerBlocks,
        Self::OtherCpus,
        Self::UnwrittenBlocks,
        Self::WrittenBlocks,
        Self::SequentialFill,
        Self::StatedLimit,
        Self::Polling,
        Self::Passthrough,
        Self::OffInterrupts,
        Self::KeptAwake,
        Self::FullPower,
        Self::OnceMore,
        Self::Rest,
        Self::NeighbourWrites,
        Self::OneDriveAlone,
        Self::MembersAtOnce,
        Self::FasterLink,
        Self::WithoutTheCard,
    ];

    /// Its name, which its measurement has: `twice-the-depth`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TwiceTheDepth => "twice-the-depth",
            Self::TwiceTheJobs => "twice-the-jobs",
            Self::HalfTheDrives => "half-the-drives",
            Self::LargerBlocks => "larger-blocks",
            Self::OtherCpus => "other-cpus",
            Self::UnwrittenBlocks => "unwritten-blocks",
            Self::WrittenBlocks => "written-blocks",
            Self::SequentialFill => "sequential-fill",
            Self::StatedLimit => "stated-limit",
            Self::Polling => "polling",
            Self::Passthrough => "passthrough",
            Self::OffInterrupts => "off-interrupts",
            Self::KeptAwake => "kept-awake",
            Self::FullPower => "full-power",
            Self::OnceMore => "once-more",
            Self::Rest => "rest",
            Self::NeighbourWrites => "neighbour-writes",
            Self::OneDriveAlone => "one-drive-alone",
            Self::MembersAtOnce => "members-at-once",
            Self::FasterLink => "faster-link",
            Self::WithoutTheCard => "without-the-card",
        }
    }

    /// What to do, as a sentence without its end: `measure with twice the iodepth`.
    pub const fn what(self) -> &'static str {
        match self {
            Self::TwiceTheDepth => "measure with twice the iodepth",
            Self::TwiceTheJobs => "measure with twice the jobs",
            Self::HalfTheDrives => "measure half the drives at once",
            Self::LargerBlocks => "measure with blocks four times as large",
            Self::OtherCpus => "measure from other CPUs (cpus_allowed), of the other NUMA node",
            Self::UnwrittenBlocks => "read blocks that were never written",
            Self::WrittenBlocks => "write all blocks, then read them",
            Self::SequentialFill => "fill the drive in sequence, then measure again",
            Self::StatedLimit => {
                "hold it against what the disk's provider states for its size and kind"
            }
            Self::Polling => "poll for completions instead of waiting for interrupts (hipri)",
            Self::Passthrough => "pass NVMe commands by the block layer (io_uring_cmd)",
            Self::OffInterrupts => {
                "submit from CPUs that take none of its interrupts (cpus_allowed)"
            }
            Self::KeptAwake => "measure while other reads let neither link nor drive rest",
            Self::FullPower => {
                "set the drive to power state 0 (nvme set-feature --feature-id=2 --value=0), then measure again"
            }
            Self::OnceMore => "measure the same once more, now that it is warm",
            Self::Rest => "let it rest and cool down, then measure the same once more",
            Self::NeighbourWrites => {
                "measure while a drive beside it is written (--allow-write names that)"
            }
            Self::OneDriveAlone => "measure one drive alone",
            Self::MembersAtOnce => "measure all drives at once without the layer",
            Self::FasterLink => "put the same drive on a faster link",
            Self::WithoutTheCard => "measure a drive on a slot of its own, without the card",
        }
    }
}

/// Whether a run was made to explain something.
pub fn is_of_question(record: &RunRecord) -> bool {
    record.run.kind == RunKind::Explain
}
