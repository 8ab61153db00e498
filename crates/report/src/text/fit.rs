//! What an application needs beside what was measured, and the settings that follow.

use std::fmt;

use iodyno_judge::fit::{Fitted, Kept, figure, fitted, words};
use iodyno_model::{
    Assessment, FigureKind, FigureOf, Host, Profile, ProfileSetting, ProfileTarget, Run, RunRecord,
    Severity, Smallest, Validity, Verdict, placeholders,
};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{Hanging, clean};

/// A figure that a setting is made of, and that was not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKnown(String);

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not known", self.0)
    }
}

/// What is so of the application, in a clause.
pub(super) fn clause(record: &RunRecord, assessment: &Assessment, profile: &Profile) -> String {
    let all = all(record, assessment, profile);
    let judged = || all.iter().flat_map(|one| &one.bounds);
    let needed = || judged().filter(|(bound, _)| bound.severity > Severity::Info);
    let count = |wanted: Kept| needed().filter(|(_, kept)| *kept == wanted).count();
    let words = match (count(Kept::No), count(Kept::Borderline), count(Kept::Unknown)) {
        _ if judged().next().is_none() => "no bound is published, so nothing is judged".to_owned(),
        (0, 0, 0) => format!("all it needs ({})", counted(needed().count(), "bound")),
        (0, 0, open) => format!("{} could not be judged", counted(open, "bound")),
        (0, borderline, _) => {
            format!("{borderline} of {} borderline", counted(needed().count(), "bound"))
        }
        (missed, ..) => format!("{missed} of {} missed", counted(needed().count(), "bound")),
    };
    format!("{} on {}: {words}", clean(&profile.name), clean(place(profile, &record.run)))
}

/// The directory, or the device.
fn place<'r>(profile: &Profile, run: &'r Run) -> &'r str {
    let first = run.targets.first().map_or("-", String::as_str);
    match profile.on {
        ProfileTarget::Device => first,
        ProfileTarget::Directory => first.rsplit_once('/').map_or(".", |(directory, _)| directory),
    }
}

fn all<'p>(record: &RunRecord, assessment: &Assessment, profile: &'p Profile) -> Vec<Fitted<'p>> {
    fitted(profile, record, is_valid(assessment))
}

fn is_valid(assessment: &Assessment) -> impl Fn(usize) -> bool + Copy {
    |n| assessment.of(n).is_none_or(|judged| judged.validity != Validity::Invalid)
}

/// A row for each bound, then the settings.
pub(super) fn body(
    record: &RunRecord,
    assessment: &Assessment,
    profile: &Profile,
    style: &Style,
) -> Vec<String> {
    let column = |heading, priority, right| GridColumn { heading, priority, right };
    let columns = [
        column("WHAT", 0, false),
        column("FIGURE", 3, false),
        column("MEASURED", 0, true),
        column("NEEDED", 0, false),
        column("FOR", 2, false),
        column("VERDICT", 1, false),
    ];
    let mut rows = Vec::new();
    for one in all(record, assessment, profile) {
        let found = words(&one).unwrap_or_else(|| "-".into());
        let first = [clean(&one.quantity.name), one.quantity.of.to_string(), found];
        let cells = |texts: [String; 5], (verdict, ink): (&str, Ink)| {
            let mut row: Vec<GridCell> = texts.into_iter().map(plain).collect();
            row.push(GridCell { text: verdict.into(), ink });
            row
        };
        if one.bounds.is_empty() {
            let [name, of, found] = first.clone();
            rows.push(cells([name, of, found, "-".into(), String::new()], ("", Ink::Plain)));
        }
        for (n, (bound, kept)) in one.bounds.iter().enumerate() {
            let [name, of, found] = match n {
                0 => first.clone(),
                _ => Default::default(),
            };
            let needed = bound.limit.to_string();
            let verdict = verdict(*kept, bound.severity);
            rows.push(cells([name, of, found, needed, clean(&bound.level)], verdict));
        }
    }
    let mut sections = vec![grid(&columns, &rows, style, false).text];
    let hanging = || Hanging { indent: 2, separator: " ", ..Hanging::of(style) };
    for setting in &profile.settings {
        let mut text = match setting_text(setting, record, is_valid(assessment)) {
            Ok(text) => {
                text.lines().fold(String::new(), |out, line| out + "  " + &clean(line) + "\n")
            }
            Err(missing) => format!("  not derived: {missing}\n"),
        };
        text.insert_str(0, &hanging().lines(&[format!("Set, {}:", clean(&setting.apply))]));
        text.push_str(&Hanging { ink: Ink::Dim, ..hanging() }.lines(&[clean(&setting.why)]));
        sections.push(text);
    }
    sections.extend(profile.notes.iter().map(|note| hanging().lines(&[clean(note)])));
    sections
}

