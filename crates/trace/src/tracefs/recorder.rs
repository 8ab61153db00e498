//! Reads the ring buffers of all CPUs, merges them by time and matches their events into I/Os.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use foldhash::{HashMap, HashMapExt as _};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::RecordError;
use super::instance::{Instance, remove_stale};
use super::layout::{EVENTS, Layout, RawEvent};
use super::page::{self, PageLayout};
use crate::{Actor, Device, Event, Io, Matcher, Names};

/// Maximum memory of all ring buffers together, KiB.
const ALL_RINGS_KIB: u64 = 512 << 10;
/// Maximum of one ring buffer, KiB: a quarter of a second at 200,000 IOPS on one CPU.
const RING_KIB: u64 = 8 << 10;
/// Maximum delay from an event's time to its commit into the ring buffer, ns: in between no other
/// process runs, only interrupts.
const COMMITTED_NS: u64 = 1_000_000;
/// Pages read from one ring buffer before the next one's turn.
const PAGES: usize = 512;

/// Options of a recording.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// If set, names of processes and devices are removed, processes are renumbered, and addresses
    /// are shifted by this many bytes.
    pub shift: Option<u64>,
}

/// A device to be traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// `major << 20 | minor`.
    pub number: u32,
    /// Its description in the trace.
    pub device: Device,
}

impl Options {
    /// Describes the device at an index, without its names if they are to be removed.
    pub(crate) fn device(&self, index: usize, device: &Device) -> Device {
        match self.shift {
            None => device.clone(),
            Some(_) => {
                let name = format!("disk{index}");
                Device { name, size_bytes: None, lba_bytes: device.lba_bytes }
            }
        }
    }
}

/// A recording in progress. The kernel's instance is removed on drop.
#[derive(Debug)]
pub struct Recorder {
    // Closed before the instance is removed, which the kernel refuses otherwise.
    rings: Vec<Ring>,
    instance: Instance,
    events: Events,
    page: Vec<u8>,
}

#[derive(Debug)]
struct Ring {
    folder: PathBuf,
    file: File,
    /// Time of the last event read, ns, if the ring buffer was not read to its end.
    partial_until_ns: Option<u64>,
}

/// Converts pages to I/Os; needs no kernel.
#[derive(Debug)]
pub(super) struct Events {
    pages: PageLayout,
    layouts: Vec<Layout>,
    /// Kernel numbers of devices, and the trace's.
    devices: Vec<(u32, u16)>,
    pub(super) names: Names,
    actors: HashMap<(u32, [u8; 16]), Option<u32>>,
    held: Vec<Event>,
    pub(super) matcher: Matcher,
    started_ns: u64,
    shift: Option<u64>,
    pub(super) lost: u64,
}

