//! A drive that is given up for layouts: taken, and given back empty.

use std::sync::atomic::AtomicBool;

use iodyno_host::{Depth, Live, snapshot};
use iodyno_layout::{Names, empty};
use iodyno_model::{Built, Host};
use iodyno_store::boot_id;
use iodyno_target::{Permission, Target, TargetError, every_drive, lend, resolve};

use super::program;
use super::undo::{Outcome, asked, command};
use crate::error::CampaignError;

/// A drive as it is written down before it is touched.
pub(super) struct Drive<'b> {
    pub(super) device: &'b str,
    pub(super) word: &'b str,
    pub(super) tag: &'b str,
    pub(super) boot_id: &'b str,
}

/// What is written down of a drive; `None` where nothing names it for writing,
/// which the guard refuses.
pub(super) fn taken(target: &Target, host: &Host, names: &Names) -> Option<Built> {
    Some(Built::Drive {
        device: path_of(target),
        word: target.word_for_writing(host)?,
        tag: names.tag.clone(),
        boot_id: boot_id(),
    })
}

/// Discards the blocks of a drive, where it takes that.
pub(super) fn discard(host: &Host, target: &Target) -> Result<(), CampaignError> {
    let [discarding, _] = empty(&path_of(target));
    if takes_discards(host, target) {
        // What is begun with a drive is brought to its end.
        program::run(&discarding, &[0], &AtomicBool::new(false))?;
    }
    Ok(())
}

impl Drive<'_> {
    /// Empties it, if it is there and what is on it is ours: by its mark, or
    /// without any in the boot in which it was given up.
    ///
    /// # Errors
    /// Why it cannot be emptied.
    pub(super) fn give_back(&self) -> Result<Outcome, String> {
        let host = snapshot(&Live::new(), Depth::Quick);
        let named = resolve(&host, self.device).unwrap_or_default();
        let is_it = |target: &Target| target.word_for_writing(&host).as_deref() == Some(self.word);
        // After a restart it may have another path.
        let Some(target) = named.into_iter().chain(every_drive(&host).0).find(is_it) else {
            return Ok(Outcome::Gone);
        };
        match self.mark(&target)? {
            // Nobody opens it for writing before its mark is lost: udev looks at
            // what is closed then, and would bring up again what the mark says.
            Mark::Ours => {
                let [discarding, wiping] = empty(&path_of(&target));
                if takes_discards(&host, &target) {
                    asked(&discarding, &[0])?;
                }
                asked(&wiping, &[0])?;
                Ok(Outcome::Emptied)
            }
            Mark::Another(what) => Ok(Outcome::LeftAlone(format!("it holds {what} by now"))),
            Mark::None if self.boot_id != boot_id() => Ok(Outcome::LeftAlone(format!(
                "the machine was restarted since, and nothing on it says that it is ours; \
                 blkdiscard {} empties it",
                path_of(&target)
            ))),
            Mark::None => self.give_back_unmarked(&host, &target),
        }
    }

    /// What was measured without a layer, or through dm-crypt, has no mark. A
    /// signature would be somebody else's.
    fn give_back_unmarked(&self, host: &Host, target: &Target) -> Result<Outcome, String> {
        // What could not be known was answered for when it was taken, in this boot.
        let mut permission = Permission {
            allow_write: vec![self.word.to_owned()],
            assume_unused: vec![self.word.to_owned()],
            ..Permission::default()
        };
        let cleared = match target.clear_for_writing(host, &permission) {
            Err(error) if error.is_unmarked_data() => {
                permission.discard_data.push(self.word.to_owned());
                target.clear_for_writing(host, &permission)
            }
            cleared => cleared,
        };
        let clearance = match cleared {
            Ok(clearance) => clearance,
            Err(error @ TargetError::HoldsData { .. }) => {
                return Ok(Outcome::LeftAlone(error.to_string()));
            }
            Err(error) => return Err(error.to_string()),
        };
        lend(vec![(target, clearance)], host, &permission, || discard(host, target))
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        Ok(Outcome::Emptied)
    }

    fn mark(&self, target: &Target) -> Result<Mark, String> {
        let device = path_of(target);
        let kind = value_of(&device, "TYPE")?;
        let name = match kind.as_str() {
            "" => return Ok(Mark::None),
            // It is its group that has a name.
            "LVM2_member" => group_of(&device)?,
            _ => value_of(&device, "LABEL")?,
        };
        let is_ours = name.contains("iodyno") && name.ends_with(self.tag);
        Ok(if is_ours { Mark::Ours } else { Mark::Another(kind) })
    }
}

