//! `iodyno import`: stores results of other programs and of iodyno on other machines.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use iodyno_fio::read::Problem;
use iodyno_judge::ClaimBook;
use iodyno_model::{
    Assessment, Host, RunKind, RunRecord, RunState, Stated, own_command, shell_word,
};
use iodyno_report::Judged;
use iodyno_report::text::{Style, clean, results_table, run_heading, verdict_text};
use iodyno_store::{Bodies, Store, StoreError};
use iodyno_trace::Traced;

use crate::arguments::{DataSheets, Import, Table};
use crate::commands::export::documents;
use crate::commands::traced::{convert, open};
use crate::commands::{free_name, judged, rejudge};
use crate::context::{Context, Usage};
use crate::inputs::{Loaded, read_all};
use crate::{stated, terminal};

/// Maximum number of measurements printed of a run; `show` prints all.
const SHOWN: usize = 24;
/// Maximum number of runs printed; of more only the sum is.
const SHOWN_RUNS: usize = 20;

pub(crate) fn run(context: &Context, arguments: &Import) -> Result<u8> {
    if let Some(to) = &arguments.output {
        return convert(context, &arguments.paths, to);
    }
    let claims = context.claims(&DataSheets::default())?;
    let mut found: Vec<Loaded> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    let mut nothing = 0;
    let of_all = arguments.environment.stated();
    for path in &arguments.paths {
        let (mut runs, mut error) = match read_all(path) {
            Ok(runs) => (runs, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        if runs.iter().all(|one| is_empty(&one.record))
            && let Some(advice) = advice_on_trace(path)
        {
            error = Some(Usage(format!("{path} is a trace: {advice}")).into());
            runs.clear();
        }
        runs.iter_mut().for_each(|one| problems.append(&mut one.problems));
        runs.retain(|one| !is_empty(&one.record));
        if runs.is_empty() {
            nothing += 1;
        }
        if let Some(error) = error {
            terminal::print_error(&error);
        }
        found.extend(runs);
    }
    if let Some(name) = &arguments.run_name {
        found = joined(found, name, &of_all)?;
    }
    let with_stated = found.into_iter().map(|one| one.with_stated(&of_all, &claims));
    let mut found: Vec<Loaded> = with_stated.collect::<Result<_>>()?;
    found.iter_mut().for_each(|one| problems.append(&mut one.problems));
    if found.is_empty() {
        terminal::print_problems(context, &problems);
        return Ok(2);
    }
    let is_named = arguments.run_name.is_some();
    let mut store = context.store()?;
    let read = serialized(&store, found, &claims)?;
    let stored = store.in_one(|store| store_all(context, store, read, is_named))?;
    print(context, &stored)?;
    terminal::print_problems(context, &problems);
    let failed = stored.iter().any(|(record, _)| {
        record.measurements.iter().any(|measurement| measurement.failure().is_some())
    });
    Ok(match (nothing, failed, problems.is_empty()) {
        (1.., ..) => 2,
        (_, true, _) => 3,
        (_, _, false) => 4,
        _ => 0,
    })
}

/// What to do with a trace; `None`: it is none.
fn advice_on_trace(path: &str) -> Option<&'static str> {
    let path = Path::new(path);
    Some(match path.is_file().then(|| open(path))?.ok()?? {
        Traced::Ours { .. } => "convert it with -o FILE.iolog or FILE.parquet, or show it",
        Traced::Others(_) => "convert it with -o FILE.iotrace, or show it",
    })
}

/// A run to store, judged and serialized.
type Serialized = (RunRecord, Assessment, Bodies);

/// Judges and serializes runs: other processes wait while they are stored.
fn serialized(store: &Store, found: Vec<Loaded>, claims: &ClaimBook) -> Result<Vec<Serialized>> {
    let of = |Loaded { record, .. }| {
        let assessment = rejudge(&record, claims);
        let bodies = store.bodies_of(&record, Some(&assessment))?;
        Ok((record, assessment, bodies))
    };
    found.into_iter().map(of).collect()
}

/// Stores the runs that are not yet stored, and returns them.
fn store_all(
    context: &Context,
    store: &mut Store,
    read: Vec<Serialized>,
    is_named: bool,
) -> Result<Vec<(RunRecord, Assessment)>> {
    let mut taken: BTreeSet<String> = store.runs()?.into_iter().map(|run| run.name).collect();
    taken.insert("last".into());
    let mut stored = Vec::new();
    for (mut record, assessment, bodies) in read {
        if let Some(there) = present(store, &record)? {
            if !is_more_complete(store, &record)? {
                note(context, &format!("run {there} is already in the store: unchanged"));
                continue;
            }
            store.replace_bodies(&record, &bodies)?;
        } else {
            let name = &record.run.name;
            let free = free_name(name, |name| !name.is_empty() && taken.contains(name));
            if !is_named && free != *name {
                note(context, &format!("the name `{name}` is taken: using `{free}`"));
                record.run.name = free;
            }
            store.add_bodies(&record, &bodies)?;
        }
        taken.insert(record.run.name.clone());
        stored.push((record, assessment));
    }
    Ok(stored)
}

fn note(context: &Context, line: &str) {
    if !context.quiet {
        terminal::note(line);
    }
}

/// True if a run holds neither measurements nor a machine.
fn is_empty(record: &RunRecord) -> bool {
    record.measurements.is_empty() && record.snapshots.is_empty()
}

/// Joins fio's output into one run, before the machine that it states is made of `of_all` and of
/// its own statements. iodyno's runs stay separate: each has its own machine and time.
fn joined(mut found: Vec<Loaded>, name: &str, of_all: &Stated) -> Result<Vec<Loaded>> {
    let is_ours =
        |one: &&Loaded| one.record.run.kind != RunKind::Import || !one.record.snapshots.is_empty();
    let ours = found.iter().filter(is_ours).count();
    if ours > 0 && found.len() > 1 {
        let text = "--run-name joins fio's output into one run; some of these runs are iodyno's, \
                    which keep their names: import them separately";
        return Err(Usage(text.into()).into());
    }
    if found.iter().any(|one| !one.stated.is_empty()) {
        for one in &mut found {
            one.stated.resize(one.record.measurements.len(), Stated::default());
        }
    }
    let machine = |own: &Stated| stated::machine(&stated::completed(own, of_all));
    let mut machines = found.iter().flat_map(|one| &one.stated).map(machine);
    if let Some(first) = machines.next()
        && machines.any(|other| other != first)
    {
        let text = "--run-name makes one run of one machine; these results are from several: \
                    import them without --run-name";
        return Err(Usage(text.into()).into());
    }
    let mut all = found.into_iter();
    let Some(mut whole) = all.next() else { return Ok(Vec::new()) };
    name.clone_into(&mut whole.record.run.name);
    let mut targets: BTreeSet<String> = whole.record.run.targets.iter().cloned().collect();
    for next in all {
        let run = &mut whole.record.run;
        run.started_ns = run.started_ns.min(next.record.run.started_ns);
        run.ended_ns = run.ended_ns.max(next.record.run.ended_ns);
        targets.extend(next.record.run.targets);
        // Results in different files are assumed not to have run at the same time.
        let behind = whole.record.measurements.iter().map(|one| one.phase + 1).max().unwrap_or(0);
        let moved = next.record.measurements.into_iter().map(|mut one| {
            one.phase += behind;
            one
        });
        whole.record.measurements.extend(moved);
        whole.stated.extend(next.stated);
    }
    whole.record.run.targets = targets.into_iter().collect();
    Ok(vec![whole])
}

/// True if the stored run of this id was cut off and has less: its store was full, and the rest was
/// written beside it.
fn is_more_complete(store: &Store, record: &RunRecord) -> Result<bool> {
    let there = store.find(&record.run.id)?;
    let is_cut_off = matches!(there.state, RunState::Interrupted | RunState::Failed);
    let (has, had) = (record.measurements.len(), store.measurements(&there.id)?.len());
    Ok(is_cut_off && (has > had || (has == had && record.run.state == RunState::Done)))
}

/// Name of the run if it is stored already.
fn present(store: &Store, record: &RunRecord) -> Result<Option<String>> {
    match store.find(&record.run.id) {
        Ok(run) if run.id == record.run.id => Ok(Some(run.selector().to_owned())),
        Ok(_) | Err(StoreError::NoSuchRun(_) | StoreError::Ambiguous { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn print(context: &Context, stored: &[(RunRecord, Assessment)]) -> Result<()> {
    if context.json {
        return terminal::print(&documents(&judged(stored))?);
    }
    let style = terminal::style(context, &Table { wide: false, columns: None });
    let printed = if stored.len() > SHOWN_RUNS {
        let measurements: usize = stored.iter().map(|(record, _)| record.measurements.len()).sum();
        format!("{} runs, {measurements} measurements\n", stored.len())
    } else {
        let texts = stored.iter().map(|(record, assessment)| text(record, assessment, &style));
        texts.collect::<Vec<_>>().join("\n")
    };
    terminal::print(&printed)?;
    let Some((first, _)) = stored.first() else { return Ok(()) };
    let mut next = own_command(&format!("show {}", shell_word(first.run.selector())));
    let measured: Vec<&RunRecord> = stored
        .iter()
        .map(|(record, _)| record)
        .filter(|one| !one.measurements.is_empty())
        .collect();
    if let [one, other, ..] = measured.as_slice() {
        let (one, other) = (shell_word(one.run.selector()), shell_word(other.run.selector()));
        let compare = own_command(&format!("compare {one} {other}"));
        next = format!("{next}, or {compare}");
    }
    note(context, &format!("next: {next}"));
    Ok(())
}

/// Text of a run: its heading and a line for each result; for iodyno's own runs also the verdict.
fn text(record: &RunRecord, assessment: &Assessment, style: &Style) -> String {
    let mut out = run_heading(record, style);
    out.push_str(&count_text(record));
    out.push('\n');
    if !record.measurements.is_empty() {
        out.push_str(&results_table(record, SHOWN, style));
        if let Some(more) = record.measurements.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            let run = shell_word(record.run.selector());
            let show = own_command(&format!("show {run}"));
            out.push_str(&format!("and {more} more: {show}\n"));
        }
    }
    // fio's output is not judged.
    if record.host().is_some() {
        let status = Judged { record, assessment }.exit_status(false);
        out.push_str(&verdict_text(record, assessment, status as u8, style));
    }
    out
}

/// Builds `12 measurements by fio 3.33 and fio 3.36, 2 of them failed`.
fn count_text(record: &RunRecord) -> String {
    let some =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let drives = record.host().map_or(0, Host::drive_count);
    if record.measurements.is_empty() {
        return format!("an inventory: {}", some(drives, "NVMe drive"));
    }
    let mut out = some(record.measurements.len(), "measurement");
    let sources = record.measurements.iter().map(|one| one.source.as_str());
    let sources: BTreeSet<&str> = sources.filter(|source| !source.is_empty()).collect();
    if !sources.is_empty() {
        out.push_str(&format!(" by {}", clean(&Vec::from_iter(sources).join(" and "))));
    }
    let failed = record.measurements.iter().filter(|one| one.failure().is_some()).count();
    if failed > 0 {
        out.push_str(&format!(", {failed} of them failed"));
    }
    if drives > 0 {
        out.push_str(&format!(", {}", some(drives, "NVMe drive")));
    }
    out
}
