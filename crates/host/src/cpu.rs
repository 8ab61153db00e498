//! Reads CPUs and NUMA nodes.

use std::collections::BTreeSet;

use iodyno_model::{Cpus, Fact, NumaNode};

use crate::read;
use crate::source::Source;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// Bytes that contain the first CPU's lines; generating the whole file takes long on a large
/// machine.
const FIRST_CPU_BYTES: usize = 4096;

pub(crate) fn read(source: &dyn Source) -> Cpus {
    let online = read::parsed(source, &format!("{CPUS}/online"), read::cpu_list);
    let (sockets, cores) = topology(source, online.get().map_or(&[], Vec::as_slice));
    Cpus {
        model: model(source),
        sockets,
        cores,
        governor: read::text(source, &format!("{CPUS}/cpu0/cpufreq/scaling_governor")),
        nodes: nodes(source),
        online,
    }
}

/// CPU model from /proc/cpuinfo, where x86 names it; other architectures do so at most in part.
fn model(source: &dyn Source) -> Fact<String> {
    let bytes = match source.read("/proc/cpuinfo", FIRST_CPU_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return read::unknown(&error),
    };
    let text = String::from_utf8_lossy(&bytes);
    let name = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        matches!(key.trim(), "model name" | "cpu model").then(|| read::clean(value))
    });
    name.filter(|name| !name.is_empty()).map_or(Fact::Absent, Fact::Read)
}

/// Counts sockets and cores of the online CPUs.
fn topology(source: &dyn Source, online: &[u32]) -> (Fact<u32>, Fact<u32>) {
    let (mut sockets, mut cores) = (BTreeSet::new(), BTreeSet::new());
    for cpu in online {
        let number = |file| {
            // -1 on a machine without sockets.
            read::number::<i64>(source, &format!("{CPUS}/cpu{cpu}/topology/{file}")).value()
        };
        let (Some(socket), Some(core)) = (number("physical_package_id"), number("core_id")) else {
            return (Fact::Absent, Fact::Absent);
        };
        sockets.insert(socket);
        // Cores of different dies of a socket may share numbers.
        cores.insert((socket, number("die_id"), core));
    }
    let count = |length: usize| match u32::try_from(length) {
        Ok(length) if length > 0 => Fact::Read(length),
        _ => Fact::Absent,
    };
    (count(sockets.len()), count(cores.len()))
}

fn nodes(source: &dyn Source) -> Vec<NumaNode> {
    let ids = read::parsed(source, &format!("{NODES}/online"), read::cpu_list);
    let node = |id: u32| {
        // A memory-only node has an empty list.
        let bytes = source.read(&format!("{NODES}/node{id}/cpulist"), FIRST_CPU_BYTES).ok()?;
        Some(NumaNode { id, cpus: read::cpu_list(&String::from_utf8_lossy(&bytes))? })
    };
    ids.value().unwrap_or_default().into_iter().filter_map(node).collect()
}
