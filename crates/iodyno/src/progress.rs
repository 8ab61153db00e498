//! Shows a campaign while it goes on: a live line on a terminal, else a line
//! for each result, on standard error.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use iodyno_campaign::{Event, Progress, Watcher};
use iodyno_model::{
    Bytes, Direction, Measurement, format_count, format_duration_ns, format_mb_per_s,
};
use iodyno_report::text::clean;

use crate::grid::Grid;
use crate::terminal;

/// Shows what happens.
pub(crate) struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    /// In place of a line.
    grid: Option<Grid>,
}

impl Display {
    /// `live`: standard error is a terminal that may be overwritten.
    pub(crate) fn new(live: bool, quiet: bool) -> Self {
        let bar = live.then(|| {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(120));
            style.map(|style| bar.with_style(style)).unwrap_or_else(|_| ProgressBar::new_spinner())
        });
        Self { bar, quiet, grid: None }
    }

    /// With the points of a sweep as a table, where it is `live`.
    pub(crate) fn of_sweep(grid: Grid, live: bool, quiet: bool) -> Self {
        let bar = live.then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{msg}");
            style.map(|style| bar.clone().with_style(style)).unwrap_or(bar)
        });
        Self { bar, quiet, grid: live.then_some(grid) }
    }

    /// Takes the live line away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| terminal::note(line)),
            None => terminal::note(line),
        }
    }

    /// Changes the table, if there is one, and shows it.
    fn with_grid(&mut self, change: impl FnOnce(&mut Grid)) -> bool {
        let Some(grid) = &mut self.grid else { return false };
        change(grid);
        let (width, height) = terminal::live_size();
        let lines = grid.lines(width, height);
        if let Some(bar) = &self.bar {
            bar.set_message(lines.join("\n"));
        }
        true
    }

    /// Shows a line that may hold names of files and jobs.
    fn show(&self, line: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(clean(&line));
        }
    }
}

impl Watcher for Display {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Host(host) => drop(self.with_grid(|grid| grid.host(host))),
            Event::Expect(sentences) => {
                sentences.iter().for_each(|sentence| self.say(sentence));
                self.say("");
            }
            Event::Looking => self.show("looking for a second who else uses the drives".into()),
            Event::Scratch { directory, written_bytes, most_bytes, elapsed_ns } => {
                let rate = *written_bytes as f64 * 1e9 / (*elapsed_ns).max(1) as f64;
                self.show(format!(
                    "{directory}  writing a scratch file  {} of at most {}  {}",
                    Bytes(*written_bytes).binary(),
                    Bytes(*most_bytes).binary(),
                    format_mb_per_s(rate)
                ));
            }
            Event::Resting { elapsed_ns, most_ns, temperature_c } => {
                let now = temperature_c.map_or(String::new(), |c| format!("  {c:.0} °C"));
                let [elapsed, most] = [*elapsed_ns, *most_ns].map(|ns| ns as f64 / 1e9);
                self.show(format!("resting{now}  {elapsed:.0} of at most {most:.0} s"));
            }
            Event::Sampling { target } => {
                self.show(format!("{target}  sampling which blocks were written"));
            }
            Event::Purging { target, method, done, elapsed_ns } => {
                let done =
                    done.map_or(String::new(), |done| format!("  {:.0} % done", done * 100.0));
                let elapsed = *elapsed_ns as f64 / 1e9;
                let method = method.name();
                self.show(format!("{target}  being purged ({method}){done}  {elapsed:.1} s"));
            }
            Event::Purged { target, method, elapsed_ns } => {
                let took = format_duration_ns(*elapsed_ns as f64);
                self.say(&format!("{target}: purged ({}) in {took}", method.name()));
            }
            Event::Run(_) | Event::Begin(_) | Event::Interval { .. } => {}
            Event::Predicted(all) => drop(self.with_grid(|grid| grid.predicted(all))),
            Event::Warning(warning) => self.say(warning),
            Event::Progress(progress) => {
                if !self.with_grid(|grid| grid.progress(progress)) {
                    self.show(progress_line(progress));
                }
            }
            Event::Done(measurement) => {
                self.with_grid(|grid| grid.measured(measurement));
                if self.bar.is_none() {
                    self.say(&done_line(measurement));
                }
            }
            Event::Skipped(skipped) => {
                let what = match &skipped.step {
                    Some(step) => format!("{} {step}", skipped.target),
                    None => skipped.target.clone(),
                };
                self.say(&format!("{what}: not measured: {}", skipped.why));
            }
        }
    }
}

fn progress_line(progress: &Progress<'_>) -> String {
    let trying = match progress.trying {
        Some(outstanding) => format!(" (trying {outstanding} outstanding)"),
        None => String::new(),
    };
    let elapsed = progress.elapsed_ns as f64 / 1e9;
    // Work that is bounded by its size ends when it is done.
    let time = match progress.most_ns {
        0 => match progress.work_bytes {
            Some(work) => format!(
                "{} of {}  {}",
                Bytes(progress.done_bytes).binary(),
                Bytes(work).binary(),
                left(progress)
            ),
            None => format!("{elapsed:.1} s"),
        },
        most_ns => format!("{elapsed:.1} of {:.1} s  {}", most_ns as f64 / 1e9, left(progress)),
    };
    format!(
        "{}  {}{trying}  {}  {} IOPS  {time}",
        progress.target,
        progress.step,
        format_mb_per_s(progress.bytes_per_s),
        format_count(progress.iops),
    )
}

fn left(progress: &Progress<'_>) -> String {
    format!("{} left", format_duration_ns((progress.left_ns as f64 / 1e9).ceil() * 1e9))
}

fn done_line(measurement: &Measurement) -> String {
    let title = measurement.title();
    if let Some(why) = measurement.failure() {
        return format!("{title}: failed: {why}");
    }
    let several = measurement.total.len() > 1;
    let results: Vec<String> = measurement
        .total
        .iter()
        .map(|result| {
            let direction = match result.direction {
                Direction::Read if several => "reads ",
                Direction::Write if several => "writes ",
                Direction::Trim if several => "trims ",
                _ => "",
            };
            format!(
                "{direction}{}, {} IOPS, {} mean",
                result.bandwidth.map_or("-".into(), |rate| format_mb_per_s(rate.value)),
                result.iops.map_or("-".into(), |iops| format_count(iops.value)),
                result.latency_mean.map_or("-".into(), |latency| format_duration_ns(latency.value)),
            )
        })
        .collect();
    match results.is_empty() {
        true => title,
        false => format!("{title}: {}", results.join("; ")),
    }
}
