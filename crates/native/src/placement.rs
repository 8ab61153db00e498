//! CPU affinity, NUMA memory policy, nice value and I/O priority of a thread.
#![allow(unsafe_code)] // System calls without a safe wrapper.

use std::io;

use iodyno_job::{CpuPolicy, MemoryPolicy, Threads};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::engines::SetupError;

// linux/mempolicy.h
const MPOL_PREFERRED: i32 = 1;
const MPOL_BIND: i32 = 2;
const MPOL_INTERLEAVE: i32 = 3;
const MPOL_LOCAL: i32 = 4;
// linux/ioprio.h
const IOPRIO_WHO_PROCESS: i32 = 1;

/// Placement of a thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placement {
    /// CPU affinity; empty: unrestricted.
    pub(crate) cpus: Vec<u32>,
    memory: MemoryPolicy,
    nice: i32,
    /// As in ioprio_set(2); 0: unchanged.
    priority: u16,
}

impl Placement {
    /// The placement of thread `index` of a job: the whole CPU set, or one CPU of it in turn.
    pub(crate) fn new(threads: &Threads, cpus_of_nodes: &[u32], index: usize) -> Self {
        let all = if threads.cpus_allowed.is_empty() {
            cpus_of_nodes
        } else {
            threads.cpus_allowed.as_slice()
        };
        let split = threads.cpus_allowed_policy == CpuPolicy::Split || threads.shared_by > 1;
        let cpus = match all {
            [] => Vec::new(),
            all if split => vec![all[index % all.len()]],
            all => all.to_vec(),
        };
        Self {
            cpus,
            memory: threads.numa_mem_policy.clone(),
            nice: threads.nice,
            priority: threads.priority.ioprio(),
        }
    }

    /// Applies the placement to the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses a part of it.
    pub(crate) fn apply(&self) -> Result<(), SetupError> {
        if !self.cpus.is_empty() {
            let refused = SetupError::during("keeping a thread on the CPUs of cpus_allowed");
            let mut set = CpuSet::new();
            for &cpu in &self.cpus {
                if cpu as usize >= CpuSet::MAX_CPU {
                    return Err(refused(io::Error::from_raw_os_error(libc::EINVAL)));
                }
                set.set(cpu as usize);
            }
            sched_setaffinity(None, &set).map_err(|errno| refused(errno.into()))?;
        }
        self.set_mempolicy().map_err(SetupError::during("numa_mem_policy"))?;
        if self.nice != 0 {
            // SAFETY: takes only integers; 0 is the calling thread.
            let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, self.nice) };
            check(result.into()).map_err(SetupError::during("nice"))?;
        }
        if self.priority > 0 {
            let priority = i32::from(self.priority);
            // SAFETY: takes only integers; 0 is the calling thread.
            let result =
                unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority) };
            check(result).map_err(SetupError::during("prioclass and prio"))?;
        }
        Ok(())
    }

    fn set_mempolicy(&self) -> io::Result<()> {
        let (mode, nodes): (_, &[u32]) = match &self.memory {
            MemoryPolicy::Default => return Ok(()),
            MemoryPolicy::Local => (MPOL_LOCAL, &[]),
            MemoryPolicy::Prefer(node) => (MPOL_PREFERRED, std::slice::from_ref(node)),
            MemoryPolicy::Bind(nodes) => (MPOL_BIND, nodes),
            MemoryPolicy::Interleave(nodes) => (MPOL_INTERLEAVE, nodes),
        };
        let mut mask = [0_u64; 16];
        for &node in nodes {
            let word = mask.get_mut(node as usize / 64);
            let word = word.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
            *word |= 1 << (node % 64);
        }
        let bits = if nodes.is_empty() { 0 } else { size_of_val(&mask) * 8 };
        // SAFETY: the mask is valid for the call and as long as stated.
        let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask.as_ptr(), bits) };
        check(result)
    }
}

fn check(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The CPUs of NUMA nodes, from sysfs.
///
/// # Errors
/// A message if a node does not exist.
pub(crate) fn cpus_of_nodes(nodes: &[u32]) -> Result<Vec<u32>, String> {
    let mut cpus = Vec::new();
    for node in nodes {
        let path = format!("/sys/devices/system/node/node{node}/cpulist");
        let list = std::fs::read_to_string(&path)
            .map_err(|error| format!("numa_cpu_nodes={node}: there is no such node ({error})"))?;
        cpus.extend(iodyno_job::parse_list(list.trim())?);
    }
    Ok(cpus)
}
