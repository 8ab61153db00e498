//! File systems on block devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// Mounted file system, as described by its superblock or mount options.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Type, `ext4`.
    pub kind: String,
    /// Block size, bytes; root only.
    pub block_bytes: Fact<u32>,
    /// Stripe unit (xfs `su`, ext4 `stride`), bytes; absent: none.
    pub stripe_unit_bytes: Fact<u64>,
    /// Stripe width: the stripe unit times the data disks (xfs `sw`, ext4 `stripe_width`), bytes;
    /// absent: none.
    pub stripe_width_bytes: Fact<u64>,
    /// btrfs data profile: `single`, `raid1`, …; several during a conversion.
    #[serde(default)]
    pub data_profile: Fact<String>,
    /// Number of devices, if it may have several (btrfs).
    #[serde(default)]
    pub devices: Fact<u32>,
}
