//! Describes the host in a few lines: the facts needed to repeat a measurement.

use iodyno_model::{Driver, Host, StorageCard};

use super::Style;
use super::ink::Ink;
use super::words::{Hanging, clean};

/// System, BIOS, CPUs, memory, kernel; storage drivers and cards. Unknown facts are left out; if
/// nothing is known, the line says so. Every line ends with a line break and is at most
/// `style.width` columns long.
pub fn host_text(host: &Host, style: &Style) -> String {
    let block = |label: &str, items: Vec<String>| {
        let items: Vec<String> = items.iter().map(|item| clean(item)).collect();
        if items.is_empty() {
            return String::new();
        }
        Hanging::after(label, Ink::Bold, 9, style).lines(&items)
    };
    let mut machine: Vec<String> = machine(host).into_iter().map(|(_, text)| text).collect();
    if machine.is_empty() {
        machine.push("no host information".into());
    }
    block("Host", machine) + &block("Storage", storage(host))
}

/// Known facts of the machine: (name, text).
pub(crate) fn machine(host: &Host) -> Vec<(&'static str, String)> {
    let facts = [
        ("System", name(host)),
        ("BIOS", bios(host)),
        ("CPU", cpus(host)),
        ("Memory", memory(host)),
        ("Kernel", kernel(host)),
        ("Distribution", host.kernel.distribution.value()),
    ];
    facts.into_iter().filter_map(|(what, text)| Some((what, text?))).collect()
}

/// Storage drivers and cards.
pub(crate) fn storage(host: &Host) -> Vec<String> {
    let mut storage: Vec<String> = Vec::new();
    if !host.drivers.is_empty() {
        storage.push(format!(
            "driver {}",
            host.drivers.iter().map(driver).collect::<Vec<_>>().join(", ")
        ));
    }
    storage.extend(host.cards.iter().map(card));
    storage
}

fn name(host: &Host) -> Option<String> {
    let system = [host.system.vendor.value(), host.system.product.value()];
    let system = system.into_iter().flatten().collect::<Vec<_>>().join(" ");
    match (host.hostname.value(), system.is_empty()) {
        (Some(name), false) => Some(format!("{name} ({system})")),
        (Some(name), true) => Some(name),
        (None, false) => Some(system),
        (None, true) => None,
    }
}

fn bios(host: &Host) -> Option<String> {
    let version = host.system.bios_version.value()?;
    Some(match host.system.bios_date.value() {
        Some(date) => format!("BIOS {version} of {date}"),
        None => format!("BIOS {version}"),
    })
}

fn cpus(host: &Host) -> Option<String> {
    let cpus = &host.cpus;
    let mut words = Vec::new();
    let model = cpus.model.value().unwrap_or_else(|| "CPU".into());
    match cpus.sockets.value() {
        Some(sockets) if sockets > 1 => words.push(format!("{sockets} x {model}")),
        _ => words.push(model),
    }
    words.extend(cpus.cores.value().map(|cores| counted(cores as usize, "core")));
    words.extend(cpus.online.get().map(|cpus| counted(cpus.len(), "thread")));
    if cpus.nodes.len() > 1 {
        words.push(format!("{} NUMA nodes", cpus.nodes.len()));
    }
    (words.len() > 1 || cpus.model.get().is_some()).then(|| words.join(", "))
}

fn memory(host: &Host) -> Option<String> {
    Some(format!("{} memory", host.memory.get()?.binary()))
}

fn kernel(host: &Host) -> Option<String> {
    Some(format!("Linux {}", host.kernel.release.value()?))
}

fn driver(driver: &Driver) -> String {
    let mut text = driver.name.clone();
    if let Some(version) = driver.version.get() {
        text = format!("{text} {version}");
    }
    if driver.out_of_tree.get() == Some(&true) {
        text.push_str(" (out of tree)");
    }
    text
}

fn card(card: &StorageCard) -> String {
    let mut text = format!("{} card {} at {}", card.kind, card.pci_id, card.address);
    if let Some(name) = card.name.get() {
        text = format!("{} card {name} at {}", card.kind, card.address);
    }
    if let Some(firmware) = card.firmware.get() {
        text = format!("{text}, firmware {firmware}");
    }
    match card.driver.get() {
        Some(driver) => format!("{text}, {driver}"),
        None => format!("{text}, no driver"),
    }
}

/// `1 core`, `2 cores`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
