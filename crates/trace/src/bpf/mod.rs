//! Counts I/Os within the kernel, by programs at its block tracepoints.
//!
//! No compiler, no kernel headers: the programs are assembled here, and the kernel's own description
//! of its types (BTF) tells where fields are. Needs CONFIG_DEBUG_INFO_BTF, Linux 5.15 or later, and
//! CAP_BPF with CAP_PERFMON; elsewhere [`tracefs`](crate::tracefs) counts the same at a higher cost.

mod assembler;
mod btf;
mod counting;
mod frame;
mod layout;
mod programs;
mod recorder;
mod system;
#[cfg(test)]
mod tests;
mod writer;

use std::io;

use thiserror::Error;

pub use recorder::Recorder;

/// Reason why nothing is counted within the kernel.
#[derive(Debug, Error)]
pub enum Unavailable {
    /// The kernel does not describe its types.
    #[error("this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF): {0}")]
    NoTypes(io::Error),
    /// The kernel is older, or newer, than what is known here.
    #[error("this kernel has no {0}")]
    Missing(&'static str),
    /// More devices than keys have space for.
    #[error("too many devices")]
    TooManyDevices,
    /// A device has no tags.
    #[error("a device's tags are not known")]
    NoTags,
    /// bpf(2) failed: no permission, lockdown, or a program was refused.
    #[error("bpf(2): {0}")]
    System(#[from] io::Error),
}
