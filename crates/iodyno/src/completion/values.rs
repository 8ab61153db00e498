//! Completion of argument values, by value name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::{Arg, ArgAction};
use clap_complete::CompletionCandidate as Candidate;
use iodyno_campaign::{Study, profile, profile_names};
use iodyno_job::{Kind, OptionSpec};
use iodyno_model::{Run, RunState};
use iodyno_store::Store;

/// Maximum number of runs offered, newest first.
const RUNS: usize = 100;

/// Store named on the command line, for [`runs`].
static STORE: OnceLock<PathBuf> = OnceLock::new();

/// Candidates for what was typed.
pub(super) type Completer = fn(&OsStr) -> Vec<Candidate>;

/// Completer for `argument`, where clap has none. Unlisted arguments get only what their parser
/// names: a file is no answer where a time is expected.
pub(super) fn of(argument: &Arg) -> Option<Completer> {
    if !matches!(argument.get_action(), ArgAction::Set | ArgAction::Append) {
        return None;
    }
    if argument.get_id() == "job" {
        return Some(job_words);
    }
    if argument.get_id() == "stopped" {
        return Some(|typed| fitting(runs(is_stopped), typed));
    }
    let name = argument.get_value_names()?.first()?.as_str();
    let values: Completer = match name {
        "RUN" => |typed| or_files(fitting(runs(|_| true), typed), typed),
        "TARGET" => |typed| or_files(fitting(drives(typed), typed), typed),
        "DRIVE" => |typed| fitting(drives(typed), typed),
        "PLAN" => |typed| or_files(fitting(presets(), typed), typed),
        "PROFILE" => |typed| or_files(fitting(profiles(), typed), typed),
        "TARGET|RUN|OPTION=VALUE" => |typed| {
            let mut all = drives(typed);
            all.extend(runs(|_| true));
            all.extend(options(typed, None, ""));
            or_files(fitting(all, typed), typed)
        },
        "FILE" | "PATH" | "DIR" | "CAPTURE" => |typed| files(typed),
        "RULE" => |typed| fitting(rules(), typed),
        "OPTION" => |typed| fitting(iodyno_job::options().map(name_of).collect(), typed),
        "OPTION=VALUE" => |typed| fitting(options(typed, None, ""), typed),
        "OPTION=V,V..." => |typed| fitting(options(typed, Some(','), ""), typed),
        "METRIC" => |typed| fitting(METRICS.map(Candidate::new).into(), typed),
        "LAYOUT" => |typed| fitting(layouts(), typed),
        _ if argument.get_possible_values().is_empty() => |_| Vec::new(),
        _ => return None,
    };
    Some(values)
}

const METRICS: [&str; 8] = ["iops", "bw", "lat", "max", "p50", "p99", "p99.9", "p99.99"];

/// Notes the store that `words` name; without one the default store is used.
pub(super) fn use_store_of(words: &[OsString]) {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let behind = words.windows(2).find(|pair| pair[0] == "--store").map(|pair| pair[1]);
    let joined = words.iter().find_map(|word| word.strip_prefix("--store="));
    let named = behind.or(joined).map(|path| expanded(Path::new(path)));
    let _ = STORE.set(named.unwrap_or_else(iodyno_store::default_path));
}

fn candidate(value: &str, help: String) -> Candidate {
    Candidate::new(value).help((!help.is_empty()).then(|| help.into()))
}

fn fitting(mut all: Vec<Candidate>, typed: &OsStr) -> Vec<Candidate> {
    let typed = typed.as_encoded_bytes();
    all.retain(|one| one.get_value().as_encoded_bytes().starts_with(typed));
    all
}

/// Falls back to files if nothing was found.
fn or_files(found: Vec<Candidate>, typed: &OsStr) -> Vec<Candidate> {
    if found.is_empty() { files(typed) } else { found }
}

/// True for a run that `iodyno resume` can continue.
fn is_stopped(run: &Run) -> bool {
    run.is_resumable() && matches!(run.state, RunState::Interrupted | RunState::Failed)
}

/// Stored runs that are wanted, by name if they have one.
fn runs(is_wanted: fn(&Run) -> bool) -> Vec<Candidate> {
    let path = STORE.get_or_init(iodyno_store::default_path);
    let stored = Store::open_existing_readonly(path).and_then(|store| store.runs());
    let mut stored = stored.unwrap_or_default();
    let newest = stored.first().map(|run| run.id.clone());
    stored.retain(is_wanted);
    let of_run = |run: &Run| {
        let called = run.selector();
        candidate(called, format!("{} of {}", run.plan_name, run.targets.join(" ")))
    };
    let is_newest = |run: &&Run| Some(&run.id) == newest.as_ref();
    let last = stored.first().filter(is_newest);
    let last = last.map(|_| candidate("last", "the newest run".into()));
    last.into_iter().chain(stored.iter().take(RUNS).map(of_run)).collect()
}

