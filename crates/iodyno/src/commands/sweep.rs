//! `iodyno sweep` and `iodyno resume`: run and continue studies.

use std::fmt::Write as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use iodyno_campaign::{
    Adapting, Left, MadeBy, Order, Point, Preparation, Refusal, Resumed, Study, Work,
    WriteCacheState, cost, differences, foresee, refuse_resized, writes_since_stop,
};
use iodyno_files::folder_of;
use iodyno_host::Depth;
use iodyno_model::{PtsStatement, Run, RunRecord, RunState, SkipReason, own_command};
use iodyno_store::Store;
use iodyno_target::{TargetError, refuse_given_twice};

use crate::arguments::{Purge, Resume, RunGenerator, Sweep, SweepOrder, WriteCache};
use crate::commands::setup::Setup;
use crate::commands::study::{
    StudyRun, generator, indispensable, measure, not_permitted, outline, permitted_points, print,
    refuse_partial, resumption, skipped_note, study_targets,
};
use crate::context::{Context, Usage, bail_usage, read};
use crate::{bench_fio, terminal};

/// Preset that is a command of its own.
const CHECK: &str = "check";
/// Largest `--scale`: an hour becomes years, and a day still fits into u64 nanoseconds.
const MAX_SCALE: f64 = 100_000.0;

pub(crate) fn run(context: &Context, arguments: &Sweep) -> Result<u8> {
    if arguments.list {
        terminal::print(&presets())?;
        return Ok(0);
    }
    let study = study(arguments)?;
    let run_options = &arguments.run_options;
    let all = study.points(iodyno_campaign::now_ns().unsigned_abs());
    let all_or_none = study.preparation.is_some() || indispensable(&study, &all).is_some();
    let (points, left_out) = match arguments.dry_run && all_or_none {
        // Those need permission to write anyway.
        true => (all, Vec::new()),
        false => permitted_points(all, run_options),
    };
    // Without permission a preparation before steps is refused anyway, with the word that permits it.
    if study.preparation.is_none() || study.rounds.is_some() {
        refuse_partial(&study, &left_out)?;
    }
    if points.is_empty() && study.preparation.is_none() {
        bail_usage!(
            "every point writes: permit it with --allow-write and the file's path or the drive's serial number"
        );
    }
    if !study.is_of_steps()
        && let Some(directory) = directory_as_target(&points)
    {
        bail_usage!(
            "--target {directory}: it is a directory; name a file in it, which is made as large \
             as --set size=8g says"
        );
    }
    if context.is_captured() && !arguments.dry_run {
        bail_usage!("a captured machine cannot be measured");
    }
    let outline = outline(&study, &points, left_out.len())?;
    if arguments.dry_run
        && let Some(folder) = missing_folder(&points)
    {
        bail_usage!("no directory {}", folder.display());
    }
    if arguments.dry_run && !context.is_captured() {
        let host = iodyno_host::snapshot(context.source()?.as_ref(), Depth::Quick);
        study_targets(&study, &host)?;
        let work = Work::of_study(&study, &points, &points)?;
        foresee(&host, &work, &run_options.permission())?;
    }
    context.claims(&run_options.load_options.sheets)?;
    if arguments.dry_run && study.preparation.is_none() && study.settings.is_empty() {
        terminal::print(&(outline + &point_list(&points)))?;
        return Ok(0);
    }
    let mut setup = Setup::of(context, &run_options.load_options)?;
    let targets = study_targets(&study, &setup.host)?;
    let preparing = study.preparation.as_ref().map(|how| how.of(&targets)).transpose()?;
    let mut sentences = study.settings.outline(&study.targets, &setup.host)?;
    if study.preparation.is_some() {
        let script = study.script(&points, study.generator == MadeBy::Fio)?;
        sentences.extend(cost(&script, &setup.host, &setup.claims));
    }
    let mut outline = outline;
    for sentence in sentences {
        let _ = writeln!(outline, "{sentence}");
    }
    if arguments.dry_run {
        if let Some(preparing) = &preparing {
            let refusals = super::prepare::refusals(&setup, &targets, "skipped");
            let outlook = super::prepare::outlook(&setup, preparing, &targets)?;
            for sentence in refusals.into_iter().chain(outlook) {
                let _ = writeln!(outline, "{sentence}");
            }
        }
        terminal::print(&(outline + &point_list(&points)))?;
        return Ok(0);
    }
    if !context.quiet {
        outline.lines().for_each(terminal::note);
    }
    let mut generator = generator(study.generator, run_options.fio.as_deref())?;
    let start = StudyRun {
        study: &study,
        points: &points,
        preparing,
        targets: &targets,
        name: arguments.naming.name(),
        resumed: None,
        permission: run_options.permission(),
        layout: None,
        all: &points,
        measured: &[],
        skipped: not_permitted(&left_out),
    };
    let record = measure(context, &mut setup, start, generator.as_mut())?;
    print(context, &mut setup, &record, &run_options.load_options.table)
}

