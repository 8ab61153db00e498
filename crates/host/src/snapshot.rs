//! Takes a snapshot of the machine.

use iodyno_model::{BlockDevice, Host};

use crate::disk_stats::disk_stats;
use crate::pci::{self, LinkBook};
use crate::source::{Depth, Source};
use crate::{
    block, cards, control_groups, cpu, drive, file_system, in_use, interrupts, iommu, slots,
    subsystems, system,
};

/// Reads the machine. Never fails: unreadable values are facts with a reason, and what vanishes
/// meanwhile is omitted.
pub fn snapshot(source: &dyn Source, depth: Depth) -> Host {
    let mut blocks = block::read(source);
    in_use::add_uses(source, &mut blocks);
    file_system::add_file_systems(source, depth, &mut blocks);
    let named_slots = slots::named(source);
    let functions = pci::functions(source);
    let slots = slots::read(source, &named_slots, &functions);
    let mut links = LinkBook::new(source, named_slots);
    let mut drives = drive::read(source, depth, &blocks, &mut links);
    let mut cards = cards::read(source, &functions, &blocks, &mut links);
    let nvme_functions = drive::functions(source, &functions, &mut links);
    let kernel = system::kernel(source);
    for drive in &mut drives {
        let address = drive.address.clone();
        drive.iommu = address.and_then(|address| iommu::read(source, &address, &kernel.release));
    }
    for card in &mut cards {
        card.iommu = iommu::read(source, &card.address, &kernel.release);
    }
    let of_drives = drives.iter().filter_map(|drive| drive.address.value());
    let of_cards = cards.iter().map(|card| card.address.clone());
    let of_blocks = blocks.iter().filter_map(|block| block.device.pci_function.clone());
    let raising = of_drives.chain(of_cards).chain(of_blocks).collect();
    let blocks: Vec<BlockDevice> = blocks.into_iter().map(|block| block.device).collect();
    Host {
        taken_ns: source.taken_ns(),
        hostname: system::hostname(source),
        system: system::dmi(source),
        cpus: cpu::read(source),
        memory: system::memory(source),
        kernel,
        page_bytes: system::page_bytes(source),
        limits: system::limits(source),
        drivers: system::drivers(source),
        cards,
        drives,
        links: links.into_links(),
        nvme_functions,
        slots,
        disk_stats: disk_stats(source),
        no_sysfs: ["bus", "class", "block"]
            .iter()
            .all(|folder| source.list(&format!("/sys/{folder}")).is_err()),
        subsystems: subsystems::read(source),
        interrupts: interrupts::read(source, &raising),
        control_groups: control_groups::read(source, &blocks),
        blocks,
    }
}
