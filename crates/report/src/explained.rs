//! Text of an explanation, shared by terminal and page; not yet sanitized.

use iodyno_judge::Bound;
use iodyno_judge::limiter::{Answer, Contrast, Explanation, Standing, figure, range};
use iodyno_model::{Validity, distinct};

use crate::text::figure::estimated;

/// Returns the workload, its rate, and its limiter.
pub(crate) fn heading(explained: &Explanation<'_>) -> String {
    let case = &explained.case;
    let validity = match explained.validity {
        Validity::Valid => String::new(),
        other => format!("  {}", other.label()),
    };
    let title = format!("{} on {}", case.workload(), case.place());
    format!("{title}: {}  {}{validity}", rate(explained), limited(explained))
}

/// Formats the rate with its interval.
pub(crate) fn rate(explained: &Explanation<'_>) -> String {
    estimated(explained.case.metric, &explained.case.rate)
}

/// Returns `limited by the drive itself`, `undecided`.
pub(crate) fn limited(explained: &Explanation<'_>) -> String {
    match &explained.answer {
        Answer::Named { limiter, is_probable, .. } => {
            let probably = if *is_probable { "probably " } else { "" };
            format!("{probably}limited by {}", limiter.title(&explained.case))
        }
        _ => "undecided".into(),
    }
}

/// Lists the upper bounds: (value, what sets it).
pub(crate) fn ceilings(explained: &Explanation<'_>) -> Vec<(String, String)> {
    let case = &explained.case;
    let row = |ceiling: &iodyno_judge::Ceiling| {
        let bounds = match ceiling.low < ceiling.high {
            true => range(case.metric, ceiling.low, ceiling.high),
            false => figure(case.metric, ceiling.value),
        };
        let share = case.rate.value / ceiling.value * 100.0;
        (bounds, format!("{}; {share:.0} % of it", ceiling.what))
    };
    explained.ceilings.iter().map(row).collect()
}

/// Returns the formulas of the ceilings, each once.
pub(crate) fn formulas<'a>(explained: &'a Explanation<'_>) -> Vec<&'a str> {
    let all = explained.ceilings.iter().filter(|ceiling| ceiling.bound != Bound::Claim);
    distinct(all.map(|ceiling| ceiling.formula.as_str()))
}

/// Lists the changes made, and their effect.
pub(crate) fn changes(explained: &Explanation<'_>) -> Vec<(String, String)> {
    let row = |contrast: &Contrast<'_>| {
        let latency = contrast.other.latency_text();
        let ratio = contrast.ratio_text();
        (contrast.title(), format!("{}{latency}, {ratio}", contrast.other.figure()))
    };
    explained.contrasts.iter().map(row).collect()
}

/// Lists the possible limiters, and the status of each.
pub(crate) fn suspects(explained: &Explanation<'_>) -> Vec<(String, String)> {
    let suspects = explained.suspects.iter().map(|suspect| {
        let (word, why) = match &suspect.standing {
            Standing::Confirmed(why) => ("limits", why.clone()),
            Standing::Cleared(why) => ("does not limit", why.clone()),
            Standing::Open(experiment) => {
                let of_it = |of: &&Contrast<'_>| of.other.experiment() == Some(*experiment);
                match explained.contrasts.iter().find(of_it) {
                    Some(made) => {
                        ("not decided", format!("{}: {}", made.title(), made.ratio_text()))
                    }
                    None => ("untested", experiment.what().to_owned()),
                }
            }
        };
        (suspect.limiter.short(&explained.case).to_owned(), format!("{word}: {why}"))
    });
    suspects.collect()
}
