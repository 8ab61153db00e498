//! `iodyno runs fleet`: drives of many hosts in one table.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};

use anyhow::{Result, anyhow};
use iodyno_fio::read::plain_name;
use iodyno_judge::ClaimBook;
use iodyno_model::{Assessment, RunRecord, Stated};
use iodyno_report::Judged;
use iodyno_report::document::read::{DocumentError, read_runs};
use iodyno_report::export::{Places, fleet_openmetrics, work_list};
use iodyno_report::fleet::{HostRun, NodeRun, fleet, fleet_of, together};
use iodyno_report::text::{Style, fleet_text, node_groups_text};
use iodyno_store::StoreError;

use crate::arguments::{DataSheets, Fleet, FleetFormat, Table};
use crate::commands::rejudge;
use crate::context::{Context, Usage, read};
use crate::push::{DestinationRef, Document, MAX_DOCUMENT_BYTES, MAX_DOCUMENTS};
use crate::{inputs, terminal};

/// Maximum depth of folders.
const MAX_DEPTH: usize = 8;

pub(crate) fn run(context: &Context, arguments: &Fleet) -> Result<()> {
    let places = match &arguments.places {
        Some(file) => Places::parse(&read(file)?)
            .map_err(|error| Usage(format!("{}: {error}", file.display())))?,
        None => Places::default(),
    };
    let claims = context.claims(&DataSheets::default())?;
    let style = terminal::style(context, &Table { wide: arguments.wide, columns: None });
    let fleet = || load_words(context, &arguments.runs, &claims).map(fleet_of);
    match arguments.format {
        Some(FleetFormat::WorkList) => terminal::print(&work_list(&fleet()?, &places)?),
        Some(FleetFormat::Openmetrics) => terminal::print(&fleet_openmetrics(&fleet()?)),
        Some(FleetFormat::Together) => {
            let all = together(load_words(context, &arguments.runs, &claims)?);
            terminal::print(&terminal::in_locale(node_groups_text(&all, &style)))
        }
        None => terminal::print(&terminal::in_locale(fleet_text(&fleet()?, &style))),
    }
}

/// Data that a run's document yields without being read in full.
trait FromDocuments: Sized + Send {
    /// Extracts the data; `None`: the documents have to be read in full.
    fn of_documents(text: &str) -> Result<Option<Vec<Self>>, DocumentError>;
    /// Computes the data from a full record; `None`: this run has none.
    fn of_record(record: &RunRecord, claims: &ClaimBook) -> Option<Self>;
}

impl FromDocuments for HostRun {
    fn of_documents(text: &str) -> Result<Option<Vec<Self>>, DocumentError> {
        Self::of_documents(text)
    }

    fn of_record(record: &RunRecord, claims: &ClaimBook) -> Option<Self> {
        let assessment = rejudge(record, claims);
        Some(Self::of(Judged { record, assessment: &assessment }))
    }
}

impl FromDocuments for NodeRun {
    fn of_documents(text: &str) -> Result<Option<Vec<Self>>, DocumentError> {
        Self::of_documents(text)
    }

    fn of_record(record: &RunRecord, _: &ClaimBook) -> Option<Self> {
        Self::of(record)
    }
}

fn load_words<T: FromDocuments>(
    context: &Context,
    words: &[String],
    claims: &ClaimBook,
) -> Result<Vec<T>> {
    if words.is_empty() {
        return load_store(context, claims);
    }
    let mut runs = Vec::new();
    for word in words {
        let path = Path::new(word);
        // A pipe can be read only once.
        let read = if path.is_file() { load_document(path) } else { None };
        runs.extend(match read {
            Some(read) => read,
            None if path.is_dir() => load_folder(context, path, claims)?,
            None if DestinationRef::is_remote(word) && !path.exists() => {
                load_reference(context, &DestinationRef::typed(word)?, claims)?
            }
            None => load_word(context, word, claims)?,
        });
    }
    Ok(runs)
}

/// Reads every run of the store, except those that another process removes meanwhile.
fn load_store<T: FromDocuments>(context: &Context, claims: &ClaimBook) -> Result<Vec<T>> {
    let store = context.store_to_read()?;
    let (mut runs, mut removed) = (Vec::new(), 0);
    for run in store.runs()? {
        match store.load(&run.id) {
            Ok(record) => runs.extend(T::of_record(&record, claims)),
            Err(StoreError::NoSuchRun(_)) => removed += 1,
            Err(error) => return Err(error.into()),
        }
    }
    if removed > 0 {
        context.note_unreadable();
        terminal::note(&format!("left out: {removed} runs that were removed meanwhile"));
    }
    Ok(runs)
}

/// Reads a folder with documents of many hosts on all CPUs, with one document per CPU in memory;
/// any other folder is read as usual.
fn load_folder<T: FromDocuments>(
    context: &Context,
    folder: &Path,
    claims: &ClaimBook,
) -> Result<Vec<T>> {
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    documents_below(folder, MAX_DEPTH, &mut files, &mut left_out);
    for Unread { path, why } in left_out {
        context.note_unreadable();
        terminal::note(&format!("{}: {why}", path.display()));
    }
    let are_all = files.len() <= MAX_DOCUMENTS;
    files.truncate(MAX_DOCUMENTS);
    files.sort();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = files.len().div_ceil(workers).max(1);
    let parts: Vec<(Vec<T>, Vec<&PathBuf>)> = std::thread::scope(|scope| {
        let parts = files.chunks(share).map(|part| scope.spawn(move || of_documents(part)));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().filter_map(|part| part.join().ok()).collect()
    });
    let (mut runs, mut others) = (Vec::new(), Vec::new());
    for (read, left) in parts {
        runs.extend(read);
        others.extend(left);
    }
    if others.len() == files.len() {
        return load_word(context, &folder.display().to_string(), claims);
    }
    if !are_all {
        note_left_out(context, &folder.display().to_string());
    }
    // Other files are read in full, and errors are printed.
    for file in others {
        match load_word(context, &file.display().to_string(), claims) {
            Ok(more) => runs.extend(more),
            Err(error) => {
                context.note_unreadable();
                terminal::note(&format!("{error:#}"));
            }
        }
    }
    Ok(runs)
}

