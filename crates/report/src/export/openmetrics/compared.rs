//! Exports a comparison as gauges.

use super::{Family, Labels, rendered};
use crate::compared::{Compared, outcome_words};
use crate::text::workload_title;

/// Returns the ratio of each figure to the first side's, whether the difference is real, and the
/// outcomes of limits.
pub(super) fn openmetrics(of: Compared<'_>) -> String {
    let mut ratios = Family::new(
        "iodyno_compare_ratio",
        "",
        "Ratio to the figure of the first side with the workload.",
    );
    let mut real = Family::new(
        "iodyno_compare_real",
        "",
        "1 if a difference exceeds the run-to-run spread; absent: not known.",
    );
    for entry in of.entries() {
        let Some(difference) = entry.difference else { continue };
        let labels: Labels = vec![
            ("workload", workload_title(&entry.row.point)),
            ("figure", entry.figure.quantity.name()),
            ("side", of.label(entry.side).to_owned()),
        ];
        ratios.push(labels.clone(), difference.ratio.value);
        // Only known if there are repetitions.
        if let Some(p) = difference.adjusted {
            real.push(labels, f64::from(u8::from(p < 1.0 - iodyno_judge::comparison::LEVEL)));
        }
    }
    let mut limits = Family::new(
        "iodyno_compare_limit",
        "",
        "Outcome of a limit: 1 if it holds (broken, kept, open, cannot-tell).",
    );
    for ruling in of.rulings {
        let labels = vec![
            ("workload", of.workload(ruling)),
            ("limit", ruling.limit.to_string()),
            ("side", of.label(ruling.side).to_owned()),
            ("outcome", outcome_words(ruling).0.to_owned()),
        ];
        limits.push(labels, 1.0);
    }
    let mut status = Family::new(
        "iodyno_compare_exit_status",
        "",
        "0 passed, 1 a limit broken, 3 and 4 as for runs.",
    );
    status.push(Vec::new(), (of.status as u8).into());
    rendered(&[ratios, real, limits, status])
}
