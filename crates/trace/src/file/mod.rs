//! The `.iotrace` file (docs/reference/iotrace.md): checksummed blocks that contain chunks of
//! columns.

mod block;
mod chunk;
pub(crate) mod column;
mod index;
mod plane;
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

/// First bytes of a file; the last of them is the version.
const MAGIC: [u8; 8] = *b"IOTRACE\x01";
/// Last bytes of a completed file, after the position of its last block.
const END_MAGIC: [u8; 8] = *b"IOTRend\x01";

/// True if a file that begins with `bytes` is an iodyno trace of any version.
pub fn is_trace(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC[..7])
}

/// Facts known before a trace's first I/O.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Source of its I/Os: `tracefs`, or the imported format.
    pub source: String,
    /// Time 0, ns since 1970; `None` if the source does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<u64>,
    /// Resolution of its times, ns.
    pub tick_ns: u64,
    /// The kernel's clock: `mono`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Release of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The traced devices, with or without I/Os.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// True if addresses are shifted and names removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anonymous: bool,
    /// For a model: seed for generating I/Os from the counts in its blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Facts known at the end of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// Duration of the recording, ns.
    pub duration_ns: u64,
    /// Number of I/Os.
    pub ios: u64,
    /// Events that the kernel dropped: the I/Os around them are missing or incomplete.
    pub lost: u64,
    /// I/Os whose completion was not seen, and completions of unknown I/Os.
    pub unmatched: u64,
    /// For a model: similarity to its trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<ModelLikeness>,
}

/// Reason why a trace cannot be read or written.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A system call failed.
    #[error("cannot read or write it: {0}")]
    System(#[from] io::Error),
    /// The file is not an iodyno trace.
    #[error("not an iodyno trace (.iotrace)")]
    NotATrace,
    /// The file was written by a later iodyno.
    #[error("trace version {0}; this iodyno reads version 1")]
    Version(u8),
    /// The bytes were altered; the blocks after the damage can be read.
    #[error("damaged at byte {at}: {what}")]
    Damaged {
        /// Offset of the damaged block, bytes.
        at: u64,
        /// Description of the damage.
        what: &'static str,
    },
    /// I/Os must be written in order of time.
    #[error("an I/O at {at_ns} ns after one at {before_ns} ns")]
    Order {
        /// Time of the I/O.
        at_ns: u64,
        /// Time of the previous I/O.
        before_ns: u64,
    },
}
