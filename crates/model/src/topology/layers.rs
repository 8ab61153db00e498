//! Layer part of the topology: devices above block devices.

use super::{Node, NodeKind};
use crate::{BlockDevice, BlockKind, Bytes, FileSystem, Host, MappedDevice, MdArray, Mount, Use};

/// No machine has more layers: the devices form a cycle.
const MAX_LAYERS: usize = 32;

/// True if several controllers lead to the namespace.
pub(super) fn is_shared(host: &Host, namespace: &str) -> bool {
    let leads = |drive: &&crate::Drive| drive.namespaces.iter().any(|one| one.name == namespace);
    host.drives.iter().filter(leads).count() > 1
}

/// Returns devices above several others, and those on no bus.
pub(super) fn shared_layers(host: &Host) -> Vec<Node> {
    let is_root = |block: &&BlockDevice| match block.stands_on.len() {
        0 => {
            let empty = block.size.get().is_some_and(|size| size.0 == 0);
            let alone = host.namespace(&block.name).is_some() && !is_shared(host, &block.name);
            let on_card = host.cards.iter().any(|card| card.blocks.contains(&block.name));
            block.pci_function.is_none() && !alone && !empty && !on_card
        }
        1 => false,
        _ => true,
    };
    host.blocks.iter().filter(is_root).map(|block| device(host, block)).collect()
}

/// Returns the node of a block device, with everything above it.
pub(super) fn device(host: &Host, block: &BlockDevice) -> Node {
    node(host, block, MAX_LAYERS)
}

fn node(host: &Host, block: &BlockDevice, layers_left: usize) -> Node {
    let mut node = Node::new(kind(&block.kind), &block.name);
    describe(host, block, &mut node);
    if layers_left == 0 {
        return node;
    }
    for above in host.blocks.iter().filter(|above| above.stands_on.contains(&block.name)) {
        node.children.push(match above.stands_on.len() {
            1 => self::node(host, above, layers_left - 1),
            _ => member(above, &block.name),
        });
    }
    let mounts: Vec<&Mount> = block
        .used_by
        .iter()
        .filter_map(|used| if let Use::Mounted(mount) = used { Some(mount) } else { None })
        .collect();
    if let Some(first) = mounts.first() {
        let mut top = Node::new(NodeKind::FileSystem, &first.file_system);
        top.facts.extend(mounts.iter().map(|mount| format!("at {}", mount.at)));
        top.facts.extend(block.file_system.iter().flat_map(geometry));
        if !first.options.is_empty() {
            top.facts.push(first.options.clone());
        }
        node.children.push(top);
    }
    for used in &block.used_by {
        match used {
            Use::Swap => node.children.push(Node::new(NodeKind::FileSystem, "swap")),
            Use::FileSystemMember(_) if mounts.is_empty() => {
                node.facts.push(used.label());
            }
            Use::Exported(_) | Use::OpenBy { .. } | Use::Signature(_) => {
                node.facts.push(used.label())
            }
            _ => {}
        }
    }
    node
}

fn kind(kind: &BlockKind) -> NodeKind {
    match kind {
        BlockKind::Partition => NodeKind::Partition,
        BlockKind::Md(_) => NodeKind::Array,
        BlockKind::DeviceMapper(_) => NodeKind::Mapped,
        _ => NodeKind::Disk,
    }
}

/// Returns the node of a device's membership in a layer over several.
fn member(above: &BlockDevice, name: &str) -> Node {
    let mut node = Node::new(NodeKind::Member, &above.name);
    if let BlockKind::Md(array) = &above.kind
        && let Some(member) = array.members.iter().find(|member| member.device == name)
    {
        node.facts.extend(member.slot.map(|slot| format!("member {slot}")));
        match member.state.value() {
            Some(state) if state.contains("faulty") => node.concerns.push(state),
            Some(state) if state != "in_sync" => node.facts.push(state),
            _ => {}
        }
    }
    node
}

fn describe(host: &Host, block: &BlockDevice, node: &mut Node) {
    let size = block.size.get().copied();
    match &block.kind {
        BlockKind::Partition => {
            node.facts.extend(size.map(Bytes::decimal));
            if let Some(start) = block.start.get() {
                let words = format!("starts at {}", start.binary());
                match start.0 % 4096 {
                    0 => node.facts.push(words),
                    _ => node.concerns.push(format!("starts at byte {}, off 4 KiB", start.0)),
                }
            }
        }
        BlockKind::Md(array) => {
            node.facts.push(describe_array(array));
            node.facts.extend(size.map(Bytes::decimal));
            node.facts.extend(array.metadata_version.get().map(|v| format!("metadata {v}")));
            node.facts.push(format!("on {}", block.stands_on.join(", ")));
            match array.degraded {
                Some(1) => node.concerns.push("1 member missing".into()),
                Some(missing) if missing > 1 => {
                    node.concerns.push(format!("{missing} members missing"));
                }
                _ => {}
            }
            let action = array.sync_action.get().filter(|action| *action != "idle");
            node.concerns.extend(action.map(|action| format!("doing a {action}")));
        }
        BlockKind::DeviceMapper(mapped) => {
            node.facts.push(match mapped.volume() {
                Some((group, volume)) => format!("LVM {group}/{volume}"),
                None => format!("{} {}", mapped.owner.as_deref().unwrap_or("dm"), mapped.name),
            });
            node.facts.extend(describe_mapping(mapped));
            node.facts.extend(size.map(Bytes::decimal));
            if block.stands_on.len() > 1 {
                node.facts.push(format!("on {}", block.stands_on.join(", ")));
            }
        }
        BlockKind::Loop { backing_file, .. } => {
            node.facts.extend(size.map(Bytes::decimal));
            node.facts.extend(backing_file.as_ref().map(|file| format!("file {file}")));
        }
        BlockKind::Nvme => {
            if is_shared(host, &block.name) {
                node.facts.push(paths(host, &block.name));
            }
            node.facts.extend(size.map(Bytes::decimal));
        }
        BlockKind::Virtual | BlockKind::Scsi | BlockKind::Zram | BlockKind::Other => {
            node.facts.extend(block.model.value());
            node.facts.extend(size.map(Bytes::decimal));
            if block.kind == BlockKind::Virtual {
                node.facts.push("virtual disk".into());
            }
            node.facts.extend(block.pci_function.as_ref().map(|at| format!("at {at}")));
        }
    }
}

