//! Resolves a word of the command line: a stored run, or a file or folder with results of other
//! programs.

mod figures;
mod kind;
mod layout_runs;

use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::Result;
use iodyno_fio::read::{Imported, Problem, plain, plain_name};
use iodyno_host::{Captured, Depth};
use iodyno_judge::ClaimBook;
use iodyno_model::{
    Bytes, Host, Measurement, Origin, Run, RunKind, RunRecord, RunState, Stated, own_command,
    shell_word,
};
use iodyno_report::document::read::read_runs;
use iodyno_store::{Store, StoreError};

use crate::commands::traced;
use crate::context::{Context, Usage, bail_usage};
use crate::terminal;

use figures::or_figures;
use kind::{HEAD_BYTES, Kind, is_undecided_json, kind, kind_of, list_folder};
pub(crate) use layout_runs::load_each;

/// Name of standard input, where a path is expected.
const STANDARD_INPUT: &str = "-";

/// Its name in messages.
const STREAM: &str = "standard input";

/// Maximum length of results read from a pipe, bytes.
const MAX_STREAM_BYTES: u64 = 1 << 30;

/// Maximum length of published figures, bytes.
const MAX_FIGURES_BYTES: u64 = 4 << 20;

/// A run, and the unreadable parts of its files.
pub(crate) struct Loaded {
    pub(crate) record: RunRecord,
    pub(crate) problems: Vec<Problem>,
    /// Statements of its file about each measurement's environment; empty: none.
    pub(crate) stated: Vec<Stated>,
}

impl Loaded {
    fn new(record: RunRecord, problems: Vec<Problem>) -> Self {
        Self { record, problems, stated: Vec::new() }
    }
}

/// Loads the run that `word` names: by id, name or `last` in the store, else the content of the
/// file or folder of this name, which is not stored. Prints what could not be read; if nothing
/// could, that is an error.
pub(crate) fn load(context: &Context, word: &str) -> Result<Loaded> {
    let loaded = find(context, word)?;
    let loaded = loaded.with_stated(&Stated::default(), &ClaimBook::builtin())?;
    terminal::print_problems(context, &loaded.problems);
    if loaded.record.measurements.is_empty() && !loaded.problems.is_empty() {
        bail_usage!("{}: nothing readable", if word == STANDARD_INPUT { STREAM } else { word });
    }
    Ok(loaded)
}

fn find(context: &Context, word: &str) -> Result<Loaded> {
    let stored = context.store_to_read().and_then(|store| {
        let run = store.find(word)?;
        Ok(store.load(&run.id)?)
    });
    match stored {
        Ok(record) => Ok(Loaded::new(record, Vec::new())),
        Err(_) if is_there(word) => read(word, None),
        Err(error) => match error.downcast_ref::<StoreError>() {
            Some(StoreError::NoSuchRun(_)) => Err(Usage(format!(
                "{word} is neither a run ({} lists them) nor a file or folder",
                own_command("runs")
            ))
            .into()),
            Some(missing @ StoreError::Missing { .. }) if word != "last" => {
                Err(Usage(format!("{word} is no file or folder, and {missing}")).into())
            }
            _ => Err(error),
        },
    }
}

/// True for a file or folder, and for standard input.
fn is_there(word: &str) -> bool {
    word == STANDARD_INPUT || Path::new(word).exists()
}

/// Loads the runs that `word` names: a stored one, else all of a file or folder, with the
/// statements in their files and in `all`.
pub(crate) fn load_all(
    context: &Context,
    word: &str,
    all: &Stated,
    claims: &ClaimBook,
) -> Result<Vec<Loaded>> {
    let stored = context.store_to_read().map(|store| store.find(word).is_ok());
    let found = match is_there(word) && !stored.unwrap_or(false) {
        true => read_all(word)?,
        false => vec![find(context, word)?],
    };
    found.into_iter().map(|one| one.with_stated(all, claims)).collect()
}