/// Time of the clock by which is recorded, ns.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Recorder {
    /// Begins to record the I/Os of `devices`.
    ///
    /// # Errors
    /// There is no tracefs, access is denied, or a tracepoint or field is missing.
    pub fn start(devices: &[Watched], options: Options) -> Result<Self, RecordError> {
        remove_stale()?;
        let instance = Instance::new()?;
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        let ring_kib = (ALL_RINGS_KIB / cpus).clamp(256, RING_KIB);
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &ring_kib.to_string())?;
        // The events contain process names.
        let _ = instance.write("options/record-cmd", "0");
        let header = instance.root.join("events/header_page");
        let text = read_once(&header).map_err(|error| RecordError::of(&header, error))?;
        let pages =
            PageLayout::parse(&text).ok_or(RecordError::Layout { path: header, field: "data" })?;
        // Larger pages apply to this instance only.
        let sub_kib = instance.read("buffer_subbuf_size_kb").ok();
        let sub_kib = sub_kib.and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(0);
        let page = vec![0; pages.length.max(sub_kib << 10)];
        let filter: Vec<String> =
            devices.iter().map(|one| format!("dev == {}", one.number)).collect();
        let mut layouts = Vec::new();
        for (event, step) in EVENTS {
            let format = format!("events/block/{event}/format");
            if !instance.path(&format).exists() {
                return Err(RecordError::NoTracepoint { event });
            }
            let text = instance.read(&format)?;
            layouts.push(Layout::parse(&instance.path(&format), &text, step)?);
            instance.write(&format!("events/block/{event}/filter"), &filter.join(" || "))?;
        }
        let rings = instance.rings()?;
        let mut events = Events::new(pages, layouts, devices, options);
        events.started_ns = now_ns();
        // Completions first: whatever is issued from now on is seen to its end.
        for (event, _) in EVENTS.iter().rev() {
            instance.write(&format!("events/block/{event}/enable"), "1")?;
        }
        let ring = |(folder, file)| Ring { folder, file, partial_until_ns: None };
        Ok(Self { rings: rings.into_iter().map(ring).collect(), instance, events, page })
    }

    /// Devices and actors so far.
    pub const fn names(&self) -> &Names {
        &self.events.names
    }

    /// Duration of the recording so far, ns.
    pub fn elapsed_ns(&self) -> u64 {
        now_ns().saturating_sub(self.events.started_ns)
    }

    /// Events that the kernel dropped, as far as known.
    pub const fn lost(&self) -> u64 {
        self.events.lost
    }

    /// I/Os whose completion was not seen, and completions of unknown I/Os.
    pub const fn unmatched(&self) -> u64 {
        self.events.matcher.unmatched()
    }

    /// Reads the ring buffers, and passes on the I/Os that are complete. Returns true if a ring
    /// buffer may have more: then call it again at once.
    ///
    /// # Errors
    /// A system call failed.
    pub fn poll(&mut self, give: impl FnMut(Io)) -> Result<bool, RecordError> {
        let before_ns = now_ns().saturating_sub(COMMITTED_NS);
        let mut horizon_ns = before_ns;
        for ring in &mut self.rings {
            ring.read(&mut self.page, &mut self.events)?;
            horizon_ns = horizon_ns.min(ring.partial_until_ns.unwrap_or(u64::MAX));
        }
        self.events.take(horizon_ns, give);
        Ok(self.rings.iter().any(|ring| ring.partial_until_ns.is_some()))
    }

    /// Ends the recording and passes on the rest. Returns its duration, ns.
    ///
    /// # Errors
    /// A system call failed.
    pub fn end(&mut self, mut give: impl FnMut(Io)) -> Result<u64, RecordError> {
        let duration_ns = self.elapsed_ns();
        self.instance.write("tracing_on", "0")?;
        while self.poll(&mut give)? {}
        // The kernel's own count, of which pages report only a part.
        let lost = self.rings.iter().map(|ring| lost(&ring.folder)).sum();
        self.events.lost = self.events.lost.max(lost);
        self.events.end(give);
        Ok(duration_ns)
    }
}

