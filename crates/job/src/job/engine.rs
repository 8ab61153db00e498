//! I/O engines and their options.

use super::CommandPriority;
use crate::defaults::with_defaults;

/// fio's `ioengine`, and `auto`: the best engine that works on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoEngine {
    /// io_uring if its set-up and a probe read succeed, else libaio, else psync.
    Auto,
    /// io_uring.
    IoUring,
    /// io_uring passthrough to an NVMe character device.
    IoUringCmd,
    /// Linux native asynchronous I/O.
    Libaio,
    /// pread and pwrite, one at a time; fio's default.
    #[default]
    Psync,
    /// preadv2 and pwritev2.
    Pvsync2,
    /// lseek, read and write.
    Sync,
    /// Memory mapping.
    Mmap,
    /// splice(2) through a pipe.
    Splice,
    /// aio_read and aio_write of the C library.
    Posixaio,
    /// fallocate in place of I/O.
    Falloc,
    /// ftruncate in place of writes.
    Ftruncate,
    /// No I/O at all.
    Null,
    /// Copies from and to anonymous memory.
    PageFault,
    /// No I/O: uses CPU time.
    Cpuio,
    /// No I/O: runs a program.
    Exec,
    /// Creates files.
    FileCreate,
    /// Calls stat(2) on files.
    FileStat,
    /// Removes files.
    FileDelete,
    /// Creates directories.
    DirCreate,
    /// Calls stat(2) on directories.
    DirStat,
    /// Removes directories.
    DirDelete,
}

/// fio's `sync`: flags of open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// `none`, 0.
    #[default]
    None,
    /// `sync`, 1: O_SYNC.
    Sync,
    /// `dsync`: O_DSYNC.
    Dsync,
}

/// fio's `cmd_type` of io_uring_cmd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommandType {
    /// `nvme`.
    #[default]
    Nvme,
}

/// fio's `stat_type`: the system call of filestat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatType {
    /// `stat`.
    #[default]
    Stat,
    /// `lstat`.
    Lstat,
    /// `statx`.
    Statx,
}

with_defaults! {
    /// Options of `ioengine=cpuio`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct CpuLoad {
        /// `cpuload`: percent of a CPU, up to 100; 0: not given.
        pub percent: u32,
        /// `cpuchunks`: length of a busy period, us.
        pub chunk_us: u32 = 50_000,
        /// `cpumode=qsort`.
        pub qsort: bool,
        /// `exit_on_io_done`.
        pub exit_on_io_done: bool,
    }

    /// Options of `ioengine=exec`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Program {
        /// `program`.
        pub name: Option<String>,
        /// `arguments`, separated by blanks.
        pub arguments: String,
        /// `grace_time`: time from SIGTERM to SIGKILL, s.
        pub grace_s: u32 = 1,
        /// `std_redirect`: stdout and stderr go to files.
        pub std_redirect: bool = true,
    }

    /// The I/O engine and its options.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Engine {
        /// `ioengine`.
        pub ioengine: IoEngine,
        /// `direct`, and the opposite of `buffered`: bypasses the page cache (O_DIRECT).
        pub direct: bool,
        /// `sync`.
        pub sync: Sync,
        /// `hipri`: polled completions.
        pub hipri: bool,
        /// `fixedbufs`: the native generator always registers buffers where possible.
        pub fixedbufs: bool = true,
        /// `registerfiles`: as `fixedbufs`.
        pub registerfiles: bool = true,
        /// `sqthread_poll`: a kernel thread submits.
        pub sqthread_poll: bool,
        /// `sqthread_poll_cpu`.
        pub sqthread_poll_cpu: Option<u32>,
        /// `nonvectored`: the native generator never uses vectors.
        pub nonvectored: bool = true,
        /// `force_async`: every Nth I/O is issued from a kernel worker.
        pub force_async: Option<u32>,
        /// `nowait`: RWF_NOWAIT.
        pub nowait: bool,
        /// `uncached`: RWF_DONTCACHE.
        pub uncached: bool,
        /// `stat_type` of filestat.
        pub stat_type: StatType,
        /// `atomic`: RWF_ATOMIC; implies `direct`.
        pub atomic: bool,
        /// `cmd_type`.
        pub cmd_type: CommandType,
        /// Options of `ioengine=cpuio`.
        pub cpu_load: CpuLoad,
        /// Options of `ioengine=exec`.
        pub program: Program,
        /// `cmdprio_*`.
        pub command_priority: CommandPriority,
        /// `iomem`, `mem`: huge pages requested; the native generator always tries to use them.
        pub huge_pages: bool,
    }
}

