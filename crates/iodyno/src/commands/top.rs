//! `iodyno top`: shows what drives do right now; read-only, without a load of its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use iodyno_campaign::now_ns;
use iodyno_host::{Depth, Source, Vitals, disk_stats, snapshot, vitals};
use iodyno_model::{
    BlockDevice, BlockKind, DiskStats, Drive, HealthLog, Host, distinct, format_count,
    format_duration_ns, format_mb_per_s, format_percent, rfc3339,
};
use iodyno_report::document::{TopDocument, TopDrive};
use iodyno_report::text::{clean, json_text};
use ratatui_core::style::Stylize as _;
use ratatui_core::terminal::{Frame, Terminal};
use ratatui_core::text::Line;

use crate::arguments::{LiveView, Top};
use crate::commands::setup::end_on_signals;
use crate::context::{Context, bail_usage};
use crate::live::{Cell, Column, FRAME, KEPT_SECONDS, TerminalCaps, justified, paint, table};
use crate::screen::{self, Painter, Woken};
use crate::terminal;

/// Minimum interval between admin commands to a drive.
const ADMIN_INTERVAL: Duration = Duration::from_secs(5);

const COLUMNS: [Column; 11] = [
    Column { heading: "DRIVE", rank: 0 },
    Column { heading: "READ", rank: 0 },
    Column { heading: "WRITE", rank: 0 },
    Column { heading: "IOPS", rank: 3 },
    Column { heading: "LATENCY", rank: 4 },
    Column { heading: "QUEUE", rank: 6 },
    Column { heading: "UTIL", rank: 2 },
    Column { heading: "HISTORY", rank: 7 },
    Column { heading: "TEMP", rank: 5 },
    Column { heading: "LINK", rank: 8 },
    Column { heading: "STATE", rank: 1 },
];

pub(crate) fn run(context: &Context, arguments: &Top) -> Result<u8> {
    context.refuse_captured("has no I/O")?;
    let mut watched = Watched::new(context.source()?, &arguments.devices)?;
    let interval = Duration::from_nanos(arguments.interval);
    let interrupted = Arc::clone(&context.interrupted);
    end_on_signals(&interrupted)?;
    let screen = screen::Terminal::of_errors().filter(|_| terminal::is_terminal());
    let is_full =
        !arguments.once && !context.json && matches!(context.live, None | Some(LiveView::Full));
    match screen.filter(|screen| is_full && screen.fits()) {
        Some(screen) => shown(context, &mut watched, screen, interval, &interrupted),
        None => {
            pause(interval, &interrupted);
            let document = watched.sample();
            let text = match context.json {
                true => json_text(&document)?,
                false => {
                    watched.text(&document, terminal::style(context, &Default::default()).width)
                }
            };
            terminal::print(&text)?;
            Ok(0)
        }
    }
}

/// Shows the screen until `q` or a signal.
fn shown(
    context: &Context,
    watched: &mut Watched,
    screen: screen::Terminal,
    interval: Duration,
    interrupted: &AtomicBool,
) -> Result<u8> {
    let caps = terminal::caps(context);
    // Ends only on a signal or `q`.
    let (end, _open) = std::os::unix::net::UnixStream::pair()?;
    screen::take(screen).context("the terminal")?;
    let mut terminal = Terminal::new(Painter::default())?;
    let mut document = None;
    let mut due = Instant::now() + interval;
    while !interrupted.load(Ordering::Relaxed) {
        if Instant::now() >= due {
            due = Instant::now() + interval;
            document = Some(watched.sample());
        }
        terminal.draw(|frame| watched.draw(document.as_ref(), caps, frame))?;
        let most = due.saturating_duration_since(Instant::now()).min(FRAME);
        match screen::wait(&end, most) {
            Woken::Key(b'q' | b'Q') | Woken::End => break,
            Woken::Key(_) | Woken::Time => {}
        }
    }
    screen::give_back();
    Ok(0)
}

/// Sleeps until `most` has passed or a signal arrives.
fn pause(most: Duration, interrupted: &AtomicBool) {
    let since = Instant::now();
    while since.elapsed() < most && !interrupted.load(Ordering::Relaxed) {
        std::thread::sleep((most - since.elapsed().min(most)).min(FRAME));
    }
}

