//! Reads RAID cards and host bus adapters.

use iodyno_model::{Fact, StorageCard};

use crate::block::Block;
use crate::pci::{Function, LinkBook};
use crate::read;
use crate::source::Source;

/// Vendor id of virtio, whose virtual functions have the class of a SCSI controller.
const VIRTIO: &str = "1af4:";

/// Files with a card's name: mpt3sas and mpi3mr, smartpqi and aacraid, arcmsr.
const NAME_FILES: [&str; 3] = ["board_name", "model", "host_fw_model"];

/// Files with its firmware version: mpt3sas and mpi3mr, smartpqi, hpsa, aacraid, arcmsr.
const FIRMWARE_FILES: [&str; 5] = [
    "version_fw",
    "firmware_version",
    "firmware_revision",
    "hba_kernel_version",
    "host_fw_version",
];

/// Reads the cards among the PCI functions; adds their links to the book.
pub(crate) fn read(
    source: &dyn Source,
    functions: &[Function],
    blocks: &[Block],
    links: &mut LinkBook<'_>,
) -> Vec<StorageCard> {
    functions
        .iter()
        .filter_map(|function| {
            let kind = kind(function)?;
            let pci_id = function.pci_id(source);
            if pci_id.starts_with(VIRTIO) {
                return None;
            }
            let real = source.real_path(&function.path()).ok()?;
            let below = format!("{real}/");
            let host = scsi_host(source, &real);
            let shown = |files: &[&str]| {
                let host = host.as_ref()?;
                files.iter().find_map(|file| {
                    read::text(source, &format!("/sys/class/scsi_host/{host}/{file}")).value()
                })
            };
            Some(StorageCard {
                address: function.address.clone(),
                kind: kind.into(),
                pci_id,
                name: shown(&NAME_FILES).map_or(Fact::Absent, Fact::Read),
                driver: function.driver(source),
                firmware: shown(&FIRMWARE_FILES).map_or(Fact::Absent, Fact::Read),
                numa_node: read::numa_node(source, &real),
                iommu: Fact::Absent,
                links: links.on_path(&real),
                blocks: blocks
                    .iter()
                    .filter(|block| block.real.starts_with(&below))
                    .map(|block| block.device.name.clone())
                    .collect(),
            })
        })
        .collect()
}

/// Kind by class and subclass (PCI Code and ID Assignment Specification).
fn kind(function: &Function) -> Option<&'static str> {
    match function.kind() {
        0x0100 => Some("SCSI"),
        0x0104 => Some("RAID"),
        0x0106 => Some("SATA"),
        0x0107 => Some("SAS"),
        _ => None,
    }
}

/// SCSI host of a card, `host0`.
fn scsi_host(source: &dyn Source, real: &str) -> Option<String> {
    let names = source.list(real).ok()?;
    names.into_iter().find(|name| read::is_numbered(name, "host"))
}
