//! Scaling: the number of drives at which the aggregate rate stopped growing.

use iodyno_judge::Growth;
use iodyno_model::{Assessment, Reason, RunRecord, Scaling, Validity, distinct};

use super::words::clean;

/// A sentence per point measured on several drives. Invalid measurements allow no conclusion on a
/// shared limit.
pub fn scaling_words(record: &RunRecord, assessment: &Assessment, asked: &Scaling) -> Vec<String> {
    let names = distinct(record.measurements.iter().map(|of| of.name.as_str()));
    let words = |name: &str| {
        let own = || record.measurements.iter().enumerate().filter(move |(_, of)| of.name == name);
        let growth = Growth::of(asked, own().map(|(_, of)| of)).sentence(&clean(name))?;
        let judged = own().filter_map(|(n, _)| assessment.of(n));
        let invalid: Vec<_> = judged.filter(|of| of.validity == Validity::Invalid).collect();
        let Some(first) = invalid.first() else { return Some(format!("{growth}.")) };
        let rules = first.reasons.iter().filter(|of| of.validity == Validity::Invalid);
        let rules: Vec<String> = rules.map(|Reason { rule, .. }| clean(rule)).collect();
        Some(format!(
            "{}: shared limit undecided: {} of {} measurements are invalid ({}).",
            clean(name),
            invalid.len(),
            own().count(),
            rules.join(", ")
        ))
    };
    names.into_iter().filter_map(words).collect()
}
