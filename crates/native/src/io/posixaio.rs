//! Engine `posixaio`: aio_read and aio_write of the C library, which uses threads.
#![allow(unsafe_code)] // The library works on control blocks and memory by address.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use libc::{aiocb, c_int};

use super::files::Files;
use super::sync_ops::Aside;
use super::{Completion, Descriptor, Io, Opened, Operation, Rights, Setup, SetupError};
use crate::buffers::Buffers;

// aio.h; provided by glibc (in libc itself since 2.34) and musl.
unsafe extern "C" {
    fn aio_read(block: *mut aiocb) -> c_int;
    fn aio_write(block: *mut aiocb) -> c_int;
    fn aio_fsync(operation: c_int, block: *mut aiocb) -> c_int;
    fn aio_error(block: *const aiocb) -> c_int;
    fn aio_return(block: *mut aiocb) -> isize;
    fn aio_suspend(
        blocks: *const *const aiocb,
        count: c_int,
        timeout: *const libc::timespec,
    ) -> c_int;
}

/// Asynchronous I/O of the C library.
#[derive(Debug)]
pub(crate) struct Posixaio {
    /// One control block per slot, by address: the library writes to them.
    blocks: Box<[*mut aiocb]>,
    /// Queued but not yet submitted, in order.
    waiting: Vec<Descriptor>,
    /// Submitted control blocks, and their slots.
    taken: Vec<*const aiocb>,
    slots: Vec<u16>,
    rights: Rights,
    descriptors: Box<[RawFd]>,
    buffers: Buffers,
    aside: Aside,
    files: Files,
}

impl Io for Posixaio {
    const NAME: &'static str = "posixaio";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let buffers = setup.buffers(setup.depth)?;
        let Setup { files, claims, depth, writable, .. } = setup;
        let files = Files::new(files, claims)?;
        let room = usize::from(depth);
        // SAFETY: consists of integers and pointers, for which zeros are valid.
        let block = |_| Box::into_raw(Box::new(unsafe { std::mem::zeroed::<aiocb>() }));
        let io = Self {
            blocks: (0..depth).map(block).collect(),
            waiting: Vec::with_capacity(room),
            taken: Vec::with_capacity(room),
            slots: Vec::with_capacity(room),
            rights: Rights { writable },
            descriptors: files.raw().into(),
            buffers,
            aside: Aside::new(depth),
            files,
        };
        Ok(Opened { io, depth, registered_buffers: None, shortfalls: Vec::new() })
    }

    fn queue(&mut self, batch: impl Iterator<Item = Descriptor> + Clone) {
        self.rights.check(batch.clone());
        for descriptor in batch {
            // POSIX AIO has no trim.
            match descriptor.operation {
                Operation::Trim => self.aside.queue(descriptor),
                _ => self.waiting.push(descriptor),
            }
        }
    }

    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.work(wait, None)
    }

    fn enter_within(&mut self, wait: u32, most: Duration) -> io::Result<()> {
        self.work(wait, Some(most))
    }

    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        std::iter::from_fn(|| self.aside.take())
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

impl Posixaio {
    /// Submits the queue and returns once `wait` I/Os are done or `most` has passed.
    fn work(&mut self, wait: u32, most: Option<Duration>) -> io::Result<()> {
        let mut done = self.aside.carry_out(&self.files);
        let mut submitted = 0;
        for descriptor in &self.waiting {
            if !submit(
                &mut self.buffers,
                self.blocks[usize::from(descriptor.slot)],
                &self.descriptors,
                descriptor,
            )? {
                break;
            }
            self.taken.push(self.blocks[usize::from(descriptor.slot)]);
            self.slots.push(descriptor.slot);
            submitted += 1;
        }
        self.waiting.drain(..submitted);
        loop {
            done += self.collect();
            if done >= wait || self.taken.is_empty() {
                return Ok(());
            }
            let timeout = most.map(|most| libc::timespec {
                tv_sec: most.as_secs() as _,
                tv_nsec: most.subsec_nanos().into(),
            });
            let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            let count = self.taken.len() as c_int;
            // SAFETY: submitted blocks, which live until they are collected.
            if unsafe { aio_suspend(self.taken.as_ptr(), count, timeout) } == 0 {
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
        while at < self.taken.len() {
            let block = self.taken[at].cast_mut();
            // SAFETY: a submitted block.
            let result = match unsafe { aio_error(block) } {
                libc::EINPROGRESS => {
                    at += 1;
                    continue;
                }
                // SAFETY: completed, and collected only once.
                0 => unsafe { aio_return(block) as i64 },
                errno => {
                    // SAFETY: as above.
                    unsafe { aio_return(block) };
                    -i64::from(errno)
                }
            };
            self.taken.swap_remove(at);
            let slot = self.slots.swap_remove(at);
            self.buffers.take_back(slot);
            self.aside.end(Completion { slot, result });
            count += 1;
        }
        count
    }
}

/// Submits an I/O. Returns false if the library has no room for it.
fn submit(
    buffers: &mut Buffers,
    block: *mut aiocb,
    descriptors: &[RawFd],
    descriptor: &Descriptor,
) -> io::Result<bool> {
    let Descriptor { offset, length, slot, file, operation } = *descriptor;
    let memory = buffers.lender().lend(slot, length);
    // SAFETY: the slot is free, so the library does not use its block.
    unsafe {
        (*block).aio_fildes = descriptors[usize::from(file)];
        (*block).aio_buf = memory.cast();
        (*block).aio_nbytes = length as usize;
        (*block).aio_offset = offset as libc::off_t;
        (*block).aio_sigevent.sigev_notify = libc::SIGEV_NONE;
    }
    // SAFETY: block and memory live until the I/O is collected, and stay allocated for good if it
    // never is.
    let result = unsafe {
        match operation {
            Operation::Write => aio_write(block),
            Operation::Sync => aio_fsync(libc::O_SYNC, block),
            Operation::DataSync => aio_fsync(libc::O_DSYNC, block),
            Operation::Read | Operation::Trim => aio_read(block),
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
        for block in self.blocks.iter().filter(|block| !self.taken.contains(&block.cast_const())) {
            // SAFETY: allocated as a box, and no longer in use by the library.
            drop(unsafe { Box::from_raw(*block) });
        }
    }
}
