//! What a device tells of its own blocks, from the snapshot of the machine.

use iodyno_model::{BlockKind, Host, UnwrittenProof, WrittenEvidence};

/// What a device tells of its own blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Accounting {
    /// Value of each byte of a block that was never written.
    pub(super) unwritten_reads_as: Option<u8>,
    /// Share of the blocks that were ever written, 0..1, at most.
    pub(super) used: Option<Used>,
}

/// A share in use, by who tells it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Used {
    Namespace(f64),
    ThinVolume(f64),
}

impl Accounting {
    /// That of a block device, by its name.
    pub(crate) fn of(host: &Host, name: &str) -> Self {
        if let Some((_, namespace)) = host.namespace(name) {
            let identify = namespace.identify.get();
            return Self {
                unwritten_reads_as: identify.and_then(|of| of.deallocated_reads_as),
                used: identify.and_then(|of| of.used_share()).map(Used::Namespace),
            };
        }
        match host.block(name).map(|block| &block.kind) {
            Some(BlockKind::DeviceMapper(mapped)) => match mapped.thin_share() {
                None => Self::default(),
                Some(share) => Self {
                    unwritten_reads_as: Some(0),
                    used: Some(Used::ThinVolume(share)).filter(|_| share < 1.0),
                },
            },
            _ => Self::default(),
        }
    }
}

impl Used {
    pub(super) const fn share(self) -> f64 {
        match self {
            Self::Namespace(share) | Self::ThinVolume(share) => share,
        }
    }

    pub(super) const fn evidence(self) -> WrittenEvidence {
        match self {
            Self::Namespace(share) => WrittenEvidence::NamespaceUse { share },
            Self::ThinVolume(share) => WrittenEvidence::ThinVolume { share },
        }
    }

    pub(super) const fn proof(self) -> UnwrittenProof {
        match self {
            Self::Namespace(share) => UnwrittenProof::NamespaceUse { share },
            Self::ThinVolume(share) => UnwrittenProof::ThinVolume { share },
        }
    }
}
