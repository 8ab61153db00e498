//! Takes down what was built, if it is proven ours.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use iodyno_host::{Depth, Live, MountPoint, mounts, snapshot};
use iodyno_layout::{Command, Names, take_down};
use iodyno_model::{BlockKind, Built, Mark, shell_word};
use iodyno_target::Removed;

use super::drive::{Drive, value_of};
use super::program;
use crate::error::CampaignError;
use crate::undone::Outcome;

/// Time after which a busy device counts as in use.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between attempts.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Witness that something was made here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Witness {
    /// This process, which made it.
    Maker,
    /// A row of a journal, which anybody may have written.
    Journal,
}

/// Existence and owner of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ownership {
    Ours,
    Gone,
    Another(&'static str),
    Unproven,
}

/// Takes it down, if it is there and proven ours.
///
/// # Errors
/// Why it cannot be taken down.
pub(crate) fn undo(built: &Built, witness: Witness) -> Result<Outcome, CampaignError> {
    match built {
        Built::Drive { device, word, mark } => {
            let drive = Drive { device, word, mark: *mark };
            return retry_while_busy(|| drive.give_back(witness));
        }
        Built::BackingFile { path, mark } => return remove_file(path, *mark),
        _ => {}
    }
    let ownership = ownership(built, witness)?;
    if let Built::Mount { at, mark: Some(mark) } = built
        && ownership == Ownership::Gone
        && is_mount_point(at, *mark)
    {
        let _ = std::fs::remove_dir(at);
    }
    let command = take_down(built);
    Ok(match (ownership, command) {
        (Ownership::Ours, Some(command)) => {
            retry_while_busy(|| output_of(&command, &[0]))?;
            if let Built::Mount { at, .. } = built {
                // Fails, as it should, for a directory with anything else in it.
                let _ = std::fs::remove_dir(at);
            }
            Outcome::TakenDown
        }
        (Ownership::Unproven, Some(command)) => Outcome::Unproven { by_hand: command.line() },
        (Ownership::Another(what), _) => Outcome::LeftAlone(what.into()),
        _ => Outcome::Gone,
    })
}

fn ownership(built: &Built, witness: Witness) -> Result<Ownership, CampaignError> {
    Ok(match built {
        Built::Mount { at, mark } => {
            let mounted = mounts(&Live::new()).into_iter().rfind(|mount| mount.mount.at == *at);
            mounted.map_or(Ownership::Gone, |mount| mounted_by(&mount, *mark))
        }
        Built::Mapping { name, mark } => mapped_by(name, *mark),
        Built::Array { device, name, mark } => {
            let detail = command("mdadm", &["--detail", "--export", device]);
            if !Path::new(device).exists() || program::find("mdadm").is_none() {
                return Ok(Ownership::Gone);
            }
            // Status other than 0: there is no array, or no information.
            array_of(&output_of(&detail, &[0, 1, 2, 4])?, name, *mark, witness)
        }
        Built::Drive { .. } | Built::BackingFile { .. } => Ownership::Unproven,
    })
}

fn is_mount_point(at: &str, mark: Mark) -> bool {
    at == Names::mount_point(mark)
}

/// Owner of a mount, by the name of its directory and the file system's UUID.
fn mounted_by(mount: &MountPoint, mark: Option<Mark>) -> Ownership {
    const NOT_OURS: Ownership = Ownership::Another("iodyno mounts nothing there");
    let at = &mount.mount.at;
    let Some(mark) = mark else {
        return match is_earlier(at.strip_prefix("/run/iodyno/")) {
            true => Ownership::Unproven,
            false => NOT_OURS,
        };
    };
    if !is_mount_point(at, mark) {
        return NOT_OURS;
    }
    // A missing device cannot be read; nobody else mounts there.
    match value_of(&device_of(mount), "UUID") {
        Ok(uuid) if !uuid.is_empty() && !mark.is_uuid(&uuid) => {
            Ownership::Another("another file system is mounted there now")
        }
        _ => Ownership::Ours,
    }
}

/// Block device under a mount, by its number if it has its own: the name may have been reused.
fn device_of(mount: &MountPoint) -> String {
    let link = std::fs::read_link(format!("/sys/dev/block/{}:{}", mount.major, mount.minor));
    let name = link.ok().and_then(|path| Some(path.file_name()?.to_str()?.replace('!', "/")));
    name.map_or_else(|| mount.source.clone(), |name| format!("/dev/{name}"))
}

/// Owner of a mapping, by its name, which is unique, and its subsystem.
fn mapped_by(name: &str, mark: Option<Mark>) -> Ownership {
    let host = snapshot(&Live::new(), Depth::Quick);
    let mapped = host.blocks.iter().find_map(|block| match &block.kind {
        BlockKind::DeviceMapper(mapped) if mapped.name == name => Some(mapped),
        _ => None,
    });
    let Some(mapped) = mapped else { return Ownership::Gone };
    let is_of_a_layer = matches!(mapped.owner.as_deref(), Some("LVM" | "CRYPT"));
    match mark {
        Some(mark) if is_of_a_layer && Names::are_of(mark, name) => Ownership::Ours,
        None if is_of_a_layer && name.starts_with("iodyno") => Ownership::Unproven,
        _ => Ownership::Another("not a mapping of iodyno"),
    }
}

