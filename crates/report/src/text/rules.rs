//! Table of rules.

use iodyno_model::Severity;

use super::Style;
use super::ink::Ink;
use super::words::{Hanging, clean};

/// Rules (id, worst severity, summary) in the given order: the worst severity, the id and the
/// summary. Lines are at most `style.width` long.
pub fn rules_text<'a>(
    rules: impl IntoIterator<Item = (&'a str, Severity, &'a str)>,
    style: &Style,
) -> String {
    let mut out = String::new();
    for (id, severity, summary) in rules {
        let label = super::findings::severity_label(severity);
        let id = clean(id);
        let after = Hanging::after(label, Ink::of_severity(severity), 6, style);
        let first = Hanging { separator: " ", ink: Ink::Bold, ..after };
        out.push_str(&first.lines(&[id]));
        let text =
            Hanging { lead: String::new(), lead_width: 0, indent: 6, ink: Ink::Plain, ..first };
        out.push_str(&text.lines(&[clean(summary)]));
    }
    out
}
