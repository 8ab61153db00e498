//! Exports an application profile as JUnit cases, one for each bound.

use iodyno_judge::fit::{Fitted, fitted, is_valid, words};
use iodyno_model::{Bound, Kept, Profile, Severity};

use super::xml::{Case, Status, Suite};
use crate::judged::Judged;
use crate::text::severity_label;

/// Builds the suite of a run's application profile.
pub(super) fn suite(of: Judged<'_>, profile: &Profile) -> Suite {
    let name = format!("{} on {}", profile.name, profile.place(&of.record.run.targets));
    let all = fitted(profile, of.record, is_valid(of.assessment));
    let cases = all
        .iter()
        .flat_map(|one| one.bounds.iter().map(|(bound, kept)| case(&name, one, bound, *kept)));
    Suite { cases: cases.collect(), name: name.clone(), ..Suite::default() }
}

fn case(class: &str, of: &Fitted<'_>, bound: &Bound, kept: Kept) -> Case {
    let found = words(of).unwrap_or_else(|| "not known".into());
    let what = format!("{found}, needed {}", bound.limit);
    let status = match kept {
        Kept::Unknown => Status::Skipped("too few valid rounds for an interval".into()),
        Kept::No if bound.severity == Severity::Fail => {
            Status::Failure("application-bound".into(), what.clone(), String::new())
        }
        Kept::Yes | Kept::Borderline | Kept::No => Status::Passed,
    };
    let doubt = match kept {
        Kept::Borderline => "borderline: ".to_owned(),
        Kept::No => format!("{}: ", severity_label(bound.severity)),
        Kept::Yes | Kept::Unknown => String::new(),
    };
    let level = if bound.level.is_empty() { "" } else { " for " };
    Case {
        class: class.into(),
        name: format!("{}: {}{level}{}", of.quantity.name, bound.limit, bound.level),
        time_s: None,
        status,
        out: format!("{doubt}{what}\n{} ({})", bound.source, bound.date),
    }
}
