//! `iodyno replay`: repeats the I/Os of a trace on another target.

use std::path::Path;

use anyhow::Result;
use iodyno_campaign::{CampaignError, Work};
use iodyno_job::Job;
use iodyno_job::script::{CompileOptions, Script, compile};
use iodyno_job::syntax::{Entry, Place, Section, write_file};
use iodyno_job::traced::{TraceSurvey, TracedIos, survey};
use iodyno_model::{Fact, Host, format_percent};
use iodyno_native::NativeGenerator;
use iodyno_report::text::Damage;
use iodyno_target::{Target, TargetError, resolve_even_in_memory};
use iodyno_trace::read::ReadError;

use super::traced;
use crate::arguments::Replay;
use crate::commands::setup::Setup;
use crate::commands::study::print;
use crate::context::{Context, Usage, bail_usage};
use crate::terminal;

/// Block size assumed for files: enough for direct I/O on any of them, bytes.
const FILE_BLOCK_BYTES: u32 = 4096;
/// Limit of the buffers, unless it allows less than `LEAST_DEPTH`, bytes.
const MAX_BUFFER_BYTES: u64 = 64 << 20;
const LEAST_DEPTH: u64 = 64;
const MAX_DEPTH: u64 = 1024;
/// Queue depth if the trace does not tell how many I/Os were in flight.
const DEFAULT_DEPTH: u64 = 256;
/// Factor on the I/Os in flight: the target may be slower.
const DEPTH_FACTOR: u64 = 4;

pub(crate) fn run(context: &Context, arguments: &Replay) -> Result<u8> {
    context.refuse_captured("cannot replay a trace")?;
    let mut setup = Setup::of(context, &arguments.load_options)?;
    let place = Destination::of(&setup.host, &arguments.target)?;
    let file = &arguments.trace;
    if traced::is_same(Path::new(file), Path::new(&place.path)) {
        bail_usage!("{file} is the trace itself; name another target");
    }
    let named = |error: &dyn std::fmt::Display| Usage(format!("{file}: {error}"));
    let trace = traced::open(Path::new(file))?.ok_or_else(|| named(&ReadError::Unknown))?;
    let until_ns = arguments.duration.map_or(u64::MAX, |ns| arguments.from.saturating_add(ns));
    let skip = [false, arguments.read_only, arguments.read_only, arguments.read_only];
    let found = survey(trace, [arguments.from, until_ns], skip, place.block_bytes);
    let found = found.map_err(|error| named(&error))?;
    refuse(arguments, &found)?;
    let TraceSurvey { displaced, is_cut, .. } = found;
    let damaged = found.damaged + found.unread;
    traced::report_damage(context, Path::new(file), Damage { damaged, displaced, is_cut });
    if arguments.speed > 100 && !context.quiet {
        terminal::note(
            "note: sped up without waiting for completions, the load is more than any application \
             makes; --closed waits",
        );
    }
    let (script, text) = script(arguments, &place, found)?;
    let work = Work::of_script(file, script, text);
    let mut generator = NativeGenerator::new().with_traces(open);
    let options = arguments.load_options.options(&arguments.naming);
    let measured = setup.measure(context, &work, &[], &options, &mut generator);
    let record = measured.map_err(|error| match error.downcast_ref() {
        // A file is as long as the trace's addresses are high, and has no size of its own.
        Some(CampaignError::Target(full @ TargetError::NoRoom { .. })) => Usage(format!(
            "{full}; --scale-addresses packs what the trace touches into less, or name another \
             directory or a device"
        ))
        .into(),
        _ => error,
    })?;
    print(context, &mut setup, &record, &arguments.load_options.table)
}

/// Refuses options that this trace does not allow.
fn refuse(arguments: &Replay, found: &TraceSurvey) -> Result<()> {
    let file = &arguments.trace;
    if arguments.closed && !found.trace.has_latencies {
        bail_usage!(
            "{file}: {} has no latencies, so which I/O waited for which is unknown; leave out \
             --closed",
            found.trace.source
        );
    }
    // Times in whole seconds would give bursts that never happened.
    if found.trace.tick_ns >= 1_000_000_000 {
        bail_usage!("{file}: its times (whole seconds) are too coarse to replay");
    }
    Ok(())
}

/// Target of a replay.
struct Destination {
    path: String,
    /// Size of a device, bytes; `None`: a file, made as large as needed.
    room_bytes: Option<u64>,
    /// Alignment of offsets and lengths, bytes.
    block_bytes: u32,
}

