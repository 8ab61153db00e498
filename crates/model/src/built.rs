//! What was built on drives and has to be taken down again.

use serde::{Deserialize, Serialize};

/// One thing that was built or taken, with what giving it back needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Built {
    /// A drive that was given up for it, and is given back empty.
    Drive {
        /// Its path when it was taken; after a restart that may be another's.
        device: String,
        /// What names it for writing, whatever its path.
        word: String,
        /// What every mark that is left on it holds, and no other mark does.
        tag: String,
        /// The boot of the machine in which it was taken.
        boot_id: String,
    },
    /// An md array.
    Array {
        /// `/dev/md127`.
        device: String,
        /// Its name, which no other has.
        name: String,
    },
    /// A mapping of device-mapper: a volume, dm-crypt.
    Mapping {
        /// Its name, which no other has.
        name: String,
    },
    /// A file that loop devices stand on.
    BackingFile {
        /// Its path.
        path: String,
    },
    /// A mount.
    Mount {
        /// Where: a directory that no other has.
        at: String,
    },
}

impl Built {
    /// In a few words: `md array /dev/md127`.
    pub fn title(&self) -> String {
        match self {
            Self::Drive { device, word, .. } => format!("{device} ({word})"),
            Self::Array { device, .. } => format!("md array {device}"),
            Self::Mapping { name } => format!("mapping {name}"),
            Self::BackingFile { path } => path.clone(),
            Self::Mount { at } => format!("mount at {at}"),
        }
    }
}
