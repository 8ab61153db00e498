//! Turns what the user states of the machine behind an imported result into facts of a host, each
//! marked as stated, so that the same rules judge it.

use iodyno_judge::{ClaimBook, LAYERS};
use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Drive, Estimate, Fact, FillOrder, Host, Link, LinkEnd,
    LinkState, MdArray, Measurement, Namespace, RunRecord, Stated, StatedBlocks, StorageCard,
    WrittenEvidence, WrittenShare, WrittenState, add_missing,
};

/// Fills in the host of `record` from what is stated of each of its measurements, all of which were
/// made on one machine.
pub(crate) fn apply(record: &mut RunRecord, of_each: &[Stated], claims: &ClaimBook) {
    let Some(shared) = of_each.first() else { return };
    let mut host = Host::default();
    for (measurement, stated) in record.measurements.iter_mut().zip(of_each) {
        let names = assign_targets(measurement, stated);
        mark_blocks(measurement, stated.blocks);
        measurement.before = Some(0);
        names.into_iter().for_each(|name| add_drive(&mut host, name, shared, claims));
        if let Some(layer) = &stated.layer {
            add_layer(&mut host, measurement, layer, stated.drives.unwrap_or(1));
        }
    }
    add_cards(&mut host, shared);
    host.drives.sort_by_key(|drive| number(&drive.name));
    host.taken_ns = record.run.started_ns;
    let mut targets: Vec<String> =
        record.measurements.iter().flat_map(|of| of.targets.clone()).collect();
    targets.sort_by_key(|name| (number(name), name.clone()));
    targets.dedup();
    record.run.targets = targets;
    record.snapshots = vec![host];
}

/// Messages about stated names that nothing is known of, one sentence each.
pub(crate) fn unknown_names(of_each: &[Stated], claims: &ClaimBook) -> Vec<String> {
    let mut unknown: Vec<String> = Vec::new();
    let mut push = |text: String| add_missing(&mut unknown, [text]);
    for stated in of_each {
        if let Some(model) = stated.model.as_deref().filter(|name| claims.named(name).is_none()) {
            let nearest = claims.nearest(model);
            let nearest = nearest.map(|name| format!(", the nearest is `{name}`"));
            push(format!(
                "no data sheet for drive `{model}`{}; its claims are unknown (--datasheet adds one)",
                nearest.unwrap_or_default()
            ));
        }
        if let Some(layer) = stated.layer.as_deref().filter(|layer| !LAYERS.contains(layer)) {
            push(format!("unknown layer `{layer}`; known are {}", LAYERS.join(", ")));
        }
    }
    unknown
}

/// True if nothing is stated.
pub(crate) fn is_empty(stated: &Stated) -> bool {
    *stated == Stated::default()
}

/// Completes `own` with the statements of `all`.
pub(crate) fn completed(own: &Stated, all: &Stated) -> Stated {
    Stated {
        link: own.link.or(all.link),
        model: own.model.clone().or_else(|| all.model.clone()),
        blocks: own.blocks.or(all.blocks),
        behind: own.behind.clone().or_else(|| all.behind.clone()),
        drives: own.drives.or(all.drives),
        layer: own.layer.clone().or_else(|| all.layer.clone()),
    }
}

/// The part that identifies a machine: results that differ only in the rest come from one.
pub(crate) fn machine(stated: &Stated) -> Stated {
    Stated { blocks: None, drives: None, layer: None, ..stated.clone() }
}

/// Number at the end of a name.
fn number(name: &str) -> Option<u32> {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[digits..].parse().ok()
}

/// Gives a measurement targets if it has none, and returns the names of their block devices.
fn assign_targets(measurement: &mut Measurement, stated: &Stated) -> Vec<String> {
    let count = stated.drives.unwrap_or(1);
    let numbered = || (1..=count).map(|n| format!("drive{n}")).collect::<Vec<_>>();
    let is_device = |target: &String| target.starts_with("/dev/") || !target.contains('/');
    let targets = &measurement.targets;
    if let Some(layer) = &stated.layer {
        let members = numbered();
        let name = layer_name(layer, members.len());
        match measurement.targets.is_empty() {
            true => measurement.targets = vec![name],
            false => measurement.conditions.device = Some(name),
        }
        return members;
    }
    if targets.is_empty() {
        measurement.targets = numbered();
        return numbered();
    }
    if targets.iter().all(is_device) {
        return targets.iter().map(|name| name.trim_start_matches("/dev/").to_owned()).collect();
    }
    measurement.conditions.device = Some("drive1".into());
    vec!["drive1".into()]
}

fn layer_name(layer: &str, members: usize) -> String {
    format!("{}-of-{members}", layer.replace(|c: char| !c.is_alphanumeric(), "-"))
}

