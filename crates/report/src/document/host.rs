//! Public form of the machine and its block devices.

use iodyno_model as model;
use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Fact, MappedDevice, MappedSegment, MdArray, Mount, Queue, Use,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::drive::Drive;
use super::link::Link;

/// Machine. A fact that is unknown is null, and `unknown` gives the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host without drives and links, which are separate members, and without momentary counters.
    #[serde(flatten)]
    pub host: model::Host,
    /// Block devices.
    pub blocks: Vec<Block>,
}

/// Block device. Differs from the model: kind and uses are given in words as well, and the device
/// number is omitted because it is valid on its own machine only.
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
    /// Underlying block devices.
    pub stands_on: Vec<String>,
    /// Uses in words; empty if none is known.
    pub used_by: Vec<String>,
    /// Uses as values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
    /// Queue settings.
    #[serde(flatten)]
    pub queue: Queue,
    /// True for a SATA disk, whether the HBA or the kernel translates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sata: bool,
    /// Offset of a partition on its disk, bytes.
    pub start_bytes: Fact<Bytes>,
    /// PCI address of the function that it is attached to.
    #[serde(default)]
    pub pci_function: Option<String>,
    /// Layout of an md array on its members.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub array: Option<MdArray>,
    /// Name of a device-mapper device under /dev/mapper.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mapper_name: Option<String>,
    /// Owner of a device-mapper device: `LVM`, `CRYPT`, `mpath`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub owner: Option<String>,
    /// Table of a device-mapper device.
    #[serde(skip_serializing_if = "Fact::is_absent")]
    pub table: Fact<Vec<MappedSegment>>,
    /// Mounted file system.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_system: Option<FileSystem>,
}

/// Mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// File system.
    #[serde(flatten)]
    pub file_system: model::FileSystem,
    /// Mount options, as the kernel lists them.
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
    /// Converts back to the model, with the separate drives and links.
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
        let kind = kind.unwrap_or_else(|| self.stacked_kind());
        let used_by = match self.uses.is_empty() {
            true => self.used_by.iter().map(|words| self.parse_use(words)).collect(),
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
            unique_id: Fact::Absent,
            stands_on: self.stands_on,
            queue: self.queue,
            start: self.start_bytes,
            pci_function: self.pci_function,
            sata: self.sata,
            file_system: self.file_system.map(|of| of.file_system),
        }
    }

    /// Parses a use from its words; earlier documents have nothing else.
    fn parse_use(&self, words: &str) -> Use {
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

    /// Returns the kind of a stacked device. Earlier documents give it in words only.
    fn stacked_kind(&self) -> BlockKind {
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
