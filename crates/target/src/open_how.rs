//! How a descriptor of a cleared target is opened.

use rustix::fs::OFlags;

/// When the kernel calls a write complete (open(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// When the device has it, perhaps in a volatile cache.
    #[default]
    None,
    /// When data and all metadata are durable: O_SYNC.
    Sync,
    /// When data, and the metadata that is needed to read it, are: O_DSYNC.
    Data,
}

/// How a descriptor of a cleared target is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenHow {
    /// Past the page cache: O_DIRECT.
    pub direct: bool,
    /// When a write is complete.
    pub sync: SyncMode,
    /// O_NONBLOCK.
    pub nonblocking: bool,
}

impl Default for OpenHow {
    fn default() -> Self {
        Self { direct: true, sync: SyncMode::None, nonblocking: false }
    }
}

impl OpenHow {
    /// The flags of open(2) that it stands for.
    pub(crate) fn flags(self) -> OFlags {
        let mut flags = match self.sync {
            SyncMode::None => OFlags::empty(),
            SyncMode::Sync => OFlags::SYNC,
            SyncMode::Data => OFlags::DSYNC,
        };
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::NONBLOCK, self.nonblocking);
        flags
    }
}
