//! Table of runs.

use iodyno_model::{Origin, Run, RunRecord, RunState, format_duration_ns};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{Hanging, clean, cut, first_line};

/// Minimum length of a printed run id: the ms timestamp of a UUIDv7.
const SHORTEST_ID: usize = 13;

/// Maximum width of a run's name or targets, so that one long name does not cost all runs a column.
const WIDEST_CELL: usize = 40;

/// Column of names, which is left out if no run has one.
const NAME: usize = 1;

/// Number of runs, then a line per run in the given order: shortest unique prefix of the id, name,
/// start (UTC), duration, state, targets, command. Columns are dropped by priority until it fits
/// `style.width`.
pub fn runs_table(runs: &[Run], style: &Style) -> String {
    if runs.is_empty() {
        return "No runs stored yet: iodyno check makes one.\n".into();
    }
    let column = GridColumn::new;
    let mut columns = vec![
        column("ID", 0, false),
        column("NAME", 3, false),
        column("STARTED (UTC)", 1, false),
        column("TOOK", 5, true),
        column("STATE", 2, false),
        column("TARGETS", 4, false),
        column("COMMAND", 6, false),
    ];
    let mut ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    ids.sort_unstable();
    let mut rows: Vec<Vec<GridCell>> = runs
        .iter()
        .map(|run| {
            let (state, ink) = match run.state {
                RunState::Running => ("running", Ink::Open),
                RunState::Done => ("done", Ink::Plain),
                RunState::Interrupted => ("interrupted", Ink::Doubt),
                RunState::Failed => ("failed", Ink::Bad),
            };
            let cell = GridCell::or_dash;
            vec![
                cell(clean(short_id(&run.id, &ids))),
                cell(cut(&clean(&run.name), WIDEST_CELL)),
                cell(started(run)),
                cell(took(run)),
                GridCell::new(state, ink),
                cell(cut(&targets(run), WIDEST_CELL)),
                cell(clean(&run.command)),
            ]
        })
        .collect();
    if runs.iter().all(|run| run.name.is_empty()) {
        columns.remove(NAME);
        rows.iter_mut().for_each(|row| drop(row.remove(NAME)));
    }
    let of = |state| runs.iter().filter(|run| run.state == state).count();
    let states = [
        (RunState::Running, "running"),
        (RunState::Failed, "failed"),
        (RunState::Interrupted, "interrupted"),
    ];
    let mut parts = vec![counted(runs.len(), "run")];
    let states = states.into_iter().filter(|(state, _)| of(*state) > 0);
    parts.extend(states.map(|(state, word)| format!("{} {word}", of(state))));
    let first = first_line(("", Ink::Plain), &[parts.join(", ")], style);
    format!("{first}\n{}", grid(&columns, &rows, style, style.wide).text)
}

/// One line for a run: name, id, start, duration, version of iodyno, command. For `show`, before
/// [`super::run_text`].
pub fn run_heading(record: &RunRecord, style: &Style) -> String {
    let run = &record.run;
    let name = run.selector();
    let lead = format!("Run {}", clean(name));
    let mut items = Vec::new();
    if *name != run.id {
        items.push(clean(&run.id));
    }
    let read = if record.is_undated() { "read on " } else { "" };
    items.push(format!("{read}{} UTC", started(run)));
    items.push(took(run));
    items.extend(origin(run));
    items.extend(state(run));
    items.push(format!("iodyno {}", clean(&run.writer)));
    items.push(clean(&run.command));
    items.insert(0, lead);
    let hanging = Hanging { ink: Ink::Bold, ..Hanging::of(style) };
    hanging.lines(&items)
}

/// Origin of a run that was not measured.
pub(crate) fn origin(run: &Run) -> Option<String> {
    match &run.origin {
        Origin::Measured => None,
        Origin::Simulated => Some("simulated drives".into()),
        Origin::Imported(from) => Some(format!("imported from {}", clean(from))),
    }
}

/// State of an incomplete run.
pub(crate) fn state(run: &Run) -> Option<String> {
    let word = match run.state {
        RunState::Done => return None,
        RunState::Running if run.is_alive => match run.pid {
            Some(pid) => return Some(format!("still running, process {pid}")),
            None => "still running",
        },
        RunState::Running => "running, or killed",
        RunState::Interrupted => "interrupted",
        RunState::Failed => "a step failed",
    };
    Some(word.into())
}

/// Shortest prefix of `id` that is unique among the sorted `ids`.
fn short_id<'a>(id: &'a str, ids: &[&str]) -> &'a str {
    let ends = id.char_indices().map(|(at, _)| at).chain([id.len()]).skip(SHORTEST_ID);
    // Ids that share a prefix are adjacent.
    let before = ids.partition_point(|other| *other < id).checked_sub(1);
    let behind = ids.partition_point(|other| *other <= id);
    let beside = [before.map(|at| ids[at]), ids.get(behind).copied()];
    let unique = |end: &usize| !beside.iter().flatten().any(|one| one.starts_with(&id[..*end]));
    ends.into_iter().find(unique).map_or(id, |end| &id[..end])
}

/// Prefix of a run's id that distinguishes most runs.
pub(super) fn shortened(id: &str) -> String {
    clean(id.get(..SHORTEST_ID).unwrap_or(id))
}

pub(crate) fn started(run: &Run) -> String {
    utc(run.started_ns)
}

/// UTC time to the minute, from ns since 1970.
pub(crate) fn utc(ns: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(ns))
        .map(|at| at.strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default()
}

pub(crate) fn took(run: &Run) -> String {
    let took = run.ended_ns.map(|end| end.saturating_sub(run.started_ns));
    took.filter(|ns| *ns > 0).map(|ns| format_duration_ns(ns as f64)).unwrap_or_default()
}

fn targets(run: &Run) -> String {
    if let Some(profile) = run.profile() {
        return format!("{} on {}", clean(&profile.name), clean(&profile.place(&run.targets)));
    }
    let targets: Vec<String> = run.targets.iter().map(|target| clean(target)).collect();
    match targets.as_slice() {
        [first, second, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second} +{}", rest.len())
        }
        targets => targets.join(", "),
    }
}
