//! Full-screen view of a run: events become messages, and a separate thread draws them.
//!
//! Nothing waits for that thread: the measuring thread only sends.

mod activity;
mod sampler;
mod scene;
mod table;
#[cfg(test)]
mod tests;
mod view;

use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iodyno_campaign::Event;
use iodyno_load::{ClearedJob, Interval};
use iodyno_target::{TargetKind, command_words};
use ratatui_core::terminal::Terminal;
use rustix::process::{Signal, getppid, kill_process};

pub(crate) use activity::{Activity, done_line};
use sampler::Sampler;
pub(crate) use scene::KEPT_SECONDS;
use scene::{Message, Scene, TargetIo};
pub(crate) use table::{Cell, Column, TerminalCaps, table};
pub(crate) use view::{justified, paint};

use crate::background;
use crate::grid::Grid;
use crate::screen::{self, Painter, Woken};

/// Time between two frames, also the delay after a resize.
pub(crate) const FRAME: Duration = Duration::from_millis(250);
/// Time between two samples of the machine, over which rates are computed.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// The view as seen by the measuring thread.
pub(crate) struct Live {
    sender: Sender<Message>,
    /// Receiver and scene until the view is shown.
    hidden: Option<(Receiver<Message>, Scene)>,
    /// Drawing thread, and the socket that ends it when dropped.
    shown: Option<(JoinHandle<()>, UnixStream)>,
    /// Number of rates of the current measurement already sent.
    rates_sent: usize,
}

impl Live {
    /// Creates a hidden view, with the points of a sweep.
    pub(crate) fn new(grid: Option<Grid>) -> Self {
        let (sender, messages) = channel();
        let words: Vec<String> = command_words().skip(1).collect();
        let hidden = Some((messages, Scene::new(&words.join(" "), grid)));
        Self { sender, hidden, shown: None, rates_sent: 0 }
    }

    /// Takes the screen and starts drawing.
    pub(crate) fn show(&mut self, terminal: screen::Terminal, caps: TerminalCaps) {
        let Some((messages, scene)) = self.hidden.take() else { return };
        let Ok((end, ended)) = UnixStream::pair() else { return };
        if screen::take(terminal).is_err() {
            return;
        }
        match background::spawn("iodyno-screen", move || draw(scene, &messages, &ended, caps)) {
            Ok(thread) => self.shown = Some((thread, end)),
            Err(_) => screen::give_back(),
        }
    }

    /// Ends the view and restores the screen.
    pub(crate) fn end(&mut self) {
        if let Some((thread, end)) = self.shown.take() {
            drop(end);
            let _ = thread.join();
            screen::give_back();
        }
    }

    /// Sends an event and the activity it reports.
    pub(crate) fn event(&mut self, event: &Event<'_>, activity: Option<Activity>) {
        // Send errors mean that the screen was given back.
        let send = |message| drop(self.sender.send(message));
        if let Some(activity) = activity {
            send(Message::Activity(activity));
        }
        match event {
            Event::Host(host) => send(Message::Host(Box::new((*host).clone()))),
            Event::Progress(progress) => {
                let from = if progress.rates.len() < self.rates_sent { 0 } else { self.rates_sent };
                self.rates_sent = progress.rates.len();
                send(Message::Progress {
                    step: progress.step.to_owned(),
                    target: progress.target.to_owned(),
                    rate: [progress.iops, progress.bytes_per_s],
                    goal: progress.goal,
                    rates: (from, progress.rates[from..].to_vec()),
                    temperature_c: progress.temperature_c,
                });
            }
            Event::Interval { jobs, interval, .. } if !interval.cut && !interval.draining => {
                send(Message::TargetIo(io_by_target(jobs, interval), interval.duration_ns));
            }
            Event::Predicted(all) => send(Message::Predicted(all.to_vec())),
            Event::Done(measurement) => send(Message::Done(Box::new((*measurement).clone()))),
            _ => {}
        }
    }

    /// Sends a line that is also printed.
    pub(crate) fn say(&self, line: &str) {
        let _ = self.sender.send(Message::Said(line.to_owned()));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

/// I/O on each target in an interval, summed over its jobs.
fn io_by_target(jobs: &[ClearedJob<'_>], interval: &Interval) -> Vec<TargetIo> {
    let mut all: Vec<TargetIo> = Vec::new();
    for (job, did) in jobs.iter().zip(&interval.jobs) {
        let target = job.target();
        let at = all.iter().position(|io| io.target == target).unwrap_or_else(|| {
            let mut devices = job.files.iter().map(|file| match file.read().kind() {
                TargetKind::Block { name } => Some(name.clone()),
                TargetKind::File { device } => device.clone(),
                TargetKind::Nothing => None,
            });
            let device = devices.next().flatten().filter(|_| devices.next().is_none());
            all.push(TargetIo { target, device, direct: true, ..TargetIo::default() });
            all.len() - 1
        });
        let io = &mut all[at];
        io.direct &= job.job.engine.direct && job.files.iter().all(|file| file.read().direct());
        io.threads.extend(did.threads.running.iter());
        for (_, one) in did.directions.iter() {
            io.ios += one.ios;
            io.bytes += one.bytes;
            io.errors += one.errors;
            io.latency.merge(&one.latency);
        }
    }
    all
}

/// Draws until ended. `q` acts as Ctrl-C, which the supervisor counts.
fn draw(mut scene: Scene, messages: &Receiver<Message>, end: &UnixStream, caps: TerminalCaps) {
    let Ok(mut terminal) = Terminal::new(Painter::default()) else { return };
    let (mut sampler, begun) = (Sampler::new(), Instant::now());
    let mut sampled_at = begun;
    loop {
        messages.try_iter().for_each(|message| scene.take(message));
        if sampled_at.elapsed() >= SAMPLE_INTERVAL {
            // A late frame does not delay the next sample.
            sampled_at =
                Instant::now() - sampled_at.elapsed().saturating_sub(SAMPLE_INTERVAL).min(FRAME);
            let sample = sampler.sample(&scene);
            scene.second(sample, begun.elapsed().as_secs());
        }
        let drawn = terminal.draw(|frame| view::run(&scene, caps, frame));
        match screen::wait(end, FRAME) {
            _ if drawn.is_err() => break,
            Woken::Time => {}
            Woken::Key(b'q' | b'Q') => {
                let _ = getppid().map(|first| kill_process(first, Signal::INT));
            }
            Woken::Key(_) => {}
            Woken::End => break,
        }
    }
    // If another process gave the screen back, output is no longer held.
    screen::give_back();
}
