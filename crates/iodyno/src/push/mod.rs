//! Pushes documents to a store that many machines write to: a directory, HTTP, object storage,
//! Postgres. Nothing listens; a document that could not be sent is kept and sent later.

mod destination;
#[cfg(feature = "push")]
mod http;
#[cfg(not(feature = "push"))]
#[path = "no_http.rs"]
mod http;
mod outbox;
#[cfg(feature = "postgres")]
mod passfile;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(not(feature = "postgres"))]
#[path = "no_postgres.rs"]
mod postgres;
#[cfg(feature = "push")]
mod s3;
#[cfg(not(feature = "push"))]
#[path = "no_s3.rs"]
mod s3;
#[cfg(any(feature = "postgres", feature = "push"))]
mod tls;

pub(crate) use destination::DestinationRef;
pub(crate) use outbox::Outbox;

use std::time::{Duration, Instant};

/// Maximum length of a host's document, bytes: documents of others are untrusted data.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 256 << 20;
/// Maximum number of documents read from one folder or object storage.
pub(crate) const MAX_DOCUMENTS: usize = 100_000;
/// Maximum number of attempts.
const MAX_TRIES: u32 = 4;
/// First pause between two attempts; doubled each time, and randomised between half and all of it.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Minimum time of an attempt, whatever is left of a deadline.
#[cfg(any(feature = "postgres", feature = "push"))]
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A document, or its measurements as a table, under a name unique to this machine.
pub(crate) struct Upload<'a> {
    /// `HOST.HOSTID.RUN.json`, or `.parquet`.
    pub(crate) name: &'a str,
    /// Content.
    pub(crate) bytes: &'a [u8],
    /// Deadline of all attempts.
    pub(crate) until: Instant,
}

impl Upload<'_> {
    fn is_table(&self) -> bool {
        self.name.ends_with(".parquet")
    }
}

/// A document that another machine pushed.
pub(crate) struct Document {
    /// Its place, for people to read.
    pub(crate) name: String,
    /// Content, or why it cannot be read.
    pub(crate) text: Result<String, PushError>,
}

/// Reason why a destination refused a document, or does not give one.
#[derive(Debug)]
pub(crate) struct PushError {
    /// Reason, for people to read.
    pub(crate) why: String,
    /// Temporary: it may accept the document in a moment.
    pub(crate) is_temporary: bool,
}

impl PushError {
    /// Temporary refusal.
    pub(crate) fn temporary(why: impl ToString) -> Self {
        Self { why: why.to_string(), is_temporary: true }
    }

    /// Permanent refusal: something has to be changed first.
    pub(crate) fn permanent(why: impl ToString) -> Self {
        Self { why: why.to_string(), is_temporary: false }
    }
}

/// Attempts something, with retries as long as they may help, until `until`.
fn with_retries<T>(
    until: Instant,
    mut attempt: impl FnMut() -> Result<T, PushError>,
) -> Result<T, PushError> {
    let mut pause = FIRST_PAUSE;
    let mut tries = 1;
    loop {
        let refused = match attempt() {
            Ok(done) => return Ok(done),
            Err(refused) => refused,
        };
        // Random pauses: a thousand machines that failed together must not retry together.
        let wait = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        if !refused.is_temporary || tries == MAX_TRIES || Instant::now() + wait >= until {
            return Err(refused);
        }
        std::thread::sleep(wait);
        pause *= 2;
        tries += 1;
    }
}
