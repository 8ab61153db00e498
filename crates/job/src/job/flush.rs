//! When what was written is made durable.

/// When what was written is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flush {
    /// `fsync`: after every so many writes; 0 = never.
    pub fsync: u32,
    /// `fdatasync`: the same with fdatasync(2).
    pub fdatasync: u32,
    /// `end_fsync`: when the job is done.
    pub end_fsync: bool,
}
