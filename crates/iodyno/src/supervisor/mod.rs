//! Runs the program in a second process, so that the one that the terminal waits for can always
//! end.
//!
//! The kernel keeps a process until the devices have answered each of its threads, and no signal
//! changes that. So the first process only waits for the second one, the worker, which does all the
//! work. It samples the threads of the worker and of the programs that the worker runs
//! ([`HangDetector`]), names devices that do not answer, and leaves the worker behind if one blocks
//! its end. The locks and descriptors of a worker left behind stay until the device answers, so
//! that others see the run as live and the device as in use.

mod hangs;
mod process;
mod waits;

use std::io::{Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use iodyno_model::own_command;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::low_level::{emulate_default_handler, pipe};

use self::hangs::{Hang, HangDetector};
pub(crate) use self::process::{end_with_us, require_output};
use crate::screen::Terminal;
use crate::terminal;

/// Time after which a wait for a device is reported.
const REPORT_AFTER: Duration = Duration::from_secs(5);
/// Interval between samples: reading two files per thread takes some 20 us of another CPU.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2500);
/// Interval between samples while waiting for the end.
const END_SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time that an end requested by the user waits for a device: less than 2 s with the
/// samples.
const END_TIMEOUT: Duration = Duration::from_millis(1700);
/// Time within which a second signal counts as the same request: timeout(1) signals both us and our
/// group.
const SAME_REQUEST: Duration = Duration::from_millis(300);
/// Time for a finished worker to exit, unless a device blocks it.
const EXIT_TIMEOUT: Duration = Duration::from_millis(300);
/// Exit status of an interrupted command.
const INTERRUPTED: u8 = 3;

/// Runs `work`, which returns the exit status, under supervision. No thread may have been started.
/// `has_leftovers` is asked once the worker was killed.
pub(crate) fn supervised(work: impl FnOnce() -> u8, has_leftovers: fn() -> bool) -> ExitCode {
    let terminal = Terminal::of_errors();
    // A write beyond `ulimit -f` then fails (EFBIG), instead of ending us. Programs that we run get
    // the signal's default again.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let outcome = UnixStream::pair().map_err(anyhow::Error::from).and_then(|(ours, theirs)| {
        match process::fork()? {
            None => {
                drop((ours, terminal));
                process::share_output(theirs.try_clone()?);
                let status = work();
                process::release_output();
                // From here on only the exit of the process is missing.
                let _ = (&theirs).write_all(&[status]);
                Ok(ExitCode::from(status))
            }
            Some(worker) => {
                drop(theirs);
                Supervisor::new(worker, ours, terminal, has_leftovers)?.supervise()
            }
        }
    });
    outcome.unwrap_or_else(|error| {
        terminal::print_error(&error.context("cannot start a second process"));
        ExitCode::from(2)
    })
}

/// Signals that request an end. SIGHUP is left out if it was ignored at the start, as by nohup(1).
pub(crate) fn termination_signals() -> impl Iterator<Item = i32> {
    let ignored = process::ignores(SIGHUP);
    let all = [SIGINT, SIGTERM, SIGQUIT, SIGHUP].into_iter();
    all.filter(move |signal| *signal != SIGHUP || !ignored)
}

/// An end requested by the user.
struct Ending {
    since: Instant,
    /// The second request: its signal and time.
    second: Option<(i32, Instant)>,
}

struct Supervisor {
    worker: Pid,
    /// The worker writes its exit status here when its work is done.
    outcome: UnixStream,
    status: Option<u8>,
    /// Time when the worker wrote its status or closed its end.
    done_at: Option<Instant>,
    /// The last signal that requested an end; 0: none since the last check.
    requested: Arc<AtomicUsize>,
    /// SIGUSR1 requested an interim report, which is left to the worker.
    report: Arc<AtomicBool>,
    /// Readable after a signal.
    signals: UnixStream,
    ending: Option<Ending>,
    hangs: HangDetector,
    /// Terminal to restore: the worker may have taken its screen and be gone.
    terminal: Option<Terminal>,
    /// True if a killed worker left something to undo.
    has_leftovers: fn() -> bool,
}

impl Supervisor {
    fn new(
        worker: Pid,
        outcome: UnixStream,
        terminal: Option<Terminal>,
        has_leftovers: fn() -> bool,
    ) -> Result<Self> {
        let (signals, tell) = UnixStream::pair()?;
        [&outcome, &signals].into_iter().try_for_each(|stream| stream.set_nonblocking(true))?;
        let requested = Arc::<AtomicUsize>::default();
        for signal in termination_signals() {
            signal_hook::flag::register_usize(signal, Arc::clone(&requested), signal as usize)?;
            pipe::register(signal, tell.try_clone()?)?;
        }
        let report = Arc::<AtomicBool>::default();
        signal_hook::flag::register(SIGUSR1, Arc::clone(&report))?;
        pipe::register(SIGUSR1, tell.try_clone()?)?;
        pipe::register(SIGCHLD, tell)?;
        let (hangs, status, done_at, ending) = (HangDetector::new(worker), None, None, None);
        Ok(Self {
            worker,
            outcome,
            status,
            done_at,
            requested,
            report,
            signals,
            ending,
            hangs,
            terminal,
            has_leftovers,
        })
    }

