//! One thread of a job: the loop that everything else is built around.

use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use iodyno_job::Offsets;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::choose::Engine;
use crate::clock::{Clock, CpuTime};
use crate::failure::{Failure, error_name};
use crate::flights::Flights;
use crate::io::{Completion, Io, Libaio, Opened, Psync, SetupError, Uring};
use crate::issue::Issuer;
use crate::tally::Tally;

/// What the threads of a job share with the control thread.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: AtomicU8,
    first_error: OnceLock<Failure>,
}

const STANDBY: u8 = 0;
const RUNNING: u8 = 1;
const STOPPING: u8 = 2;

impl Shared {
    /// Lets the threads go; they must be unparked then. A stop is final.
    pub(crate) fn start(&self) {
        let _ = self.state.compare_exchange(STANDBY, RUNNING, Ordering::Release, Ordering::Relaxed);
    }

    /// No new I/O from now on.
    pub(crate) fn stop(&self) {
        self.state.store(STOPPING, Ordering::Release);
    }

    /// Whether no new I/O is wanted.
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.state.load(Ordering::Relaxed) == STOPPING
    }

    /// The first I/O that failed, on any thread.
    pub(crate) fn first_error(&self) -> Option<Failure> {
        self.first_error.get().copied()
    }

    fn wait_for_start(&self) {
        while self.state.load(Ordering::Acquire) == STANDBY {
            std::thread::park();
        }
    }
}

/// What a thread is to do. It owns all that it uses, so that it can be left
/// behind if the kernel never answers.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) engine: Engine,
    pub(crate) target: OwnedFd,
    pub(crate) order: Offsets,
    pub(crate) length: u32,
    pub(crate) depth: u16,
    pub(crate) cpu: Option<u32>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) tally: Arc<Tally>,
}

/// What a thread tells the control thread.
#[derive(Debug)]
pub(crate) enum Event {
    /// Set up, waiting for the start.
    Ready {
        /// Depth that was possible.
        depth: u16,
        /// As in [`Opened`].
        registered_buffers: Option<bool>,
        /// As in [`Opened`].
        shortfalls: Vec<String>,
    },
    /// It could not be set up, and has ended.
    Refused(SetupError),
    /// It has ended and nothing is in flight.
    Ended {
        /// CPU time from start to end.
        cpu: CpuTime,
        /// Why it could not go on.
        failure: Option<String>,
    },
}

impl Assignment {
    /// The thread's whole life.
    pub(crate) fn carry_out(self, tell: impl Fn(Event)) {
        let outcome = catch_unwind(AssertUnwindSafe(|| match self.engine {
            Engine::IoUring => self.run::<Uring>(&tell),
            Engine::Libaio => self.run::<Libaio>(&tell),
            Engine::Psync => self.run::<Psync>(&tell),
        }));
        tell(match outcome {
            Ok(Ok((cpu, failure))) => Event::Ended { cpu, failure },
            Ok(Err(refused)) => Event::Refused(refused),
            Err(_) => {
                let failure = Some("the worker panicked: a bug of iodyno".into());
                Event::Ended { cpu: CpuTime::default(), failure }
            }
        });
    }

    fn run<I: Io>(self, tell: impl Fn(Event)) -> Result<(CpuTime, Option<String>), SetupError> {
        if let Some(cpu) = self.cpu {
            keep_on(cpu)?;
        }
        // Only now: memory comes from the NUMA node of the CPU that touches it.
        let Opened { mut io, depth, registered_buffers, shortfalls } =
            I::open(self.target, self.depth, self.length)?;
        let mut issuer = Issuer::new(self.order, self.length);
        let mut flights = Flights::new(depth);
        tell(Event::Ready { depth, registered_buffers, shortfalls });
        self.shared.wait_for_start();
        let before = CpuTime::of_this_thread();
        let outcome = closed_loop(&mut io, &mut issuer, &mut flights, &self.tally, &self.shared);
        let failure = match outcome {
            Ok(None) => None,
            Ok(Some(failure)) => Some(format!("the device is gone: {failure}")),
            Err(error) => Some(format!("{} failed: {}", I::NAME, error_name(&error))),
        };
        Ok((CpuTime::of_this_thread().since(before), failure))
    }
}

/// Keeps as many reads in flight as the depth allows until the job stops and
/// the last of them is done; or returns the failure that says that the device
/// is gone.
///
/// Each turn hands over what is free, at most a batch, and waits for one
/// completion only where nothing more can be handed over: waiting for several
/// would save system calls, and put the wait into the latencies. A fast device
/// makes batches by itself. At depth 1 a read is one system call.
///
/// # Errors
/// Where the engine fails; then reads may still be in flight.
pub(crate) fn closed_loop<I: Io>(
    io: &mut I,
    issuer: &mut Issuer,
    flights: &mut Flights,
    tally: &Tally,
    shared: &Shared,
) -> io::Result<Option<Failure>> {
    let clock = Clock::get();
    let mut gone = None;
    loop {
        let stopping = shared.is_stopping();
        if !stopping {
            let batch = issuer.fill(flights);
            io.queue(batch);
            flights.begin(batch, clock.now());
        } else if flights.is_empty() {
            return Ok(gone);
        }
        io.enter(u32::from(stopping || flights.is_full()))?;

        let completions = io.completions();
        let now = clock.now();
        for completion in completions {
            let flight = flights.end(completion.slot);
            if completion.result == i64::from(flight.length) {
                tally.record(clock.ns(now.saturating_sub(flight.begun)));
            } else {
                let Completion { result, .. } = completion;
                let failure = Failure { offset: flight.offset, length: flight.length, result };
                tally.fail();
                let _ = shared.first_error.set(failure);
                if failure.is_final() {
                    shared.stop();
                    gone = Some(failure);
                }
            }
        }
    }
}

fn keep_on(cpu: u32) -> Result<(), SetupError> {
    let refused = SetupError::of("keeping a thread on a CPU of cpus_allowed");
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(refused(io::Error::from_raw_os_error(libc::EINVAL)));
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu as usize);
    sched_setaffinity(None, &cpus).map_err(|errno| refused(errno.into()))
}
