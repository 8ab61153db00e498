//! PCIe links: the drives below one, and its state under load.

use iodyno_model::{Drive, Host, Link, LinkState, RunRecord};

use crate::place::place;

/// Returns the physical links: those with only virtual disks below are left out.
pub(crate) fn real(host: &Host) -> impl Iterator<Item = &Link> {
    host.links.iter().filter(|link| {
        let mut drives = drives_below(host, link).peekable();
        drives.peek().is_none() || drives.any(|drive| drive.virtual_disk.is_none())
    })
}

/// Returns the drives whose path includes a link.
pub(crate) fn drives_below<'h>(host: &'h Host, link: &'h Link) -> impl Iterator<Item = &'h Drive> {
    host.drives.iter().filter(|drive| drive.links.iter().any(|name| name == link.name()))
}

/// Returns the names for a finding about a link: its own, and those of the drives and cards below
/// it.
pub(crate) fn subjects(host: &Host, link: &Link) -> Vec<String> {
    let mut names: Vec<String> = drives_below(host, link).map(|drive| drive.name.clone()).collect();
    for card in host.cards.iter().filter(|card| card.links.iter().any(|name| name == link.name())) {
        names.extend(card.blocks.iter().cloned());
    }
    names.push(link.name().to_owned());
    names
}

/// Returns the name of a link in a sentence: by its drive, its card or its address.
pub(crate) fn title(host: &Host, link: &Link) -> String {
    match host.drive_of(link) {
        Some(drive) => format!("The link of {}", drive.name),
        None => match host.cards.iter().find(|card| card.address == link.name()) {
            Some(card) => format!("The link of the {} card {}", card.kind, card.address),
            None => format!("The uplink {}", link.name()),
        },
    }
}

/// Returns the worst state that a link had while drives below it were under load; if that was not
/// observed, at any time: an idle link may save power. The flag is true if it was under load.
pub(crate) fn state(record: &RunRecord, link: &Link) -> Option<(LinkState, bool)> {
    let host = record.host()?;
    let names: Vec<&str> = drives_below(host, link).map(|drive| drive.name.as_str()).collect();
    let loaded = record.measurements.iter().filter(|of| {
        of.targets.iter().any(|target| {
            place(Some(host), of, target).drive.is_some_and(|d| names.contains(&d.name.as_str()))
        })
    });
    let under_load = loaded.filter_map(|of| record.snapshots.get(of.under_load?));
    let worst = |snapshots: &mut dyn Iterator<Item = &Host>| {
        let states = snapshots.filter_map(|host| host.link(link.name())?.current.value());
        states.min_by(|a, b| raw(*a).total_cmp(&raw(*b)))
    };
    let loaded = worst(&mut { under_load });
    let state = loaded.or_else(|| worst(&mut record.snapshots.iter()))?;
    Some((state, loaded.is_some()))
}

/// Returns raw bytes per second, 0 for an unknown generation.
pub(crate) fn raw(state: LinkState) -> f64 {
    state.raw_bytes_per_s().unwrap_or(0.0)
}

/// Returns true if `state` has a smaller width or generation than the other.
pub(crate) fn is_less(state: LinkState, than: LinkState) -> bool {
    state.generation < than.generation || state.width < than.width
}
