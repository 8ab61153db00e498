//! Reads md arrays.

use iodyno_model::{MdArray, MdMember, natural};

use crate::block::SECTOR_BYTES;
use crate::read;
use crate::source::Source;

/// Reads the array whose sysfs folder is `real`.
pub(crate) fn read(source: &dyn Source, real: &str) -> MdArray {
    let file = |name: &str| format!("{real}/md/{name}");
    let text = |name: &str| read::text(source, &file(name));
    MdArray {
        level: text("level").value().unwrap_or_default(),
        // 0: the level has no chunks.
        chunk_bytes: read::number(source, &file("chunk_size")).value().filter(|bytes| *bytes > 0),
        degraded: read::number(source, &file("degraded")).value(),
        // During a reshape the previous number follows in brackets.
        raid_disks: read::parsed(source, &file("raid_disks"), first_number),
        layout: read::parsed(source, &file("layout"), first_number),
        metadata_version: text("metadata_version"),
        state: text("array_state"),
        sync_action: text("sync_action"),
        bitmap: text("bitmap/location"),
        stripe_cache_pages: read::number(source, &file("stripe_cache_size")),
        stripe_threads: read::number(source, &file("group_thread_cnt")),
        members: members(source, &format!("{real}/md")),
    }
}

fn first_number(text: &str) -> Option<u32> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn members(source: &dyn Source, folder: &str) -> Vec<MdMember> {
    let names = source.list(folder).unwrap_or_default();
    let member = |name: &String| {
        let device = read::clean(name.strip_prefix("dev-")?);
        let file = |file: &str| format!("{folder}/{name}/{file}");
        Some(MdMember {
            device,
            // `none` for a spare.
            slot: read::number(source, &file("slot")).value(),
            state: read::text(source, &file("state")),
            data_offset_bytes: read::number::<u64>(source, &file("offset"))
                .map(|sectors| sectors.saturating_mul(SECTOR_BYTES)),
            errors: read::number(source, &file("errors")),
        })
    };
    let mut members: Vec<MdMember> = names.iter().filter_map(member).collect();
    members.sort_by_key(|member| (member.slot.unwrap_or(u32::MAX), natural(&member.device)));
    members
}
