//! One HTTP connection: a request of bounded size, one answer, then close.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::stream::queue::{Line, Queue};

/// Maximum length of a request, bytes.
const MAX_REQUEST_BYTES: usize = 8 << 10;
/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 64;
/// Time limit for reading a request, and for writing an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time during which further input is read after the answer, so that it is not lost by a reset.
const LINGER: Duration = Duration::from_secs(1);

/// A parsed request.
pub(super) struct Request {
    pub(super) path: String,
    /// HEAD: no body is sent.
    pub(super) is_head: bool,
}

/// Answer to a request.
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    /// Further headers, each with its line break.
    pub(super) headers: String,
    /// `None`: lines follow as they are produced.
    pub(super) body: Option<Arc<[u8]>>,
}

impl Answer {
    pub(super) fn text(status: &'static str, text: &str) -> Self {
        let body = Some(format!("{text}\n").into_bytes().into());
        Self { status, kind: "text/plain; charset=utf-8", headers: String::new(), body }
    }

    /// Headers common to all answers: no caching, sniffing, framing or use by other sites.
    fn head(&self) -> Vec<u8> {
        let Self { status, kind, headers, body } = self;
        let length =
            body.as_ref().map_or(String::new(), |of| format!("Content-Length: {}\r\n", of.len()));
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}{headers}Connection: close\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\r\n"
        )
        .into_bytes()
    }
}

/// State of a connection.
enum Stage {
    Reading(Vec<u8>),
    /// Parts of the answer, bytes written of the first, and the lines that follow.
    Writing(Vec<Arc<[u8]>>, usize, Option<Queue>),
    /// Queue, and the current line with the number of bytes written.
    Streaming(Queue, Option<(Line, usize)>),
    /// Long poll: answered at the end of the run; true: without a body.
    Waiting(bool),
    Lingering,
    Closed,
}

/// A connection.
pub(super) struct Client {
    socket: TcpStream,
    at: Stage,
    since: Instant,
}

impl Client {
    pub(super) fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, at: Stage::Reading(Vec::new()), since: Instant::now() })
    }

    pub(super) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Poll events to wait for.
    pub(super) const fn poll_flags(&self) -> PollFlags {
        match &self.at {
            Stage::Writing(..) => PollFlags::OUT,
            Stage::Streaming(_, Some(_)) => PollFlags::IN.union(PollFlags::OUT),
            _ => PollFlags::IN,
        }
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.at, Stage::Closed)
    }

    pub(super) const fn is_stream(&self) -> bool {
        matches!(self.at, Stage::Streaming(..) | Stage::Writing(.., Some(_)))
    }

    /// Delays the answer until the end of the run.
    pub(super) fn wait(&mut self, is_head: bool) {
        self.at = Stage::Waiting(is_head);
    }

    /// Whether the delayed answer is to a HEAD request; `None`: no answer is delayed.
    pub(super) const fn waits_for_head(&self) -> Option<bool> {
        match self.at {
            Stage::Waiting(is_head) => Some(is_head),
            _ => None,
        }
    }

    /// True if lines or parts of an answer are still to be written.
    pub(super) fn has_pending(&self) -> bool {
        match &self.at {
            Stage::Streaming(queue, line) => line.is_some() || !queue.is_empty(),
            Stage::Writing(..) => true,
            _ => false,
        }
    }

    /// Queues a line if this client reads the stream.
    pub(super) fn push(&mut self, line: &Line) {
        if let Stage::Streaming(queue, _) | Stage::Writing(_, _, Some(queue)) = &mut self.at {
            queue.push(line);
        }
    }

    /// Continues without blocking; returns a complete request, which has to be
    /// [answered](Self::answer).
    pub(super) fn advance(&mut self) -> Option<Result<Request, Answer>> {
        let stepped = self.step();
        if stepped.as_ref().is_err_and(|error| error.kind() != ErrorKind::WouldBlock) {
            self.at = Stage::Closed;
        }
        let limit = match self.at {
            Stage::Streaming(..) | Stage::Waiting(_) => Duration::MAX,
            Stage::Lingering => LINGER,
            _ => TIMEOUT,
        };
        if self.since.elapsed() > limit {
            self.at = Stage::Closed;
        }
        stepped.ok().flatten()
    }

    /// Starts to write an answer, followed by the lines of `queue`.
    pub(super) fn answer(&mut self, answer: &Answer, is_head: bool, queue: Option<Queue>) {
        let mut parts = vec![answer.head().into()];
        parts.extend(answer.body.clone().filter(|body| !is_head && !body.is_empty()));
        (self.at, self.since) =
            (Stage::Writing(parts, 0, queue.filter(|_| !is_head)), Instant::now());
    }

    fn step(&mut self) -> io::Result<Option<Result<Request, Answer>>> {
        let mut socket = &self.socket;
        match &mut self.at {
            Stage::Reading(request) => loop {
                let mut bytes = [0; 2048];
                let read = socket.read(&mut bytes)?;
                if read == 0 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                request.extend_from_slice(&bytes[..read]);
                match parsed(request) {
                    None if request.len() >= MAX_REQUEST_BYTES => return Ok(Some(Err(too_long()))),
                    None => {}
                    complete => return Ok(complete),
                }
            },
            Stage::Writing(parts, written, queue) => {
                while let Some(part) = parts.first() {
                    *written += socket.write(&part[*written..])?;
                    if *written == part.len() {
                        parts.remove(0);
                        *written = 0;
                    }
                }
                self.since = Instant::now();
                self.at = match queue.take() {
                    Some(queue) => Stage::Streaming(queue, None),
                    None => {
                        socket.shutdown(Shutdown::Write)?;
                        Stage::Lingering
                    }
                };
                self.step()
            }
            Stage::Streaming(queue, line) => {
                loop {
                    if line.is_none() {
                        *line = queue.pop().map(|next| (next, 0));
                    }
                    let Some((now, written)) = line else { break };
                    match socket.write(&now.bytes[*written..]) {
                        Ok(more) => *written += more,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                        Err(error) => return Err(error),
                    }
                    if *written == now.bytes.len() {
                        *line = None;
                    }
                }
                // Detects that the client has disconnected.
                discard(socket)
            }
            Stage::Waiting(_) | Stage::Lingering => discard(socket),
            Stage::Closed => Ok(None),
        }
    }
}

