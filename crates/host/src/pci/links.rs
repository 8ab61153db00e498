//! Reads the PCIe links between root ports and drives.

use std::collections::BTreeMap;

use iodyno_model::{Aspm, Fact, Link, LinkEnd, LinkState, PcieError, PcieSeverity};

use super::address::chain;
use super::config::{CONFIG_BYTES, Config, PortKind};
use crate::read;
use crate::source::Source;

/// One end of a link: address, path and configuration space.
type End<'a> = (&'a str, &'a str, &'a Result<Config, Fact<()>>);

/// Links found so far, each read once.
pub(crate) struct LinkBook<'s> {
    source: &'s dyn Source,
    /// The platform's slots: address without function, and name.
    slots: Vec<(String, String)>,
    links: BTreeMap<String, Link>,
    /// Cache of configuration spaces: a switch's upstream port is examined both as the end of one
    /// link and as the start of another.
    configs: BTreeMap<String, Result<Config, Fact<()>>>,
}

impl<'s> LinkBook<'s> {
    pub(crate) fn new(source: &'s dyn Source, slots: Vec<(String, String)>) -> Self {
        Self { source, slots, links: BTreeMap::new(), configs: BTreeMap::new() }
    }

    /// Links on a real path of sysfs, from the root port down, by the address of their device end.
    ///
    /// A link begins at a root port or a switch's downstream port, according to configuration
    /// space. Without privileges: every other step from the root down is a link; the ones between
    /// are inside switches.
    pub(crate) fn on_path(&mut self, real: &str) -> Vec<String> {
        let functions = chain(real);
        let (mut names, mut was_link) = (Vec::new(), false);
        for pair in functions.windows(2) {
            let [(port, port_path), (device, device_path)] = pair else { continue };
            // A port has one link, whichever function at its other end is read first.
            let known = self.links.values().find(|link| link.port.address == *port);
            if let Some(link) = known {
                was_link = true;
                names.push(link.device.address.clone());
                continue;
            }
            let config = self.config(port_path);
            let is_link = match config.as_ref().ok().and_then(Config::port_kind) {
                Some(kind) => kind == PortKind::TowardsDevice,
                // Only PCIe functions have the file.
                None => !was_link && self.is_express(device_path),
            };
            was_link = is_link;
            if is_link {
                let device_config = self.config(device_path);
                let link =
                    self.read((port, port_path, &config), (device, device_path, &device_config));
                self.links.insert(device.clone(), link);
                names.push(device.clone());
            }
        }
        names
    }

    fn is_express(&self, path: &str) -> bool {
        self.source.read(&format!("{path}/max_link_width"), 64).is_ok()
    }

    fn config(&mut self, path: &str) -> Result<Config, Fact<()>> {
        self.configs.entry(path.into()).or_insert_with(|| config(self.source, path)).clone()
    }

    fn read(&self, port: End<'_>, device: End<'_>) -> Link {
        let source = self.source;
        let current = read::or_else(state(source, device.1), || state(source, port.1));
        let slot = device.0.rsplit_once('.').and_then(|(place, _)| {
            let found = self.slots.iter().find(|(address, _)| address == place);
            found.map(|(_, name)| name.clone())
        });
        let aspm = read::or_else(enabled(port.2, device.2), || aspm(source, device.1));
        Link { port: end(source, port), device: end(source, device), current, slot, aspm }
    }

    /// Returns all links, by the address of their device end.
    pub(crate) fn into_links(self) -> Vec<Link> {
        self.links.into_values().collect()
    }
}

/// Reads configuration space, or returns why it cannot.
pub(crate) fn config(source: &dyn Source, path: &str) -> Result<Config, Fact<()>> {
    let bytes = source.read(&format!("{path}/config"), CONFIG_BYTES);
    bytes.map(Config::new).map_err(|error| read::unknown(&error))
}

/// Reads a register of configuration space; absent if it does not exist.
pub(crate) fn register<T>(
    config: &Result<Config, Fact<()>>,
    value: impl FnOnce(&Config) -> Option<T>,
) -> Fact<T> {
    match config {
        Ok(config) if !config.is_complete() => Fact::NeedsRoot,
        Ok(config) => value(config).map_or(Fact::Absent, Fact::Read),
        Err(why) => match why {
            Fact::NeedsRoot => Fact::NeedsRoot,
            Fact::Unreadable(what) => Fact::Unreadable(what.clone()),
            _ => Fact::Absent,
        },
    }
}

