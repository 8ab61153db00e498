//! How data lie on block devices, read back.

use iodyno_model as model;

use super::host::known;
use crate::document::host::Block;
use crate::document::stack::{Array, FileSystem, Member, Segment};

/// The array of a block device of this level; of an older document only that.
pub(super) fn array(of: &Block, level: &str) -> model::MdArray {
    let level = level.to_owned();
    let Some(array) = &of.array else {
        return model::MdArray { level, ..model::MdArray::default() };
    };
    let Array {
        chunk_bytes,
        raid_disks,
        degraded,
        layout,
        metadata_version,
        state,
        sync_action,
        bitmap,
        stripe_cache_pages,
        stripe_threads,
        members,
    } = array;
    let member = |of: &Member| model::MdMember {
        device: of.device.clone(),
        slot: of.slot,
        state: known(&of.state),
        data_offset_bytes: known(&of.data_offset_bytes),
        errors: model::Fact::Absent,
    };
    model::MdArray {
        level,
        chunk_bytes: *chunk_bytes,
        degraded: *degraded,
        raid_disks: known(raid_disks),
        layout: known(layout),
        metadata_version: known(metadata_version),
        state: known(state),
        sync_action: known(sync_action),
        bitmap: known(bitmap),
        stripe_cache_pages: known(stripe_cache_pages),
        stripe_threads: known(stripe_threads),
        members: members.iter().map(member).collect(),
    }
}

/// The table of a mapped device.
pub(super) fn table(of: &Block) -> model::Fact<Vec<model::MappedSegment>> {
    let segment = |of: &Segment| model::MappedSegment {
        start_bytes: of.start_bytes,
        length_bytes: of.length_bytes,
        target: of.target.clone(),
        chunk_bytes: of.chunk_bytes,
        places: of
            .places
            .iter()
            .map(|place| model::MappedPlace {
                device: place.device.clone(),
                start_bytes: place.start_bytes,
            })
            .collect(),
    };
    let segments = of.table.as_ref().map(|table| table.iter().map(segment).collect());
    known(&segments)
}

/// A mounted file system.
pub(super) fn file_system(of: &FileSystem) -> model::FileSystem {
    model::FileSystem {
        kind: of.kind.clone(),
        block_bytes: known(&of.block_bytes),
        stripe_unit_bytes: known(&of.stripe_unit_bytes),
        stripe_width_bytes: known(&of.stripe_width_bytes),
        data_profile: known(&of.data_profile),
        devices: known(&of.devices),
    }
}
