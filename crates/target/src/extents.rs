//! Computes which block devices share bytes, by following every device down to what it lies on,
//! with the ranges that it occupies there.
//!
//! Two devices are compared at the first space below that both occupy: two volumes on one encrypted
//! partition by their ranges of the decrypted device, since that is mapped one to one. If the
//! occupied range of a device is unknown, all of it counts.

use std::ops::Range;

use iodyno_model::{BlockDevice, BlockKind, Host, MappedDevice};

/// Something that holds bytes.
#[derive(Debug, Clone, Copy)]
enum Space<'h> {
    Block(&'h BlockDevice),
    /// A block device missing from the snapshot, by its name or number.
    Missing(&'h str),
    /// A regular file: device number of its file system, inode number.
    File((u32, u32), u64),
    /// The unknown file of a loop device that this user may not query.
    UnknownFile,
}

use Space::{Block, File, Missing, UnknownFile};

/// Ranges of one space, bytes.
#[derive(Debug, Clone)]
struct Extents<'h> {
    on: Space<'h>,
    ranges: Vec<Range<u64>>,
}

/// Direction of dependency. Writes to a file never leave the file, but writing the disk below
/// destroys the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// Bytes that writes reach.
    Written,
    /// Bytes that a device needs to keep its content.
    Needed,
}

/// True if writing `written` may change bytes of `other`.
pub(crate) fn share_bytes(host: &Host, written: &str, other: &str) -> bool {
    let (Some(written), Some(other)) = (host.block(written), host.block(other)) else {
        return false;
    };
    overlap(host, &all_of(written), &all_of(other), host.blocks.len() + 2)
}

/// Returns the names of the block devices below `block`, as far as the kernel reports them.
pub(crate) fn below<'h>(host: &'h Host, block: &str) -> Vec<&'h str> {
    let mut below: Vec<&str> = Vec::new();
    let mut todo: Vec<&BlockDevice> = host.block(block).into_iter().collect();
    while let Some(device) = todo.pop() {
        for name in &device.stands_on {
            if name != block && !below.contains(&name.as_str()) {
                below.push(name);
                todo.extend(host.block(name));
            }
        }
    }
    below
}

/// Returns the regular files that writes to `block` reach, as device number of the file system and
/// inode number.
pub(crate) fn files_below(host: &Host, block: &str) -> Vec<((u32, u32), u64)> {
    let mut files = Vec::new();
    let mut todo: Vec<Extents<'_>> = host.block(block).map(all_of).into_iter().collect();
    // The limit exceeds any real stack of devices: it stops on a cycle, which no kernel builds.
    for _ in 0..1 << 16 {
        let Some(extents) = todo.pop() else { break };
        match extents.on {
            File(device, inode) if !files.contains(&(device, inode)) => {
                files.push((device, inode));
            }
            _ => todo.extend(lower(host, &extents, Direction::Written)),
        }
    }
    files
}

fn all_of(device: &BlockDevice) -> Extents<'_> {
    up_to(device.size.get().map_or(u64::MAX, |size| size.0), Block(device))
}

fn up_to(end: u64, on: Space<'_>) -> Extents<'_> {
    let all = 0..end;
    Extents { on, ranges: vec![all] }
}

/// All of a block device, by its name.
fn whole<'h>(host: &'h Host, name: &'h str) -> Extents<'h> {
    host.block(name).map_or_else(|| up_to(u64::MAX, Missing(name)), all_of)
}

fn whole_of_all<'h>(host: &'h Host, device: &'h BlockDevice) -> Vec<Extents<'h>> {
    device.stands_on.iter().map(|name| whole(host, name)).collect()
}

/// True if writes to `written` may change what `needed` needs. `depth`: maximum length of a chain
/// of devices; a cycle counts as shared.
fn overlap(host: &Host, written: &Extents<'_>, needed: &Extents<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    if is_same(host, written.on, needed.on) {
        return intersect(&written.ranges, &needed.ranges);
    }
    match (written.on, needed.on) {
        (UnknownFile, UnknownFile | File(..)) | (File(..), UnknownFile) => return true,
        // Drivers such as bcache share a device among themselves and keep their parts of it apart.
        (Block(one), Block(other)) if keeps_apart(one) && keeps_apart(other) => return false,
        _ => {}
    }
    // The upper one is followed down first, so that they are compared where they meet.
    if !is_below(host, written.on, needed, depth) {
        let lower = lower(host, written, Direction::Written);
        if !lower.is_empty() {
            return lower.iter().any(|lower| overlap(host, lower, needed, depth));
        }
    }
    lower(host, needed, Direction::Needed).iter().any(|lower| overlap(host, written, lower, depth))
}

/// True if `space` is somewhere below `upper`.
fn is_below(host: &Host, space: Space<'_>, upper: &Extents<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    lower(host, upper, Direction::Needed)
        .iter()
        .any(|lower| is_same(host, space, lower.on) || is_below(host, space, lower, depth))
}

fn is_same(host: &Host, a: Space<'_>, b: Space<'_>) -> bool {
    match (a, b) {
        (Block(a), Block(b)) => a.name == b.name || is_same_namespace(host, a, b),
        (Missing(a), Missing(b)) => a == b,
        (File(a, inode), File(b, other)) => (a, inode) == (b, other),
        _ => false,
    }
}

