//! What commands that carry jobs out have in common.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use iodyno_campaign::MadeBy;

use super::Table;
use crate::context::Usage;

/// How jobs are carried out.
#[derive(Debug, Args)]
pub(crate) struct Carrying {
    /// Load generator [default: native, or the plan's]
    #[arg(long, value_enum)]
    pub(crate) generator: Option<RunGenerator>,
    /// fio binary for `--generator fio` [default: the one in PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) fio: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) allowing: Allowing,
    /// Additional data sheets, a TOML file; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) datasheet: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) streaming: Streaming,
    #[command(flatten)]
    pub(crate) table: Table,
}

/// What is shown to others while it goes on.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Streaming {
    /// Write a JSON line per second and measurement to a file, a pipe, a socket (unix:PATH) or
    /// standard output (-), in place of the results (docs/stream.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) stream: Option<PathBuf>,
    /// Serve a live page, /metrics and /stream, read-only; a port alone is on loopback, 0 is any
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = crate::listen::address)]
    pub(crate) listen: Option<SocketAddr>,
}

/// What may be written.
#[derive(Debug, Args)]
pub(crate) struct Allowing {
    /// Allow writes and trims to this device: SERIAL[:nsid], WWID or by-id name; UUID or NAME:SIZE
    /// for dm, md and loop devices; the path of an existing file
    #[arg(long, value_name = "WORD")]
    pub(crate) allow_write: Vec<String>,
    /// Allow the loss of unused data on this device (a partition table, an unmounted file system,
    /// blocks of unknown content)
    #[arg(long, value_name = "WORD")]
    pub(crate) discard_data: Vec<String>,
    /// Vouch that nobody uses this device or file, where iodyno cannot check it: without root, in a
    /// container, for a drive that other hosts share
    #[arg(long, value_name = "WORD")]
    pub(crate) assume_unused: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunGenerator {
    /// iodyno's own
    Native,
    /// fio, as a child
    Fio,
}

impl RunGenerator {
    /// The same in a plan's words.
    pub(crate) const fn made_by(self) -> MadeBy {
        match self {
            Self::Native => MadeBy::Native,
            Self::Fio => MadeBy::Fio,
        }
    }
}

impl Carrying {
    /// What may be written, and lost.
    pub(crate) fn permission(&self) -> iodyno_target::Permission {
        self.allowing.permission()
    }
}

impl Streaming {
    /// Whether anything is asked for.
    pub(crate) const fn is_empty(&self) -> bool {
        self.stream.is_none() && self.listen.is_none()
    }

    /// Refuses `--stream -` beside a document that is to stand on standard output, if one is.
    pub(crate) fn refuse_beside(&self, is_asked: bool, what: &str) -> Result<(), Usage> {
        match self.stream.as_deref() {
            Some(path) if is_asked && path == Path::new("-") => Err(Usage(format!(
                "--stream - and {what} both want standard output: let the stream go to a file, or \
                 print the run afterwards (iodyno show)"
            ))),
            _ => Ok(()),
        }
    }
}

impl Allowing {
    /// What may be written, and lost.
    pub(crate) fn permission(&self) -> iodyno_target::Permission {
        iodyno_target::Permission {
            allow_write: self.allow_write.clone(),
            discard_data: self.discard_data.clone(),
            assume_unused: self.assume_unused.clone(),
        }
    }
}
