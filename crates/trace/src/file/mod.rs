//! The `.iotrace` file (docs/reference/iotrace.md): blocks with checksums, chunks of columns in them.

mod block;
mod chunk;
pub(crate) mod column;
mod index;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::io;

use iodyno_model::ModelLikeness;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Device;

pub use chunk::{CHUNK_IOS, Chunk};
pub use index::{ChunkPlace, Index};
pub use reader::Reader;
pub use writer::Writer;

/// The first bytes of a file; the last of them is the version.
const MAGIC: [u8; 8] = *b"IOTRACE\x01";
/// The last bytes of a file that was ended, behind the place of its last block.
const END_MAGIC: [u8; 8] = *b"IOTRend\x01";

/// Whether a file that begins with `bytes` is a trace of ours, of whatever version.
pub fn is_trace(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC[..7])
}

/// What is known of a trace before its first I/O.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Where its I/Os come from: `tracefs`, or the format that was read.
    pub source: String,
    /// When time 0 was, ns since 1970; none: the source does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<u64>,
    /// The step of its times, ns.
    pub tick_ns: u64,
    /// The kernel's clock: `mono`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Release of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The devices that were watched, with or without I/Os.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// Addresses are shifted and names left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anonymous: bool,
    /// It is a model: its blocks hold counts, of which I/Os are made with this seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// What is known at the end of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// How long the device was watched, ns.
    pub duration_ns: u64,
    /// I/Os.
    pub ios: u64,
    /// Events that the kernel dropped: the I/Os around them are missing or incomplete.
    pub lost: u64,
    /// I/Os whose completion was not seen, and completions of unknown I/Os.
    pub unmatched: u64,
    /// Of a model: how like it is to its trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<ModelLikeness>,
}

/// Why a trace is not read or written.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The system refuses.
    #[error("it cannot be read or written: {0}")]
    System(#[from] io::Error),
    /// Another kind of file.
    #[error("no trace of iodyno's (.iotrace)")]
    NotATrace,
    /// Made by a later iodyno.
    #[error("a trace of version {0}; this iodyno reads version 1")]
    Version(u8),
    /// Bytes are not as they were written; the blocks behind can be read.
    #[error("damaged at byte {at}: {what}")]
    Damaged {
        /// Where the damaged block begins, bytes.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// I/Os are to be written in the order of their times.
    #[error("an I/O at {at_ns} ns behind one at {before_ns} ns")]
    Order {
        /// Its time.
        at_ns: u64,
        /// That of the I/O before.
        before_ns: u64,
    },
}
