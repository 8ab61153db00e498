//! A phase on the control thread: starts the workers, watches, stops, reports.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use iodyno_job::Job;
use iodyno_load::{Flow, JobReport, LoadError, Observer, PhaseReport};
use iodyno_model::CpuUse;

use crate::choose::Choice;
use crate::clock::CpuTime;
use crate::fit::Fit;
use crate::reporter::Reporter;
use crate::tally::Tally;
use crate::worker::{Assignment, Event, Shared};

/// Length of an interval.
const INTERVAL_NS: u64 = 100_000_000;

/// A job that fits, with its target and its engine.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    pub(crate) job: &'a Job,
    pub(crate) name: &'a str,
    pub(crate) target: BorrowedFd<'a>,
    pub(crate) fit: Fit,
    pub(crate) choice: Choice,
}

/// Workers of all jobs, set up and waiting, or running.
#[derive(Debug)]
pub(crate) struct Phase {
    jobs: Vec<Running>,
    events: Receiver<(usize, Event)>,
    reporter: Reporter,
    cpu: Vec<CpuTime>,
}

#[derive(Debug)]
struct Running {
    name: String,
    report: JobReport,
    runtime_ns: Option<u64>,
    shared: Arc<Shared>,
    threads: Vec<Thread>,
    /// Threads that have not ended.
    busy: u32,
}

impl Phase {
    /// Starts the threads of `jobs` and returns when each is ready.
    ///
    /// # Errors
    /// Where one cannot be set up; the others have been told to end then.
    pub(crate) fn set_up(jobs: Vec<Prepared<'_>>) -> Result<Self, LoadError> {
        let (tell, events) = channel();
        let mut phase =
            Self { jobs: Vec::new(), events, reporter: Reporter::default(), cpu: Vec::new() };
        for (index, job) in jobs.into_iter().enumerate() {
            phase.add(index, job, &tell)?;
        }
        drop(tell);
        let threads: usize = phase.jobs.iter().map(|job| job.threads.len()).sum();
        for _ in 0..threads {
            // Each thread says so when it is ready, refused or (by a panic) ended.
            let Ok((index, event)) = phase.events.recv() else { break };
            phase.note(index, event)?;
        }
        Ok(phase)
    }

