//! Selects a job's I/O engine.

use std::io::{self, IoSliceMut};
use std::os::fd::OwnedFd;

use iodyno_job::IoEngine;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::engines::{Engine, Psync, Setup, SetupError, SubmitFn, read_once, submit_with};

/// Evaluates an expression with `$Engine` bound to the type of an engine.
macro_rules! with_engine {
    ($engine:expr, $Engine:ident => $body:expr) => {
        $crate::engine_choice::with_engine!(@ $engine, $Engine, $body;
            IoUring Uring, IoUringCmd UringCmd, Libaio Libaio, Psync Psync, Pvsync2 Pvsync2,
            Sync Sync, Mmap Mmap, Splice Splice, Posixaio Posixaio, Falloc Falloc,
            Ftruncate Ftruncate, Null Null, PageFault PageFault, Cpuio Null, Exec Null,
            FileCreate FileCreate, FileStat FileStat, FileDelete FileDelete,
            DirCreate DirCreate, DirStat DirStat, DirDelete DirDelete,
            // Resolved before: see `choose`.
            Auto Psync)
    };
    (@ $engine:expr, $Engine:ident, $body:expr; $($variant:ident $io:ident),*) => {
        match $engine {
            $(::iodyno_job::IoEngine::$variant => {
                type $Engine = $crate::engines::$io;
                $body
            })*
        }
    };
}
pub(crate) use with_engine;

/// The submission function of an `io_submit_mode=offload` thread.
pub(crate) fn submit_fn(engine: IoEngine) -> SubmitFn {
    match engine {
        // `sync` relies on the file position, which the threads share.
        IoEngine::Sync => submit_with::<Psync>,
        engine => with_engine!(engine, E => submit_with::<E>),
    }
}

/// Sets up an engine for one block and reads that. A bad block does not count against the engine.
fn try_engine(engine: IoEngine, target: &ProbedTarget<'_>) -> Result<(), SetupError> {
    match engine {
        // Works on another device (/dev/ng*); checked when the threads are set up.
        IoEngine::IoUringCmd => Ok(()),
        // A trial would either modify the target or prove nothing.
        IoEngine::Falloc | IoEngine::Ftruncate => Ok(()),
        engine if engine.is_diskless() || engine.works_on_names() => Ok(()),
        engine => with_engine!(engine, E => probe_read::<E>(target)),
    }
}

/// The target that engines are tried on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProbedTarget<'a> {
    pub(crate) fd: &'a OwnedFd,
    /// Opened with O_DIRECT.
    pub(crate) direct: bool,
    /// Offset of the trial read, bytes.
    pub(crate) offset: u64,
    /// Length of the trial read, bytes: one logical block.
    pub(crate) block_bytes: u32,
}

/// The engine selected for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineChoice {
    pub(crate) engine: IoEngine,
    /// Reason for the choice.
    pub(crate) reason: String,
    /// I/O is punted to kernel threads; `None`: unknown.
    pub(crate) punted: Option<bool>,
}

/// The inputs of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineRequest {
    /// Name of the target.
    pub(crate) target: String,
    pub(crate) ioengine: IoEngine,
    pub(crate) iodepth: u32,
    pub(crate) direct: bool,
}

/// Choices made so far: clones of a job reuse the first one's.
#[derive(Debug, Default)]
pub(crate) struct EngineChoices(Vec<(EngineRequest, EngineChoice)>);

impl EngineChoices {
    /// Selects the engine for `request`, tried on `target`.
    ///
    /// # Errors
    /// If the requested engine does not work here, or none does.
    pub(crate) fn choose(
        &mut self,
        request: EngineRequest,
        target: &ProbedTarget<'_>,
    ) -> Result<EngineChoice, SetupError> {
        if let Some((_, choice)) = self.0.iter().find(|(known, _)| *known == request) {
            return Ok(choice.clone());
        }
        let choice = choose(request.ioengine, request.iodepth, target)?;
        self.0.push((request, choice.clone()));
        Ok(choice)
    }
}

