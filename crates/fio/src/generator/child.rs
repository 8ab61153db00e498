//! fio as a child process: its reports as they come, and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// What is kept of what fio says beside its reports, bytes.
const WORDS_LIMIT: usize = 1 << 16;

/// How long a killed fio may take to end.
pub(super) const AFTER_KILL: Duration = Duration::from_secs(5);

/// Becomes fio once a line comes in, and nothing if its end comes first.
const GATE: &str = r#"read -r _ && exec "$@" </dev/null"#;

/// Waits for the end of its input, which is ours or that of whoever has killed us; then it ends
/// the fio with process id $1, if that still works on the job file $2, and its jobs, which are
/// processes in sessions of their own. Stopped first, it makes no others meanwhile.
const WATCH: &str = r#"
read -r _
grep -qsF -- "$2" "/proc/$1/cmdline" || exit 0
kill -STOP "$1"
n=0
until grep -qs '^State:.[TtZ]' "/proc/$1/status" || [ $((n += 1)) -gt 100 ]; do sleep 0.02; done
kill -KILL $(cat /proc/"$1"/task/*/children) "$1"
"#;

/// A fio that runs. Dropped, it is killed; killed with -9 we are, it is as well.
pub(super) struct Fio {
    child: Child,
    /// Kills fio if we cannot.
    watch: Child,
    reports: Receiver<String>,
    words: Vec<JoinHandle<String>>,
    ended: bool,
}

/// What came from fio.
pub(super) enum News {
    /// A whole report, in JSON.
    Report(String),
    /// Nothing yet.
    Nothing,
    /// It has closed its output.
    End,
}

/// How fio ended.
pub(super) struct Ended {
    /// `None`: it was killed, and did not even end of that.
    pub(super) status: Option<ExitStatus>,
    /// What it said beside its reports.
    pub(super) words: String,
}

impl Fio {
    /// Starts fio with these arguments, the last of which is its job file, in a
    /// process group of its own, so that the terminal's Ctrl-C reaches it through us only.
    ///
    /// Who kills us kills no child of ours, and PR_SET_PDEATHSIG would reach fio but not its jobs.
    /// So there is a process that notices our end by that of a pipe; it is there before fio is.
    pub(super) fn start(program: &Path, arguments: &[String]) -> std::io::Result<Self> {
        let mut child = shell(GATE)
            .arg(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let job_file = arguments.last().map_or("", String::as_str);
        let watch = shell(WATCH)
            .args([&child.id().to_string(), job_file])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let watch = match watch {
            Ok(watch) => watch,
            Err(error) => {
                drop(child.stdin.take());
                child.wait()?;
                return Err(error);
            }
        };
        if let Some(mut gate) = child.stdin.take() {
            gate.write_all(b"go\n")?;
        }
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let (to, reports) = channel();
        let words = vec![
            std::thread::spawn(move || {
                split_reports(stdout, |report| {
                    // Nobody listens any more: read on, so that fio is not held up.
                    let _ = to.send(report);
                })
            }),
            std::thread::spawn(move || split_reports(stderr, |_| ())),
        ];
        Ok(Self { child, watch, reports, words, ended: false })
    }

    /// The next report, waited for at most `patience`.
    pub(super) fn next(&self, patience: Duration) -> News {
        match self.reports.recv_timeout(patience) {
            Ok(report) => News::Report(report),
            Err(RecvTimeoutError::Timeout) => News::Nothing,
            Err(RecvTimeoutError::Disconnected) => News::End,
        }
    }

    /// Asks it to end and report: SIGINT, as the terminal would.
    pub(super) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Ends it and its jobs at once; they report nothing any more.
    pub(super) fn kill(&self) {
        // Its jobs are processes in sessions of their own.
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        let children = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
        for child in children.filter_map(Pid::from_raw) {
            let _ = kill_process(child, Signal::KILL);
        }
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // Its number is its own until it is waited for, ended or not.
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for its end; its output has ended, or it was killed. One that was
    /// killed is abandoned when I/O that never comes back keeps it.
    pub(super) fn wait(mut self, killed: bool) -> std::io::Result<Ended> {
        self.ended = true;
        let status = if killed { self.reap() } else { self.end()? };
        let ended = |thread: &JoinHandle<String>| !killed || thread.is_finished();
        let words = self.words.drain(..).filter(ended).filter_map(|thread| thread.join().ok());
        Ok(Ended { status, words: words.collect() })
    }

    /// The status of a child that has closed its output.
    fn end(&mut self) -> std::io::Result<Option<ExitStatus>> {
        // Its number is its own until it is waited for: only until then is it watched.
        let pid = Pid::from_child(&self.child);
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        self.unwatch();
        self.child.wait().map(Some)
    }

    fn unwatch(&mut self) {
        let _ = self.watch.kill();
        let _ = self.watch.wait();
    }

    /// The status of a killed child, if it ends soon.
    fn reap(&mut self) -> Option<ExitStatus> {
        self.unwatch();
        let give_up = Instant::now() + AFTER_KILL;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < give_up => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                status => return status.ok().flatten(),
            }
        }
    }
}

impl Drop for Fio {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
            self.reap();
        }
    }
}

impl Ended {
    /// How it ended, as a sentence, where it did not end well.
    pub(super) fn badly(&self) -> Option<String> {
        let Some(status) = self.status else {
            return Some("fio did not end of being killed".to_owned());
        };
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("fio ended with exit status {code}")),
            (None, signal) => Some(format!("fio was ended by signal {}", signal.unwrap_or(0))),
        }
    }
}

/// A shell of its own that runs `script` and is told by a pipe.
fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script, "iodyno-fio"])
        // Its messages are read.
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .process_group(0);
    command
}

/// Hands each report (the lines from `{` to `}`) to `report`; gives what stood
/// around them.
fn split_reports(output: impl Read, mut report: impl FnMut(String)) -> String {
    let mut words = String::new();
    let mut gathering: Option<String> = None;
    let mut line = Vec::new();
    let mut output = BufReader::new(output);
    loop {
        line.clear();
        if !output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            return words;
        }
        let text = String::from_utf8_lossy(&line);
        match (&mut gathering, text.trim_end()) {
            (None, "{") => gathering = Some("{\n".to_owned()),
            (None, _) if words.len() + text.len() <= WORDS_LIMIT => words.push_str(&text),
            (None, _) => {}
            (Some(gathered), end) => {
                gathered.push_str(&text);
                if end == "}" {
                    gathering.take().into_iter().for_each(&mut report);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_told_from_words() {
        let output = "fio: note {\n{\n  \"a\" : {\n  }\n}\nbetween\n{\n}\nfio: end\n{\ncut off";
        let mut reports = Vec::new();
        let words = split_reports(output.as_bytes(), |report| reports.push(report));
        assert_eq!(reports, ["{\n  \"a\" : {\n  }\n}\n", "{\n}\n"]);
        assert_eq!(words, "fio: note {\nbetween\nfio: end\n");
    }
}
