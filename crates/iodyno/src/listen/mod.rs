//! `--listen`: serves the live page, OpenMetrics and the stream, read-only, on one thread.

mod http;
mod view;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use iodyno_report::document::stream::StreamRecord;
use iodyno_report::page::{LIVE_POLICY, live_data, live_page};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::background;
use crate::context::Usage;
use crate::stream::THREADS;
use crate::stream::queue::{Line, Queue};
use crate::terminal;
use http::{Answer, Client};
pub(crate) use view::View;

/// Maximum number of connections.
const MAX_CLIENTS: usize = 32;
/// Maximum number of these that read the stream.
const MAX_STREAMS: usize = 8;
/// Interval between checks of time limits.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Time at the end for readers of the stream and open pages to get the rest.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Time at the end for the server's thread, which is nice, to get a CPU and do that.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The server as seen by the measuring thread, which never waits for it.
pub(crate) struct Server {
    shared: Arc<Shared>,
    /// Closed when the server has ended.
    over: Receiver<()>,
}

struct Shared {
    state: Mutex<State>,
    wake: OwnedFd,
}

#[derive(Default)]
struct State {
    view: View,
    /// Lines not yet sent to any client.
    new: Queue,
    /// Lines that a later client needs first: the starts of what is running.
    context: Vec<Line>,
    is_over: bool,
}

