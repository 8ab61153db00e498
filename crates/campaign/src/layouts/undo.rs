//! What was built, taken down if it is still ours.

use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use iodyno_host::{Depth, Live, mounts, snapshot};
use iodyno_layout::{Command, take_down};
use iodyno_model::{BlockKind, Built};

use super::drive::Drive;
use super::program;

/// What is still busy after this long is in use.
const MOST_BUSY: Duration = Duration::from_secs(10);
/// So often it is tried again.
const LOOK: Duration = Duration::from_millis(100);

/// What came of taking something down, or giving it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It stood, and does no more.
    TakenDown,
    /// A drive holds nothing any more.
    Emptied,
    /// Nothing was there to be taken down: a thing on a drive that is gone is gone.
    Gone,
    /// It is not ours any more, or nothing says so; a sentence.
    LeftAlone(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TakenDown => f.write_str("taken down"),
            Self::Emptied => f.write_str("emptied"),
            Self::Gone => f.write_str("is gone already"),
            Self::LeftAlone(why) => write!(f, "left alone: {why}"),
        }
    }
}

/// Takes it down, if it is there and ours.
///
/// # Errors
/// Why it cannot be taken down.
pub(crate) fn undo(built: &Built) -> Result<Outcome, String> {
    let outcome = match built {
        Built::Drive { device, word, tag, boot_id } => {
            let drive = Drive { device, word, tag, boot_id };
            return once_let_go(|| drive.give_back());
        }
        built if !stands(built)? => Outcome::Gone,
        built => {
            if let Some(command) = take_down(built) {
                once_let_go(|| asked(&command, &[0]))?;
            }
            Outcome::TakenDown
        }
    };
    match built {
        // A directory that something else lies in stays.
        Built::Mount { at } => drop(std::fs::remove_dir(at)),
        Built::BackingFile { path } if outcome == Outcome::TakenDown => {
            for device in loops_over(path)? {
                asked(&command("losetup", &["--detach", &device]), &[0])?;
            }
            std::fs::remove_file(path).map_err(|error| format!("{path}: {error}"))?;
        }
        _ => {}
    }
    Ok(outcome)
}

/// The loop devices over a file.
fn loops_over(path: &str) -> Result<Vec<String>, String> {
    let words = ["--associated", path, "--output", "NAME", "--noheadings"];
    let said = asked(&command("losetup", &words), &[0])?;
    Ok(said.split_whitespace().map(str::to_owned).collect())
}

/// What is busy is tried again for a while. The kernel lets go of the files of
/// a ring some time after its process has ended, and tells nobody when; udev
/// looks at what was just closed.
fn once_let_go<T>(attempt: impl Fn() -> Result<T, String>) -> Result<T, String> {
    let start = Instant::now();
    let is_held = |why: &str| why.contains("busy") || why.contains("in use");
    loop {
        match attempt() {
            Err(why) if is_held(&why) && start.elapsed() < MOST_BUSY => std::thread::sleep(LOOK),
            done => return done,
        }
    }
}

/// What a program says; undoing is not interrupted.
pub(super) fn asked(command: &Command, fine: &[i32]) -> Result<String, String> {
    program::run(command, fine, &AtomicBool::new(false)).map_err(|error| error.to_string())
}

pub(super) fn command(program: &'static str, arguments: &[&str]) -> Command {
    Command { program, arguments: arguments.iter().map(|word| (*word).to_owned()).collect() }
}

/// Whether it stands, and is ours: what has a name with a tag of ours is.
fn stands(built: &Built) -> Result<bool, String> {
    Ok(match built {
        Built::Mount { at } => mounts(&Live::new()).iter().any(|mount| mount.mount.at == *at),
        Built::Mapping { name } => {
            let host = snapshot(&Live::new(), Depth::Quick);
            host.blocks.iter().any(|block| match &block.kind {
                BlockKind::DeviceMapper(mapped) => mapped.name == *name,
                _ => false,
            })
        }
        // Also of one that lost a member.
        Built::Array { device, name } => {
            let detail = command("mdadm", &["--detail", "--export", device]);
            // Other statuses than 0: there is none, or it has nothing to say.
            Path::new(device).exists() && asked(&detail, &[0, 1, 2, 4])?.contains(name.as_str())
        }
        Built::Drive { device: path, .. } | Built::BackingFile { path } => Path::new(path).exists(),
    })
}
