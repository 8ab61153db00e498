//! Samples of single blocks: what they hold, and how long a read took.

/// What a block was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockContent {
    /// Every byte has this value.
    Filled(u8),
    /// Anything else.
    Data,
    /// It could not be read.
    Unreadable,
}

/// One block that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSample {
    /// Offset, bytes.
    pub offset: u64,
    /// How long the read took, ns.
    pub latency_ns: u64,
    /// What it holds.
    pub content: BlockContent,
}

impl BlockContent {
    /// What `block` holds.
    pub fn of(block: &[u8]) -> Self {
        match block.split_first() {
            Some((&first, rest)) if rest.iter().all(|byte| *byte == first) => Self::Filled(first),
            _ => Self::Data,
        }
    }
}
