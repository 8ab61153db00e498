//! Other tools' traces, read as streams: what a file is shows in its first bytes.

mod blkparse;
pub mod blktrace;
pub mod iolog;
mod lines;
mod order;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod vscsi;

use std::io;

use thiserror::Error;

pub use source::{Skipped, Source};

/// What can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// blktrace's binary files, version 7.
    Blktrace,
    /// blkparse's text.
    Blkparse,
    /// fio's text, version 2 or 3.
    Iolog,
    /// bcc's biosnoop.
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
    /// All of them.
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

    /// Its name.
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

    /// The step of its times, ns.
    pub const fn tick_ns(self) -> u64 {
        match self {
            Self::Blktrace | Self::Blkparse | Self::Fiu => 1,
            Self::Msr => 100,
            Self::Biosnoop => 10_000,
            Self::Tencent => 1_000_000_000,
            Self::Iolog | Self::Etw | Self::Systor | Self::Alibaba | Self::Vscsi => 1000,
        }
    }

    /// Whether it has latencies.
    pub const fn has_latency(self) -> bool {
        !matches!(self, Self::Iolog | Self::Fiu | Self::Alibaba | Self::Tencent | Self::Vscsi)
    }

    /// What a file is that begins with `head`: some kilobytes, or all of it.
    pub fn of(head: &[u8]) -> Option<Self> {
        if blktrace::is_blktrace(head) {
            return Some(Self::Blktrace);
        }
        if vscsi::is_vscsi(head) {
            return Some(Self::Vscsi);
        }
        let text = match std::str::from_utf8(head) {
            Ok(text) => text,
            // Cut within a letter.
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
        // Others have at most one line above their I/Os.
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

/// Why a trace is not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// One of ours that cannot be read.
    #[error(transparent)]
    Trace(#[from] crate::TraceError),
    /// It is none of the formats.
    #[error("neither a blktrace nor an iolog of fio's versions 2 or 3")]
    NotALog,
    /// It is none of the formats.
    #[error(
        "no trace that iodyno reads: .iotrace, blktrace, blkparse, fio's iolog, biosnoop (bcc), \
         MSR, ETW, FIU, SYSTOR, Alibaba, Tencent, vscsi"
    )]
    Unknown,
    /// An entry that is not as its format says.
    #[error("{unit} {number}: {what}")]
    Entry {
        /// What is counted: lines or records.
        unit: &'static str,
        /// Which of them, from 1.
        number: u64,
        /// What is wrong.
        what: &'static str,
    },
}