impl Server {
    /// Listens at `address` and prints the URL.
    ///
    /// # Errors
    /// The address is not available.
    pub(crate) fn start(address: SocketAddr, quiet: bool) -> Result<Self> {
        let failed = |error| Usage(format!("--listen {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true)?;
        let local = listener.local_addr()?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { state: Mutex::default(), wake });
        let (tell, over) = channel();
        let serves = Arc::clone(&shared);
        background::spawn(THREADS, move || {
            ServerThread { listener, shared: serves, clients: Vec::new(), cached: None }.run();
            drop(tell);
        })?;
        if !quiet || address.port() == 0 {
            terminal::note(&format!("live page: http://{local}/ (also /metrics and /stream)"));
        }
        Ok(Self { shared, over })
    }

    /// Sends a line to all readers of the stream.
    pub(crate) fn publish(&self, line: &Line, record: &StreamRecord) {
        let mut state = self.shared.lock();
        state.new.push(line);
        match record {
            StreamRecord::RunStart(_) => state.context = vec![line.clone()],
            StreamRecord::MeasurementStart(_) => state.context.push(line.clone()),
            StreamRecord::MeasurementEnd(_) => state.context.truncate(1),
            _ => {}
        }
        drop(state);
        self.shared.wake();
    }

    /// Changes the view.
    pub(crate) fn show(&self, change: impl FnOnce(&mut View)) {
        change(&mut self.shared.lock().view);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.wake();
        let _ = self.over.recv_timeout(END_TIMEOUT);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

/// State of the server thread.
struct ServerThread {
    listener: TcpListener,
    shared: Arc<Shared>,
    clients: Vec<Client>,
    /// Last answer with the page's figures, and its version of the view.
    cached: Option<(u64, Arc<[u8]>)>,
}

impl ServerThread {
    fn run(mut self) {
        let (mut over_since, mut is_full) = (None, false);
        loop {
            self.wait(is_full);
            let _ = rustix::io::read(&self.shared.wake, &mut [0; 8]);
            let mut state = self.shared.lock();
            if state.is_over {
                over_since.get_or_insert_with(Instant::now);
            }
            while let Some(line) = state.new.pop() {
                self.clients.iter_mut().for_each(|client| client.push(&line));
            }
            drop(state);
            is_full = self.accept();
            for n in 0..self.clients.len() {
                if let Some(asked) = self.clients[n].advance() {
                    self.answer(n, asked);
                    self.clients[n].advance();
                }
            }
            self.clients.retain(|client| !client.is_closed());
            if let Some(since) = over_since {
                let waits = self.send_final_figures();
                if !waits || since.elapsed() >= DRAIN_TIMEOUT {
                    return;
                }
            }
        }
    }

    /// Waits for an event; `is_full`: no connection can be accepted.
    fn wait(&self, is_full: bool) {
        let listens = if is_full { PollFlags::empty() } else { PollFlags::IN };
        let mut polled = vec![
            PollFd::new(&self.shared.wake, PollFlags::IN),
            PollFd::new(&self.listener, listens),
        ];
        let poll_flags =
            |client| PollFd::from_borrowed_fd(Client::socket(client).as_fd(), client.poll_flags());
        polled.extend(self.clients.iter().map(poll_flags));
        let look = Timespec::try_from(CHECK_INTERVAL).ok();
        let is_idle = self.clients.is_empty() && !is_full;
        // If interrupted, the loop continues and waits again.
        let _ = poll(&mut polled, look.as_ref().filter(|_| !is_idle));
    }

    /// Accepts new connections; beyond the limit the oldest plain reader is closed. Returns true if
    /// the system has no room for another.
    fn accept(&mut self) -> bool {
        loop {
            let socket: TcpStream = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
            };
            if self.clients.len() >= MAX_CLIENTS {
                match self.clients.iter().position(|client| !client.is_stream()) {
                    Some(oldest) => drop(self.clients.remove(oldest)),
                    None => continue,
                }
            }
            self.clients.extend(Client::new(socket));
        }
    }

    fn answer(&mut self, n: usize, asked: Result<http::Request, Answer>) {
        let request = match asked {
            Ok(request) => request,
            Err(refused) => return self.clients[n].answer(&refused, false, None),
        };
        let found = |kind, headers: String, body| Answer { status: "200 OK", kind, headers, body };
        let mut lines = None;
        let answer = match request.path.as_str() {
            "/" => {
                let policy = format!("Content-Security-Policy: {}\r\n", *LIVE_POLICY);
                found("text/html; charset=utf-8", policy, Some(page()))
            }
            "/figures" => found("application/json", String::new(), Some(self.figures())),
            "/end" => return self.clients[n].wait(request.is_head),
            "/metrics" => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                let text = self.shared.lock().view.metrics();
                found(kind, String::new(), Some(text.into_bytes().into()))
            }
            "/stream"
                if self.clients.iter().filter(|one| one.is_stream()).count() < MAX_STREAMS =>
            {
                lines = Some(self.context());
                found("application/x-ndjson", String::new(), None)
            }
            "/stream" => Answer::text("503 Service Unavailable", "too many stream readers"),
            _ => Answer::text("404 Not Found", "available: /, /metrics, /stream"),
        };
        self.clients[n].answer(&answer, request.is_head, lines);
    }

    /// First lines for a new reader of the stream.
    fn context(&mut self) -> Queue {
        let (mut state, mut queue) = (self.shared.lock(), Queue::default());
        // Existing clients get pending lines first, so that nobody gets a line twice.
        while let Some(line) = state.new.pop() {
            self.clients.iter_mut().for_each(|client| client.push(&line));
        }
        state.context.iter().for_each(|line| queue.push(line));
        queue
    }

    /// Figures that the page's script draws.
    fn figures(&mut self) -> Arc<[u8]> {
        let state = self.shared.lock();
        let version = state.view.version;
        if let Some((of, bytes)) = &self.cached
            && *of == version
        {
            return Arc::clone(bytes);
        }
        let live = state.view.live();
        drop(state);
        let bytes: Arc<[u8]> = live_data(live).to_string().into_bytes().into();
        self.cached = Some((version, Arc::clone(&bytes)));
        bytes
    }

    /// Sends the last figures to pages that wait for the end; returns true if anything is still to
    /// be sent.
    fn send_final_figures(&mut self) -> bool {
        for n in 0..self.clients.len() {
            if let Some(is_head) = self.clients[n].waits_for_head() {
                let kind = "application/json";
                let (headers, body) = (String::new(), Some(self.figures()));
                let last = Answer { status: "200 OK", kind, headers, body };
                self.clients[n].answer(&last, is_head, None);
                self.clients[n].advance();
            }
        }
        self.clients.iter().any(Client::has_pending)
    }
}

fn page() -> Arc<[u8]> {
    static PAGE: LazyLock<Arc<[u8]>> =
        LazyLock::new(|| live_page().unwrap_or_default().into_bytes().into());
    Arc::clone(&PAGE)
}