impl IoEngine {
    /// All engines by fio's names.
    pub const ALL: [(&'static str, Self); 26] = [
        ("auto", Self::Auto),
        ("io_uring", Self::IoUring),
        ("io_uring_cmd", Self::IoUringCmd),
        ("libaio", Self::Libaio),
        ("linuxaio", Self::Libaio),
        ("aio", Self::Libaio),
        ("psync", Self::Psync),
        ("pvsync2", Self::Pvsync2),
        ("pvsync", Self::Pvsync2),
        ("vsync", Self::Pvsync2),
        ("sync", Self::Sync),
        ("mmap", Self::Mmap),
        ("splice", Self::Splice),
        ("posixaio", Self::Posixaio),
        ("falloc", Self::Falloc),
        ("ftruncate", Self::Ftruncate),
        ("null", Self::Null),
        ("page_fault", Self::PageFault),
        ("cpuio", Self::Cpuio),
        ("exec", Self::Exec),
        ("filecreate", Self::FileCreate),
        ("filestat", Self::FileStat),
        ("filedelete", Self::FileDelete),
        ("dircreate", Self::DirCreate),
        ("dirstat", Self::DirStat),
        ("dirdelete", Self::DirDelete),
    ];

    /// Its name in fio.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, engine)| *engine == self);
        found.map_or("", |(name, _)| name)
    }

    /// True if `option` belongs to this engine and not to engines in general.
    pub fn has_option(self, option: &str) -> bool {
        const OF_IO_URING: [&str; 9] = [
            "cmd_type",
            "fixedbufs",
            "force_async",
            "nonvectored",
            "readfua",
            "registerfiles",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "writefua",
        ];
        const OF_CPUIO: [&str; 4] = ["cpuload", "cpuchunks", "cpumode", "exit_on_io_done"];
        const OF_EXEC: [&str; 4] = ["program", "arguments", "grace_time", "std_redirect"];
        let flags = matches!(option, "hipri" | "nowait" | "uncached");
        let is_of_priority = option.starts_with("cmdprio");
        match self {
            Self::Auto | Self::IoUring | Self::IoUringCmd => {
                flags || is_of_priority || OF_IO_URING.contains(&option)
            }
            Self::Pvsync2 => flags,
            Self::Libaio => is_of_priority || matches!(option, "nowait" | "userspace_reap"),
            Self::FileStat | Self::DirStat => option == "stat_type",
            Self::Cpuio => OF_CPUIO.contains(&option),
            Self::Exec => OF_EXEC.contains(&option),
            Self::Psync
            | Self::Sync
            | Self::Mmap
            | Self::Splice
            | Self::Posixaio
            | Self::Falloc
            | Self::Ftruncate
            | Self::Null
            | Self::PageFault
            | Self::FileCreate
            | Self::FileDelete
            | Self::DirCreate
            | Self::DirDelete => false,
        }
    }

    /// True if it makes one I/O at a time, whatever the depth.
    pub const fn is_synchronous(self) -> bool {
        matches!(
            self,
            Self::Psync
                | Self::Pvsync2
                | Self::Sync
                | Self::Mmap
                | Self::Splice
                | Self::PageFault
                | Self::Cpuio
                | Self::Exec
                | Self::Falloc
                | Self::Ftruncate
        ) || self.works_on_names()
    }

    /// True if it uses no files: names stand for nothing, and existing files of these names are not
    /// touched.
    pub const fn is_diskless(self) -> bool {
        matches!(self, Self::Null | Self::PageFault | Self::Cpuio | Self::Exec)
    }

    /// True if it makes no I/O and counts none.
    pub const fn makes_no_io(self) -> bool {
        matches!(self, Self::Cpuio | Self::Exec)
    }

    /// True if it works on names of files or directories (metadata), never on their contents.
    pub const fn works_on_names(self) -> bool {
        matches!(self, Self::FileStat | Self::FileDelete) || self.creates_entries()
    }

    /// True if it creates what it works on, so that nothing is laid out for it.
    pub const fn creates_entries(self) -> bool {
        matches!(self, Self::FileCreate) || self.works_on_directories()
    }

    /// True if it works on directories.
    pub const fn works_on_directories(self) -> bool {
        matches!(self, Self::DirCreate | Self::DirStat | Self::DirDelete)
    }

    /// True if it changes its files, whatever the direction.
    pub const fn always_modifies_files(self) -> bool {
        matches!(
            self,
            Self::Falloc
                | Self::Ftruncate
                | Self::FileCreate
                | Self::FileDelete
                | Self::DirCreate
                | Self::DirDelete
        )
    }
}