fn plain(text: String) -> GridCell {
    GridCell { text, ink: Ink::Plain }
}

/// What a bound comes to; those that are worth knowing alone fail nothing.
fn verdict(kept: Kept, severity: Severity) -> (&'static str, Ink) {
    let of = |verdict: Verdict| (verdict.label(), Ink::of_verdict(verdict));
    match (kept, severity) {
        (Kept::Yes, _) => of(Verdict::Pass),
        (Kept::Unknown, _) => of(Verdict::Unjudged),
        (_, Severity::Info) => ("no", Ink::Dim),
        (Kept::Borderline, _) | (Kept::No, Severity::Warn) => of(Verdict::Warn),
        (Kept::No, Severity::Fail) => of(Verdict::Fail),
    }
}

/// A setting's lines with figures in them.
///
/// # Errors
/// The first placeholder of which nothing is known.
fn setting_text(
    setting: &ProfileSetting,
    record: &RunRecord,
    is_valid: impl Fn(usize) -> bool + Copy,
) -> Result<String, NotKnown> {
    let mut text = setting.text.clone();
    for name in placeholders(&setting.text) {
        let value =
            value(name, setting, record, is_valid).ok_or_else(|| NotKnown(name.to_owned()))?;
        text = text.replace(&format!("{{{name}}}"), &value);
    }
    Ok(text)
}

/// All settings of a profile with figures in them, as its application reads them.
///
/// # Errors
/// The first placeholder of which nothing is known.
pub fn settings_text(profile: &Profile, record: &RunRecord) -> Result<String, NotKnown> {
    let settings = profile.settings.iter();
    let texts = settings.map(|setting| Ok(setting_text(setting, record, |_| true)? + "\n"));
    texts.collect()
}

fn value(
    name: &str,
    setting: &ProfileSetting,
    record: &RunRecord,
    is_valid: impl Fn(usize) -> bool + Copy,
) -> Option<String> {
    let target = record.run.targets.first()?;
    let drive = || record.host().and_then(|host: &Host| Some(host.namespace(target)?.0));
    match name {
        "target" => Some(target.clone()),
        "model" => drive()?.model.value().map(|text| text.to_string()),
        "firmware" => drive()?.firmware.value().map(|text| text.to_string()),
        "smallest" => smallest(setting.smallest.as_ref()?, record, is_valid),
        of => {
            let of: FigureOf = of.parse().ok()?;
            let value = figure(record, &of, is_valid)?.value;
            let whole = match of.figure {
                FigureKind::Iops | FigureKind::Bandwidth => value,
                FigureKind::Mean | FigureKind::Percentile(_) => value / 1e3,
            };
            Some(format!("{whole:.0}"))
        }
    }
}

fn smallest(
    asked: &Smallest,
    record: &RunRecord,
    is_valid: impl Fn(usize) -> bool + Copy,
) -> Option<String> {
    let figures: Vec<(&str, f64)> = asked
        .of
        .iter()
        .map(|(name, of)| Some((name.as_str(), figure(record, of, is_valid)?.value)))
        .collect::<Option<_>>()?;
    let most = figures.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let first = figures.iter().find(|(_, value)| *value >= asked.share * most)?;
    Some(first.0.to_owned())
}
