//! `--eta`: prints fio's status line on standard output.

use std::io::IsTerminal;

use iodyno_campaign::Event;
use iodyno_fio::out::{JobState, StatusLine};
use iodyno_job::Job;
use iodyno_job::script::Script;
use iodyno_job::syntax::{Eta, Invocation, OutputFormat};
use iodyno_load::{ClearedJob, Interval};
use iodyno_model::PerDirection;

use crate::terminal;

/// Collects the values of the status line, and prints it when it is due.
pub(super) struct EtaLine<'a> {
    invocation: &'a Invocation,
    jobs: Vec<(&'a Job, JobState)>,
    /// Bytes and I/Os since the last line, and their time, ns.
    gathered: PerDirection<(u64, u64)>,
    gathered_ns: u64,
    /// Time of finished phases, ns.
    before_ns: u64,
    phase_ns: u64,
    left_ns: Option<u64>,
    /// Time since the last line break, ns.
    on_line_ns: u64,
    /// Width of the last line, columns.
    width: usize,
}

impl<'a> EtaLine<'a> {
    /// Creates the status line if fio would print one (eta.c, `skip_eta`): never among documents on
    /// standard output, otherwise on a terminal or on request.
    pub(super) fn new(
        script: &'a Script,
        invocation: &'a Invocation,
        formats: &[OutputFormat],
    ) -> Option<Self> {
        let is_normal = formats.contains(&OutputFormat::Normal) || invocation.output.is_some();
        let is_wanted = match invocation.eta {
            Eta::Always => true,
            Eta::Auto => std::io::stdout().is_terminal(),
            Eta::Never => false,
        };
        let jobs = script.phases.iter().flat_map(|phase| &phase.jobs);
        (is_normal && is_wanted).then(|| Self {
            invocation,
            jobs: jobs.map(|job| (&job.job, JobState::Pending)).collect(),
            gathered: PerDirection::default(),
            gathered_ns: 0,
            before_ns: 0,
            phase_ns: 0,
            left_ns: None,
            on_line_ns: 0,
            width: 0,
        })
    }

    /// Records an event.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn event(&mut self, event: &Event<'_>) -> anyhow::Result<()> {
        match event {
            Event::Interval { jobs, interval, .. } => self.interval(jobs, interval),
            Event::Progress(progress) => {
                let is_known = progress.most_ns > 0 || progress.work_bytes.is_some();
                self.left_ns = is_known.then_some(progress.left_ns);
                if self.gathered_ns >= self.invocation.eta_interval_ns {
                    return self.write();
                }
            }
            Event::Host(_) => {
                // After a phase, and before the first one.
                self.before_ns += std::mem::take(&mut self.phase_ns);
                for (_, state) in &mut self.jobs {
                    if *state != JobState::Pending {
                        *state = JobState::Done;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn interval(&mut self, jobs: &[ClearedJob<'_>], interval: &Interval) {
        for (cleared, did) in jobs.iter().zip(&interval.jobs) {
            let place = self.jobs.get_mut(cleared.job.threads.number as usize);
            if let Some((_, state)) = place {
                *state = match (did.active_ns, *state) {
                    (0, JobState::Pending) => JobState::Pending,
                    (0, _) => JobState::Done,
                    _ if did.ramping => JobState::Ramping,
                    _ => JobState::Running,
                };
            }
            for (direction, one) in did.directions.iter() {
                let (bytes, ios) = self.gathered.of_mut(direction);
                (*bytes, *ios) = (*bytes + one.bytes, *ios + one.ios);
            }
        }
        self.gathered_ns += interval.duration_ns;
        self.on_line_ns += interval.duration_ns;
        self.phase_ns = interval.start_ns + interval.duration_ns;
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let ns = std::mem::take(&mut self.gathered_ns).max(1);
        let per_s = |count: u64| (u128::from(count) * 1_000_000_000 / u128::from(ns)) as u64;
        let (read, write, trim) = (self.gathered.read, self.gathered.write, self.gathered.trim);
        let rate = |(bytes, ios)| (per_s(bytes), per_s(ios));
        self.gathered = PerDirection::default();
        let line = StatusLine {
            jobs: &self.jobs,
            rates: PerDirection { read: rate(read), write: rate(write), trim: rate(trim) },
            elapsed_ns: self.before_ns + self.phase_ns,
            left_ns: self.left_ns,
        };
        let text = line.text();
        let is_new = self.invocation.eta_newline_ns.is_some_and(|every| self.on_line_ns > every);
        if is_new {
            self.on_line_ns = 0;
        }
        let before = std::mem::replace(&mut self.width, text.len());
        terminal::write(overwriting(&text, before, is_new).as_bytes())
    }
}

/// Text that replaces a line of `before` columns by `text`, or follows it on a new line.
fn overwriting(text: &str, before: usize, is_new: bool) -> String {
    match is_new && before > 0 {
        true => format!("\n{text}\r"),
        // Spaces clear the rest of a longer line.
        false => format!("{text:before$}\r"),
    }
}

#[cfg(test)]
mod tests {
    use super::overwriting;

    #[test]
    fn the_tail_of_a_longer_line_is_cleared() {
        assert_eq!(
            overwriting("Jobs: 1", 0, true),
            "Jobs: 1\r",
            "nothing is before the first line"
        );
        assert_eq!(overwriting("Jobs: 1", 10, false), "Jobs: 1   \r");
        assert_eq!(overwriting("Jobs: 1", 3, false), "Jobs: 1\r");
        assert_eq!(overwriting("Jobs: 1", 10, true), "\nJobs: 1\r");
    }
}
