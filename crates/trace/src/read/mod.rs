//! Reads other tools' traces as streams; formats are detected by a file's first bytes.

mod blkparse;
pub mod blktrace;
pub mod iolog;
mod lines;
mod sort_window;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod vscsi;

use std::io;

use thiserror::Error;

pub use source::{Skipped, Source};

/// Readable formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// blktrace's binary files, version 7.
    Blktrace,
    /// blkparse's text.
    Blkparse,
    /// fio's text, version 2 or 3.
    Iolog,
    /// biosnoop of bcc and of libbpf-tools.
    Biosnoop,
    /// Microsoft Research, Cambridge (SNIA 387).
    Msr,
    /// Event Tracing for Windows as text (SNIA 158).
    Etw,
    /// FIU: SRCMap and IODedup (SNIA 411).
    Fiu,
    /// SYSTOR'17: virtual desktops (SNIA 4928).
    Systor,
    /// Alibaba's block traces, 2020.
    Alibaba,
    /// Tencent's block store (SNIA 28064).
    Tencent,
    /// CloudPhysics' records of VMware's vscsiStats.
    Vscsi,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 11] = [
        Self::Blktrace,
        Self::Blkparse,
        Self::Iolog,
        Self::Biosnoop,
        Self::Msr,
        Self::Etw,
        Self::Fiu,
        Self::Systor,
        Self::Alibaba,
        Self::Tencent,
        Self::Vscsi,
    ];

    /// Name of the format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blktrace => "blktrace",
            Self::Blkparse => "blkparse",
            Self::Iolog => "iolog",
            Self::Biosnoop => "biosnoop",
            Self::Msr => "msr-cambridge",
            Self::Etw => "etw",
            Self::Fiu => "fiu",
            Self::Systor => "systor17",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Vscsi => "vscsi",
        }
    }

    /// Resolution of its times, ns.
    pub const fn tick_ns(self) -> u64 {
        match self {
            Self::Blktrace | Self::Blkparse | Self::Fiu => 1,
            Self::Msr => 100,
            Self::Biosnoop => 10_000,
            Self::Tencent => 1_000_000_000,
            Self::Iolog | Self::Etw | Self::Systor | Self::Alibaba | Self::Vscsi => 1000,
        }
    }

    /// True if it has latencies.
    pub const fn has_latency(self) -> bool {
        !matches!(self, Self::Iolog | Self::Fiu | Self::Alibaba | Self::Tencent | Self::Vscsi)
    }

    /// Detects the format of a file that begins with `head`: some kilobytes, or all of it.
    pub fn of(head: &[u8]) -> Option<Self> {
        if blktrace::is_blktrace(head) {
            return Some(Self::Blktrace);
        }
        if vscsi::is_vscsi(head) {
            return Some(Self::Vscsi);
        }
        let text = match std::str::from_utf8(head) {
            Ok(text) => text,
            // Cut within a character.
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return None,
        };
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next()?;
        if iolog::is_head(first) {
            return Some(Self::Iolog);
        }
        if tables::Biosnoop::of(first).is_some() {
            return Some(Self::Biosnoop);
        }
        if first == "BeginHeader" {
            return Some(Self::Etw);
        }
        // Others have at most one heading line.
        let lines = [Some(first), lines.next()];
        lines.into_iter().flatten().find_map(|line| {
            if blkparse::is_event(line) {
                return Some(Self::Blkparse);
            }
            let tables =
                [Self::Msr, Self::Etw, Self::Fiu, Self::Systor, Self::Alibaba, Self::Tencent];
            tables.into_iter().find(|format| tables::row(*format, line).is_some())
        })
    }
}

/// Reason why a trace cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(#[from] io::Error),
    /// An `.iotrace` that cannot be read.
    #[error(transparent)]
    Trace(#[from] crate::TraceError),
    /// Neither a blktrace nor an iolog.
    #[error("neither a blktrace nor a fio iolog (version 2 or 3)")]
    NotALog,
    /// None of the known formats.
    #[error(
        "unknown trace; iodyno reads .iotrace, blktrace, blkparse, fio's iolog, biosnoop (bcc, \
         libbpf-tools), MSR, ETW, FIU, SYSTOR, Alibaba, Tencent, vscsi"
    )]
    Unknown,
    /// An entry that does not follow its format.
    #[error("{unit} {number}: {what}")]
    Entry {
        /// Unit of counting: line or record.
        unit: &'static str,
        /// Number of the entry, from 1.
        number: u64,
        /// Description of the error.
        what: &'static str,
    },
}
