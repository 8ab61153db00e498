//! Bus part of the topology: root complexes down to drives, cards and disks.

use std::collections::BTreeMap;

use super::layers::{self, device, is_shared};
use super::{LinkLoad, Node, NodeKind};
use crate::{Drive, Host, StorageCard};

/// PCI function, with the links that lead to it.
struct Endpoint<'h> {
    /// Links from the root port; `None`: not known.
    links: Option<&'h [String]>,
    address: String,
    numa_node: Option<u32>,
    node: Node,
}

/// Remaining links on the way, and the node at their end.
type Branch<'h> = (&'h [String], Node);

/// Returns the root complexes, by address, then drives behind networks.
pub(super) fn of(host: &Host) -> Vec<Node> {
    let mut complexes: BTreeMap<String, Vec<Endpoint<'_>>> = BTreeMap::new();
    for endpoint in endpoints(host) {
        complexes.entry(root_bus(host, &endpoint)).or_default().push(endpoint);
    }
    let mut nodes: Vec<Node> =
        complexes.into_iter().map(|(bus, below)| root_complex(host, bus, below)).collect();
    for owner in host.drives.iter().filter_map(|drive| Some((drive.vmd.as_ref()?, drive))) {
        move_behind_vmd(host, &mut nodes, owner);
    }
    let mut fabrics: BTreeMap<String, Vec<Node>> = BTreeMap::new();
    for far in host.drives.iter().filter(|drive| drive.address.get().is_none()) {
        let transport = far.transport.value().unwrap_or_else(|| "an unknown bus".into());
        fabrics.entry(transport).or_default().push(drive(host, far));
    }
    nodes.extend(
        fabrics.into_iter().map(|(transport, children)| Node {
            children,
            ..Node::new(NodeKind::Fabric, transport)
        }),
    );
    nodes
}

/// Returns drives, cards, and other functions with disks or without a driver for them.
fn endpoints(host: &Host) -> Vec<Endpoint<'_>> {
    let mut endpoints = Vec::new();
    for of in &host.drives {
        let Some(address) = of.address.value() else { continue };
        let numa_node = of.numa_node.value();
        endpoints.push(Endpoint {
            links: Some(&of.links),
            address,
            numa_node,
            node: drive(host, of),
        });
    }
    for of in &host.cards {
        let (address, numa_node) = (of.address.clone(), of.numa_node.value());
        endpoints.push(Endpoint {
            links: Some(&of.links),
            address,
            numa_node,
            node: card(host, of),
        });
    }
    for of in host.nvme_functions.iter().filter(|function| function.controller.is_none()) {
        let mut node = Node::new(NodeKind::Function, &of.address);
        node.facts.push(match of.driver.get() {
            Some(driver) => format!("used by {driver}: no block device"),
            None => "no driver".into(),
        });
        let address = of.address.clone();
        endpoints.push(Endpoint { links: Some(&of.links), address, numa_node: None, node });
    }
    let known: Vec<String> = endpoints.iter().map(|endpoint| endpoint.address.clone()).collect();
    for block in host.blocks.iter().filter(|block| block.stands_on.is_empty()) {
        let Some(address) = block.pci_function.clone() else { continue };
        if !known.contains(&address) {
            let node = device(host, block);
            endpoints.push(Endpoint { links: None, address, numa_node: None, node });
        }
    }
    endpoints
}

/// Returns domain and bus of the first port on the way, which is on the root complex.
fn root_bus(host: &Host, endpoint: &Endpoint<'_>) -> String {
    let first = endpoint.links.and_then(|links| links.first());
    let port = first.and_then(|name| host.link(name));
    let address = port.map_or(endpoint.address.as_str(), |link| link.port.address.as_str());
    address.rsplit_once(':').map_or(address, |(bus, _)| bus).to_owned()
}

fn root_complex(host: &Host, bus: String, mut below: Vec<Endpoint<'_>>) -> Node {
    // Bus 00 of a domain is always a root bus; others only if a link to them is known.
    let is_root = below.iter().any(|one| one.links.is_some()) || bus.ends_with(":00");
    let kind = if is_root { NodeKind::RootComplex } else { NodeKind::Bus };
    let mut node = Node::new(kind, bus);
    let mut numa: Vec<u32> = below.iter().filter_map(|endpoint| endpoint.numa_node).collect();
    numa.sort_unstable();
    numa.dedup();
    if !numa.is_empty() {
        let numa: Vec<String> = numa.iter().map(u32::to_string).collect();
        node.facts.push(format!("NUMA node {}", numa.join(" and ")));
        // Several NUMA nodes: show each device's own.
        for endpoint in below.iter_mut().filter(|_| numa.len() > 1) {
            let own = endpoint.numa_node.map(|numa| format!("NUMA node {numa}"));
            endpoint.node.facts.extend(own);
        }
    }
    let ways = below
        .into_iter()
        .map(|endpoint| (endpoint.links.unwrap_or_default(), endpoint.node))
        .collect();
    node.children = ports(host, ways);
    node
}

