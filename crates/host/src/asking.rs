//! What is being asked of devices at this moment, so that a question without an answer can be told
//! and need not be waited for.
//!
//! A thread whose read a device never answers can do nothing any more, not even say so. So it
//! notes what it asks ([`asking`]) before it does, and somebody else looks at the notes
//! ([`unanswered`]).

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a device is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// open(2).
    Open,
    /// A read.
    Read,
    /// A write.
    Write,
    /// fsync(2).
    Sync,
    /// A command past the block layer.
    Command,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "fsync",
            Self::Command => "command",
        })
    }
}

/// Whom it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Whom {
    Path(PathBuf),
    /// Its name is looked up when it is wanted, which it seldom is.
    Open(RawFd),
}

/// A question without an answer so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// Tells it from all others.
    pub id: u64,
    /// The device, file or directory.
    pub name: String,
    /// What it is asked for.
    pub asked: Asked,
    /// For how long.
    pub age: Duration,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, asked, age, .. } = self;
        let article = if *asked == Asked::Open { "an" } else { "a" };
        let article = if *asked == Asked::Sync { "an" } else { article };
        write!(f, "{name} has not answered {article} {asked} for {} s", age.as_secs())
    }
}

struct Note {
    id: u64,
    whom: Whom,
    asked: Asked,
    since: Instant,
}

struct Notes {
    next: u64,
    notes: Vec<Note>,
}

static NOTES: Mutex<Notes> = Mutex::new(Notes { next: 0, notes: Vec::new() });

fn notes() -> MutexGuard<'static, Notes> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks what is at `path`, and notes it for as long as it lasts. `ask` should be a single question,
/// or several of which none takes long.
pub fn asking<T>(path: &Path, asked: Asked, ask: impl FnOnce() -> T) -> T {
    noted(Whom::Path(path.to_path_buf()), asked, ask)
}

/// As [`asking`], of what is open already.
pub fn asking_open<T>(descriptor: impl AsFd, asked: Asked, ask: impl FnOnce() -> T) -> T {
    noted(Whom::Open(descriptor.as_fd().as_raw_fd()), asked, ask)
}

fn noted<T>(whom: Whom, asked: Asked, ask: impl FnOnce() -> T) -> T {
    let _noted = Noted::new(whom, asked);
    ask()
}

/// The note is there for as long as this is.
struct Noted(u64);

impl Noted {
    fn new(whom: Whom, asked: Asked) -> Self {
        let mut notes = notes();
        let id = notes.next;
        notes.next += 1;
        notes.notes.push(Note { id, whom, asked, since: Instant::now() });
        Self(id)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        notes().notes.retain(|note| note.id != self.0);
    }
}

/// The questions that have had no answer for `patience`, the oldest first.
pub fn unanswered(patience: Duration) -> Vec<Unanswered> {
    let old: Vec<(u64, Whom, Asked, Duration)> = notes()
        .notes
        .iter()
        .map(|note| (note.id, note.whom.clone(), note.asked, note.since.elapsed()))
        .filter(|(.., age)| *age >= patience)
        .collect();
    let told = |(id, whom, asked, age)| Unanswered { id, name: name(&whom), asked, age };
    old.into_iter().map(told).collect()
}

fn name(whom: &Whom) -> String {
    let path = match whom {
        Whom::Path(path) => path.clone(),
        Whom::Open(descriptor) => {
            let link = PathBuf::from(format!("/proc/self/fd/{descriptor}"));
            std::fs::read_link(&link).unwrap_or(link)
        }
    };
    crate::read::clean(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_noted_until_it_is_answered() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = file.path().display().to_string();
        let of_this = |patience| -> Vec<_> {
            unanswered(patience).into_iter().filter(|one| one.name == name).collect()
        };
        assert_eq!(of_this(Duration::ZERO), []);
        asking_open(file.as_file(), Asked::Sync, || {
            asking(file.path(), Asked::Open, || {
                let asked: Vec<_> = of_this(Duration::ZERO).iter().map(|one| one.asked).collect();
                assert_eq!(asked, [Asked::Sync, Asked::Open]);
                assert_eq!(of_this(Duration::from_secs(600)), []);
            });
            assert_eq!(of_this(Duration::ZERO).len(), 1);
        });
        assert_eq!(of_this(Duration::ZERO), []);
        let panicked = std::panic::catch_unwind(|| {
            asking(file.path(), Asked::Read, || panic!("on purpose"));
        });
        assert!(panicked.is_err() && of_this(Duration::ZERO).is_empty());
    }

    #[test]
    fn it_is_told_in_a_sentence() {
        let told = |asked| {
            let age = Duration::from_millis(5900);
            Unanswered { id: 0, name: "/dev/nvme3n1".into(), asked, age }.to_string()
        };
        assert_eq!(told(Asked::Read), "/dev/nvme3n1 has not answered a read for 5 s");
        assert_eq!(told(Asked::Open), "/dev/nvme3n1 has not answered an open for 5 s");
    }
}