/// Reads the only run of a file or folder.
pub(crate) fn read(path: &str, name: Option<&str>) -> Result<Loaded> {
    let mut all = read_all(path)?;
    let count = all.len();
    match (all.pop(), count) {
        (Some(mut one), 1) => {
            if let Some(name) = name {
                name.clone_into(&mut one.record.run.name);
            }
            Ok(one)
        }
        _ => Err(Usage(format!(
            "{path} holds {count} runs: `{}`, then name one of them",
            own_command(&format!("import {}", shell_word(path)))
        ))
        .into()),
    }
}

/// Reads the runs of a file, a folder or standard input, at least one: one run for all of fio's
/// output, and each run that iodyno wrote.
pub(crate) fn read_all(path: &str) -> Result<Vec<Loaded>> {
    let unreadable = |error| Usage(format!("{path}: {error}"));
    if path == STANDARD_INPUT {
        return read_stream(std::io::stdin().lock(), STREAM);
    }
    let file = Path::new(path);
    let metadata = std::fs::metadata(file).map_err(unreadable)?;
    if metadata.is_file() {
        return read_file(file, kind_of(file).map_err(unreadable)?);
    }
    if !metadata.is_dir() {
        // A pipe can be read only once.
        let pipe = iodyno_files::open_to_read(file).map_err(|error| Usage(error.to_string()))?;
        return read_stream(BufReader::new(pipe), path);
    }
    if file.join("entries.json").is_file() {
        return read_file(file, Kind::Capture);
    }
    let (ours, others) = list_folder(file).map_err(unreadable)?;
    // An empty folder is reported by fio's reader.
    let mut imported = match others || ours.is_empty() {
        true => iodyno_fio::read::path(file).map_err(unreadable)?,
        false => Imported::default(),
    };
    let is_ours =
        |problem: &Problem| ours.iter().any(|(own, _)| Path::new(&problem.file).starts_with(own));
    imported.problems.retain(|problem| !is_ours(problem));
    let mut all = Vec::new();
    for (own, kind) in ours {
        // Reports, tables and streams often lie beside the results of the same run.
        if matches!(kind, Kind::Page | Kind::Table | Kind::Stream) {
            continue;
        }
        match read_file(&own, kind) {
            Ok(runs) => all.extend(runs),
            Err(error) => imported.problems.push(Problem {
                file: own.display().to_string(),
                line: None,
                what: format!("{error:#}"),
            }),
        }
    }
    match all.first_mut() {
        Some(first) if imported.measurements.is_empty() => first.problems = imported.problems,
        _ => all.insert(0, fio_run(imported, path)),
    }
    Ok(all)
}

/// Maximum number of a folder's files that are checked for results.
const MAX_CHECKED_FILES: usize = 256;

/// Maximum size of a file without extension that is taken for redirected output.
const LARGEST_UNNAMED_BYTES: u64 = 64 << 20;

/// Extensions of files with results; a target has none of them.
const ENDINGS: [&str; 10] =
    ["json", "txt", "log", "out", "md", "toml", "csv", "html", "sqlite", "fio"];

/// True if a file, or a folder's own files, hold results. Folders are not searched recursively: a
/// target may be a whole disk.
pub(crate) fn holds_results(path: &Path) -> bool {
    let is_named = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let ending = Path::new(plain_name(&name)).extension().unwrap_or_default();
        ENDINGS.iter().any(|known| ending == *known)
    };
    let holds = |file: &Path| {
        // A large file without extension is data.
        let is_small = std::fs::metadata(file).is_ok_and(|of| of.len() <= LARGEST_UNNAMED_BYTES);
        let may = is_named(file) || (file.extension().is_none() && is_small);
        let runs = may.then(|| read_all(&file.display().to_string()).ok()).flatten();
        runs.into_iter().flatten().any(|one| !one.record.measurements.is_empty())
    };
    if path.is_file() {
        // An unreadable one is reported, not measured.
        return is_named(path) || holds(path);
    }
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    let mut files = entries.flatten().map(|entry| entry.path()).take(MAX_CHECKED_FILES);
    files.any(|file| file.is_file() && holds(&file))
}

