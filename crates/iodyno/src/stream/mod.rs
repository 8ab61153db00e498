//! Live results, second by second, for `--stream` and `--listen`.

pub(crate) mod queue;
pub(crate) mod seconds;
mod writer;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use iodyno_campaign::{Begin, Event, Watcher, now_ns};
use iodyno_model::{Host, Measurement, Run, RunState, distinct, rfc3339};
use iodyno_report::document::stream::{MeasurementStart, RunEnd, RunStart, StreamRecord};

use crate::arguments::LiveOutput;
use crate::background;
use crate::listen::{Server, View};
use queue::Line;
use seconds::{Phase, SecondData};
use writer::StreamWriter;

/// Name of the threads that write streams and serve browsers.
pub(crate) const THREADS: &str = "iodyno-stream";

/// Converts events to records and sends them to all outputs.
pub(crate) struct Stream {
    writer: Option<StreamWriter>,
    server: Option<Server>,
    /// A run that has begun but is not announced: its host is missing.
    starting: Option<Run>,
    /// Id of the announced run.
    run_id: Option<String>,
    phase: Option<Phase>,
    /// Number of measurements announced so far.
    measurements: u32,
}

impl Stream {
    /// Opens the requested outputs; `None`: none requested. `incomplete` is set if one loses records
    /// for another reason than its reader.
    ///
    /// # Errors
    /// A stream cannot be written there, or the address cannot be listened at.
    pub(crate) fn open(
        asked: &LiveOutput,
        quiet: bool,
        incomplete: &Arc<AtomicBool>,
    ) -> Result<Option<Self>> {
        if asked.is_empty() {
            return Ok(None);
        }
        let LiveOutput { stream, listen } = asked;
        let writes = |path: &Path| StreamWriter::open(path, Arc::clone(incomplete));
        let listens = |address: SocketAddr| Server::start(address, quiet);
        Ok(Some(Self {
            server: listen.map(listens).transpose()?,
            writer: stream.as_deref().map(writes).transpose()?,
            starting: None,
            run_id: None,
            phase: None,
            measurements: 0,
        }))
    }

    /// Ends the run in this state and at this time, with everything that was begun.
    pub(crate) fn end(&mut self, state: RunState, ended_ns: i64) {
        self.flush_phase();
        self.phase = None;
        self.starting = None;
        let Some(id) = self.run_id.take() else { return };
        let ended = rfc3339(ended_ns);
        self.emit(&StreamRecord::RunEnd(RunEnd { id, state, ended }));
        self.show(|view| view.end(state));
    }

    fn emit(&self, record: &StreamRecord) {
        let line = Line::new(record);
        self.writer.iter().for_each(|writer| writer.push(&line));
        self.server.iter().for_each(|server| server.publish(&line, record));
    }

    fn show(&self, change: impl FnOnce(&mut View)) {
        if let Some(server) = &self.server {
            server.show(change);
        }
    }

    fn start(&mut self, run: Run, host: &Host) {
        let hostname = host.hostname.value();
        self.emit(&StreamRecord::RunStart(RunStart::new(&run, hostname)));
        self.run_id = Some(run.id.clone());
        self.show(|view| view.start(run));
    }

    fn begin(&mut self, begin: &Begin<'_>) {
        self.flush_phase();
        let sections = begin.sections.iter().map(|section| (*section, 0));
        let mut numbers: BTreeMap<usize, u32> = sections.collect();
        for number in numbers.values_mut() {
            self.measurements += 1;
            *number = self.measurements;
        }
        let started_ns = now_ns();
        let mut shown = Vec::new();
        for (section, &number) in &numbers {
            let of = |n: &usize| begin.sections[*n] == *section;
            let jobs: Vec<_> = (0..begin.sections.len()).filter(of).collect();
            let targets = distinct(jobs.iter().map(|n| begin.jobs[*n].target()));
            let job = &begin.jobs[jobs[0]].job;
            let workload = job.workload(None);
            shown.push((
                number,
                Measurement {
                    targets: targets.clone(),
                    workload: workload.clone(),
                    started_ns: Some(started_ns),
                    ..Measurement::unknown(&job.name)
                },
            ));
            self.emit(&StreamRecord::MeasurementStart(MeasurementStart {
                measurement: number,
                name: job.name.clone(),
                phase: begin.phase,
                trial: begin.trying,
                started: rfc3339(started_ns),
                targets,
                workload,
            }));
        }
        self.show(|view| view.begin(shown));
        self.phase = Some(Phase::new(begin, &numbers));
        let cpus = begin.jobs.iter().flat_map(|job| job.job.threads.cpus_allowed.iter().copied());
        background::keep_off(cpus.map(|cpu| cpu as usize));
    }

    /// Emits the last, partial second of a phase.
    fn flush_phase(&mut self) {
        if let Some(second) = self.phase.as_mut().and_then(Phase::flush) {
            self.second(&second);
        }
    }

    fn second(&self, second: &SecondData) {
        let Some(phase) = &self.phase else { return };
        let record = phase.record(second, now_ns() as f64 / 1e9);
        self.emit(&StreamRecord::Second(record));
        self.show(|view| view.second(phase, second));
    }
}

impl Watcher for Stream {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Run(run) => self.starting = Some((*run).clone()),
            Event::Host(host) => {
                if let Some(run) = self.starting.take() {
                    self.start(run, host);
                }
            }
            Event::Begin(begin) => self.begin(begin),
            Event::Interval { interval, temperature_c, .. } => {
                let phase = self.phase.as_mut();
                if let Some(over) = phase.and_then(|phase| phase.add(interval, *temperature_c)) {
                    self.second(&over);
                }
            }
            Event::Progress(progress) => self.show(|view| view.progress(progress)),
            Event::Done(measurement) => {
                self.flush_phase();
                if let Some(end) = self.phase.as_mut().and_then(|phase| phase.end(measurement)) {
                    let number = end.measurement;
                    self.emit(&StreamRecord::MeasurementEnd(Box::new(end)));
                    self.show(|view| view.done(number, measurement));
                }
            }
            _ => {}
        }
    }
}
