//! `iodyno record`: records the I/Os that the kernel sends to a drive.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use iodyno_campaign::now_ns;
use iodyno_files::{NameOrigin, folder_of};
use iodyno_host::Source;
use iodyno_model::{TraceSummary, add_missing};
use iodyno_report::document::TraceDocument;
use iodyno_report::text::{json_text, trace_line, trace_text};
use iodyno_trace::tracefs::{Options, RecordError, Recorder, Watched, remove_stale};
use iodyno_trace::{Counter, Device, Header, Io, Names, TraceError, Writer, bpf};

use crate::arguments::{LiveView, Record};
use crate::commands::setup::end_on_signals;
use crate::context::{Context, Usage, bail_usage, write};
use crate::output::{Content, refuse_other};
use crate::terminal;

/// Interval between reads of the kernel's ring buffers, which hold a quarter of a second.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Interval between updates of the progress line.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Ages of pending I/Os after which they are written, so that a kill loses no more: as a short chunk
/// it costs some 400 bytes, which for many I/Os are less than one byte each.
const MANY: (usize, Duration) = (1024, Duration::from_secs(1));
const ANY: (usize, Duration) = (1, Duration::from_secs(5));
/// Address shifts are multiples of this, so that alignment is kept, bytes.
const SHIFT_BYTES: u64 = 1 << 30;

pub(crate) fn run(context: &Context, arguments: &Record) -> Result<u8> {
    context.refuse_captured("has no I/O")?;
    if let Some(path) = &arguments.output {
        let content = if arguments.summary { Content::TraceSummary } else { Content::Trace };
        refuse_other(context, path, content)?;
    }
    let source = context.source()?;
    let watched = watched(source.as_ref(), &arguments.devices)?;
    let trace = arguments.output.as_deref().filter(|_| !arguments.summary);
    if let Some(path) = trace.filter(|_| !context.quiet) {
        note_own_writes(source.as_ref(), path, &watched);
    }
    let interrupted = Arc::clone(&context.interrupted);
    end_on_signals(&interrupted)?;
    let options = Options { shift: arguments.anonymise.then(random_shift) };
    let limit = arguments.duration.map(Duration::from_nanos);
    // Some kernels count by themselves, others send each I/O.
    let counting = trace.is_none().then(|| bpf::Recorder::start(&watched, options).ok());
    let (by, (summary, failure)) = match counting.flatten() {
        Some(counting) => {
            // What a killed recording left costs time at each I/O.
            let _ = remove_stale();
            ("bpf", follow(context, counting, limit)?)
        }
        None => {
            let recorder = Recorder::start(&watched, options).map_err(refused)?;
            let header = Header {
                source: "tracefs".into(),
                started_ns: u64::try_from(now_ns()).ok(),
                tick_ns: 1,
                clock: Some("mono".into()),
                kernel: kernel(source.as_ref()),
                devices: recorder.names().devices().to_vec(),
                anonymous: arguments.anonymise,
                seed: None,
            };
            let output = trace.map(|path| {
                let file = iodyno_files::create(path, NameOrigin::User)?;
                let writer = Writer::new(BufWriter::new(file), &header);
                let writer = writer.map_err(|error| unwritten(path, &error))?;
                Ok::<_, anyhow::Error>(Output { path, writer, flushed: Instant::now() })
            });
            let (output, counter) = (output.transpose()?, Counter::default());
            let recording = Recording { recorder, output, counter, ios: Vec::new(), lost: 0 };
            ("tracefs", follow(context, recording, limit)?)
        }
    };
    let mut summary = TraceSummary { source: by.into(), tick_ns: 1, ..summary };
    if arguments.anonymise {
        summary.number_actors();
    }
    let document = TraceDocument::new(summary);
    let style = terminal::style(context, &Default::default());
    match context.json {
        true => terminal::print(&json_text(&document)?)?,
        false => terminal::print(&trace_text(&document.trace, &style))?,
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let Some(path) = &arguments.output {
        if arguments.summary {
            write(path, json_text(&document)?.as_bytes())?;
        }
        let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
        if !context.json {
            terminal::report_written(context, path, bytes as usize, "")?;
        }
    }
    Ok(0)
}

fn unwritten(path: &Path, error: &TraceError) -> Usage {
    let why = match error {
        TraceError::System(error) => error.to_string(),
        error => error.to_string(),
    };
    Usage(format!("cannot write {}: {why}", path.display()))
}

fn refused(error: RecordError) -> Usage {
    Usage(error.to_string())
}

/// Summary of a recording, and the error that ended it early.
type Recorded = (TraceSummary, Option<anyhow::Error>);

/// What is recorded, as it happens.
trait Follow {
    /// Reads what the kernel has. Returns true if there may be more.
    fn poll(&mut self) -> Result<bool>;

    /// Summarizes what is recorded so far.
    fn so_far(&mut self) -> Result<TraceSummary>;

    /// Ends the recording, and summarizes it.
    fn end(self) -> Result<Recorded>;
}

/// Records until interrupted, for at most `limit`, or until the trace cannot be written.
fn follow(
    context: &Context,
    mut recording: impl Follow,
    limit: Option<Duration>,
) -> Result<Recorded> {
    let is_live = terminal::is_terminal()
        && !context.quiet
        && !context.json
        && context.live != Some(LiveView::Off);
    let failure = poll(context, &mut recording, limit, is_live).err();
    if is_live {
        terminal::live_line("");
    }
    let (summary, at_end) = recording.end()?;
    Ok((summary, failure.or(at_end)))
}

/// Reads what the kernel has until it is over, and shows progress.
fn poll(
    context: &Context,
    recording: &mut impl Follow,
    limit: Option<Duration>,
    is_live: bool,
) -> Result<()> {
    let (started, mut shown) = (Instant::now(), Instant::now());
    let is_over = || limit.is_some_and(|most| started.elapsed() >= most);
    while !context.interrupted.load(Ordering::Relaxed) && !is_over() {
        let has_more = recording.poll()?;
        if is_live && shown.elapsed() >= PROGRESS_INTERVAL {
            shown = Instant::now();
            terminal::live_line(&trace_line(&recording.so_far()?));
        }
        if !has_more {
            let left = limit.map_or(POLL_INTERVAL, |most| most.saturating_sub(started.elapsed()));
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
    }
    Ok(())
}

impl Follow for bpf::Recorder {
    fn poll(&mut self) -> Result<bool> {
        Ok(self.poll().map(|()| false)?)
    }

    fn so_far(&mut self) -> Result<TraceSummary> {
        Ok(self.summary()?)
    }

    fn end(self) -> Result<Recorded> {
        Ok((self.end()?, None))
    }
}

/// A recording of each I/O: the kernel's ring buffers and the output.
struct Recording<'a> {
    recorder: Recorder,
    output: Option<Output<'a>>,
    counter: Counter,
    /// I/Os just read from the ring buffers.
    ios: Vec<Io>,
    /// Number of events known to be lost.
    lost: u64,
}

/// The trace that is written.
struct Output<'a> {
    path: &'a Path,
    writer: Writer<BufWriter<File>>,
    flushed: Instant,
}

