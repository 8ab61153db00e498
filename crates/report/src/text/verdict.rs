//! Overall verdict, and the exit status in words.

use iodyno_model::{Assessment, Run, RunRecord, Severity, Verdict};

use super::host::counted;
use super::ink::Ink;
use super::style::Style;
use super::words::Hanging;
use super::{rows, runs};

/// Overall verdict and exit status in words: the last line of a command (more on a narrow
/// terminal). Empty after a run that is not judged as a whole and has not failed.
pub fn verdict_text(
    record: &RunRecord,
    assessment: &Assessment,
    exit_status: u8,
    style: &Style,
) -> String {
    let is_judged = record.run.kind.is_of_drives() || record.run.profile().is_some();
    if !is_judged && exit_status == 0 {
        return String::new();
    }
    let (verdict, words) = verdict_words(&record.run, assessment, exit_status);
    let (label, ink) = match is_judged {
        true => (verdict.label(), Ink::of_verdict(verdict)),
        false => rows::clause(record, assessment, &[]).0,
    };
    let after = Hanging::after(label, ink, label.len() + 2, style);
    let items = [words, format!("(exit status {exit_status})")];
    Hanging { separator: " ", ..after }.lines(&items)
}

/// Overall verdict, and `exit_status` in words.
pub(crate) fn verdict_words(
    run: &Run,
    assessment: &Assessment,
    exit_status: u8,
) -> (Verdict, String) {
    let of = |severity| assessment.findings.iter().filter(|f| f.severity == severity).count();
    let words = match exit_status {
        0 => match (assessment.verdict, of(Severity::Warn)) {
            (Verdict::Warn, 0) => "no failures, something is doubtful".into(),
            (Verdict::Warn, warnings) => {
                format!("no failures, {}", counted(warnings, "warning"))
            }
            (Verdict::Unjudged, _) => {
                let all = || assessment.measurements.iter().flat_map(|judged| &judged.metrics);
                match (all().filter(|one| one.verdict == Verdict::Unjudged).count(), all().count())
                {
                    (_, 0) => "no failures; nothing measured".into(),
                    (open, all) if open == all => "no failures; nothing to compare with".into(),
                    (0, _) => "no failures; not everything judged".into(),
                    (open, all) => {
                        format!("no failures; {open} of {} not judged", counted(all, "figure"))
                    }
                }
            }
            _ => "no problems found".into(),
        },
        1 => match of(Severity::Fail) {
            0 => "a check failed".into(),
            1 => "1 finding needs attention".to_string(),
            findings => format!("{findings} findings need attention"),
        },
        2 => "the command or a target cannot be used".into(),
        3 => runs::state(run).unwrap_or_else(|| "a measurement failed".into()),
        4 => "no failures; some results could not be judged".into(),
        _ => "unknown exit status".to_string(),
    };
    // A run that is not done has not passed.
    let verdict = match (exit_status, assessment.verdict) {
        (3, Verdict::Pass) => Verdict::Unjudged,
        (_, verdict) => verdict,
    };
    (verdict, words)
}
