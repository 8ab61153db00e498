//! I/O traces: the I/Os that a device was given, their times and latencies.
//!
//! A trace is a stream of [`Io`]s in order of time; nothing in this crate holds all of it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod bpf;
mod event;
mod file;
mod heatmap;
mod io;
mod matching;
mod model;
mod names;
pub mod read;
mod summary;
mod traced;
pub mod tracefs;
pub mod write;

pub use event::{Event, Step};
pub use file::{
    CHUNK_IOS, Chunk, ChunkPlace, Ending, Header, Index, Reader, TraceError, Writer, is_trace,
};
pub use io::{Flags, Io, Latency, Operation};
pub use matching::Matcher;
pub use names::{Actor, Device, Names};
pub use summary::Counter;
pub use traced::Traced;