/// Reads and discards input, a bounded amount at a time.
fn discard<T>(mut socket: &TcpStream) -> io::Result<Option<T>> {
    let mut bytes = [0; 8192];
    for _ in 0..32 {
        if socket.read(&mut bytes)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(None)
}

fn too_long() -> Answer {
    Answer::text("431 Request Header Fields Too Large", "the request is too long")
}

/// Parses the request; `None`: it is incomplete.
fn parsed(bytes: &[u8]) -> Option<Result<Request, Answer>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Some(Err(too_long())),
        Err(_) => return Some(Err(Answer::text("400 Bad Request", "not an HTTP request"))),
    }
    let hosts: Vec<&[u8]> = request
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("host"))
        .map(|header| header.value)
        .collect();
    let is_ours = matches!(hosts[..], [host] if std::str::from_utf8(host).is_ok_and(is_own));
    let is_head = request.method == Some("HEAD");
    Some(if !is_ours {
        Err(Answer::text("403 Forbidden", "wrong host name; use the address"))
    } else if !is_head && request.method != Some("GET") {
        let refused = Answer::text("405 Method Not Allowed", "only GET and HEAD");
        Err(Answer { headers: "Allow: GET, HEAD\r\n".into(), ..refused })
    } else {
        let path = request.path.unwrap_or_default();
        Ok(Request { path: path.split('?').next().unwrap_or_default().into(), is_head })
    })
}

/// True if this machine is called so: an address, `localhost`, or its own name. Pages of any other
/// name that resolves to us (DNS rebinding) get nothing.
fn is_own(host: &str) -> bool {
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let system = rustix::system::uname();
    let own = system.nodename().to_str().unwrap_or_default();
    let short = own.split('.').next().unwrap_or_default();
    bare.parse::<IpAddr>().is_ok()
        || ["localhost", own, short]
            .iter()
            .any(|name| !name.is_empty() && name.eq_ignore_ascii_case(bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_names_are_answered() {
        for own in ["127.0.0.1:80", "127.0.0.1", "[::1]:8080", "localhost:9", "LOCALHOST"] {
            assert!(is_own(own), "{own}");
        }
        for other in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "a b", "[x]"]
        {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn a_request_is_read_once_it_is_complete() {
        let whole = "HEAD /metrics?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert!(parsed(&whole.as_bytes()[..whole.len() - 2]).is_none());
        let Some(Ok(request)) = parsed(whole.as_bytes()) else { panic!("not read") };
        assert_eq!((request.path.as_str(), request.is_head), ("/metrics", true));
        let refused = |text: &str| match parsed(text.as_bytes()) {
            Some(Err(answer)) => answer.status,
            _ => "not refused",
        };
        assert!(refused("GET / HTTP/1.1\r\n\r\n").starts_with("403"), "no host");
        assert!(refused("GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n").starts_with("403"));
        assert!(refused("PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("405"));
        assert!(refused("\u{1}\u{2}\r\n\r\n").starts_with("400"));
    }
}
