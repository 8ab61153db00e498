//! Samples of single blocks: their content, and the latency of reading them.

/// Content of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockContent {
    /// Every byte has this value.
    Filled(u8),
    /// Anything else.
    Data,
    /// It could not be read.
    Unreadable,
}

/// One sampled block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSample {
    /// Offset, bytes.
    pub offset: u64,
    /// Latency of the read, ns.
    pub latency_ns: u64,
    /// Its content.
    pub content: BlockContent,
}

impl BlockContent {
    /// Classifies `block`.
    pub fn of(block: &[u8]) -> Self {
        match block.split_first() {
            Some((&first, rest)) if rest.iter().all(|byte| *byte == first) => Self::Filled(first),
            _ => Self::Data,
        }
    }
}