/// Block devices and NVMe controllers, by short name, or with `/dev/` if that was typed.
fn drives(typed: &OsStr) -> Vec<Candidate> {
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let mut found: Vec<(String, String)> = Vec::new();
    for name in names("/sys/class/nvme") {
        let model = read(format!("/sys/class/nvme/{name}/model"));
        found.push((name, model));
    }
    for name in names("/sys/block") {
        let sectors: u64 = read(format!("/sys/block/{name}/size")).parse().unwrap_or_default();
        // Skips empty devices: a loop device without a file, a card reader without a card.
        if sectors > 0 {
            found.push((name, iodyno_model::Bytes(sectors * 512).decimal()));
        }
    }
    found.sort();
    let folder = if typed.as_encoded_bytes().starts_with(b"/dev/") { "/dev/" } else { "" };
    found.into_iter().map(|(name, help)| candidate(&format!("{folder}{name}"), help)).collect()
}

fn profiles() -> Vec<Candidate> {
    let all = profile_names().filter_map(profile);
    all.map(|(profile, _)| candidate(&profile.name, profile.about)).collect()
}

fn presets() -> Vec<Candidate> {
    Study::presets().map(|(name, about)| candidate(name, about)).collect()
}

fn rules() -> Vec<Candidate> {
    iodyno_judge::rules().map(|rule| candidate(rule.id, rule.summary.into())).collect()
}

fn layouts() -> Vec<Candidate> {
    iodyno_layout::PRESETS.iter().map(|(name, what)| candidate(name, (*what).into())).collect()
}

fn name_of(spec: &'static OptionSpec) -> Candidate {
    candidate(spec.name, spec.help.into())
}

/// Job options as `NAME=`; after that their values, several if `separator` is given. `before` is
/// the prefix of each name.
fn options(typed: &OsStr, separator: Option<char>, before: &str) -> Vec<Candidate> {
    let typed = typed.to_str().unwrap_or_default();
    let Some((name, value)) = typed.split_once('=') else {
        let named = |spec: &'static OptionSpec| {
            let flag = if spec.value_is_optional() { "" } else { "=" };
            candidate(&format!("{before}{}{flag}", spec.name), spec.help.into())
        };
        return iodyno_job::options().map(named).collect();
    };
    let Some(spec) = iodyno_job::find(name.strip_prefix(before).unwrap_or(name)) else {
        return Vec::new();
    };
    let done = separator.and_then(|one| value.rfind(one)).map_or("", |at| &value[..=at]);
    let values = match spec.kind() {
        Kind::Words(words) => words,
        Kind::Bool | Kind::Flag => vec!["0", "1"],
        _ if ["filename", "directory"].contains(&spec.name) => {
            let path = OsStr::new(value);
            let found = files(path).into_iter();
            return found.map(|one| one.add_prefix(format!("{name}="))).collect();
        }
        _ => Vec::new(),
    };
    values.into_iter().map(|value| Candidate::new(format!("{name}={done}{value}"))).collect()
}

/// Words after `iodyno run`: job options and job files.
fn job_words(typed: &OsStr) -> Vec<Candidate> {
    match typed.to_str() {
        Some(word) if word.starts_with("--") => fitting(options(typed, None, "--"), typed),
        Some(word) if word.starts_with('-') => Vec::new(),
        _ => files(typed),
    }
}

/// Expands `~/` as the shell does.
fn expanded(path: &Path) -> PathBuf {
    let home = || Some(Path::new(&std::env::var_os("HOME")?).join(path.strip_prefix("~").ok()?));
    home().unwrap_or_else(|| path.to_owned())
}

/// Files and folders; hidden ones only after a typed dot.
fn files(typed: &OsStr) -> Vec<Candidate> {
    let text = typed.to_str().unwrap_or_default();
    let (folder, beginning) = text.rfind('/').map_or(("", text), |at| text.split_at(at + 1));
    let path = if folder.is_empty() { PathBuf::from(".") } else { expanded(Path::new(folder)) };
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let fits = name.starts_with(beginning)
                && (beginning.starts_with('.') || !name.starts_with('.'));
            let slash = if entry.path().is_dir() { "/" } else { "" };
            fits.then(|| format!("{folder}{name}{slash}"))
        })
        .collect();
    names.sort();
    names.into_iter().map(Candidate::new).collect()
}
