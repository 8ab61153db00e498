//! Runs the program in a second process, so that the one that the terminal waits for can always end.
//!
//! The kernel keeps a process until each of its threads is answered by the device that it asks, and
//! no signal changes that. So the first process does nothing but wait for the second one, the
//! worker, which does all the work. It looks at the worker's threads and those of the programs that
//! the worker runs ([`Looks`]), names devices that do not answer, and leaves the worker behind where
//! one stands in the way of an end. The locks and descriptors of a worker that was left behind stay
//! as they are until the device answers, so that others see the run as live and the device as in use.

mod looks;
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
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::low_level::{emulate_default_handler, pipe};

use self::looks::{Hang, Looks};
use crate::screen::Terminal;
use crate::terminal;

/// A wait for a device is reported after this.
const REPORTED_AFTER: Duration = Duration::from_secs(5);
/// Between two looks: reading two files for each thread takes some 20 us of another CPU …
const LOOK: Duration = Duration::from_millis(2500);
/// … and while an end is waited for.
const LOOK_AT_END: Duration = Duration::from_millis(100);
/// An end that the user asked for waits no longer than this for a device: less than 2 s with the looks.
const END_WITHIN: Duration = Duration::from_millis(1700);
/// What asks for an end does so twice at times, to us and to our group (timeout(1)).
const SAME_REQUEST: Duration = Duration::from_millis(300);
/// A worker that is done ends within this, unless a device keeps it.
const EXIT_WITHIN: Duration = Duration::from_millis(300);
/// The exit status of everything that is interrupted.
const INTERRUPTED: u8 = 3;

/// Runs `work`, which returns the exit status, under supervision. No thread may have been started.
pub(crate) fn supervised(work: impl FnOnce() -> u8) -> ExitCode {
    let terminal = Terminal::of_errors();
    let outcome = UnixStream::pair().map_err(anyhow::Error::from).and_then(|(ours, theirs)| {
        match process::fork()? {
            None => {
                drop((ours, terminal));
                process::lend_output(theirs.try_clone()?);
                let status = work();
                process::let_go_of_output();
                // From now on only the end of the process is missing.
                let _ = (&theirs).write_all(&[status]);
                Ok(ExitCode::from(status))
            }
            Some(worker) => {
                drop(theirs);
                Supervisor::new(worker, ours, terminal)?.supervise()
            }
        }
    });
    outcome.unwrap_or_else(|error| {
        terminal::complain(&error.context("a second process cannot be started"));
        ExitCode::from(2)
    })
}

/// The signals that ask for an end. What nohup(1) starts is not asked by SIGHUP.
pub(crate) fn requests_for_an_end() -> impl Iterator<Item = i32> {
    let ignored = process::ignores(SIGHUP);
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(move |signal| *signal != SIGHUP || !ignored)
}

/// An end that the user asked for.
struct Ending {
    since: Instant,
    /// The second request: its signal, and when it came.
    insisted: Option<(i32, Instant)>,
}

struct Supervisor {
    worker: Pid,
    /// The worker writes its exit status here when its work is done.
    outcome: UnixStream,
    status: Option<u8>,
    /// When the worker wrote that, or gave up its end.
    told: Option<Instant>,
    /// The last signal that asked for an end; 0: none since it was looked at.
    asked: Arc<AtomicUsize>,
    /// A report of what is measured so far is asked for (SIGUSR1): the worker's business.
    report: Arc<AtomicBool>,
    /// Readable when a signal came.
    signals: UnixStream,
    ending: Option<Ending>,
    looks: Looks,
    /// The worker may have taken its screen, and be gone.
    terminal: Option<Terminal>,
}

impl Supervisor {
    fn new(worker: Pid, outcome: UnixStream, terminal: Option<Terminal>) -> Result<Self> {
        let (signals, tell) = UnixStream::pair()?;
        [&outcome, &signals].into_iter().try_for_each(|stream| stream.set_nonblocking(true))?;
        let asked = Arc::<AtomicUsize>::default();
        for signal in requests_for_an_end() {
            signal_hook::flag::register_usize(signal, Arc::clone(&asked), signal as usize)?;
            pipe::register(signal, tell.try_clone()?)?;
        }
        let report = Arc::<AtomicBool>::default();
        signal_hook::flag::register(SIGUSR1, Arc::clone(&report))?;
        pipe::register(SIGUSR1, tell.try_clone()?)?;
        pipe::register(SIGCHLD, tell)?;
        let (looks, status, told, ending) = (Looks::new(worker), None, None, None);
        Ok(Self { worker, outcome, status, told, asked, report, signals, ending, looks, terminal })
    }

    /// Waits for the worker's end, or until there is no use in waiting for it.
    fn supervise(mut self) -> Result<ExitCode> {
        let mut look_at = Instant::now() + LOOK;
        loop {
            if let Some((_, status)) = waitpid(Some(self.worker), WaitOptions::NOHANG)? {
                return Ok(self.as_worker(status));
            }
            self.listen();
            let between =
                if self.ending.is_some() || self.status.is_some() { LOOK_AT_END } else { LOOK };
            look_at = look_at.min(Instant::now() + between);
            if Instant::now() >= look_at {
                look_at = Instant::now() + between;
                if let Some(code) = self.look() {
                    return Ok(code);
                }
            }
            self.wait(look_at.saturating_duration_since(Instant::now()))?;
        }
    }

