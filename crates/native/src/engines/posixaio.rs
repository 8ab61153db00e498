//! Engine `posixaio`: aio_read and aio_write of the C library, which uses threads.
#![allow(unsafe_code)] // The library works on control blocks and memory by address.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use libc::{aiocb, c_int};

use super::files::Files;
use super::sync_ops::SyncOps;
use super::syscall::timespec;
use super::{Completion, Engine, IoUnit, Opened, Operation, Rights, Setup, SetupError};
use crate::buffers::Buffers;

// aio.h; provided by glibc (in libc itself since 2.34) and musl.
unsafe extern "C" {
    fn aio_read(aiocb_block: *mut aiocb) -> c_int;
    fn aio_write(aiocb_block: *mut aiocb) -> c_int;
    fn aio_fsync(operation: c_int, aiocb_block: *mut aiocb) -> c_int;
    fn aio_error(aiocb_block: *const aiocb) -> c_int;
    fn aio_return(aiocb_block: *mut aiocb) -> isize;
    fn aio_suspend(
        aiocbs: *const *const aiocb,
        count: c_int,
        timeout: *const libc::timespec,
    ) -> c_int;
}

/// glibc's `struct aioinit`, of which `aio_init` reads these and the idle time, 0 for the default.
#[cfg(target_env = "gnu")]
#[repr(C)]
struct AioInit {
    threads: c_int,
    requests: c_int,
    others: [c_int; 6],
}

/// Threads of the C library for the whole process: one for each file with requests, where glibc
/// has 20 by default. fio's jobs are processes, each with as many.
#[cfg(target_env = "gnu")]
fn allow_threads() {
    const MOST_THREADS: c_int = 1 << 12;
    unsafe extern "C" {
        fn aio_init(settings: *const AioInit);
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: it copies the settings, before the first request: afterwards they have no effect.
    ONCE.call_once(|| unsafe {
        aio_init(&AioInit { threads: MOST_THREADS, requests: MOST_THREADS, others: [0; 6] });
    });
}

/// musl starts a thread for each file.
#[cfg(not(target_env = "gnu"))]
const fn allow_threads() {}

/// Asynchronous I/O of the C library.
#[derive(Debug)]
pub(crate) struct Posixaio {
    /// One control block per slot, by address: the library writes to them.
    aiocbs: Box<[*mut aiocb]>,
    /// Queued but not yet submitted, in order, with the bytes already done of each.
    waiting: Vec<(IoUnit, u32)>,
    /// Submitted control blocks, and their slots.
    submitted: Vec<*const aiocb>,
    slots: Vec<u16>,
    rights: Rights,
    fds: Box<[RawFd]>,
    buffers: Buffers,
    sync_ops: SyncOps,
    files: Files,
}

impl Engine for Posixaio {
    const NAME: &'static str = "posixaio";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        allow_threads();
        let buffers = setup.buffers(setup.depth)?;
        let Setup { files, claims, depth, writable, .. } = setup;
        let files = Files::new(files, claims)?;
        let room = usize::from(depth);
        // SAFETY: consists of integers and pointers, for which zeros are valid.
        let aiocb_block = |_| Box::into_raw(Box::new(unsafe { std::mem::zeroed::<aiocb>() }));
        let engine = Self {
            aiocbs: (0..depth).map(aiocb_block).collect(),
            waiting: Vec::with_capacity(room),
            submitted: Vec::with_capacity(room),
            slots: Vec::with_capacity(room),
            rights: Rights { writable },
            fds: files.raw_fds().into(),
            buffers,
            sync_ops: SyncOps::new(depth),
            files,
        };
        Ok(Opened { engine, depth, registered_buffers: None, shortfalls: Vec::new() })
    }

    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.rights.check(batch.clone());
        for unit in batch {
            // POSIX AIO has no trim.
            match unit.operation {
                Operation::Trim => self.sync_ops.queue(unit),
                _ => self.waiting.push((unit, 0)),
            }
        }
    }

    fn queue_rest(&mut self, unit: IoUnit, done: u32) {
        self.rights.check(std::iter::once(unit));
        self.waiting.push((unit, done));
    }

    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.enter_for(wait, None)
    }

    fn enter_within(&mut self, wait: u32, timeout: Duration) -> io::Result<()> {
        self.enter_for(wait, Some(timeout))
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        std::iter::from_fn(|| self.sync_ops.pop())
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

impl Posixaio {
    /// Submits the queue and returns once `wait` I/Os are done or `timeout` has passed.
    fn enter_for(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        let mut done = self.sync_ops.execute(&self.files);
        let mut count = 0;
        for (unit, done) in &self.waiting {
            let aiocb_block = self.aiocbs[usize::from(unit.slot)];
            if !submit(&mut self.buffers, aiocb_block, &self.fds, unit, *done)? {
                break;
            }
            self.submitted.push(aiocb_block);
            self.slots.push(unit.slot);
            count += 1;
        }
        self.waiting.drain(..count);
        loop {
            done += self.collect();
            if done >= wait || self.submitted.is_empty() {
                return Ok(());
            }
            let timeout = timeout.map(timespec);
            let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            let count = self.submitted.len() as c_int;
            // SAFETY: submitted blocks, which live until they are collected.
            if unsafe { aio_suspend(self.submitted.as_ptr(), count, timeout) } == 0 {
                continue;
            }
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // Timeout, or a signal.
                Some(libc::EAGAIN | libc::EINTR) => {
                    self.collect();
                    Ok(())
                }
                _ => Err(error),
            };
        }
    }

    /// Collects completed I/Os and returns their number.
    fn collect(&mut self) -> u32 {
        let (mut count, mut at) = (0, 0);
        while at < self.submitted.len() {
            let aiocb_block = self.submitted[at].cast_mut();
            // SAFETY: a submitted block.
            let result = match unsafe { aio_error(aiocb_block) } {
                libc::EINPROGRESS => {
                    at += 1;
                    continue;
                }
                // SAFETY: completed, and collected only once.
                0 => unsafe { aio_return(aiocb_block) as i64 },
                errno => {
                    // SAFETY: as above.
                    unsafe { aio_return(aiocb_block) };
                    -i64::from(errno)
                }
            };
            self.submitted.swap_remove(at);
            let slot = self.slots.swap_remove(at);
            self.buffers.take_back(slot);
            self.sync_ops.complete(Completion { slot, result });
            count += 1;
        }
        count
    }
}

