//! `iodyno run`: runs fio job files and fio command lines.

mod agg_log;
mod debug;
mod disk_watch;
mod eta;
mod face;
mod idleness;
mod logs;
mod output;
mod own_files;
mod pages;
mod status;
mod trigger;
pub(crate) mod words;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use iodyno_campaign::{Event, Options, Study, Watcher, Work};
use iodyno_files::{FileError, Kind};
use iodyno_fio::FioGenerator;
use iodyno_job::is_fio_only;
use iodyno_job::script::{CompileOptions, Script, compile};
use iodyno_job::syntax::{
    CommandLine, Debug, Environment, Eta, OptionTable, Page, Section, SyntaxError,
    parse_command_line, process_variable, show_command,
};
use iodyno_load::LoadGenerator;
use iodyno_model::{own_command, shell_word};
use iodyno_native::{CommandPolicy, NativeGenerator};

use crate::arguments::{LiveView, Run, RunGenerator};
use crate::commands::present::JudgeOptions;
use crate::commands::setup::Setup;
use crate::context::{Context, MAX_TEXT_BYTES, Usage, bail_usage};
use crate::output::{Content, refuse_other, refuse_unwritable};
use crate::progress::Display;
use crate::terminal;

use disk_watch::DiskWatch;
use eta::EtaLine;
pub(crate) use face::Face;
use idleness::Idleness;
use logs::LogFiles;
use output::Output;
use own_files::refuse_own_files;
use status::Status;
use trigger::Trigger;

/// Hint for a plan, which is no job file.
fn of_plan(error: &SyntaxError) -> Option<Usage> {
    let name = match error {
        SyntaxError::OutsideSection { place, .. } if place.source.ends_with(".toml") => {
            &place.source
        }
        SyntaxError::Unreadable { file, .. } if Study::preset(file).is_some() => file,
        _ => return None,
    };
    Some(Usage(format!("{name} is a plan: iodyno sweep {}", shell_word(name))))
}

