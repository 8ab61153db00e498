//! Runs a phase with fio.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use iodyno_load::{ClearedJob, Flow, JobReport, LoadError, Observer, PhaseReport, Whole};
use iodyno_model::{Caveat, CpuUse, Failure, JobStats, Measurement};
use iodyno_target::Access;
use rustix::fs::MemfdFlags;

use crate::generator::FioGenerator;
use crate::generator::child::{AFTER_KILL, Event, FioExit, FioProcess};
use crate::generator::job_file::{JobFile, engine};
use crate::generator::outputs;
use crate::generator::progress::{Progress, Ramp, of_direction};
use crate::read::{Document, documents};

/// Interval at which the observer is called while fio is silent.
const TICK: Duration = Duration::from_millis(100);
/// Interval of reports for up to [`SECTIONS`] sections, longer for more: each report costs fio the
/// printing of three histograms per section.
const STATUS_MS: usize = 500;
const SECTIONS: usize = 8;
const MOST_STATUS_MS: usize = 5000;

pub(super) fn run(
    generator: &mut FioGenerator,
    jobs: &[ClearedJob<'_>],
    observer: &mut dyn Observer,
) -> Result<PhaseReport, LoadError> {
    let mut file = JobFile::default();
    let before = generator.sections;
    for (n, cleared) in jobs.iter().enumerate() {
        let unfit = |what| LoadError::Unfit { target: cleared.target(), what };
        let reads_only = cleared.files.iter().any(|file| matches!(file, Access::Read(_)));
        if cleared.job.writes() && reads_only {
            return Err(unfit("opened for reading only, but the job writes".to_owned()));
        }
        if cleared.files.is_empty() {
            return Err(unfit("the job has no target".to_owned()));
        }
        let size_bytes = cleared.files.first().map_or(0, |file| file.read().size_bytes());
        let fio_only = generator.fio_only_options(&cleared.job);
        let sections = file.owners.len();
        let job = outputs::with_own_logs(&cleared.job, before);
        file.add(n, &job, &paths(cleared), size_bytes, fio_only).map_err(unfit)?;
        for section in sections..file.owners.len() {
            outputs::check(&cleared.job, section + 1, before)
                .map_err(|error| unfit(error.to_string()))?;
        }
    }
    let target = jobs.first().map_or_else(String::new, ClearedJob::target);
    let failed = |action: &str, error| LoadError::System {
        target: target.clone(),
        action: action.to_owned(),
        error,
    };
    let held = memory_file(&file.text).map_err(|source| failed("hold fio's job file", source))?;
    let status_ms = (STATUS_MS * file.owners.len().div_ceil(SECTIONS)).min(MOST_STATUS_MS);
    let mut arguments = vec![
        "--output-format=json+".to_owned(),
        "--eta=never".to_owned(),
        format!("--status-interval={status_ms}ms"),
    ];
    if !jobs.iter().any(|cleared| cleared.job.writes()) {
        arguments.push("--readonly".to_owned());
    }
    arguments.push(path_of(&held));
    let fio = FioProcess::start(&generator.program, &arguments)
        .map_err(|source| failed("start fio", source))?;

    let ramps = jobs.iter().map(|cleared| Ramp::of(&cleared.job)).collect();
    let mut progress = Progress::new(file.owners.clone(), ramps);
    let watched = watch(&fio, generator.patience, &mut progress, observer);
    let ended = fio.wait(watched.killed).map_err(|source| failed("wait for fio", source))?;
    generator.sections += file.owners.len();
    let numbered = file.owners.iter().enumerate().map(|(section, owner)| {
        let numbered = outputs::number_logs(&jobs[*owner].job, section + 1, before);
        (*owner, numbered.err())
    });
    let numbered: Vec<_> = numbered.collect();
    let killed = watched.killed.then(|| {
        let seconds = generator.patience.as_secs_f64();
        format!("fio did not end within {seconds} s of being asked to and was killed")
    });
    let messages = with_target_names(&ended.messages, jobs);
    let Some(last) = watched.last.filter(|last| last.measurements.len() == file.owners.len())
    else {
        let what = match (killed, watched.damaged, ended.failure()) {
            (Some(killed), ..) => killed,
            (_, Some(damaged), _) => format!("fio's report cannot be read: {damaged}"),
            (.., Some(bad_end)) => bad_end,
            (.., None) => "fio reported nothing".to_owned(),
        };
        return Err(LoadError::Unfit {
            target,
            what: format!("{what}{}", last_messages(&messages)),
        });
    };
    let outcome = Outcome { ended, messages, killed, stopped: watched.stopped };
    let begin =
        |cleared: &ClearedJob<'_>| outcome.begin(cleared, generator.fio_only_options(&cleared.job));
    let mut reports: Vec<JobReport> = jobs.iter().map(begin).collect();
    for (owner, measurement) in file.owners.iter().zip(&last.measurements) {
        let ramp_ns = jobs[*owner].job.time.ramp_ns;
        outcome.add(&mut reports[*owner], measurement, ramp_ns);
    }
    for (owner, error) in numbered {
        reports[owner].shortfalls.extend(error.map(|error| error.to_string().into()));
    }
    outcome.report_end(&mut reports);
    let cpu = cpu(&reports);
    Ok(PhaseReport { jobs: reports, cpu })
}

/// Result of watching fio.
#[derive(Default)]
struct WatchResult {
    /// Last report.
    last: Option<Document>,
    /// Stopped by the observer.
    stopped: bool,
    killed: bool,
    /// Error in a report.
    damaged: Option<String>,
}

/// Passes each report to the observer until fio closes its output.
fn watch(
    fio: &FioProcess,
    patience: Duration,
    progress: &mut Progress,
    observer: &mut dyn Observer,
) -> WatchResult {
    let mut watched = WatchResult::default();
    let mut deadline = None;
    let started = Instant::now();
    let mut heard = started;
    loop {
        let interval = match fio.next(TICK) {
            Event::Closed => return watched,
            Event::Timeout => Some(progress.silence(ns_since(heard))),
            Event::Report(text) => {
                heard = Instant::now();
                match documents(&text).map(|mut found| found.remove(0)) {
                    Ok(report) => {
                        let interval =
                            progress.interval(&report, watched.stopped, ns_since(started));
                        watched.last = Some(report);
                        interval
                    }
                    Err(error) => {
                        watched.damaged = Some(error.to_string());
                        None
                    }
                }
            }
        };
        match deadline {
            Some(end) if Instant::now() > end && watched.killed => return watched,
            Some(end) if Instant::now() > end => {
                fio.kill();
                watched.killed = true;
                deadline = Some(Instant::now() + AFTER_KILL);
            }
            _ => {}
        }
        let Some(interval) = interval else { continue };
        // Once stopped, report only what drains.
        if watched.stopped && interval.duration_ns == 0 {
            continue;
        }
        let flow = observer.observe(&interval);
        if matches!(flow, Flow::Stop | Flow::Interrupt) && !watched.stopped {
            fio.interrupt();
            watched.stopped = true;
            deadline = Some(Instant::now() + patience);
        }
    }
}

fn ns_since(instant: Instant) -> u64 {
    u64::try_from(instant.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// End of fio, common to all jobs.
struct Outcome {
    ended: FioExit,
    messages: String,
    /// Sentence with the reason if it was killed.
    killed: Option<String>,
    stopped: bool,
}

impl Outcome {
    fn begin(&self, cleared: &ClearedJob<'_>, fio_only: &[(String, String)]) -> JobReport {
        let job = &cleared.job;
        let (engine, engine_reason) = engine(job);
        let asked = fio_only.iter().rfind(|(name, _)| name == "ioengine").map(|(_, value)| value);
        let one_at_a_time = match asked {
            Some(engine) => matches!(engine.as_str(), "pvsync" | "vsync" | "splice"),
            None => job.engine.ioengine.is_synchronous(),
        };
        let engine = asked.map_or(engine, String::as_str);
        let mut shortfalls = Vec::new();
        if job.threads.exec_prerun.is_some() || job.threads.exec_postrun.is_some() {
            let options = ["exec_prerun", "exec_postrun"].map(String::from).into();
            shortfalls.push(Caveat::NotPassedOn { options, generator: "fio".into() });
        }
        JobReport {
            engine: engine.to_owned(),
            engine_reason,
            threads: job.threads.shared_by.max(1),
            cpus: job.threads.cpus_allowed.clone(),
            iodepth: if one_at_a_time { 1 } else { job.depth.iodepth },
            shortfalls,
            failure: self.killed.clone(),
            ..JobReport::default()
        }
    }

    /// Adds a section of the job.
    fn add(&self, report: &mut JobReport, measurement: &Measurement, ramp_ns: u64) {
        let whole = of_direction(measurement, |one| Whole {
            ios: one.whole_ios.unwrap_or(0),
            bytes: one.whole_bytes.unwrap_or(0),
            errors: one.errors.unwrap_or(0),
            short_ios: one.short_ios.unwrap_or(0),
        });
        let split = of_direction(measurement, |one| one.split.clone());
        for direction in iodyno_model::DIRECTIONS {
            *report.whole.of_mut(direction) += *whole.of(direction);
            match (report.split.of_mut(direction), split.of(direction)) {
                (Some(sum), Some(one)) => sum.merge(one),
                (sum, one) => *sum = one.clone().or(sum.take()),
            }
        }
        if let Some(account) = &measurement.account {
            add_account(&mut report.account, account, ramp_ns);
            if account.error != 0 {
                let failure = self.message_with_errno(account.error);
                let failure = failure.or_else(|| account.failure.clone());
                report.account.failure.clone_from(&failure);
                report.failure = report.failure.take().or(failure);
            }
        }
        let first = || self.messages.lines().find(|line| line.contains("io_u error"));
        if report.first_error.is_none() && report.failure.is_some() {
            report.first_error = first().map(|line| Failure::of(report.account.error, line));
        }
    }

    /// Reports an unsuccessful end that no job's error explains: as a failure of the jobs without
    /// I/O, as a caveat of the others.
    fn report_end(&self, reports: &mut [JobReport]) {
        let explained = self.stopped || reports.iter().any(|report| report.failure.is_some());
        let Some(bad_end) = self.ended.failure().filter(|_| !explained) else { return };
        let bad_end = format!("{bad_end}{}", last_messages(&self.messages));
        for report in reports {
            if report.whole.iter().all(|(_, whole)| whole.ios == 0) {
                report.failure = Some(bad_end.clone());
            } else {
                report.shortfalls.push(bad_end.as_str().into());
            }
        }
    }

    /// Line in which fio reported a job's end by `errno`.
    fn message_with_errno(&self, errno: i32) -> Option<String> {
        let mark = format!("err={errno}/");
        self.messages.lines().find(|line| line.contains(&mark)).map(str::to_owned)
    }
}

fn add_account(sum: &mut JobStats, one: &JobStats, ramp_ns: u64) {
    sum.extend_times(one);
    // Both of fio's times begin after the ramp.
    sum.elapsed_ns = sum.elapsed_ns.max(one.elapsed_ns.saturating_add(ramp_ns));
    sum.error = if sum.error == 0 { one.error } else { sum.error };
    sum.errors.extend(one.errors.iter().cloned());
    sum.add_counts(one);
    sum.latency_target_depth = one.latency_target_depth.or(sum.latency_target_depth);
    sum.steadystate_attained = one.steadystate_attained.or(sum.steadystate_attained);
}

/// CPU time of all jobs over the longest run time.
fn cpu(reports: &[JobReport]) -> CpuUse {
    let longest = reports.iter().map(|report| report.account.elapsed_ns).max().unwrap_or(0);
    let mut all = CpuUse::default();
    for JobStats { cpu, elapsed_ns, .. } in reports.iter().map(|report| &report.account) {
        let share = *elapsed_ns as f64 / longest.max(1) as f64;
        all.user += cpu.user * share;
        all.system += cpu.system * share;
        all.busiest_thread = all.busiest_thread.max(cpu.busiest_thread);
    }
    all
}

/// Paths of the job's files for fio: through iodyno's descriptors, so that it opens what was
/// cleared, whatever has the name by now. fio opens them anew, with the flags that it needs
/// (proc(5), `/proc/pid/fd`).
fn paths(cleared: &ClearedJob<'_>) -> Vec<String> {
    cleared.files.iter().map(|file| path_of(file.read())).collect()
}

fn path_of(descriptor: &impl AsFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), descriptor.as_fd().as_raw_fd())
}

/// Creates a file without a directory entry, which needs no cleanup.
fn memory_file(text: &str) -> std::io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(c"job file", MemfdFlags::CLOEXEC)?;
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = &rest[written..];
    }
    Ok(file)
}

/// fio's messages with target names in place of iodyno's descriptors.
fn with_target_names(messages: &str, jobs: &[ClearedJob<'_>]) -> String {
    let files = jobs.iter().flat_map(|cleared| &cleared.files);
    let mut names: Vec<_> =
        files.map(|file| (path_of(file.read()), file.read().name().to_owned())).collect();
    // Longest first: `fd/1` is a prefix of `fd/12`.
    names.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    names.dedup();
    names.iter().fold(messages.to_owned(), |messages, (path, name)| messages.replace(path, name))
}

/// `: ` and fio's last messages on one line; empty without any.
fn last_messages(messages: &str) -> String {
    const LINES: usize = 4;
    let lines: Vec<&str> =
        messages.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
    if last.is_empty() { last } else { format!(": {last}") }
}
