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

use std::time::Instant;

/// Maximum length of a host's document, bytes: documents of others are untrusted data.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 256 << 20;
/// Maximum number of documents read from one folder or object storage.
pub(crate) const MAX_DOCUMENTS: usize = 100_000;
/// Minimum time of an attempt, whatever is left of a deadline.
#[cfg(any(feature = "postgres", feature = "push"))]
const MIN_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

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
    /// Content.
    pub(crate) text: String,
}

/// Reason why a destination refused a document.
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
