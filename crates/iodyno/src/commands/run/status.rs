//! `--status-interval`: the whole report, printed while it goes on.

use anyhow::Result;
use iodyno_campaign::{Event, so_far};
use iodyno_job::script::Script;
use iodyno_job::syntax::{Invocation, OutputFormat};
use iodyno_load::{Counting, Recorder};
use iodyno_model::Measurement;

use super::output;
use crate::terminal;

/// Gathers what was done so far, and prints it again and again.
pub(super) struct Status<'a> {
    script: &'a Script,
    invocation: &'a Invocation,
    every_ns: u64,
    next_ns: u64,
    recorder: Recorder,
    done: Vec<Measurement>,
    source: String,
}

impl<'a> Status<'a> {
    /// What `invocation` asks for, if it does.
    pub(super) fn new(
        script: &'a Script,
        invocation: &'a Invocation,
        source: String,
    ) -> Option<Self> {
        let every_ns = invocation.status_interval_ns.filter(|ns| *ns > 0)?;
        Some(Self {
            script,
            invocation,
            every_ns,
            next_ns: every_ns,
            recorder: Recorder::counting(Counting::Whole),
            done: Vec::new(),
            source,
        })
    }

    /// Takes down what happened, and prints a report where it is time.
    pub(super) fn event(&mut self, event: &Event<'_>) -> Result<()> {
        match event {
            Event::Interval { jobs, interval } => {
                self.recorder.record(interval, None);
                let now_ns = interval.start_ns + interval.duration_ns;
                if now_ns < self.next_ns || interval.draining {
                    return Ok(());
                }
                self.next_ns = (now_ns / self.every_ns + 1) * self.every_ns;
                let mut measurements = self.done.clone();
                measurements.extend(so_far(jobs, &self.recorder, &self.source, now_ns));
                let mut formats = self.invocation.output_formats.clone();
                if formats.is_empty() {
                    formats.push(OutputFormat::Normal);
                }
                let report = output::report(&measurements, &[], self.script)?;
                let text = output::text(&report, self.script, &formats, self.invocation);
                match &self.invocation.output {
                    Some(path) => output::append(path, &text),
                    None => terminal::print(&text),
                }
            }
            Event::Done(measurement) => {
                self.done.push((*measurement).clone());
                self.recorder = Recorder::counting(Counting::Whole);
                self.next_ns = self.every_ns;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
