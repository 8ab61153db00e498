//! Flags for opening a descriptor of a cleared target.

use rustix::fs::OFlags;

/// Point at which the kernel completes a write (open(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// In the device, perhaps in a volatile cache.
    #[default]
    None,
    /// Data and all metadata are durable: O_SYNC.
    Sync,
    /// Data, and the metadata needed to read it, are durable: O_DSYNC.
    Data,
}

/// Flags for opening a descriptor of a cleared target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenHow {
    /// Bypasses the page cache: O_DIRECT.
    pub direct: bool,
    /// Point at which a write completes.
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
    /// Converts to open(2) flags.
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