    /// Takes what signals and the worker say.
    fn listen(&mut self) {
        let mut byte = [0];
        while (&self.signals).read(&mut byte).is_ok_and(|read| read > 0) {}
        if let Ok(read) = (&self.outcome).read(&mut byte)
            && self.told.is_none()
        {
            self.told = Some(Instant::now());
            self.status = (read > 0).then_some(byte[0]);
        }
        if self.report.swap(false, Ordering::Relaxed) {
            let _ = kill_process(self.worker, Signal::USR1);
        }
        let asked = self.asked.swap(0, Ordering::Relaxed) as i32;
        match &mut self.ending {
            _ if asked == 0 => {}
            None => {
                self.ending = Some(Ending { since: Instant::now(), insisted: None });
                // A terminal has told it already; it does not count.
                let _ = kill_process(self.worker, process::signal(asked));
            }
            Some(ending) if ending.since.elapsed() < SAME_REQUEST => {}
            Some(ending) => {
                ending.insisted.get_or_insert((asked, Instant::now()));
                process::take_output(&self.outcome);
                let _ = kill_process(self.worker, Signal::KILL);
            }
        }
    }

    /// Reports what hangs; the exit status where it is not waited for any longer.
    fn look(&mut self) -> Option<ExitCode> {
        let ending = self.ending.as_ref();
        self.looks.look();
        if self.status.is_none() && ending.is_none_or(|end| end.since.elapsed() >= REPORTED_AFTER) {
            for hang in self.looks.unreported(REPORTED_AFTER, ending.is_none()) {
                self.note(&format!("{hang}; it is waited for, Ctrl-C ends that"));
            }
        }
        let hang = match (ending, self.status) {
            (None, None) => return None,
            (None, Some(_)) => self.looks.hanging(REPORTED_AFTER)?,
            (Some(Ending { insisted: Some((signal, at)), .. }), _) => {
                return (at.elapsed() >= SAME_REQUEST).then(|| self.by_signal(*signal));
            }
            // The usual end of a process takes its time, too.
            (Some(_), Some(_)) if self.told.is_some_and(|at| at.elapsed() < EXIT_WITHIN) => {
                return None;
            }
            (Some(_), Some(_)) => self.looks.hanging(EXIT_WITHIN)?,
            (Some(Ending { since, .. }), None) if since.elapsed() < END_WITHIN => return None,
            // What came up since may be the end's own work, which takes its time.
            (Some(Ending { since, .. }), None) => {
                self.looks.hanging_since(*since + SAME_REQUEST)?
            }
        };
        Some(self.leave(&hang))
    }

    /// Leaves the worker behind. It does nothing any more once it is answered.
    fn leave(&self, hang: &Hang) -> ExitCode {
        let process = hang.process(self.worker);
        let said = match self.ending {
            Some(_) => "interrupted, and ",
            None => "",
        };
        self.note(&format!(
            "{said}{hang}. Process {process} is left behind, and ends when the device answers. If \
             something was set or built for this run, iodyno clean-up undoes it then"
        ));
        process::take_output(&self.outcome);
        let _ = kill_process(self.worker, Signal::KILL);
        ExitCode::from(self.status.unwrap_or(INTERRUPTED))
    }

    /// Ends as the worker did.
    fn as_worker(&self, status: WaitStatus) -> ExitCode {
        self.give_screen_back();
        let insisted = self.ending.as_ref().and_then(|ending| ending.insisted);
        match (insisted, status.terminating_signal(), status.exit_status()) {
            (Some((signal, _)), ..) | (None, Some(signal), _) => self.by_signal(signal),
            (.., Some(code)) => ExitCode::from(code as u8),
            _ => ExitCode::from(INTERRUPTED),
        }
    }

    /// Ends as if `signal` had ended this process.
    fn by_signal(&self, signal: i32) -> ExitCode {
        self.give_screen_back();
        let _ = emulate_default_handler(signal);
        ExitCode::from(128_u8.saturating_add(signal as u8))
    }

    /// Says so on the screen that stays.
    fn note(&self, line: &str) {
        self.give_screen_back();
        terminal::note(line);
    }

    fn give_screen_back(&self) {
        self.terminal.iter().for_each(Terminal::give_back);
    }

    /// Until a signal comes, the worker is done, or `most` has passed.
    fn wait(&self, most: Duration) -> Result<()> {
        let timeout = Timespec::try_from(most)?;
        let polled = |stream| PollFd::from_borrowed_fd(stream, PollFlags::IN);
        let mut both = [polled(self.signals.as_fd()), polled(self.outcome.as_fd())];
        // Once the worker has let go of its end, that is all that it would tell.
        let number = if self.told.is_some() { 1 } else { 2 };
        match poll(&mut both[..number], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}
