//! The NVMe commands that change a drive: those that destroy what is on it, and a feature.

mod command;
#[allow(unsafe_code)] // one ioctl, which the standard library does not offer
mod ioctl;

pub(crate) use command::{Command, SanitizeAction, SecureErase};
pub(crate) use ioctl::send;
