//! Noise on a real device: an encrypted volume, or a benchmark's data. Needs root and losetup;
//! fails if one is missing.

use std::fs;
use std::os::unix::fs::FileExt;

use crate::guard_tests::{clear, everything, refused, unmarked};
use crate::loop_devices::{Loop, MIB, eventually};
use crate::random::Random;
use crate::{Lost, Permission, TargetError};

#[test]
#[ignore = "needs root"]
fn noise_has_to_be_discarded_unless_a_benchmark_left_it() {
    let disk = Loop::new(8 * MIB);
    let write = |bytes: &[u8], offset| {
        let image = fs::OpenOptions::new().write(true).open(disk.directory.path().join("image"));
        image.unwrap().write_all_at(bytes, offset).unwrap();
    };
    // A closed volume of plain dm-crypt: no header, noise where it was written.
    let mut noise = vec![0; 4096];
    Random::new(11).fill(&mut noise);
    write(&noise, 3 << 20);
    let allow = Permission { allow_write: vec![disk.word()], ..Permission::default() };
    let error = refused(&disk, || clear(&disk, &allow));
    let lost = Lost::Unknown { blocks: 1, sampled: 2048, offset: 3 << 20 };
    assert!(matches!(&error, TargetError::HoldsData { lost: found, .. } if *found == [lost]));
    assert_eq!(error.next_step(), format!("if it may be lost: --discard-data {}", disk.word()));
    clear(&disk, &everything(&disk.word())).unwrap();
    clear(&disk, &unmarked(&disk)).unwrap();

    // Sectors that contain their offset are a benchmark's.
    for (n, sector) in noise.chunks_mut(512).enumerate() {
        sector[64..72].copy_from_slice(&((3 << 20) + 512 * n as u64).to_le_bytes());
    }
    write(&noise, 3 << 20);
    eventually("test data is nothing to lose", || clear(&disk, &allow).is_ok());
}
