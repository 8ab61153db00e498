//! Data that NVMe controllers return to admin commands.

mod amazon;
mod identify;
#[allow(unsafe_code)] // one ioctl, which the standard library does not offer
pub(crate) mod ioctl;
mod ocp;
mod page;
mod purge;
mod smart;

pub(crate) use amazon::volume_limits_bytes;
pub use amazon::{parse_volume_limits, volume_limits};
pub(crate) use identify::{Features, total_capacity};
pub use identify::{parse_identify_controller, parse_identify_namespace};
pub use ocp::{ocp_uuid_index, parse_latency_monitor, parse_ocp_health};
pub use purge::{
    NamespaceFormat, PurgeSupport, SanitizeState, SanitizeStatus, controller_ids, namespace_ids,
    namespace_is_shared, parse_format_in_use, parse_purge_support, parse_sanitize_status,
};
pub use smart::parse_health_log;
