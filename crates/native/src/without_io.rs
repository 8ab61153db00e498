//! Jobs without I/O, beside those with: CPU burners (`ioengine=cpuio`) and programs
//! (`ioengine=exec`).

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use iodyno_files::NameOrigin;
use iodyno_job::Job;
use iodyno_model::Caveat;
use rustix::process::{Pid, Signal, kill_process};

use crate::engines::SetupError;
use crate::in_flight::SlotTable;
use crate::usage::thread_usage;
use crate::worker::{Worker, WorkerEvent, WorkerResult};

/// Numbers to sort, as many as in fio.
const NUMBERS: usize = 256 << 10;
/// Interval between checks whether a program has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

impl Worker {
    /// Main function of a thread that loads a CPU until it is stopped.
    pub(crate) fn burn_cpu(self, notify: impl Fn(WorkerEvent)) -> Result<WorkerResult, SetupError> {
        let load = self.job.engine.cpu_load;
        let (percent, sorts) = (load.percent.max(1), load.qsort);
        let chunk = Duration::from_micros(load.chunk_us.into());
        let mut numbers: Vec<u64> = if sorts { numbers(self.seed) } else { Vec::new() };
        let is_stopped = || self.control.is_stopped(false);
        self.without_io(notify, || {
            while !is_stopped() {
                let start = Instant::now();
                if sorts {
                    sort(&mut numbers);
                }
                while !sorts && start.elapsed() < chunk && !is_stopped() {
                    std::hint::spin_loop();
                }
                let idle = start.elapsed() * (100 - percent) / percent;
                if !is_stopped() && !idle.is_zero() {
                    // A stop unparks the thread.
                    park_timeout(idle);
                }
            }
            WorkerResult::default()
        })
    }

    /// Main function of a thread that runs a program until that ends or the thread is stopped.
    pub(crate) fn run_program(
        self,
        notify: impl Fn(WorkerEvent),
    ) -> Result<WorkerResult, SetupError> {
        let is_stopped = || self.control.is_stopped(false);
        self.without_io(notify, || {
            let mut child = match start(&self.job) {
                Ok(child) => child,
                Err(why) => return self.remark(why),
            };
            while !is_stopped() {
                match child.try_wait() {
                    Ok(None) => park_timeout(CHECK_INTERVAL),
                    Ok(Some(status)) if status.success() => return WorkerResult::default(),
                    Ok(Some(status)) => return self.remark(format!("it ended with {status}")),
                    Err(error) => return self.remark(error.to_string()),
                }
            }
            end(child, Duration::from_secs(self.job.engine.program.grace_s.into()));
            WorkerResult::default()
        })
    }

    /// Reports the end of the program, which is no failure of the job.
    fn remark(&self, why: String) -> WorkerResult {
        let command = self.job.engine.program.name.clone().unwrap_or_default();
        let remark = Caveat::CommandFailed { option: "program".into(), command, why };
        WorkerResult { shortfalls: vec![remark], ..WorkerResult::default() }
    }

    /// Waits for the start, runs `work` and measures its resource usage.
    fn without_io(
        &self,
        notify: impl Fn(WorkerEvent),
        work: impl FnOnce() -> WorkerResult,
    ) -> Result<WorkerResult, SetupError> {
        self.placement.apply()?;
        let id = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let (view, shortfalls) = (SlotTable::new(1).view(), Vec::new());
        notify(WorkerEvent::Ready { depth: 1, registered_buffers: None, shortfalls, view, id });
        self.control.wait_for_start();
        let before = thread_usage();
        let outcome = work();
        let usage = thread_usage().since(before);
        Ok(WorkerResult { ended: Some(Instant::now()), id, usage, ..outcome })
    }
}

fn numbers(seed: u64) -> Vec<u64> {
    (0..NUMBERS as u64).map(|number| crate::contents::mix(seed, number)).collect()
}

/// Sorts ascending, descending, and into pseudo-random order.
fn sort(numbers: &mut [u64]) {
    numbers.sort_unstable();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.sort_unstable_by_key(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes());
    std::hint::black_box(numbers);
}

/// Starts the program of `job`. As in fio, its arguments are split at blanks, without a shell.
///
/// # Errors
/// A message if it did not start; as in fio, the other jobs continue and the run does not fail.
fn start(job: &Job) -> Result<Child, String> {
    let program = &job.engine.program;
    let name = program.name.as_deref().unwrap_or_default();
    let seconds = job.time.runtime_ns.unwrap_or(0) / 1_000_000_000;
    let arguments = program.arguments.replace("%r", &seconds.to_string()).replace("%n", &job.name);
    let mut command = Command::new(name);
    command.args(arguments.split_ascii_whitespace()).stdin(Stdio::null());
    if program.std_redirect {
        let file = |stream: &str| {
            let path = format!("{}.{stream}", job.name);
            iodyno_files::create(Path::new(&path), NameOrigin::Iodyno)
                .map_err(|error| format!("its output goes to {path}: {error}"))
        };
        command.stdout(file("stdout")?).stderr(file("stderr")?);
    }
    command.spawn().map_err(|error| format!("it cannot be started: {error}"))
}

/// Terminates the program; kills it after `grace`.
fn end(mut child: Child, grace: Duration) {
    let start = Instant::now();
    // Not reaped yet, so its PID cannot have been reused.
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
    while start.elapsed() < grace && matches!(child.try_wait(), Ok(None)) {
        park_timeout(CHECK_INTERVAL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
