//! File systems on block devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// A mounted file system, as its superblock or its mount options describe it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Type, `ext4`.
    pub kind: String,
    /// Block, bytes; root only.
    pub block_bytes: Fact<u32>,
    /// Stripe unit (xfs `su`, ext4 `stride`), bytes; absent: made without.
    pub stripe_unit_bytes: Fact<u64>,
    /// Stripe width: the unit on each data disk once (xfs `sw`, ext4
    /// `stripe_width`), bytes; absent: made without.
    pub stripe_width_bytes: Fact<u64>,
    /// How btrfs spreads its data over its devices: `single`, `raid1`, …;
    /// several while it is converted.
    #[serde(default)]
    pub data_profile: Fact<String>,
    /// Devices that it is made of, where it may be several (btrfs).
    #[serde(default)]
    pub devices: Fact<u32>,
}