/// Reads a pipe, which can be read only once and may be endless.
fn read_stream<'a>(input: impl BufRead + 'a, name: &'a str) -> Result<Vec<Loaded>> {
    let cannot = |error| Usage(format!("{name} cannot be read: {error}"));
    let mut input = plain(input).map_err(cannot)?;
    let mut beginning = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut beginning).map_err(cannot)?;
    let head = String::from_utf8_lossy(&beginning);
    let most_bytes = if is_undecided_json(&head) || kind(&head) != Kind::Fio {
        MAX_STREAM_BYTES
    } else {
        MAX_FIGURES_BYTES
    };
    let more = most_bytes.saturating_sub(beginning.len() as u64);
    input.by_ref().take(more).read_to_end(&mut beginning).map_err(cannot)?;
    let is_all = (beginning.len() as u64) < most_bytes;
    if is_all {
        let text = String::from_utf8_lossy(&beginning);
        match kind(&text) {
            Kind::Documents => return documents(&text, name),
            Kind::Page => return Err(page_error(name)),
            Kind::Table => return Err(table_error(name)),
            Kind::Stream => return Err(stream_error(name)),
            Kind::Store | Kind::Capture => {
                bail_usage!("{name}: stores and captures are read from files");
            }
            Kind::Fio => {}
        }
    }
    let is_short = is_all && beginning.len() as u64 <= MAX_FIGURES_BYTES;
    let text = is_short.then(|| String::from_utf8_lossy(&beginning).into_owned());
    let input = std::io::Cursor::new(beginning).chain(input);
    let imported = iodyno_fio::read::stream(name, input).map_err(cannot)?;
    Ok(or_figures(imported, name, || text))
}

/// Text of a file of at most `most_bytes`.
fn read_text(file: &Path, most_bytes: u64) -> Result<String> {
    let cannot = |error| Usage(format!("{} cannot be read: {error}", file.display()));
    let input = std::fs::File::open(file).and_then(|file| plain(BufReader::new(file)));
    let mut text = String::new();
    let mut input = input.map_err(cannot)?.take(most_bytes.saturating_add(1));
    input.read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > most_bytes {
        let most = Bytes(most_bytes).decimal();
        bail_usage!("{} is longer than {most}", file.display());
    }
    Ok(text)
}

fn read_file(file: &Path, kind: Kind) -> Result<Vec<Loaded>> {
    let name = file.display().to_string();
    match kind {
        Kind::Documents => {
            // An uncompressed file has a finite length.
            let length = std::fs::metadata(file).map_or(0, |found| found.len());
            documents(&read_text(file, length.max(MAX_STREAM_BYTES))?, &name)
        }
        Kind::Page => Err(page_error(&name)),
        Kind::Table => Err(table_error(&name)),
        Kind::Stream => Err(stream_error(&name)),
        Kind::Store => {
            let store = Store::copy_of(file)?;
            let mut runs = store.runs()?;
            runs.reverse();
            if runs.is_empty() {
                bail_usage!("{name} is a store without runs");
            }
            let all = runs.iter().map(|run| Ok(mark_imported(store.load(&run.id)?, &name)));
            all.collect()
        }
        Kind::Capture => {
            let host = iodyno_host::snapshot(&Captured::open(file)?, Depth::Full);
            Ok(vec![capture_run(host, file)])
        }
        Kind::Fio => {
            let read = iodyno_fio::read::path(file);
            let is_nothing = read.as_ref().map_or(true, |of| of.measurements.is_empty());
            if is_nothing && matches!(traced::open(file), Ok(Some(_))) {
                let show = own_command(&format!("show {}", shell_word(&name)));
                bail_usage!("{name} is a trace: {show} prints its summary");
            }
            let imported = read.map_err(|error| Usage(format!("{name}: {error}")))?;
            Ok(or_figures(imported, &name, || read_text(file, MAX_FIGURES_BYTES).ok()))
        }
    }
}

fn page_error(name: &str) -> anyhow::Error {
    let text = format!(
        "{name} is a page of iodyno report; use the data of its button Data (JSON) instead"
    );
    Usage(text).into()
}

fn table_error(name: &str) -> anyhow::Error {
    let text =
        format!("{name} is a table for other programs; use the run's document (JSON) instead");
    Usage(text).into()
}

