//! `iodyno explain`: finds what limits a workload, by experiments or from earlier results.

use std::path::Path;

use anyhow::Result;
use iodyno_campaign::{Options, Work};
use iodyno_job::Job;
use iodyno_judge::ClaimBook;
use iodyno_judge::limiter::{Answer, Explanation, explain_stored};
use iodyno_load::{LoadGenerator, SimulatedGenerator};
use iodyno_model::{
    EarlierHeadroom, Host, Origin, RunRecord, RunState, Validity, add_missing, own_command,
    shell_word,
};
use iodyno_native::{CommandPolicy, NativeGenerator};
use iodyno_report::document::explain_document;
use iodyno_report::text::{
    Style, explain_screen, explain_text, headroom_line, json_text, sentence,
};
use iodyno_target::Target;

use crate::arguments::{Explain, Generator, Table};
use crate::commands::present::JudgeOptions;
use crate::commands::setup::Setup;
use crate::commands::{headroom, rejudge};
use crate::context::{Context, Usage, bail_usage};
use crate::output::refuse_store_words;
use crate::{inputs, stated, terminal};

/// Runs searched for one with a rate.
const SEARCHED: usize = 20;

/// Default workload for options that are not given.
const WORKLOAD: [&str; 3] = ["rw=randread", "bs=4k", "iodepth=32"];

pub(crate) fn run(context: &Context, arguments: &Explain) -> Result<u8> {
    let (options, names): (Vec<String>, Vec<String>) =
        arguments.words.iter().cloned().partition(|word| is_option(word));
    let measures = !options.is_empty()
        || (stated::is_empty(&arguments.environment.stated())
            && names.iter().all(|name| is_target(context, name)));
    match measures {
        true => measure(context, arguments, &names, &options),
        false if !arguments.streaming.is_empty() => {
            let what = "nothing is measured: leave out --stream and --listen";
            Err(Usage(what.into()).into())
        }
        false => read(context, arguments, &names),
    }
}

/// True for words such as `rw=randread`, unless a file of that name exists.
fn is_option(word: &str) -> bool {
    word.contains('=') && !Path::new(word).exists()
}

/// True if `name` is a target to measure, neither a run nor results.
fn is_target(context: &Context, name: &str) -> bool {
    let is_run = context.store_to_read().is_ok_and(|store| store.find(name).is_ok());
    if is_run || name == "last" || name == "-" {
        return false;
    }
    match std::fs::metadata(name) {
        // A file or folder with results is read, not measured.
        Ok(metadata) if metadata.is_file() || metadata.is_dir() => {
            let found = inputs::holds_results(Path::new(name));
            !found
        }
        Ok(_) => true,
        // `nvme0`; the resolver reports mistyped names.
        Err(_) => !name.contains('/') || name.starts_with("/dev/"),
    }
}

/// Explains earlier results.
fn read(context: &Context, arguments: &Explain, names: &[String]) -> Result<u8> {
    let claims = context.claims(&arguments.sheets)?;
    let stated = arguments.environment.stated();
    let mut records: Vec<RunRecord> = Vec::new();
    for name in names {
        for loaded in inputs::load_all(context, name, &stated, &claims)? {
            terminal::print_problems(context, &loaded.problems);
            records.push(loaded.record);
        }
    }
    let sheets = arguments.sheets.datasheet.iter();
    let sheets = sheets.flat_map(|path| ["--datasheet".into(), path.display().to_string()]);
    let volumes = arguments.sheets.volume.iter();
    let volumes = volumes.flat_map(|stated| ["--volume".into(), stated.clone()]);
    let words: Vec<String> =
        names.iter().cloned().chain(sheets).chain(volumes).map(|it| shell_word(&it)).collect();
    let more = own_command(&format!("explain -v {}", words.join(" ")));
    print(context, &records, &claims, (!arguments.verbose).then_some(more.as_str()))
}

/// Explains by experiments.
fn measure(
    context: &Context,
    arguments: &Explain,
    names: &[String],
    options: &[String],
) -> Result<u8> {
    context.refuse_captured("cannot be measured")?;
    let words = workload(options)?;
    let job = job(&words)?;
    if let Some((option, command)) =
        job.commands().next().filter(|_| !arguments.exec_permission.allow_exec)
    {
        bail_usage!("`{option}={command}` would run a command; allow it with `--allow-exec`");
    }
    refuse_store_words(context, &arguments.permissions)?;
    let mut setup =
        Setup::new(context, &arguments.sheets)?.streaming(context, &arguments.streaming)?;
    let targets = iodyno_target::resolve_all(&setup.host, names)?;
    let mut generator: Box<dyn LoadGenerator> =
        match arguments.generator {
            Generator::Native => Box::new(NativeGenerator::new().with_commands(
                CommandPolicy::without_shell_if(arguments.exec_permission.allow_exec),
            )),
            Generator::Simulated => Box::new(SimulatedGenerator::new(1)),
        };
    let work = Work::of_question(job, words.join(" "), arguments.budget);
    let options = Options {
        budget_ns: arguments.budget,
        neighbours: neighbours(&setup.host, &targets),
        origin: match arguments.generator {
            Generator::Native => Origin::Measured,
            Generator::Simulated => Origin::Simulated,
        },
        ..Options::of_jobs(arguments.naming.name(), arguments.permissions.permission())
    };
    let record = setup.measure(context, &work, &targets, &options, generator.as_mut())?;
    setup.store.put_assessment(&record.run.id, &rejudge(&record, &setup.claims))?;
    let details = match setup.store.aside() {
        Some(_) => String::new(),
        None => own_command("explain -v last"),
    };
    let more = (!arguments.verbose).then_some(details.as_str());
    let status = print(context, std::slice::from_ref(&record), &setup.claims, more)?;
    if !context.quiet && !context.json {
        for skipped in &record.run.skipped {
            terminal::note(&format!("{}: {}", skipped.target, skipped.next));
        }
    }
    Ok(status)
}

