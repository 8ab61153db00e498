//! Finds threads that hang in the kernel: those that have not run between two samples.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{read_dir, read_to_string};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::waits::Wait;

/// Threads whose I/O is reported by the code that started them, and which may have been abandoned.
const WATCHED: [&str; 2] = ["iodyno-load", "iodyno-probe"];

/// A thread, from `/proc/PID/task/TID/status`.
#[derive(Debug)]
struct Thread {
    name: String,
    /// Process id, if it belongs to a program that the worker runs.
    program: Option<Pid>,
    /// In uninterruptible sleep: not even a signal wakes it.
    uninterruptible: bool,
    /// Number of context switches.
    switches: u64,
    /// Time of the sample since which it has not run.
    since: Instant,
}

/// A device that does not answer.
#[derive(Debug)]
pub(super) struct Hang {
    wait: Option<Wait>,
    /// The program that waits for it, unless that is iodyno.
    program: Option<(String, Pid)>,
    age: Duration,
}

impl Hang {
    /// Describes the device, the request, and who waits for it.
    fn what(&self) -> String {
        let name = self.wait.as_ref().and_then(|wait| wait.name.as_ref());
        let name = name.map_or("a device".into(), |name| name.display().to_string());
        let asked = self.wait.as_ref().map_or("a request", |wait| wait.asked);
        match &self.program {
            Some((program, pid)) => {
                format!("{name} has not answered {asked} of {program} (process {pid})")
            }
            None => format!("{name} has not answered {asked}"),
        }
    }

    /// The waiting process: the program's, else `worker`.
    pub(super) fn process(&self, worker: Pid) -> Pid {
        self.program.as_ref().map_or(worker, |(_, pid)| *pid)
    }
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        match self.age.as_secs() {
            0 => Ok(()),
            seconds => write!(f, " for {seconds} s"),
        }
    }
}

/// Samples of the threads of the worker and of the programs that it runs.
pub(super) struct HangDetector {
    worker: Pid,
    /// Threads by directory, `/proc/PID/task/TID`.
    threads: HashMap<PathBuf, Thread>,
    reported: HashSet<String>,
}

impl HangDetector {
    pub(super) fn new(worker: Pid) -> Self {
        Self { worker, threads: HashMap::new(), reported: HashSet::new() }
    }

    /// Samples all threads.
    pub(super) fn sample(&mut self) {
        let mut seen = HashMap::new();
        let mut processes = vec![self.worker];
        while let Some(process) = processes.pop() {
            let program = (process != self.worker).then_some(process);
            let threads = read_dir(format!("/proc/{process}/task"));
            for directory in threads.into_iter().flatten().flatten().map(|entry| entry.path()) {
                let children = read_to_string(directory.join("children")).unwrap_or_default();
                let children = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
                processes.extend(children.filter_map(Pid::from_raw));
                let status = read_to_string(directory.join("status")).unwrap_or_default();
                let Some(mut thread) = thread(&status, program) else { continue };
                match self.threads.get(&directory) {
                    Some(before) if before.switches == thread.switches => {
                        thread.since = before.since
                    }
                    _ => {}
                }
                seen.insert(directory, thread);
            }
        }
        self.threads = seen;
    }

    /// Hangs of at least `least` in the last sample that were not yet reported. I/O of measuring
    /// jobs is left out while `measuring`.
    pub(super) fn unreported(&mut self, least: Duration, measuring: bool) -> Vec<Hang> {
        let mut hangs: Vec<Hang> =
            self.hangs(|thread| thread.since.elapsed() >= least, measuring).collect();
        let all = hangs.iter().map(Hang::what).collect();
        let mut known = std::mem::replace(&mut self.reported, all);
        // Several threads may wait for the same request; their order is arbitrary.
        hangs.retain(|hang| known.insert(hang.what()));
        hangs
    }

    /// A hang of at least `least` in the last sample.
    pub(super) fn hanging(&self, least: Duration) -> Option<Hang> {
        self.hangs(|thread| thread.since.elapsed() >= least, false).next()
    }