    /// Waits for the worker's end, or until waiting is pointless.
    fn supervise(mut self) -> Result<ExitCode> {
        let mut look_at = Instant::now() + SAMPLE_INTERVAL;
        loop {
            if let Some((_, status)) = waitpid(Some(self.worker), WaitOptions::NOHANG)? {
                return Ok(self.exit_like_worker(status));
            }
            self.listen();
            let between = if self.ending.is_some() || self.status.is_some() {
                END_SAMPLE_INTERVAL
            } else {
                SAMPLE_INTERVAL
            };
            look_at = look_at.min(Instant::now() + between);
            if Instant::now() >= look_at {
                look_at = Instant::now() + between;
                if let Some(code) = self.check_hangs() {
                    return Ok(code);
                }
            }
            self.wait(look_at.saturating_duration_since(Instant::now()))?;
        }
    }

    /// Handles signals and the worker's messages.
    fn listen(&mut self) {
        let mut byte = [0];
        while (&self.signals).read(&mut byte).is_ok_and(|read| read > 0) {}
        if let Ok(read) = (&self.outcome).read(&mut byte)
            && self.done_at.is_none()
        {
            self.done_at = Some(Instant::now());
            self.status = (read > 0).then_some(byte[0]);
        }
        if self.report.swap(false, Ordering::Relaxed) {
            let _ = kill_process(self.worker, Signal::USR1);
        }
        let requested = self.requested.swap(0, Ordering::Relaxed) as i32;
        match &mut self.ending {
            _ if requested == 0 => {}
            None => {
                self.ending = Some(Ending { since: Instant::now(), second: None });
                // A terminal has signalled the worker as well; it ignores the second signal.
                let _ = kill_process(self.worker, process::signal(requested));
            }
            Some(ending) if ending.since.elapsed() < SAME_REQUEST => {}
            Some(ending) => {
                ending.second.get_or_insert((requested, Instant::now()));
                process::claim_output(&self.outcome);
                let _ = kill_process(self.worker, Signal::KILL);
            }
        }
    }

    /// Reports hangs; returns the exit status if waiting ends now.
    fn check_hangs(&mut self) -> Option<ExitCode> {
        let ending = self.ending.as_ref();
        self.hangs.sample();
        if self.status.is_none() && ending.is_none_or(|end| end.since.elapsed() >= REPORT_AFTER) {
            for hang in self.hangs.unreported(REPORT_AFTER, ending.is_none()) {
                self.note(&format!("{hang}; still waiting, Ctrl-C ends it"));
            }
        }
        let hang = match (ending, self.status) {
            (None, None) => return None,
            (None, Some(_)) => self.hangs.hanging(REPORT_AFTER)?,
            (Some(Ending { second: Some((signal, at)), .. }), _) => {
                return (at.elapsed() >= SAME_REQUEST).then(|| self.exit_by_signal(*signal));
            }
            // A normal exit also takes some time.
            (Some(_), Some(_)) if self.done_at.is_some_and(|at| at.elapsed() < EXIT_TIMEOUT) => {
                return None;
            }
            (Some(_), Some(_)) => self.hangs.hanging(EXIT_TIMEOUT)?,
            (Some(Ending { since, .. }), None) if since.elapsed() < END_TIMEOUT => return None,
            // Later waits may be work of the end itself, which takes its time.
            (Some(Ending { since, .. }), None) => {
                self.hangs.hanging_since(*since + SAME_REQUEST)?
            }
        };
        Some(self.abandon(&hang))
    }

    /// Leaves the worker behind. Once the device answers, it does nothing more.
    fn abandon(&self, hang: &Hang) -> ExitCode {
        let process = hang.process(self.worker);
        let said = match self.ending {
            Some(_) => "interrupted, and ",
            None => "",
        };
        self.note(&format!(
            "{said}{hang}. Process {process} is left behind, and ends when the device answers. If \
             settings or layouts were changed, run {} then",
            own_command("clean-up")
        ));
        process::claim_output(&self.outcome);
        let _ = kill_process(self.worker, Signal::KILL);
        ExitCode::from(self.status.unwrap_or(INTERRUPTED))
    }

    /// Exits as the worker did.
    fn exit_like_worker(&self, status: WaitStatus) -> ExitCode {
        self.give_screen_back();
        let second = self.ending.as_ref().and_then(|ending| ending.second);
        if let Some(signal) = status.terminating_signal()
            && (self.has_leftovers)()
        {
            // Nobody else says so: the kernel kills without a word where memory is short.
            self.note(&format!(
                "killed by signal {signal} before it undid its changes; next: {}",
                own_command("clean-up")
            ));
        }
        match (second, status.terminating_signal(), status.exit_status()) {
            (Some((signal, _)), ..) | (None, Some(signal), _) => self.exit_by_signal(signal),
            (.., Some(code)) => ExitCode::from(code as u8),
            _ => ExitCode::from(INTERRUPTED),
        }
    }

    /// Exits as if killed by `signal`.
    fn exit_by_signal(&self, signal: i32) -> ExitCode {
        self.give_screen_back();
        let _ = emulate_default_handler(signal);
        ExitCode::from(128_u8.saturating_add(signal as u8))
    }

    /// Prints a note on the normal screen.
    fn note(&self, line: &str) {
        self.give_screen_back();
        terminal::note(line);
    }

    fn give_screen_back(&self) {
        self.terminal.iter().for_each(Terminal::give_back);
    }

    /// Waits for a signal, the worker's end, or `most`.
    fn wait(&self, most: Duration) -> Result<()> {
        let timeout = Timespec::try_from(most)?;
        let polled = |stream| PollFd::from_borrowed_fd(stream, PollFlags::IN);
        let mut both = [polled(self.signals.as_fd()), polled(self.outcome.as_fd())];
        // After the worker closed its end, nothing more comes from it.
        let number = if self.done_at.is_some() { 1 } else { 2 };
        match poll(&mut both[..number], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}