impl Destination {
    fn of(host: &Host, word: &str) -> Result<Self> {
        let is_name = !word.contains('/') && !Path::new(word).exists();
        let found = match resolve_even_in_memory(host, word) {
            Ok(found) => found,
            // A missing file is created; for a name that looks like a drive the error is reported.
            Err(_) if !is_name || host.block(word).is_none() && !word.starts_with("nvme") => {
                Vec::new()
            }
            Err(error) => return Err(error.into()),
        };
        let of_file = |path: &str| Self {
            path: path.to_owned(),
            room_bytes: None,
            block_bytes: FILE_BLOCK_BYTES,
        };
        match &found[..] {
            [] => Ok(of_file(word)),
            [one] if one.is_directory() => {
                let what = format!("{word} is a directory: name a file in it, or a device");
                Err(Usage(what).into())
            }
            [one] if !matches!(one, Target::Block(_)) => Ok(of_file(word)),
            [one] => {
                let block = host.block(one.name()).map(|block| &block.queue.logical_block_bytes);
                let block_bytes = block.and_then(Fact::value);
                Ok(Self {
                    path: one.path().display().to_string(),
                    room_bytes: one.size_bytes(),
                    block_bytes: block_bytes.unwrap_or(FILE_BLOCK_BYTES),
                })
            }
            many => {
                let names: Vec<&str> = many.iter().map(Target::name).collect();
                Err(Usage(format!("{word} is {}: name one", names.join(" and "))).into())
            }
        }
    }
}

/// The replaying job, and its job file.
fn script(arguments: &Replay, place: &Destination, found: TraceSurvey) -> Result<(Script, String)> {
    let file = &arguments.trace;
    let source = Place { source: "iodyno replay".into(), line: None };
    let depth = depth(&found).to_string();
    let path = place.path.replace(':', "\\:");
    let options = [
        ("filename", path.as_str()),
        ("ioengine", "auto"),
        ("direct", "1"),
        ("iodepth", &depth),
        ("continue_on_error", "all"),
    ];
    let entries = options.map(|(name, value)| Entry {
        name: name.into(),
        value: Some(value.into()),
        place: source.clone(),
    });
    let entries = entries.into();
    let section = Section { name: "replay".into(), place: source, entries, inherited: 0 };
    let text = write_file(std::slice::from_ref(&section)).unwrap_or_default();
    let compiled = compile(&[section], &CompileOptions::default());
    let mut script = compiled.map_err(|errors| Usage(errors.to_string()))?;
    let mut jobs = script.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
    if let Some(one) = jobs.next() {
        one.needs_size = false;
        configure(arguments, place, found, &mut one.job)?;
    }
    let speed = format_percent(f64::from(arguments.speed) / 100.0);
    Ok((script, format!("; the trace {file}, at {speed} of its speed\n{text}")))
}

/// Sets up `job` to replay what was found.
fn configure(
    arguments: &Replay,
    place: &Destination,
    mut found: TraceSurvey,
    job: &mut Job,
) -> Result<()> {
    let file = &arguments.trace;
    found.trace.file.clone_from(file);
    found.trace.closed = arguments.closed;
    job.errors.gives_up = true;
    found.trace.speed_percent = arguments.speed;
    found
        .apply_to(job, place.room_bytes, arguments.scale_addresses)
        .map_err(|error| Usage(format!("{file} on {}: {error}", arguments.target)).into())
}

/// Maximum number of I/Os in flight.
fn depth(found: &TraceSurvey) -> u64 {
    let wanted = match found.in_flight as u64 {
        0 => DEFAULT_DEPTH,
        seen => seen * DEPTH_FACTOR,
    };
    let by_memory = MAX_BUFFER_BYTES / u64::from(found.largest_bytes()).max(4096);
    wanted.clamp(2 * LEAST_DEPTH, MAX_DEPTH).min(by_memory.max(LEAST_DEPTH))
}

/// Opens the trace of a job.
fn open(job: &Job, align_bytes: u32) -> Result<TracedIos, String> {
    let how = job.replay.trace.as_deref().cloned().unwrap_or_default();
    let trace = traced::open(Path::new(&how.trace.file)).map_err(|error| error.to_string())?;
    let trace = trace.ok_or_else(|| ReadError::Unknown.to_string())?;
    TracedIos::new(trace, how, align_bytes).map_err(|error| error.to_string())
}
