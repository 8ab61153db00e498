//! Files and devices of a job, and how files are created.

use crate::defaults::with_defaults;

/// fio's `fallocate`: how space is allocated when a file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallocate {
    /// `none`.
    None,
    /// `posix`: posix_fallocate(3).
    Posix,
    /// `keep`: fallocate(2) with FALLOC_FL_KEEP_SIZE.
    Keep,
    /// `native`: fallocate(2), or nothing where it is not supported.
    #[default]
    Native,
    /// `truncate`: ftruncate(2).
    Truncate,
}

/// fio's `file_service_type`: how the next file is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileService {
    /// `roundrobin`.
    #[default]
    RoundRobin,
    /// `random`.
    Random,
    /// `sequential`: the next file when one is done.
    Sequential,
}

with_defaults! {
    /// Files and devices of a job, and how files are created.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Files {
        /// `filename`, split at colons; empty: names are made by `filename_format`.
        pub filename: Vec<String>,
        /// `directory`, split at colons; clones take them in turn.
        pub directory: Vec<String>,
        /// `filename_format`; `$jobname`, `$jobnum`, `$filenum` are replaced.
        pub filename_format: Option<String>,
        /// `nrfiles`.
        pub nrfiles: u32 = 1,
        /// `openfiles`: files open at the same time.
        pub openfiles: Option<u32>,
        /// `file_service_type`.
        pub file_service_type: FileService,
        /// I/Os to a file before the next one's turn (`file_service_type=roundrobin:8`).
        pub file_service_ios: u32 = 1,
        /// `allow_file_create`.
        pub allow_file_create: bool = true,
        /// `create_on_open`: files are created when the job opens them.
        pub create_on_open: bool,
        /// `create_only`: lays out files and makes no I/O.
        pub create_only: bool,
        /// `fallocate`.
        pub fallocate: Fallocate,
        /// `overwrite`: files are laid out before the job writes them.
        pub overwrite: bool,
        /// `unlink`: files are removed when the job is done.
        pub unlink: bool,
        /// `invalidate`: their page cache is dropped first.
        pub invalidate: bool = true,
        /// `fadvise_hint`.
        pub fadvise_hint: bool = true,
        /// `fsync_on_close`.
        pub fsync_on_close: bool,
        /// Full paths, derived from the options above. Not an option.
        pub paths: Vec<String>,
    }
}
