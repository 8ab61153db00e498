//! `iodyno runs fleet`: drives of many hosts in one table.

use std::path::{Path, PathBuf};

use anyhow::Result;
use iodyno_judge::ClaimBook;
use iodyno_model::{Assessment, RunRecord, Stated};
use iodyno_report::Judged;
use iodyno_report::export::{Places, fleet_openmetrics, work_list};
use iodyno_report::fleet::{HostRun, fleet, fleet_of};
use iodyno_report::text::{Style, fleet_text};

use crate::arguments::{Fleet, FleetFormat, Sheets, Table};
use crate::commands::judged_anew;
use crate::context::{Context, Usage, read};
use crate::{inputs, terminal};

/// A host's document is no longer, bytes: what others push is data.
const MOST_BYTES: u64 = 256 << 20;
/// Files of a folder and the folders in it, …
const MOST_FILES: usize = 100_000;
/// … which are gone into so deep.
const DEEPEST: usize = 8;

pub(crate) fn run(context: &Context, arguments: &Fleet) -> Result<()> {
    let places = match &arguments.places {
        Some(file) => Places::parse(&read(file)?)
            .map_err(|error| Usage(format!("{}: {error}", file.display())))?,
        None => Places::default(),
    };
    let mut words = arguments.runs.clone();
    if words.is_empty() {
        let store = context.store_to_read()?;
        words.extend(store.runs()?.into_iter().map(|run| run.id));
    }
    let claims = context.claims(&Sheets::default())?;
    let mut runs = Vec::new();
    for word in &words {
        let folder = Path::new(word);
        match folder.is_dir() {
            true => runs.extend(of_folder(context, folder, &claims)?),
            false => runs.extend(of_word(context, word, &claims)?),
        }
    }
    let fleet = fleet_of(runs);
    match arguments.format {
        Some(FleetFormat::WorkList) => terminal::print(&work_list(&fleet, &places)?),
        Some(FleetFormat::Openmetrics) => terminal::print(&fleet_openmetrics(&fleet)),
        None => {
            let table = Table { wide: arguments.wide, columns: None };
            let style = terminal::style(context, &table);
            terminal::print(&terminal::in_locale(fleet_text(&fleet, &style)))
        }
    }
}

/// The runs of a folder with documents of many hosts, read on all CPUs, one document in memory for
/// each; of any other folder, whatever else it holds.
fn of_folder(context: &Context, folder: &Path, claims: &ClaimBook) -> Result<Vec<HostRun>> {
    let mut files = Vec::new();
    documents_below(folder, DEEPEST, &mut files);
    files.sort();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = files.len().div_ceil(workers).max(1);
    let parts: Vec<(Vec<HostRun>, Vec<&PathBuf>)> = std::thread::scope(|scope| {
        let parts = files.chunks(share).map(|part| scope.spawn(move || of_documents(part)));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().filter_map(|part| part.join().ok()).collect()
    });
    let (mut runs, mut others) = (Vec::new(), Vec::new());
    for (read, left) in parts {
        runs.extend(read);
        others.extend(left);
    }
    if runs.is_empty() {
        return of_word(context, &folder.display().to_string(), claims);
    }
    // What is no document of today is read in full, or told.
    for file in others {
        match of_word(context, &file.display().to_string(), claims) {
            Ok(more) => runs.extend(more),
            Err(error) => {
                context.leave_out();
                terminal::note(&format!("{error:#}"));
            }
        }
    }
    Ok(runs)
}

/// The runs of these files, and the files that have to be read otherwise.
fn of_documents(files: &[PathBuf]) -> (Vec<HostRun>, Vec<&PathBuf>) {
    let (mut runs, mut others) = (Vec::new(), Vec::new());
    for file in files {
        let text = iodyno_files::read(file, MOST_BYTES).ok();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        match text.and_then(|text| HostRun::of_documents(&text).ok()?) {
            Some(read) => runs.extend(read),
            None => others.push(file),
        }
    }
    (runs, others)
}

/// Files that end in `.json`, and no links: what others pushed may point anywhere.
fn documents_below(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if files.len() >= MOST_FILES {
            return;
        } else if kind.is_dir() && deep > 0 {
            documents_below(&path, deep - 1, files);
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
}

/// The runs that a word means.
fn of_word(context: &Context, word: &str, claims: &ClaimBook) -> Result<Vec<HostRun>> {
    let loaded = inputs::load_all(context, word, &Stated::default(), claims)?;
    loaded.iter().for_each(|one| terminal::problems(context, &one.problems));
    let run = |one: &inputs::Loaded| {
        let assessment = judged_anew(&one.record, claims);
        HostRun::of(Judged { record: &one.record, assessment: &assessment })
    };
    Ok(loaded.iter().map(run).collect())
}

/// The table of all hosts' drives.
pub(crate) fn text(records: &[&RunRecord], claims: &ClaimBook, style: &Style) -> String {
    let assessments: Vec<Assessment> =
        records.iter().map(|record| judged_anew(record, claims)).collect();
    let judged = records.iter().zip(&assessments);
    let judged: Vec<Judged<'_>> =
        judged.map(|(record, assessment)| Judged { record, assessment }).collect();
    fleet_text(&fleet(&judged), style)
}
