//! An I/O as engines take it (fio's `io_u`).

use iodyno_job::Operation;

/// A request with its slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IoUnit {
    /// Offset, bytes.
    pub(crate) offset: u64,
    /// Length, bytes; 0 for `Sync` and `DataSync`.
    pub(crate) length: u32,
    /// Index of its buffer; identifies the I/O while it is in flight (blk-mq's tag).
    pub(crate) slot: u16,
    /// Index in [`Setup::files`](crate::engines::Setup::files).
    pub(crate) file: u16,
    /// Kind of I/O.
    pub(crate) operation: Operation,
}

impl IoUnit {
    /// What is left of it after `done` bytes.
    pub(crate) const fn rest(self, done: u32) -> Self {
        Self { offset: self.offset + done as u64, length: self.length - done, ..self }
    }

    /// The properties that consecutive I/Os usually share.
    #[inline]
    pub(crate) const fn shape(&self) -> IoShape {
        IoShape::new(self.length, self.file, self.operation)
    }
}

/// Length, file and operation of an I/O in one word: stored and compared at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IoShape(u64);

impl IoShape {
    /// Equal to no I/O: the operation does not exist.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// As in [`IoUnit`].
    #[inline]
    pub(crate) const fn new(length: u32, file: u16, operation: Operation) -> Self {
        Self(length as u64 | (file as u64) << 32 | (operation as u64) << 48)
    }

    /// The inverse of [`Self::bits`].
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word itself, for atomic storage.
    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// As in [`IoUnit`].
    #[inline]
    pub(crate) const fn length(self) -> u32 {
        self.0 as u32
    }

    /// As in [`IoUnit`].
    #[inline]
    pub(crate) const fn operation(self) -> Operation {
        Operation::from_index((self.0 >> 48) as u16)
    }

    /// As in [`IoUnit`].
    pub(crate) const fn file(self) -> u16 {
        (self.0 >> 32) as u16
    }
}
