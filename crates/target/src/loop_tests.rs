//! Real block devices and file systems: loop devices made for the test. Needs root, losetup,
//! mkfs.ext4 and mount; fails if one is missing.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::Path;

use iodyno_host::{Depth, Live, snapshot};
use rustix::fs::OFlags;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::loop_devices::{Ext4, Loop, MIB, eventually, run, unmount};
use crate::testing::host_under;
use crate::{Permission, ScratchFile, ScratchPlan, TargetError, TargetKind, resolve, resolve_all};

#[test]
#[ignore = "needs root"]
fn a_block_device_is_the_same_by_every_name() {
    let disk = Loop::new(8 * MIB);
    let host = disk.host();
    let by_id = disk.directory.path().join("virtual-disk_0001");
    symlink(&disk.device, &by_id).unwrap();
    let names = [disk.name(), disk.device.as_str(), by_id.to_str().unwrap()];

    for name in names {
        let target = resolve(&host, name).unwrap().remove(0);
        assert_eq!((target.name(), target.device()), (disk.name(), Some(disk.name())));
        assert!(target.remarks().iter().any(|remark| remark.to_string().contains("loop device")));
        let clearance = target.clear_for_reading().unwrap();
        assert_eq!(clearance.kind(), &TargetKind::Block { name: disk.name().into() });
        assert_eq!((clearance.size_bytes(), clearance.block_bytes()), (8 * MIB, 512));
        assert!(clearance.direct());
        let flags = rustix::fs::fcntl_getfl(&clearance).unwrap();
        assert_eq!(flags & (OFlags::RWMODE | OFlags::DIRECT), OFlags::RDONLY | OFlags::DIRECT);
    }
    let error = resolve_all(&host, &[names[1].into(), names[2].into()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} and {} are the same target, {}", names[1], names[2], names[0])
    );
}

#[test]
#[ignore = "needs root"]
fn another_device_under_the_same_name_is_not_cleared() {
    let disk = Loop::new(8 * MIB);
    let mut host = disk.host();
    host.blocks[0].minor += 1;
    let target = resolve(&host, disk.name()).unwrap().remove(0);
    assert!(matches!(target.clear_for_reading(), Err(TargetError::Changed { .. })));
    // By path it is a device that the host does not have.
    assert!(matches!(resolve(&host, &disk.device), Err(TargetError::Refused { .. })));
}

#[test]
#[ignore = "needs root"]
fn a_mount_without_a_name_is_a_use_and_its_data_is_not_unused() {
    let mounted = Ext4::new(16 * MIB, "rw");
    let (disk, at) = (&mounted.disk, mounted.at.to_str().unwrap());
    let file = fs::File::create(mounted.at.join("kept")).unwrap();
    run("umount", &["--lazy", at]);
    let host = snapshot(&Live::new(), Depth::Quick);
    let target = resolve(&host, disk.name()).unwrap().remove(0);
    let named = Permission { allow_write: vec![disk.word()], ..Permission::default() };
    let refusal =
        |permission: &Permission| target.clear_for_writing(&host, permission).unwrap_err();
    let unnamed = Permission::default();
    let claimed = [refusal(&named), refusal(&unnamed)];
    drop(file);
    eventually("nobody uses it", || matches!(refusal(&named), TargetError::HoldsData { .. }));
    run("mount", &[&disk.device, at]);
    for error in claimed {
        assert!(matches!(error, TargetError::Claimed { .. }), "{error}");
    }
}

#[test]
fn what_is_refused_to_root_is_not_left_to_sudo() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    fs::write(&path, [0; 4096]).unwrap();
    let host = host_under(dir.path());
    let target = resolve(&host, path.to_str().unwrap()).unwrap().remove(0);
    run("chmod", &["0", path.to_str().unwrap()]);
    // A thread without root's capabilities.
    let error = std::thread::spawn(move || {
        let mut mine = capabilities(None).unwrap();
        mine.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, mine).unwrap();
        target.clear_for_reading().unwrap_err()
    });
    let error = error.join().unwrap();
    assert!(error.to_string().ends_with("secret: no permission to read it"), "{error}");
    let next = error.next_step();
    assert!(next.contains("to root too"), "{next}");
}

#[test]
#[ignore = "needs root"]
fn a_directory_without_space_is_refused_with_the_needed_space() {
    let small = Ext4::new(64 * MIB, "rw");
    let target = small.target();
    assert_eq!(target.device(), Some(small.disk.name()));
    assert_eq!(target.file_system().unwrap().kind, "ext4");
    assert!(target.remarks().is_empty());
    let host = snapshot(&Live::new(), Depth::Quick);
    let error = ScratchPlan::of(&target, &host, 0).unwrap_err();
    assert!(matches!(error, TargetError::NoSpace { .. }));
    assert!(error.to_string().contains("needs 1 GiB free"), "{error}");
}

