//! Syncs of a job's files while none of its I/Os is in flight.

use std::io;

use iodyno_job::{Job, Request};

use crate::engines::{Engine, Operation};
use crate::in_flight::InFlight;
use crate::io_failure::IoFailure;
use crate::io_loop::{Ending, IoLoop};

/// Syncs the job's files, if it requests that at its end or on close, which is all that follows.
pub(crate) fn sync_at_end<E: Engine>(io_loop: &mut IoLoop<'_, E>, job: &Job) -> io::Result<Ending> {
    let synced = job.flush.end_fsync || job.files.fsync_on_close;
    if synced && job.writes() && !io_loop.control.is_stopped(true) {
        for file in 0..job.files.paths.len().max(1) {
            let ending = sync_file(io_loop, file as u16)?;
            if ending != Ending::Done {
                return Ok(ending);
            }
        }
    }
    Ok(Ending::Done)
}

/// Syncs a file with nothing in flight; as in fio, it is not counted among those between writes.
fn sync_file<E: Engine>(io_loop: &mut IoLoop<'_, E>, file: u16) -> io::Result<Ending> {
    let sync = [Request { file, operation: Operation::Sync, ..Request::default() }];
    let IoLoop { engine, slots, submission_hooks, .. } = io_loop;
    let batch = slots.reserve(&sync);
    if let Some(hooks) = submission_hooks {
        hooks.prepare(&batch, engine.buffers());
    }
    engine.queue(batch.iter());
    loop {
        io_loop.engine.enter(1)?;
        let done = io_loop.engine.completions().next();
        if let Some(completion) = done {
            io_loop.slots.complete(completion.slot);
            let io = sync_of(file);
            if let Some(hooks) = &mut io_loop.submission_hooks {
                hooks.completed(completion.slot, &io, completion.result == 0);
            }
            return Ok(match completion.result {
                0 => Ending::Done,
                result => sync_failed(file, result),
            });
        }
    }
}

/// The ending after a sync of `file` that was refused with `result`, a negative errno.
pub(crate) fn sync_failed(file: u16, result: i64) -> Ending {
    Ending::Failed(IoFailure::new(&sync_of(file), result))
}

fn sync_of(file: u16) -> InFlight {
    InFlight { operation: Operation::Sync, file, ..InFlight::default() }
}