impl Output<'_> {
    /// Writes pending I/Os if they are old.
    fn flush(&mut self, names: &Names) -> Result<(), TraceError> {
        let age = self.flushed.elapsed();
        if [MANY, ANY].iter().any(|(ios, most)| self.writer.pending() >= *ios && age >= *most) {
            self.writer.flush(names)?;
            self.flushed = Instant::now();
        }
        Ok(())
    }
}

impl Follow for Recording<'_> {
    fn poll(&mut self) -> Result<bool> {
        let has_more = self.recorder.poll(|io| self.ios.push(io)).map_err(refused)?;
        self.keep()?;
        Ok(has_more)
    }

    fn so_far(&mut self) -> Result<TraceSummary> {
        Ok(self.summary(self.recorder.elapsed_ns()))
    }

    fn end(mut self) -> Result<Recorded> {
        let duration_ns = self.recorder.end(|io| self.ios.push(io)).map_err(refused)?;
        let kept = self.keep();
        let summary = self.summary(duration_ns);
        let ended = kept.and_then(|()| match self.output {
            None => Ok(()),
            Some(Output { path, writer, .. }) => {
                let unmatched = self.recorder.unmatched();
                let ended = writer.end(self.recorder.names(), duration_ns, unmatched);
                ended.map(drop).map_err(|error| unwritten(path, &error))
            }
        });
        Ok((summary, ended.err().map(Into::into)))
    }
}

impl Recording<'_> {
    /// Counts and writes the I/Os just read; they are counted also if they cannot be written, and
    /// none is written after that.
    fn keep(&mut self) -> Result<(), Usage> {
        let lost = self.recorder.lost() - std::mem::replace(&mut self.lost, self.recorder.lost());
        self.ios.iter().for_each(|io| self.counter.count(io));
        let Some(mut output) = self.output.take() else {
            self.ios.clear();
            return Ok(());
        };
        let names = self.recorder.names();
        output.writer.lost(lost);
        let mut pushed = self.ios.drain(..).map(|io| output.writer.push(io, names));
        let pushed = pushed.find(Result::is_err).unwrap_or(Ok(()));
        pushed
            .and_then(|()| output.flush(names))
            .map_err(|error| unwritten(output.path, &error))?;
        self.output = Some(output);
        Ok(())
    }

    fn summary(&self, duration_ns: u64) -> TraceSummary {
        TraceSummary {
            lost: self.recorder.lost(),
            unmatched: self.recorder.unmatched(),
            ..self.counter.summary(self.recorder.names(), duration_ns)
        }
    }
}

