//! Drives of a fleet, their classes and outliers.

use iodyno_judge::Unlike;
use iodyno_model::{Bytes, Estimate, Metric, Verdict};

/// Drives that should be alike.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetClass {
    /// Properties they share; `None`: targets that are not drives.
    pub kind: Option<DriveKind>,
    /// Drives: outliers first, then the worst verdicts, then by host.
    pub drives: Vec<FleetDrive>,
}

/// Properties that make drives comparable. An unknown value is a kind of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriveKind {
    /// Model string.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Capacity.
    pub capacity: Option<Bytes>,
}

/// A drive, or another target, of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetDrive {
    /// Host name, or the run's name if unknown.
    pub host: String,
    /// Id of the run.
    pub run_id: String,
    /// Drive or target.
    pub name: String,
    /// Serial number.
    pub serial: Option<String>,
    /// The run's verdict on it.
    pub verdict: Verdict,
    /// The worst finding, in a sentence, if any.
    pub finding: Option<String>,
    /// Id of the rule of that finding.
    pub rule: Option<String>,
    /// Recommended action, in a sentence.
    pub next: Option<String>,
    /// Traits that it may share with other drives.
    pub traits: Traits,
    /// Figures worse than the class median, or than the drive's earlier runs, worst first.
    pub outliers: Vec<Outlier>,
}

/// Traits that a drive may share with others of its class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traits {
    /// Product name of the machine.
    pub chassis: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Slot name given by the platform.
    pub slot: Option<String>,
}

/// Figure unlike the class, or unlike the drive's earlier runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// Name of the step: `rand-read`.
    pub measurement: String,
    /// Metric compared.
    pub metric: Metric,
    /// The drive's own figure, in the metric's unit.
    pub estimate: Estimate,
    /// Comparison with the class by the rule `unlike-peers`, over all hosts; against earlier runs,
    /// it compares ratios to the earlier figures.
    pub unlike: Unlike,
    /// Reference of the comparison.
    pub against: Against,
}

/// Reference of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Against {
    /// Median of the drives of its class measured by the same step.
    Class {
        /// Number of drives.
        drives: usize,
    },
    /// The drive's own earlier runs.
    Itself {
        /// Their median, in the metric's unit.
        value: f64,
        /// Number of runs.
        runs: usize,
        /// Start of the first, ns since 1970 UTC.
        since_ns: i64,
    },
}

impl FleetDrive {
    /// Problems of the drive: `slow`, and the rule that it fails.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &str> {
        let slow = (!self.outliers.is_empty()).then_some("slow");
        let fails = self.rule.as_deref().filter(|_| self.verdict == Verdict::Fail);
        slow.into_iter().chain(fails)
    }

    /// True if it FAILs, or is slower than its class or than before.
    pub fn is_wrong(&self) -> bool {
        self.verdict == Verdict::Fail || !self.outliers.is_empty()
    }
}