/// List of points, one per line.
fn point_list(points: &[Point]) -> String {
    let mut text = String::new();
    // All rounds are alike.
    let shown = points.iter().filter(|point| point.round.is_none_or(|round| round == 1));
    for (n, point) in shown.enumerate() {
        let _ = writeln!(text, "{:5}  {}  {}", n + 1, point.title, point.targets.join(" "));
    }
    text
}

pub(crate) fn resume(context: &Context, arguments: &Resume) -> Result<u8> {
    let store = context.store_to_read()?;
    let run = match &arguments.run {
        Some(run) => store.find(run)?,
        None => newest_stopped(&store)?,
    };
    store.refuse_running(&run.id)?;
    let record = store.load(&run.id)?;
    drop(store);
    let name = run.selector();
    let Some(study) = resumable(&run) else {
        if let Some(layout) = &run.layout {
            let again = own_command("layouts");
            bail_usage!("{name}: its layout `{layout}` was taken down: repeat it with `{again}`");
        }
        bail_usage!("{name}: only an `iodyno sweep` or `iodyno prepare` can be resumed");
    };
    let began: Vec<String> =
        record.measurements.iter().flat_map(|of| of.targets.iter().cloned()).collect();
    if let Some((typed, began)) = moved_target(&study.targets, &began) {
        bail_usage!("{typed} was {began} when the run began: use the same directory");
    }
    context.refuse_captured("cannot be measured")?;
    let run_options = &arguments.run_options;
    if run_options
        .generator()
        .map(RunGenerator::made_by)
        .is_some_and(|asked| asked != study.generator)
    {
        bail_usage!("--generator: a run keeps the generator that it began with");
    }
    let mut setup = Setup::of(context, &run_options.load_options)?;
    let asked = study.points(0);
    let count = asked.len();
    let (resumed, left) = Resumed::of(&record, asked.clone(), &study);
    let (left, left_out) = permitted_points(left, run_options);
    let (all, _) = permitted_points(asked, run_options);
    // Points that the run itself left out were not permitted from the beginning.
    let is_partial = left_out.len() > record.run.not_permitted();
    let resumed = Resumed { is_partial, ..resumed };
    let is_done =
        study.adaptive && Adapting::new(&study, &all, &left).is_done(&record.measurements);
    let is_prepared = study.preparation.is_none() || record.run.state == RunState::Done;
    if (left.is_empty() || is_done) && left_out.is_empty() && is_prepared {
        // Works whatever has become of the machine, since nothing is measured.
        let record = mark_done(&mut setup.store, record)?;
        if !context.quiet {
            terminal::note(&match count {
                0 => format!("{name}: its preparation is done"),
                _ => format!("{name}: all {count} points are done"),
            });
        }
        return print(context, &mut setup, &record, &run_options.load_options.table);
    }
    study.check()?;
    let refused = |Refusal(what)| Usage(format!("{what}: this would be a different study"));
    refuse_resized(&record, &all).map_err(refused)?;
    let mut told = differences(&record, &setup.host).map_err(refused)?;
    let targets = study_targets(&study, &setup.host)?;
    let preparing = match &study.preparation {
        Some(how) => how.left(&record, &targets)?,
        None => None,
    };
    let what_is_left = Left { study: &study, points: &left, prepares: preparing.is_some() };
    told.extend(writes_since_stop(&record, &setup.host, &what_is_left).map_err(refused)?);
    let measures_nothing = (left.is_empty() || is_done) && preparing.is_none();
    if measures_nothing && (is_partial || record.run.state == RunState::Done) {
        refuse_partial(&study, &left_out)?;
        let next = resumption(&setup.host, name, left_out.iter().map(Point::place));
        let left = SkipReason::NotPermitted { points: left_out.len() };
        bail_usage!("{name}: nothing was measured; skipped: {left}; next: {next}");
    }
    told.iter().for_each(|sentence| terminal::note(&format!("note: {sentence}")));
    if !context.quiet {
        let preparation = if preparing.is_some() { ", and of its preparation" } else { "" };
        let predicted = if is_done && !left.is_empty() {
            ", which the others bound: they are predicted"
        } else {
            ""
        };
        let left = left.len() + left_out.len();
        terminal::note(&format!(
            "{name}: {left} of {count} points of the stored plan are left{preparation}{predicted}"
        ));
        if !left_out.is_empty() {
            terminal::note(&format!("{name}: {}", skipped_note(left_out.len())));
        }
    }
    if measures_nothing {
        let record = mark_done(&mut setup.store, record)?;
        return print(context, &mut setup, &record, &run_options.load_options.table);
    }
    refuse_partial(&study, &left_out)?;
    let mut generator = generator(study.generator, run_options.fio.as_deref())?;
    let skipped = match is_partial {
        true => record.run.skipped.clone(),
        false => not_permitted(&left_out),
    };
    let start = StudyRun {
        study: &study,
        points: &left,
        preparing,
        targets: &targets,
        name: &record.run.name,
        resumed: Some(resumed),
        permission: run_options.permission(),
        layout: None,
        all: &all,
        measured: &record.measurements,
        skipped,
    };
    let record = measure(context, &mut setup, start, generator.as_mut())?;
    print(context, &mut setup, &record, &run_options.load_options.table)
}

