//! What the guard could not look at.

use std::fmt;

use crate::error::as_root;

/// Why it cannot be known whether anybody uses a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlindSpot {
    /// The open files of other users' processes may not be seen.
    Processes {
        /// So many processes.
        unreadable: usize,
    },
    /// Processes are not even listed here: a PID namespace of its own, or
    /// /proc mounted with `hidepid`.
    HiddenProcesses,
    /// A loop device may lie on the same bytes: which file it is over, only
    /// root may ask.
    Loop {
        /// The loop device.
        name: String,
    },
    /// A server in the kernel may export it, and cannot be asked.
    Exports {
        /// The folder that cannot be read.
        folder: String,
    },
    /// A server in the kernel exports something whose path leads nowhere here.
    ExportGone {
        /// Which server, and as what.
        by: String,
        /// The path that the server was given.
        path: String,
    },
    /// Its namespace is attached to controllers that this machine does not have.
    Controllers {
        /// Their controller ids.
        ids: Vec<u16>,
    },
    /// Its drive may have controllers that this machine does not have, and
    /// does not list them.
    UnlistedControllers,
}

impl fmt::Display for BlindSpot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes { unreadable } => {
                write!(f, "the open files of {unreadable} processes cannot be read")
            }
            Self::HiddenProcesses => f.write_str("not all processes can be seen from here"),
            Self::Loop { name } => write!(f, "what {name} lies on cannot be asked"),
            Self::Exports { folder } => {
                write!(f, "{folder}, which lists what the kernel exports, cannot be read")
            }
            Self::ExportGone { by, path } => {
                write!(f, "exported by {by} is {path}, and nothing has that path here")
            }
            Self::Controllers { ids } => {
                let ids: Vec<String> = ids.iter().map(u16::to_string).collect();
                write!(
                    f,
                    "another host, a guest or a user-space driver has controller {} of its drive, \
                     and its namespace with it",
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
    /// How it can be known, as a sentence.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Processes { .. } | Self::Loop { .. } if !rustix::process::geteuid().is_root() => {
                format!("run it as root: {}", as_root())
            }
            Self::Loop { name } => format!("open /dev/{name} to this user, or detach it"),
            Self::Processes { .. } => "run it with the capability CAP_SYS_PTRACE".into(),
            Self::HiddenProcesses => {
                "run it outside of the container, or in the PID namespace of the host".into()
            }
            Self::Exports { .. } => {
                "mount configfs there: mount -t configfs configfs /sys/kernel/config".into()
            }
            Self::ExportGone { .. } => "end that export, or correct its path".into(),
            Self::Controllers { .. } | Self::UnlistedControllers => {
                "look on the hosts and guests that reach the drive".into()
            }
        }
    }
}
