//! Takes a drive for a layout, and gives it back empty.

use std::sync::atomic::AtomicBool;

use iodyno_host::{Depth, Live, snapshot};
use iodyno_layout::{Names, empty};
use iodyno_model::{Built, Host, Mark};
use iodyno_target::{
    Permission, Target, TargetError, every_drive, is_stamped, lend, resolve, unstamp,
};

use super::program;
use super::undo::{Witness, command, output_of};
use crate::error::CampaignError;
use crate::undone::Outcome;

/// A drive as noted in the journal before it is touched.
pub(super) struct Drive<'b> {
    pub(super) device: &'b str,
    pub(super) word: &'b str,
    pub(super) mark: Option<Mark>,
}

/// Journal entry of a drive; `None` if nothing identifies it for writing, which the guard refuses.
pub(super) fn taken(target: &Target, host: &Host, names: &Names) -> Option<Built> {
    Some(Built::Drive {
        device: path_of(target),
        word: target.permission_word(host)?,
        mark: Some(names.mark),
    })
}

/// Discards the blocks of a drive, if supported.
pub(super) fn discard(host: &Host, target: &Target) -> Result<(), CampaignError> {
    let [discarding, _] = empty(&path_of(target));
    if takes_discards(host, target) {
        // Not interrupted: a drive is not left half discarded.
        program::run(&discarding, &[0], &AtomicBool::new(false))?;
    }
    Ok(())
}

impl Drive<'_> {
    /// Empties it, if it is there and its content is proven ours, by the mark of what was built on
    /// it or by that of the drive itself. Its maker needs no mark: measurements may have
    /// overwritten it.
    ///
    /// # Errors
    /// Why it cannot be emptied.
    pub(super) fn give_back(&self, witness: Witness) -> Result<Outcome, CampaignError> {
        let host = snapshot(&Live::new(), Depth::Quick);
        let named = resolve(&host, self.device).unwrap_or_default();
        let is_it = |target: &Target| target.permission_word(&host).as_deref() == Some(self.word);
        // After a restart it may have another path.
        let Some(target) = named.into_iter().chain(every_drive(&host).0).find(is_it) else {
            return Ok(Outcome::Gone);
        };
        let Some(mark) = self.mark else { return self.unproven(&host, &target) };
        match drive_content(&target, mark)? {
            // Nobody opens it for writing before its mark is lost: udev would examine it on close,
            // and bring up again what the mark describes.
            DriveContent::Layout => {
                let permission = Permission { discard_data: self.words(), ..self.permission() };
                target.verify_for_writing(&host, &permission).map_err(CampaignError::Target)?;
                let [discarding, wiping] = empty(&path_of(&target));
                if takes_discards(&host, &target) {
                    output_of(&discarding, &[0])?;
                }
                output_of(&wiping, &[0])?;
                self.empty(&host, &target, mark, false)?;
                return Ok(Outcome::Emptied);
            }
            DriveContent::Another(what) => {
                return Ok(Outcome::LeftAlone(format!("it holds {what} by now")));
            }
            DriveContent::Stamp => {}
            DriveContent::Nothing if witness == Witness::Maker => {}
            DriveContent::Nothing => return self.unproven(&host, &target),
        }
        self.empty(&host, &target, mark, true)
    }

    fn words(&self) -> Vec<String> {
        vec![self.word.to_owned()]
    }

    /// Permission to write it; `assume_unused` was given when it was taken.
    fn permission(&self) -> Permission {
        Permission {
            allow_write: self.words(),
            assume_unused: self.words(),
            ..Permission::default()
        }
    }

    /// Outcome if nothing proves that its content is ours.
    fn unproven(&self, host: &Host, target: &Target) -> Result<Outcome, CampaignError> {
        // Killed before anything was written to it.
        if target.data_at_risk(host).is_empty() && self.mark.is_some() {
            return Ok(Outcome::Gone);
        }
        let [discarding, wiping] = empty(&path_of(target));
        let by_hand = if takes_discards(host, target) { discarding } else { wiping };
        Ok(Outcome::Unproven { by_hand: by_hand.line() })
    }

    /// Removes the drive's own mark, after emptying it if `discards`. It has no signature: one
    /// would be somebody else's.
    fn empty(
        &self,
        host: &Host,
        target: &Target,
        mark: Mark,
        discards: bool,
    ) -> Result<Outcome, CampaignError> {
        let permission = Permission { discard_unmarked: self.words(), ..self.permission() };
        let clearance = match target.clear_for_writing(host, &permission) {
            Ok(clearance) => clearance,
            Err(error @ TargetError::HoldsData { .. }) => {
                return Ok(Outcome::LeftAlone(error.to_string()));
            }
            Err(error) => return Err(CampaignError::Target(error)),
        };
        let clearance = if discards {
            lend(vec![(target, clearance)], host, &permission, || discard(host, target))
                .map_err(CampaignError::Target)??;
            target.clear_for_writing(host, &permission).map_err(CampaignError::Target)?
        } else {
            clearance
        };
        // The mark goes last: a drive stays provably ours if killed before.
        unstamp(&clearance, mark).map_err(CampaignError::Target)?;
        Ok(Outcome::Emptied)
    }
}

