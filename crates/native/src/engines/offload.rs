//! Engine for `io_submit_mode=offload`: one thread per I/O in flight submits and waits for it,
//! through any engine.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::{Completion, Engine, IoUnit, Opened, Rights, Setup, SetupError};
use crate::buffers::Buffers;
use crate::usage::{Usage, thread_usage};

/// Main function of a submitting thread. Receives its setup, reports its readiness, then executes
/// the I/Os of one slot and sends their completions. Returns the resource usage.
pub(crate) type SubmitFn =
    fn(Setup, Sender<Option<SetupError>>, Receiver<(IoUnit, u32)>, Sender<Completion>) -> Usage;

/// Passes I/Os to its own threads.
#[derive(Debug)]
pub(crate) struct Offload {
    /// By slot.
    submitters: Vec<Submitter>,
    /// With the bytes already done of each.
    queued: Vec<(IoUnit, u32)>,
    from: Receiver<Completion>,
    done: Vec<Completion>,
    in_flight: usize,
    rights: Rights,
    buffers: Buffers,
}

#[derive(Debug)]
struct Submitter {
    to: Sender<(IoUnit, u32)>,
    thread: JoinHandle<Usage>,
    busy: bool,
}

/// Runs a submitting thread on engine `I`.
pub(crate) fn submit_with<E: Engine>(
    setup: Setup,
    ready: Sender<Option<SetupError>>,
    from: Receiver<(IoUnit, u32)>,
    to: Sender<Completion>,
) -> Usage {
    let opened = E::open(setup);
    let (opened, refused) = match opened {
        Ok(opened) => (Some(opened.engine), None),
        Err(refused) => (None, Some(refused)),
    };
    let _ = ready.send(refused);
    drop(ready);
    let Some(mut engine) = opened else { return Usage::default() };
    let before = thread_usage();
    for (unit, done) in from {
        // A bug must not leave the receiver waiting.
        let made = catch_unwind(AssertUnwindSafe(|| execute(&mut engine, unit, done)));
        let result = made.unwrap_or(-i64::from(libc::EIO));
        if to.send(Completion { slot: unit.slot, result }).is_err() {
            break;
        }
    }
    thread_usage().since(before)
}

/// Executes one I/O, or what is left of it after `done` bytes, and returns its result.
fn execute(engine: &mut impl Engine, unit: IoUnit, done: u32) -> i64 {
    let unit = IoUnit { slot: 0, ..unit };
    match done {
        0 => engine.queue(std::iter::once(unit)),
        done => engine.queue_rest(unit, done),
    }
    loop {
        if let Err(error) = engine.enter(1) {
            return -i64::from(error.raw_os_error().unwrap_or(libc::EIO));
        }
        let done = engine.completions().next();
        if let Some(completion) = done {
            return completion.result;
        }
    }
}

impl Engine for Offload {
    const NAME: &'static str = "io_submit_mode=offload";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let submit = setup.submit.ok_or_else(|| SetupError::invalid(Self::NAME))?;
        let depth = setup.depth;
        let buffers = setup.buffers(depth)?;
        let (ready, readiness) = channel();
        let (to, from) = channel();
        let mut submitters = Vec::with_capacity(depth.into());
        for slot in 0..depth {
            let own =
                setup.for_slot(&buffers, slot).map_err(SetupError::during("dup of a target"))?;
            let (sender, receiver) = channel();
            let (ready, to) = (ready.clone(), to.clone());
            let thread = Builder::new()
                .name(format!("submit {slot}"))
                .spawn(move || submit(own, ready, receiver, to))
                .map_err(SetupError::during("a thread that submits"))?;
            submitters.push(Submitter { to: sender, thread, busy: false });
        }
        drop(ready);
        let engine = Self {
            submitters,
            queued: Vec::with_capacity(depth.into()),
            from,
            done: Vec::with_capacity(depth.into()),
            in_flight: 0,
            rights: Rights { writable: setup.writable },
            buffers,
        };
        match readiness.iter().flatten().next() {
            Some(refused) => Err(refused),
            None => Ok(Opened { engine, depth, registered_buffers: None, shortfalls: Vec::new() }),
        }
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.rights.check(batch.clone());
        self.queued.extend(batch.map(|unit| (unit, 0)));
    }

    fn queue_rest(&mut self, unit: IoUnit, done: u32) {
        self.rights.check(std::iter::once(unit));
        self.queued.push((unit, done));
    }

    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.submit_queued()?;
        while self.done.len() < wait as usize && self.in_flight > 0 {
            let completion = self.from.recv().map_err(|_| thread_ended())?;
            self.complete(completion);
        }
        self.reap_ready();
        Ok(())
    }

    fn enter_within(&mut self, wait: u32, timeout: Duration) -> io::Result<()> {
        let until = Instant::now() + timeout;
        self.submit_queued()?;
        while self.done.len() < wait as usize && self.in_flight > 0 {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(completion) = self.from.recv_timeout(left) else { break };
            self.complete(completion);
        }
        self.reap_ready();
        Ok(())
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        self.done.drain(..)
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    fn finish(&mut self) -> Usage {
        self.submitters
            .drain(..)
            // A thread that waits for a device is abandoned with its buffer.
            .filter(|submitter| !submitter.busy)
            .map(|Submitter { to, thread, .. }| {
                drop(to);
                thread.join().unwrap_or_default()
            })
            .fold(Usage::default(), Usage::and)
    }
}

impl Offload {
    fn submit_queued(&mut self) -> io::Result<()> {
        for (unit, done) in self.queued.drain(..) {
            let submitter = &mut self.submitters[usize::from(unit.slot)];
            // The thread checks the length; a trim needs no memory.
            self.buffers.lender().lend(unit.slot, 0);
            submitter.to.send((unit, done)).map_err(|_| thread_ended())?;
            submitter.busy = true;
            self.in_flight += 1;
        }
        Ok(())
    }

    fn reap_ready(&mut self) {
        while let Ok(completion) = self.from.try_recv() {
            self.complete(completion);
        }
    }

    fn complete(&mut self, completion: Completion) {
        self.submitters[usize::from(completion.slot)].busy = false;
        self.buffers.take_back(completion.slot);
        self.in_flight -= 1;
        self.done.push(completion);
    }
}

impl Drop for Offload {
    /// Joins the threads before their memory is unmapped.
    fn drop(&mut self) {
        self.finish();
    }
}

/// The error if a submitting thread has ended.
fn thread_ended() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}
