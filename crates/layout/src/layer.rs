//! Layers, from the drives up.

use std::collections::BTreeMap;
use std::fmt;

/// A stack on drives; without layers a single raw drive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout {
    /// From the drives up.
    pub layers: Vec<Layer>,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// A software RAID of the kernel.
    Md(Md),
    /// A logical volume.
    Lvm(Lvm),
    /// dm-crypt in plain mode, with a key that nobody keeps.
    Crypt(Crypt),
    /// A file system.
    FileSystem(FileSystem),
}

/// An md array over all drives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Md {
    /// Level.
    pub level: MdLevel,
    /// Chunk, bytes; `None` for a level without (RAID 1).
    pub chunk_bytes: Option<u64>,
}

/// An md level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MdLevel {
    /// Striped.
    Raid0,
    /// Mirrored.
    Raid1,
    /// Striped with one parity block in each stripe.
    Raid5,
    /// Striped with two parity blocks in each stripe.
    Raid6,
    /// Striped mirrors: two copies, near layout.
    Raid10,
}

/// A logical volume over everything below.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lvm {
    /// One drive after the other.
    Linear,
    /// Striped over all drives.
    Striped {
        /// Stripe, bytes.
        stripe_bytes: u64,
    },
}

/// dm-crypt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Crypt {
    /// Encrypt in the submitting thread, without the kernel's work queues (dm-crypt's
    /// no_read_workqueue and no_write_workqueue).
    pub inline: bool,
}

/// A file system with its requested geometry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileSystem {
    /// Kind.
    pub kind: FileSystemKind,
    /// `su`, `sw` of XFS, `stride`, `stripe-width` of ext4, as typed; options not given follow from
    /// the layers below.
    pub options: BTreeMap<String, u64>,
    /// Write to new files instead of one that was written before.
    pub new_files: bool,
}

/// Kind of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileSystemKind {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs, on one device.
    Btrfs,
}

impl MdLevel {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Raid0, Self::Raid1, Self::Raid5, Self::Raid6, Self::Raid10];

    /// Its number, as in mdadm.
    pub const fn number(self) -> u32 {
        match self {
            Self::Raid0 => 0,
            Self::Raid1 => 1,
            Self::Raid5 => 5,
            Self::Raid6 => 6,
            Self::Raid10 => 10,
        }
    }

    /// Fewest drives.
    pub const fn least_drives(self) -> usize {
        match self {
            Self::Raid0 | Self::Raid1 | Self::Raid10 => 2,
            Self::Raid5 => 3,
            Self::Raid6 => 4,
        }
    }

    /// Number of `drives` drives that hold data of a stripe (md(4)).
    pub const fn data_drives(self, drives: usize) -> usize {
        match self {
            Self::Raid0 => drives,
            Self::Raid1 => 1,
            Self::Raid5 => drives.saturating_sub(1),
            Self::Raid6 => drives.saturating_sub(2),
            Self::Raid10 => drives / 2,
        }
    }

    /// True if it is built in the background, which has to end before measurements.
    pub const fn is_redundant(self) -> bool {
        !matches!(self, Self::Raid0)
    }
}

impl FileSystemKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ext4, Self::Xfs, Self::Btrfs];

    /// Its name, as in mount.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// Its options, each with true for a size in bytes, false for a number.
    pub(crate) const fn options(self) -> &'static [(&'static str, bool)] {
        match self {
            Self::Ext4 => &[("stride", false), ("stripe-width", false)],
            Self::Xfs => &[("su", true), ("sw", false)],
            Self::Btrfs => &[],
        }
    }
}

impl Layout {
    /// Number of drives used of `drives`: all if it joins them, else one.
    pub fn drives(&self, drives: usize) -> usize {
        let joins = |layer: &Layer| matches!(layer, Layer::Md(_) | Layer::Lvm(_));
        if self.layers.iter().any(joins) { drives } else { 1 }
    }

    /// Its file system.
    pub fn file_system(&self) -> Option<&FileSystem> {
        match self.layers.last() {
            Some(Layer::FileSystem(file_system)) => Some(file_system),
            _ => None,
        }
    }
}

/// Notation: `md0:512k+xfs:su=64k`.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.layers.is_empty() {
            return f.write_str("raw");
        }
        for (n, layer) in self.layers.iter().enumerate() {
            write!(f, "{}{layer}", if n > 0 { "+" } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Md(md) => {
                write!(f, "md{}", md.level.number())?;
                md.chunk_bytes.map_or(Ok(()), |bytes| write!(f, ":{}", size_notation(bytes)))
            }
            Self::Lvm(Lvm::Linear) => f.write_str("lvm"),
            Self::Lvm(Lvm::Striped { stripe_bytes }) => {
                write!(f, "lvm-stripe:{}", size_notation(*stripe_bytes))
            }
            Self::Crypt(Crypt { inline }) => {
                f.write_str(if *inline { "crypt:inline" } else { "crypt" })
            }
            Self::FileSystem(of) => {
                let shown = of.options.iter().map(|(option, value)| {
                    let is_size = of.kind.options().iter().any(|known| *known == (option, true));
                    let value = if is_size { size_notation(*value) } else { value.to_string() };
                    format!("{option}={value}")
                });
                let words: Vec<String> =
                    shown.chain(of.new_files.then(|| "new".to_owned())).collect();
                f.write_str(of.kind.name())?;
                if words.is_empty() { Ok(()) } else { write!(f, ":{}", words.join(",")) }
            }
        }
    }
}

/// A size in the notation: `64k`, `1m`.
pub(crate) fn size_notation(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        _ => bytes.to_string(),
    }
}
