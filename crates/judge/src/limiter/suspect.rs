//! Possible limiters of a rate, and their status.

use iodyno_model::{Experiment, FillOrder};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::bottlenecks::waited_for_cpu;
use super::case::{Case, figure};
use super::io_times::IoTimes;
use crate::control_group::cgroup_effect;
use crate::index::Index;

/// Possible limiter of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limiter {
    /// Thermal throttling of the drive.
    Heat,
    /// A resource that is used up and recovers with a rest: a credit, a cache, or heat that was not
    /// measured.
    Burst,
    /// Limit of the process's control group.
    ControlGroup,
    /// Something that holds I/Os in this machine while the device is idle: a scheduler, or a hidden
    /// limit.
    BeforeDevice,
    /// Contract of a cloud volume or instance.
    Contract,
    /// Other users of the devices.
    OtherUsers,
    /// The drives' own links.
    Link,
    /// A limit that the drives share: a link, a card, an expander.
    Shared,
    /// The RAID card or host bus adapter.
    Card,
    /// The layer that combines several drives to one target.
    Layer,
    /// Power saving of link or drive.
    PowerSaving,
    /// The one CPU that handles the interrupts of all queues.
    Interrupts,
    /// CPU time of the submitting threads.
    Cpu,
    /// Placement of the submitting threads.
    Placement,
    /// Too few outstanding I/Os.
    Depth,
    /// The drive itself, in its current state.
    Drive,
}

/// Status of a suspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "standing", content = "why", rename_all = "snake_case")]
pub enum Standing {
    /// It is the limiter, by this evidence.
    Confirmed(String),
    /// It is not the limiter, by this evidence.
    Cleared(String),
    /// It may be the limiter; this experiment would tell.
    #[serde(serialize_with = "in_words")]
    Open(#[schemars(with = "String")] Experiment),
}

/// A suspect and its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Suspect {
    /// The possible limiter.
    pub limiter: Limiter,
    /// Status.
    #[serde(flatten)]
    pub standing: Standing,
}

fn in_words<S: Serializer>(experiment: &Experiment, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(experiment.what())
}

impl Suspect {
    pub(crate) fn confirmed(limiter: Limiter, why: impl Into<String>) -> Self {
        Self { limiter, standing: Standing::Confirmed(why.into()) }
    }

    pub(crate) fn cleared(limiter: Limiter, why: impl Into<String>) -> Self {
        Self { limiter, standing: Standing::Cleared(why.into()) }
    }

    pub(crate) const fn open(limiter: Limiter, experiment: Experiment) -> Self {
        Self { limiter, standing: Standing::Open(experiment) }
    }
}

impl Limiter {
    /// Returns its name for `case`: `the link (PCIe Gen2 x4)`.
    pub fn title(self, case: &Case<'_>) -> String {
        let card = || {
            let cards = case.cards();
            let name = cards.first().and_then(|card| card.name.value());
            match (name, cards.len()) {
                (Some(name), 1) => Some(format!("the card ({name})")),
                (Some(name), count) => Some(format!("the cards ({count} x {name})")),
                (None, _) => None,
            }
        };
        match self {
            Self::Heat => "heat".into(),
            // A provider's temporary burst.
            Self::Burst if case.virtual_disk.is_some() => "a burst that is used up".into(),
            Self::Burst => "something used up that recovers with a rest".into(),
            Self::ControlGroup => match cgroup_effect(&Index::of(case.record), case.of_run()) {
                Ok(Some(effect)) => {
                    format!("{} of control group {}", effect.setting(), effect.group())
                }
                _ => "a limit of a control group".into(),
            },
            Self::BeforeDevice => match case.io_times() {
                Some(at) if at.in_queue() => "a limit in the block layer's queue".into(),
                _ if case.of_run().conditions.device.is_some() => {
                    "the file system, or another limit before the block layer's queue".into()
                }
                _ => "a limit before the block layer's queue".into(),
            },
            Self::Contract => match case.exceeded().and_then(|all| all.first().copied()) {
                Some((limit, _)) => limit.name().into(),
                None => "the contract of volume or instance".into(),
            },
            Self::OtherUsers => "other users' I/O".into(),
            Self::PowerSaving => "power saving".into(),
            Self::Interrupts => "the CPU that handles all interrupts".into(),
            Self::Link => match case.narrowest_link() {
                Some(link) => format!("the link (PCIe {})", link.label()),
                None => "the link".into(),
            },
            Self::Shared if case.slower().len() > 1 => {
                let (names, rates): (Vec<&str>, Vec<f64>) = case.slower().into_iter().unzip();
                let rate = figure(case.metric, rates.iter().sum());
                format!("a limit of {rate} that {} share", listed(&names, "and"))
            }
            Self::Shared => {
                let card = case.cards().first().and_then(|card| card.name.value());
                let whose = match (card, case.drive_count) {
                    (Some(name), _) => format!("of the drives behind {name}"),
                    (None, 1) => "of the drive and its neighbours".into(),
                    (None, _) => "of the drives".into(),
                };
                format!("a shared limit of {} {whose}", case.figure())
            }
            Self::Card => card().unwrap_or_else(|| "the card".into()),
            Self::Layer => match &case.layer {
                Some(layer) => format!("the layer ({layer})"),
                None => "the layer".into(),
            },
            Self::Cpu => "the CPU time of the submitting threads".into(),
            Self::Placement => "where the submitting threads run".into(),
            Self::Depth => match (case.depth, case.jobs) {
                (Some(1), Some(jobs)) if jobs > 1 => {
                    format!("the depth (one I/O at a time for each of {jobs} jobs)")
                }
                (Some(1), _) => "the depth (one I/O at a time)".into(),
                _ => match (case.outstanding(), case.short_queue()) {
                    (Some(count), Some(slots)) => {
                        format!("the depth ({slots} of {count} I/Os, as nr_requests is too low)")
                    }
                    (Some(count), None) => format!("the depth ({count} I/Os outstanding)"),
                    (None, _) => "the depth".into(),
                },
            },
            Self::Drive if case.virtual_disk.is_some() => "the virtual disk itself".into(),
            Self::Drive if case.drives.is_empty() => "the device itself".into(),
            Self::Drive => match (case.drive_count, case.fill) {
                (1, Some(FillOrder::Random)) => {
                    "the drive in this state (written at random)".into()
                }
                (1, _) => "the drive itself".into(),
                _ => "the drives themselves".into(),
            },
        }
    }