/// Owner of an array, by mdadm's output.
fn array_of(detail: &str, name: &str, mark: Option<Mark>, witness: Witness) -> Ownership {
    let uuid = detail.lines().find_map(|line| line.strip_prefix("MD_UUID="));
    let is_named = !name.is_empty() && detail.contains(name);
    // A UUID alone is no proof: anybody can read it and write it into a journal.
    let bears = |mark| {
        let mut names = detail.lines().filter_map(|line| line.strip_prefix("MD_NAME="));
        names.any(|name| Names::is_label(mark, name)) || witness == Witness::Maker
    };
    match (uuid, mark) {
        (Some(uuid), Some(mark)) if mark.is_uuid(uuid) && bears(mark) => Ownership::Ours,
        // mdadm prints no more for an array whose drives are gone.
        (None, Some(_)) if is_named && witness == Witness::Maker => Ownership::Ours,
        (None, Some(_)) if is_named => Ownership::Unproven,
        (_, None) if is_named && name.starts_with("iodyno-") => Ownership::Unproven,
        _ => Ownership::Gone,
    }
}

/// True for a name in the format of earlier versions: five letters.
fn is_earlier(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.len() == 5 && name.bytes().all(|byte| byte.is_ascii_lowercase()))
}

fn remove_file(path: &str, mark: Option<Mark>) -> Result<Outcome, CampaignError> {
    let at = Path::new(path);
    let by_hand = || {
        let path = shell_word(path);
        let loops = format!("losetup --noheadings --output NAME --associated {path}");
        Outcome::Unproven { by_hand: format!("{loops} | xargs -r losetup --detach; rm {path}") }
    };
    let Some(mark) = mark else {
        let name = at.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        return Ok(match name.starts_with("iodyno-") && name.ends_with(".img") {
            _ if at.symlink_metadata().is_err() => Outcome::Gone,
            true => by_hand(),
            false => Outcome::LeftAlone("not a file of iodyno".into()),
        });
    };
    let removed = iodyno_target::remove_backing_file(at, mark);
    Ok(match removed.map_err(CampaignError::Target)? {
        Removed::Yes => Outcome::TakenDown,
        Removed::AlreadyGone => Outcome::Gone,
        Removed::Unproven => by_hand(),
        Removed::NotOurs => Outcome::LeftAlone("not a file of iodyno".into()),
    })
}

/// Retries for a while what may be busy. The kernel closes the files of a ring some time after its
/// process has ended, without notice; udev examines what was just closed.
fn retry_while_busy<T>(attempt: impl Fn() -> Result<T, CampaignError>) -> Result<T, CampaignError> {
    let start = Instant::now();
    loop {
        match attempt() {
            Err(why) if may_be_busy(&why) && start.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(POLL_INTERVAL);
            }
            done => return done,
        }
    }
}

/// True if it may be open elsewhere. A failed program reports no errno.
fn may_be_busy(why: &CampaignError) -> bool {
    match why {
        // Not one that a process has open, or that is mounted: somebody's data may be on it then.
        CampaignError::Target(error) => error.is_claimed(),
        CampaignError::Program { .. } => true,
        _ => false,
    }
}

/// Output of a program; undoing is not interruptible.
pub(super) fn output_of(command: &Command, fine: &[i32]) -> Result<String, CampaignError> {
    program::run(command, fine, &AtomicBool::new(false))
}

pub(super) fn command(program: &'static str, arguments: &[&str]) -> Command {
    Command { program, arguments: arguments.iter().map(|word| (*word).to_owned()).collect() }
}

#[cfg(test)]
mod tests {
    use iodyno_target::TargetError;

    use super::*;

    const MARK: Mark = Mark(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);

    #[test]
    fn a_user_who_can_be_seen_is_not_waited_for() {
        let name = || "nvme0n1".to_owned();
        let used = TargetError::InUse { name: name(), uses: vec!["open by dd (7)".into()] };
        assert!(!may_be_busy(&CampaignError::Target(used)));
        assert!(may_be_busy(&CampaignError::Target(TargetError::Claimed { name: name() })));
    }

    #[test]
    fn array_is_ours_by_its_uuid_and_mark() {
        let ours = "MD_LEVEL=raid0\nMD_UUID=00112233:44556677:8899aabb:ccddeeff\nMD_NAME=any:iodyno-00112\n";
        let other = "MD_UUID=90112233:44556677:8899aabb:ccddeeff\nMD_NAME=any:iodyno-00112\n";
        let silent = "MD_LEVEL=raid0\nMD_DEVNAME=iodyno-00112\n";
        let of = |detail, mark, witness| array_of(detail, "iodyno-00112", mark, witness);
        assert_eq!(of(ours, Some(MARK), Witness::Journal), Ownership::Ours);
        let named_otherwise = ours.replace("iodyno-00112", "home");
        assert_eq!(of(&named_otherwise, Some(MARK), Witness::Journal), Ownership::Gone);
        assert_eq!(of(other, Some(MARK), Witness::Maker), Ownership::Gone);
        assert_eq!(of(silent, Some(MARK), Witness::Maker), Ownership::Ours);
        assert_eq!(of(silent, Some(MARK), Witness::Journal), Ownership::Unproven);
        assert_eq!(of(ours, None, Witness::Journal), Ownership::Unproven);
        assert_eq!(of("", Some(MARK), Witness::Journal), Ownership::Gone);
    }
}