/// Submits an I/O, or what is left of it after `done` bytes. Returns false if the library has no room
/// for it.
fn submit(
    buffers: &mut Buffers,
    aiocb_block: *mut aiocb,
    fds: &[RawFd],
    unit: &IoUnit,
    done: u32,
) -> io::Result<bool> {
    let memory = buffers.lender().lend(unit.slot, unit.length).wrapping_add(done as usize);
    let IoUnit { offset, length, slot, file, operation } = unit.rest(done);
    // SAFETY: the slot is free, so the library does not use its block.
    unsafe {
        (*aiocb_block).aio_fildes = fds[usize::from(file)];
        (*aiocb_block).aio_buf = memory.cast();
        (*aiocb_block).aio_nbytes = length as usize;
        (*aiocb_block).aio_offset = offset as libc::off_t;
        (*aiocb_block).aio_sigevent.sigev_notify = libc::SIGEV_NONE;
    }
    // SAFETY: block and memory live until the I/O is collected, and stay allocated for good if it
    // never is.
    let result = unsafe {
        match operation {
            Operation::Write => aio_write(aiocb_block),
            Operation::Sync => aio_fsync(libc::O_SYNC, aiocb_block),
            Operation::DataSync => aio_fsync(libc::O_DSYNC, aiocb_block),
            Operation::Read | Operation::Trim => aio_read(aiocb_block),
        }
    };
    if result == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    buffers.take_back(slot);
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Ok(false),
        _ => Err(error),
    }
}

impl Drop for Posixaio {
    fn drop(&mut self) {
        for aiocb_block in self
            .aiocbs
            .iter()
            .filter(|aiocb_block| !self.submitted.contains(&aiocb_block.cast_const()))
        {
            // SAFETY: allocated as a box, and no longer in use by the library.
            drop(unsafe { Box::from_raw(*aiocb_block) });
        }
    }
}