/// The devices of all `names`, each once.
fn watched(source: &dyn Source, names: &[String]) -> Result<Vec<Watched>> {
    let mut all: Vec<Watched> = Vec::new();
    for name in names {
        add_missing(&mut all, devices(source, name)?);
    }
    Ok(all)
}

/// Warns if the trace is written to a recorded drive.
fn note_own_writes(source: &dyn Source, path: &Path, watched: &[Watched]) {
    if let Some(drive) = watched.iter().find(|one| lies_on(source, path, &one.device.name)) {
        let (path, name) = (path.display(), &drive.device.name);
        terminal::note(&format!(
            "{path} is on {name}: the trace will contain its own writes; use another drive"
        ));
    }
}

/// The devices that a name denotes: a block device, the disk of a partition, a controller's
/// namespaces.
fn devices(source: &dyn Source, name: &str) -> Result<Vec<Watched>> {
    let short = name.strip_prefix("/dev/").unwrap_or(name);
    let text = |path: String| {
        let bytes = source.read(&path, 256).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    if short.is_empty() || short.contains('/') || short.starts_with('.') {
        bail_usage!("{name} is no block device");
    }
    let namespaces = source.list(&format!("/sys/class/nvme/{short}")).unwrap_or_default();
    let is_block = |one: &&String| source.list(&format!("/sys/block/{one}")).is_ok();
    let namespaces: Vec<&String> = namespaces.iter().filter(is_block).collect();
    if !namespaces.is_empty() {
        let each = namespaces.into_iter().map(|one| devices(source, one));
        return Ok(each.collect::<Result<Vec<_>>>()?.concat());
    }
    let real = source.real_path(&format!("/sys/class/block/{short}"));
    let real = real.map_err(|_| Usage(format!("{name} is no block device of this machine")))?;
    // Requests name the disk, not the partition.
    let disk = match text(format!("{real}/partition")) {
        Some(_) => real.rsplit('/').nth(1).unwrap_or(short),
        None => short,
    };
    let folder = format!("/sys/class/block/{disk}");
    if source.list(&format!("{folder}/mq")).is_err() {
        let below = source.list(&format!("{folder}/slaves")).unwrap_or_default();
        let advice = match &below[..] {
            [] => String::new(),
            below => format!("; record what is below it: {}", below.join(" ")),
        };
        bail_usage!("{name} has no request queue of its own{advice}");
    }
    let number = text(format!("{folder}/dev")).and_then(|text| {
        let (major, minor) = text.split_once(':')?;
        Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
    });
    let number = number.ok_or_else(|| Usage(format!("{name} has no device number")))?;
    let sectors = text(format!("{folder}/size")).and_then(|text| text.parse::<u64>().ok());
    let lba = text(format!("{folder}/queue/logical_block_size"));
    let device = Device {
        name: disk.to_owned(),
        size_bytes: sectors.map(|sectors| sectors * 512),
        lba_bytes: lba.and_then(|text| text.parse().ok()),
    };
    Ok(vec![Watched { number, device }])
}

/// True if a file is, or will be, on a drive: on the disk, a partition, or a device stacked on
/// them.
fn lies_on(source: &dyn Source, path: &Path, drive: &str) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(found) = std::fs::metadata(folder_of(path)) else { return false };
    let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
    let Ok(real) = source.real_path(&format!("/sys/dev/block/{major}:{minor}")) else {
        return false;
    };
    is_made_of(source, &real, drive)
}

fn is_made_of(source: &dyn Source, real: &str, drive: &str) -> bool {
    let below = source.list(&format!("{real}/slaves")).unwrap_or_default();
    let below =
        below.iter().filter_map(|one| source.real_path(&format!("{real}/slaves/{one}")).ok());
    real.split('/').any(|one| one == drive)
        || below.into_iter().any(|one| is_made_of(source, &one, drive))
}

fn kernel(source: &dyn Source) -> Option<String> {
    let bytes = source.read("/proc/sys/kernel/osrelease", 256).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Random shift that cannot be guessed from the trace alone.
fn random_shift() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    (random % (1 << 12) + 1) * SHIFT_BYTES
}
