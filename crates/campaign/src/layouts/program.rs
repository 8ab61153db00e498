//! Runs system programs by argument vector.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::CampaignError;

/// Directories of administrators' programs, which an ordinary user's PATH may lack.
const ADMINISTRATORS: &str = "/usr/local/sbin:/usr/sbin:/sbin";
/// udev's socket; without udev nobody answers LVM and mdadm, which wait for it.
const UDEV: &str = "/run/udev/control";
/// Interval between checks for an interruption.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Path of a program; `None` if not installed.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = std::env::split_paths(ADMINISTRATORS);
    let mut folders = std::env::split_paths(&path).chain(more);
    folders.find_map(|folder| Some(folder.join(program)).filter(|path| path.is_file()))
}

/// Runs a command to its end and returns its standard output. An exit status not among `fine` is an
/// error. An interruption by the user terminates the program.
///
/// # Errors
/// It is not installed, failed, or was interrupted.
pub(crate) fn run(
    command: &iodyno_layout::Command,
    fine: &[i32],
    interrupted: &AtomicBool,
) -> Result<String, CampaignError> {
    let failed = |why: String| CampaignError::Program { line: command.line(), why };
    let program =
        find(command.program).ok_or_else(|| failed(format!("{} is not there", command.program)))?;
    let mut child = start(&program, &command.arguments)
        .map_err(|error| failed(format!("it cannot be started: {error}")))?;
    let (output, errors) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let was_interrupted =
        wait(&mut child, interrupted).map_err(|error| failed(error.to_string()))?;
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let text_of = |text: std::thread::JoinHandle<String>| text.join().unwrap_or_default();
    let (output, errors) = (text_of(output), text_of(errors));
    match status.code() {
        Some(code) if fine.contains(&code) => Ok(output),
        _ if was_interrupted => Err(CampaignError::Interrupted),
        code => {
            let how = match (code, status.signal()) {
                (Some(code), _) => format!("exit status {code}"),
                (None, signal) => format!("killed by signal {}", signal.unwrap_or_default()),
            };
            let text = [errors.trim(), output.trim()].into_iter().find(|text| !text.is_empty());
            Err(failed(text.map_or(how.clone(), |text| format!("{how}: {text}"))))
        }
    }
}

fn start(program: &Path, arguments: &[String]) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .env("LVM_SUPPRESS_FD_WARNINGS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A terminal's Ctrl-C is for us: half an array is worse than a whole one.
        .process_group(0);
    if !Path::new(UDEV).exists() {
        command.env("DM_DISABLE_UDEV", "1").env("MDADM_NO_UDEV", "1");
    }
    command.spawn()
}

fn reader(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // Output that cannot be read counts as none.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the program to end; true if it was terminated by the user. Without pidfd_open(2),
/// which kernels before 5.3 lack.
fn wait(child: &mut Child, interrupted: &AtomicBool) -> std::io::Result<bool> {
    let group = Pid::from_raw(child.id().cast_signed());
    let (mut terminated, mut pause) = (false, Duration::from_millis(1));
    while child.try_wait()?.is_none() {
        if !terminated && interrupted.load(Ordering::Relaxed) {
            terminated = true;
            // The group may have just ended; its number is not reused before it is waited for.
            let _ = group.map(|group| kill_process_group(group, Signal::TERM));
        }
        std::thread::sleep(pause);
        pause = POLL_INTERVAL.min(2 * pause);
    }
    Ok(terminated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: &'static str, arguments: &[&str]) -> iodyno_layout::Command {
        iodyno_layout::Command {
            program,
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    #[test]
    fn output_and_errors_of_programs_are_returned() {
        let go_on = AtomicBool::new(false);
        assert_eq!(run(&command("echo", &["a  b"]), &[0], &go_on).unwrap(), "a  b\n");
        let error = run(&command("ls", &["/no such file"]), &[0], &go_on).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("ls '/no such file': exit status 2: "), "{text}");
        run(&command("false", &[]), &[0, 1], &go_on).unwrap();
        let error = run(&command("no-such-program", &[]), &[0], &go_on).unwrap_err();
        assert!(error.to_string().ends_with("no-such-program is not there"), "{error}");
    }

    #[test]
    fn program_is_terminated_on_interruption() {
        let error = run(&command("sleep", &["1000"]), &[0], &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(error, CampaignError::Interrupted), "{error}");
    }
}
