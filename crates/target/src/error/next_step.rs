//! Next steps for targets that cannot be used.

use iodyno_model::shell_word;
use rustix::io::Errno;

use super::TargetError;
use crate::BlindSpot;

/// Source of unguessable bytes.
pub(crate) const RANDOM_SOURCE: &str = "/dev/urandom";

impl TargetError {
    /// Returns what the user can do about it, as a sentence or a command.
    pub fn next_step(&self) -> String {
        match self {
            Self::NotFound { nearest: Some(nearest), .. } => format!("did you mean {nearest}?"),
            Self::NotFound { detached, .. } if !detached.is_empty() => format!(
                "NVMe functions not bound to the nvme driver: {}; bind them to it to measure \
                 them",
                detached.join(", ")
            ),
            Self::NotFound { .. } => "iodyno list shows the drives of this machine".into(),
            Self::DanglingLink { .. } => "mount or make what it points to, or name another".into(),
            Self::GivenTwice { .. } => "name it once".into(),
            Self::TwoMeanings { name } => format!("name /dev/{name} or ./{name}"),
            Self::NotStorage { .. } => {
                "name an NVMe controller, a block device, a file or a directory".into()
            }
            Self::Detached { address, driver } => match driver {
                Some(driver) => format!(
                    "stop its user (a virtual machine, SPDK) behind {driver} to get it \
                     back: unbind {address} from {driver} and bind it to nvme"
                ),
                None => format!("load the nvme driver, or bind {address} to it; see dmesg for why"),
            },
            Self::ControllerNotLive { controller, state } if state == "dead" => {
                format!("see dmesg for {controller}; reset the drive or replace it")
            }
            Self::ControllerNotLive { .. } => "wait until its state is live and repeat".into(),
            Self::NoNamespace { controller } => format!(
                "create and attach a namespace (nvme create-ns, nvme attach-ns), then rescan: nvme \
                 ns-rescan /dev/{controller}"
            ),
            Self::TooSmall { .. } => "name a device or file that holds data".into(),
            Self::Refused { .. } => "name a device, or a directory on a disk".into(),
            Self::NoPermission { .. } => permission_step(),
            Self::NoNode { path, .. } => format!(
                "make the host's {path} visible where iodyno runs: mount --bind /dev in a chroot, \
                 --device={path} for a container"
            ),
            Self::Changed { .. } => "see dmesg for hotplug events, and repeat".into(),
            Self::NoSpace { .. } => "free some space, or name another directory".into(),
            Self::Interrupted { .. } => "run it again".into(),
            Self::InUse { .. } | Self::Claimed { .. } => "unmount it or stop its users; no option overrides it".into(),
            Self::NotAllowed { word: Some(word), lost, .. } => {
                let word = shell_word(word);
                let discard =
                    if lost.is_empty() { String::new() } else { format!(" --discard-data {word}") };
                format!("if all data on it may be lost: --allow-write {word}{discard}")
            }
            Self::OnePath { .. } => {
                "let dm-multipath join the paths, and name its device; or only read it".into()
            }
            Self::NotAllowed { word: None, .. } => {
                "nothing identifies it: no serial number, no world-wide id, no \
                 UUID: measure a file on it, or only read it"
                    .into()
            }
            Self::TooShort { name, holds_bytes, .. } => format!(
                "read no more than it holds (size={holds_bytes}), or let iodyno append random \
                 data and keep the rest: --allow-write {}",
                shell_word(name)
            ),
            Self::NotKnown { word, blind, .. } => {
                let mut remedies: Vec<String> = blind.iter().map(BlindSpot::remedy).collect();
                remedies.dedup();
                format!(
                    "{}; or, if you know that it is unused: --assume-unused {}",
                    remedies.join("; "),
                    shell_word(word)
                )
            }
            Self::HoldsData { word, .. } => {
                format!("if it may be lost: --discard-data {}", shell_word(word))
            }
            Self::ReadOnly { .. } => "name another target, or only read it".into(),
            Self::NotToBeMade { .. } => "create it, or set allow_file_create=1".into(),
            Self::NoDirectory { directory, .. } => format!(
                "check the path, and whether its file system is mounted; if the directory is \
                 to be made: mkdir -p {}",
                shell_word(directory)
            ),
            Self::NoRoom { .. } | Self::Full { .. } => {
                "free some space, make the file smaller (size, filesize), or name another directory"
                    .into()
            }
            Self::FillsPool { .. } => {
                "extend the pool, or name a smaller volume or file".into()
            }
            Self::NotAllocated { .. } => {
                "free some space, make the file smaller (size, filesize), or write without \
                 allocating first: fallocate=none"
                    .into()
            }
            Self::LayoutInterrupted { .. } => "run it again".into(),
            Self::CannotPurge { offered, .. } if offered.is_empty() => {
                "wait until it ends, or see dmesg".into()
            }
            Self::CannotPurge { offered, .. } => {
                let names: Vec<&str> = offered.iter().map(|method| method.name()).collect();
                format!("use another one: --purge {}", names.join(", "))
            }
            Self::Beside { error, .. } => error.next_step(),
            Self::Reshaped { .. } => {
                "iodyno list shows its present state; run again to fill it".into()
            }
            Self::Io { name, error, .. } => match Errno::from_io_error(error) {
                Some(Errno::NOENT) if name == RANDOM_SOURCE => {
                    "make the host's devices visible where iodyno runs: mount --bind /dev in a chroot".into()
                }
                Some(Errno::NXIO | Errno::NODEV | Errno::IO) => {
                    "the device may be gone or failing: see dmesg".into()
                }
                Some(Errno::ROFS) => {
                    "its file system is read-only: name a file in it, or another directory".into()
                }
                Some(Errno::NOENT) if std::env::current_dir().is_err() => {
                    "the working directory was removed: cd to one that exists".into()
                }
                Some(Errno::NAMETOOLONG) => "shorten its path or name".into(),
                Some(Errno::LOOP) => "its links lead to each other: name the file itself".into(),
                Some(Errno::NOTDIR) => "a part of its path is a file: check the path".into(),
                Some(Errno::FBIG) => "raise `ulimit -f`, or make the file smaller".into(),
                Some(Errno::DQUOT) => "raise the quota, or name another directory".into(),
                _ => "see dmesg, and repeat".into(),
            },
        }
    }
}