/// The drives and their samples.
struct Watched {
    source: Box<dyn Source>,
    host: Host,
    devices: Vec<String>,
    at: Instant,
    stats: Vec<DiskStats>,
    last_query: Option<Instant>,
    /// By controller: the first health log, and the latest vitals (`None`: it may be asleep).
    first: BTreeMap<String, HealthLog>,
    vitals: BTreeMap<String, Option<Vitals>>,
    /// Uncorrectable link errors at the start, by controller.
    link_errors: BTreeMap<String, u64>,
    /// IOPS of the last intervals, by device.
    rates: BTreeMap<String, VecDeque<f64>>,
}

impl Watched {
    fn new(source: Box<dyn Source>, names: &[String]) -> Result<Self> {
        let host = snapshot(source.as_ref(), Depth::Quick);
        let devices: Vec<String> = match names {
            [] => host.blocks.iter().filter(|of| is_drive(of)).map(|of| of.name.clone()).collect(),
            names => {
                let targets = iodyno_target::resolve_all(&host, names)?;
                let devices = targets.iter().filter_map(|target| target.device());
                let bottom = devices.flat_map(|device| host.bottom_of(device));
                distinct(bottom.map(|device| device.name.clone()))
            }
        };
        if devices.is_empty() {
            bail_usage!("no drives found");
        }
        let errors = |drive: &Drive| Some((drive.name.clone(), uncorrectable(&host, drive)?));
        Ok(Self {
            link_errors: host.drives.iter().filter_map(errors).collect(),
            at: Instant::now(),
            stats: disk_stats(source.as_ref()),
            last_query: None,
            first: BTreeMap::new(),
            vitals: BTreeMap::new(),
            rates: BTreeMap::new(),
            source,
            host,
            devices,
        })
    }

    /// Samples the drives: their activity since the last call.
    fn sample(&mut self) -> TopDocument {
        let interval_s = self.at.elapsed().as_secs_f64();
        self.at = Instant::now();
        let stats = disk_stats(self.source.as_ref());
        let before = std::mem::replace(&mut self.stats, stats);
        let rows = self.devices.iter().filter_map(|device| {
            let after = DiskStats::of(&self.stats, device)?;
            let before = DiskStats::of(&before, device).unwrap_or(after);
            Some(TopDrive::between(before, after, interval_s))
        });
        let mut drives: Vec<TopDrive> = rows.collect();
        if self.last_query.is_none_or(|at| at.elapsed() >= ADMIN_INTERVAL) {
            self.last_query = Some(Instant::now());
            self.query_controllers(&drives);
        }
        for drive in &mut drives {
            self.describe(drive);
            let rates = self.rates.entry(drive.device.clone()).or_default();
            rates.push_back(drive.read.iops + drive.write.iops);
            while rates.len() > KEPT_SECONDS {
                rates.pop_front();
            }
        }
        TopDocument { schema: "iodyno.top/1".into(), taken: rfc3339(now_ns()), interval_s, drives }
    }

    /// Queries each awake controller behind the devices once.
    fn query_controllers(&mut self, drives: &[TopDrive]) {
        self.host = snapshot(self.source.as_ref(), Depth::Quick);
        // A single reading shows no change: later ones are compared with the first.
        for (name, found) in std::mem::take(&mut self.vitals) {
            if let Some(health) = found.and_then(|vitals| vitals.health) {
                self.first.entry(name).or_insert(health);
            }
        }
        for drive in drives {
            let Some((controller, _)) = self.host.namespace(&drive.device) else { continue };
            let name = &controller.name;
            let is_idle = drive.read.iops + drive.write.iops == 0.0;
            // Another namespace of the controller may be active.
            if self.vitals.get(name).is_some_and(Option::is_some) {
                continue;
            }
            self.vitals.insert(name.clone(), vitals(self.source.as_ref(), name, is_idle));
        }
    }

    /// Fills in a drive's data besides its counters.
    fn describe(&self, drive: &mut TopDrive) {
        let block = self.host.block(&drive.device);
        drive.model = block.and_then(|block| block.model.value());
        let Some((controller, _)) = self.host.namespace(&drive.device) else { return };
        drive.controller = Some(controller.name.clone());
        drive.model = controller.model.value().or(drive.model.take());
        if let Some(link) = self.host.own_link(controller) {
            let (now, able) = (link.current.get(), link.able());
            drive.link = now.map(|now| now.label());
            let [now, able] = [now.copied(), able].map(|state| state?.raw_bytes_per_s());
            drive.link_degraded = now.zip(able).map(|(now, able)| now < able);
        }
        let first = self.first.get(&controller.name);
        let vitals = self.vitals.get(&controller.name);
        drive.asleep = matches!(vitals, Some(None));
        let vitals = vitals.and_then(Option::as_ref);
        drive.temperature_c = vitals.and_then(|vitals| vitals.temperature_c);
        let logs = first.zip(vitals.and_then(|vitals| vitals.health.as_ref()));
        drive.throttled = logs.map(|(first, now)| now.throttled_since(first));
        let media = logs.map(|(first, now)| now.media_errors.saturating_sub(first.media_errors));
        let media = media.map(|errors| u64::try_from(errors).unwrap_or(u64::MAX));
        let on_link = uncorrectable(&self.host, controller)
            .zip(self.link_errors.get(&controller.name))
            .map(|(now, first)| now.saturating_sub(*first));
        drive.errors = [media, on_link].into_iter().flatten().reduce(u64::saturating_add);
    }

