//! The machine and its block devices.

use iodyno_model as model;
use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Fact, MappedDevice, MappedSegment, MdArray, Mount, Queue, Use,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::drive::Drive;
use super::link::Link;

/// The machine. A fact that is unknown is null, and `unknown` says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Without its drives and links, which stand beside it, and counters of one moment.
    #[serde(flatten)]
    pub host: model::Host,
    /// Block devices.
    pub blocks: Vec<Block>,
}

/// A block device. Not the model's: what it is and what uses it are words as well, and its own
/// number means something on its own machine only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Kernel name.
    pub name: String,
    /// `nvme`, `partition`, `md raid1`, `LVM vg-root`, `virtual disk`, …
    pub kind: String,
    /// Size, bytes.
    pub size_bytes: Fact<Bytes>,
    /// Model string.
    pub model: Fact<String>,
    /// Block devices that it stands on.
    pub stands_on: Vec<String>,
    /// What uses it, in words; empty: nothing that is known.
    pub used_by: Vec<String>,
    /// The same as values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
    /// Settings of its queue.
    #[serde(flatten)]
    pub queue: Queue,
    /// A SATA disk, whether an HBA translates for it or the kernel does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sata: bool,
    /// Where a partition begins on its disk, bytes.
    pub start_bytes: Fact<Bytes>,
    /// PCI address of the function that it is behind.
    #[serde(default)]
    pub pci_function: Option<String>,
    /// Of an md array how it lies on its members.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub array: Option<MdArray>,
    /// Of a device-mapper device its name under /dev/mapper.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mapper_name: Option<String>,
    /// Of a device-mapper device who owns it: `LVM`, `CRYPT`, `mpath`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub owner: Option<String>,
    /// Of a device-mapper device its table.
    #[serde(skip_serializing_if = "Fact::is_absent")]
    pub table: Fact<Vec<MappedSegment>>,
    /// The file system that is mounted on it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_system: Option<FileSystem>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// The file system.
    #[serde(flatten)]
    pub file_system: model::FileSystem,
    /// Options that it is mounted with, as the kernel lists them.
    #[serde(default)]
    pub mount_options: Option<String>,
}

impl From<&model::Host> for Host {
    fn from(host: &model::Host) -> Self {
        Self {
            blocks: host.blocks.iter().map(Block::from).collect(),
            host: model::Host {
                drives: Vec::new(),
                links: Vec::new(),
                blocks: Vec::new(),
                disk_stats: Vec::new(),
                interrupts: Vec::new(),
                ..host.clone()
            },
        }
    }
}

impl Host {
    /// The machine with the drives and links that stand beside it.
    pub(super) fn read(self, drives: Vec<Drive>, links: Vec<Link>) -> model::Host {
        model::Host {
            drives: drives.into_iter().map(Drive::read).collect(),
            links: links.into_iter().map(Link::read).collect(),
            blocks: self.blocks.into_iter().map(Block::read).collect(),
            ..self.host
        }
    }
}

impl From<&BlockDevice> for Block {
    fn from(block: &BlockDevice) -> Self {
        let mut queue = block.queue.clone();
        if block.zones().is_none() {
            queue.zone_bytes = Fact::Absent;
        }
        let (mut array, mut mapped) = (None, MappedDevice::default());
        match &block.kind {
            BlockKind::Md(of) => array = Some(of.as_ref().clone()),
            BlockKind::DeviceMapper(of) => mapped = of.clone(),
            _ => {}
        }
        let options = block.mount().map(|mount| mount.options.clone());
        Self {
            name: block.name.clone(),
            kind: crate::layers::kind(&block.kind),
            size_bytes: block.size.clone(),
            model: block.model.clone(),
            stands_on: block.stands_on.clone(),
            used_by: block.used_by.iter().map(Use::label).collect(),
            uses: block.used_by.clone(),
            queue,
            sata: block.sata,
            start_bytes: block.start.clone(),
            pci_function: block.pci_function.clone(),
            array,
            mapper_name: Some(mapped.name).filter(|name| !name.is_empty()),
            owner: mapped.owner,
            table: mapped.table,
            file_system: block.file_system.as_ref().map(|of| FileSystem {
                file_system: of.clone(),
                mount_options: options.filter(|options| !options.is_empty()),
            }),
        }
    }
}

impl Block {
    fn read(self) -> BlockDevice {
        let free = BlockKind::Loop { backing_file: None, backing: Fact::Absent };
        let plain =
            [BlockKind::Nvme, BlockKind::Partition, free, BlockKind::Virtual, BlockKind::Scsi];
        let mut plain = plain.into_iter().chain([BlockKind::Zram]);
        let kind = plain.find(|kind| crate::layers::kind(kind) == self.kind);
        let kind = kind.unwrap_or_else(|| self.layer());
        let used_by = match self.uses.is_empty() {
            true => self.used_by.iter().map(|words| self.earlier_use(words)).collect(),
            false => self.uses,
        };
        BlockDevice {
            used_by,
            kind,
            name: self.name,
            major: 0,
            minor: 0,
            size: self.size_bytes,
            model: self.model,
            stands_on: self.stands_on,
            queue: self.queue,
            start: self.start_bytes,
            pci_function: self.pci_function,
            sata: self.sata,
            file_system: self.file_system.map(|of| of.file_system),
        }
    }

    /// What uses it, by the words that are all that earlier documents have.
    fn earlier_use(&self, words: &str) -> Use {
        let file_system = self.file_system.as_ref();
        match words.strip_prefix("mounted at ") {
            Some(at) => Use::Mounted(Mount {
                at: at.into(),
                file_system: file_system.map_or("", |of| &of.file_system.kind).into(),
                options: file_system.and_then(|of| of.mount_options.clone()).unwrap_or_default(),
            }),
            None if words == "swap" => Use::Swap,
            None => Use::HeldBy(words.into()),
        }
    }

    /// What it is. Earlier documents say that of a layer in words alone.
    fn layer(&self) -> BlockKind {
        let words = self.kind.split_once(' ').map(|(first, rest)| (first, rest.to_owned()));
        let mapped = |name: &String, owner: Option<&str>| {
            let (name, owner) = (name.clone(), owner.map(str::to_owned));
            BlockKind::DeviceMapper(MappedDevice { name, owner, table: self.table.clone() })
        };
        match (&self.array, &self.mapper_name, words) {
            (Some(array), _, Some((_, level))) if array.level.is_empty() => {
                BlockKind::Md(Box::new(MdArray { level, ..array.clone() }))
            }
            (Some(array), ..) => BlockKind::Md(Box::new(array.clone())),
            (None, Some(name), _) => mapped(name, self.owner.as_deref()),
            (None, None, Some((owner, name))) => {
                mapped(&name, Some(owner).filter(|of| *of != "dm"))
            }
            (None, None, None) => BlockKind::Other,
        }
    }
}