fn end(source: &dyn Source, (address, path, config): End<'_>) -> LinkEnd {
    let mut errors = Vec::new();
    let mut total = |severity, file| {
        let counted = counted(source, &format!("{path}/{file}"), severity);
        counted.map(|(total, kinds)| {
            errors.extend(kinds);
            total
        })
    };
    let correctable = total(PcieSeverity::Correctable, "aer_dev_correctable");
    let nonfatal = total(PcieSeverity::Nonfatal, "aer_dev_nonfatal");
    let fatal = total(PcieSeverity::Fatal, "aer_dev_fatal");
    LinkEnd {
        address: address.into(),
        max_generation: generation(source, &format!("{path}/max_link_speed")),
        max_width: width(source, &format!("{path}/max_link_width")),
        target_generation: register(config, Config::target_generation),
        max_payload_bytes: register(config, Config::max_payload_bytes),
        able_payload_bytes: register(config, Config::able_payload_bytes),
        max_read_request_bytes: register(config, Config::max_read_request_bytes),
        correctable_errors: correctable,
        uncorrectable_errors: match (nonfatal, fatal) {
            (Fact::Read(nonfatal), Fact::Read(fatal)) => Fact::Read(nonfatal.saturating_add(fatal)),
            (Fact::Read(_), fatal) => fatal,
            (nonfatal, _) => nonfatal,
        },
        errors,
    }
}

/// Link states enabled by the registers of both ends, as in the kernel's files: either end enters
/// L0s by itself, both enter L1 or none (PCI Express Base Specification 6.0, 5.4.1).
fn enabled(port: &Result<Config, Fact<()>>, device: &Result<Config, Fact<()>>) -> Fact<Aspm> {
    register(port, Config::aspm).and_then(|port| {
        register(device, Config::aspm)
            .map(|device| Aspm { l0s: port.l0s || device.l0s, l1: port.l1 && device.l1 })
    })
}

/// Link states readable by everybody: an unsupported state has no file.
fn aspm(source: &dyn Source, path: &str) -> Fact<Aspm> {
    let enabled = |file| {
        let value = read::number::<u8>(source, &format!("{path}/link/{file}"));
        value.map(|value| value != 0)
    };
    let or_off = |fact| if fact == Fact::Absent { Fact::Read(false) } else { fact };
    match (enabled("l0s_aspm"), enabled("l1_aspm")) {
        (Fact::Absent, Fact::Absent) => Fact::Absent,
        (l0s, l1) => or_off(l0s).and_then(|l0s| or_off(l1).map(|l1| Aspm { l0s, l1 })),
    }
}

fn state(source: &dyn Source, path: &str) -> Fact<LinkState> {
    let generation = generation(source, &format!("{path}/current_link_speed"));
    let width = width(source, &format!("{path}/current_link_width"));
    match (generation, width) {
        (Fact::Read(generation), Fact::Read(width)) => Fact::Read(LinkState { generation, width }),
        (Fact::Read(_), why) => why.map(|width| LinkState { generation: 0, width }),
        (why, _) => why.map(|generation| LinkState { generation, width: 0 }),
    }
}

/// Parses `16.0 GT/s PCIe` as a generation; the kernel's `Unknown` is absent.
fn generation(source: &dyn Source, path: &str) -> Fact<u8> {
    let text = read::text(source, path);
    if text.get().is_some_and(|text| text.starts_with("Unknown")) {
        return Fact::Absent;
    }
    read::parse_fact(text, |text| {
        Some(match text.split_once(" GT/s")?.0 {
            "2.5" => 1,
            "5" | "5.0" => 2,
            "8" | "8.0" => 3,
            "16" | "16.0" => 4,
            "32" | "32.0" => 5,
            "64" | "64.0" => 6,
            _ => return None,
        })
    })
}

/// Reads the number of lanes; the kernel's 0 and 255 mean unknown.
fn width(source: &dyn Source, path: &str) -> Fact<u8> {
    match read::number::<u8>(source, path) {
        Fact::Read(0 | 255) => Fact::Absent,
        Fact::Read(lanes @ 1..=32) => Fact::Read(lanes),
        Fact::Read(lanes) => Fact::Unreadable(format!("{lanes} lanes")),
        other => other,
    }
}

/// Reads an `aer_dev_*` file: its `TOTAL_…` line, and the kinds that occurred.
fn counted(source: &dyn Source, path: &str, severity: PcieSeverity) -> Fact<(u64, Vec<PcieError>)> {
    let text = match read::file(source, path) {
        Ok(text) => text,
        Err(error) => return read::unknown(&error),
    };
    let (mut total, mut kinds) = (None, Vec::new());
    for line in text.lines() {
        let Some((kind, count)) = line.trim().rsplit_once(' ') else { continue };
        let Ok(count) = count.parse() else { continue };
        if kind.starts_with("TOTAL") {
            total = Some(count);
        } else if count > 0 {
            kinds.push(PcieError { severity, kind: read::clean(kind), count });
        }
    }
    total.map_or_else(
        || Fact::Unreadable("no error total".into()),
        |total| Fact::Read((total, kinds)),
    )
}
