//! Machines made for tests, and sources that record how they are read.

#![allow(dead_code, unreachable_pub)] // each test file uses its part
#![allow(clippy::unwrap_used)] // clippy knows tests by their attribute alone

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use iodyno_host::{AdminRead, Captured, Source};
use iodyno_model::BackingFile;
use serde_json::{Value, json};

/// Builder of a captured machine, entry by entry.
#[derive(Clone, Default)]
pub struct Machine(pub BTreeMap<String, Value>);

impl Machine {
    /// The lab's machine: four drives, two behind a switch, one link degraded.
    pub fn lab() -> Self {
        let text = std::fs::read(lab_file()).unwrap();
        Self(serde_json::from_slice(&text).unwrap())
    }

    /// A drive behind a VMD controller, which has its own PCI domain; also returns the drive's
    /// path.
    pub fn vmd() -> (Self, String) {
        let vmd = "/sys/devices/pci0000:80/0000:80:05.5";
        let port = format!("{vmd}/pci10000:e0/10000:e0:02.0");
        let drive = format!("{port}/10000:e1:00.0");
        let about = [("class", "0x010400\n"), ("vendor", "0x8086\n"), ("device", "0x28c0\n")];
        let machine = Self::default()
            .link("/sys/bus/pci/devices/0000:80:05.5", vmd)
            .folder(vmd, &about)
            .link(&format!("{vmd}/driver"), "../../../bus/pci/drivers/vmd")
            .pci(&port, "0x060400\n", "16.0 GT/s PCIe\n", "4\n")
            .pci(&drive, "0x010802\n", "16.0 GT/s PCIe\n", "4\n")
            .controller(&drive, "nvme0", "live\n");
        (machine, drive)
    }

    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.into(), json!({ "text": text }));
        self
    }

    /// Adds files of a folder, as pairs of name and text.
    pub fn folder(mut self, path: &str, files: &[(&str, &str)]) -> Self {
        for (name, text) in files {
            self = self.file(&format!("{path}/{name}"), text);
        }
        self
    }

    pub fn bytes(mut self, path: &str, bytes: &[u8]) -> Self {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.insert(path.into(), json!({ "bytes": { "length": bytes.len(), "hex": hex } }));
        self
    }

    pub fn link(mut self, path: &str, to: &str) -> Self {
        self.0.insert(path.into(), json!({ "link": to }));
        self
    }

    pub fn directory(mut self, path: &str) -> Self {
        self.0.insert(path.into(), json!("directory"));
        self
    }

    pub fn denied(mut self, path: &str) -> Self {
        self.0.insert(path.into(), json!("denied"));
        self
    }

    pub fn block_node(mut self, path: &str, major: u32, minor: u32) -> Self {
        self.0.insert(path.into(), json!({ "block_device": { "major": major, "minor": minor } }));
        self
    }

    /// Adds a block device at `real`, listed in /sys/block unless it is a partition.
    pub fn block(self, real: &str, dev: &str, sectors: u64) -> Self {
        let name = real.rsplit('/').next().unwrap();
        self.folder(real, &[("dev", dev), ("size", &sectors.to_string())])
            .link(&format!("/sys/block/{name}"), real)
            .folder(&format!("{real}/queue"), &[("logical_block_size", "512\n")])
    }

    pub fn partition(self, disk: &str, name: &str, dev: &str, sectors: u64) -> Self {
        let real = format!("{disk}/{name}");
        let size = sectors.to_string();
        self.folder(&real, &[("dev", dev), ("size", &size), ("partition", "1")])
    }

    /// Adds a PCI function at `real`, with sysfs's link attributes.
    pub fn pci(self, real: &str, class: &str, speed: &str, width: &str) -> Self {
        let address = real.rsplit('/').next().unwrap();
        self.link(&format!("/sys/bus/pci/devices/{address}"), real).folder(
            real,
            &[
                ("class", class),
                ("vendor", "0x144d\n"),
                ("device", "0xa824\n"),
                ("numa_node", "1\n"),
                ("local_cpulist", "0-3\n"),
                ("current_link_speed", speed),
                ("max_link_speed", speed),
                ("current_link_width", width),
                ("max_link_width", width),
            ],
        )
    }

    /// Adds an NVMe controller below the PCI function at `function`.
    pub fn controller(self, function: &str, name: &str, state: &str) -> Self {
        let real = format!("{function}/nvme/{name}");
        self.link(&format!("/sys/class/nvme/{name}"), &real).folder(
            &real,
            &[
                ("model", "SAMSUNG MZWLJ3T8HBLS-00007             \n"),
                ("serial", "S4YPNE0N800123      \n"),
                ("firmware_rev", "EPK98B5Q\n"),
                ("state", state),
                ("transport", "pcie\n"),
                ("subsysnqn", "nqn.1994-11.com.samsung:nvme:PM1733:S4YPNE0N800123\n"),
            ],
        )
    }

    pub fn open(&self) -> Captured {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("machine.json");
        std::fs::write(&file, serde_json::to_vec(&self.0).unwrap()).unwrap();
        Captured::open(&file).unwrap()
    }
}

