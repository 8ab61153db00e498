//! How a job talks to the kernel.

use super::CommandPriority;
use crate::defaults::with_defaults;

/// fio's `ioengine`, and `auto`: the best that works on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoEngine {
    /// io_uring if its set-up and a probing read succeed, else libaio, else psync.
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
    /// Through a pipe.
    Splice,
    /// aio_read and aio_write of the C library.
    Posixaio,
    /// fallocate in place of I/O.
    Falloc,
    /// ftruncate in place of writes.
    Ftruncate,
    /// No I/O at all.
    Null,
    /// Copying from and to anonymous memory.
    PageFault,
    /// No I/O, but CPU time.
    Cpuio,
    /// No I/O, but a program.
    Exec,
    /// Makes files.
    FileCreate,
    /// Looks up files.
    FileStat,
    /// Removes files.
    FileDelete,
    /// Makes directories.
    DirCreate,
    /// Looks up directories.
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
    /// How `ioengine=cpuio` loads a CPU.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct CpuLoad {
        /// `cpuload`: percent of its time, to 100; 0: it was not said.
        pub percent: u32,
        /// `cpuchunks`: how long without a pause, us.
        pub chunk_us: u32 = 50_000,
        /// `cpumode=qsort`.
        pub sorts: bool,
        /// `exit_on_io_done`.
        pub ends_with_io: bool,
    }

    /// What `ioengine=exec` runs.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Program {
        /// `program`.
        pub name: Option<String>,
        /// `arguments`, with blanks between them.
        pub arguments: String,
        /// `grace_time`: how long it may take to end once it was asked to, s.
        pub grace_s: u32 = 1,
        /// `std_redirect`: what it prints goes to files.
        pub redirects: bool = true,
    }

    /// How a job talks to the kernel.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Engine {
        /// `ioengine`.
        pub ioengine: IoEngine,
        /// `direct`, and the opposite of `buffered`: past the page cache.
        pub direct: bool,
        /// `sync`.
        pub sync: Sync,
        /// `hipri`: polled completions.
        pub hipri: bool,
        /// `fixedbufs`: ours are registered wherever the kernel lets us, with or without it.
        pub fixedbufs: bool = true,
        /// `registerfiles`: as `fixedbufs`.
        pub registerfiles: bool = true,
        /// `sqthread_poll`: a kernel thread submits.
        pub sqthread_poll: bool,
        /// `sqthread_poll_cpu`.
        pub sqthread_poll_cpu: Option<u32>,
        /// `nonvectored`: ours never use vectors.
        pub nonvectored: bool = true,
        /// `force_async`: every so many I/Os are given to kernel threads.
        pub force_async: Option<u32>,
        /// `nowait`: RWF_NOWAIT.
        pub nowait: bool,
        /// `uncached`: RWF_DONTCACHE.
        pub uncached: bool,
        /// `stat_type` of filestat.
        pub stat_type: StatType,
        /// `atomic`: RWF_ATOMIC, and past the page cache.
        pub atomic: bool,
        /// `cmd_type`.
        pub cmd_type: CommandType,
        /// `cpuload` and friends.
        pub cpu_load: CpuLoad,
        /// `program` and friends.
        pub program: Program,
        /// `cmdprio_percentage` and friends.
        pub command_priority: CommandPriority,
        /// `iomem`, `mem`: huge pages were asked for; ours always ask for them.
        pub huge_pages: bool,
    }
}

impl IoEngine {
    /// All, with fio's names.
    pub const ALL: [(&'static str, Self); 24] = [
        ("auto", Self::Auto),
        ("io_uring", Self::IoUring),
        ("io_uring_cmd", Self::IoUringCmd),
        ("libaio", Self::Libaio),
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

    /// fio's name of it.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, engine)| *engine == self);
        found.map_or("", |(name, _)| name)
    }

    /// Whether `option` is one that this engine looks at and others do not.
    pub fn has(self, option: &str) -> bool {
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
        match self {
            Self::Auto | Self::IoUring | Self::IoUringCmd => flags || OF_IO_URING.contains(&option),
            Self::Pvsync2 => flags,
            Self::Libaio => matches!(option, "nowait" | "userspace_reap"),
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

    /// It makes one I/O at a time, whatever the depth.
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
        ) || self.is_of_names()
    }

    /// It has no files: there is nothing behind their names, and what exists under them is not
    /// touched.
    pub const fn is_diskless(self) -> bool {
        matches!(self, Self::Null | Self::PageFault | Self::Cpuio | Self::Exec)
    }

    /// It makes no I/O, and counts none.
    pub const fn is_without_io(self) -> bool {
        matches!(self, Self::Cpuio | Self::Exec)
    }

    /// It works on the names of its files, and never on what is in them.
    pub const fn is_of_names(self) -> bool {
        matches!(self, Self::FileStat | Self::FileDelete) || self.makes_entries()
    }

    /// Nothing is laid out for it: it makes what it works on.
    pub const fn makes_entries(self) -> bool {
        matches!(self, Self::FileCreate) || self.is_of_directories()
    }

    /// It works on the names of directories.
    pub const fn is_of_directories(self) -> bool {
        matches!(self, Self::DirCreate | Self::DirStat | Self::DirDelete)
    }

    /// It changes its files, whatever the direction.
    pub const fn always_changes(self) -> bool {
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
