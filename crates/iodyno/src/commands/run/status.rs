//! `--status-interval` and SIGUSR1: prints the full report while jobs run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use iodyno_campaign::{Event, interim};
use iodyno_job::syntax::Invocation;
use iodyno_load::{Counting, Recorder};
use iodyno_model::Measurement;
use signal_hook::consts::SIGUSR1;

use super::output::Output;
use crate::progress::Display;

/// Collects the results so far, and prints them on request.
pub(super) struct Status {
    every_ns: Option<u64>,
    next_ns: u64,
    /// SIGUSR1 was received.
    signalled: Arc<AtomicBool>,
    recorder: Recorder,
    done: Vec<Measurement>,
    source: String,
}

impl Status {
    /// Sets up the interval of `invocation`, and handles SIGUSR1 from now on.
    ///
    /// # Errors
    /// The signal handler cannot be installed.
    pub(super) fn new(invocation: &Invocation, source: String) -> Result<Self> {
        let every_ns = invocation.status_interval_ns.filter(|ns| *ns > 0);
        let signalled = Arc::default();
        signal_hook::flag::register(SIGUSR1, Arc::clone(&signalled))?;
        Ok(Self {
            every_ns,
            next_ns: every_ns.unwrap_or(u64::MAX),
            signalled,
            recorder: Recorder::counting(Counting::Whole),
            done: Vec::new(),
            source,
        })
    }

    /// Records an event, and prints a report when it is due.
    ///
    /// # Errors
    /// It cannot be printed.
    pub(super) fn event(
        &mut self,
        event: &Event<'_>,
        output: &mut Output<'_>,
        display: &mut Display,
    ) -> Result<()> {
        match event {
            Event::Interval { jobs, interval, .. } => {
                self.recorder.record(interval, None);
                let now_ns = interval.start_ns + interval.duration_ns;
                let is_asked_for = self.signalled.swap(false, Ordering::Relaxed);
                let is_time = now_ns >= self.next_ns && !interval.draining;
                if !is_time && !is_asked_for {
                    return Ok(());
                }
                if let Some(every_ns) = self.every_ns {
                    self.next_ns = (now_ns / every_ns + 1) * every_ns;
                }
                let mut measurements = self.done.clone();
                measurements.extend(interim(jobs, &self.recorder, &self.source, interval));
                // A full screen would hold the output back.
                display.leave_full();
                output.interim(&measurements)
            }
            Event::Done(measurement) => {
                self.done.push((*measurement).clone());
                self.recorder = Recorder::counting(Counting::Whole);
                self.next_ns = self.every_ns.unwrap_or(u64::MAX);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
