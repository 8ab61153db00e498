//! Reads PCIe slots named by the platform, and whether they are occupied.

use iodyno_model::{Fact, Slot};

use crate::pci::{self, Config, Function};
use crate::read;
use crate::source::Source;

/// PCI class of a PCI-to-PCI bridge: ports of all kinds.
const BRIDGE: u32 = 0x0604;

/// The platform's slots as pairs of address (`0000:05:00`, without function) and name.
pub(crate) fn named(source: &dyn Source) -> Vec<(String, String)> {
    let names = source.list("/sys/bus/pci/slots").unwrap_or_default();
    let slot = |name: String| {
        let address = read::text(source, &format!("/sys/bus/pci/slots/{name}/address"));
        Some((address.value()?, read::clean(&name)))
    };
    names.into_iter().filter_map(slot).collect()
}

/// Reads the slots with the state of their ports. The port of a slot is the bridge whose secondary
/// bus is the slot's.
pub(crate) fn read(
    source: &dyn Source,
    named: &[(String, String)],
    functions: &[Function],
) -> Vec<Slot> {
    if named.is_empty() {
        return Vec::new();
    }
    let ports: Vec<(String, &Function)> = functions
        .iter()
        .filter(|function| function.kind() == BRIDGE)
        .filter_map(|bridge| {
            let file = format!("{}/secondary_bus_number", bridge.path());
            let bus = read::number::<u8>(source, &file).value()?;
            let domain = bridge.address.split(':').next()?;
            Some((format!("{domain}:{bus:02x}"), bridge))
        })
        .collect();
    named
        .iter()
        .map(|(address, name)| {
            let bus = address.rsplit_once(':').map_or(address.as_str(), |(bus, _)| bus);
            let port = ports.iter().find(|(below, _)| below == bus).map(|(_, port)| *port);
            let config = match port {
                Some(port) => pci::config(source, &port.path()),
                None => Err(Fact::Absent),
            };
            Slot {
                name: name.clone(),
                address: address.clone(),
                present: pci::register(&config, Config::slot_present),
                link_active: pci::register(&config, Config::link_active),
            }
        })
        .collect()
}