fn stream_error(name: &str) -> anyhow::Error {
    let text = format!("{name} is a stream of seconds; use the run's document (JSON) instead");
    Usage(text).into()
}

fn documents(text: &str, name: &str) -> Result<Vec<Loaded>> {
    let records = read_runs(text).map_err(|error| Usage(format!("{name}: {error}")))?;
    Ok(records.into_iter().map(|record| mark_imported(record, name)).collect())
}

/// Marks a run from `file` as measured elsewhere.
fn mark_imported(mut record: RunRecord, file: &str) -> Loaded {
    let run = &mut record.run;
    if run.origin == Origin::Measured {
        run.origin = Origin::Imported(file.to_owned());
    }
    // Its process does not run here.
    if run.state == RunState::Running {
        run.state = RunState::Interrupted;
    }
    Loaded::new(record, Vec::new())
}

/// Turns an inventory into a run, to be judged as by `check --no-load`.
fn capture_run(host: Host, file: &Path) -> Loaded {
    let run = Run {
        kind: RunKind::Capture,
        plan_name: "capture".into(),
        ended_ns: Some(host.taken_ns),
        ..run(&file.display().to_string(), Some(host.taken_ns))
    };
    let record = RunRecord { run, snapshots: vec![host], measurements: Vec::new() };
    Loaded::new(record, Vec::new())
}

fn fio_run(imported: Imported, path: &str) -> Loaded {
    let Imported { measurements, problems } = imported;
    let mut targets: Vec<String> =
        measurements.iter().flat_map(|one| one.targets.clone()).collect();
    targets.sort();
    targets.dedup();
    let started_ns = measurements.iter().filter_map(|one| one.started_ns).min();
    let run = Run { ended_ns: end_ns(&measurements), targets, ..run(path, started_ns) };
    Loaded::new(RunRecord { run, snapshots: Vec::new(), measurements }, problems)
}

/// End of the last of these measurements; `None` if it is not known, or if a day or more lies between
/// two of them: those are of several runs, and what lies between took nobody's time.
fn end_ns(measurements: &[Measurement]) -> Option<i64> {
    const DAY_NS: i64 = 86_400_000_000_000;
    let times = measurements.iter().filter_map(|one| {
        let start = one.started_ns?;
        Some((start, start.checked_add_unsigned(one.duration_ns?)?))
    });
    let mut times: Vec<(i64, i64)> = times.collect();
    times.sort_unstable();
    let first = times.first()?.1;
    times.into_iter().try_fold(first, |end, (start, next)| {
        (start.saturating_sub(end) < DAY_NS).then_some(end.max(next))
    })
}

/// Creates a run read from `path`; without `started_ns` it starts now, since runs are ordered by
/// time.
fn run(path: &str, started_ns: Option<i64>) -> Run {
    let started_ns = started_ns.unwrap_or_else(iodyno_campaign::now_ns);
    Run {
        name: name_of(Path::new(path)),
        state: RunState::Done,
        kind: RunKind::Import,
        plan_name: "import".into(),
        origin: Origin::Imported(path.to_owned()),
        ..Run::new(iodyno_store::new_id(), started_ns)
    }
}

/// Name of a file without its extension, or of a folder.
fn name_of(path: &Path) -> String {
    // `.` and `..` have no file name; resolve them.
    let named = match path.file_name() {
        Some(_) => None,
        None => path.canonicalize().ok(),
    };
    let path = named.as_deref().unwrap_or(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = match path.is_dir() {
        true => &name,
        false => {
            let name = plain_name(&name);
            name.rsplit_once('.')
                .map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
        }
    };
    name.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_different_days_have_no_common_duration() {
        let at = |start_s: i64| Measurement {
            started_ns: Some(start_s * 1_000_000_000),
            duration_ns: Some(60_000_000_000),
            ..Measurement::unknown(String::new())
        };
        assert_eq!(end_ns(&[at(100), at(0)]), Some(160_000_000_000));
        assert_eq!(end_ns(&[at(0), at(90_000_000)]), None);
        assert_eq!(end_ns(&[Measurement::unknown(String::new())]), None);
    }
}
