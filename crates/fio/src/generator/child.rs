//! Runs fio as a child process: its reports as they arrive, and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Limit of fio's other output that is kept, bytes.
const MESSAGES_LIMIT: usize = 1 << 16;

/// Time that a killed fio has to end.
pub(super) const AFTER_KILL: Duration = Duration::from_secs(5);

/// Shell script: runs fio after reading a line, exits at end of input. Where iodyno was killed, a
/// report must not end fio before [`WATCH_SCRIPT`] has found its jobs, which would go on.
const START_SCRIPT: &str = r#"trap '' PIPE; read -r _ && exec "$@" </dev/null"#;

/// Shell script: waits for the end of its input, which comes when iodyno ends or is killed; then
/// kills the fio with process id $1, if that still works on the job file $2, and its jobs, which
/// are processes in sessions of their own. fio is stopped first so that it forks no more.
const WATCH_SCRIPT: &str = r#"
read -r _
grep -qsF -- "$2" "/proc/$1/cmdline" || exit 0
kill -STOP "$1"
n=0
until grep -qs '^State:.[TtZ]' "/proc/$1/status" || [ $((n += 1)) -gt 100 ]; do sleep 0.02; done
kill -KILL $(cat /proc/"$1"/task/*/children) "$1"
"#;

/// A running fio. It is killed on drop, and also if iodyno is killed with SIGKILL.
pub(super) struct FioProcess {
    child: Child,
    /// Kills fio if iodyno cannot.
    watch: Child,
    reports: Receiver<String>,
    messages: Vec<JoinHandle<String>>,
    ended: bool,
}

/// Event from fio.
pub(super) enum Event {
    /// A whole report, in JSON.
    Report(String),
    /// Timeout without a report.
    Timeout,
    /// fio has closed its output.
    Closed,
}

/// How fio ended.
pub(super) struct FioExit {
    /// Exit status; `None` if it was killed and still did not end.
    pub(super) status: Option<ExitStatus>,
    /// Output other than reports.
    pub(super) messages: String,
}

impl FioProcess {
    /// Starts fio with these arguments, the last of which is its job file, in a process group of
    /// its own, so that the terminal's Ctrl-C reaches it only through iodyno.
    ///
    /// Killing iodyno kills no child of it, and PR_SET_PDEATHSIG would reach fio but not its jobs.
    /// So a watching process notices iodyno's end by that of a pipe; it exists before fio does.
    pub(super) fn start(program: &Path, arguments: &[String]) -> std::io::Result<Self> {
        let mut child = shell(START_SCRIPT)
            .arg(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let job_file = arguments.last().map_or("", String::as_str);
        let watch = shell(WATCH_SCRIPT)
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
        let messages = vec![
            std::thread::spawn(move || {
                split_reports(stdout, |report| {
                    // The receiver is gone: read on, so that fio does not block.
                    let _ = to.send(report);
                })
            }),
            std::thread::spawn(move || split_reports(stderr, |_| ())),
        ];
        Ok(Self { child, watch, reports, messages, ended: false })
    }

    /// Waits at most `patience` for the next report.
    pub(super) fn next(&self, patience: Duration) -> Event {
        match self.reports.recv_timeout(patience) {
            Ok(report) => Event::Report(report),
            Err(RecvTimeoutError::Timeout) => Event::Timeout,
            Err(RecvTimeoutError::Disconnected) => Event::Closed,
        }
    }

    /// Asks fio to end and report: SIGINT, as from the terminal.
    pub(super) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Kills fio and its jobs; they report nothing any more.
    pub(super) fn kill(&self) {
        // fio's jobs are processes in sessions of their own.
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
            // The pid stays reserved until waited for, ended or not.
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for fio's end, after its output ended or it was killed. A killed one is abandoned if
    /// I/O that never completes keeps it.
    pub(super) fn wait(mut self, killed: bool) -> std::io::Result<FioExit> {
        self.ended = true;
        let status = if killed { self.reap() } else { self.end()? };
        let ended = |thread: &JoinHandle<String>| !killed || thread.is_finished();
        let messages =
            self.messages.drain(..).filter(ended).filter_map(|thread| thread.join().ok());
        Ok(FioExit { status, messages: messages.collect() })
    }

    /// Status of a child that has closed its output.
    fn end(&mut self) -> std::io::Result<Option<ExitStatus>> {
        // The pid stays reserved until waited for: the watch must end before that.
        let pid = Pid::from_child(&self.child);
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        self.unwatch();
        self.child.wait().map(Some)
    }

    fn unwatch(&mut self) {
        let _ = self.watch.kill();
        let _ = self.watch.wait();
    }

    /// Status of a killed child, if it ends soon.
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

impl Drop for FioProcess {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
            self.reap();
        }
    }
}

impl FioExit {
    /// Describes the end in a sentence, unless it was successful.
    pub(super) fn failure(&self) -> Option<String> {
        let Some(status) = self.status else {
            return Some("fio did not end when killed".to_owned());
        };
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("fio exited with status {code}")),
            (None, signal) => Some(format!("fio ended on signal {}", signal.unwrap_or(0))),
        }
    }
}

/// Command for a shell in a process group of its own that runs `script` with a pipe as input.
fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script, "iodyno-fio"])
        // Its messages are parsed.
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .process_group(0);
    command
}

/// Passes each report (the lines from `{` to `}`) to `report`; returns the text around them.
fn split_reports(output: impl Read, mut report: impl FnMut(String)) -> String {
    let mut messages = String::new();
    let mut gathering: Option<String> = None;
    let mut line = Vec::new();
    let mut output = BufReader::new(output);
    loop {
        line.clear();
        if !output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            return messages;
        }
        let text = String::from_utf8_lossy(&line);
        match (&mut gathering, text.trim_end()) {
            (None, "{") => gathering = Some("{\n".to_owned()),
            (None, _) if messages.len() + text.len() <= MESSAGES_LIMIT => messages.push_str(&text),
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
    fn reports_are_split_from_messages() {
        let output = "fio: note {\n{\n  \"a\" : {\n  }\n}\nbetween\n{\n}\nfio: end\n{\ncut off";
        let mut reports = Vec::new();
        let messages = split_reports(output.as_bytes(), |report| reports.push(report));
        assert_eq!(reports, ["{\n  \"a\" : {\n  }\n}\n", "{\n}\n"]);
        assert_eq!(messages, "fio: note {\nbetween\nfio: end\n");
    }
}