/// Identification found on a drive.
enum DriveContent {
    /// No signature and no mark.
    Nothing,
    /// The mark of the drive itself.
    Stamp,
    /// A part of what was built.
    Layout,
    /// Something else, by blkid's name.
    Another(String),
}

fn drive_content(target: &Target, mark: Mark) -> Result<DriveContent, CampaignError> {
    let device = path_of(target);
    let kind = value_of(&device, "TYPE")?;
    let is_ours = match kind.as_str() {
        "" => {
            let read = target.clear_for_reading().map_err(CampaignError::Target)?;
            let stamped = is_stamped(&read, mark).map_err(CampaignError::Target)?;
            return Ok(if stamped { DriveContent::Stamp } else { DriveContent::Nothing });
        }
        // Its volume group has our name.
        "LVM2_member" => Names::are_of(mark, &group_of(&device)?),
        // A UUID alone is no proof: anybody can read it and write it into a journal.
        _ => {
            mark.is_uuid(&value_of(&device, "UUID")?)
                && Names::is_label(mark, &value_of(&device, "LABEL")?)
        }
    };
    if is_ours && !value_of(&device, "PTTYPE")?.is_empty() {
        // Partitioned since, which leaves the start of file systems intact.
        return Ok(DriveContent::Another("a partition table".into()));
    }
    Ok(if is_ours { DriveContent::Layout } else { DriveContent::Another(kind) })
}

fn path_of(target: &Target) -> String {
    format!("/dev/{}", target.name())
}

fn takes_discards(host: &Host, target: &Target) -> bool {
    let block = host.block(target.name());
    block.and_then(|block| block.queue.discard_max_bytes.value()).is_some_and(|most| most > 0)
}

/// Value that blkid reads of a device, bypassing all caches.
pub(super) fn value_of(device: &str, value: &str) -> Result<String, CampaignError> {
    let probe = command("blkid", &["-p", "-o", "value", "-s", value, device]);
    // Exit status 2: nothing found.
    Ok(output_of(&probe, &[0, 2])?.trim().to_owned())
}

