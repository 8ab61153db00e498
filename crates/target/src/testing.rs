//! Hosts for tests.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Cpus, Drive, Fact, Host, Kernel, Limits, Namespace, Queue,
    System,
};

/// A host that has these block devices and nothing else.
pub(crate) fn host(blocks: Vec<BlockDevice>) -> Host {
    Host {
        taken_ns: 0,
        hostname: Fact::Absent,
        system: System::default(),
        cpus: Cpus::default(),
        memory: Fact::Absent,
        kernel: Kernel::default(),
        page_bytes: Fact::Absent,
        limits: Limits::default(),
        drivers: Vec::new(),
        cards: Vec::new(),
        drives: Vec::new(),
        links: Vec::new(),
        nvme_functions: Vec::new(),
        slots: Vec::new(),
        blocks,
        disk_stats: Vec::new(),
    }
}

/// A host with one block device, `disk0`, under the file system of `path`.
pub(crate) fn host_under(path: &Path) -> Host {
    let device = std::fs::metadata(path).unwrap().dev();
    host(vec![block("disk0", rustix::fs::major(device), rustix::fs::minor(device))])
}

/// A block device of 1 GiB.
pub(crate) fn block(name: &str, major: u32, minor: u32) -> BlockDevice {
    BlockDevice {
        name: name.into(),
        major,
        minor,
        kind: BlockKind::Nvme,
        size: Fact::Read(Bytes(1 << 30)),
        model: Fact::Absent,
        stands_on: Vec::new(),
        used_by: Vec::new(),
        queue: Queue { logical_block_bytes: Fact::Read(512), ..Queue::default() },
    }
}

/// A live drive with these namespaces.
pub(crate) fn drive(name: &str, namespaces: &[&str]) -> Drive {
    Drive {
        name: name.into(),
        model: Fact::Absent,
        serial: Fact::Absent,
        firmware: Fact::Absent,
        state: Fact::Read("live".into()),
        transport: Fact::Absent,
        subsystem_nqn: Fact::Absent,
        address: Fact::Absent,
        links: Vec::new(),
        numa_node: Fact::Absent,
        local_cpus: Fact::Absent,
        capacity: Fact::Absent,
        virtual_disk: None,
        temperature: Fact::Absent,
        identify: Fact::Absent,
        health: Fact::Absent,
        namespaces: namespaces
            .iter()
            .map(|name| Namespace {
                name: (*name).into(),
                nsid: Fact::Absent,
                wwid: Fact::Absent,
                size: Fact::Absent,
                logical_block_bytes: Fact::Absent,
                identify: Fact::Absent,
            })
            .collect(),
    }
}
