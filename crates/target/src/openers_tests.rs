//! Uses that are not visible as holder, mount or descriptor of the block device itself. Needs root,
//! losetup and mknod.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::guard_tests::{Holder, clear, everything, live, refused, target};
use crate::loop_devices::{Loop, MIB, eventually, run};
use crate::testing::Faked;
use crate::{BlindSpot, FilePlan, Fill, Permission, TargetError, survey};

/// A node of `kind` (`b`, `c`) with the number of `like`, at another path.
fn node(disk: &Loop, kind: &str, like: &str) -> PathBuf {
    let number = fs::metadata(like).unwrap().rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let path = disk.directory.path().join(format!("node-{kind}-{major}-{minor}"));
    run("mknod", &[path.to_str().unwrap(), kind, &major.to_string(), &minor.to_string()]);
    path
}

/// A shared library of this machine, to be mapped by the dynamic loader, which closes the files it
/// has mapped.
fn library() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let libc = paths.find(|path| path.contains("libc.so")).expect("this test maps a libc");
    Path::new(libc).with_file_name("libdl.so.2")
}

/// A process that has `path` mapped but not open.
struct Mapper(Child);

impl Mapper {
    fn of(path: &Path) -> Self {
        let child = Command::new("sleep").arg("1000").env("LD_PRELOAD", path).spawn().unwrap();
        let maps = format!("/proc/{}/maps", child.id());
        eventually("it is mapped", || {
            fs::read_to_string(&maps).unwrap().contains(path.to_str().unwrap())
        });
        Self(child)
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs root"]
fn a_process_that_has_it_mapped_and_not_open_is_a_use() {
    let disk = Loop::new(8 * MIB);
    fs::write(&disk.device, fs::read(library()).unwrap()).unwrap();
    let mapper = Mapper::of(&node(&disk, "b", &disk.device));
    let error = refused(&disk, || clear(&disk, &everything(&disk.word())));
    let expected = format!("{}: open by sleep ({})", disk.name(), mapper.0.id());
    assert!(error.to_string().contains(&expected), "{error}");
    drop(mapper);
    eventually("it is free again", || clear(&disk, &everything(&disk.word())).is_ok());
}

/// Clears an existing file for writing.
fn file_cleared(path: &Path, permission: &Permission) -> Result<(), TargetError> {
    let plan = FilePlan {
        path: path.into(),
        size_bytes: fs::metadata(path).unwrap().len(),
        create: false,
        fill: Fill::None,
        will_write: true,
        keeps: false,
    };
    let go_on = &mut |_| std::ops::ControlFlow::Continue(());
    survey(vec![plan], &live(), permission)?
        .remove(0)
        .lay_out(&live(), permission, None, go_on)
        .map(drop)
}

fn named(path: &Path) -> Permission {
    Permission { allow_write: vec![path.to_str().unwrap().into()], ..Permission::default() }
}

#[test]
fn a_process_that_has_a_file_mapped_and_not_open_is_a_use() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("library");
    fs::copy(library(), &path).unwrap();
    let mapper = Mapper::of(&path);
    let error = file_cleared(&path, &named(&path)).unwrap_err();
    assert!(error.to_string().contains("open by sleep"), "{error}");
    drop(mapper);
    eventually("it is free again", || file_cleared(&path, &named(&path)).is_ok());
}

#[test]
#[ignore = "needs root"]
fn who_has_the_passthrough_device_of_a_disk_open_uses_it() {
    let disk = Loop::new(8 * MIB);
    // Stands for a generic SCSI device: only the kernel's lists tell whose it is.
    let generic = node(&disk, "c", "/dev/full");
    let folder = format!("/sys/class/block/{}/device/scsi_generic", disk.name());
    let source = Faked::new().file(format!("{folder}/sg9/dev"), "1:7\n").folder(folder, &["sg9"]);
    let cleared = || target(disk.name()).clear_with(&source, &live(), &everything(&disk.word()));
    cleared().unwrap();
    let holder = Holder::of(generic.to_str().unwrap());
    let error = refused(&disk, cleared);
    assert!(error.to_string().contains("sg9: open by sleep"), "{error}");
    drop(holder);
    eventually("it is free again", || cleared().is_ok());

    // A kernel server may pass commands to it as well.
    let passed = format!("{NVMET}/nqn.lab/passthru");
    let source = source
        .folder(NVMET.into(), &["nqn.lab"])
        .file(format!("{passed}/enable"), "1\n")
        .file(format!("{passed}/device_path"), generic.to_str().unwrap());
    let cleared = || target(disk.name()).clear_with(&source, &live(), &everything(&disk.word()));
    let error = refused(&disk, cleared);
    assert!(error.to_string().contains("sg9: exported by nvmet as nqn.lab"), "{error}");
}

const NVMET: &str = "/sys/kernel/config/nvmet/subsystems";
const LIO: &str = "/sys/kernel/config/target/core";

/// A machine whose nvmet exports this path.
fn nvmet(path: &str, enabled: &str) -> Faked {
    let namespace = format!("{NVMET}/nqn.lab/namespaces/7");
    Faked::new()
        .folder(NVMET.into(), &["nqn.lab"])
        .folder(format!("{NVMET}/nqn.lab/namespaces"), &["7"])
        .file(format!("{namespace}/enable"), enabled)
        .file(format!("{namespace}/device_path"), &format!("{path}\n"))
}

/// A machine on which LIO has a device with this state.
fn lio(kind: &str, info: &str) -> Faked {
    let device = format!("{LIO}/{kind}_0/disk");
    Faked::new()
        .folder(LIO.into(), &["alua", &format!("{kind}_0")])
        .folder(format!("{LIO}/{kind}_0"), &["disk", "hba_info"])
        .file(format!("{device}/enable"), "1\n")
        .file(format!("{device}/info"), info)
}

#[test]
#[ignore = "needs root"]
fn a_device_that_the_kernel_serves_to_others_is_in_use() {
    let disk = Loop::new(8 * MIB);
    let elsewhere = node(&disk, "b", &disk.device);
    let link = disk.directory.path().join("by-id");
    std::os::unix::fs::symlink(&disk.device, &link).unwrap();
    let served =
        |source: &Faked| target(disk.name()).clear_with(source, &live(), &everything(&disk.word()));
    for path in [Path::new(&disk.device), &elsewhere, &link] {
        let source = nvmet(path.to_str().unwrap(), "1\n");
        let error = refused(&disk, || served(&source));
        let expected = format!("{}: exported by nvmet as nqn.lab/7", disk.name());
        assert!(error.to_string().contains(&expected), "{error}");
        assert!(matches!(error, TargetError::InUse { .. }));
    }
    served(&nvmet(&disk.device, "0\n")).unwrap();

    let device = &disk.device;
    for (kind, info) in [
        ("iblock", format!("iBlock device: {}  UDEV PATH: {device}  readonly: 0\n", disk.name())),
        (
            "fileio",
            format!("TCM FILEIO ID: 0        File: {device}  Size: 8388608  Mode: O_DSYNC\n"),
        ),
    ] {
        let source = lio(kind, &format!("Status: ACTIVATED  Max Queue Depth: 0\n        {info}"));
        let error = refused(&disk, || served(&source));
        let expected = format!("exported by LIO as {kind}_0/disk");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

/// This machine as seen by a user who may not inspect process 1.
fn unprivileged() -> Faked {
    let mut source = Faked::new();
    source.denied.push("/proc/1/fd".into());
    source
}

#[test]
#[ignore = "needs root"]
fn where_not_all_processes_can_be_looked_at_it_is_asked() {
    let disk = Loop::new(8 * MIB);
    let source = unprivileged();
    let clear =
        |permission: &Permission| target(disk.name()).clear_with(&source, &live(), permission);
    let error = refused(&disk, || clear(&everything(&disk.word())));
    let blind = vec![BlindSpot::Processes { unreadable: 1 }];
    assert!(matches!(&error, TargetError::NotKnown { blind: found, .. } if *found == blind));
    let asked = format!("--assume-unused {}", disk.word());
    assert!(error.next_step().ends_with(&asked), "{}", error.next_step());

    let assuming =
        |word: &str| Permission { assume_unused: vec![word.into()], ..everything(&disk.word()) };
    assert!(matches!(clear(&assuming("loop:1")), Err(TargetError::NotKnown { .. })));
    clear(&assuming(&disk.word())).unwrap();
    // It covers invisible uses only, not visible ones.
    let holder = Holder::of(&disk.device);
    let error = refused(&disk, || clear(&assuming(&disk.word())));
    assert!(matches!(error, TargetError::InUse { .. }), "{error}");
    drop(holder);
}

#[test]
#[ignore = "needs root"]
fn an_export_that_cannot_be_found_or_read_is_asked_for() {
    let disk = Loop::new(8 * MIB);
    let blind = |source: &Faked| {
        let clear = || target(disk.name()).clear_with(source, &live(), &everything(&disk.word()));
        match refused(&disk, clear) {
            TargetError::NotKnown { blind, .. } => blind,
            error => panic!("{error}"),
        }
    };
    let gone = BlindSpot::ExportGone { by: "nvmet as nqn.lab/7".into(), path: "/dev/none".into() };
    assert_eq!(blind(&nvmet("/dev/none", "1\n")), [gone]);
    let folder = "/sys/kernel/config/nvmet".to_owned();
    let unmounted = Faked::new().folder("/sys/module/nvmet".into(), &["holders"]);
    assert_eq!(blind(&unmounted), [BlindSpot::Exports { folder }]);
}

#[test]
#[ignore = "needs root"]
fn a_file_is_served_or_asked_for_like_a_device() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    fs::write(&path, vec![7; 1 << 20]).unwrap();
    let cleared = |source: &Faked, permission: &Permission| {
        target(path.to_str().unwrap()).clear_with(source, &live(), permission).map(|_| ())
    };
    let served = nvmet(path.to_str().unwrap(), "1\n");
    let error = cleared(&served, &named(&path)).unwrap_err();
    assert!(error.to_string().contains("exported by nvmet as nqn.lab/7"), "{error}");

    // The kernel itself reports that nobody has it open.
    let theirs = || chown(&path, Some(65534), None).unwrap();
    let open_to_others = fs::Permissions::from_mode(0o666);
    eventually("it is known", || cleared(&unprivileged(), &named(&path)).is_ok());
    // Somebody has it open, and is invisible.
    let holder = Holder::of(path.to_str().unwrap());
    let blind = || {
        let mut source = unprivileged();
        source.denied.push(format!("/proc/{}/fd", holder.id()));
        source.denied.push(format!("/proc/{}/task", holder.id()));
        source
    };
    let assuming = Permission { assume_unused: named(&path).allow_write, ..named(&path) };
    let asked = || {
        let error = cleared(&blind(), &named(&path)).unwrap_err();
        assert!(matches!(error, TargetError::NotKnown { .. }), "{error}");
        cleared(&blind(), &assuming).unwrap();
    };
    asked();
    // It may be this process, unless others may write it.
    let own = fs::File::open(&path).unwrap();
    cleared(&blind(), &named(&path)).unwrap();
    fs::set_permissions(&path, open_to_others).unwrap();
    asked();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    theirs();
    asked();
    drop(own);
    assert_eq!(fs::read(&path).unwrap(), vec![7; 1 << 20]);
}
