//! Contents of the full view of a run; pure, from messages to figures.

use std::collections::VecDeque;

use iodyno_campaign::{Goal, Issued};
use iodyno_model::{Histogram, Host, Measurement, Prediction};
use iodyno_report::text::clean;
use iodyno_stats::mean_interval;

use super::activity::{Activity, done_line};
use super::sampler::Sample;
use crate::grid::Grid;

/// Number of seconds kept.
pub(crate) const KEPT_SECONDS: usize = 60;
/// Rows of the heat map: from 8 us, doubled with each.
pub(crate) const HEAT_ROWS: usize = 12;
/// Upper bound of the first row; the last one holds 16 ms and above.
pub(crate) const FIRST_ROW_NS: u64 = 8_000;
/// Growth of the number of rates after which the interval is computed again.
const RECOMPUTE_GROWTH: f64 = 1.1;

/// Minimum observed part of a second for comparing device counters with our own I/O, ns.
const MIN_OBSERVED_NS: u64 = 900_000_000;

/// Message to the view.
pub(super) enum Message {
    Host(Box<Host>),
    Activity(Activity),
    Progress {
        step: String,
        target: String,
        /// IOPS and bytes per second.
        rate: [f64; 2],
        goal: Option<Goal>,
        /// Rates from this index on; earlier ones are unchanged.
        rates: (usize, Vec<f64>),
        temperature_c: Option<f32>,
    },
    /// I/O on each target, and the time that it took, ns.
    TargetIo(Vec<TargetIo>, u64),
    Predicted(Vec<Prediction>),
    Done(Box<Measurement>),
    Said(String),
}

/// I/O on a target over some time.
#[derive(Debug, Clone, Default)]
pub(super) struct TargetIo {
    pub(super) target: String,
    /// The device, if the target is on one.
    pub(super) device: Option<String>,
    /// Bypasses the page cache.
    pub(super) direct: bool,
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) errors: u64,
    pub(super) latency: Histogram,
    pub(super) threads: Vec<u32>,
}

/// A target over the last minute.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) name: String,
    device: Option<String>,
    /// I/O of the current second, and the time observed of it, ns.
    now: TargetIo,
    observed_ns: u64,
    /// Past seconds, the newest last.
    pub(crate) seconds: VecDeque<Second>,
    pub(crate) errors: u64,
    pub(crate) temperature_c: Option<f64>,
    pub(crate) link: Option<String>,
}

/// Summary of a second.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Second {
    pub(crate) iops: f64,
    pub(crate) bytes_per_s: f64,
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    /// I/Os per latency class.
    pub(crate) heat: [u64; HEAT_ROWS],
}

/// All contents of the view.
#[derive(Default)]
pub(crate) struct Scene {
    /// Words of the command.
    pub(crate) title: String,
    /// Seconds since the view began.
    pub(crate) seconds: u64,
    pub(crate) activity: Activity,
    pub(crate) goal: Option<Goal>,
    rates: Vec<f64>,
    /// Number of rates behind the last of `widths`.
    computed: usize,
    /// Relative half-width of the interval, each time it was computed.
    pub(crate) widths: Vec<f64>,
    pub(crate) rows: Vec<Row>,
    pub(crate) sample: Sample,
    /// Lines with results, and printed messages.
    pub(crate) done: Vec<String>,
    pub(crate) said: Vec<String>,
    pub(crate) grid: Option<Grid>,
    host: Option<Box<Host>>,
}

impl Scene {
    /// Creates the scene of this command, with the points of a sweep.
    pub(super) fn new(title: &str, grid: Option<Grid>) -> Self {
        Self { title: clean(title), grid, ..Self::default() }
    }

    /// Applies a message.
    pub(super) fn take(&mut self, message: Message) {
        match message {
            Message::Host(host) => {
                self.host = Some(host);
                for at in 0..self.rows.len() {
                    self.describe(at);
                }
            }
            Message::Activity(activity) => self.activity = activity,
            Message::Progress { step, target, rate, goal, rates: (from, more), temperature_c } => {
                if let Some(grid) = &mut self.grid {
                    grid.progress(&step, &target, rate);
                }
                self.goal = goal;
                self.rates.truncate(from);
                self.rates.extend(more);
                self.interval();
                for row in self.rows.iter_mut().filter(|row| row.is_active()) {
                    row.temperature_c = temperature_c.map(f64::from).or(row.temperature_c);
                }
            }
            Message::TargetIo(all, ns) => all.into_iter().for_each(|io| self.add_io(io, ns)),
            Message::Predicted(all) => {
                self.grid.iter_mut().for_each(|grid| grid.predicted(&all));
            }
            Message::Done(measurement) => {
                self.grid.iter_mut().for_each(|grid| grid.measured(&measurement));
                self.done.push(clean(&done_line(&measurement)));
            }
            Message::Said(line) => self.said.push(clean(&line)),
        }
    }

