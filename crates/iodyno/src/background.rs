//! Threads that run beside a load with the lowest priority, off the CPUs that the load uses.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

/// Lowest priority (setpriority(2)).
const LOWEST_PRIORITY: i32 = 19;

static ALL: Mutex<Background> = Mutex::new(Background { threads: Vec::new(), cpus: None });

struct Background {
    threads: Vec<Pid>,
    /// CPUs that the process could use when the first thread began, and those of them still
    /// allowed.
    cpus: Option<(CpuSet, CpuSet)>,
}

fn all() -> MutexGuard<'static, Background> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread of the lowest priority.
///
/// # Errors
/// The system cannot start another thread.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    if let (cpus @ None, Ok(own)) = (&mut all().cpus, sched_getaffinity(None)) {
        *cpus = Some((own, own));
    }
    Builder::new().name(name.into()).spawn(move || {
        let _listed = Registration::new(gettid());
        work()
    })
}

/// Moves the threads off these CPUs, and only these, as long as any other CPU is left.
pub(crate) fn keep_off(used: impl IntoIterator<Item = usize>) {
    let mut all = all();
    let Background { threads, cpus: Some((own, left)) } = &mut *all else { return };
    let mut rest = *own;
    used.into_iter().filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| rest.unset(cpu));
    if rest.count() > 0 && rest != *left {
        *left = rest;
        for thread in threads {
            let _ = sched_setaffinity(Some(*thread), left);
        }
    }
}

/// Registration of a running thread. Priority and affinity that the system refuses are skipped.
struct Registration(Pid);

impl Registration {
    fn new(own: Pid) -> Self {
        // Applies to the calling thread only.
        let _ = setpriority_process(Some(own), LOWEST_PRIORITY);
        let mut all = all();
        if let Some((_, left)) = &all.cpus {
            let _ = sched_setaffinity(Some(own), left);
        }
        all.threads.push(own);
        Self(own)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        all().threads.retain(|thread| *thread != self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_thread_leaves_the_cpus_that_are_used_unless_none_would_be_left() {
        let own = sched_getaffinity(None).unwrap();
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| own.is_set(*cpu)).collect();
        let (ask, asked) = channel::<()>();
        let (answer, answered) = channel();
        let work = move || {
            for () in asked {
                answer.send(sched_getaffinity(None).unwrap()).unwrap();
            }
        };
        let thread = spawn("test", work).unwrap();
        let seen = || {
            ask.send(()).unwrap();
            answered.recv().unwrap()
        };
        assert_eq!(seen(), own);
        keep_off(cpus.iter().copied());
        assert_eq!(seen(), own, "all are used");
        keep_off([cpus[0], usize::MAX]);
        assert_eq!(seen().is_set(cpus[0]), cpus.len() == 1);
        keep_off([]);
        assert_eq!(seen(), own);
        drop(ask);
        thread.join().unwrap();
        assert!(all().threads.is_empty());
    }
}
