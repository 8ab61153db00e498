use std::fs;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use super::*;

type Door = (&'static str, fn(&Path, NameOrigin) -> Result<(), FileError>);

/// Every function that opens or checks a path.
const DOORS: [Door; 5] = [
    ("look", |path, by| look(path, by).map(drop)),
    ("create", |path, by| create(path, by).map(drop)),
    ("append", |path, by| append(path, by).map(drop)),
    ("create_new", |path, _| create_new(path).map(drop)),
    ("write", |path, by| write(path, by, b"written by mistake")),
];

const BOTH: [NameOrigin; 2] = [NameOrigin::User, NameOrigin::Iodyno];

fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} (this test needs root): {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A file system on a loop device.
struct Disk {
    device: String,
    image: PathBuf,
}

impl Disk {
    fn new(folder: &Path) -> Self {
        let image = folder.join("image");
        fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
        let device = tool("losetup", &["--find", "--show", image.to_str().unwrap()]);
        tool("mkfs.ext4", &["-q", &device]);
        tool("sync", &[]);
        Self { device, image }
    }

    fn bytes(&self) -> Vec<u8> {
        tool("sync", &[]);
        fs::read(&self.image).unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        tool("losetup", &["--detach", &self.device]);
    }
}

#[track_caller]
fn refused(path: &Path, by: NameOrigin, expected: Kind) {
    for (name, door) in DOORS.iter().filter(|(name, _)| *name != "create_new") {
        match door(path, by) {
            Err(FileError::NotAFile { kind, .. }) => assert_eq!(kind, expected, "{name} {path:?}"),
            other => panic!("{name} {path:?} {by:?}: {other:?}"),
        }
    }
}

#[test]
#[ignore = "needs root"]
fn a_file_system_on_a_device_survives_every_way_in_by_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path());
    let before = disk.bytes();
    let device = PathBuf::from(&disk.device);
    let [link, again, node] = ["link", "again", "node"].map(|name| folder.path().join(name));
    symlink(&device, &link).unwrap();
    symlink("link", &again).unwrap();
    let minor = disk.device.trim_start_matches("/dev/loop");
    tool("mknod", &[node.to_str().unwrap(), "b", "7", minor]);
    let held = fs::File::open(&device).unwrap();
    let descriptor = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    for path in [device, link, again, node, descriptor] {
        for (name, door) in DOORS {
            for by in BOTH {
                let outcome = door(&path, by);
                assert!(outcome.is_err(), "{name} {path:?} {by:?}");
            }
        }
        let kind = match path.symlink_metadata().unwrap().file_type().is_symlink() {
            true => Kind::SymbolicLink,
            false => Kind::BlockDevice,
        };
        refused(&path, NameOrigin::User, Kind::BlockDevice);
        refused(&path, NameOrigin::Iodyno, kind);
    }
    drop(held);
    assert!(disk.bytes() == before, "the file system was changed");
}

