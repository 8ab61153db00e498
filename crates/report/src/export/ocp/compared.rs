//! Exports a comparison as OCP output: a step for each workload.

use iodyno_judge::comparison::{Outcome, Quantity, Subject};
use serde_json::json;

use super::artifact::{
    self, Artifact, Diagnosis, DiagnosisType, DutInfo, RunArtifact, RunEnd, RunStart, Status,
    StepArtifact,
};
use super::{Lines, run_result};
use crate::compared::{Compared, outcome_words};
use crate::export::NS_PER_S;
use crate::text::workload_title;

/// Returns the comparison as JSON lines, one artifact each.
pub(super) fn ocp(of: Compared<'_>) -> serde_json::Result<String> {
    let at_ns = of.at_ns;
    let mut lines = Lines::default();
    lines.add(at_ns, Artifact::SchemaVersion { major: 2, minor: 0 })?;
    let start = RunArtifact::TestRunStart(Box::new(run_start(of)));
    lines.add(at_ns, Artifact::Run(start))?;
    for (index, row) in of.comparison.rows.iter().enumerate() {
        lines.begin(at_ns, workload_title(&row.point))?;
        for entry in of.entries().filter(|entry| std::ptr::eq(entry.row, row)) {
            let metadata = json!({
                "side": of.label(entry.side),
                "ratio": entry.difference.map(|difference| difference.ratio.value),
                "difference": entry.difference.map(crate::compared::words),
            });
            let (unit, divisor) = unit(entry.figure.quantity);
            let figure = artifact::Measurement {
                name: entry.figure.quantity.name(),
                value: entry.value.value / divisor,
                unit,
                hardware_info_id: None,
                metadata,
            };
            if figure.value.is_finite() {
                lines.in_step(at_ns, StepArtifact::Measurement(figure))?;
            }
        }
        diagnoses(&mut lines, of, Subject::Row(index))?;
        lines.end(at_ns, Status::Complete)?;
    }
    for (index, alone) in of.comparison.alone.iter().enumerate() {
        let subject = Subject::Alone(index);
        if of.rulings.iter().any(|ruling| ruling.subject == subject) {
            lines.begin(at_ns, workload_title(&alone.point))?;
            diagnoses(&mut lines, of, subject)?;
            lines.end(at_ns, Status::Complete)?;
        }
    }
    let (status, result) = run_result(of.status);
    lines.add(at_ns, Artifact::Run(RunArtifact::TestRunEnd(RunEnd { status, result })))?;
    Ok(lines.text)
}

/// Adds the outcomes of the limits of a workload.
fn diagnoses(lines: &mut Lines, of: Compared<'_>, subject: Subject) -> serde_json::Result<()> {
    let at_ns = of.at_ns;
    for ruling in of.rulings.iter().filter(|ruling| ruling.subject == subject) {
        let (word, sentence) = outcome_words(ruling);
        let kind = match ruling.outcome {
            Outcome::Broken => DiagnosisType::Fail,
            Outcome::Kept => DiagnosisType::Pass,
            Outcome::NotShown | Outcome::CannotTell(_) => DiagnosisType::Unknown,
        };
        let diagnosis = Diagnosis {
            verdict: format!("limit-{word}"),
            kind,
            message: Some(format!("{}: {sentence}", of.label(ruling.side))),
            hardware_info_id: None,
        };
        lines.in_step(at_ns, StepArtifact::Diagnosis(diagnosis))?;
    }
    Ok(())
}

/// Unit, and divisor of the value in it.
const fn unit(quantity: Quantity) -> (&'static str, f64) {
    match quantity {
        Quantity::Bandwidth => ("B/s", 1.0),
        Quantity::Iops => ("1/s", 1.0),
        Quantity::Latency | Quantity::Percentile(_) => ("s", NS_PER_S),
    }
}

fn run_start(of: Compared<'_>) -> RunStart {
    let labels: Vec<&str> = of.comparison.sides.iter().map(|side| side.label.as_str()).collect();
    RunStart {
        name: "iodyno compare".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        command_line: format!("iodyno compare {}", labels.join(" ")),
        parameters: json!({ "sides": labels }),
        dut_info: DutInfo {
            dut_info_id: "comparison".into(),
            name: None,
            platform_infos: Vec::new(),
            software_infos: Vec::new(),
            hardware_infos: Vec::new(),
        },
    }
}