/// What a drive says that it is.
enum Mark {
    None,
    /// A part of what was built.
    Ours,
    /// Something else, by blkid's name.
    Another(String),
}

fn path_of(target: &Target) -> String {
    format!("/dev/{}", target.name())
}

fn takes_discards(host: &Host, target: &Target) -> bool {
    let block = host.block(target.name());
    block.and_then(|block| block.queue.discard_max_bytes.value()).is_some_and(|most| most > 0)
}

/// What blkid reads of a device, past every cache.
fn value_of(device: &str, value: &str) -> Result<String, String> {
    let probe = command("blkid", &["-p", "-o", "value", "-s", value, device]);
    // 2: there is nothing.
    Ok(asked(&probe, &[0, 2])?.trim().to_owned())
}

/// The volume group that a device belongs to, also where others of it are gone.
fn group_of(device: &str) -> Result<String, String> {
    let mut command = iodyno_layout::lvm_command("pvs", &[device.to_owned()]);
    command.arguments.extend(["--noheadings", "--options", "vg_name", device].map(String::from));
    Ok(asked(&command, &[0, 5])?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;

    use super::*;

    const MIB: usize = 1 << 20;
    const TAG: &str = "qwxyz";

    /// A loop device over a file of its own; needs root.
    struct Disk {
        file: tempfile::NamedTempFile,
        device: String,
    }

    impl Disk {
        fn new() -> Self {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(16 * MIB as u64).unwrap();
            let path = file.path().to_str().unwrap().to_owned();
            let said = asked(&command("losetup", &["--find", "--show", &path]), &[0]).unwrap();
            Self { file, device: said.trim().to_owned() }
        }

        /// One that holds these bytes at its beginning.
        fn with(bytes: &[u8]) -> Self {
            let disk = Self::new();
            let device = OpenOptions::new().write(true).open(&disk.device).unwrap();
            device.write_all_at(bytes, 0).unwrap();
            device.sync_all().unwrap();
            disk
        }

        fn labelled(label: &str) -> Self {
            let disk = Self::new();
            asked(&command("mkfs.ext4", &["-q", "-F", "-L", label, &disk.device]), &[0]).unwrap();
            disk
        }

        fn given_back_in(&self, boot_id: &str) -> Outcome {
            let host = snapshot(&Live::new(), Depth::Quick);
            let target = resolve(&host, &self.device).unwrap().remove(0);
            let word = target.word_for_writing(&host).unwrap();
            let drive = Drive { device: &self.device, word: &word, tag: TAG, boot_id };
            drive.give_back().unwrap()
        }

        fn given_back(&self) -> Outcome {
            self.given_back_in(&boot_id())
        }

        fn is_empty(&self) -> bool {
            let mut bytes = vec![0; MIB];
            self.file.as_file().read_exact_at(&mut bytes, 0).unwrap();
            bytes.iter().all(|byte| *byte == 0)
        }
    }

    impl Drop for Disk {
        fn drop(&mut self) {
            let _ = asked(&command("losetup", &["--detach", &self.device]), &[0]);
        }
    }

    #[test]
    fn what_is_ours_is_emptied() {
        let ours = Disk::labelled(&format!("iodyno-{TAG}"));
        assert_eq!(
            (ours.given_back_in("an earlier one"), ours.is_empty()),
            (Outcome::Emptied, true)
        );
        // What a layout without a mark leaves.
        let measured = Disk::with(&b"written, and meant to be lost".repeat(100));
        assert_eq!((measured.given_back(), measured.is_empty()), (Outcome::Emptied, true));
    }

    #[test]
    fn what_may_be_somebody_elses_is_left_alone() {
        let others = [Disk::labelled("iodyno-other"), Disk::labelled(TAG)];
        for disk in others {
            assert!(matches!(disk.given_back(), Outcome::LeftAlone(_)), "{}", disk.device);
            assert!(!disk.is_empty(), "{}", disk.device);
        }
        // Nothing says whose it is, and the path may be another's by now.
        let restarted = Disk::with(&[7; 4096]);
        assert!(matches!(restarted.given_back_in("an earlier one"), Outcome::LeftAlone(_)));
        assert!(!restarted.is_empty());
    }

    #[test]
    fn a_drive_that_is_gone_is_gone() {
        let drive = Drive { device: "/dev/no0n1", word: "NOBODY", tag: TAG, boot_id: "" };
        assert_eq!(drive.give_back(), Ok(Outcome::Gone));
    }
}
