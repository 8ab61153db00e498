//! An I/O as it is handed to an engine.

use iodyno_job::Operation;

/// An I/O that is to be made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// Offset, bytes.
    pub(crate) offset: u64,
    /// Length, bytes; 0 for `Sync` and `DataSync`.
    pub(crate) length: u32,
    /// The buffer that it works on; also its name while it is in flight.
    pub(crate) slot: u16,
    /// Index in [`Setup::files`](crate::io::Setup::files).
    pub(crate) file: u16,
    /// What it does.
    pub(crate) operation: Operation,
}

impl Descriptor {
    /// What it has in common with most others.
    #[inline]
    pub(crate) const fn what(&self) -> What {
        What::of(self.length, self.file, self.operation)
    }
}

/// Length, file and operation of an I/O in one number: kept with one store, compared at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct What(u64);

impl What {
    /// Of no I/O: there is no such operation.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// As in [`Descriptor`].
    #[inline]
    pub(crate) const fn of(length: u32, file: u16, operation: Operation) -> Self {
        Self(length as u64 | (file as u64) << 32 | (operation as u64) << 48)
    }

    /// What [`Self::bits`] gave.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// To be kept elsewhere.
    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// As in [`Descriptor`].
    #[inline]
    pub(crate) const fn length(self) -> u32 {
        self.0 as u32
    }

    /// As in [`Descriptor`].
    #[inline]
    pub(crate) const fn operation(self) -> Operation {
        Operation::from_index((self.0 >> 48) as u16)
    }

    /// As in [`Descriptor`].
    pub(crate) const fn file(self) -> u16 {
        (self.0 >> 32) as u16
    }
}
