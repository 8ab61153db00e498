//! Experiments: change one condition, then compare the rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Condition changed by an experiment.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Twice the queue depth of each job.
    TwiceTheDepth,
    /// Twice as many jobs, each with the same queue depth.
    TwiceTheJobs,
    /// Half the drives at once.
    HalfTheDrives,
    /// Four times the block size.
    LargerBlocks,
    /// Submitting threads on other CPUs, of another NUMA node if there is one.
    OtherCpus,
    /// Never-written blocks.
    UnwrittenBlocks,
    /// Blocks that hold data.
    WrittenBlocks,
    /// The same blocks, after a sequential fill.
    SequentialFill,
    /// No change: compares with the provider's stated limit of a virtual disk.
    StatedLimit,
    /// Completions polled instead of signalled by interrupts.
    Polling,
    /// NVMe commands through io_uring, bypassing the block layer.
    Passthrough,
    /// Submitting threads kept off the one CPU that takes the interrupts.
    OffInterrupts,
    /// Concurrent reads that keep the link and the drive out of low power states.
    KeptAwake,
    /// Drive in power state 0.
    FullPower,
    /// Same measurement again at the end: warm instead of cool.
    OnceMore,
    /// Same measurement again after a rest: cool instead of warm.
    Rest,
    /// Concurrent writes to a neighbouring drive.
    NeighbourWrites,
    /// Device alone, without the layers above it.
    OneDriveAlone,
    /// All member devices at once, without the layer above them.
    MembersAtOnce,
    /// Same drive on a faster link.
    FasterLink,
    /// Drive in a slot of its own, without the card.
    WithoutTheCard,
    /// Queue as long as the hardware allows (nr_requests).
    LongerQueue,
}

impl Experiment {
    /// Experiments in the order of their variants, with name and instruction (a sentence without
    /// its full stop).
    const TABLE: [(Self, &str, &str); 22] = [
        (Self::TwiceTheDepth, "twice-the-depth", "measure with twice the iodepth"),
        (Self::TwiceTheJobs, "twice-the-jobs", "measure with twice the jobs"),
        (Self::HalfTheDrives, "half-the-drives", "measure half the drives at once"),
        (Self::LargerBlocks, "larger-blocks", "measure with blocks four times as large"),
        (
            Self::OtherCpus,
            "other-cpus",
            "measure from other CPUs (cpus_allowed), of the other NUMA node",
        ),
        (Self::UnwrittenBlocks, "unwritten-blocks", "read blocks that were never written"),
        (Self::WrittenBlocks, "written-blocks", "write all blocks, then read them"),
        (
            Self::SequentialFill,
            "sequential-fill",
            "fill the drive sequentially, then measure again",
        ),
        (
            Self::StatedLimit,
            "stated-limit",
            "compare with the provider's stated limit for its size and type",
        ),
        (
            Self::Polling,
            "polling",
            "poll for completions instead of waiting for interrupts (hipri)",
        ),
        (Self::Passthrough, "passthrough", "bypass the block layer (io_uring_cmd)"),
        (
            Self::OffInterrupts,
            "off-interrupts",
            "submit from CPUs that take none of its interrupts (cpus_allowed)",
        ),
        (Self::KeptAwake, "kept-awake", "measure while other reads keep link and drive awake"),
        (
            Self::FullPower,
            "full-power",
            "set the drive to power state 0 (nvme set-feature --feature-id=2 --value=0), then measure again",
        ),
        (Self::OnceMore, "once-more", "measure again, now that it is warm"),
        (Self::Rest, "rest", "let it cool down, then measure again"),
        (
            Self::NeighbourWrites,
            "neighbour-writes",
            "measure while another drive is written (name it with --allow-write)",
        ),
        (Self::OneDriveAlone, "one-drive-alone", "measure one drive alone"),
        (Self::MembersAtOnce, "members-at-once", "measure all drives at once without the layer"),
        (Self::FasterLink, "faster-link", "put the same drive on a faster link"),
        (
            Self::WithoutTheCard,
            "without-the-card",
            "measure a drive on a slot of its own, without the card",
        ),
        (Self::LongerQueue, "longer-queue", "set nr_requests to mq/0/nr_tags, then measure again"),
    ];

    /// Returns all experiments.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.into_iter().map(|(one, ..)| one)
    }

    /// Name, which is also the prefix of its measurements: `twice-the-depth`.
    pub const fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// Instruction: `measure with twice the iodepth`.
    pub const fn what(self) -> &'static str {
        Self::TABLE[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_order_and_names_match_the_variants() {
        for (n, one) in Experiment::all().enumerate() {
            assert_eq!(one as usize, n);
            assert_eq!(serde_json::to_value(one).unwrap(), one.name());
        }
    }
}
