//! Loop devices over files of their own, for tests. Needs root and losetup.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use iodyno_host::{Depth, Live, snapshot};
use iodyno_model::{Host, Mark};
use iodyno_target::{Permission, Target, resolve};

use super::drive::Drive;
use super::undo::{Witness, command, output_of};
use crate::error::CampaignError;
use crate::undone::Outcome;

pub(crate) const MIB: usize = 1 << 20;
pub(crate) const MARK: Mark = Mark(0x9911_2233_4455_6677_8899_aabb_ccdd_eeff);
pub(crate) const LABEL: &str = "iodyno-99112";

/// A loop device over a file of its own; needs root.
pub(crate) struct Disk {
    file: tempfile::NamedTempFile,
    pub(crate) device: String,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(16 * MIB as u64).unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let said = output_of(&command("losetup", &["--find", "--show", &path]), &[0]).unwrap();
        Self { file, device: said.trim().to_owned() }
    }

    /// Disk with these bytes at its beginning.
    pub(crate) fn with(bytes: &[u8]) -> Self {
        let disk = Self::new();
        disk.write(bytes, 0);
        disk
    }

    pub(crate) fn with_ext4(uuid: &str, label: &str) -> Self {
        let disk = Self::new();
        let words = ["-q", "-F", "-U", uuid, "-L", label, &disk.device];
        output_of(&command("mkfs.ext4", &words), &[0]).unwrap();
        disk
    }

    /// Disk as left by a layout.
    pub(crate) fn ours() -> Self {
        Self::with_ext4(&MARK.uuid(), LABEL)
    }

    /// Adds a partition table (MBR) with one partition.
    pub(crate) fn divided(self) -> Self {
        let mut table = [0; 66];
        table[4] = 0x83;
        table[8..12].copy_from_slice(&2048_u32.to_le_bytes());
        table[12..16].copy_from_slice(&8192_u32.to_le_bytes());
        table[64..].copy_from_slice(&[0x55, 0xaa]);
        self.write(&table, 446);
        self
    }

    /// Takes it as a layout does.
    pub(crate) fn stamped(self) -> Self {
        let (host, target) = self.resolved();
        let words = vec![target.permission_word(&host).unwrap()];
        let permission =
            Permission { allow_write: words.clone(), discard_data: words, ..Permission::default() };
        iodyno_target::stamp(&target.clear_for_writing(&host, &permission).unwrap(), MARK).unwrap();
        self
    }

    pub(crate) fn resolved(&self) -> (Host, Target) {
        let host = snapshot(&Live::new(), Depth::Quick);
        let target = resolve(&host, &self.device).unwrap().remove(0);
        (host, target)
    }

    pub(crate) fn asked_back(&self, witness: Witness) -> Result<Outcome, CampaignError> {
        let (host, target) = self.resolved();
        let word = target.permission_word(&host).unwrap();
        Drive { device: &self.device, word: &word, mark: Some(MARK) }.give_back(witness)
    }

    pub(crate) fn given_back_by(&self, witness: Witness) -> Outcome {
        self.asked_back(witness).unwrap()
    }

    pub(crate) fn given_back(&self) -> Outcome {
        self.given_back_by(Witness::Journal)
    }

    /// Overwrites a part.
    pub(crate) fn write(&self, bytes: &[u8], offset: u64) {
        let device = OpenOptions::new().write(true).open(&self.device).unwrap();
        device.write_all_at(bytes, offset).unwrap();
        device.sync_all().unwrap();
    }

    /// All its bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.file.path()).unwrap()
    }

    pub(crate) fn is_empty(&self) -> bool {
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

/// Random bytes, as on an encrypted disk.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}

/// Test data as measurements write it: each sector begins with its offset.
pub(crate) fn test_data(length: usize) -> Vec<u8> {
    let mut bytes = noise(length);
    for (n, sector) in bytes.chunks_mut(512).enumerate() {
        sector[..8].copy_from_slice(&(n as u64 * 512).to_le_bytes());
    }
    bytes
}