fn paths(host: &Host, namespace: &str) -> String {
    let through: Vec<&str> = host
        .drives
        .iter()
        .filter(|drive| drive.namespaces.iter().any(|one| one.name == namespace))
        .map(|drive| drive.name.as_str())
        .collect();
    let policy = through.first().and_then(|name| host.subsystem_of(name)?.io_policy.value());
    let words = format!("{} paths through {}", through.len(), through.join(", "));
    policy.map_or(words.clone(), |policy| format!("{words}, policy {policy}"))
}

/// Describes an array: `raid5 of 3, chunk 512 KiB, left-symmetric`.
fn describe_array(array: &MdArray) -> String {
    let mut words = array.level.clone();
    if let Some(disks) = array.raid_disks.get() {
        words = format!("{words} of {disks}");
    }
    if let Some(chunk) = array.chunk_bytes {
        words = format!("{words}, chunk {}", Bytes(chunk).binary());
    }
    match array.layout_name() {
        Some(layout) => format!("{words}, {layout}"),
        None => words,
    }
}

/// Describes a mapping: `striped over 2, chunk 64 KiB`; `linear`.
fn describe_mapping(mapped: &MappedDevice) -> Option<String> {
    if let Some((stripes, chunk)) = mapped.stripes() {
        return Some(format!("striped over {stripes}, chunk {}", Bytes(chunk).binary()));
    }
    let mut targets: Vec<&str> =
        mapped.table.get()?.iter().map(|segment| segment.target.as_str()).collect();
    targets.dedup();
    Some(targets.join(" and "))
}

fn geometry(of: &FileSystem) -> Vec<String> {
    let bytes = |what: &str, bytes: u64| format!("{what} {}", Bytes(bytes).binary());
    let profile = of.data_profile.get().map(|profile| match of.devices.get() {
        Some(devices) if *devices > 1 => format!("data {profile} over {devices} devices"),
        _ => format!("data {profile}"),
    });
    [
        profile,
        of.block_bytes.get().map(|block| bytes("block", u64::from(*block))),
        of.stripe_unit_bytes.get().map(|unit| bytes("stripe unit", *unit)),
        of.stripe_width_bytes.get().map(|width| bytes("stripe width", *width)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// See [`Host::levels_under`].
pub(super) fn levels_under<'h>(host: &'h Host, block: &str) -> Vec<Vec<&'h BlockDevice>> {
    let mut levels = Vec::new();
    let mut level: Vec<&BlockDevice> = host.block(block).into_iter().collect();
    while !level.is_empty() && levels.len() < MAX_LAYERS {
        let mut below: Vec<&BlockDevice> = Vec::new();
        for name in level.iter().flat_map(|device| &device.stands_on) {
            if !below.iter().any(|known| known.name == *name) {
                below.extend(host.block(name));
            }
        }
        levels.push(std::mem::replace(&mut level, below));
    }
    levels
}

/// See [`Host::stack_under`].
pub(super) fn stack_under(host: &Host, block: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    if let Some(top) = host.block(block)
        && let Some(mount) = top.mount()
    {
        let mut items = vec![mount.file_system.clone()];
        items.extend(top.file_system.iter().flat_map(geometry));
        items.push(mount.options.clone());
        items.retain(|item| !item.is_empty());
        words.push(items.join(", "));
    }
    for level in levels_under(host, block) {
        // Equal devices side by side count as one layer.
        let mut here: Vec<(String, usize)> = Vec::new();
        for device in &level {
            let what = describe_layer(host, device);
            match here.iter_mut().find(|(known, _)| *known == what) {
                Some((_, count)) => *count += 1,
                None => here.push((what, 1)),
            }
        }
        let here = here.into_iter().map(|(what, count)| match count {
            1 => what,
            count => format!("{count} x {what}"),
        });
        words.push(here.collect::<Vec<_>>().join(" and "));
    }
    words
}

/// Describes a device without names of this machine.
fn describe_layer(host: &Host, block: &BlockDevice) -> String {
    match &block.kind {
        BlockKind::Partition => match block.start.get() {
            Some(start) => format!("partition from {}", start.binary()),
            None => "partition".into(),
        },
        BlockKind::Md(array) => format!("md {}", describe_array(array)),
        BlockKind::DeviceMapper(mapped) => {
            let owner = mapped.owner.as_deref().unwrap_or("dm");
            describe_mapping(mapped).map_or(owner.into(), |words| format!("{owner} {words}"))
        }
        BlockKind::Loop { .. } => "loop device".into(),
        BlockKind::Zram => "zram".into(),
        _ => {
            let drive = host.namespace(&block.name).and_then(|(drive, _)| drive.model.value());
            let what = drive.or_else(|| block.model.value());
            let memory = || block.memory().map(str::to_owned);
            let what = what.or_else(memory).unwrap_or_else(|| "disk".into());
            if block.zones().is_some() { format!("{what}, zoned") } else { what }
        }
    }
}
