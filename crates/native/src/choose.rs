//! Which I/O engine a job gets.

use std::io::{self, IoSliceMut};
use std::os::fd::OwnedFd;

use iodyno_job::IoEngine;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::io::{Io, Psync, Setup, SetupError, Submit, read_once, submit_by};

/// Does something with the type of an engine, under the name that is given.
macro_rules! with_engine {
    ($engine:expr, $Io:ident => $body:expr) => {
        $crate::choose::with_engine!(@ $engine, $Io, $body;
            IoUring Uring, IoUringCmd UringCmd, Libaio Libaio, Psync Psync, Pvsync2 Pvsync2,
            Sync Sync, Mmap Mmap, Splice Splice, Posixaio Posixaio, Falloc Falloc,
            Ftruncate Ftruncate, Null Null, PageFault PageFault, Cpuio Null, Exec Null,
            FileCreate FileCreate, FileStat FileStat, FileDelete FileDelete,
            DirCreate DirCreate, DirStat DirStat, DirDelete DirDelete,
            // By then it is one of the others: see `choose`.
            Auto Psync)
    };
    (@ $engine:expr, $Io:ident, $body:expr; $($variant:ident $io:ident),*) => {
        match $engine {
            $(::iodyno_job::IoEngine::$variant => {
                type $Io = $crate::io::$io;
                $body
            })*
        }
    };
}
pub(crate) use with_engine;

/// How threads of `io_submit_mode=offload` submit.
pub(crate) fn submit(engine: IoEngine) -> Submit {
    match engine {
        // A file has one position, and the threads share the file.
        IoEngine::Sync => submit_by::<Psync>,
        engine => with_engine!(engine, I => submit_by::<I>),
    }
}

/// Sets an engine up for one block and reads that. That the block is bad says
/// nothing against the engine.
fn try_out(engine: IoEngine, target: &ProbedTarget<'_>) -> Result<(), SetupError> {
    match engine {
        // Its device is another one; it shows when the threads are set up.
        IoEngine::IoUringCmd => Ok(()),
        // A try would change the target, or try nothing.
        IoEngine::Falloc | IoEngine::Ftruncate => Ok(()),
        engine if engine.is_diskless() || engine.is_of_names() => Ok(()),
        engine => with_engine!(engine, I => probe::<I>(target)),
    }
}

/// A target to try engines on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProbedTarget<'a> {
    pub(crate) descriptor: &'a OwnedFd,
    /// It bypasses the page cache.
    pub(crate) direct: bool,
    /// Where to read, bytes.
    pub(crate) offset: u64,
    /// How much, bytes: one logical block.
    pub(crate) block_bytes: u32,
}

/// The engine that a job gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) engine: IoEngine,
    /// Why this one.
    pub(crate) reason: String,
    /// Its I/O is made by kernel threads; `None`: not known.
    pub(crate) punted: Option<bool>,
}

/// What a choice follows from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Name of the target.
    pub(crate) target: String,
    pub(crate) ioengine: IoEngine,
    pub(crate) iodepth: u32,
    pub(crate) direct: bool,
}

/// Choices that were made, so that of clones only the first is tried out.
#[derive(Debug, Default)]
pub(crate) struct Choices(Vec<(Asked, Choice)>);

impl Choices {
    /// The engine for a job that asked for this; `target` is what it is tried out on.
    ///
    /// # Errors
    /// Where the one that was asked for does not work here, or none does.
    pub(crate) fn choose(
        &mut self,
        asked: Asked,
        target: &ProbedTarget<'_>,
    ) -> Result<Choice, SetupError> {
        if let Some((_, made)) = self.0.iter().find(|(known, _)| *known == asked) {
            return Ok(made.clone());
        }
        let choice = choose(asked.ioengine, asked.iodepth, target)?;
        self.0.push((asked, choice.clone()));
        Ok(choice)
    }
}

/// The engine for a job that asked for `asked` and `iodepth`.
///
/// # Errors
/// Where the one that was asked for does not work here, or none does.
fn choose(asked: IoEngine, iodepth: u32, target: &ProbedTarget<'_>) -> Result<Choice, SetupError> {
    if asked == IoEngine::Auto {
        return best(iodepth, target);
    }
    try_out(asked, target)?;
    let reason = format!("ioengine={} was asked for", asked.name());
    Ok(Choice { engine: asked, reason, punted: punted(asked, target) })
}