    /// Ends a second, `seconds` after the start, with the sample taken at its end.
    pub(super) fn second(&mut self, sample: Sample, seconds: u64) {
        (self.sample, self.seconds) = (sample, seconds);
        self.rows.iter_mut().for_each(Row::second);
    }

    /// Ids of the running load threads.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().flat_map(|row| row.now.threads.iter().copied())
    }

    /// Our I/O on devices in this second: the device, its largest request in bytes, and the I/O.
    pub(super) fn issued(&self) -> impl Iterator<Item = (String, Option<u64>, Issued)> {
        // Writes outside of a measurement are not known here.
        let is_known = |row: &&Row| row.now.direct && row.observed_ns >= MIN_OBSERVED_NS;
        self.rows.iter().filter(is_known).filter_map(|row| {
            let host = self.host.as_ref()?;
            let [device] = host.bottom_of(row.device.as_ref()?)[..] else { return None };
            let largest = device.queue.request_bytes();
            let issued = Issued { ios: row.now.ios, bytes: row.now.bytes };
            Some((device.name.clone(), largest, issued))
        })
    }

    fn add_io(&mut self, io: TargetIo, ns: u64) {
        let at = self.rows.iter().position(|row| row.name == io.target).unwrap_or_else(|| {
            let row = Row { name: io.target.clone(), ..Row::default() };
            self.rows.push(Row { device: io.device.clone(), ..row });
            self.describe(self.rows.len() - 1);
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        row.observed_ns += ns;
        row.errors += io.errors;
        row.now.ios += io.ios;
        row.now.bytes += io.bytes;
        row.now.latency.merge(&io.latency);
        row.now.threads = io.threads;
        row.now.direct = io.direct;
    }

    /// Adds the host's facts about a row's drive.
    fn describe(&mut self, at: usize) {
        let row = &mut self.rows[at];
        let (Some(host), Some(device)) = (&self.host, &row.device) else { return };
        let [device] = host.bottom_of(device)[..] else { return };
        let Some((drive, _)) = host.namespace(&device.name) else { return };
        row.temperature_c = drive.composite_c();
        row.link =
            host.own_link(drive).and_then(|link| link.current.get()).map(|state| state.label());
    }

    /// Updates the width of the rate's interval.
    fn interval(&mut self) {
        if self.rates.len() < self.computed {
            (self.computed, self.widths) = (0, Vec::new());
        }
        let is_due = self.rates.len() as f64 >= (self.computed + 5) as f64 * RECOMPUTE_GROWTH;
        if let Some(goal) = self.goal.filter(|_| is_due) {
            self.computed = self.rates.len();
            let interval = mean_interval(&self.rates, goal.level);
            self.widths.extend(interval.map(|interval| interval.relative_half_width()));
        }
    }
}

impl Row {
    /// True if the target had I/O in this or the last second.
    pub(crate) fn is_active(&self) -> bool {
        self.observed_ns > 0 || self.seconds.back().is_some_and(|last| *last != Second::default())
    }

    fn second(&mut self) {
        let TargetIo { ios, bytes, latency, .. } = &mut self.now;
        let seconds = std::mem::take(&mut self.observed_ns) as f64 / 1e9;
        let latency = std::mem::take(latency);
        let [iops, bytes_per_s] = [ios, bytes].map(|count| match seconds > 0.0 {
            true => std::mem::take(count) as f64 / seconds,
            false => 0.0,
        });
        let mut heat = [0; HEAT_ROWS];
        for bin in latency.bins() {
            let row = (bin.high_ns / FIRST_ROW_NS).checked_ilog2().unwrap_or(0) as usize;
            heat[row.min(HEAT_ROWS - 1)] += bin.count;
        }
        let [p50_ns, p99_ns] = [0.5, 0.99].map(|q| latency.quantile_ns(q));
        self.seconds.push_back(Second { iops, bytes_per_s, p50_ns, p99_ns, heat });
        self.now.threads.clear();
        while self.seconds.len() > KEPT_SECONDS {
            self.seconds.pop_front();
        }
    }
}
