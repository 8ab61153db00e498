//! Syncs of written data.

/// Syncs of written data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flush {
    /// `fsync`: writes between two fsync(2); 0: none.
    pub fsync: u32,
    /// `fdatasync`: writes between two fdatasync(2); 0: none.
    pub fdatasync: u32,
    /// `end_fsync`: fsync(2) when the job is done.
    pub end_fsync: bool,
}