/// Marks a complete run as done if it was stopped after its last point.
fn mark_done(store: &mut Store, record: RunRecord) -> Result<RunRecord> {
    if record.run.state == RunState::Done || record.failures().next().is_some() {
        return Ok(record);
    }
    let run = store.reopen_run(&record.run.id)?;
    let ended_ns = record.run.ended_ns.or(Some(iodyno_campaign::now_ns()));
    let run = Run { state: RunState::Done, ended_ns, ..run };
    store.update_run(&run)?;
    Ok(RunRecord { run, ..record })
}

/// The newest unfinished sweep or preparation.
fn newest_stopped(store: &Store) -> Result<Run> {
    let is_left = |run: &Run| run.state != RunState::Done && resumable(run).is_some();
    let none = "nothing to resume: no sweep or preparation was stopped or killed (see iodyno runs)";
    Ok(store.runs()?.into_iter().find(is_left).ok_or_else(|| Usage(none.into()))?)
}

/// Study of a run that can be resumed.
fn resumable(run: &Run) -> Option<Study> {
    Study::of(run).filter(|_| run.is_resumable())
}

/// A typed path that is another file here than in the directory where the run began, with the run's
/// own path: points of both must not be mixed.
fn moved_target<'r>(typed: &'r [String], began: &'r [String]) -> Option<(&'r str, &'r str)> {
    let is_it = |typed: &Path, began: &Path| {
        let there = |path: std::io::Result<PathBuf>| path.is_ok_and(|path| path == began);
        there(std::path::absolute(typed)) || there(std::fs::canonicalize(typed))
    };
    let pairs = typed.iter().flat_map(|typed| began.iter().map(move |began| (typed, began)));
    pairs.map(|(typed, began)| (typed.as_str(), began.as_str())).find(|(typed, began)| {
        let [typed, began] = [typed, began].map(Path::new);
        typed.is_relative() && began.ends_with(typed) && began != typed && !is_it(typed, began)
    })
}

