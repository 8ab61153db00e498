//! What the threads of a job use of the machine while it goes on.

use std::fs::read_to_string;
use std::sync::Arc;

use iodyno_model::{CpuUse, JobStats};

/// Clock ticks of /proc: USER_HZ is 100 on all machines that Linux runs on but Alpha.
const TICK_NS: u64 = 10_000_000;

/// What the threads of a job have used since they began.
#[derive(Debug, Clone, Default)]
pub struct ThreadUse {
    /// CPU time, ns, of those that have ended.
    pub user_ns: u64,
    /// As `user_ns`.
    pub system_ns: u64,
    /// Context switches of those that have ended.
    pub switches: u64,
    /// As `switches`.
    pub major_faults: u64,
    /// As `switches`.
    pub minor_faults: u64,
    /// The kernel's ids of those that run: it is asked for theirs when somebody wants to know.
    pub running: Arc<[u32]>,
}

impl ThreadUse {
    /// Puts all of it, that of the running threads included, into the account of a job that has
    /// run for `elapsed_ns`.
    pub fn put_into(&self, account: &mut JobStats, elapsed_ns: u64) {
        let mut sum = self.clone();
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

    /// Adds what a thread has used, unless it has ended just now.
    fn add(&mut self, thread: u32) -> Option<()> {
        let read = |name: &str| read_to_string(format!("/proc/self/task/{thread}/{name}")).ok();
        let (stat, status) = (read("stat")?, read("status")?);
        // Behind the name, which may hold anything, stands the third field.
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

    /// This thread's own id is the name of what /proc/thread-self leads to.
    #[test]
    fn a_running_thread_is_asked_for() {
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        let own: u32 = own.file_name().unwrap().to_string_lossy().parse().unwrap();
        let ended = ThreadUse { switches: 1_000_000, ..ThreadUse::default() };
        let running = ThreadUse { running: [own].into(), ..ended.clone() };
        let account = |used: &ThreadUse| {
            let mut account = JobStats::default();
            used.put_into(&mut account, 1);
            account
        };
        while account(&running).cpu.user + account(&running).cpu.system == 0.0 {}
        let (ended, running) = (account(&ended), account(&running));
        assert_eq!(
            (ended.switches, ended.cpu, ended.minor_faults),
            (1_000_000, CpuUse::default(), 0)
        );
        assert!(running.switches >= 1_000_000 && running.minor_faults > 0, "{running:?}");
    }
}