/// io_uring if it works and need not hand every read to a kernel thread, else
/// libaio, else psync.
fn best(iodepth: u32, target: &ProbedTarget<'_>) -> Result<Choice, SetupError> {
    let uring = try_out(IoEngine::IoUring, target);
    let punted = punted(IoEngine::IoUring, target);
    let choice = |engine, reason: &str, punted| Choice { engine, reason: reason.into(), punted };
    let why_not = match uring {
        Ok(()) if punted != Some(true) => {
            let reason = "io_uring was set up and a probing read succeeded";
            return Ok(choice(IoEngine::IoUring, reason, punted));
        }
        Ok(()) if iodepth == 1 => {
            try_out(IoEngine::Psync, target)?;
            let reason = "the target has no NOWAIT support: io_uring would hand every read to a \
                          kernel thread, and at depth 1 pread does the same without";
            return Ok(choice(IoEngine::Psync, reason, Some(false)));
        }
        // Reads through the page cache make io_submit wait: then threads are the lesser evil.
        Ok(()) if !target.direct || try_out(IoEngine::Libaio, target).is_err() => {
            let reason = "io_uring was set up and a probing read succeeded; the target has no \
                          NOWAIT support, and libaio does not work on it";
            return Ok(choice(IoEngine::IoUring, reason, Some(true)));
        }
        Ok(()) => "the target has no NOWAIT support: io_uring would hand every read to a kernel \
                   thread"
            .to_owned(),
        Err(refused) => format!(
            "io_uring does not work here: {refused}; it may be absent, switched off \
             (kernel.io_uring_disabled), filtered or older than Linux 5.6"
        ),
    };
    match try_out(IoEngine::Libaio, target) {
        Ok(()) => Ok(choice(IoEngine::Libaio, &why_not, Some(false))),
        Err(refused) => {
            try_out(IoEngine::Psync, target)?;
            let reason = format!("{why_not}; libaio neither: {refused}");
            Ok(choice(IoEngine::Psync, &reason, Some(false)))
        }
    }
}

fn probe<I: Io>(target: &ProbedTarget<'_>) -> Result<(), SetupError> {
    let own = target.descriptor.try_clone().map_err(SetupError::of("dup"))?;
    let mut io = I::open(Setup::reading(own, 1, target.block_bytes))?.io;
    let failed = SetupError::of("a probing read");
    match read_once(&mut io, target.offset, target.block_bytes).map_err(&failed)?.1 {
        0.. => Ok(()),
        result => {
            let errno = i32::try_from(-result).unwrap_or(libc::EIO);
            let refusals =
                [libc::EINVAL, libc::ENOSYS, libc::EOPNOTSUPP, libc::EPERM, libc::EACCES];
            let refused = refusals.contains(&errno);
            if refused { Err(failed(io::Error::from_raw_os_error(errno))) } else { Ok(()) }
        }
    }
}

/// Whether `engine` hands reads of this target to kernel threads. io_uring
/// does where the file does not know RWF_NOWAIT (bio-based drivers such as
/// zram, older device mapper targets, some file systems).
fn punted(engine: IoEngine, target: &ProbedTarget<'_>) -> Option<bool> {
    if engine != IoEngine::IoUring {
        return Some(false);
    }
    let length = target.block_bytes as usize;
    let align = length.next_power_of_two().max(rustix::param::page_size());
    let mut memory = vec![0_u8; length + align];
    let start = memory.as_ptr().align_offset(align).min(align);
    let mut buffers = [IoSliceMut::new(&mut memory[start..start + length])];
    match preadv2(target.descriptor, &mut buffers, target.offset, ReadWriteFlags::NOWAIT) {
        Ok(_) | Err(Errno::AGAIN) => Some(false),
        Err(Errno::OPNOTSUPP) => Some(true),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn clones_are_not_tried_out_again() {
        let file = Scratch::new(4);
        let descriptor = file.open();
        let target =
            ProbedTarget { descriptor: &descriptor, direct: true, offset: 0, block_bytes: 4096 };
        let asked = |ioengine| Asked { target: "a".into(), ioengine, iodepth: 4, direct: true };
        let mut choices = Choices::default();
        let first = choices.choose(asked(IoEngine::Psync), &target).unwrap();
        // Nothing can be read of this one: it is not looked at.
        let nothing = OwnedFd::from(std::io::pipe().unwrap().1);
        let closed = ProbedTarget { descriptor: &nothing, ..target };
        assert_eq!(choices.choose(asked(IoEngine::Psync), &closed).unwrap(), first);
        assert_eq!(choices.choose(asked(IoEngine::Sync), &target).unwrap().engine, IoEngine::Sync);
        assert_eq!(choices.0.len(), 2);
    }
}