    fn add(
        &mut self,
        index: usize,
        prepared: Prepared<'_>,
        tell: &Sender<(usize, Event)>,
    ) -> Result<(), LoadError> {
        let Prepared { job, name, target, fit, choice } = prepared;
        let system = |action: &'static str| {
            let target = name.to_owned();
            move |source| LoadError::System { target, action: action.into(), source }
        };
        let mut running = Running {
            name: name.to_owned(),
            report: JobReport {
                engine: choice.engine.name().into(),
                engine_reason: Some(choice.reason),
                punted: choice.punted,
                cpus: job.cpus_allowed.clone(),
                iodepth: job.iodepth,
                shortfalls: fit.shortfalls,
                ..JobReport::default()
            },
            runtime_ns: job.runtime_ns,
            shared: Arc::default(),
            threads: Vec::new(),
            busy: 0,
        };
        let tallies: Vec<_> = fit.orders.iter().map(|_| Arc::<Tally>::default()).collect();
        self.reporter.add(job.bs, tallies.clone());
        let mut cpus = job.cpus_allowed.iter().copied().cycle();
        let mut spawned = Ok(());
        for (order, tally) in fit.orders.into_iter().zip(tallies) {
            let spawn = || {
                let assignment = Assignment {
                    engine: choice.engine,
                    target: target
                        .try_clone_to_owned()
                        .map_err(system("duplicate its descriptor"))?,
                    order,
                    length: fit.length,
                    depth: fit.depth,
                    cpu: cpus.next(),
                    shared: Arc::clone(&running.shared),
                    tally,
                };
                // Nobody listens any more where the thread was left behind.
                let tell = tell.clone();
                let tell = move |event| drop(tell.send((index, event)));
                thread::Builder::new()
                    .name("iodyno-load".into())
                    .spawn(move || assignment.carry_out(tell))
                    .map_err(system("start a thread"))
            };
            match spawn() {
                Ok(handle) => running.threads.push(handle.thread().clone()),
                Err(error) => {
                    spawned = Err(error);
                    break;
                }
            }
        }
        running.busy = running.threads.len() as u32;
        running.report.threads = running.busy;
        self.jobs.push(running);
        spawned
    }

    /// Takes down what a thread says.
    fn note(&mut self, index: usize, event: Event) -> Result<(), LoadError> {
        let job = &mut self.jobs[index];
        match event {
            Event::Ready { depth, registered_buffers, shortfalls } => {
                let report = &mut job.report;
                report.iodepth = report.iodepth.min(depth.into());
                report.registered_buffers = match (report.registered_buffers, registered_buffers) {
                    (Some(others), Some(this)) => Some(others && this),
                    (others, this) => others.or(this),
                };
                for shortfall in shortfalls {
                    if !report.shortfalls.contains(&shortfall) {
                        report.shortfalls.push(shortfall);
                    }
                }
            }
            Event::Refused(refused) => {
                let action = format!("set up {} ({})", job.report.engine, refused.action);
                let target = job.name.clone();
                return Err(LoadError::System { target, action, source: refused.source });
            }
            Event::Ended { cpu, failure } => {
                job.busy -= 1;
                self.cpu.push(cpu);
                if let Some(failure) = failure {
                    job.shared.stop();
                    job.report.failure.get_or_insert(failure);
                }
            }
        }
        Ok(())
    }

    /// Runs until the observer or the jobs' run times end it and all I/O is
    /// answered; what is not within `patience` of the last stop is given up.
    pub(crate) fn run(mut self, observer: &mut dyn Observer, patience: Duration) -> PhaseReport {
        let begun = Instant::now();
        let now_ns = || begun.elapsed().as_nanos() as u64;
        self.start();
        let mut next_ns = INTERVAL_NS;
        let mut give_up_ns = None;
        while self.jobs.iter().any(|job| job.busy > 0) {
            let mut wake_ns = next_ns;
            for job in self.jobs.iter().filter(|job| job.is_issuing()) {
                match job.runtime_ns {
                    Some(end_ns) if end_ns <= now_ns() => job.shared.stop(),
                    Some(end_ns) => wake_ns = wake_ns.min(end_ns),
                    None => {}
                }
            }
            // What ends from now on is one last interval.
            let draining = !self.jobs.iter().any(Running::is_issuing);
            if draining {
                wake_ns = *give_up_ns.get_or_insert(now_ns() + patience.as_nanos() as u64);
            }
            let wait = Duration::from_nanos(wake_ns.saturating_sub(now_ns()));
            match self.events.recv_timeout(wait) {
                // A thread that is refused was so before the start.
                Ok((index, event)) => self.note(index, event).unwrap_or(()),
                Err(RecvTimeoutError::Timeout) if draining => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now_ns = now_ns();
            if !draining && now_ns >= next_ns {
                next_ns = (now_ns / INTERVAL_NS + 1) * INTERVAL_NS;
                if self.report(now_ns, false, observer) == Flow::Stop {
                    self.stop();
                }
            }
        }
        let end_ns = now_ns();
        self.report(end_ns, true, observer);
        self.conclude(end_ns, patience)
    }

    /// Reports an interval, and stops jobs without hope.
    fn report(&mut self, now_ns: u64, draining: bool, observer: &mut dyn Observer) -> Flow {
        let flow = observer.observe(&self.reporter.interval(now_ns, draining));
        for (job, counts) in self.jobs.iter_mut().zip(self.reporter.jobs()) {
            if counts.hopeless && job.report.failure.is_none() {
                let first = job.shared.first_error().map(|failure| failure.to_string());
                let first = first.unwrap_or_default();
                job.report.failure = Some(format!("every I/O failed for a second: {first}"));
                job.shared.stop();
            }
        }
        flow
    }

    fn conclude(&mut self, end_ns: u64, patience: Duration) -> PhaseReport {
        for (job, counts) in self.jobs.iter_mut().zip(self.reporter.jobs()) {
            let report = &mut job.report;
            report.whole_ios = counts.ios;
            report.whole_bytes = counts.bytes;
            report.errors = counts.errors;
            report.first_error = job.shared.first_error().map(|failure| failure.to_string());
            if job.busy > 0 {
                // Their buffers and descriptors are theirs: the kernel may still write to them.
                report.failure.get_or_insert(format!(
                    "{} of {} threads got no answer from the device within {} s of the stop; \
                     they are left behind",
                    job.busy,
                    report.threads,
                    patience.as_secs()
                ));
            }
        }
        let share = |ns: u64| ns as f64 / end_ns.max(1) as f64;
        let busiest = self.cpu.iter().map(|cpu| cpu.user_ns + cpu.system_ns).max();
        PhaseReport {
            cpu: CpuUse {
                user: share(self.cpu.iter().map(|cpu| cpu.user_ns).sum()),
                system: share(self.cpu.iter().map(|cpu| cpu.system_ns).sum()),
                busiest_thread: share(busiest.unwrap_or(0)).min(1.0),
            },
            jobs: self.jobs.iter_mut().map(|job| std::mem::take(&mut job.report)).collect(),
        }
    }

    fn start(&self) {
        self.jobs.iter().for_each(|job| job.shared.start());
        self.jobs.iter().flat_map(|job| &job.threads).for_each(Thread::unpark);
    }

    fn stop(&self) {
        self.jobs.iter().for_each(|job| job.shared.stop());
    }
}

impl Running {
    /// Some of its threads make new I/O.
    fn is_issuing(&self) -> bool {
        self.busy > 0 && !self.shared.is_stopping()
    }
}

/// However it ends (an error, a panic of the observer), no worker goes on or
/// waits for a start that never comes.
impl Drop for Phase {
    fn drop(&mut self) {
        self.stop();
        self.jobs.iter().flat_map(|job| &job.threads).for_each(Thread::unpark);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use iodyno_job::{Extent, Offsets};
    use iodyno_load::Interval;

    use super::*;
    use crate::choose::Engine;

    struct Stop;

    impl Observer for Stop {
        fn observe(&mut self, _: &Interval) -> Flow {
            Flow::Stop
        }
    }

    #[test]
    fn a_device_that_never_answers_is_given_up_and_said_so() {
        // An empty pipe: reads are taken and not answered.
        let (reader, writer) = std::io::pipe().unwrap();
        let extents = [Extent { offset: 0, length: 1 << 20 }];
        let job = Job { iodepth: 4, ..Job::default() };
        let prepared = Prepared {
            job: &job,
            name: "silent",
            target: reader.as_fd(),
            fit: Fit {
                length: 4096,
                depth: 4,
                orders: vec![Offsets::new(false, 4096, &extents, 0, 0, 1).unwrap()],
                first_offset: 0,
                shortfalls: vec![],
            },
            choice: Choice { engine: Engine::IoUring, reason: String::new(), punted: None },
        };
        let phase = Phase::set_up(vec![prepared]).unwrap();
        let report = phase.run(&mut Stop, Duration::from_millis(100));
        let failure = report.jobs[0].failure.as_ref().unwrap();
        assert!(failure.contains("1 of 1 threads got no answer"), "{failure}");
        assert_eq!(report.jobs[0].whole_ios, 0);
        drop(writer); // Answers the reads, so that the thread ends.
    }
}
