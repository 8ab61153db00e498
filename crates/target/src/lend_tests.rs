//! Lending real devices to real programs.

use std::io::Read;
use std::process::{Command, Stdio};

use iodyno_host::{Depth, Live, snapshot};
use iodyno_model::Host;
use rustix::fs::{Mode, OFlags};

use crate::lend::lend;
use crate::loop_devices::{Loop, MIB, eventually, try_to_run};
use crate::{Permission, Target, TargetError, WriteClearance, resolve};

fn live() -> Host {
    snapshot(&Live::new(), Depth::Quick)
}

fn permission(disk: &Loop) -> Permission {
    Permission {
        allow_write: vec![disk.word()],
        discard_data: vec![disk.word()],
        ..Permission::default()
    }
}

fn cleared(disk: &Loop) -> (Target, WriteClearance) {
    let target = resolve(&live(), disk.name()).unwrap().remove(0);
    let clearance = target.clear_for_writing(&live(), &permission(disk)).unwrap();
    (target, clearance)
}

fn format(disk: &Loop) -> Result<String, String> {
    try_to_run("mkfs.ext4", &["-q", "-F", &disk.device])
}

#[test]
#[ignore = "needs root"]
fn a_program_that_rejects_a_held_device_accepts_a_lent_one() {
    let disk = Loop::new(16 * MIB);
    let (target, clearance) = cleared(&disk);
    let refused = format(&disk).unwrap_err();
    assert!(refused.contains("in use"), "{refused}");
    // A process that another test starts has our descriptor for a moment.
    let made = lend(vec![(&target, clearance)], &live(), &permission(&disk), || {
        eventually("mkfs.ext4 is refused what is lent", || format(&disk).is_ok());
    });
    made.unwrap();
    assert_eq!(target.data_at_risk(&live()), ["ext2, ext3 or ext4 (at 0x438)"]);
}

#[test]
#[ignore = "needs root"]
fn a_device_in_use_by_now_is_not_lent() {
    let disk = Loop::new(16 * MIB);
    let (target, clearance) = cleared(&disk);
    let open = std::fs::File::open(&disk.device).unwrap();
    let mut other = Command::new("cat").stdin(open).stdout(Stdio::piped()).spawn().unwrap();
    // It has begun to read, and is blocked until its output is consumed.
    other.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let run = lend(vec![(&target, clearance)], &live(), &permission(&disk), || ());
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(matches!(run, Err(TargetError::InUse { .. })), "{run:?}");
}

#[test]
#[ignore = "needs root"]
fn the_clearance_of_another_device_lends_nothing() {
    let (one, other) = (Loop::new(8 * MIB), Loop::new(8 * MIB));
    let (target, _) = cleared(&one);
    let (_, clearance) = cleared(&other);
    let run = lend(vec![(&target, clearance)], &live(), &permission(&one), || ());
    assert!(matches!(run, Err(TargetError::Changed { .. })), "{run:?}");
    let held = rustix::fs::open(&*one.device, OFlags::RDWR | OFlags::EXCL, Mode::empty());
    assert!(held.is_ok(), "nothing holds what was not cleared");
}
