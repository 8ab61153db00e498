//! The guard on real devices. Needs root, losetup, addpart, mkfs.ext4, mkswap, swapon and mount;
//! fails if one is missing.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

use iodyno_host::{Depth, Live, snapshot};
use iodyno_model::{Host, Use};
use rustix::fs::OFlags;

use crate::loop_devices::{Loop, MIB, Partition, detach, eventually, run, try_to_run, unmount};
use crate::testing::Faked;
use crate::{
    Access, OpenHow, Permission, SyncMode, Target, TargetError, WriteClearance, resolve,
    unmatched_permissions,
};

pub(crate) fn live() -> Host {
    snapshot(&Live::new(), Depth::Quick)
}

pub(crate) fn target(name: &str) -> Target {
    resolve(&live(), name).unwrap().remove(0)
}

/// Everything that a user can type for a device.
pub(crate) fn everything(word: &str) -> Permission {
    Permission {
        allow_write: vec![word.into()],
        discard_data: vec![word.into()],
        ..Permission::default()
    }
}

/// Permission to discard what an iodyno measurement leaves.
pub(crate) fn unmarked(disk: &Loop) -> Permission {
    let word = disk.word();
    Permission {
        allow_write: vec![word.clone()],
        discard_unmarked: vec![word],
        ..Permission::default()
    }
}

pub(crate) fn clear(disk: &Loop, permission: &Permission) -> Result<WriteClearance, TargetError> {
    target(disk.name()).clear_for_writing(&live(), permission)
}

/// Asserts that `clear` fails, and the device's bytes are unchanged.
pub(crate) fn refused(
    disk: &Loop,
    clear: impl FnOnce() -> Result<WriteClearance, TargetError>,
) -> TargetError {
    let before = disk.bytes();
    let error = clear().unwrap_err();
    assert!(disk.bytes() == before, "{error}: and its bytes have changed");
    error
}

/// Asserts that it is in use whatever the user types, in these words.
pub(crate) fn in_use(disk: &Loop, word: &str) {
    let error = refused(disk, || clear(disk, &everything(&disk.word())));
    let is_refused = matches!(error, TargetError::InUse { .. } | TargetError::Claimed { .. });
    assert!(is_refused, "{error}");
    assert!(error.to_string().contains(word), "{error}");
    assert!(error.next_step().contains("no option overrides it"), "{}", error.next_step());
}

/// An ext4 file system without background writes.
fn make_ext4(device: &str) {
    run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,nodiscard", device]);
}

struct Mounted(String);

