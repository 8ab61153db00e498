//! What commands that carry jobs out have in common.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iodyno_campaign::MadeBy;

use super::Table;

/// How jobs are carried out.
#[derive(Debug, Args)]
pub(crate) struct Carrying {
    /// Who makes the I/O [default: native, or what the plan says]
    #[arg(long, value_enum)]
    pub(crate) generator: Option<RunGenerator>,
    /// The fio of `--generator fio` [default: the one in PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) fio: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) allowing: Allowing,
    /// More data sheets: a TOML file, also several times
    #[arg(long, value_name = "FILE")]
    pub(crate) datasheet: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) table: Table,
}

/// What may be written.
#[derive(Debug, Args)]
pub(crate) struct Allowing {
    /// A device that jobs may write and trim, by SERIAL[:nsid], WWID or by-id name; dm, md and
    /// loop devices by UUID or NAME:SIZE; an existing file by its path
    #[arg(long, value_name = "WORD")]
    pub(crate) allow_write: Vec<String>,
    /// A device whose stale data (a partition table, a file system that nobody uses, blocks of an
    /// unknown kind) may be lost
    #[arg(long, value_name = "WORD")]
    pub(crate) discard_data: Vec<String>,
    /// A device or file that nobody uses as far as you know, where iodyno cannot look: not run as
    /// root, in a container, a drive with controllers of other hosts
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
