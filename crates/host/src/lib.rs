//! Describes the machine, reading only, through one narrow [`Source`].
//!
//! [`snapshot`] fills [`iodyno_model::Host`] from the live machine ([`Live`]) or from a captured
//! one ([`Captured`]); [`capture`] writes such captures. Nothing here writes to a device, and every
//! string from a device, driver or file is trimmed and freed of control characters. Unreadable
//! values become a [`iodyno_model::Fact`] with the reason.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod block;
mod capture;
mod captured;
mod cards;
mod control_groups;
mod cpu;
mod device_mapper;
mod disk_stats;
mod drive;
mod exports;
mod file_system;
mod in_use;
mod interrupts;
mod iommu;
mod live;
mod loop_device;
mod md;
mod mounts;
mod nvme;
mod open_files;
mod pci;
mod read;
mod slots;
mod snapshot;
mod source;
mod subsystems;
mod symlinks;
mod system;
mod temperature;
mod virtual_disk;
mod vitals;

pub use block::queue_owners;
pub use capture::capture;
pub use captured::Captured;
pub use disk_stats::disk_stats;
pub use exports::{Export, Exports, exports};
pub use live::Live;
pub use loop_device::{ioctl::loop_backing, loop_devices};
pub use mounts::{MountPoint, mounts};
pub use nvme::{
    NamespaceFormat, PurgeSupport, SanitizeState, SanitizeStatus, controller_ids, namespace_ids,
    namespace_is_shared, ocp_uuid_index, parse_format_in_use, parse_health_log,
    parse_identify_controller, parse_identify_namespace, parse_latency_monitor, parse_ocp_health,
    parse_purge_support, parse_sanitize_status, parse_volume_limits, volume_limits,
};
pub use open_files::{Openers, openers};
pub use read::unescape_bytes;
pub use snapshot::snapshot;
pub use source::{AdminRead, Depth, FileId, Source, SourceError};
pub use temperature::temperature_c;
pub use virtual_disk::virtual_disk;
pub use vitals::{Vitals, vitals};
