//! md arrays (Linux software RAID).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// An md array (kernel documentation, admin-guide/md, "MD devices in sysfs").
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MdArray {
    /// RAID level: `raid0`, `raid1`, `raid5`, …
    #[serde(default)]
    pub level: String,
    /// Chunk size, bytes; null if the level has none.
    pub chunk_bytes: Option<u64>,
    /// Missing or failed members; null if the level tolerates none.
    pub degraded: Option<u32>,
    /// Number of members of the complete array.
    #[serde(default)]
    pub raid_disks: Fact<u32>,
    /// Layout number, in the numbering of the level.
    #[serde(default)]
    pub layout: Fact<u32>,
    /// Superblock version, `1.2`.
    #[serde(default)]
    pub metadata_version: Fact<String>,
    /// Array state: `clean`, `active`, `readonly`, …
    #[serde(default)]
    pub state: Fact<String>,
    /// Sync action: `idle`, `resync`, `recover`, `check`, …; absent if the level has none.
    #[serde(default)]
    pub sync_action: Fact<String>,
    /// Location of the write-intent bitmap: `+8` (sectors from the superblock), a file, or `none`.
    #[serde(default)]
    pub bitmap: Fact<String>,
    /// Stripe cache size, pages per member (RAID 4, 5 and 6).
    #[serde(default)]
    pub stripe_cache_pages: Fact<u32>,
    /// Threads for stripe handling (RAID 4, 5 and 6); 0: only the array's own.
    #[serde(default)]
    pub stripe_threads: Fact<u32>,
    /// Members, by role, spares last.
    #[serde(default)]
    pub members: Vec<MdMember>,
}

/// A member of an md array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MdMember {
    /// Block device.
    pub device: String,
    /// Role number, from 0; null: spare or failed.
    pub slot: Option<u32>,
    /// Member state: `in_sync`, `spare`, `faulty`, …; comma-separated.
    pub state: Fact<String>,
    /// Start of the array's data on the member, bytes.
    pub data_offset_bytes: Fact<u64>,
    /// Corrected read errors.
    pub errors: Fact<u64>,
}

impl MdArray {
    /// Returns mdadm's name of the layout: `left-symmetric`, `near=2`; `None` if not known or if
    /// the level has only one (drivers/md/raid5.h, and md(4) for RAID 10).
    pub fn layout_name(&self) -> Option<String> {
        let layout = *self.layout.get()?;
        match self.level.as_str() {
            "raid4" | "raid5" | "raid6" => {
                let name = match layout {
                    0 => "left-asymmetric",
                    1 => "right-asymmetric",
                    2 => "left-symmetric",
                    3 => "right-symmetric",
                    4 => "parity-first",
                    5 => "parity-last",
                    _ => return None,
                };
                (self.level != "raid4").then(|| name.into())
            }
            "raid10" => {
                let (near, far) = (layout & 0xff, layout >> 8 & 0xff);
                Some(match (near, far, layout & 1 << 16 != 0) {
                    (near, 0 | 1, _) => format!("near={near}"),
                    (_, far, true) => format!("offset={far}"),
                    (_, far, false) => format!("far={far}"),
                })
            }
            _ => None,
        }
    }
}
