//! What the full view of a run shows: pure, from news to figures.

use std::collections::VecDeque;

use iodyno_campaign::{Goal, Issued};
use iodyno_model::{Histogram, Host, Measurement, Prediction};
use iodyno_report::text::clean;
use iodyno_stats::mean_interval;

use super::doing::{Doing, done_line};
use super::look::Found;
use crate::grid::Grid;

/// Seconds that are kept.
pub(crate) const KEPT: usize = 60;
/// Rows of the heat strip: from 8 us doubled with each …
pub(crate) const HEAT: usize = 12;
/// … so that the last holds 16 ms and all above.
pub(crate) const COOLEST_NS: u64 = 8_000;
/// The interval is computed anew once there are this many more rates, as a share.
const MORE: f64 = 1.1;

/// Counters of devices are compared with ours where so much of a second was observed.
const MOST_OF_A_SECOND_NS: u64 = 900_000_000;

/// What happened.
pub(super) enum News {
    Host(Box<Host>),
    Doing(Doing),
    Progress {
        step: String,
        target: String,
        /// IOPS, and bytes per second.
        rate: [f64; 2],
        goal: Option<Goal>,
        /// Rates from this one on; before it nothing changed.
        rates: (usize, Vec<f64>),
        temperature_c: Option<f32>,
    },
    /// What was done on each target, and in which time, ns.
    Took(Vec<Took>, u64),
    Predicted(Vec<Prediction>),
    Done(Box<Measurement>),
    Said(String),
}

/// What was done on a target in some time.
#[derive(Debug, Clone, Default)]
pub(super) struct Took {
    pub(super) target: String,
    /// The device under it, if that is one.
    pub(super) device: Option<String>,
    /// No page cache is before it.
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
    /// This second so far, and the time that was observed of it, ns.
    now: Took,
    observed_ns: u64,
    /// The last ones, the newest last.
    pub(crate) seconds: VecDeque<Second>,
    pub(crate) errors: u64,
    pub(crate) temperature_c: Option<f64>,
    pub(crate) link: Option<String>,
}

/// What a second came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Second {
    pub(crate) iops: f64,
    pub(crate) bytes_per_s: f64,
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    /// I/Os by latency.
    pub(crate) heat: [u64; HEAT],
}

/// All that is shown.
#[derive(Default)]
pub(crate) struct Scene {
    /// The command's words.
    pub(crate) title: String,
    /// Since the view began.
    pub(crate) seconds: u64,
    pub(crate) doing: Doing,
    pub(crate) goal: Option<Goal>,
    rates: Vec<f64>,
    /// How many rates the last of `widths` is of.
    computed: usize,
    /// Half the width of the interval as a share, each time it was computed.
    pub(crate) widths: Vec<f64>,
    pub(crate) rows: Vec<Row>,
    pub(crate) found: Found,
    /// A line for each result, and what was said.
    pub(crate) done: Vec<String>,
    pub(crate) said: Vec<String>,
    pub(crate) grid: Option<Grid>,
    host: Option<Box<Host>>,
}

impl Scene {
    /// Of this command, with the points of a sweep.
    pub(super) fn new(title: &str, grid: Option<Grid>) -> Self {
        Self { title: clean(title), grid, ..Self::default() }
    }

    /// Takes down what happened.
    pub(super) fn take(&mut self, news: News) {
        match news {
            News::Host(host) => {
                self.host = Some(host);
                for at in 0..self.rows.len() {
                    self.describe(at);
                }
            }
            News::Doing(doing) => self.doing = doing,
            News::Progress { step, target, rate, goal, rates: (from, more), temperature_c } => {
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
            News::Took(all, ns) => all.into_iter().for_each(|took| self.took(took, ns)),
            News::Predicted(all) => {
                self.grid.iter_mut().for_each(|grid| grid.predicted(&all));
            }
            News::Done(measurement) => {
                self.grid.iter_mut().for_each(|grid| grid.measured(&measurement));
                self.done.push(clean(&done_line(&measurement)));
            }
            News::Said(line) => self.said.push(clean(&line)),
        }
    }

    /// A second is over, so many after the beginning, and this was found at its end.
    pub(super) fn second(&mut self, found: Found, seconds: u64) {
        (self.found, self.seconds) = (found, seconds);
        self.rows.iter_mut().for_each(Row::second);
    }

    /// The load threads that run.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().flat_map(|row| row.now.threads.iter().copied())
    }