/// Reads the documents among `files`; also returns the files that have to be read in full.
fn of_documents<T: FromDocuments>(files: &[PathBuf]) -> (Vec<T>, Vec<&PathBuf>) {
    let (mut runs, mut others) = (Vec::new(), Vec::new());
    for file in files {
        match load_document(file) {
            Some(read) => runs.extend::<Vec<T>>(read),
            None => others.push(file),
        }
    }
    (runs, others)
}

/// Reads a file with documents; `None`: it has to be read in full.
fn load_document<T: FromDocuments>(file: &Path) -> Option<Vec<T>> {
    let bytes = iodyno_files::read(file, MAX_DOCUMENT_BYTES).ok()?;
    T::of_documents(&String::from_utf8(bytes).ok()?).ok()?
}

/// Reads the documents at a remote destination while more of them arrive.
fn load_reference<T: FromDocuments>(
    context: &Context,
    reference: &DestinationRef,
    claims: &ClaimBook,
) -> Result<Vec<T>> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let (give, take) = mpsc::sync_channel::<Document>(workers);
    let take = Mutex::new(take);
    let next = || take.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
    let work = || {
        let read = std::iter::from_fn(next).map(|document| load_text::<T>(&document, claims));
        read.collect::<Vec<_>>()
    };
    let (read, ended) = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = reference.for_each_document(&mut |document| {
            // A worker that panicked takes no more; the others do.
            let _ = give.send(document);
        });
        drop(give);
        let read = workers.into_iter().filter_map(|worker| worker.join().ok());
        (read.flatten().collect::<Vec<_>>(), ended)
    });
    if !ended.map_err(|refused| anyhow!("{}: {}", reference.shown(), refused.why))? {
        note_left_out(context, reference.shown());
    }
    let mut runs = Vec::new();
    for one in read {
        match one {
            Ok(more) => runs.extend(more),
            Err(what) => {
                context.note_unreadable();
                terminal::note(&what);
            }
        }
    }
    Ok(runs)
}

/// Reports that a place holds more documents than are read.
fn note_left_out(context: &Context, place: &str) {
    context.note_unreadable();
    terminal::note(&format!(
        "{place}: iodyno read {MAX_DOCUMENTS} documents and left out the rest; name a folder below it"
    ));
}

/// The runs of a document with its own verdicts, or judged anew if it was judged by other rules
/// than today's.
fn load_text<T: FromDocuments>(document: &Document, claims: &ClaimBook) -> Result<Vec<T>, String> {
    let told = |error| format!("{}: {error}", document.name);
    let text = match &document.text {
        Ok(text) => text,
        Err(refused) => return Err(format!("{}: {}", document.name, refused.why)),
    };
    match T::of_documents(text).map_err(told)? {
        Some(runs) => Ok(runs),
        None => {
            let records = read_runs(text).map_err(told)?;
            Ok(records.iter().filter_map(|record| T::of_record(record, claims)).collect())
        }
    }
}

/// A folder, or an entry of one, that is not read, and why.
struct Unread {
    path: PathBuf,
    why: String,
}

/// Collects files named as documents, at most one more than are read, without links: pushed files
/// could point anywhere.
fn documents_below(
    folder: &Path,
    deep: usize,
    files: &mut Vec<PathBuf>,
    left_out: &mut Vec<Unread>,
) {
    let unread = |error| Unread { path: folder.into(), why: format!("cannot be read: {error}") };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return left_out.push(unread(error)),
    };
    for entry in entries {
        let (path, kind) = match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok(found) => found,
            Err(error) => {
                left_out.push(unread(error));
                continue;
            }
        };
        if files.len() > MAX_DOCUMENTS {
            return;
        } else if kind.is_dir() && deep > 0 {
            documents_below(&path, deep - 1, files, left_out);
        } else if kind.is_dir() {
            let why = format!("more than {MAX_DEPTH} folders below the one named: name it too");
            left_out.push(Unread { path, why });
        } else if kind.is_file() && is_document(&path) {
            files.push(path);
        }
    }
}

/// True of the name of a document, which may be compressed.
fn is_document(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    plain_name(&name).ends_with(".json")
}

/// The runs that a word names.
fn load_word<T: FromDocuments>(
    context: &Context,
    word: &str,
    claims: &ClaimBook,
) -> Result<Vec<T>> {
    let loaded = inputs::load_all(context, word, &Stated::default(), claims)?;
    loaded.iter().for_each(|one| terminal::print_problems(context, &one.problems));
    Ok(loaded.iter().filter_map(|one| T::of_record(&one.record, claims)).collect())
}

/// Table of the drives of all hosts.
pub(crate) fn text(records: &[&RunRecord], claims: &ClaimBook, style: &Style) -> String {
    let assessments: Vec<Assessment> =
        records.iter().map(|record| rejudge(record, claims)).collect();
    let judged = records.iter().zip(&assessments);
    let judged: Vec<Judged<'_>> =
        judged.map(|(record, assessment)| Judged { record, assessment }).collect();
    fleet_text(&fleet(&judged), style)
}
