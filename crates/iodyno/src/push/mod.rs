//! Documents given to a store that many machines write to: a directory, HTTP, object storage, Postgres.
//! Nothing listens; what could not be given is kept and given later.

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

pub(crate) use destination::Reference;
pub(crate) use outbox::Outbox;

use std::time::Instant;

/// A host's document is no longer, bytes: what others push is data.
pub(crate) const MOST_DOCUMENT_BYTES: u64 = 256 << 20;
/// An attempt may take so long, whatever is left of a deadline.
#[cfg(any(feature = "postgres", feature = "push"))]
const SHORTEST: std::time::Duration = std::time::Duration::from_secs(1);

/// A document, or its measurements as a table, under the name that no other machine gives to one.
pub(crate) struct Parcel<'a> {
    /// `HOST.HOSTID.RUN.json`, or `.parquet`.
    pub(crate) name: &'a str,
    /// It.
    pub(crate) bytes: &'a [u8],
    /// No attempt goes on after this.
    pub(crate) until: Instant,
}

impl Parcel<'_> {
    fn is_table(&self) -> bool {
        self.name.ends_with(".parquet")
    }
}

/// A document that another machine gave to a store.
pub(crate) struct Document {
    /// Where it is, in words, for people.
    pub(crate) name: String,
    /// It.
    pub(crate) text: String,
}

/// Why a destination did not take a document.
#[derive(Debug)]
pub(crate) struct Refused {
    /// In words, for people.
    pub(crate) why: String,
    /// It may take it in a moment.
    pub(crate) for_now: bool,
}

impl Refused {
    /// It may take it in a moment.
    pub(crate) fn now(why: impl ToString) -> Self {
        Self { why: why.to_string(), for_now: true }
    }

    /// Something has to be changed before it takes it.
    pub(crate) fn at_all(why: impl ToString) -> Self {
        Self { why: why.to_string(), for_now: false }
    }
}