fn mark_blocks(measurement: &mut Measurement, blocks: Option<StatedBlocks>) {
    let Some(blocks) = blocks else { return };
    let (state, share, fill) = match blocks {
        StatedBlocks::WrittenSeq => (WrittenState::Written, 1.0, Some(FillOrder::Sequential)),
        StatedBlocks::WrittenRandom => (WrittenState::Written, 1.0, Some(FillOrder::Random)),
        StatedBlocks::Trimmed => (WrittenState::Unwritten, 0.0, None),
        StatedBlocks::Unknown => return,
    };
    let share = |target: &String| WrittenShare {
        target: target.clone(),
        samples: 0,
        share: Estimate::bare(share),
        state,
        evidence: WrittenEvidence::Stated { blocks },
    };
    measurement.conditions.written = measurement.targets.iter().map(share).collect();
    measurement.conditions.fill = fill;
}

fn add_drive(host: &mut Host, name: String, stated: &Stated, claims: &ClaimBook) {
    if host.block(&name).is_some() {
        return;
    }
    let claim = stated.model.as_deref().and_then(|model| claims.named(model));
    let size = claim.and_then(|claim| claim.capacity_gb).map(|gb| Bytes(gb * 1_000_000_000));
    let size = size.map_or(Fact::Absent, Fact::Stated);
    let model = match (claim, &stated.model) {
        (Some(claim), _) => Fact::Stated(claim.model.clone()),
        (None, Some(model)) => Fact::Stated(model.clone()),
        (None, None) => Fact::Absent,
    };
    // A drive behind a card may be SATA or SAS unless PCIe is stated.
    let is_nvme = stated.link.is_some()
        || claim.is_some_and(|claim| claim.pcie_gen.is_some())
        || stated.behind.is_none();
    let (major, minor) = (0, host.blocks.len() as u32);
    host.blocks.push(BlockDevice {
        name: name.clone(),
        major,
        minor,
        kind: if is_nvme { BlockKind::Nvme } else { BlockKind::Scsi },
        size: size.clone(),
        model: model.clone(),
        ..BlockDevice::default()
    });
    if !is_nvme {
        return;
    }
    let own_link = stated.link.map(|state| {
        let address = name.clone();
        host.links.push(link(&address, state));
        address
    });
    host.drives.push(Drive {
        name: name.clone(),
        model,
        links: own_link.into_iter().collect(),
        capacity: size.clone(),
        namespaces: vec![Namespace { name, size, ..Namespace::default() }],
        ..Drive::default()
    });
}

/// Adds a target that combines several drives.
fn add_layer(host: &mut Host, of: &Measurement, layer: &str, drives: u32) {
    let members: Vec<String> = (1..=drives).map(|n| format!("drive{n}")).collect();
    let name = of.conditions.device.clone().unwrap_or_else(|| layer_name(layer, members.len()));
    if host.block(&name).is_some() {
        return;
    }
    host.blocks.push(BlockDevice {
        name,
        major: 0,
        minor: host.blocks.len() as u32,
        kind: BlockKind::Md(Box::new(MdArray { level: layer.to_owned(), ..MdArray::default() })),
        stands_on: members,
        ..BlockDevice::default()
    });
}

/// Adds the cards, each with its share of the drives.
fn add_cards(host: &mut Host, stated: &Stated) {
    let Some(behind) = &stated.behind else { return };
    let mut devices: Vec<String> = host
        .blocks
        .iter()
        .filter(|block| block.stands_on.is_empty())
        .map(|block| block.name.clone())
        .collect();
    devices.sort_by_key(|name| (number(name), name.clone()));
    let share = devices.len().div_ceil(behind.count as usize).max(1);
    for (n, blocks) in devices.chunks(share).enumerate() {
        let address = format!("card{}", n + 1);
        let links = behind.link.map(|state| {
            host.links.push(link(&address, state));
            address.clone()
        });
        for drive in host.drives.iter_mut().filter(|drive| blocks.contains(&drive.name)) {
            drive.links.splice(0..0, links.clone());
        }
        host.cards.push(StorageCard {
            address,
            kind: "storage".into(),
            pci_id: String::new(),
            name: Fact::Stated(behind.name.clone()),
            links: links.into_iter().collect(),
            blocks: blocks.to_vec(),
            ..StorageCard::default()
        });
    }
}

fn link(address: &str, state: LinkState) -> Link {
    let end = |address: String| LinkEnd { address, ..LinkEnd::default() };
    Link {
        port: end(format!("port of {address}")),
        device: end(address.to_owned()),
        current: Fact::Stated(state),
        ..Link::default()
    }
}
