//! What an NVMe controller says of itself when asked by admin commands.

mod identify;
#[allow(unsafe_code)] // one ioctl, which the standard library does not offer
pub(crate) mod ioctl;
mod smart;

pub(crate) use identify::total_capacity;
pub use identify::{parse_identify_controller, parse_identify_namespace};
pub use smart::parse_health_log;