#[test]
#[ignore = "needs root"]
fn a_disk_that_fills_up_keeps_enough_or_nothing() {
    let small = Ext4::new(64 * MIB, "rw");
    for named in [false, true] {
        let plan =
            |least_bytes| ScratchPlan::unchecked(&small.target(), least_bytes, 1 << 40, named);
        let mut go_on = |_, _| ControlFlow::Continue(());

        let mut scratch = ScratchFile::create(&plan(16 * MIB), &mut go_on).unwrap();
        let size = scratch.size_bytes();
        assert!((16 * MIB..64 * MIB).contains(&size), "{size}");
        assert_eq!(size % (4 * MIB), 0);
        let clearance = scratch.clear_for_reading().unwrap();
        assert_eq!(clearance.kind(), &TargetKind::File { device: Some(small.disk.name().into()) });
        assert!(clearance.direct());
        assert_eq!(small.scratch_files(), usize::from(named));
        scratch.remove().unwrap();
        drop((scratch, clearance));
        eventually("the space is not given back", || free_bytes(&small.at) > 32 * MIB);

        let error = ScratchFile::create(&plan(256 * MIB), &mut go_on).unwrap_err();
        assert!(matches!(error, TargetError::NoSpace { .. }), "{error}");
        assert_eq!(small.scratch_files(), 0);
        eventually("the space is not given back", || free_bytes(&small.at) > 32 * MIB);
    }
}

fn free_bytes(path: &Path) -> u64 {
    let space = rustix::fs::statvfs(path).unwrap();
    space.f_bavail * space.f_frsize
}

#[test]
#[ignore = "needs root"]
fn a_read_only_file_system_takes_no_scratch_file() {
    let small = Ext4::new(64 * MIB, "rw");
    run("mount", &["-o", "remount,ro", small.at.to_str().unwrap()]);
    for named in [false, true] {
        let plan = ScratchPlan::unchecked(&small.target(), MIB, 8 * MIB, named);
        let error = ScratchFile::create(&plan, &mut |_, _| ControlFlow::Continue(())).unwrap_err();
        assert!(error.next_step().contains("read-only"), "{error}: {}", error.next_step());
    }
}

#[test]
#[ignore = "needs root"]
fn a_file_system_without_direct_io_is_reported() {
    let journalled = Ext4::new(64 * MIB, "data=journal");
    let path: &Path = &journalled.at.join("data");
    fs::write(path, vec![1; 65536]).unwrap();
    let host = journalled.disk.host();
    let target = resolve(&host, path.to_str().unwrap()).unwrap().remove(0);
    let clearance = target.clear_for_reading().unwrap();
    assert!(!clearance.direct());
    assert!(clearance.remark().unwrap().to_string().contains("O_DIRECT"));

    let plan = ScratchPlan::unchecked(&journalled.target(), MIB, 8 * MIB, true);
    let scratch = ScratchFile::create(&plan, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert!(!scratch.clear_for_reading().unwrap().direct());
}

#[test]
#[ignore = "needs root"]
fn an_overlay_is_reported_and_its_device_is_not_guessed() {
    let below = Ext4::new(64 * MIB, "rw");
    let directory = |name: &str| {
        let path = below.at.join(name);
        fs::create_dir(&path).unwrap();
        path.display().to_string()
    };
    let (lower, upper, work) = (directory("lower"), directory("upper"), directory("work"));
    let merged = directory("merged");
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    run("mount", &["-t", "overlay", "-o", &options, "overlay", &merged]);
    let found = std::panic::catch_unwind(|| {
        let target = resolve(&below.disk.host(), &merged).unwrap().remove(0);
        let plan = ScratchPlan::unchecked(&target, MIB, 8 * MIB, true);
        let scratch = ScratchFile::create(&plan, &mut |_, _| ControlFlow::Continue(()));
        (target, scratch.map(|scratch| scratch.size_bytes()))
    });
    unmount(&merged);
    let (target, size) = found.unwrap();
    assert_eq!(target.file_system().unwrap().kind, "overlay");
    assert_eq!(target.device(), None);
    assert!(target.remarks()[0].to_string().contains("on overlay"), "{:?}", target.remarks());
    assert_eq!(size.unwrap(), 8 * MIB);
}