    fn lines(&self, drives: &[TopDrive], width: usize, caps: TerminalCaps) -> Vec<Line<'static>> {
        let rows: Vec<Vec<Cell>> = drives.iter().map(|drive| self.cells(drive)).collect();
        table(&COLUMNS, &rows, width, caps)
    }

    fn cells(&self, drive: &TopDrive) -> Vec<Cell> {
        let (read, write) = (drive.read, drive.write);
        let rate = |bytes_per_s| Cell::Right(format_mb_per_s(bytes_per_s));
        let ios = read.iops + write.iops;
        let sum = |iops: f64, ns: Option<f64>| iops * ns.unwrap_or(0.0);
        let spent = sum(read.iops, read.latency_ns) + sum(write.iops, write.latency_ns);
        let latency = (ios > 0.0 && spent > 0.0).then(|| format_duration_ns(spent / ios));
        let rates = self.rates.get(&drive.device).into_iter().flatten().copied();
        vec![
            Cell::Left(clean(&drive.device)),
            rate(read.bytes_per_s),
            rate(write.bytes_per_s),
            Cell::Right(format_count(ios)),
            Cell::of(latency),
            Cell::Right(format!("{:.1}", drive.queue)),
            Cell::Right(format_percent(drive.utilisation)),
            Cell::Spark(rates.collect()),
            Cell::of(drive.temperature_c.map(|c| format!("{c:.0} °C"))),
            Cell::Left(drive.link.clone().unwrap_or_default()),
            state(drive),
        ]
    }

    /// Plain text, without a screen.
    fn text(&self, document: &TopDocument, width: usize) -> String {
        let caps = TerminalCaps { ascii: !terminal::is_utf8(), color: false };
        let lines = self.lines(&document.drives, width, caps);
        lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect()
    }

    fn draw(&self, document: Option<&TopDocument>, caps: TerminalCaps, frame: &mut Frame<'_>) {
        let area = frame.area();
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let drives = document.map_or(&[][..], |document| &document.drives[..]);
        // To the second: fractions have no fixed width.
        let second = |document: &TopDocument| {
            document.taken.get(..19).unwrap_or(&document.taken).replace('T', " ") + " UTC"
        };
        let taken = document.map_or("waiting ...".into(), second);
        let mut lines = vec![justified("iodyno top".bold(), taken, width), Line::default()];
        lines.extend(self.lines(drives, width, caps));
        lines.resize(height.saturating_sub(1), Line::default());
        lines.push("q or Ctrl-C ends".dim().into());
        paint(&lines, area, frame);
    }
}

/// Problems of a drive.
fn state(drive: &TopDrive) -> Cell {
    let errors = drive.errors.filter(|errors| *errors > 0).map(|errors| format!("{errors} errors"));
    let throttled = drive.throttled.filter(|throttled| *throttled).map(|_| "throttled".to_owned());
    let degraded = drive.link_degraded.filter(|slow| *slow).map(|_| "link degraded".to_owned());
    let all: Vec<String> = [errors, throttled, degraded].into_iter().flatten().collect();
    match all.is_empty() {
        true if drive.asleep => Cell::Left("asleep".into()),
        true => Cell::Left(String::new()),
        false => Cell::Alarm(all.join(", ")),
    }
}

/// True for drives, false for devices made of drives or memory.
fn is_drive(block: &BlockDevice) -> bool {
    let is_kind = matches!(block.kind, BlockKind::Nvme | BlockKind::Scsi | BlockKind::Virtual);
    is_kind && block.size.get().is_some_and(|size| size.0 > 0)
}

