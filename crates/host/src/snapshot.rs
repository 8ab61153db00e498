//! The machine at one moment.

use iodyno_model::Host;

use crate::disk_stats::disk_stats;
use crate::pci::{self, LinkBook};
use crate::source::Source;
use crate::{block, cards, cpu, drive, in_use, slots, system};

/// How deep a snapshot looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// No command reaches a drive, temperatures included, which the kernel
    /// asks the drive for: for use while latencies are measured.
    Quick,
    /// All, by admin commands too where they are allowed.
    Full,
}

/// Reads the machine. Never fails: what cannot be read is a fact that says so,
/// and what vanishes while it is read is left out.
pub fn snapshot(source: &dyn Source, depth: Depth) -> Host {
    let mut blocks = block::read(source);
    in_use::complete(source, &mut blocks);
    let named_slots = slots::named(source);
    let functions = pci::functions(source);
    let slots = slots::read(source, &named_slots, &functions);
    let mut links = LinkBook::new(source, named_slots);
    let drives = drive::read(source, depth, &blocks, &mut links);
    let cards = cards::read(source, &functions, &blocks, &mut links);
    Host {
        taken_ns: source.taken_ns(),
        hostname: system::hostname(source),
        system: system::dmi(source),
        cpus: cpu::read(source),
        memory: system::memory(source),
        kernel: system::kernel(source),
        page_bytes: system::page_bytes(source),
        limits: system::limits(source),
        drivers: system::drivers(source),
        cards,
        drives,
        links: links.into_links(),
        nvme_functions: drive::functions(source, &functions),
        slots,
        disk_stats: disk_stats(source),
        blocks: blocks.into_iter().map(|block| block.device).collect(),
    }
}
