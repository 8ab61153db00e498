//! Output of `--stream` on a thread of its own, so that no reader can hold up a measurement.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use iodyno_files::{NameOrigin, There};

use super::queue::{Line, Queue};
use crate::background;
use crate::context::Usage;
use crate::supervisor::require_output;
use crate::terminal;

/// Time at the end for a reader to take the rest.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Time at the end for the writer's thread, which is nice, to get a CPU and begin with the rest.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The writing end of a stream.
pub(crate) struct StreamWriter {
    name: String,
    shared: Arc<Shared>,
    /// Set if records are lost, unless by the reader.
    incomplete: Arc<AtomicBool>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: Queue,
    /// A line is being written.
    is_writing: bool,
    /// No more lines will come.
    is_over: bool,
    /// Error after which nothing can be written.
    failed: Option<io::Error>,
}

/// Destination of the stream.
enum Destination {
    Stdout,
    File(File),
    /// A file that keeps its content until something is measured: the run may be refused.
    Kept(PathBuf),
    /// A pipe, FIFO or terminal, whose open may block until it has a reader.
    Late(PathBuf),
    Socket(UnixStream),
}

impl StreamWriter {
    /// Opens the destination of `--stream`.
    ///
    /// # Errors
    /// It must not be written, or cannot be.
    pub(crate) fn open(path: &Path, incomplete: Arc<AtomicBool>) -> Result<Self> {
        let name = path.display().to_string();
        let destination = if path == Path::new("-") {
            require_output().context("standard output")?;
            terminal::reserve_output();
            Destination::Stdout
        } else if let Some(socket) = path.as_os_str().as_bytes().strip_prefix(b"unix:") {
            let socket = Path::new(std::ffi::OsStr::from_bytes(socket));
            let connected = UnixStream::connect(socket);
            let why = |error| Usage(format!("--stream {name}: no listener: {error}"));
            Destination::Socket(connected.map_err(why)?)
        } else {
            let usage = |error: iodyno_files::FileError| Usage(error.to_string());
            match iodyno_files::look(path, NameOrigin::User).map_err(usage)? {
                There::Stream => Destination::Late(path.into()),
                There::Nothing => {
                    Destination::File(iodyno_files::create(path, NameOrigin::User).map_err(usage)?)
                }
                There::File(_) => {
                    // Refuses early what cannot be written.
                    iodyno_files::append(path, NameOrigin::User).map_err(usage)?;
                    Destination::Kept(path.into())
                }
            }
        };
        let shared = Arc::<Shared>::default();
        let writes = Arc::clone(&shared);
        background::spawn(super::THREADS, move || {
            if let Err(error) = write_all(&writes, destination) {
                writes.lock().failed = Some(error);
            }
            writes.changed.notify_all();
        })?;
        Ok(Self { name, shared, incomplete })
    }

    /// Queues a line; never waits.
    pub(crate) fn push(&self, line: &Line) {
        let mut state = self.shared.lock();
        match state.failed {
            Some(_) => state.queue.drop_line(line),
            None => state.queue.push(line),
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Drop for StreamWriter {
    /// Waits for the reader within the time limit, and reports dropped lines.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        self.shared.changed.notify_all();
        fn is_left(state: &mut State) -> bool {
            state.failed.is_none() && (state.is_writing || !state.queue.is_empty())
        }
        let wait = |state, timeout, until: fn(&mut State) -> bool| {
            let waited = self.shared.changed.wait_timeout_while(state, timeout, until);
            waited.unwrap_or_else(PoisonError::into_inner).0
        };
        let state = wait(state, BEGIN_TIMEOUT, |state| is_left(state) && !state.is_writing);
        let mut state = wait(state, DRAIN_TIMEOUT, is_left);
        let cut = u64::from(state.is_writing && state.failed.is_none());
        let (seconds, others) = state.queue.drop_all();
        if seconds + others + cut > 0 {
            let why = match &state.failed {
                None => "the reader is too slow".into(),
                Some(error) => {
                    let by_reader = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
                    if !by_reader.contains(&error.kind()) {
                        self.incomplete.store(true, Ordering::Relaxed);
                    }
                    error.to_string()
                }
            };
            let name = &self.name;
            terminal::note(&format!(
                "--stream {name}: incomplete, {seconds} seconds and {} other records were dropped: \
                 {why}",
                others + cut
            ));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes queued lines until there are no more to come.
fn write_all(shared: &Shared, mut to: Destination) -> io::Result<()> {
    if matches!(to, Destination::Late(_)) {
        to.open()?;
    }
    let mut held = Vec::new();
    loop {
        let is_idle = |state: &mut State| state.queue.is_empty() && !state.is_over;
        let waited = shared.changed.wait_while(shared.lock(), is_idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(line) = state.queue.pop() else { return Ok(()) };
        state.is_writing = true;
        drop(state);
        held.extend_from_slice(&line.bytes);
        let result = match &to {
            Destination::Kept(_) if line.is_frame => Ok(()),
            _ => to.open().and_then(|()| to.write_all(&std::mem::take(&mut held))),
        };
        let mut state = shared.lock();
        state.is_writing = false;
        if result.is_err() {
            state.queue.drop_line(&line);
        }
        drop(state);
        shared.changed.notify_all();
        result?;
    }
}

impl Destination {
    /// Opens it for writing, if it is not open yet.
    fn open(&mut self) -> io::Result<()> {
        if let Self::Kept(path) | Self::Late(path) = self {
            let file = iodyno_files::create(path, NameOrigin::User);
            *self = Self::File(file.map_err(io::Error::other)?);
        }
        Ok(())
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            // Bypasses the standard library's lock: others print, and end, while this blocks.
            Self::Stdout => Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?),
            Self::File(file) => file.write(bytes),
            Self::Socket(socket) => socket.write(bytes),
            Self::Kept(_) | Self::Late(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
