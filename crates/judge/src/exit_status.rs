//! Exit status of the process.

use iodyno_model::{Assessment, Run, RunKind, RunRecord, RunState, Scope, Verdict};

use crate::open_metrics::JudgedTargets;

/// Exit status; the number is `status as u8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// All passed; warnings are allowed.
    Fine = 0,
    /// At least one FAIL.
    Failed = 1,
    /// Bad usage or an unusable target.
    Usage = 2,
    /// Interrupted, or a measurement failed.
    Interrupted = 3,
    /// Nothing failed, but something that was asked could not be judged.
    Unjudged = 4,
}

impl ExitStatus {
    /// Returns a description.
    pub fn words(self) -> &'static str {
        match self {
            Self::Fine => "all passed",
            Self::Failed => "at least one FAIL",
            Self::Usage => "bad usage or unusable target",
            Self::Interrupted => "interrupted, or a measurement failed",
            Self::Unjudged => "no failures, but some results could not be judged",
        }
    }
}

/// Returns the exit status of a run, by the precedence 2, 3, 1, 4, 0. A stored run is never 2,
/// since it did run. Unjudged results are no failure: they give 0 unless a verdict is required, by
/// the user (`require_verdict`) or by the run itself.
pub fn exit_status(
    record: &RunRecord,
    assessment: &Assessment,
    require_verdict: bool,
) -> ExitStatus {
    if record.run.state != RunState::Done || record.failures().next().is_some() {
        return ExitStatus::Interrupted;
    }
    if assessment.verdict == Verdict::Fail {
        return ExitStatus::Failed;
    }
    // Imported fio output without snapshots says nothing about the machine: nobody asked to judge
    // it.
    let nobody_asked = record.snapshots.is_empty();
    let required = require_verdict || requires_verdict(&record.run);
    if required && unjudged(record, assessment) && !nobody_asked {
        return ExitStatus::Unjudged;
    }
    ExitStatus::Fine
}

/// Returns true if a run is no success without a verdict: a check of named targets of which one was
/// not measured.
fn requires_verdict(run: &Run) -> bool {
    run.kind == RunKind::Check && run.scope == Scope::Targets && !run.skipped.is_empty()
}

/// Returns true if something that was asked could not be judged.
fn unjudged(record: &RunRecord, assessment: &Assessment) -> bool {
    let targets = JudgedTargets::of(record, &assessment.measurements);
    let is_open = assessment
        .measurements
        .iter()
        .any(|of| of.metrics.iter().any(|metric| targets.is_open(of, metric)));
    assessment.verdict == Verdict::Unjudged
        || is_open
        || !record.run.skipped.is_empty()
        || assessment.subjects.iter().any(|(_, verdict)| *verdict == Verdict::Unjudged)
}
