//! I/O engines: how reads are handed to the kernel and fetched back.
//!
//! There are reads only: a clearance for reading is all that there is, and
//! code that cannot write needs no proof that it does not.

mod libaio;
mod psync;
mod uring;

use std::io;
use std::os::fd::OwnedFd;

use thiserror::Error;

use crate::clock::Clock;
use crate::failure::error_name;

pub(crate) use libaio::Libaio;
pub(crate) use psync::Psync;
pub(crate) use uring::Uring;

/// I/Os that are handed over with one system call, at most. Larger batches
/// gain nothing (211 ns an I/O at 32, 208 ns at 128) and would delay the first.
pub(crate) const BATCH: usize = 32;

/// A read that is to be made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// Offset, bytes.
    pub(crate) offset: u64,
    /// Length, bytes.
    pub(crate) length: u32,
    /// The buffer that it goes to; also its name while it is in flight.
    pub(crate) slot: u16,
}

/// A read that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Completion {
    /// As in its descriptor.
    pub(crate) slot: u16,
    /// Bytes that came, or a negative errno.
    pub(crate) result: i64,
}

/// An I/O engine, made for one thread, with its buffers and its own descriptor
/// of the target.
pub(crate) trait Io: Sized {
    /// fio's name of it.
    const NAME: &'static str;

    /// Sets it up for `depth` reads of at most `length` bytes in flight.
    ///
    /// # Errors
    /// Where the kernel does not have it, or has no room. What is possible with
    /// less is not an error: see [`Opened`].
    fn open(target: OwnedFd, depth: u16, length: u32) -> Result<Opened<Self>, SetupError>;

    /// Takes reads, at most [`BATCH`] and never more in flight than the depth,
    /// without a system call. Slots in flight must not come again.
    fn queue(&mut self, batch: &[Descriptor]);

    /// Hands over what was queued and returns once `wait` reads (0 or 1) are
    /// done. May leave some of the queue, and return early, where the kernel
    /// is busy or a signal came: call it again.
    ///
    /// # Errors
    /// Where the engine itself fails; a read that fails is a completion.
    fn enter(&mut self, wait: u32) -> io::Result<()>;

    /// The reads that were visibly done when this was called.
    fn completions(&mut self) -> impl Iterator<Item = Completion>;
}

/// An engine and what of its set-up was possible.
#[derive(Debug)]
pub(crate) struct Opened<I> {
    pub(crate) io: I,
    /// Depth that was possible.
    pub(crate) depth: u16,
    /// Buffers are registered; `None` where the engine knows no such thing.
    pub(crate) registered_buffers: Option<bool>,
    /// What was not possible, each a sentence.
    pub(crate) shortfalls: Vec<String>,
}

/// Why an engine could not be set up.
#[derive(Debug, Error)]
#[error("{action}: {} ({source})", error_name(.source))]
pub(crate) struct SetupError {
    /// What was tried: `io_uring_setup`.
    pub(crate) action: &'static str,
    /// What the kernel said.
    pub(crate) source: io::Error,
}

impl SetupError {
    /// For `map_err`.
    pub(crate) fn of(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self { action, source }
    }
}

/// Makes one read into buffer 0: how long it took, ns, and its result.
///
/// # Errors
/// Where the engine itself fails.
pub(crate) fn read_once<I: Io>(io: &mut I, offset: u64, length: u32) -> io::Result<(u64, i64)> {
    let clock = Clock::get();
    io.queue(&[Descriptor { offset, length, slot: 0 }]);
    let begun = clock.now();
    loop {
        io.enter(1)?;
        let done = io.completions().next();
        if let Some(completion) = done {
            let latency_ns = clock.ns(clock.now().saturating_sub(begun));
            return Ok((latency_ns, completion.result));
        }
    }
}

#[cfg(test)]
mod tests;
