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
        switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        major_faults: usage.ru_majflt as u64,
        minor_faults: usage.ru_minflt as u64,
    }
}

/// CPU use of threads over a period, ns.
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
        let before = thread_usage();
        while thread_usage().since(before).cpu_ns() == 0 {}
    }
}
