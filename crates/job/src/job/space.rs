//! Range of the files and devices, and amount of I/O.

use crate::defaults::with_defaults;

/// A size in bytes, or in percent of the file or device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent of the file's or device's size.
    Percent(f64),
}

impl Amount {
    /// Returns it in bytes, of a file or device of `whole` bytes; exact for percentages of up to
    /// three decimals.
    #[must_use]
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => {
                let thousandths = (percent * 1000.0).round().max(0.0) as u128;
                u64::try_from(u128::from(whole) * thousandths / 100_000).unwrap_or(u64::MAX)
            }
        }
    }
}

/// A contiguous byte range of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Start, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u64,
}

with_defaults! {
    /// Range of the files and devices, and amount of I/O.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Space {
        /// `size`: total size of the job's files; also bounds the I/O, unless `io_size` does.
        pub size: Option<Amount>,
        /// `io_size`: bytes of I/O.
        pub io_size: Option<Amount>,
        /// `filesize`: minimum and maximum size of each file, bytes.
        pub filesize: Option<(u64, u64)>,
        /// `offset`: start of the job's range in each file.
        pub offset: Amount = Amount::Bytes(0),
        /// `offset_align`, bytes.
        pub offset_align: u64,
        /// `offset_increment`: added to the offset of each further clone.
        pub offset_increment: Amount = Amount::Bytes(0),
        /// `number_ios`: ends after this many I/Os.
        pub number_ios: Option<u64>,
        /// `loops`: repetitions of the job.
        pub loops: u64 = 1,
        /// `fill_device`, `fill_fs`: writes until ENOSPC.
        pub fill_device: bool,
        /// `file_append`: starts at the end of the file.
        pub file_append: bool,
        /// Extents that all offsets stay within; empty: no restriction. Not an option: the parts of
        /// the target that were found to hold data.
        pub extents: Vec<Extent>,
    }
}
