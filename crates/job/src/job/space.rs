//! How much of the files and devices is used.

use crate::defaults::with_defaults;

/// A size in bytes, or as a share of the file or device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent of the file's or device's size.
    Percent(f64),
}

/// A stretch of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Start, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u64,
}

with_defaults! {
    /// How much of the files and devices is used.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Space {
        /// `size`: of all files of the job together; bounds the I/O, too, unless `io_size` does.
        pub size: Option<Amount>,
        /// `io_size`: bytes of I/O to make.
        pub io_size: Option<Amount>,
        /// `filesize`: of each file, from and to, bytes.
        pub filesize: Option<(u64, u64)>,
        /// `offset`: where the job starts in each file.
        pub offset: Amount = Amount::Bytes(0),
        /// `offset_align`, bytes.
        pub offset_align: u64,
        /// `offset_increment`: added for each clone.
        pub offset_increment: Amount = Amount::Bytes(0),
        /// `number_ios`: ends after this many I/Os.
        pub number_ios: Option<u64>,
        /// `loops`: the whole so many times.
        pub loops: u64 = 1,
        /// `fill_device`, `fill_fs`: until ENOSPC.
        pub fill_device: bool,
        /// `file_append`: behind the end of the file.
        pub file_append: bool,
        /// Offsets stay inside these; empty: everywhere. Not an option: what was
        /// found to hold data.
        pub extents: Vec<Extent>,
    }
}

impl Amount {
    /// In bytes, of `whole` bytes.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => (whole as f64 * percent / 100.0) as u64,
        }
    }
}