/// Devices that share hardware with the targets.
fn neighbours(host: &Host, targets: &[Target]) -> Vec<Target> {
    let devices = targets.iter().filter_map(|target| target.device());
    let bottoms = devices.flat_map(|device| host.bottom_of(device));
    let names: Vec<&str> = bottoms.map(|block| block.name.as_str()).collect();
    let found = host.neighbours(&names).into_iter();
    found.filter_map(|one| iodyno_target::resolve(host, &one.name).ok()).flatten().collect()
}

/// The given words after defaults for the rest of the workload. A synchronous engine has no queue
/// depth to set.
fn workload(words: &[String]) -> Result<Vec<String>> {
    let has_depth = !job(words)?.engine.ioengine.is_synchronous();
    let option = |word: &str| {
        let name = word.split('=').next().unwrap_or(word);
        iodyno_job::find(name).map(|spec| spec.name)
    };
    let is_open = |default: &&str| {
        let name = option(default);
        (has_depth || name != Some("iodepth")) && !words.iter().any(|word| option(word) == name)
    };
    let left_open = WORKLOAD.into_iter().filter(is_open).map(str::to_owned);
    Ok(left_open.chain(words.iter().cloned()).collect())
}

/// Job described by the words, run as we measure: direct I/O, the best engine, until precise
/// enough.
fn job(words: &[String]) -> Result<Job> {
    let mut job = Job::direct();
    for word in words {
        let (option, value) = word.split_once('=').unwrap_or((word, "1"));
        if ["runtime", "time_based", "filename", "directory"].contains(&option) {
            bail_usage!("{word}: explain sets place and time itself (limit: --budget)");
        }
        iodyno_job::apply(&mut job, option, value).map_err(|error| Usage(error.to_string()))?;
    }
    // Threads that share the range, so that sequential ones do not overlap.
    job.threads.shared_by = std::mem::replace(&mut job.threads.numjobs, 1);
    Ok(job)
}

/// Prints an explanation of the records worth explaining, in full unless `more` names a command for
/// the rest; returns the exit status.
fn print(
    context: &Context,
    records: &[RunRecord],
    claims: &ClaimBook,
    more: Option<&str>,
) -> Result<u8> {
    let records: Vec<&RunRecord> = records.iter().collect();
    let explained = explain_stored(&records, claims);
    let status = status(&records, &explained);
    if explained.is_empty() && status != 3 {
        let other = newest_with_rate(context, claims);
        let other = other.map(|run| {
            let explain = own_command(&format!("explain {}", shell_word(&run)));
            format!("; the newest run with one: {explain}")
        });
        bail_usage!("no measurement has a rate{}", other.unwrap_or_default());
    }
    let earlier: Vec<EarlierHeadroom> =
        records.iter().flat_map(|record| headroom::stored(context, record)).collect();
    if context.json {
        let document = explain_document(&explained, earlier, status);
        terminal::print_verdict(&json_text(&document)?, status)?;
        return Ok(status);
    }
    if explained.is_empty() {
        terminal::note("ended before a rate was measured");
        return Ok(status);
    }
    let style = terminal::style(context, &Table { wide: false, columns: None });
    // Several records of the same drives have the same lines.
    let mut follows: Vec<String> = Vec::new();
    add_missing(&mut follows, earlier.iter().map(headroom_line));
    let text = match more {
        None => {
            let texts = explained.iter().map(|one| explain_text(one, &style));
            let follows = follows.iter().map(|line| sentence(line, &style));
            texts.chain(follows).collect::<Vec<_>>().join("\n")
        }
        Some(more) => terminal::in_locale(explain_screen(&explained, &follows, more, &style)),
    };
    terminal::print_verdict(&text, status)?;
    Ok(status)
}

/// Name or id of the newest stored run that can be explained, of the last few.
fn newest_with_rate(context: &Context, claims: &ClaimBook) -> Option<String> {
    let store = context.store_to_read().ok()?;
    let runs = store.runs().ok()?.into_iter().take(SEARCHED);
    let has_rate = |id: &str| {
        let record = store.load(id).ok();
        record.is_some_and(|record| !explain_stored(&[&record], claims).is_empty())
    };
    let mut fitting = runs.filter(|run| has_rate(&run.id));
    fitting.next().map(|run| run.selector().to_owned())
}

/// The explanation of a run that was made by `iodyno explain`; `None`: it has no rate.
pub(crate) fn shown(
    context: &Context,
    record: &RunRecord,
    judging: &JudgeOptions<'_>,
    style: &Style,
) -> Option<String> {
    let records = [record];
    let explained = explain_stored(&records, judging.claims);
    let more = match judging.run {
        "" => String::new(),
        run => own_command(&format!("explain -v {run}")),
    };
    let follows = headroom::lines(context, record);
    (!explained.is_empty()).then(|| explain_screen(&explained, &follows, &more, style))
}

fn status(records: &[&RunRecord], explained: &[Explanation<'_>]) -> u8 {
    let ended = |record: &&RunRecord| match record.run.state {
        RunState::Interrupted => true,
        _ => record.measurements.iter().any(|of| of.failure().is_some()),
    };
    let open = |one: &Explanation<'_>| {
        !matches!(one.answer, Answer::Named { .. }) || one.validity == Validity::Invalid
    };
    if records.iter().any(ended) {
        3
    } else if explained.iter().any(open) {
        4
    } else {
        0
    }
}