    /// A hang in the last sample that began at this moment or earlier.
    pub(super) fn hanging_since(&self, moment: Instant) -> Option<Hang> {
        self.hangs(move |thread| thread.since <= moment, false).next()
    }

    fn hangs(
        &self,
        is_old: impl Fn(&Thread) -> bool,
        measuring: bool,
    ) -> impl Iterator<Item = Hang> {
        let threads = self.threads.iter().filter(move |(_, thread)| is_old(thread));
        threads.filter_map(move |(directory, thread)| {
            let wait = Wait::of(directory);
            let is_watched = measuring && WATCHED.contains(&thread.name.as_str());
            let hangs =
                thread.uninterruptible || wait.as_ref().is_some_and(|wait| wait.interruptible);
            if !hangs || is_watched && wait.as_ref().is_none_or(|wait| wait.is_io) {
                return None;
            }
            let program = thread.program.map(|pid| (thread.name.clone(), pid));
            Some(Hang { wait, program, age: thread.since.elapsed() })
        })
    }
}

/// Parses `status` of a thread that waits now.
fn thread(status: &str, program: Option<Pid>) -> Option<Thread> {
    let mut found = Thread {
        name: String::new(),
        program,
        uninterruptible: false,
        switches: 0,
        since: Instant::now(),
    };
    for (key, value) in status.lines().filter_map(|line| line.split_once(":\t")) {
        match key {
            "Name" => found.name = value.to_owned(),
            "State" => match value.as_bytes().first()? {
                b'D' => found.uninterruptible = true,
                b'S' | b'I' => {}
                _ => return None,
            },
            "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => {
                found.switches += value.trim().parse::<u64>().ok()?;
            }
            _ => {}
        }
    }
    (!found.name.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: &str, switches: [u64; 2]) -> String {
        let [voluntary, others] = switches;
        format!(
            "Name:\tiodyno-load\nUmask:\t0022\nState:\t{state}\nTgid:\t7\n\
             voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{others}\n"
        )
    }

    #[test]
    fn waiting_threads_are_distinguished_from_running_ones() {
        let of = |state| thread(&status(state, [40, 2]), None);
        let hangs = of("D (disk sleep)").unwrap();
        assert_eq!((hangs.name.as_str(), hangs.switches), ("iodyno-load", 42));
        assert!(hangs.uninterruptible && !of("S (sleeping)").unwrap().uninterruptible);
        for state in ["R (running)", "Z (zombie)", "T (stopped)", "X (dead)"] {
            assert!(of(state).is_none(), "{state}");
        }
        assert!(thread("", None).is_none(), "it has ended meanwhile");
    }

    #[test]
    fn a_hang_of_many_threads_is_reported_once() {
        let mut detector = HangDetector::new(Pid::from_raw(1).unwrap());
        for n in 0..64 {
            let program = Pid::from_raw(7 + n % 2);
            let thread = thread(&status("D (disk sleep)", [40, 2]), program).unwrap();
            detector.threads.insert(format!("/proc/none/{n}").into(), thread);
        }
        let mut told: Vec<String> =
            detector.unreported(Duration::ZERO, false).iter().map(Hang::what).collect();
        told.sort();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].ends_with("(process 7)") && told[1].ends_with("(process 8)"), "{told:?}");
        assert!(detector.unreported(Duration::ZERO, false).is_empty());
    }

    #[test]
    fn a_hang_is_described_in_a_sentence() {
        let name = Some("/dev/md0".into());
        let wait = Wait { asked: "an fsync", name, interruptible: true, is_io: false };
        let program = Some(("mkfs.ext4".to_owned(), Pid::from_raw(7).unwrap()));
        let age = Duration::from_millis(5900);
        let mut hang = Hang { wait: Some(wait), program, age };
        let told = "/dev/md0 has not answered an fsync of mkfs.ext4 (process 7) for 5 s";
        assert_eq!(hang.to_string(), told);
        (hang.wait, hang.program) = (None, None);
        assert_eq!(hang.to_string(), "a device has not answered a request for 5 s");
    }
}
