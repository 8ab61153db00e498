//! Clones and threads of a job, their CPUs and priorities, and the order of jobs.

use crate::defaults::with_defaults;

/// fio's `cpus_allowed_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CpuPolicy {
    /// `shared`: every clone runs on all of the CPUs.
    #[default]
    Shared,
    /// `split`: each clone runs on one CPU.
    Split,
}

/// fio's `exit_what`: the jobs that `exitall` ends.
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
    /// Encodes it for ioprio_set(2); 0: not given.
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
    /// Clones and threads of a job, their CPUs and priorities, and the order of jobs.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Threads {
        /// `numjobs`: number of clones.
        pub numjobs: u32 = 1,
        /// Index of this clone, from 0. Not an option.
        pub clone: u32,
        /// fio's thread number over all jobs, from 0, from which seeds are derived (`$jobnum` is
        /// the clone). Not an option.
        pub number: u32,
        /// Number of threads that split the job's range between them, unlike clones, each of which
        /// covers all of it. Not an option: iodyno's own plans spread a depth over CPUs with it.
        pub shared_by: u32 = 1,
        /// `thread`: the native generator always uses threads.
        pub thread: bool,
        /// `group_reporting`.
        pub group_reporting: bool,
        /// `new_group`.
        pub new_group: bool,
        /// Reporting group, from 0. Not an option.
        pub group: u32,
        /// `stonewall`, `wait_for_previous`: starts when all previous jobs are done.
        pub stonewall: bool,
        /// `wait_for`: starts when the job of this name is done.
        pub wait_for: Option<String>,
        /// `startdelay`, minimum and maximum, ns.
        pub startdelay_ns: (u64, u64),
        /// `exec_prerun`.
        pub exec_prerun: Option<String>,
        /// `exec_postrun`.
        pub exec_postrun: Option<String>,
        /// `exitall`: its end ends other jobs.
        pub exitall: bool,
        /// `exit_what`.
        pub exit_what: ExitWhat,
        /// `exitall_on_error`.
        pub exitall_on_error: bool,
        /// `cpus_allowed`, `cpumask`; empty: all CPUs.
        pub cpus_allowed: Vec<u32>,
        /// `cpus_allowed_policy`.
        pub cpus_allowed_policy: CpuPolicy,
        /// `numa_cpu_nodes`; empty: all nodes.
        pub numa_cpu_nodes: Vec<u32>,
        /// `numa_mem_policy`.
        pub numa_mem_policy: MemoryPolicy,
        /// `nice`, -19 to 19.
        pub nice: i32,
        /// `prioclass`, `prio`.
        pub priority: Priority,
        /// `lockmem`: memory pinned while the job runs, bytes.
        pub lockmem_bytes: u64,
    }
}
