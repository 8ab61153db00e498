//! md arrays, as the kernel runs them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// An md array (kernel documentation, admin-guide/md, "MD devices in sysfs").
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MdArray {
    /// `raid0`, `raid1`, `raid5`, …
    #[serde(default)]
    pub level: String,
    /// Chunk size, bytes; `None` where the level has none.
    pub chunk_bytes: Option<u64>,
    /// Members that are missing or failed; `None` where the level tolerates none.
    pub degraded: Option<u32>,
    /// Members that the array should have.
    #[serde(default)]
    pub raid_disks: Fact<u32>,
    /// How blocks lie on the members, as the level numbers it.
    #[serde(default)]
    pub layout: Fact<u32>,
    /// Version of the superblocks, `1.2`.
    #[serde(default)]
    pub metadata_version: Fact<String>,
    /// `clean`, `active`, `readonly`, …
    #[serde(default)]
    pub state: Fact<String>,
    /// `idle`, `resync`, `recover`, `check`, …; absent where the level has nothing to sync.
    #[serde(default)]
    pub sync_action: Fact<String>,
    /// Where the write-intent bitmap is, `+8` (sectors from the superblock) or
    /// a file; `none`: there is none.
    #[serde(default)]
    pub bitmap: Fact<String>,
    /// Pages that the stripe cache may hold for each member (RAID 4, 5 and 6).
    #[serde(default)]
    pub stripe_cache_pages: Fact<u32>,
    /// Threads that handle stripes (RAID 4, 5 and 6); 0 = the array's own alone.
    #[serde(default)]
    pub stripe_threads: Fact<u32>,
    /// Its members, in the order of their roles, spares last.
    #[serde(default)]
    pub members: Vec<MdMember>,
}

/// A member of an md array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MdMember {
    /// Block device.
    pub device: String,
    /// Its role, from 0; `None`: a spare, or failed.
    pub slot: Option<u32>,
    /// `in_sync`, `spare`, `faulty`, …; several with commas.
    pub state: Fact<String>,
    /// Where the array's data begin on it, bytes.
    pub data_offset_bytes: Fact<u64>,
    /// Read errors that were corrected.
    pub errors: Fact<u64>,
}

impl MdArray {
    /// How blocks lie on the members, as mdadm names it: `left-symmetric`,
    /// `near=2`; `None` where it is not known or the level has but one way
    /// (drivers/md/raid5.h, and md(4) for RAID 10).
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