/// Returns the nodes on a bus: ports with their children, then devices without a port.
fn ports(host: &Host, ways: Vec<Branch<'_>>) -> Vec<Node> {
    let mut behind: Vec<(&String, Vec<Branch<'_>>)> = Vec::new();
    let mut direct = Vec::new();
    for (links, node) in ways {
        let Some((first, rest)) = links.split_first() else {
            direct.push(node);
            continue;
        };
        match behind.iter_mut().find(|(name, _)| *name == first) {
            Some((_, below)) => below.push((rest, node)),
            None => behind.push((first, vec![(rest, node)])),
        }
    }
    behind.sort_by_key(|(name, _)| *name);
    let mut nodes: Vec<Node> =
        behind.into_iter().map(|(name, below)| port(host, name, below)).collect();
    nodes.append(&mut direct);
    nodes
}

fn port(host: &Host, name: &str, below: Vec<Branch<'_>>) -> Node {
    let is_switch = below.iter().any(|(rest, _)| !rest.is_empty());
    let children = ports(host, below);
    let children = match is_switch {
        true => vec![Node { children, ..Node::new(NodeKind::Switch, name) }],
        false => children,
    };
    let Some(link) = host.link(name) else {
        return Node { children, ..Node::new(NodeKind::Port, "unknown") };
    };
    let load = LinkLoad::of(host, link);
    let (facts, concerns) = load.facts_and_concerns(link);
    let node = Node::new(NodeKind::Port, &link.port.address);
    Node { link: Some(load), facts, concerns, children, ..node }
}

/// Moves the PCI domain of a VMD controller behind that controller.
fn move_behind_vmd(host: &Host, nodes: &mut Vec<Node>, (owner, drive): (&String, &Drive)) {
    let Some(address) = drive.address.value() else { return };
    let endpoint = Endpoint {
        links: Some(&drive.links),
        address,
        numa_node: None,
        node: Node::new(NodeKind::Drive, &drive.name),
    };
    let bus = root_bus(host, &endpoint);
    let Some(at) = nodes.iter().position(|node| node.name == bus) else { return };
    let domain = nodes.remove(at);
    match nodes.iter_mut().find_map(|node| find(node, owner)) {
        Some(vmd) => vmd.children.push(domain),
        None => nodes.insert(at, domain),
    }
}

fn find<'n>(node: &'n mut Node, name: &str) -> Option<&'n mut Node> {
    if node.name == name && node.kind == NodeKind::Vmd {
        return Some(node);
    }
    node.children.iter_mut().find_map(|child| find(child, name))
}

fn drive(host: &Host, drive: &Drive) -> Node {
    let mut node = Node::new(NodeKind::Drive, &drive.name);
    node.facts.extend(drive.model.value());
    node.facts.extend(drive.capacity.get().map(|capacity| capacity.decimal()));
    node.facts.extend(drive.address.get().map(|address| format!("at {address}")));
    node.concerns.extend(
        drive.state.get().filter(|state| *state != "live").map(|state| format!("it is {state}")),
    );
    for namespace in &drive.namespaces {
        match &namespace.path {
            Some(path) if is_shared(host, &namespace.name) => {
                let mut leaf = Node::new(NodeKind::Path, &path.name);
                leaf.facts.push(format!("to {}", namespace.name));
                match path.ana_state.value() {
                    Some(state) if state != "optimized" => leaf.concerns.push(state),
                    state => leaf.facts.extend(state),
                }
                node.children.push(leaf);
            }
            _ => node
                .children
                .extend(host.block(&namespace.name).map(|block| layers::device(host, block))),
        }
    }
    node
}

fn card(host: &Host, card: &StorageCard) -> Node {
    if card.is_vmd() {
        return Node::new(NodeKind::Vmd, &card.address);
    }
    let mut node = Node::new(NodeKind::Card, &card.address);
    node.facts.push(card.name.value().unwrap_or_else(|| card.pci_id.clone()));
    node.facts.push(match card.driver.get() {
        Some(driver) => format!("{}, {driver}", card.kind),
        None => format!("{}, no driver", card.kind),
    });
    node.facts.extend(card.firmware.get().map(|firmware| format!("firmware {firmware}")));
    let disks = card.blocks.iter().filter_map(|name| host.block(name));
    let whole: Vec<_> = disks.filter(|disk| disk.stands_on.is_empty()).collect();
    node.facts.push(match (card.kind.as_str(), whole.len()) {
        (_, 0) => "shows no disk".to_owned(),
        ("RAID", 1) => "hides the drives behind its disk".to_owned(),
        ("RAID", disks) => format!("hides the drives behind its {disks} disks"),
        (_, 1) => "shows a disk".to_owned(),
        (_, disks) => format!("shows {disks} disks"),
    });
    node.children.extend(whole.into_iter().map(|disk| device(host, disk)));
    node
}
