//! Experiments: one thing is changed, and it is seen what the rate does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that can be changed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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
    /// As many requests in the device's queue as its hardware holds.
    LongerQueue,
}

impl Experiment {
    /// Each in its place, with its name and what to do, as a sentence without its end.
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
        (Self::SequentialFill, "sequential-fill", "fill the drive in sequence, then measure again"),
        (
            Self::StatedLimit,
            "stated-limit",
            "hold it against what the disk's provider states for its size and kind",
        ),
        (
            Self::Polling,
            "polling",
            "poll for completions instead of waiting for interrupts (hipri)",
        ),
        (Self::Passthrough, "passthrough", "pass NVMe commands by the block layer (io_uring_cmd)"),
        (
            Self::OffInterrupts,
            "off-interrupts",
            "submit from CPUs that take none of its interrupts (cpus_allowed)",
        ),
        (
            Self::KeptAwake,
            "kept-awake",
            "measure while other reads let neither link nor drive rest",
        ),
        (
            Self::FullPower,
            "full-power",
            "set the drive to power state 0 (nvme set-feature --feature-id=2 --value=0), then measure again",
        ),
        (Self::OnceMore, "once-more", "measure the same once more, now that it is warm"),
        (Self::Rest, "rest", "let it rest and cool down, then measure the same once more"),
        (
            Self::NeighbourWrites,
            "neighbour-writes",
            "measure while a drive beside it is written (--allow-write names that)",
        ),
        (Self::OneDriveAlone, "one-drive-alone", "measure one drive alone"),
        (Self::MembersAtOnce, "members-at-once", "measure all drives at once without the layer"),
        (Self::FasterLink, "faster-link", "put the same drive on a faster link"),
        (
            Self::WithoutTheCard,
            "without-the-card",
            "measure a drive on a slot of its own, without the card",
        ),
        (
            Self::LongerQueue,
            "longer-queue",
            "let its queue hold what the hardware holds (nr_requests as mq/0/nr_tags), then measure again",
        ),
    ];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.into_iter().map(|(one, ..)| one)
    }

    /// Its name, with which those of its measurements begin: `twice-the-depth`.
    pub const fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// What to do: `measure with twice the iodepth`.
    pub const fn what(self) -> &'static str {
        Self::TABLE[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stands_in_its_row_by_its_name_in_json() {
        for (n, one) in Experiment::all().enumerate() {
            assert_eq!(one as usize, n);
            assert_eq!(serde_json::to_value(one).unwrap(), one.name());
        }
    }
}