impl Mounted {
    fn new(device: &str, disk: &Loop) -> Self {
        let at = disk.directory.path().join("mounted");
        fs::create_dir_all(&at).unwrap();
        run("mount", &["-o", "ro,noload", device, at.to_str().unwrap()]);
        Self(at.to_str().unwrap().into())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

fn sys(disk: &Loop, file: &str) -> String {
    format!("/sys/devices/virtual/block/{}/{file}", disk.name())
}

#[test]
#[ignore = "needs root"]
fn a_device_that_was_not_named_is_refused_with_the_word_to_type() {
    let disk = Loop::new(8 * MIB);
    let name = disk.name();
    let error = refused(&disk, || clear(&disk, &Permission::default()));
    assert_eq!(error.to_string(), format!("{name}: writing not allowed"));
    let word = format!("{name}:8M");
    assert_eq!(error.next_step(), format!("if all data on it may be lost: --allow-write {word}"));
    // Names that change at boot, other sizes, other devices.
    for typed in [name, &disk.device] {
        let error = refused(&disk, || clear(&disk, &everything(typed)));
        assert!(error.to_string().ends_with("change at boot"), "{error}");
        assert!(error.next_step().ends_with(&word));
    }
    for typed in [format!("{name}:9M"), format!("x{word}"), format!("{word}x"), String::new()] {
        let error = refused(&disk, || clear(&disk, &everything(&typed)));
        assert!(matches!(error, TargetError::NotAllowed { typed: None, .. }), "{error}");
    }
    // --allow-write accepts the suggested word; --discard-data alone does not allow writing.
    let discard = Permission { discard_data: vec![word.clone()], ..Permission::default() };
    assert!(matches!(clear(&disk, &discard), Err(TargetError::NotAllowed { .. })));
    clear(&disk, &Permission { allow_write: vec![word], ..Permission::default() }).unwrap();
}

#[test]
#[ignore = "needs root"]
fn a_cleared_device_is_held_and_can_be_written() {
    let disk = Loop::new(8 * MIB);
    let permission = everything(&disk.word());
    let clearance = clear(&disk, &permission).unwrap();
    assert_eq!(clearance.as_read().name(), disk.name());
    assert_eq!(clearance.as_read().size_bytes(), 8 * MIB);
    let flags = |file: &dyn AsFd| rustix::fs::fcntl_getfl(file.as_fd()).unwrap();
    assert_eq!(flags(&clearance) & OFlags::RWMODE, OFlags::RDWR);
    assert_eq!(flags(clearance.as_read()) & OFlags::RWMODE, OFlags::RDONLY);

    // Nobody else can open it exclusively, nor clear it a second time.
    let mine = OFlags::EXCL.bits().cast_signed();
    let open = || fs::OpenOptions::new().write(true).custom_flags(mine).open(&disk.device);
    assert_eq!(open().unwrap_err().raw_os_error(), Some(16));
    make_ext4_fails(&disk.device);
    assert!(matches!(clear(&disk, &permission), Err(TargetError::Claimed { .. })));

    let access = Access::Write(&clearance);
    let how = OpenHow { direct: false, sync: SyncMode::Data, nonblocking: true };
    let write = access.open(how).unwrap();
    let expected = OFlags::RDWR | OFlags::DSYNC | OFlags::NONBLOCK;
    assert_eq!(flags(&write) & (OFlags::RWMODE | OFlags::DSYNC | OFlags::NONBLOCK), expected);
    assert!(!flags(&write).contains(OFlags::DIRECT));
    assert_eq!(rustix::io::pwrite(&write, b"written", 4096).unwrap(), 7);
    rustix::fs::fsync(&write).unwrap();
    assert_eq!(&disk.bytes()[4096..4103], b"written");

    let read = Access::Read(access.read());
    assert!(read.write().is_none() && access.write().is_some());
    let error = access.open_character().unwrap_err();
    assert!(error.to_string().contains("NVMe passthrough"), "{error}");
    let read = read.open(OpenHow::default()).unwrap();
    assert_eq!(flags(&read) & (OFlags::RWMODE | OFlags::DIRECT), OFlags::DIRECT);
    assert!(rustix::io::pwrite(&read, b"x", 0).is_err());
    drop((read, write, clearance));
    eventually("it is not given back", || open().is_ok());
}

fn make_ext4_fails(device: &str) {
    let said = try_to_run("mkfs.ext4", &["-q", device]).unwrap_err();
    assert!(said.contains("in use"), "{said}");
}

#[test]
#[ignore = "needs root"]
fn a_mounted_device_is_refused_and_so_is_the_disk_of_a_mounted_partition() {
    let disk = Loop::with(8 * MIB, &["--partscan"]);
    make_ext4(&disk.device);
    let mounted = Mounted::new(&disk.device, &disk);
    in_use(&disk, "mounted at ");
    drop(mounted);

    // A new one, since a partition of a device with a file system is impossible.
    let disk = Loop::with(8 * MIB, &["--partscan"]);
    let partition = Partition::new(&disk);
    make_ext4(&partition.device());
    let mounted = Mounted::new(&partition.device(), &disk);
    in_use(&disk, &format!("{}p1: mounted at ", disk.name()));
    // Reading stays allowed.
    target(disk.name()).clear_for_reading().unwrap();
    drop(mounted);

    // The partition's file system is unused now: it is listed as data to be lost.
    let allow = Permission { allow_write: vec![disk.word()], ..Permission::default() };
    let error = refused(&disk, || clear(&disk, &allow));
    let line = format!("{}p1: ext2, ext3 or ext4", disk.name());
    assert!(matches!(error, TargetError::HoldsData { .. }), "{error}");
    assert!(error.to_string().contains(&line), "{error}");
    // The partition alone is named by its disk's word and its number.
    let word = format!("{}:8M-part1", disk.name());
    let name = format!("{}p1", disk.name());
    let error = target(&name).clear_for_writing(&live(), &everything(&disk.word())).unwrap_err();
    assert!(error.next_step().contains(&word), "{}", error.next_step());
    let clearance = target(&name).clear_for_writing(&live(), &everything(&word)).unwrap();
    assert_eq!(clearance.as_read().size_bytes(), 4 * MIB);
    drop(clearance);
}

#[test]
#[ignore = "needs root"]
fn a_partition_beside_a_mounted_one_is_free_and_one_that_overlaps_it_is_not() {
    let disk = Loop::with(16 * MIB, &["--partscan"]);
    let partition = Partition::new(&disk);
    run("addpart", &[&disk.device, "2", "12288", "8192"]);
    make_ext4(&partition.device());
    let mounted = Mounted::new(&partition.device(), &disk);
    let name = format!("{}p2", disk.name());
    let permission = everything(&format!("{}-part2", disk.word()).replace("16777216", "16M"));
    let found = std::panic::catch_unwind(|| {
        drop(target(&name).clear_for_writing(&live(), &permission).unwrap());
        let start = sys(&disk, &format!("{name}/start"));
        let source = Faked::new().file(start, "10239\n");
        let error = refused(&disk, || target(&name).clear_with(&source, &live(), &permission));
        assert!(error.to_string().contains("p1: mounted at "), "{error}");
    });
    drop(mounted);
    eventually("delpart", || try_to_run("delpart", &[&disk.device, "2"]).is_ok());
    found.unwrap();
}

#[test]
#[ignore = "needs root"]
fn a_mount_that_only_another_namespace_sees_is_a_use() {
    let disk = Loop::new(8 * MIB);
    make_ext4(&disk.device);
    let at = disk.directory.path().join("theirs");
    fs::create_dir(&at).unwrap();
    let script = "mount -o ro,noload \"$0\" \"$1\" && echo mounted && read line";
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script, &disk.device])
        .arg(&at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test needs unshare");
    let mut line = String::new();
    io::BufRead::read_line(&mut io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
        .unwrap();
    let found = std::panic::catch_unwind(|| in_use(&disk, at.to_str().unwrap()));
    assert_eq!(line, "mounted\n");
    drop(child.stdin.take());
    child.wait().unwrap();
    found.unwrap();
}

#[test]
#[ignore = "needs root"]
fn swap_is_refused() {
    let disk = Loop::new(8 * MIB);
    run("mkswap", &[&disk.device]);
    run("swapon", &["--priority", "0", &disk.device]);
    let found = std::panic::catch_unwind(|| in_use(&disk, ": swap"));
    run("swapoff", &[&disk.device]);
    found.unwrap();
    // Disabled swap is only data.
    let allow = Permission { allow_write: vec![disk.word()], ..Permission::default() };
    let error = refused(&disk, || clear(&disk, &allow));
    assert!(error.to_string().contains("swap space (at 0xff6)"), "{error}");
}

#[test]
#[ignore = "needs root"]
fn a_loop_device_on_it_and_what_is_under_a_loop_device_are_uses() {
    let disk = Loop::new(8 * MIB);
    let on_top = run("losetup", &["--find", "--show", &disk.device]);
    let found = std::panic::catch_unwind(|| {
        in_use(&disk, &format!("backs {}", on_top.strip_prefix("/dev/").unwrap()));
        // The upper one can be written, unless the lower one is in use.
        let name = on_top.strip_prefix("/dev/").unwrap();
        let permission = everything(&format!("{name}:8M"));
        let upper = || target(name).clear_for_writing(&live(), &permission);
        eventually("the upper loop device is free", || upper().is_ok());
        make_ext4(&disk.device);
        let mounted = Mounted::new(&disk.device, &disk);
        let error = refused(&disk, upper);
        assert!(error.to_string().contains(&format!("{}: mounted at", disk.name())), "{error}");
        drop(mounted);
    });
    detach(&on_top);
    found.unwrap();
}

/// A process that has a file open until dropped.
pub(crate) struct Holder(Child);

impl Holder {
    pub(crate) fn of(path: &str) -> Self {
        let file = fs::File::open(path).unwrap();
        Self(Command::new("sleep").arg("1000").stdin(file).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs root"]
fn a_process_that_has_it_open_is_a_use() {
    let disk = Loop::with(8 * MIB, &["--partscan"]);
    let partition = Partition::new(&disk);
    let holder = Holder::of(&partition.device());
    in_use(&disk, &format!("{}p1: open by sleep ({})", disk.name(), holder.0.id()));
    drop(holder);

    // The disk of a partition, too.
    let name = format!("{}p1", disk.name());
    let permission = everything(&format!("{}:8M-part1", disk.name()));
    let partly = || target(&name).clear_for_writing(&live(), &permission);
    eventually("the partition is free", || partly().is_ok());
    let holder = Holder::of(&disk.device);
    let error = refused(&disk, partly);
    assert!(error.to_string().contains(&format!("{}: open by sleep", disk.name())), "{error}");
    drop(holder);
    eventually("it is free again", || clear(&disk, &everything(&disk.word())).is_ok());
}

#[test]
#[ignore = "needs root"]
fn what_the_kernel_says_stands_on_it_is_a_use() {
    // This machine may have no device mapper, md or btrfs: simulated kernel files report them.
    let disk = Loop::new(8 * MIB);
    let cases = [
        (Faked::new().folder(sys(&disk, "holders"), &["dm-0"]), "dm-0"),
        (Faked::new().folder(sys(&disk, "holders"), &["md127"]), "md127"),
        (
            Faked::new()
                .folder("/sys/fs/btrfs".into(), &["0f1e"])
                .folder("/sys/fs/btrfs/0f1e/devices".into(), &[disk.name()]),
            "member of btrfs 0f1e",
        ),
        (
            Faked::new().file(
                "/proc/1/mountinfo".into(),
                &format!("36 35 {} / /theirs rw - ext4 /dev/x rw\n", number(&disk)),
            ),
            "mounted at /theirs",
        ),
        (
            Faked::new().file(
                "/proc/self/mountinfo".into(),
                &format!("1 0 0:31 / / rw - btrfs {} rw\n", disk.device),
            ),
            "mounted at /",
        ),
    ];
    let permission = everything(&disk.word());
    for (source, expected) in &cases {
        let target = target(disk.name());
        let error = refused(&disk, || target.clear_with(source, &live(), &permission));
        assert!(matches!(error, TargetError::InUse { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    // Uses in the old snapshot count as well, except those that are checked anyway.
    let mut host = live();
    let device = host.blocks.iter_mut().find(|block| block.name == disk.name()).unwrap();
    device.used_by.push(Use::Signature("ext4".into()));
    device.used_by.push(Use::OpenBy { pid: 1, command: "udevd".into() });
    let clear = || target(disk.name()).clear_for_writing(&host, &permission).map(|_| ());
    eventually("what is no use is no hindrance", || clear().is_ok());
    let device = host.blocks.iter_mut().find(|block| block.name == disk.name()).unwrap();
    device.used_by.push(Use::HeldBy("dm-7".into()));
    let error = refused(&disk, || target(disk.name()).clear_for_writing(&host, &permission));
    assert!(error.to_string().ends_with("dm-7"), "{error}");
}

fn number(disk: &Loop) -> String {
    fs::read_to_string(sys(disk, "dev")).unwrap().trim().to_owned()
}

#[test]
#[ignore = "needs root"]
fn what_appears_after_resolving_or_while_it_is_opened_is_seen() {
    let disk = Loop::new(8 * MIB);
    make_ext4(&disk.device);
    let (host, permission) = (live(), everything(&disk.word()));
    let resolved = target(disk.name());
    let mounted = Mounted::new(&disk.device, &disk);
    let error = refused(&disk, || resolved.clear_for_writing(&host, &permission));
    assert!(error.to_string().contains("mounted at"), "{error}");
    drop(mounted);

    let mut late = Faked::new().folder(sys(&disk, "holders"), &["dm-0"]);
    late.later = true;
    let error = refused(&disk, || resolved.clear_with(&late, &host, &permission));
    assert!(error.to_string().contains("dm-0"), "{error}");
    assert_eq!(late.snapshots.load(Ordering::Relaxed), 2);

    // Another device has its number now: of another size.
    let image = disk.directory.path().join("image");
    fs::OpenOptions::new().write(true).open(image).unwrap().set_len(16 * MIB).unwrap();
    run("losetup", &["--set-capacity", &disk.device]);
    let error = refused(&disk, || resolved.clear_for_writing(&host, &permission));
    assert!(matches!(error, TargetError::Changed { .. }), "{error}");
}

#[test]
#[ignore = "needs root"]
fn stale_data_is_listed_and_has_to_be_discarded() {
    let disk = Loop::new(8 * MIB);
    make_ext4(&disk.device);
    let allow = Permission { allow_write: vec![disk.word()], ..Permission::default() };
    let error = refused(&disk, || clear(&disk, &allow));
    assert!(matches!(error, TargetError::HoldsData { .. }), "{error}");
    assert!(error.to_string().ends_with("destroys: ext2, ext3 or ext4 (at 0x438)"), "{error}");
    assert_eq!(error.next_step(), format!("if it may be lost: --discard-data {}", disk.word()));
    let lost = target(disk.name()).data_at_risk(&live());
    assert_eq!(lost, ["ext2, ext3 or ext4 (at 0x438)"]);
    let error = refused(&disk, || clear(&disk, &unmarked(&disk)));
    assert!(matches!(error, TargetError::HoldsData { .. }), "{error}");
    // Both words at once if none was typed.
    let error = refused(&disk, || clear(&disk, &Permission::default()));
    assert!(error.next_step().contains("--allow-write"), "{}", error.next_step());
    assert!(error.next_step().contains(" --discard-data"), "{}", error.next_step());
    clear(&disk, &everything(&disk.word())).unwrap();

    // Data without a signature.
    let disk = Loop::new(8 * MIB);
    let image = disk.directory.path().join("image");
    let file = fs::OpenOptions::new().write(true).open(image).unwrap();
    file.write_all_at(&b"somebody's records\n".repeat(100), 5000).unwrap();
    let allow = Permission { allow_write: vec![disk.word()], ..Permission::default() };
    let error = refused(&disk, || clear(&disk, &allow));
    let said = "1 of 2048 sampled blocks holds unknown data";
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
#[ignore = "needs root"]
fn a_read_only_device_is_refused() {
    let disk = Loop::with(8 * MIB, &["--read-only"]);
    let error = refused(&disk, || clear(&disk, &everything(&disk.word())));
    assert!(matches!(error, TargetError::ReadOnly { .. }), "{error}");

    // A partition of it.
    let disk = Loop::new(8 * MIB);
    let part = Partition::new(&disk);
    clear(&disk, &everything(&disk.word())).unwrap();
    run("blockdev", &["--setro", &part.device()]);
    let error = refused(&disk, || clear(&disk, &everything(&disk.word())));
    let its_own = format!("{}p1", disk.name());
    assert!(matches!(&error, TargetError::ReadOnly { name, .. } if *name == its_own), "{error}");
}

#[test]
#[ignore = "needs root"]
fn a_permission_word_that_names_nothing_is_reported() {
    let disk = Loop::new(8 * MIB);
    let permission = Permission {
        allow_write: vec![disk.word(), "S4EWNX0N123456".into()],
        discard_data: vec![format!("{}:8M", disk.name()), "S4EWNX0N123456".into(), "x".into()],
        assume_unused: vec![disk.word(), "y".into()],
        ..Permission::default()
    };
    let clearance = clear(&disk, &permission).unwrap();
    assert_eq!(unmatched_permissions(&permission, [&clearance]), ["S4EWNX0N123456", "x", "y"]);
    assert_eq!(unmatched_permissions(&permission, []).len(), 5);
}

#[test]
#[ignore = "needs root"]
fn by_id_links_name_a_device() {
    let disk = Loop::new(8 * MIB);
    let (major, minor) = number(&disk).split_once(':').map(|(a, b)| (a.into(), b.into())).unwrap();
    let parse = |text: String| text.parse::<u32>().unwrap();
    let mut source = Faked::new();
    let number = (parse(major), parse(minor));
    source.numbers.insert("/dev/disk/by-id/nvme-A_Drive_S1".into(), number);
    let clear = |word: &str| {
        target(disk.name()).clear_with(&source, &live(), &everything(word)).map(|_| ())
    };
    clear("nvme-A_Drive_S1").unwrap();
    eventually("free", || clear("/dev/disk/by-id/nvme-A_Drive_S1").is_ok());
    for word in ["nvme-A_Drive_S2", "../by-id/nvme-A_Drive_S1", "/dev/disk/by-path/x", ".", ".."] {
        assert!(matches!(clear(word), Err(TargetError::NotAllowed { .. })), "{word}");
    }
}
