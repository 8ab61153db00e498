//! Threads, and when they run.

use crate::defaults::with_defaults;

/// fio's `cpus_allowed_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CpuPolicy {
    /// `shared`: every clone on all of them.
    #[default]
    Shared,
    /// `split`: each clone on one.
    Split,
}

/// fio's `exit_what`: what `exitall` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExitWhat {
    /// `group`.
    #[default]
    Group,
    /// `stonewall`: the phase.
    Stonewall,
    /// `all`.
    All,
}

/// fio's `numa_mem_policy`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MemoryPolicy {
    /// `default`.
    #[default]
    Default,
    /// `local`.
    Local,
    /// `prefer:node`.
    Prefer(u32),
    /// `bind:nodes`.
    Bind(Vec<u32>),
    /// `interleave:nodes`.
    Interleave(Vec<u32>),
}

/// I/O priority of a job's threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Priority {
    /// `prioclass`: 1 real time, 2 best effort, 3 idle.
    pub class: Option<u8>,
    /// `prio`: 0 (highest) to 7.
    pub level: Option<u8>,
}

impl Priority {
    /// As ioprio_set(2) takes it; 0: it was not asked for one.
    pub fn ioprio(self) -> u16 {
        match self {
            Self { class: None, level: None } => 0,
            Self { class, level } => {
                super::ioprio([class.unwrap_or(0).into(), level.unwrap_or(0).into(), 0])
            }
        }
    }
}

with_defaults! {
    /// Threads, and when they run.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Threads {
        /// `numjobs`: how many clones there are.
        pub numjobs: u32 = 1,
        /// Which of them this is, from 0. Not an option.
        pub clone: u32,
        /// fio's number of the thread over all jobs, from 0: `$jobnum` is the
        /// clone, seeds follow from this. Not an option.
        pub number: u32,
        /// Threads that divide the job's range between them, unlike clones, each
        /// of which does all of it. Not an option: how iodyno's own plans spread
        /// a depth over CPUs.
        pub shared_by: u32 = 1,
        /// `thread`: ours are threads in any case.
        pub thread: bool,
        /// `group_reporting`.
        pub group_reporting: bool,
        /// `new_group`.
        pub new_group: bool,
        /// Reporting group, from 0. Not an option.
        pub group: u32,
        /// `stonewall`, `wait_for_previous`: begins when all before it are done.
        pub stonewall: bool,
        /// `wait_for`: begins when the job of this name is done.
        pub wait_for: Option<String>,
        /// `startdelay`, ns, from and to.
        pub startdelay_ns: (u64, u64),
        /// `exec_prerun`.
        pub exec_prerun: Option<String>,
        /// `exec_postrun`.
        pub exec_postrun: Option<String>,
        /// `exitall`: its end ends others.
        pub exitall: bool,
        /// `exit_what`.
        pub exit_what: ExitWhat,
        /// `exitall_on_error`.
        pub exitall_on_error: bool,
        /// `cpus_allowed`, `cpumask`; empty: anywhere.
        pub cpus_allowed: Vec<u32>,
        /// `cpus_allowed_policy`.
        pub cpus_allowed_policy: CpuPolicy,
        /// `numa_cpu_nodes`; empty: any.
        pub numa_cpu_nodes: Vec<u32>,
        /// `numa_mem_policy`.
        pub numa_mem_policy: MemoryPolicy,
        /// `nice`, -19 to 19.
        pub nice: i32,
        /// `prioclass`, `prio`.
        pub priority: Priority,
        /// `lockmem`: memory that is kept from everybody else meanwhile, bytes.
        pub lockmem_bytes: u64,
    }
}
