//! What was built on drives and has to be taken down again.

use serde::{Deserialize, Serialize};

/// One thing that was built, with what taking it down needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Built {
    /// An md array.
    Array {
        /// `/dev/md127`.
        device: String,
        /// Its name, which no other has.
        name: String,
        /// Paths of its members.
        members: Vec<String>,
    },
    /// Marks of LVM on devices.
    PhysicalVolumes {
        /// Their paths.
        devices: Vec<String>,
    },
    /// A volume group with all that is in it.
    VolumeGroup {
        /// Its name, which no other has.
        name: String,
        /// Paths of its devices.
        devices: Vec<String>,
    },
    /// A mapping of dm-crypt.
    Mapping {
        /// Its name, which no other has.
        name: String,
    },
    /// A file system, which leaves its marks on a device.
    FileSystem {
        /// The device's path.
        device: String,
        /// Its label, which no other has.
        label: String,
    },
    /// A file that loop devices stand on.
    BackingFile {
        /// Its path.
        path: String,
    },
    /// A mount.
    Mount {
        /// What is mounted.
        device: String,
        /// Where.
        at: String,
    },
}

impl Built {
    /// In a few words: `md array /dev/md127`.
    pub fn title(&self) -> String {
        match self {
            Self::Array { device, .. } => format!("md array {device}"),
            Self::PhysicalVolumes { devices } => format!("LVM's marks on {}", devices.join(", ")),
            Self::VolumeGroup { name, .. } => format!("volume group {name}"),
            Self::Mapping { name } => format!("mapping {name}"),
            Self::FileSystem { device, .. } => format!("file system on {device}"),
            Self::BackingFile { path } => path.clone(),
            Self::Mount { at, .. } => format!("mount at {at}"),
        }
    }
}
