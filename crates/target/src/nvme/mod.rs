//! NVMe commands that change a drive: those that destroy its data, and Set Features.

mod command;
#[allow(unsafe_code)] // one ioctl, which the standard library does not offer
mod ioctl;

pub(crate) use command::{Command, SanitizeAction, SecureErase};
pub(crate) use ioctl::send;
