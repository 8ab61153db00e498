//! Hosts and sources for tests.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use iodyno_host::{AdminRead, FileId, Live, Source};
use iodyno_model::{
    BackingFile, BlockDevice, BlockKind, Bytes, Drive, Fact, Host, Namespace, Queue,
};

/// A host with only these block devices.
pub(crate) fn host(blocks: Vec<BlockDevice>) -> Host {
    Host { blocks, ..Host::default() }
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
        ..BlockDevice::default()
    }
}

/// A live drive with these namespaces.
pub(crate) fn drive(name: &str, namespaces: &[&str]) -> Drive {
    Drive {
        name: name.into(),
        state: Fact::Read("live".into()),
        namespaces: namespaces
            .iter()
            .map(|name| Namespace { name: (*name).into(), ..Namespace::default() })
            .collect(),
        ..Drive::default()
    }
}

/// This machine with some files, folders and links replaced; with `later`, only from the second
/// time that block devices are listed.
pub(crate) struct Faked {
    folders: HashMap<String, Vec<String>>,
    files: HashMap<String, String>,
    /// Controller responses, keyed by their path in a captured host.
    pages: HashMap<String, Vec<u8>>,
    pub(crate) numbers: HashMap<String, (u32, u32)>,
    /// Folders that may not be listed, and queries that need root, keyed by their path in a
    /// captured host.
    pub(crate) denied: Vec<String>,
    pub(crate) later: bool,
    pub(crate) snapshots: AtomicU32,
}

impl Faked {
    pub(crate) fn new() -> Self {
        Self {
            folders: HashMap::new(),
            files: HashMap::new(),
            pages: HashMap::new(),
            numbers: HashMap::new(),
            denied: Vec::new(),
            later: false,
            snapshots: AtomicU32::new(0),
        }
    }

    pub(crate) fn folder(mut self, path: String, names: &[&str]) -> Self {
        self.folders.insert(path, names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    pub(crate) fn file(mut self, path: String, text: &str) -> Self {
        self.files.insert(path, text.into());
        self
    }

    pub(crate) fn page(mut self, controller: &str, command: AdminRead, page: Vec<u8>) -> Self {
        self.pages.insert(command.path(controller), page);
        self
    }

    fn is_on(&self) -> bool {
        !self.later || self.snapshots.load(Ordering::Relaxed) > 1
    }
}

impl Source for Faked {
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>> {
        match self.files.get(path) {
            Some(text) if self.is_on() => Ok(text.clone().into_bytes()),
            _ => Live::new().read(path, limit),
        }
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        if path == "/sys/block" {
            self.snapshots.fetch_add(1, Ordering::Relaxed);
        }
        if self.denied.iter().any(|denied| denied == path) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        match self.folders.get(path) {
            Some(names) if self.is_on() => Ok(names.clone()),
            _ => Live::new().list(path),
        }
    }

    fn link(&self, path: &str) -> io::Result<String> {
        Live::new().link(path)
    }

    fn real_path(&self, path: &str) -> io::Result<String> {
        Live::new().real_path(path)
    }

    fn block_number(&self, path: &str) -> io::Result<(u32, u32)> {
        self.numbers.get(path).map_or_else(|| Live::new().block_number(path), |found| Ok(*found))
    }

    fn file_id(&self, path: &str) -> io::Result<FileId> {
        Live::new().file_id(path)
    }

    fn admin(&self, controller: &str, command: AdminRead) -> io::Result<Vec<u8>> {
        let page = self.pages.get(&command.path(controller)).cloned();
        page.map_or_else(|| Live::new().admin(controller, command), Ok)
    }

    fn dm_table(&self, name: &str, number: (u32, u32)) -> io::Result<String> {
        Live::new().dm_table(name, number)
    }

    fn backing_file(&self, name: &str, number: (u32, u32)) -> io::Result<BackingFile> {
        let path = format!("/ioctl/{name}.backing");
        if self.denied.contains(&path) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Live::new().backing_file(name, number)
    }

    fn taken_ns(&self) -> i64 {
        Live::new().taken_ns()
    }
}