/// Reads a file that returns its content at the first read only.
fn read_once(path: &Path) -> std::io::Result<String> {
    let mut bytes = [0; 4096];
    let length = File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// Returns the events that a ring buffer dropped, from its `stats`.
fn lost(folder: &Path) -> u64 {
    let text = std::fs::read_to_string(folder.join("stats")).unwrap_or_default();
    let of = |line: &str| {
        let (name, count) = line.split_once(':')?;
        let is_loss = ["overrun", "commit overrun", "dropped events"].contains(&name);
        is_loss.then(|| count.trim().parse::<u64>().ok())?
    };
    text.lines().filter_map(of).sum()
}

/// True if there is nothing to read: no event, or no ring buffer, since the CPU was never online.
pub(super) fn is_empty(error: &std::io::Error) -> bool {
    let no_ring = Errno::NODEV.raw_os_error();
    error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(no_ring)
}

impl Ring {
    fn read(&mut self, page: &mut [u8], events: &mut Events) -> Result<(), RecordError> {
        self.partial_until_ns = None;
        let mut last_ns = None;
        for _ in 0..PAGES {
            match self.file.read(page) {
                Ok(0) => return Ok(()),
                Ok(length) => last_ns = events.page(&page[..length]).or(last_ns),
                Err(error) if is_empty(&error) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(RecordError::of(&self.folder, error)),
            }
        }
        self.partial_until_ns = last_ns;
        Ok(())
    }
}

impl Events {
    pub(super) fn new(
        pages: PageLayout,
        layouts: Vec<Layout>,
        devices: &[Watched],
        options: Options,
    ) -> Self {
        let mut names = Names::default();
        let number = |(at, one): (usize, &Watched)| {
            Some((one.number, names.device(&options.device(at, &one.device))?))
        };
        let devices = devices.iter().enumerate().filter_map(number).collect();
        Self {
            pages,
            layouts,
            devices,
            names,
            actors: HashMap::new(),
            held: Vec::new(),
            matcher: Matcher::default(),
            started_ns: 0,
            shift: options.shift,
            lost: 0,
        }
    }

    /// Decodes a page. Returns the time of its last event, ns.
    pub(super) fn page(&mut self, bytes: &[u8]) -> Option<u64> {
        let mut last_ns = None;
        let missed = page::events(self.pages, bytes, |at_ns, data| {
            last_ns = Some(at_ns);
            let layout = page::layout_of(&self.layouts, data);
            if let Some(raw) = layout.and_then(|layout| layout.event(at_ns, data)) {
                self.keep(raw);
            }
        });
        self.lost += missed;
        last_ns
    }

    fn keep(&mut self, raw: RawEvent) {
        let known = self.devices.iter().find(|(number, _)| *number == raw.dev);
        let Some((_, device)) = known.copied() else {
            return;
        };
        let actor = match raw.event.step {
            crate::Step::Queued => self.actor(raw.pid, raw.comm),
            _ => None,
        };
        self.held.push(Event { device, actor, ..raw.event });
    }

    fn actor(&mut self, pid: u32, comm: [u8; 16]) -> Option<u32> {
        if let Some(known) = self.actors.get(&(pid, comm)) {
            return *known;
        }
        let name = comm.split(|byte| *byte == 0).next().unwrap_or_default();
        let number = u32::try_from(self.actors.len()).ok();
        let actor = match self.shift {
            None => Actor {
                pid: Some(pid),
                process: Some(String::from_utf8_lossy(name).into_owned()),
                cgroup: None,
            },
            Some(_) => Actor { pid: number, ..Actor::default() },
        };
        let number = self.names.actor(&actor);
        // Actors without a number are not cached.
        if number.is_some() {
            self.actors.insert((pid, comm), number);
        }
        number
    }

    /// Passes on the I/Os that are complete up to a time.
    pub(super) fn take(&mut self, until_ns: u64, mut give: impl FnMut(Io)) {
        self.held.sort_by_key(|event| event.at_ns);
        let ready = self.held.partition_point(|event| event.at_ns <= until_ns);
        for event in self.held.drain(..ready) {
            self.matcher.event(&event);
        }
        let (started_ns, shift) = (self.started_ns, self.shift);
        self.matcher.take(|io| give(trace_io(io, started_ns, shift)));
    }

    /// Passes on the rest.
    pub(super) fn end(&mut self, mut give: impl FnMut(Io)) {
        self.take(u64::MAX, &mut give);
        let (started_ns, shift) = (self.started_ns, self.shift);
        self.matcher.end(|io| give(trace_io(io, started_ns, shift)));
    }
}

fn trace_io(io: Io, started_ns: u64, shift: Option<u64>) -> Io {
    let has_address = !matches!(io.operation, crate::Operation::Flush | crate::Operation::Other);
    let shift = if has_address { shift.unwrap_or(0) } else { 0 };
    let offset = io.offset.wrapping_add(shift);
    Io { at_ns: io.at_ns.saturating_sub(started_ns), offset, ..io }
}