/// True if both are one namespace, seen through two controllers without native multipath.
fn is_same_namespace(host: &Host, a: &BlockDevice, b: &BlockDevice) -> bool {
    let wwid = |block: &BlockDevice| {
        let (_, namespace) = host.namespace(&block.name)?;
        (block.kind == BlockKind::Nvme).then(|| namespace.wwid.value()).flatten()
    };
    wwid(a).is_some_and(|wwid_of_a| Some(wwid_of_a) == wwid(b))
}

fn keeps_apart(device: &BlockDevice) -> bool {
    device.kind == BlockKind::Other && !device.stands_on.is_empty()
}

fn intersect(a: &[Range<u64>], b: &[Range<u64>]) -> bool {
    a.iter().any(|a| b.iter().any(|b| !common(a, b).is_empty()))
}

fn common(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// Moves ranges relative to `from` in one space to `to` in the other.
fn translate(ranges: &[Range<u64>], from: u64, to: u64) -> Vec<Range<u64>> {
    let move_to = |at: u64| at.saturating_sub(from).saturating_add(to);
    ranges.iter().map(|range| move_to(range.start)..move_to(range.end)).collect()
}

/// Returns the extents below these ranges.
fn lower<'h>(host: &'h Host, extents: &Extents<'h>, direction: Direction) -> Vec<Extents<'h>> {
    let device = match extents.on {
        Block(device) => device,
        // A file may be anywhere in its file system.
        File((major, minor), _) if direction == Direction::Needed => {
            return host.block_by_number(major, minor).map(all_of).into_iter().collect();
        }
        File(..) | Missing(_) | UnknownFile => return Vec::new(),
    };
    match &device.kind {
        BlockKind::Partition => match (device.start.get(), device.stands_on.as_slice()) {
            (Some(start), [disk]) => {
                let ranges = translate(&extents.ranges, 0, start.0);
                vec![Extents { ranges, ..whole(host, disk) }]
            }
            _ => whole_of_all(host, device),
        },
        BlockKind::DeviceMapper(mapped) => {
            mapped_to(host, device, mapped, &extents.ranges, direction)
        }
        BlockKind::Loop { backing_file, backing } => match backing.get() {
            Some(file) => {
                let ranges = translate(&extents.ranges, 0, file.offset_bytes);
                let on = match file.block {
                    None => Some(File(file.device, file.inode)),
                    Some((major, minor)) => host.block_by_number(major, minor).map(Block),
                };
                on.map_or_else(|| whole_of_all(host, device), |on| vec![Extents { on, ranges }])
            }
            None if backing_file.is_some() && device.stands_on.is_empty() => {
                vec![up_to(u64::MAX, UnknownFile)]
            }
            None => whole_of_all(host, device),
        },
        _ => whole_of_all(host, device),
    }
}

/// Returns the extents below ranges of a device-mapper device.
fn mapped_to<'h>(
    host: &'h Host,
    device: &'h BlockDevice,
    mapped: &'h MappedDevice,
    ranges: &[Range<u64>],
    direction: Direction,
) -> Vec<Extents<'h>> {
    let Some(segments) = mapped.table.get() else { return whole_of_all(host, device) };
    // A thin pool allocates the blocks of its volumes, and keeps them apart.
    if direction == Direction::Written && segments.iter().all(|segment| segment.target == "thin") {
        return Vec::new();
    }
    let mut found: Vec<Extents<'h>> = Vec::new();
    for segment in segments {
        let end = segment.start_bytes.saturating_add(segment.length_bytes);
        let in_it = ranges.iter().map(|range| common(range, &(segment.start_bytes..end)));
        let in_it: Vec<_> = in_it.filter(|range| !range.is_empty()).collect();
        if in_it.is_empty() {
            continue;
        }
        match (segment.target.as_str(), segment.places.as_slice()) {
            ("error" | "zero", _) => {}
            ("linear", [place]) => {
                let ranges = translate(&in_it, segment.start_bytes, place.start_bytes);
                add(&mut found, Extents { ranges, ..whole(host, &place.device) });
            }
            ("striped", places @ [_, ..]) => {
                let each = segment.length_bytes.div_ceil(places.len() as u64);
                for place in places {
                    let range = place.start_bytes..place.start_bytes.saturating_add(each);
                    add(&mut found, Extents { ranges: vec![range], ..whole(host, &place.device) });
                }
            }
            // Other targets may map the ranges in any way.
            _ => return whole_of_all(host, device),
        }
    }
    // Devices it has opened for another table that is not active yet.
    let places = || segments.iter().flat_map(|segment| &segment.places);
    let others = device.stands_on.iter().filter(|name| !places().any(|at| at.device == **name));
    found.extend(others.map(|name| whole(host, name)));
    found
}

fn add<'h>(found: &mut Vec<Extents<'h>>, more: Extents<'h>) {
    let same = |known: &&mut Extents<'_>| match (known.on, more.on) {
        (Block(a), Block(b)) => a.name == b.name,
        (Missing(a), Missing(b)) => a == b,
        _ => false,
    };
    match found.iter_mut().find(same) {
        Some(known) => known.ranges.extend(more.ranges),
        None => found.push(more),
    }
}

#[cfg(test)]
#[path = "extents_tests.rs"]
mod tests;