    /// What was asked of devices in this second: the device, and its largest request, bytes.
    pub(super) fn issued(&self) -> impl Iterator<Item = (String, Option<u64>, Issued)> {
        // What is written elsewhere than in a measurement is not known here.
        let is_known = |row: &&Row| row.now.direct && row.observed_ns >= MOST_OF_A_SECOND_NS;
        self.rows.iter().filter(is_known).filter_map(|row| {
            let host = self.host.as_ref()?;
            let [device] = host.bottom_of(row.device.as_ref()?)[..] else { return None };
            let largest = device.queue.max_sectors_kib.get().map(|kib| u64::from(*kib) << 10);
            let issued = Issued { ios: row.now.ios, bytes: row.now.bytes };
            Some((device.name.clone(), largest, issued))
        })
    }

    fn took(&mut self, took: Took, ns: u64) {
        let at = self.rows.iter().position(|row| row.name == took.target).unwrap_or_else(|| {
            let row = Row { name: took.target.clone(), ..Row::default() };
            self.rows.push(Row { device: took.device.clone(), ..row });
            self.describe(self.rows.len() - 1);
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        row.observed_ns += ns;
        row.errors += took.errors;
        row.now.ios += took.ios;
        row.now.bytes += took.bytes;
        row.now.latency.merge(&took.latency);
        row.now.threads = took.threads;
        row.now.direct = took.direct;
    }

    /// What the host says of a row's drive.
    fn describe(&mut self, at: usize) {
        let row = &mut self.rows[at];
        let (Some(host), Some(device)) = (&self.host, &row.device) else { return };
        let [device] = host.bottom_of(device)[..] else { return };
        let Some((drive, _)) = host.namespace(&device.name) else { return };
        row.temperature_c = drive.composite_c();
        row.link =
            host.own_link(drive).and_then(|link| link.current.get()).map(|state| state.label());
    }

    /// How well the rate is known by now.
    fn interval(&mut self) {
        if self.rates.len() < self.computed {
            (self.computed, self.widths) = (0, Vec::new());
        }
        let is_due = self.rates.len() as f64 >= (self.computed + 5) as f64 * MORE;
        if let Some(goal) = self.goal.filter(|_| is_due) {
            self.computed = self.rates.len();
            let interval = mean_interval(&self.rates, goal.level);
            self.widths.extend(interval.map(|interval| interval.relative_half_width()));
        }
    }
}

impl Row {
    /// It is worked on.
    pub(crate) fn is_active(&self) -> bool {
        self.observed_ns > 0 || self.seconds.back().is_some_and(|last| *last != Second::default())
    }

    fn second(&mut self) {
        let Took { ios, bytes, latency, .. } = &mut self.now;
        let seconds = std::mem::take(&mut self.observed_ns) as f64 / 1e9;
        let latency = std::mem::take(latency);
        let [iops, bytes_per_s] = [ios, bytes].map(|count| match seconds > 0.0 {
            true => std::mem::take(count) as f64 / seconds,
            false => 0.0,
        });
        let mut heat = [0; HEAT];
        for bin in latency.bins() {
            let row = (bin.high_ns / COOLEST_NS).checked_ilog2().unwrap_or(0) as usize;
            heat[row.min(HEAT - 1)] += bin.count;
        }
        let [p50_ns, p99_ns] = [0.5, 0.99].map(|q| latency.quantile_ns(q));
        self.seconds.push_back(Second { iops, bytes_per_s, p50_ns, p99_ns, heat });
        self.now.threads.clear();
        while self.seconds.len() > KEPT {
            self.seconds.pop_front();
        }
    }
}