/// Selects the engine for a job with `ioengine` and `iodepth`.
///
/// # Errors
/// If the requested engine does not work here, or none does.
fn choose(
    request: IoEngine,
    iodepth: u32,
    target: &ProbedTarget<'_>,
) -> Result<EngineChoice, SetupError> {
    if request == IoEngine::Auto {
        return choose_auto(iodepth, target);
    }
    try_engine(request, target)?;
    let reason = format!("ioengine={} was asked for", request.name());
    Ok(EngineChoice { engine: request, reason, punted: punted(request, target) })
}

/// io_uring if it works without punting every read to a kernel thread, else libaio, else psync.
fn choose_auto(iodepth: u32, target: &ProbedTarget<'_>) -> Result<EngineChoice, SetupError> {
    let uring = try_engine(IoEngine::IoUring, target);
    let punted = punted(IoEngine::IoUring, target);
    let choice =
        |engine, reason: &str, punted| EngineChoice { engine, reason: reason.into(), punted };
    let why_not = match uring {
        Ok(()) if punted != Some(true) => {
            let reason = "io_uring was set up and a probing read succeeded";
            return Ok(choice(IoEngine::IoUring, reason, punted));
        }
        Ok(()) if iodepth == 1 => {
            try_engine(IoEngine::Psync, target)?;
            let reason = "the target has no NOWAIT support: io_uring would hand every read to a \
                          kernel thread, and at depth 1 pread does the same without";
            return Ok(choice(IoEngine::Psync, reason, Some(false)));
        }
        // Buffered reads block in io_submit: kernel threads are then the lesser evil.
        Ok(()) if !target.direct || try_engine(IoEngine::Libaio, target).is_err() => {
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
    match try_engine(IoEngine::Libaio, target) {
        Ok(()) => Ok(choice(IoEngine::Libaio, &why_not, Some(false))),
        Err(refused) => {
            try_engine(IoEngine::Psync, target)?;
            let reason = format!("{why_not}; libaio neither: {refused}");
            Ok(choice(IoEngine::Psync, &reason, Some(false)))
        }
    }
}

fn probe_read<E: Engine>(target: &ProbedTarget<'_>) -> Result<(), SetupError> {
    let own = target.fd.try_clone().map_err(SetupError::during("dup"))?;
    let mut engine = E::open(Setup::read_only(vec![own], 1, target.block_bytes))?.engine;
    let failed = SetupError::during("a probing read");
    match read_once(&mut engine, target.offset, target.block_bytes).map_err(&failed)?.1 {
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

/// True if `engine` punts reads of this target to kernel threads. io_uring does where the file
/// lacks RWF_NOWAIT (bio-based drivers such as zram, older device mapper targets, some file
/// systems).
fn punted(engine: IoEngine, target: &ProbedTarget<'_>) -> Option<bool> {
    if engine != IoEngine::IoUring {
        return Some(false);
    }
    let length = target.block_bytes as usize;
    let align = length.next_power_of_two().max(rustix::param::page_size());
    let mut memory = vec![0_u8; length + align];
    let start = memory.as_ptr().align_offset(align).min(align);
    let mut buffers = [IoSliceMut::new(&mut memory[start..start + length])];
    match preadv2(target.fd, &mut buffers, target.offset, ReadWriteFlags::NOWAIT) {
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
    fn clones_reuse_the_choice() {
        let file = Scratch::new(4);
        let fd = file.open();
        let target = ProbedTarget { fd: &fd, direct: true, offset: 0, block_bytes: 4096 };
        let request =
            |ioengine| EngineRequest { target: "a".into(), ioengine, iodepth: 4, direct: true };
        let mut choices = EngineChoices::default();
        let first = choices.choose(request(IoEngine::Psync), &target).unwrap();
        // Nothing can be read from this one: it is not tried.
        let nothing = OwnedFd::from(std::io::pipe().unwrap().1);
        let closed = ProbedTarget { fd: &nothing, ..target };
        assert_eq!(choices.choose(request(IoEngine::Psync), &closed).unwrap(), first);
        assert_eq!(
            choices.choose(request(IoEngine::Sync), &target).unwrap().engine,
            IoEngine::Sync
        );
        assert_eq!(choices.0.len(), 2);
    }
}
