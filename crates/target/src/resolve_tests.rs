use std::fs;
use std::os::unix::fs::symlink;

use iodyno_model::{BlockKind, Bytes, PciFunction};

use super::*;
use crate::testing::{block, drive, host, host_under};

/// Two drives, the first with two namespaces and a partition; a third whose namespace has two
/// paths; one that is dead; one without namespace; one that belongs to a virtual machine.
fn machine() -> Host {
    let mut part = block("nvme0n1p1", 259, 3);
    part.kind = BlockKind::Partition;
    part.stands_on.push("nvme0n1".into());
    let mut host = host(vec![
        block("nvme0n1", 259, 0),
        block("nvme0n2", 259, 1),
        block("nvme1n1", 259, 2),
        part,
        block("nvme2n1", 259, 4),
        block("nvme2c2n1", 259, 5),
        block("nvme2c3n1", 259, 6),
        block("cciss!c0d0", 104, 0),
    ]);
    host.drives = vec![
        drive("nvme0", &["nvme0n1", "nvme0n2"]),
        drive("nvme1", &["nvme1n1"]),
        drive("nvme2", &["nvme2n1"]),
        drive("nvme3", &["nvme2n1"]),
        drive("nvme4", &["nvme4n1"]),
        drive("nvme5", &[]),
    ];
    host.drives[0].address = Fact::Read("0000:01:00.0".into());
    host.drives[4].state = Fact::Read("dead".into());
    host.nvme_functions = vec![PciFunction {
        address: "0000:09:00.0".into(),
        pci_id: "144d:a808".into(),
        driver: Fact::Read("vfio-pci".into()),
        ..PciFunction::default()
    }];
    host
}

fn names(targets: &[Target]) -> Vec<&str> {
    targets.iter().map(Target::name).collect()
}

fn all(host: &Host, given: &[&str]) -> Result<Vec<Target>, TargetError> {
    resolve_all(host, &given.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
}

#[test]
fn a_controller_is_its_namespaces() {
    let host = machine();
    for name in ["nvme0", "0000:01:00.0"] {
        assert_eq!(names(&resolve(&host, name).unwrap()), ["nvme0n1", "nvme0n2"]);
    }
    for (given, found) in [
        ("nvme1n1", "nvme1n1"),
        ("nvme0n1p1", "nvme0n1p1"),
        ("ng1n1", "nvme1n1"),
        // A path of a multipath drive resolves to its head.
        ("nvme2c3n1", "nvme2n1"),
        ("nvme3", "nvme2n1"),
    ] {
        assert_eq!(names(&resolve(&host, given).unwrap()), [found], "{given}");
    }
    let target = resolve(&host, "cciss!c0d0").unwrap().remove(0);
    assert_eq!(target.path(), Path::new("/dev/cciss/c0d0"));
    assert_eq!((target.device(), target.is_directory()), (Some("cciss!c0d0"), false));
    assert_eq!(target.size_bytes(), Some(1 << 30));
}

#[test]
fn a_path_to_a_device_is_known_by_number() {
    // Any character or block device of every Linux would do, but only the null device is sure to
    // exist: it is not storage.
    let error = resolve(&machine(), "/dev/null").unwrap_err();
    assert_eq!(
        error.to_string(),
        "/dev/null is a character device of no NVMe drive, not a block device, file \
         or directory"
    );
}

#[test]
fn obstacles_are_reported() {
    let mut host = machine();
    let error = |host: &Host, name: &str| resolve(host, name).unwrap_err();

    let missing = error(&host, "nvme1n2");
    assert_eq!(missing.to_string(), "nvme1n2: no such device, file or directory");
    assert_eq!(missing.next_step(), "did you mean nvme1n1?");
    assert_eq!(error(&host, "/dev/nvme1n3").next_step(), "did you mean /dev/nvme1n1?");
    let far = error(&host, "/dev/disk/by-id/no-such-thing-at-all").next_step();
    assert!(far.contains("0000:09:00.0 (vfio-pci)"), "{far}");

    let dead = error(&host, "nvme4");
    assert_eq!(dead.to_string(), "nvme4 accepts no I/O: state is dead");
    assert!(matches!(error(&host, "nvme5"), TargetError::NoNamespace { .. }));
    let detached = error(&host, "0000:09:00.0");
    assert_eq!(
        detached.to_string(),
        "0000:09:00.0 has no NVMe controller: it is bound to vfio-pci"
    );

    host.blocks[2].size = Fact::Read(Bytes(0));
    assert!(matches!(error(&host, "nvme1"), TargetError::TooSmall { size: 0, .. }));
}

#[test]
fn a_target_that_is_given_twice_is_named_in_both_spellings() {
    let host = machine();
    let error = all(&host, &["nvme1", "nvme0", "ng0n2"]).unwrap_err();
    assert_eq!(error.to_string(), "nvme0 and ng0n2 are the same target, nvme0n2");
    // Two controllers of one drive.
    assert!(matches!(all(&host, &["nvme2", "nvme3"]), Err(TargetError::GivenTwice { .. })));
    let found = all(&host, &["nvme1", "nvme0"]).unwrap();
    assert_eq!(names(&found), ["nvme1n1", "nvme0n1", "nvme0n2"]);
}

#[test]
fn a_name_of_a_device_and_of_a_file_here_is_refused() {
    let mut host = machine();
    // Of this test alone: the link is in the crate's folder, where all tests run.
    let name = format!("nvme{}", std::process::id());
    host.drives.push(drive(&name, &["nvme1n1"]));
    assert_eq!(names(&all(&host, &[&name]).unwrap()), ["nvme1n1"]);
    symlink("nowhere", &name).unwrap();
    let refused = all(&host, &[&name]);
    fs::remove_file(&name).unwrap();
    let error = refused.unwrap_err();
    assert_eq!(error.to_string(), format!("{name} is both a device and a file here"));
    assert_eq!(error.next_step(), format!("name /dev/{name} or ./{name}"));
}

#[test]
fn every_drive_is_listed_once_or_has_an_error() {
    let (targets, errors) = every_drive(&machine());
    assert_eq!(names(&targets), ["nvme0n1", "nvme0n2", "nvme1n1", "nvme2n1"]);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        ["nvme4 accepts no I/O: state is dead", "nvme5 has no namespace that is a block device"]
    );
}