    /// Returns a short name, for use where the title appears elsewhere: `the depth`.
    pub fn short(self, case: &Case<'_>) -> &'static str {
        match self {
            Self::Burst => "a burst",
            Self::Drive if case.virtual_disk.is_some() => "the disk",
            Self::Drive if case.drives.is_empty() => "the device",
            Self::Heat => "heat",
            Self::PowerSaving => "saving power",
            Self::Interrupts => "interrupts",
            Self::ControlGroup => "a control group",
            Self::Contract => "a contract",
            Self::BeforeDevice => "something before the device",
            Self::OtherUsers => "other users' I/O",
            Self::Link => "the link",
            Self::Shared => "something shared",
            Self::Card => "the card",
            Self::Layer => "the layer",
            Self::Cpu => "the CPU",
            Self::Placement => "the placement of threads",
            Self::Depth => "the depth",
            Self::Drive => "the drive",
        }
    }

    /// Returns the advice.
    pub(crate) fn advice(self, case: &Case<'_>) -> &'static str {
        match self {
            Self::Burst if case.virtual_disk.is_some() => {
                "Nothing in this machine: the provider limits how long it is fast."
            }
            Self::Burst => {
                "Find out what it is: the drive's temperature and thermal counters (nvme smart-log), \
                 its write cache, or a limit that lets bursts pass."
            }
            Self::Heat => "Cool the drive, then measure again: iodyno list shows its temperature.",
            Self::ControlGroup => {
                "Remove the limit, or measure outside of the group (iodyno rules cgroup-limit says how)."
            }
            Self::BeforeDevice if case.io_times().is_some_and(IoTimes::in_queue) => {
                "Look at the scheduler (/sys/block/*/queue/scheduler: none is for NVMe) and at \
                 io.latency and io.cost of control groups."
            }
            // The device of a file or directory.
            Self::BeforeDevice if case.of_run().conditions.device.is_some() => {
                "Measure the device below without the file system, or several files at a time; if it \
                 is as slow, look for a limit of a control group above this process (io.max)."
            }
            Self::BeforeDevice => {
                "Look for a limit of a control group above this process (io.max), in a container \
                 by whoever runs it."
            }
            Self::Contract => {
                "Nothing in this machine: order more for the volume, or a larger instance where that \
                 is the limit (iodyno rules volume-limit)."
            }
            Self::Cpu if waited_for_cpu(case.host(), case.of_run()).is_some() => {
                "Stop the other processes on its CPUs, or give it CPUs of its own (cpus_allowed), then \
                 measure again."
            }
            Self::OtherUsers => "Stop the other users, then measure again.",
            Self::Link => {
                "Put the drive into a slot of a higher generation or of more lanes; if the slot \
                 has them, find out why the link trained lower (iodyno check)."
            }
            Self::Shared => "Use more uplinks, cards or sockets; more drives here add nothing.",
            Self::Card => {
                "Attach drives without the card where they have to be fast, and look at the links \
                 between the card and its drives."
            }
            Self::Layer if case.reads_a_mirror() => {
                "Read several sequences at once (numjobs): md takes another copy for each."
            }
            Self::Layer => {
                "Measure the members at once without the layer; then its chunk and threads."
            }
            Self::PowerSaving => {
                "Where latency counts, let neither rest: pcie_aspm.policy=performance, \
                 nvme_core.default_ps_max_latency_us=0; both cost power."
            }
            Self::Interrupts => {
                "Spread the interrupts (iodyno rules interrupts-on-one-cpu says how), or keep the \
                 threads off the CPU that takes them."
            }
            Self::Cpu => {
                "Use more jobs, larger blocks or an engine that costs less (io_uring); one job is \
                 not enough for this device."
            }
            Self::Placement => "Run the I/O on the CPUs of the drive's NUMA node.",
            Self::Depth if case.waits_for_each() => {
                "Use more jobs, or an engine that keeps several I/Os outstanding (io_uring, libaio \
                 with direct=1): iodepth has no effect on this one."
            }
            Self::Depth if case.short_queue().is_some() => {
                "Raise nr_requests, which is below the depth (iodyno rules depth-capped says how), then \
                 measure again."
            }
            Self::Depth => "Keep more I/Os outstanding: a greater iodepth, or more jobs.",
            Self::Drive if case.virtual_disk.is_some() => {
                "Nothing in this machine: the provider sets its speed."
            }
            Self::Drive if case.fill == Some(FillOrder::Random) => {
                "Fill the drive in sequence and measure again, to tell its state from the drive."
            }
            Self::Drive => "Nothing on the path: use a faster drive, or several.",
        }
    }
}

/// Joins items: `a, b or c`.
pub(super) fn listed<S: AsRef<str>>(items: &[S], last: &str) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [init @ .., end] => format!("{} {last} {end}", init.join(", ")),
    }
}