/// Volume group of a device, even if other members of it are missing.
fn group_of(device: &str) -> Result<String, CampaignError> {
    let mut command = iodyno_layout::lvm_command("pvs", &[device.to_owned()]);
    command.arguments.extend(["--noheadings", "--options", "vg_name", device].map(String::from));
    Ok(output_of(&command, &[0, 5])?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Read;
    use std::os::unix::fs::FileExt;
    use std::process::{Command, Stdio};

    use super::*;

    const MIB: usize = 1 << 20;
    const MARK: Mark = Mark(0x9911_2233_4455_6677_8899_aabb_ccdd_eeff);
    const LABEL: &str = "iodyno-99112";

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
            let said = output_of(&command("losetup", &["--find", "--show", &path]), &[0]).unwrap();
            Self { file, device: said.trim().to_owned() }
        }

        /// Disk with these bytes at its beginning.
        fn with(bytes: &[u8]) -> Self {
            let disk = Self::new();
            let device = OpenOptions::new().write(true).open(&disk.device).unwrap();
            device.write_all_at(bytes, 0).unwrap();
            device.sync_all().unwrap();
            disk
        }

        fn with_ext4(uuid: &str, label: &str) -> Self {
            let disk = Self::new();
            let words = ["-q", "-F", "-U", uuid, "-L", label, &disk.device];
            output_of(&command("mkfs.ext4", &words), &[0]).unwrap();
            disk
        }

        /// Disk as left by a layout.
        fn ours() -> Self {
            Self::with_ext4(&MARK.uuid(), LABEL)
        }

        /// Adds a partition table (MBR) with one partition.
        fn divided(self) -> Self {
            let mut table = [0; 66];
            table[4] = 0x83;
            table[8..12].copy_from_slice(&2048_u32.to_le_bytes());
            table[12..16].copy_from_slice(&8192_u32.to_le_bytes());
            table[64..].copy_from_slice(&[0x55, 0xaa]);
            let device = OpenOptions::new().write(true).open(&self.device).unwrap();
            device.write_all_at(&table, 446).unwrap();
            device.sync_all().unwrap();
            self
        }

        /// Takes it as a layout does.
        fn stamped(self) -> Self {
            let (host, target) = self.resolved();
            let words = vec![target.permission_word(&host).unwrap()];
            let permission = Permission {
                allow_write: words.clone(),
                discard_data: words,
                ..Permission::default()
            };
            iodyno_target::stamp(&target.clear_for_writing(&host, &permission).unwrap(), MARK)
                .unwrap();
            self
        }

        fn resolved(&self) -> (Host, Target) {
            let host = snapshot(&Live::new(), Depth::Quick);
            let target = resolve(&host, &self.device).unwrap().remove(0);
            (host, target)
        }

        fn asked_back(&self, witness: Witness) -> Result<Outcome, CampaignError> {
            let (host, target) = self.resolved();
            let word = target.permission_word(&host).unwrap();
            Drive { device: &self.device, word: &word, mark: Some(MARK) }.give_back(witness)
        }

        fn given_back_by(&self, witness: Witness) -> Outcome {
            self.asked_back(witness).unwrap()
        }

        fn given_back(&self) -> Outcome {
            self.given_back_by(Witness::Journal)
        }

        fn is_empty(&self) -> bool {
            let mut bytes = vec![0; MIB];
            self.file.as_file().read_exact_at(&mut bytes, 0).unwrap();
            bytes.iter().all(|byte| *byte == 0)
        }
    }

    impl Drop for Disk {
        fn drop(&mut self) {
            let _ = output_of(&command("losetup", &["--detach", &self.device]), &[0]);
        }
    }

    #[test]
    #[ignore = "needs root"]
    fn own_drives_are_emptied() {
        let ours = Disk::ours();
        assert_eq!((ours.given_back(), ours.is_empty()), (Outcome::Emptied, true));
        // As left by a layout without a signature, with the mark at the end.
        let measured = Disk::new().stamped();
        let device = OpenOptions::new().write(true).open(&measured.device).unwrap();
        device.write_all_at(&b"written, and meant to be lost".repeat(1000), 0).unwrap();
        drop(device);
        assert_eq!((measured.given_back(), measured.is_empty()), (Outcome::Emptied, true));
        // The process that took it knows.
        let known = Disk::with(&b"written over everything".repeat(100));
        assert_eq!(known.given_back_by(Witness::Maker), Outcome::Emptied);
        assert!(known.is_empty());
        // Killed before anything was done with it.
        assert_eq!(Disk::new().given_back(), Outcome::Gone);
    }

    #[test]
    #[ignore = "needs root"]
    fn foreign_drives_are_left_alone() {
        let other = Disk::with_ext4("11112233-4455-6677-8899-aabbccddeeff", LABEL);
        assert!(matches!(other.given_back(), Outcome::LeftAlone(_)), "{}", other.device);
        // A journal that names the UUID of somebody's file system.
        let named = Disk::with_ext4(&MARK.uuid(), "root");
        assert!(matches!(named.given_back(), Outcome::LeftAlone(_)), "{}", named.device);
        let divided = Disk::ours().divided();
        let by_now = Outcome::LeftAlone("it holds a partition table by now".into());
        assert_eq!(divided.given_back(), by_now);
        // Somebody made a file system since, which left the mark at the end.
        let since = Disk::new().stamped();
        output_of(&command("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", &since.device]), &[0])
            .unwrap();
        assert!(matches!(since.given_back(), Outcome::LeftAlone(_)), "{}", since.device);
        // Nothing proves whose it is.
        let unknown = Disk::with(&b"unknown".repeat(1000));
        let outcome = unknown.given_back();
        assert!(
            matches!(&outcome, Outcome::Unproven { by_hand } if by_hand.contains(&unknown.device))
        );
        for disk in [other, named, divided, since, unknown] {
            assert!(!disk.is_empty(), "{}", disk.device);
        }
    }

    #[test]
    #[ignore = "needs root"]
    fn own_drive_in_use_is_not_touched() {
        let used = Disk::ours();
        let open = std::fs::File::open(&used.device).unwrap();
        let mut other = Command::new("cat").stdin(open).stdout(Stdio::piped()).spawn().unwrap();
        // It has begun to read, and blocks until its output is read.
        other.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let refused = used.asked_back(Witness::Journal);
        assert!(
            matches!(&refused, Err(CampaignError::Target(why)) if why.is_held()),
            "{refused:?}"
        );
        assert!(!used.is_empty());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_drive_that_is_gone_is_gone() {
        let drive = Drive { device: "/dev/no0n1", word: "NOBODY", mark: Some(MARK) };
        assert_eq!(drive.give_back(Witness::Journal).unwrap(), Outcome::Gone);
    }
}
