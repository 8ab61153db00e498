//! What a thread used of the machine.
#![allow(unsafe_code)] // getrusage of a thread has no safe wrapper here.

use iodyno_load::ThreadUse;
use iodyno_model::{CpuUse, JobStats};

/// What a thread used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// CPU time, ns.
    pub(crate) user_ns: u64,
    /// CPU time, ns.
    pub(crate) system_ns: u64,
    switches: u64,
    major_faults: u64,
    minor_faults: u64,
}

impl Usage {
    /// Of the calling thread, since its start.
    pub(crate) fn of_this_thread() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `usage` is a writable rusage; all zeros is a valid one, so it
        // is initialised even if the call failed (it cannot: both arguments are valid).
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
        Self {
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
            major_faults: usage.ru_majflt as u64,
            minor_faults: usage.ru_minflt as u64,
        }
    }

    /// What was used since `earlier`.
    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            switches: self.switches.saturating_sub(earlier.switches),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }

    /// Of two threads together.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            switches: self.switches + other.switches,
            major_faults: self.major_faults + other.major_faults,
            minor_faults: self.minor_faults + other.minor_faults,
        }
    }

    /// Adds it to what threads of a job have used.
    pub(crate) fn included_in(self, sum: ThreadUse) -> ThreadUse {
        ThreadUse {
            user_ns: sum.user_ns + self.user_ns,
            system_ns: sum.system_ns + self.system_ns,
            switches: sum.switches + self.switches,
            major_faults: sum.major_faults + self.major_faults,
            minor_faults: sum.minor_faults + self.minor_faults,
            running: sum.running,
        }
    }

    /// CPU time in all, ns.
    pub(crate) const fn cpu_ns(self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Adds it to the account of a job.
    pub(crate) const fn add_to(self, account: &mut JobStats) {
        account.switches += self.switches;
        account.major_faults += self.major_faults;
        account.minor_faults += self.minor_faults;
    }
}

/// The CPU use of threads over a time, ns.
pub(crate) fn cpu_use(threads: &[Usage], over_ns: u64) -> CpuUse {
    let share = |ns: u64| ns as f64 / over_ns.max(1) as f64;
    let busiest = threads.iter().map(|usage| usage.cpu_ns()).max();
    CpuUse {
        user: share(threads.iter().map(|usage| usage.user_ns).sum()),
        system: share(threads.iter().map(|usage| usage.system_ns).sum()),
        busiest_thread: share(busiest.unwrap_or(0)).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinning_thread_uses_cpu() {
        let before = Usage::of_this_thread();
        while Usage::of_this_thread().since(before).cpu_ns() == 0 {}
    }
}