#[test]
fn what_is_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (dangling, to_null, file) = (at("dangling"), at("to-null"), at("file"));
    symlink(at("nothing"), &dangling).unwrap();
    symlink("/dev/null", &to_null).unwrap();
    fs::write(&file, "").unwrap();
    fs::hard_link(&file, at("other")).unwrap();
    tool("mkfifo", &[at("fifo").to_str().unwrap()]);
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for by in BOTH {
        refused(Path::new("/dev/zero"), by, Kind::CharacterDevice);
        refused(Path::new("/dev/loop-control"), by, Kind::CharacterDevice);
        refused(folder.path(), by, Kind::Directory);
        refused(&dangling, by, Kind::SymbolicLink);
        refused(&at("socket"), by, Kind::Socket);
        refused(Path::new("/proc/sys/kernel/hostname"), by, Kind::KernelFile);
        refused(Path::new("/sys/power/state"), by, Kind::KernelFile);
    }
    assert!(!at("nothing").exists(), "a link to nothing is not followed");
    refused(&to_null, NameOrigin::Iodyno, Kind::SymbolicLink);
    refused(Path::new("/dev/null"), NameOrigin::Iodyno, Kind::Stream);
    refused(&at("fifo"), NameOrigin::Iodyno, Kind::Stream);
    refused(&file, NameOrigin::Iodyno, Kind::HardLink);
    for (name, door) in DOORS {
        let error = door(&at("missing/file"), NameOrigin::User).unwrap_err();
        assert!(matches!(error, FileError::NoFolder { .. }), "{name}: {error}");
        let error = door(&file.join("below"), NameOrigin::User).unwrap_err();
        assert!(matches!(error, FileError::NoFolder { .. }), "{name}: {error}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_file_under_a_loop_device_and_a_planted_pipe_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    // From here on the files of loop devices are known, until there is another one.
    fs::write(folder.path().join("plain"), "").unwrap();
    look(&folder.path().join("plain"), NameOrigin::User).unwrap();
    let disk = Disk::new(folder.path());
    let pipe = folder.path().join("pipe");
    tool("mkfifo", &[pipe.to_str().unwrap()]);
    std::os::unix::fs::chown(&pipe, Some(65534), None).unwrap();
    assert_eq!(look(&pipe, NameOrigin::User).unwrap(), There::Stream);
    tool("chmod", &["1777", folder.path().to_str().unwrap()]);
    for by in BOTH {
        refused(&disk.image, by, Kind::LoopFile);
    }
    refused(&pipe, NameOrigin::User, Kind::PlantedPipe);
    assert!(fs::metadata(&disk.image).unwrap().len() > 0);
}

#[test]
fn the_user_may_name_streams_and_links_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link, fifo] = ["file", "link", "fifo"].map(|name| folder.path().join(name));
    fs::write(&file, "what was there before").unwrap();
    symlink(&file, &link).unwrap();
    write(&link, NameOrigin::User, b"new").unwrap();
    append(&link, NameOrigin::User).unwrap().write_all(b", more").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "new, more");
    assert!(link.is_symlink());
    assert!(matches!(look(&file, NameOrigin::Iodyno).unwrap(), There::File(_)));

    for stream in ["/dev/null", "/dev/full"] {
        assert_eq!(look(Path::new(stream), NameOrigin::User).unwrap(), There::Stream);
        assert!(create(Path::new(stream), NameOrigin::User).is_ok());
    }
    tool("mkfifo", &[fifo.to_str().unwrap()]);
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo).unwrap()
    });
    write(&fifo, NameOrigin::User, b"through").unwrap();
    assert_eq!(reader.join().unwrap(), "through");

    let (mut output, input) = std::io::pipe().unwrap();
    let pipe = PathBuf::from(format!("/dev/fd/{}", input.as_raw_fd()));
    write(&pipe, NameOrigin::User, b"piped").unwrap();
    drop(input);
    let mut read = String::new();
    output.read_to_string(&mut read).unwrap();
    assert_eq!(read, "piped");
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn new_files_are_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    assert_eq!(look(&path, NameOrigin::Iodyno).unwrap(), There::Nothing);
    assert!(!path.exists(), "looking makes nothing");
    create_new(&path).unwrap().write_all(b"first").unwrap();
    assert!(matches!(create_new(&path), Err(FileError::Exists { .. })));
    write(&path, NameOrigin::Iodyno, b"2nd").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"2nd");
    append(&folder.path().join("log"), NameOrigin::Iodyno).unwrap();
    assert!(folder.path().join("log").exists());
}

#[test]
fn rename_replaces_a_file_or_creates_one() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, link] = ["a", "b", "link"].map(|name| folder.path().join(name));
    fs::write(&a, "a").unwrap();
    fs::write(&b, "b").unwrap();
    assert!(rename(&a, &b).unwrap());
    assert_eq!((fs::read_to_string(&b).unwrap(), a.exists()), ("a".into(), false));
    assert!(!rename(&a, &b).unwrap() && b.exists());
    assert!(rename(&b, &a).unwrap());
    symlink(&a, &link).unwrap();
    for wrong in [link.as_path(), folder.path(), Path::new("/dev/null")] {
        assert!(rename(&a, wrong).is_err() && rename(wrong, &b).is_err(), "{}", wrong.display());
    }
    assert!(a.exists() && !b.exists() && link.is_symlink());
}

#[test]
#[ignore = "needs root"]
fn on_a_full_disk_the_earlier_content_stays() {
    let folder = tempfile::tempdir().unwrap();
    let run = |program: &str, arguments: &[&str]| {
        tool(program, &[arguments, &[folder.path().to_str().unwrap()]].concat());
    };
    run("mount", &["-t", "tmpfs", "-o", "size=200k", "none"]);
    let path = folder.path().join("result");
    write(&path, NameOrigin::User, &[1; 30_000]).unwrap();
    fs::write(folder.path().join("rest"), [2; 100_000]).unwrap();
    let refused = write(&path, NameOrigin::User, &[3; 150_000]);
    let kept = fs::read(&path).unwrap();
    let shorter = write(&path, NameOrigin::User, &[4; 10_000]);
    let new = fs::read(&path).unwrap();
    run("umount", &[]);
    assert!(matches!(refused, Err(FileError::System { .. })), "{refused:?}");
    assert!(kept == [1; 30_000]);
    assert!(shorter.is_ok() && new == [4; 10_000]);
}
