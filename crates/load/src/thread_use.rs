//! Resource usage of a job's threads while it runs.

use std::fs::read_to_string;
use std::sync::Arc;

use iodyno_model::{CpuUse, JobStats};

/// Clock tick of /proc: USER_HZ is 100 on all Linux machines but Alpha.
const TICK_NS: u64 = 10_000_000;

/// Resource usage of one or several threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// User CPU time, ns.
    pub user_ns: u64,
    /// System CPU time, ns.
    pub system_ns: u64,
    /// Time ready to run without a CPU, ns; `None`: not known.
    pub waited_ns: Option<u64>,
    /// Context switches.
    pub switches: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// Other page faults.
    pub minor_faults: u64,
}

/// Resource usage of a job's threads since they began.
#[derive(Debug, Clone, Default)]
pub struct ThreadUse {
    /// Usage of threads that have ended.
    pub ended: Usage,
    /// Kernel ids of the running threads; their usage is read on demand.
    pub running: Arc<[u32]>,
}

impl ThreadUse {
    /// Writes the usage, running threads included, into the statistics of a job that has run for
    /// `elapsed_ns`.
    pub fn put_into(&self, account: &mut JobStats, elapsed_ns: u64) {
        let mut sum = self.ended;
        for thread in self.running.iter() {
            let _ = sum.add(*thread);
        }
        let share = |ns: u64| ns as f64 / elapsed_ns.max(1) as f64;
        let (user, system) = (share(sum.user_ns), share(sum.system_ns));
        account.cpu = CpuUse { user, system, ..CpuUse::default() };
        account.switches = sum.switches;
        account.major_faults = sum.major_faults;
        account.minor_faults = sum.minor_faults;
    }
}

impl Usage {
    /// Usage since `earlier`.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            waited_ns: match (self.waited_ns, earlier.waited_ns) {
                (Some(now), Some(before)) => Some(now.saturating_sub(before)),
                _ => None,
            },
            switches: self.switches.saturating_sub(earlier.switches),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }

    /// Sum of two usages.
    pub const fn and(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            waited_ns: match (self.waited_ns, other.waited_ns) {
                (Some(one), Some(other)) => Some(one + other),
                (Some(known), None) | (None, Some(known)) => Some(known),
                (None, None) => None,
            },
            switches: self.switches + other.switches,
            major_faults: self.major_faults + other.major_faults,
            minor_faults: self.minor_faults + other.minor_faults,
        }
    }

    /// Total CPU time, ns.
    pub const fn cpu_ns(self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Adds the usage of a thread, unless it has just ended.
    fn add(&mut self, thread: u32) -> Option<()> {
        let read = |name: &str| read_to_string(format!("/proc/self/task/{thread}/{name}")).ok();
        let (stat, status) = (read("stat")?, read("status")?);
        // The third field follows the name, which may contain anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        self.user_ns += field(14)? * TICK_NS;
        self.system_ns += field(15)? * TICK_NS;
        self.minor_faults += field(10)?;
        self.major_faults += field(12)?;
        let switches = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        self.switches += switches.filter_map(|(_, n)| n.trim().parse::<u64>().ok()).sum::<u64>();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This thread's own id is in the link /proc/thread-self.
    #[test]
    fn usage_of_running_threads_is_read() {
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        let own: u32 = own.file_name().unwrap().to_string_lossy().parse().unwrap();
        let ended = Usage { switches: 1_000_000, ..Usage::default() };
        let ended = ThreadUse { ended, ..ThreadUse::default() };
        let running = ThreadUse { running: [own].into(), ..ended.clone() };
        let account = |used: &ThreadUse| {
            let mut account = JobStats::default();
            used.put_into(&mut account, 1);
            account
        };
        // Fresh memory causes page faults.
        std::hint::black_box(vec![1_u8; 8 << 20]);
        while account(&running).cpu.user + account(&running).cpu.system == 0.0 {}
        let (ended, running) = (account(&ended), account(&running));
        assert_eq!(
            (ended.switches, ended.cpu, ended.minor_faults),
            (1_000_000, CpuUse::default(), 0)
        );
        assert!(running.switches >= 1_000_000 && running.minor_faults > 0, "{running:?}");
    }
}
