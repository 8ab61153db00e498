//! What the process says at its end.

use iodyno_model::{Assessment, MetricJudgement, RunRecord, RunState, Verdict};

/// The exit status; the number is `status as u8`.
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
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Fine => "all passed",
            Self::Failed => "at least one FAIL",
            Self::Usage => "bad usage or unusable target",
            Self::Interrupted => "interrupted, or a measurement failed",
            Self::Unjudged => "nothing failed, but something asked could not be judged",
        }
    }
}

/// The exit status of a run: 2, 3, 1, 4, 0 in this order. A run never is 2,
/// since it was made. What nobody could judge is no failure unless a verdict is required:
/// without `require_verdict` it is 0.
pub fn exit_status(
    record: &RunRecord,
    assessment: &Assessment,
    require_verdict: bool,
) -> ExitStatus {
    let failed = record.measurements.iter().any(|measurement| measurement.failure().is_some());
    if record.run.state != RunState::Done || failed {
        return ExitStatus::Interrupted;
    }
    if assessment.verdict == Verdict::Fail {
        return ExitStatus::Failed;
    }
    // What fio printed elsewhere says nothing of the machine: nobody asked to judge it.
    let nobody_asked = record.snapshots.is_empty();
    if require_verdict && unjudged(record, assessment) && !nobody_asked {
        return ExitStatus::Unjudged;
    }
    ExitStatus::Fine
}

/// Something that was asked could not be judged.
fn unjudged(record: &RunRecord, assessment: &Assessment) -> bool {
    let mut metrics = assessment.measurements.iter().flat_map(|judged| &judged.metrics);
    let open_rate = metrics.any(MetricJudgement::is_open);
    assessment.verdict == Verdict::Unjudged
        || open_rate
        || !record.run.skipped.is_empty()
        || assessment.subjects.iter().any(|(_, verdict)| *verdict == Verdict::Unjudged)
}
