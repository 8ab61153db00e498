//! Compares measurements with an application's needs, and derives its settings.

use iodyno_judge::fit::{Fitted, fitted, is_valid, setting_text, words};
use iodyno_model::{
    Assessment, Bytes, Direction, FigureKind, IoOf, Kept, Profile, RunRecord, Severity, Verdict,
    distinct,
};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::runs::state;
use super::words::{Hanging, clean};

/// Rule that reports bounds as findings.
pub(super) const RULE: &str = "application-bound";

/// Heading of the loads that bounds are for.
const FOR: &str = "FOR";

/// Result for the application, in a clause.
pub(crate) fn clause(record: &RunRecord, assessment: &Assessment, profile: &Profile) -> String {
    let all = all(record, assessment, profile);
    let judged = || all.iter().flat_map(|one| &one.bounds);
    let needed = || judged().filter(|(bound, _)| bound.severity > Severity::Info);
    let count = |wanted: Kept| needed().filter(|(_, kept)| *kept == wanted).count();
    let words = match (count(Kept::No), count(Kept::Borderline), count(Kept::Unknown)) {
        _ if judged().next().is_none() => "no published bounds; figures and settings".to_owned(),
        (0, 0, 0) => match needed().count() {
            1 => "meets its bound".to_owned(),
            all => format!("meets all {all} bounds"),
        },
        (0, 0, open) => format!("{open} of {} not judged", counted(needed().count(), "bound")),
        (0, borderline, _) => {
            format!("{borderline} of {} borderline", counted(needed().count(), "bound"))
        }
        (missed, ..) => format!("misses {missed} of {}", counted(needed().count(), "bound")),
    };
    let place = profile.place(&record.run.targets);
    let state = state(&record.run).map(|state| format!("{state}, ")).unwrap_or_default();
    format!("{} on {}: {state}{words}", clean(&profile.name), clean(&place))
}

fn all<'p>(record: &RunRecord, assessment: &Assessment, profile: &'p Profile) -> Vec<Fitted<'p>> {
    fitted(profile, record, is_valid(assessment))
}

/// A row per bound; its source is the last column, dropped on a terminal.
pub(crate) fn cells(
    record: &RunRecord,
    assessment: &Assessment,
    profile: &Profile,
) -> (Vec<GridColumn<'static>>, Vec<Vec<GridCell>>) {
    let mut columns = vec![
        GridColumn::new("WHAT", 0, false),
        GridColumn::new("FIGURE", 3, false),
        GridColumn::new("MEASURED", 0, true),
        GridColumn::new("NEEDED", 0, false),
        GridColumn::new(FOR, 2, false),
        GridColumn::new("VERDICT", 0, false),
        GridColumn::new("SOURCE", 4, false),
    ];
    let mut rows = Vec::new();
    for one in all(record, assessment, profile) {
        let found = words(&one).unwrap_or_else(|| "-".into());
        let first = [clean(&one.quantity.name), one.quantity.of.to_string(), found];
        let cells = |texts: [String; 5], (verdict, ink): (String, Ink), source: String| {
            let mut row: Vec<GridCell> = texts.into_iter().map(GridCell::plain).collect();
            row.extend([GridCell::new(verdict, ink), GridCell::plain(source)]);
            row
        };
        if one.bounds.is_empty() {
            let [name, of, found] = first.clone();
            let texts = [name, of, found, "-".into(), String::new()];
            rows.push(cells(texts, (String::new(), Ink::Plain), String::new()));
        }
        for (n, (bound, kept)) in one.bounds.iter().enumerate() {
            let [name, of, found] = match n {
                0 => first.clone(),
                _ => Default::default(),
            };
            let needed = bound.limit.to_string();
            let verdict = verdict(*kept, bound.severity);
            let texts = [name, of, found, needed, clean(&bound.level)];
            rows.push(cells(texts, verdict, format!("{} ({})", clean(&bound.source), bound.date)));
        }
    }
    // Drop columns that are empty for this profile.
    for n in (3..columns.len()).rev() {
        if rows.iter().all(|row| matches!(row[n].text.as_str(), "" | "-")) {
            columns.remove(n);
            rows.iter_mut().for_each(|row| drop(row.remove(n)));
        }
    }
    (columns, rows)
}

