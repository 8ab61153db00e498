//! How data lie on block devices: arrays, mapped devices, file systems.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An md array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Array {
    /// Chunk, bytes; null: the level has none.
    pub chunk_bytes: Option<u64>,
    /// Members that it should have.
    pub raid_disks: Option<u32>,
    /// Members that are missing or failed.
    pub degraded: Option<u32>,
    /// How blocks lie on the members, as the level numbers it.
    pub layout: Option<u32>,
    /// Version of the superblocks.
    pub metadata_version: Option<String>,
    /// `clean`, `active`, `readonly`, …
    #[serde(default)]
    pub state: Option<String>,
    /// `idle`, `resync`, `recover`, `check`, …
    pub sync_action: Option<String>,
    /// Where the write-intent bitmap is; `none`: there is none.
    pub bitmap: Option<String>,
    /// Pages that its stripe cache may hold for each member (RAID 4, 5 and 6).
    #[serde(default)]
    pub stripe_cache_pages: Option<u32>,
    /// Threads that handle its stripes (RAID 4, 5 and 6); 0: its own alone.
    #[serde(default)]
    pub stripe_threads: Option<u32>,
    /// Its members, in the order of their roles, spares last.
    pub members: Vec<Member>,
}

/// A member of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Block device.
    pub device: String,
    /// Its role, from 0; null: a spare, or failed.
    pub slot: Option<u32>,
    /// `in_sync`, `spare`, `faulty`, …
    pub state: Option<String>,
    /// Where the array's data begin on it, bytes.
    pub data_offset_bytes: Option<u64>,
}

/// A line of a device-mapper table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// Where it begins on the device, bytes.
    pub start_bytes: u64,
    /// Its length, bytes.
    pub length_bytes: u64,
    /// `linear`, `striped`, `crypt`, …
    pub target: String,
    /// Chunk of a stripe, bytes.
    pub chunk_bytes: Option<u64>,
    /// What it lies on, of `linear` and `striped`.
    pub places: Vec<Place>,
}

/// A place on a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Block device.
    pub device: String,
    /// Where it begins there, bytes.
    pub start_bytes: u64,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// `xfs`, `ext4`, …
    pub kind: String,
    /// Block, bytes.
    pub block_bytes: Option<u32>,
    /// Stripe unit, bytes; null also where it was made without.
    pub stripe_unit_bytes: Option<u64>,
    /// Stripe width, bytes; null also where it was made without.
    pub stripe_width_bytes: Option<u64>,
    /// How btrfs spreads its data over its devices: `single`, `raid1`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data_profile: Option<String>,
    /// Devices that it is made of, where it may be several (btrfs).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub devices: Option<u32>,
    /// Options that it is mounted with, as the kernel lists them.
    #[serde(default)]
    pub mount_options: Option<String>,
}

impl From<&model::MdArray> for Array {
    fn from(array: &model::MdArray) -> Self {
        let member = |member: &model::MdMember| Member {
            device: member.device.clone(),
            slot: member.slot,
            state: member.state.value(),
            data_offset_bytes: member.data_offset_bytes.value(),
        };
        Self {
            chunk_bytes: array.chunk_bytes,
            raid_disks: array.raid_disks.value(),
            degraded: array.degraded,
            layout: array.layout.value(),
            metadata_version: array.metadata_version.value(),
            state: array.state.value(),
            sync_action: array.sync_action.value(),
            stripe_cache_pages: array.stripe_cache_pages.value(),
            stripe_threads: array.stripe_threads.value(),
            bitmap: array.bitmap.value(),
            members: array.members.iter().map(member).collect(),
        }
    }
}

impl From<&model::MappedSegment> for Segment {
    fn from(segment: &model::MappedSegment) -> Self {
        let place = |place: &model::MappedPlace| Place {
            device: place.device.clone(),
            start_bytes: place.start_bytes,
        };
        Self {
            start_bytes: segment.start_bytes,
            length_bytes: segment.length_bytes,
            target: segment.target.clone(),
            chunk_bytes: segment.chunk_bytes,
            places: segment.places.iter().map(place).collect(),
        }
    }
}

impl FileSystem {
    /// What is mounted on a block device.
    pub(super) fn on(block: &model::BlockDevice) -> Option<Self> {
        let of = block.file_system.as_ref()?;
        let options = block.mount().map(|mount| mount.options.clone());
        Some(Self {
            kind: of.kind.clone(),
            block_bytes: of.block_bytes.value(),
            stripe_unit_bytes: of.stripe_unit_bytes.value(),
            stripe_width_bytes: of.stripe_width_bytes.value(),
            data_profile: of.data_profile.value(),
            devices: of.devices.value(),
            mount_options: options.filter(|options| !options.is_empty()),
        })
    }
}
