//! Resource usage of threads.
#![allow(unsafe_code)] // getrusage(RUSAGE_THREAD) has no safe wrapper.

pub(crate) use iodyno_load::Usage;
use iodyno_model::CpuUse;

/// Resource usage of the calling thread since its start.
pub(crate) fn thread_usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a writable rusage; all zeros is a valid one, so it is initialised even if
    // the call failed (it cannot: both arguments are valid).
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        waited_ns: waited_ns(),
        switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        major_faults: usage.ru_majflt as u64,
        minor_faults: usage.ru_minflt as u64,
    }
}

/// Time that the calling thread was ready to run and had no CPU: the second field of its schedstat
/// (Documentation/scheduler/sched-stats.rst).
fn waited_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// CPU use of threads over a period, ns.
pub(crate) fn cpu_use(threads: &[Usage], over_ns: u64) -> CpuUse {
    let share = |ns: u64| ns as f64 / over_ns.max(1) as f64;
    let busiest = threads.iter().map(|usage| usage.cpu_ns()).max();
    let waited = threads.iter().filter_map(|usage| usage.waited_ns).max();
    CpuUse {
        user: share(threads.iter().map(|usage| usage.user_ns).sum()),
        system: share(threads.iter().map(|usage| usage.system_ns).sum()),
        busiest_thread: share(busiest.unwrap_or(0)).min(1.0),
        waited: waited.map(|ns| share(ns).min(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinning_thread_uses_cpu() {
        let before = thread_usage();
        while thread_usage().since(before).cpu_ns() == 0 {}
    }

    #[test]
    fn the_longest_wait_for_a_cpu_is_a_share_of_the_time() {
        let thread = |waited_ns| Usage { waited_ns, ..Usage::default() };
        let waited = |all: &[Usage]| cpu_use(all, 1000).waited;
        assert_eq!(waited(&[thread(Some(100)), thread(Some(600)), thread(None)]), Some(0.6));
        assert_eq!(waited(&[thread(Some(5000))]), Some(1.0));
        assert_eq!(waited(&[thread(None)]), None, "not known");
        if std::path::Path::new("/proc/thread-self/schedstat").exists() {
            assert!(thread_usage().waited_ns.is_some());
        }
    }
}