/// A row per bound, then the settings.
pub(super) fn body(
    record: &RunRecord,
    assessment: &Assessment,
    profile: &Profile,
    style: &Style,
) -> Vec<String> {
    let (mut columns, mut rows) = cells(record, assessment, profile);
    let all = all(record, assessment, profile);
    if !style.wide && all.iter().any(|one| !one.bounds.is_empty()) {
        // The sources of missed bounds are printed below the table.
        columns.pop();
        rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    let hanging = || Hanging { indent: 2, separator: " ", ..Hanging::of(style) };
    let table = grid(&columns, &rows, style, style.wide);
    let without_level = table.dropped.iter().any(|n| columns[*n].heading == FOR);
    let mut sections = vec![table.text];
    if without_level {
        sections.push(levels(&all, &hanging()));
    }
    if !style.wide {
        sections.push(sources(&all, &hanging()));
    }
    for setting in &profile.settings {
        let (text, why, doubts) = match setting_text(profile, setting, record, is_valid(assessment))
        {
            Ok(found) => {
                let indented = |out: String, line: &str| out + "    " + &clean(line) + "\n";
                let text = found.text.lines().fold(String::new(), indented);
                (text, found.why, found.doubts)
            }
            Err(missing) => (String::new(), format!("Not derived: {missing}."), Vec::new()),
        };
        let head = hanging().lines(&[format!("Settings ({}):", clean(&setting.apply))]);
        let why = Hanging { ink: Ink::Dim, ..hanging() }.lines(&[clean(&why)]);
        let doubtful = Hanging { ink: Ink::Doubt, ..hanging() };
        let doubts: String =
            doubts.iter().map(|doubt| doubtful.lines(&[clean(&doubt.to_string())])).collect();
        sections.push(head + &text + &doubts + &why);
    }
    sections.extend(within_cache(record, profile).map(|note| hanging().lines(&[note])));
    sections.extend(profile.notes.iter().map(|note| hanging().lines(&[clean(note)])));
    sections
}

/// Loads that bounds are for.
fn levels(all: &[Fitted<'_>], hanging: &Hanging<'_>) -> String {
    let bounds = all.iter().flat_map(|one| &one.bounds).map(|(bound, _)| bound);
    let lines = bounds
        .filter(|bound| !bound.level.is_empty())
        .map(|bound| hanging.lines(&[format!("{}: for {}", bound.limit, clean(&bound.level))]));
    distinct(lines).concat()
}

/// Sources of the bounds that are required and not kept.
fn sources(all: &[Fitted<'_>], hanging: &Hanging<'_>) -> String {
    let bounds =
        all.iter().flat_map(|one| one.bounds.iter().map(move |found| (one.quantity, found)));
    let open = bounds
        .filter(|(_, (bound, kept))| bound.severity > Severity::Info && *kept > Kept::Unknown);
    let lines = open.map(|(quantity, (bound, _))| {
        let (what, source) = (clean(&quantity.name), clean(&bound.source));
        hanging.lines(&[format!("{what} {}: {source} ({})", bound.limit, bound.date)])
    });
    distinct(lines).concat()
}

/// Verdict on a bound; informational bounds never fail, and the first line does not count them.
fn verdict(kept: Kept, severity: Severity) -> (String, Ink) {
    let of = |verdict: Verdict| (verdict.label(), Ink::of_verdict(verdict));
    let (label, ink) = match (kept, severity) {
        (Kept::Yes, _) => of(Verdict::Pass),
        (Kept::Unknown, _) => of(Verdict::Unjudged),
        (Kept::Borderline, _) => ("borderline", Ink::of_verdict(Verdict::Warn)),
        (Kept::No, Severity::Info) => ("no", Ink::Dim),
        (Kept::No, Severity::Warn) => of(Verdict::Warn),
        (Kept::No, Severity::Fail) => of(Verdict::Fail),
    };
    match severity {
        Severity::Info => (format!("{label} (info)"), Ink::Dim),
        _ => (label.into(), ink),
    }
}

/// Share of a drive's capacity to write before its fast cache is exhausted: on QLC drives the cache
/// is a third of the free capacity, on others a few per cent.
const BEYOND_CACHE: f64 = 0.35;

/// Note if too little was written to exhaust the drive's fast cache, where write bandwidth is
/// needed.
fn within_cache(record: &RunRecord, profile: &Profile) -> Option<String> {
    let mut quantities = profile.quantities.iter().map(|one| (one.of.io, one.of.figure));
    quantities.find(|of| *of == (IoOf::Data(Direction::Write), FigureKind::Bandwidth))?;
    let written = record.measurements.iter().filter_map(|one| one.result(Direction::Write)?.bytes);
    let written = written.fold(0, u64::saturating_add);
    let device = record.measurements.iter().find_map(|one| one.conditions.device.as_deref());
    let target = record.run.targets.first()?;
    let device = device.unwrap_or_else(|| target.strip_prefix("/dev/").unwrap_or(target));
    let capacity = record.host()?.block(device)?.size.value()?;
    ((written as f64) < BEYOND_CACHE * capacity.0 as f64).then(|| {
        format!(
            "Written: {} to {} of {}. This may fit its fast cache: longer writes may be slower.",
            Bytes(written).decimal(),
            clean(device),
            capacity.decimal()
        )
    })
}