pub(crate) fn run(context: &Context, arguments: &Run, face: Face) -> Result<u8> {
    context.refuse_captured("cannot run jobs")?;
    let usage = |error: &dyn std::fmt::Display| Usage(error.to_string());
    let line = parse_command_line(&arguments.job, &OptionTable).map_err(|error| usage(&error))?;
    let invocation = &line.invocation;
    if let Some(page) = &invocation.page {
        if face == Face::Iodyno && *page == Page::Version && arguments.job.len() > 1 {
            bail_usage!(
                "-v is fio's --version here, so no job was run; details of a run: {}",
                own_command("show -v last")
            );
        }
        return pages::show(page);
    }
    terminal::print(&debug::head(&invocation.debug))?;
    let loaded = line.load(&OptionTable, &environment());
    if invocation.debug.contains(&Debug::Parse) {
        let sections = loaded.as_deref().unwrap_or_default();
        terminal::print(&debug::parse(&line.global, sections))?;
    }
    let sections = match loaded {
        // As in fio, a missing job is no error if nothing is to be run.
        Err(SyntaxError::NoJob) if invocation.parse_only || invocation.show_cmd => return Ok(0),
        loaded => loaded.map_err(|error| of_plan(&error).unwrap_or_else(|| usage(&error)))?,
    };
    let commands = face.commands(arguments.exec_permission.allow_exec);
    let exec = commands != CommandPolicy::Refused;
    let script = script(context, arguments, face, &line, &sections)?;
    if invocation.show_cmd {
        terminal::print(&(show_command(&sections) + "\n"))?;
        return Ok(0);
    }
    if invocation.parse_only {
        return Ok(0);
    }
    let prints = !invocation.output_formats.is_empty() && invocation.output.is_none();
    let streaming = &arguments.run_options.load_options.streaming;
    streaming.refuse_beside(prints, "--output-format")?;
    if let Some(command) = invocation.trigger.command.as_ref().filter(|_| !exec) {
        bail_usage!("--trigger={command} runs a command; allow it with --allow-exec");
    }
    let logs = LogFiles::new(&script, invocation.bandwidth_log.as_deref());
    logs.refuse_unwritable().map_err(|error| usage(&error))?;
    let outputs = [invocation.output.as_deref().map(Path::new), streaming.stream_file()];
    refuse_own_files(context, &script, &line.files, &outputs, &logs)?;
    if let Some(path) = invocation.output.as_deref().map(Path::new) {
        match face {
            // fio overwrites any file.
            Face::Fio => refuse_unwritable(context, path)?,
            Face::Iodyno => refuse_other(context, path, Content::Summary)?,
        }
    }
    raise_file_limit();
    let mut setup = Setup::of(context, &arguments.run_options.load_options)?;
    let states = invocation.aux_path.as_deref().unwrap_or_default();
    let entropy = RandomState::new().build_hasher().finish();
    let mut generator = generator(arguments, commands, states, entropy, &sections)?;
    let mut output = Output::new(face, &script, invocation);
    if invocation.debug.contains(&Debug::Random) {
        output.put(&debug::random(&script, entropy))?;
    }
    output.begin()?;
    let run_name = arguments.naming.name();
    // A script named `fio` passes its permissions on to all that a program runs through it.
    let options = Options {
        standing: face == Face::Fio,
        ..Options::of_jobs(run_name, arguments.run_options.permission())
    };
    let live = match invocation.eta {
        _ if face == Face::Fio => Some(LiveView::Off),
        Eta::Never => Some(LiveView::Off),
        // Periodic reports need a scrolling terminal.
        _ if invocation.status_interval_ns.is_some() => Some(LiveView::Line),
        Eta::Auto | Eta::Always => context.live,
    };
    let mut watcher = RunWatcher {
        display: Display::with(context, None, live),
        // fio writes its own logs.
        logs: (arguments.run_options.generator() != Some(RunGenerator::Fio)).then_some(logs),
        status: Status::new(invocation, generator.source())?,
        eta: match face {
            Face::Fio => EtaLine::new(&script, invocation, &output.formats),
            Face::Iodyno => None,
        },
        trigger: (invocation.trigger.is_set())
            .then(|| Trigger::new(&invocation.trigger, Arc::clone(&context.interrupted))),
        disks: DiskWatch::new(context.source()?),
        output,
        failure: None,
    };
    let idleness = invocation.idle_prof.map(Idleness::begin).transpose()?;
    let name = line.files.first().map_or("command line", String::as_str);
    let text = sections_text(&sections);
    let work = Work::of_script(name, script.clone(), text);
    let outcome = setup.run_work(&work, &[], &options, generator.as_mut(), &mut watcher);
    drop(watcher.display);
    let waited = watcher.trigger.as_ref().map_or(Ok(()), Trigger::finish);
    let logged = watcher.logs.as_mut().map_or(Ok(()), LogFiles::finish);
    let record = outcome?;
    let idleness = idleness.map(|begun| begun.end()).transpose()?;
    if face == Face::Fio {
        face::error_lines(&record).iter().for_each(|line| terminal::note(line));
    }
    let judging = JudgeOptions::latest(&setup.claims, &arguments.run_options.load_options.table);
    let about = (watcher.disks.activity(&record.measurements), idleness);
    let ours = watcher.output.finish(context, &mut setup.store, &record, &judging, about)?;
    let fired = watcher.trigger.as_ref().is_some_and(|trigger| trigger.fired);
    if invocation.trigger.command.is_some() && !fired && face == Face::Iodyno && !context.quiet {
        terminal::note("note: the jobs ended before the trigger, so its command did not run");
    }
    let status = face.status_of_run(&record, ours, fired);
    // A reader that has gone leaves the verdict as it is.
    let failure = watcher.failure.filter(|failure| !terminal::is_closed_pipe(failure));
    let written = failure.map_or(Ok(()), Err).and(waited).and(logged.map_err(Into::into));
    terminal::unless_outweighed(written, status)?;
    Ok(status)
}

/// Raises the soft limit of open files to the hard limit: jobs may have thousands of files, and the
/// default is low for programs that use select(2).
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If that is refused, opening a file reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Values of `${NAME}`, `include` and `$ncpus`.
fn environment() -> Environment<'static> {
    let memory = rustix::system::sysinfo();
    let memory_bytes = (memory.totalram as u64).saturating_mul(memory.mem_unit.into());
    Environment {
        variable: &process_variable,
        read: &read_job_file,
        page_size_bytes: rustix::param::page_size() as u64,
        cpus: std::thread::available_parallelism().map_or(1, usize::from) as u64,
        memory_mib: memory_bytes >> 20,
    }
}

/// Reads a job file; `-` is standard input.
fn read_job_file(path: &str) -> std::io::Result<Vec<u8>> {
    let read = match path {
        "-" => {
            let stdin = std::io::stdin().lock();
            iodyno_files::read_stream(stdin, Path::new("standard input"), MAX_TEXT_BYTES)
        }
        path => iodyno_files::read(Path::new(path), MAX_TEXT_BYTES),
    };
    read.map_err(|error| match error {
        FileError::Unreadable { error, .. } => error,
        FileError::NotReadable {
            kind: kind @ (Kind::BlockDevice | Kind::CharacterDevice), ..
        } => {
            let what = format!("it is {kind}; as a target: --name=job --filename={path}");
            std::io::Error::other(what)
        }
        error => std::io::Error::other(error),
    })
}

