//! Builds the line that says why a node should be drained.

use std::collections::BTreeSet;

use iodyno_model::{Assessment, RunRecord, Severity};
use iodyno_report::text::clean;

use super::is_without_drive;

/// Maximum length of a reason that schedulers show, characters; longer ones are cut.
const MAX_CHARS: usize = 160;

/// The worst finding, else the cause of an unsuccessful `status`; `None`: nothing is wrong.
pub(super) fn hint(
    runs: &[(RunRecord, Assessment)],
    profile: &str,
    status: u8,
    cut_short: bool,
) -> Option<String> {
    let failed = || {
        runs.iter().flat_map(|(record, _)| &record.measurements).find_map(|of| {
            let failure = of.failure()?;
            Some(format!("measurement failed: {}: {failure}", of.title()))
        })
    };
    let found: Vec<_> = runs
        .iter()
        .flat_map(|(record, assessment)| assessment.findings.iter().map(move |of| (record, of)))
        .filter(|(_, finding)| finding.severity == Severity::Fail)
        .collect();
    // A reason is given once, however many rounds or drives it concerns.
    let rules: BTreeSet<&str> = found.iter().map(|(_, finding)| finding.rule.as_str()).collect();
    let more = rules.len().saturating_sub(1);
    let words = match (found.first(), failed(), status) {
        (_, _, 0) => return None,
        // The system's own error message says more than that a step failed.
        (_, Some(failed), 3) => failed,
        (Some((record, finding)), ..) => {
            let serial = finding.subjects.iter().find_map(|name| {
                let host = record.host()?;
                let drive = host.drive(name).or_else(|| Some(host.namespace(name)?.0))?;
                drive.serial.get().cloned()
            });
            let serial = serial.map_or(String::new(), |serial| format!(" {serial}"));
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            format!("{}{serial}{more}: {}", finding.rule, finding.what)
        }
        (None, None, 3) if cut_short => format!("{profile} did not finish in time"),
        (None, _, 3) => format!("{profile} did not complete"),
        (None, _, 4) if runs.iter().any(|(record, _)| is_without_drive(record)) => {
            "no NVMe drive".into()
        }
        (None, _, 4) => format!("{profile}: some results not judged"),
        (None, ..) => format!("{profile} could not be run"),
    };
    // Replaces characters that are special within double quotes of shells and scontrol.
    let harmless =
        |c: char| if matches!(c, '"' | '\'' | '\\' | '`' | '$' | '\n') { ' ' } else { c };
    let line: String = format!("iodyno: {}", clean(&words)).chars().map(harmless).collect();
    Some(line.chars().take(MAX_CHARS).collect())
}