fn uncorrectable(host: &Host, drive: &Drive) -> Option<u64> {
    let link = host.own_link(drive)?;
    let ends = [&link.port, &link.device].map(|end| end.uncorrectable_errors.get().copied());
    ends.into_iter().flatten().reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Fact, Link, LinkEnd, LinkState, Namespace};

    use super::*;

    fn end(address: &str, uncorrectable: u64) -> LinkEnd {
        LinkEnd {
            address: address.into(),
            max_generation: Fact::Read(4),
            max_width: Fact::Read(4),
            uncorrectable_errors: Fact::Read(uncorrectable),
            ..LinkEnd::default()
        }
    }

    /// A drive on a degraded link, with one earlier error.
    fn watched() -> Watched {
        let link = Link {
            port: end("0000:00:01.0", 0),
            device: end("0000:01:00.0", 3),
            current: Fact::Read(LinkState { generation: 3, width: 2 }),
            ..Link::default()
        };
        let drive = Drive {
            name: "nvme0".into(),
            model: Fact::Read("ACME".into()),
            links: vec!["0000:01:00.0".into()],
            namespaces: vec![Namespace { name: "nvme0n1".into(), ..Namespace::default() }],
            ..Drive::default()
        };
        let stats = ["nvme0n1", "nvme1n1"]
            .map(|name| DiskStats { name: name.into(), ..DiskStats::default() });
        Watched {
            source: Box::new(iodyno_host::Live::new()),
            host: Host { drives: vec![drive], links: vec![link], ..Host::default() },
            devices: vec!["nvme0n1".into()],
            at: Instant::now(),
            stats: stats.to_vec(),
            last_query: None,
            first: BTreeMap::new(),
            vitals: BTreeMap::new(),
            link_errors: [("nvme0".to_owned(), 1)].into(),
            rates: BTreeMap::new(),
        }
    }

    fn described(watched: &Watched) -> TopDrive {
        let mut drive = TopDrive { device: "nvme0n1".into(), ..TopDrive::default() };
        watched.describe(&mut drive);
        drive
    }

    #[test]
    fn problems_since_the_start_are_shown() {
        let mut watched = watched();
        let first = HealthLog { media_errors: 7, ..HealthLog::default() };
        let now = HealthLog { media_errors: 9, thermal_seconds: [0, 5], ..first.clone() };
        watched.first.insert("nvme0".into(), first);
        let vitals = Vitals { temperature_c: Some(71.5), health: Some(now) };
        watched.vitals.insert("nvme0".into(), Some(vitals));
        let drive = described(&watched);
        let link = (drive.link.as_deref(), drive.link_degraded);
        assert_eq!(link, (Some("Gen3 x2"), Some(true)));
        assert_eq!((drive.errors, drive.throttled), (Some(4), Some(true)));
        assert_eq!(state(&drive), Cell::Alarm("4 errors, throttled, link degraded".into()));
        let caps = TerminalCaps { ascii: true, color: false };
        let shown = |watched: &Watched| -> Vec<String> {
            let lines = watched.lines(std::slice::from_ref(&drive), 120, caps);
            lines.iter().map(ToString::to_string).collect()
        };
        let lines = shown(&watched);
        assert!(lines[1].contains("72 °C  Gen3 x2"), "{lines:?}");
        assert!(!lines[0].contains("LATENCY"), "nothing was done: {lines:?}");
        // The length of the history depends on the interval.
        watched.rates.insert("nvme0n1".into(), [1.0, 2.0].into());
        let lines = shown(&watched);
        assert!(lines[0].contains("  HISTORY  "), "{lines:?}");
    }

    #[test]
    fn one_reading_says_nothing_of_throttling() {
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/fixtures/links.json");
        let source = Box::new(iodyno_host::Captured::open(capture).unwrap());
        let mut watched = Watched::new(source, &[]).unwrap();
        let drive = described(&watched);
        watched.query_controllers(std::slice::from_ref(&drive));
        let once = described(&watched);
        assert!(once.temperature_c.is_some() && once.throttled.is_none(), "{once:?}");
        watched.query_controllers(&[drive]);
        assert_eq!(described(&watched).throttled, Some(false));
    }

    #[test]
    fn sleeping_drives_are_marked_and_unreadable_values_missing() {
        let mut watched = watched();
        watched.vitals.insert("nvme0".into(), None);
        let drive = described(&watched);
        assert!(drive.asleep && drive.temperature_c.is_none() && drive.throttled.is_none());
        // Without root there is no health log.
        watched.vitals.insert("nvme0".into(), Some(Vitals::default()));
        let drive = described(&watched);
        assert_eq!((drive.asleep, drive.throttled, drive.errors), (false, None, Some(2)));
    }
}