fn script(
    context: &Context,
    arguments: &Run,
    face: Face,
    line: &CommandLine,
    sections: &[Section],
) -> Result<Script> {
    let how = CompileOptions {
        for_fio: arguments.run_options.generator() == Some(RunGenerator::Fio),
        exec: face.commands(arguments.exec_permission.allow_exec) != CommandPolicy::Refused,
        readonly: line.invocation.readonly,
        ..CompileOptions::default()
    };
    let mut script = compile(sections, &how).map_err(|errors| Usage(errors.to_string()))?;
    // As in fio, the logs need not exist for --parse-only and --showcmd.
    let only_looks = line.invocation.parse_only || line.invocation.show_cmd;
    if !how.for_fio && !only_looks {
        script.read_logs(how.readonly, &open_log).map_err(|errors| Usage(errors.to_string()))?;
    }
    if !context.quiet {
        for note in line.notes.iter().chain(&script.notes) {
            terminal::note(&format!("note: {note}"));
        }
    }
    if line.invocation.warnings_fatal {
        check_warnings(face, line, &script)?;
    }
    Ok(script)
}

/// Applies `--warnings-fatal` to our notes, or as fio to its warnings.
fn check_warnings(face: Face, line: &CommandLine, script: &Script) -> Result<()> {
    let told = match face {
        Face::Iodyno if line.notes.is_empty() && script.notes.is_empty() => return Ok(()),
        Face::Iodyno => "see the notes above".into(),
        Face::Fio => {
            let Some((job, warning)) = script.warnings.first() else { return Ok(()) };
            format!("job `{job}`: {warning}")
        }
    };
    Err(Usage(format!("--warnings-fatal: {told}")).into())
}

/// Opens an I/O log. It is read twice: to survey and to replay it.
fn open_log(path: &str) -> std::io::Result<Box<dyn std::io::BufRead + Send>> {
    let file = iodyno_files::open_to_read(Path::new(path)).map_err(std::io::Error::other)?;
    Ok(Box::new(std::io::BufReader::new(file)))
}

fn generator(
    arguments: &Run,
    commands: CommandPolicy,
    states: &str,
    entropy: u64,
    sections: &[Section],
) -> Result<Box<dyn LoadGenerator>> {
    Ok(match arguments.run_options.generator() {
        None | Some(RunGenerator::Native) => {
            let native = NativeGenerator::new().with_commands(commands).with_entropy(entropy);
            Box::new(native.with_states(states.into()))
        }
        Some(RunGenerator::Fio) => {
            let mut fio = FioGenerator::find(arguments.run_options.fio.as_deref())
                .map_err(|error| Usage(error.to_string()))?;
            for section in sections {
                let options = section.entries.iter();
                let options = options
                    .filter(|entry| is_fio_only(&entry.name, entry.value.as_deref()))
                    .map(|entry| (entry.name.clone(), entry.value.clone().unwrap_or("1".into())));
                fio = fio.with_options(&section.name, options.collect());
            }
            Box::new(fio)
        }
    })
}

/// Text of the plan in the store.
fn sections_text(sections: &[Section]) -> String {
    // Values that no job file can hold come from the command line.
    iodyno_job::syntax::write_file(sections).unwrap_or_else(|_| show_command(sections))
}

/// Updates the display and writes logs.
struct RunWatcher<'a> {
    display: Display,
    logs: Option<LogFiles>,
    status: Status,
    eta: Option<EtaLine<'a>>,
    trigger: Option<Trigger>,
    disks: DiskWatch,
    output: Output<'a>,
    failure: Option<anyhow::Error>,
}

impl Watcher for RunWatcher<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.disks.event(event);
        if let Event::Interval { jobs, interval, .. } = event
            && let Some(logs) = &mut self.logs
            && let Err(error) = logs.record(jobs, interval)
        {
            self.failure.get_or_insert(error.into());
        }
        let status = self.status.event(event, &mut self.output, &mut self.display);
        let eta = self.eta.as_mut().map_or(Ok(()), |eta| eta.event(event));
        if let (Event::Interval { .. }, Some(trigger)) = (event, &mut self.trigger) {
            trigger.look();
        }
        if let Some(error) = [status, eta].into_iter().find_map(Result::err) {
            self.failure.get_or_insert(error);
        }
        self.display.event(event);
    }
}

/// True if only options and their values precede `run`, so that it is the command.
pub(crate) fn is_command(before: &[impl AsRef<str>]) -> bool {
    let mut expects_value = false;
    before.iter().map(AsRef::as_ref).all(|word| {
        let option = word.starts_with('-');
        let fine = option || expects_value;
        expects_value = option
            && !word.contains('=')
            && ["--store", "--color", "--live", "--sysroot"].contains(&word);
        fine
    }) && !expects_value
}