#[test]
fn files_and_directories_are_known_by_inode_and_have_their_device() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let file = root.join("data");
    fs::write(&file, [1; 4096]).unwrap();
    symlink(&file, root.join("link")).unwrap();
    fs::hard_link(&file, root.join("hard")).unwrap();
    let host = host_under(&root);
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();

    let target = resolve(&host, &path("link")).unwrap().remove(0);
    assert_eq!(target.name(), path("data"));
    assert_eq!((target.device(), target.size_bytes()), (Some("disk0"), Some(4096)));
    assert!(target.file_system().is_some_and(|system| root.starts_with(&system.at)));
    let directory = resolve(&host, root.to_str().unwrap()).unwrap().remove(0);
    assert!(directory.is_directory());
    assert_eq!((directory.device(), directory.size_bytes()), (Some("disk0"), None));

    for other in ["link", "hard", "../x/../data"] {
        let other = match other {
            "../x/../data" => format!("{}/../{}/data", root.display(), {
                root.file_name().unwrap().to_str().unwrap()
            }),
            name => path(name),
        };
        let error = all(&host, &[&path("data"), &other]).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{} and {other} are", path("data"))));
    }
    assert_eq!(all(&host, &[&path("data"), root.to_str().unwrap()]).unwrap().len(), 2);
    assert_eq!(
        resolve(&host, &path("dat")).unwrap_err().next_step(),
        format!("did you mean {}?", path("data"))
    );
}

#[test]
fn a_path_cannot_command_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a\x1b[2Jb");
    fs::write(&path, [1; 4096]).unwrap();
    let host = host_under(dir.path());
    let target = resolve(&host, path.to_str().unwrap()).unwrap().remove(0);
    assert!(target.name().ends_with(r"/a\u{1b}[2Jb"), "{}", target.name());
    assert!(target.clear_for_reading().is_ok());
    let near = dir.path().join("a\x1b[2Jc");
    let step = resolve(&host, near.to_str().unwrap()).unwrap_err().next_step();
    assert!(!step.contains('\x1b'), "{step:?}");
}

#[test]
fn holes_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse");
    fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
    let host = host_under(dir.path());
    let target = resolve(&host, path.to_str().unwrap()).unwrap().remove(0);
    let remarks = target.remarks();
    assert!(
        remarks.iter().any(|remark| remark.to_string().contains("of 64 MiB are allocated")),
        "{remarks:?}"
    );
}

#[test]
fn memory_is_refused() {
    let host = host(Vec::new());
    let error = resolve(&host, "/dev/shm").unwrap_err();
    assert!(error.to_string().contains("it is in memory (tmpfs)"), "{error}");
    // A job may have files there, and gets a caveat.
    let target = resolve_even_in_memory(&host, "/dev/shm").unwrap().remove(0);
    assert!(
        target.remarks()[0].to_string().contains("no storage is measured"),
        "{:?}",
        target.remarks()
    );
    assert!(matches!(resolve(&host, "/proc/self/status"), Err(TargetError::Refused { .. })));
}

#[test]
fn file_systems_without_data_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = resolve(&host(Vec::new()), socket.to_str().unwrap()).unwrap_err();
    assert!(error.to_string().contains("is a socket"), "{error}");
}

#[test]
fn odd_names_are_errors_without_panic() {
    let host = machine();
    for name in ["", "/", "nvme", "ng", "ngn", "nvme0c", "c0n1", "\0", "a\0b", "nvmé0", "//", "."]
    {
        if let Err(error) = resolve(&host, name) {
            assert!(!error.to_string().is_empty() && !error.next_step().is_empty());
        }
    }
    let long = "x".repeat(10_000);
    assert!(resolve(&host, &long).is_err());
}

#[test]
fn paths_of_multipath_drives_have_a_head() {
    assert_eq!(head_of("nvme0c1n2").as_deref(), Some("nvme0n2"));
    for name in ["nvme0n1", "nvme0c0n1p1", "sdc", "nvmec0n1", "nvme0cn1", "nvme0c1n"] {
        assert_eq!(head_of(name), None, "{name}");
    }
}
