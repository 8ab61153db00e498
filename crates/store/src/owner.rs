//! The process that works on a run, and whether it is still there.
//!
//! A pid alone means little: after a restart, or once enough processes came
//! and went, it is another's. So boot and start time are kept with it.

/// The boot of this machine and the start of this process within it, as
/// `BOOT/TICKS`.
pub(crate) fn session() -> String {
    let started = Process::read(std::process::id().into()).map(|process| process.started);
    format!("{}/{}", boot_id(), started.unwrap_or_default())
}

/// Whether the process `pid` of a session is still there. Earlier versions
/// kept the boot alone.
pub(crate) fn is_alive(pid: i64, session: &str) -> bool {
    let (boot, started) = session.split_once('/').unwrap_or((session, ""));
    let same = |process: Process| started.is_empty() || process.started == started;
    boot == boot_id() && Process::read(pid).is_some_and(same)
}

/// What the kernel calls this boot of the machine; empty where it does not say.
pub fn boot_id() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|text| text.trim().to_owned()).unwrap_or_default()
}

struct Process {
    /// Ticks since the boot.
    started: String,
}

impl Process {
    /// A process that runs; one that ended and that nobody waited for does not.
    fn read(pid: i64) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in front, in parentheses, may hold anything (proc(5)).
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.to_owned();
        (!matches!(state, "Z" | "X")).then_some(Self { started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let own = session();
        let pid = i64::from(std::process::id());
        assert!(is_alive(pid, &own));
        assert!(!is_alive(pid, &format!("{own}1")), "another process had this pid");
        assert!(!is_alive(pid, "another boot"));
        assert!(is_alive(pid, own.split('/').next().unwrap()), "as earlier versions kept it");
    }

    #[test]
    fn what_ended_is_not_there() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i64::from(child.id());
        // It ends, and is a zombie until it is waited for.
        let read = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        while !read().contains(") Z ") {
            std::thread::yield_now();
        }
        assert!(!is_alive(pid, &boot_id()));
        child.wait().unwrap();
        assert!(!is_alive(pid, &boot_id()));
    }
}