pub fn lab_file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/links.json")
}

/// A source that records what is requested of it.
pub struct Watched<S> {
    pub source: S,
    pub reads: Mutex<Vec<String>>,
    pub commands: Mutex<Vec<String>>,
}

impl<S: Source> Watched<S> {
    pub fn new(source: S) -> Self {
        Self { source, reads: Mutex::default(), commands: Mutex::default() }
    }
}

impl<S: Source> Source for Watched<S> {
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>> {
        let real = self.source.real_path(path).unwrap_or_else(|_| path.into());
        self.reads.lock().unwrap().push(real);
        self.source.read(path, limit)
    }
    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.source.list(path)
    }
    fn link(&self, path: &str) -> io::Result<String> {
        self.source.link(path)
    }
    fn real_path(&self, path: &str) -> io::Result<String> {
        self.source.real_path(path)
    }
    fn block_number(&self, path: &str) -> io::Result<(u32, u32)> {
        self.source.block_number(path)
    }
    fn admin(&self, controller: &str, command: AdminRead) -> io::Result<Vec<u8>> {
        self.commands.lock().unwrap().push(command.path(controller));
        self.source.admin(controller, command)
    }
    fn dm_table(&self, name: &str, number: (u32, u32)) -> io::Result<String> {
        self.source.dm_table(name, number)
    }
    fn backing_file(&self, name: &str, number: (u32, u32)) -> io::Result<BackingFile> {
        self.source.backing_file(name, number)
    }
    fn taken_ns(&self) -> i64 {
        self.source.taken_ns()
    }
}

/// Deterministic numbers (xorshift64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// Root port and the drive below it.
pub const ROOT: &str = "/sys/devices/pci0000:00/0000:00:01.0";
pub const DRIVE: &str = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";

/// A drive below a root port, with one namespace.
pub fn one_drive() -> Machine {
    let disk = format!("{DRIVE}/nvme/nvme0/nvme0n1");
    Machine::default()
        .pci(ROOT, "0x060400\n", "16.0 GT/s PCIe\n", "4\n")
        .pci(DRIVE, "0x010802\n", "16.0 GT/s PCIe\n", "4\n")
        .controller(DRIVE, "nvme0", "live\n")
        .block(&disk, "259:0", 8 << 20)
        .file(&format!("{disk}/nsid"), "1\n")
}

/// Configuration space with the PCI Express capability at 40h.
pub fn config(words: &[(usize, u16)]) -> Vec<u8> {
    let mut bytes = vec![0_u8; 256];
    bytes[0x06] = 0x10;
    bytes[0x34] = 0x40;
    bytes[0x40] = 0x10;
    for (offset, value) in words {
        bytes[0x40 + offset..0x42 + offset].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}
