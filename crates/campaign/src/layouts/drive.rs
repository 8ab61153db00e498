//! Takes a drive for a layout, and gives it back empty.

use std::sync::atomic::AtomicBool;

use iodyno_host::{Depth, Live, snapshot};
use iodyno_layout::{Names, empty};
use iodyno_model::{Built, Host, Mark};
use iodyno_target::{
    Lost, Permission, Target, TargetError, erase_btrfs_copy, every_drive, has_btrfs_copy,
    is_stamped, lend, resolve, unstamp,
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
    /// Empties it, if it is there and its content is proven ours: by the mark of what was built on
    /// it; or by that of the drive itself, if all else on it is nobody's data, as measurements
    /// leave it. A mark at one end says nothing of the rest: somebody may have made a volume
    /// without a header since. Its maker needs no proof.
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
        let discard_unmarked = match drive_content(&target, mark)? {
            // Nobody opens it for writing before its mark is lost: udev would examine it on close,
            // and bring up again what the mark describes.
            DriveContent::Layout => {
                let permission = Permission { discard_data: self.words(), ..self.permission() };
                target.verify_for_writing(&host, &permission).map_err(CampaignError::Target)?;
                // Verifying waits a moment for a process that only probes it, or so it seemed.
                if !matches!(drive_content(&target, mark)?, DriveContent::Layout) {
                    return self.give_back(witness);
                }
                let [discarding, wiping] = empty(&path_of(&target));
                if takes_discards(&host, &target) {
                    output_of(&discarding, &[0])?;
                }
                // Not discarded, or discarded without effect. While what proves it ours is there.
                if target
                    .clear_for_reading()
                    .and_then(|read| has_btrfs_copy(&read))
                    .map_err(CampaignError::Target)?
                {
                    let clearance = target
                        .clear_for_writing(&host, &permission)
                        .map_err(CampaignError::Target)?;
                    erase_btrfs_copy(&clearance).map_err(CampaignError::Target)?;
                }
                output_of(&wiping, &[0])?;
                return self.empty(&host, &target, mark, self.words(), false);
            }
            DriveContent::Another(what) => {
                return Ok(Outcome::LeftAlone(format!("it holds {what} by now")));
            }
            DriveContent::Stamp | DriveContent::Nothing if witness == Witness::Maker => {
                self.words()
            }
            DriveContent::Stamp => Vec::new(),
            DriveContent::Nothing => return self.unproven(&host, &target),
        };
        self.empty(&host, &target, mark, discard_unmarked, true)
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
        Ok(by_hand(host, target))
    }

    /// Removes the drive's own mark, after emptying it if `discards`. It has no signature: one
    /// would be somebody else's; nor other data, unless `discard_unmarked` names it.
    fn empty(
        &self,
        host: &Host,
        target: &Target,
        mark: Mark,
        discard_unmarked: Vec<String>,
        discards: bool,
    ) -> Result<Outcome, CampaignError> {
        let permission =
            Permission { discard_unmarked, own_marks: vec![mark], ..self.permission() };
        let clearance = match target.clear_for_writing(host, &permission) {
            Ok(clearance) => clearance,
            Err(TargetError::HoldsData { lost, .. }) if lost.iter().all(Lost::is_unknown) => {
                return Ok(by_hand(host, target));
            }
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

/// Outcome for a drive whose content is not proven ours.
fn by_hand(host: &Host, target: &Target) -> Outcome {
    let [discarding, wiping] = empty(&path_of(target));
    let by_hand = if takes_discards(host, target) { discarding } else { wiping };
    Outcome::Unproven { by_hand: by_hand.line() }
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

pub(super) fn path_of(target: &Target) -> String {
    format!("/dev/{}", target.name())
}

pub(super) fn takes_discards(host: &Host, target: &Target) -> bool {
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
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::super::testing::{Disk, LABEL, MARK, MIB, noise, test_data};
    use super::*;

    #[test]
    #[ignore = "needs root"]
    fn own_drives_are_emptied() {
        let ours = Disk::ours();
        assert_eq!((ours.given_back(), ours.is_empty()), (Outcome::Emptied, true));
        // As left by a layout without a signature, with the mark at the end.
        let measured = Disk::new().stamped();
        measured.write(&test_data(2 * MIB), 0);
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
    fn a_volume_without_a_header_that_was_made_since_is_left_alone() {
        // All but one of the marks overwritten, as by filling a new encrypted volume.
        let most = noise(15 * MIB);
        for offset in [0, MIB as u64] {
            let since = Disk::new().stamped();
            since.write(&most, offset);
            let before = since.bytes();
            let outcome = since.given_back();
            assert!(
                matches!(&outcome, Outcome::Unproven { by_hand } if by_hand.contains(&since.device)),
                "{outcome:?}"
            );
            assert!(since.bytes() == before, "{offset}");
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
            matches!(&refused, Err(CampaignError::Target(TargetError::InUse { .. }))),
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