/// Returns the words of the command line as typed, the program first; invalid UTF-8 is replaced.
pub fn command_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|typed| typed.to_string_lossy().into_owned())
}

/// Returns what helps where a permission is missing: the command line as root, or for root itself
/// what refuses it.
pub fn permission_step() -> String {
    match rustix::process::geteuid().is_root() {
        true => {
            "the kernel refuses it to root too: container device rules, an immutable file (lsattr) \
             or a security module"
                .into()
        }
        false => as_root(),
    }
}

/// Returns the command line as typed, to be run as root: `sudo …`, quoted for a shell.
pub(crate) fn as_root() -> String {
    sudo_line(command_words())
}

/// Returns the command line prefixed by sudo. A bare program name becomes the path of the program,
/// since sudo has its own search path.
fn sudo_line(mut arguments: impl Iterator<Item = String>) -> String {
    let typed = arguments.next().unwrap_or_default();
    let program = if typed.contains('/') {
        typed
    } else {
        std::env::current_exe().map_or(typed, |path| path.display().to_string())
    };
    let mut line = format!("sudo {}", shell_word(&program));
    for argument in arguments {
        line.push(' ');
        line.push_str(&shell_word(&argument));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sudo_line_repeats_the_command_line_quoted() {
        let typed = ["target/release/iodyno", "check", "/mnt/a b", "it's", "nvme0", ""];
        assert_eq!(
            sudo_line(typed.into_iter().map(String::from)),
            r"sudo target/release/iodyno check '/mnt/a b' 'it'\''s' nvme0 ''"
        );
        let bare = sudo_line(["iodyno".to_owned()].into_iter());
        // Quoted, if the path of the build contains a blank.
        assert!(bare.starts_with("sudo /") || bare.starts_with("sudo '/"), "{bare}");
    }

    #[test]
    fn a_limit_of_file_sizes_is_named() {
        let error = Errno::FBIG.into();
        let error = TargetError::Io { name: "f".into(), action: "allocate its space", error };
        assert!(error.next_step().contains("ulimit -f"), "{}", error.next_step());
    }
}
