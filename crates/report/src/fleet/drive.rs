//! Drives, their classes, and what is wrong with them.

use iodyno_judge::Unlike;
use iodyno_model::{Bytes, Estimate, Metric, Verdict};

/// Drives that should be alike.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetClass {
    /// What they have in common; `None`: targets that are no drives.
    pub kind: Option<DriveKind>,
    /// Its drives: outliers first, then the worst verdicts, then by host.
    pub drives: Vec<FleetDrive>,
}

/// What makes drives alike. What is not known of one makes it a kind of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriveKind {
    /// Model string.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Capacity.
    pub capacity: Option<Bytes>,
}

/// A drive, or a target that is none, of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetDrive {
    /// Host, or the run's name where it is not known.
    pub host: String,
    /// Id of the run.
    pub run_id: String,
    /// Drive or target.
    pub name: String,
    /// Serial number.
    pub serial: Option<String>,
    /// The run's verdict on it.
    pub verdict: Verdict,
    /// The worst that was found of it, in a sentence; `None`: nothing.
    pub finding: Option<String>,
    /// Id of the rule that found it.
    pub rule: Option<String>,
    /// What to do about it, in a sentence.
    pub next: Option<String>,
    /// What it may have in common with others.
    pub traits: Traits,
    /// Measured figures that are worse than the median of its class, or than they were, worst first.
    pub outliers: Vec<Outlier>,
}

/// What a drive may have in common with others of its class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traits {
    /// Product of its machine.
    pub chassis: Option<String>,
    /// Kernel's release.
    pub kernel: Option<String>,
    /// The platform's name of its slot.
    pub slot: Option<String>,
}

/// A measured figure that is unlike its class, or unlike what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// The step: `rand-read`.
    pub measurement: String,
    /// What is held against others.
    pub metric: Metric,
    /// The drive's own figure, in the metric's unit.
    pub estimate: Estimate,
    /// Beside the class, by the rule `unlike-peers` over all hosts; of figures over what they were, where it is
    /// held against itself.
    pub unlike: Unlike,
    /// What it is unlike.
    pub against: Against,
}

/// What a figure is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Against {
    /// The median of the drives of its class that were measured so.
    Class {
        /// How many they are.
        drives: usize,
    },
    /// What the drive did in earlier runs.
    Itself {
        /// The median, in the metric's unit.
        value: f64,
        /// How many runs they are.
        runs: usize,
        /// Start of the first, ns since 1970 UTC.
        since_ns: i64,
    },
}

impl FleetDrive {
    /// What is wrong with it: `slow`, and the rule that it fails.
    pub(crate) fn wrong_by(&self) -> impl Iterator<Item = &str> {
        let slow = (!self.outliers.is_empty()).then_some("slow");
        let fails = self.rule.as_deref().filter(|_| self.verdict == Verdict::Fail);
        slow.into_iter().chain(fails)
    }

    /// Whether it FAILs, or is slower than its class or than it was.
    pub fn is_wrong(&self) -> bool {
        self.verdict == Verdict::Fail || !self.outliers.is_empty()
    }
}
