//! Checks that the guard could not make.

use std::fmt;

use crate::error::as_root;

/// Reason why it is unknown whether anybody uses a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlindSpot {
    /// Other users' processes, whose open files this user may not see.
    Processes {
        /// Number of such processes.
        unreadable: usize,
    },
    /// Processes that are not even listed: a separate PID namespace, or /proc mounted with
    /// `hidepid`.
    HiddenProcesses,
    /// A loop device that may share bytes with the target: only root may query its file.
    Loop {
        /// The loop device.
        name: String,
    },
    /// Kernel servers that may export the target and cannot be queried.
    Exports {
        /// The unreadable directory.
        folder: String,
    },
    /// An export of a kernel server whose path does not exist here.
    ExportGone {
        /// Server and name of the export.
        by: String,
        /// The exported path.
        path: String,
    },
    /// The namespace is attached to controllers that this machine does not have.
    Controllers {
        /// Their controller ids.
        ids: Vec<u16>,
    },
    /// The drive may have controllers that this machine does not have, and does not list them.
    UnlistedControllers,
}

impl fmt::Display for BlindSpot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes { unreadable } => {
                write!(f, "the open files of {unreadable} processes cannot be read")
            }
            Self::HiddenProcesses => f.write_str("not all processes can be seen from here"),
            Self::Loop { name } => write!(f, "the backing of {name} is unknown"),
            Self::Exports { folder } => {
                write!(f, "cannot read {folder}, which lists the kernel's exports")
            }
            Self::ExportGone { by, path } => {
                write!(f, "{by} exports {path}, which does not exist here")
            }
            Self::Controllers { ids } => {
                let ids: Vec<String> = ids.iter().map(u16::to_string).collect();
                write!(
                    f,
                    "another host, a guest or a user-space driver has controller {} of its drive, \
                     with this namespace",
                    ids.join(", ")
                )
            }
            Self::UnlistedControllers => f.write_str(
                "other hosts, guests or user-space drivers may have controllers of its drive, \
                 which does not list them",
            ),
        }
    }
}

impl BlindSpot {
    /// Returns how to make the check possible, as a sentence.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Processes { .. } | Self::Loop { .. } if !rustix::process::geteuid().is_root() => {
                format!("run as root: {}", as_root())
            }
            Self::Loop { name } => format!("make /dev/{name} readable, or detach it"),
            Self::Processes { .. } => "run with CAP_SYS_PTRACE".into(),
            Self::HiddenProcesses => {
                "run outside of the container, or in the host's PID namespace".into()
            }
            Self::Exports { .. } => {
                "mount configfs there: mount -t configfs configfs /sys/kernel/config".into()
            }
            Self::ExportGone { .. } => "end that export, or correct its path".into(),
            Self::Controllers { .. } | Self::UnlistedControllers => {
                "check the hosts and guests that reach it".into()
            }
        }
    }
}