/// Builds the study from the plan and the options that change it.
fn study(arguments: &Sweep) -> Result<Study> {
    let mut study = plan(arguments.plan.as_deref())?;
    if let Some(factor) = arguments.scale {
        if !(factor > 0.0 && factor <= MAX_SCALE) {
            bail_usage!("--scale: expected a number above 0, at most {MAX_SCALE}");
        }
        study.scale(factor);
    }
    let stopping = &arguments.stopping;
    let ends = stopping.fresh
        || [stopping.precision, arguments.p99_precision].iter().any(Option::is_some)
        || [&stopping.max_time, &arguments.round].into_iter().any(Option::is_some);
    if study.rounds.is_some() && ends {
        bail_usage!("each point of a round lasts its time: --scale makes all of them shorter");
    }
    let halves = |word: &str, expected: &str| match word.split_once('=') {
        Some((option, value)) => Ok((option.to_owned(), value.to_owned())),
        None => Err(Usage(format!("{word}: expected {expected}"))),
    };
    for word in &arguments.set {
        let (option, value) = halves(word, "OPTION=VALUE")?;
        study.set(&option, &value);
    }
    for word in &arguments.grid {
        let (option, values) = halves(word, "OPTION=VALUE,VALUE...")?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().into()).collect();
        study.vary(&option, &values);
    }
    stopping.apply(&mut study);
    if let Some(round) = &arguments.round {
        study.stop.round.clone_from(round);
    }
    if let Some(order) = arguments.order {
        study.order = match order {
            SweepOrder::Corners => Order::Corners,
            SweepOrder::Written => Order::Written,
            SweepOrder::Random => Order::Random,
        };
    }
    study.targets_together |= arguments.together;
    study.generator =
        arguments.run_options.generator().map(RunGenerator::made_by).unwrap_or(study.generator);
    study.preparation = Preparation::asked(study.preparation, arguments.purge.map(Purge::method));
    if let Some(state) = arguments.write_cache {
        study.settings.write_cache = match state {
            WriteCache::On => Some(WriteCacheState::On),
            WriteCache::Off => Some(WriteCacheState::Off),
            WriteCache::Keep => None,
        };
    }
    for word in &arguments.state {
        let (what, text) = halves(word, "WHAT=TEXT")?;
        if !study.report.state(&what, &text) {
            let known = PtsStatement::NAMES.join(", ");
            bail_usage!("--state {what}: it is one of {known}");
        }
    }
    study.repeat = arguments.repeat.unwrap_or(study.repeat);
    study.adaptive |= arguments.adaptive;
    if let Some(percent) = arguments.p99_precision {
        study.stop.p99_percent = Some(percent);
    }
    study.p99_bound = arguments.p99_bound.clone().or(study.p99_bound);
    if !arguments.target.is_empty() {
        study.targets.clone_from(&arguments.target);
    }
    for target in &mut study.targets {
        if let Some(path) = path_of_device(target) {
            let is_other = |real: PathBuf| real != Path::new(&path);
            if Path::new(target).canonicalize().is_ok_and(is_other) {
                return Err(TargetError::TwoMeanings { name: target.clone() }.into());
            }
            *target = path;
        } else if target.starts_with("nvme") && !Path::new(target).exists() {
            bail_usage!(
                "--target {target}: no such device (iodyno list shows them); ./{target} \
                 would be a file"
            );
        }
    }
    if study.targets.is_empty() || study.targets.iter().any(String::is_empty) {
        bail_usage!("no target: name a device or file (--target)");
    }
    refuse_given_twice(study.targets.iter().map(|name| (name.as_str(), Path::new(name))))?;
    if let Some(duration_ns) = arguments.duration {
        study.check()?;
        study.repeat_for(duration_ns).map_err(|Refusal(what)| Usage(what))?;
    }
    // The combination of options and plan is checked, too.
    study.check()?;
    Ok(study)
}

/// Path of a device named as in `check` (`nvme0n1`), unless a file of that name is here.
fn path_of_device(word: &str) -> Option<String> {
    let path = format!("/dev/{word}");
    let is_device = || std::fs::metadata(&path).is_ok_and(|of| of.file_type().is_block_device());
    (!word.contains('/') && is_device()).then_some(path)
}

/// Directory used as target by points that do not make their own files.
fn directory_as_target(points: &[Point]) -> Option<&str> {
    let of_files = points.iter().filter(|point| !point.own_file);
    let mut targets = of_files.flat_map(|point| &point.targets).map(String::as_str);
    targets.find(|target| Path::new(target).is_dir())
}

/// Directory, not there, of a file that points would make.
fn missing_folder(points: &[Point]) -> Option<&Path> {
    let targets = points.iter().flat_map(|point| &point.targets).map(Path::new);
    targets.map(folder_of).find(|folder| !folder.is_dir())
}

/// The plan of this name, a preset or a file; without a name an empty study.
pub(crate) fn plan(name: Option<&str>) -> Result<Study> {
    let Some(name) = name else { return Ok(Study::named("sweep")) };
    if name == CHECK {
        bail_usage!("that plan is its own command: iodyno check");
    }
    if let Some(preset) = Study::preset(name) {
        return Ok(preset);
    }
    let path = Path::new(name);
    if !path.exists() {
        let mut known = Study::presets().map(|(name, _)| name).filter(|name| *name != CHECK);
        let next = match iodyno_job::nearest_name(name, known.by_ref()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "iodyno sweep --list shows the presets".into(),
        };
        bail_usage!("{name} is neither a file nor a preset; {next}");
    }
    let text = read(path)?;
    Ok(match path.extension().is_some_and(|extension| extension == "ini") {
        true => bench_fio::study(&text, name)?,
        false => Study::parse(&text, name)?,
    })
}

fn presets() -> String {
    let mut text = String::new();
    for (name, about) in Study::presets() {
        let command = if name == CHECK { " (iodyno check)" } else { "" };
        let _ = writeln!(text, "{name:15}  {about}{command}");
    }
    text
}
