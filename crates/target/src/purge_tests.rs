//! The reach of purges, and what forbids them. The last tests need root, losetup, mkfs.ext4 and
//! mount.

use std::fs;
use std::os::unix::fs::MetadataExt;

use iodyno_host::AdminRead;
use iodyno_model::{BlockKind, Fact, Host};

use super::*;
use crate::loop_devices::{Loop, MIB, run, unmount};
use crate::testing::{Faked, block, drive, host};

const FORMAT: u8 = 1 << 1;
const MANAGEMENT: u8 = 1 << 3;

/// An Identify Controller page with these bits.
fn controller(oacs: u8, sanicap: u8, fna: u8) -> Vec<u8> {
    let mut page = vec![0; 4096];
    (page[256], page[328], page[524]) = (oacs, sanicap, fna);
    page
}

/// A list of namespace ids.
fn list(ids: &[u32]) -> Vec<u8> {
    let mut page: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    page.resize(4096, 0);
    page
}

/// A Sanitize Status log: its state, and the time of a block erase.
fn sanitize(state: u8, block_erase_s: u32) -> Vec<u8> {
    let mut page = vec![0; 512];
    page[2] = state;
    page[12..16].copy_from_slice(&block_erase_s.to_le_bytes());
    page[16..20].fill(0xff);
    page
}

/// A drive with two namespaces, which it lists.
fn two() -> Host {
    let names = ["nvme7n1", "nvme7n2"];
    let mut host = host(names.iter().map(|name| block(name, 259, 0)).collect());
    host.drives.push(drive("nvme7", &names));
    number(&mut host);
    host
}

/// Gives each namespace the number in its name.
fn number(host: &mut Host) {
    for namespace in host.drives.iter_mut().flat_map(|drive| &mut drive.namespaces) {
        let nsid = namespace.name.rsplit('n').next().and_then(|nsid| nsid.parse().ok());
        namespace.nsid = Fact::Read(nsid.unwrap());
    }
}

fn faked(page: Vec<u8>, namespaces: &[u32]) -> Faked {
    Faked::new()
        .page("nvme7", AdminRead::IdentifyController, page)
        .page("nvme7", AdminRead::AllocatedNamespaces, list(namespaces))
        .page("nvme7", AdminRead::ActiveNamespaces, list(namespaces))
        .page("nvme7", AdminRead::SanitizeStatus, sanitize(1, 90))
}

fn reached(source: &Faked, host: &Host, method: PurgeMethod) -> Result<Vec<String>, TargetError> {
    let reach = Reach::of(source, host, "nvme7n1", method)?;
    Ok(reach.namespaces.iter().map(|one| one.name.clone()).collect())
}

#[test]
fn a_purge_reaches_what_the_drive_reports() {
    use PurgeMethod::{Format, FormatCrypto, FormatUserErase, SanitizeBlock, SanitizeCrypto};
    let all = [Format, FormatUserErase, FormatCrypto, SanitizeBlock, SanitizeCrypto];
    for (fna, of_all) in [
        (0b100, [false, false, false, true, true]),
        (0b101, [true, true, true, true, true]),
        (0b110, [false, true, true, true, true]),
        (0b111, [true, true, true, true, true]),
    ] {
        for (method, of_all) in all.into_iter().zip(of_all) {
            let source = faked(controller(FORMAT | MANAGEMENT, 0b11, fna), &[1, 2]);
            let expected: &[&str] = if of_all { &["nvme7n1", "nvme7n2"] } else { &["nvme7n1"] };
            assert_eq!(reached(&source, &two(), method).unwrap(), expected, "{fna:b} {method:?}");
        }
    }
}

#[test]
fn an_unsupported_purge_is_refused_with_the_supported_ones() {
    let source = faked(controller(FORMAT, 0b10, 0), &[1, 2]);
    for method in [PurgeMethod::FormatCrypto, PurgeMethod::SanitizeCrypto] {
        let error = reached(&source, &two(), method).unwrap_err();
        assert!(error.to_string().ends_with(&format!("does not offer {}", method.name())));
        let offered = "--purge format, format-user-erase, sanitize-block, discard";
        assert!(error.next_step().ends_with(offered), "{}", error.next_step());
    }
    let source = faked(controller(0, 0, 0b111), &[1, 2]);
    assert!(reached(&source, &two(), PurgeMethod::Format).is_err());
    assert!(reached(&source, &two(), PurgeMethod::SanitizeBlock).is_err());
}

#[test]
fn a_namespace_that_nobody_sees_here_stands_against_it() {
    for oacs in [FORMAT, FORMAT | MANAGEMENT] {
        let source = faked(controller(oacs, 0b11, 0), &[1, 2, 9]);
        let error = reached(&source, &two(), PurgeMethod::SanitizeBlock).unwrap_err();
        assert!(error.to_string().contains("namespace 9"), "{error}");
        // A format of the named one does not reach it.
        assert_eq!(reached(&source, &two(), PurgeMethod::Format).unwrap(), ["nvme7n1"]);
    }
}

#[test]
fn without_multipath_the_other_controllers_device_is_the_same_namespace() {
    let mut host = two();
    host.blocks.push(block("nvme8n1", 259, 0));
    host.blocks.push(block("nvme9n1", 259, 0));
    host.drives.push(drive("nvme8", &["nvme8n1"]));
    host.drives.push(drive("nvme9", &["nvme9n1"]));
    number(&mut host);
    host.drives[0].subsystem_nqn = Fact::Read("nqn.one".into());
    host.drives[1].subsystem_nqn = Fact::Read("nqn.one".into());
    let source = faked(controller(FORMAT, 0b11, 0), &[1, 2]);
    assert_eq!(reached(&source, &host, PurgeMethod::Format).unwrap(), ["nvme7n1", "nvme8n1"]);
    let all = reached(&source, &host, PurgeMethod::SanitizeCrypto).unwrap();
    assert_eq!(all, ["nvme7n1", "nvme7n2", "nvme8n1"]);
}

#[test]
fn a_sanitize_says_how_long_it_takes_and_one_at_a_time_is_enough() {
    let source = faked(controller(FORMAT, 0b11, 0), &[1, 2]);
    let host = two();
    let estimate = |method| Reach::of(&source, &host, "nvme7n1", method).unwrap().estimated_s;
    assert_eq!(estimate(PurgeMethod::SanitizeBlock), Some(90));
    assert_eq!(estimate(PurgeMethod::SanitizeCrypto), None);
    let source = source.page("nvme7", AdminRead::SanitizeStatus, sanitize(2, 90));
    let error = reached(&source, &host, PurgeMethod::SanitizeBlock).unwrap_err();
    assert!(error.to_string().contains("is being sanitized"), "{error}");
}

#[test]
fn only_whole_namespaces_have_such_commands() {
    let mut host = two();
    host.blocks[0].kind = BlockKind::Partition;
    let source = faked(controller(FORMAT, 0b11, 0), &[1, 2]);
    let error = reached(&source, &host, PurgeMethod::Format).unwrap_err();
    assert!(error.to_string().contains("not a whole namespace"), "{error}");
    assert!(Reach::of(&source, &host, "sda", PurgeMethod::Format).is_err());
}

/// Loop devices that pose as the namespaces of one drive.
fn posing(disks: &[&Loop]) -> Host {
    let blocks = disks.iter().map(|disk| {
        let number = fs::metadata(&disk.device).unwrap().rdev();
        let mut block = block(disk.name(), rustix::fs::major(number), rustix::fs::minor(number));
        block.size = Fact::Read(iodyno_model::Bytes(disk.bytes().len() as u64));
        block
    });
    let mut host = host(blocks.collect());
    let names: Vec<&str> = disks.iter().map(|disk| disk.name()).collect();
    let mut drive = drive("nvme7", &names);
    for (nsid, namespace) in (1..).zip(&mut drive.namespaces) {
        namespace.nsid = Fact::Read(nsid);
    }
    host.drives.push(drive);
    host
}

/// Clears a format of all of the drive's namespaces.
fn cleared(disks: &[&Loop], words: &[String]) -> Result<Vec<Purge>, TargetError> {
    cleared_of(controller(FORMAT, 0, 0b1), disks, words, &[])
}

/// As [`cleared`] for a drive with this page, with these assumed to be unused.
fn cleared_of(
    controller: Vec<u8>,
    disks: &[&Loop],
    words: &[String],
    assumed: &[String],
) -> Result<Vec<Purge>, TargetError> {
    let host = posing(disks);
    let mut page = vec![0; 4096];
    page[0] = 1; // NSZE
    let source = faked(controller, &[1, 2])
        .page("nvme7", AdminRead::IdentifyNamespace(1), page.clone())
        .page("nvme7", AdminRead::IdentifyNamespace(2), page);
    let targets: Vec<Target> =
        disks.iter().map(|disk| resolve(&host, disk.name()).unwrap().remove(0)).collect();
    let permission = Permission {
        allow_write: words.to_vec(),
        discard_data: words.to_vec(),
        assume_unused: assumed.to_vec(),
        ..Permission::default()
    };
    clear_with(&source, &targets[..1], &host, &permission, PurgeMethod::Format)
}

#[test]
#[ignore = "needs root"]
fn everything_that_is_reached_is_cleared_and_held() {
    let (first, second) = (Loop::new(8 * MIB), Loop::new(8 * MIB));
    let both = [first.word(), second.word()];
    let unnamed = cleared(&[&first, &second], &both[..1]).unwrap_err();
    assert!(matches!(unnamed, TargetError::Beside { .. }), "{unnamed}");
    assert!(unnamed.next_step().contains(second.name()), "{}", unnamed.next_step());

    let purges = cleared(&[&first, &second], &both).unwrap();
    let names: Vec<&str> = purges[0].reached().map(|one| one.as_read().name()).collect();
    assert_eq!((purges.len(), names), (1, vec![first.name(), second.name()]));
    // Loop devices reject NVMe commands: an error without side effects.
    let error = purges[0].carry_out(&|_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("could not format it"), "{error}");
    let held = cleared(&[&first, &second], &both).unwrap_err();
    assert!(matches!(held, TargetError::Claimed { .. }), "{held}");
}

#[test]
#[ignore = "needs root"]
fn a_namespace_that_only_another_controller_has_is_asked_for() {
    let (first, second) = (Loop::new(8 * MIB), Loop::new(8 * MIB));
    let both = [first.word(), second.word()];
    // Several controllers, and a list of only this one's namespaces.
    let mut page = controller(FORMAT, 0, 0b1);
    page[76] = 0b10;
    let clear = |assumed| cleared_of(page.clone(), &[&first, &second], &both, assumed);
    let error = clear(&[]).unwrap_err();
    assert!(matches!(error, TargetError::NotKnown { .. }), "{error}");
    let asked = format!("--assume-unused {}", first.word());
    assert!(error.next_step().ends_with(&asked), "{}", error.next_step());
    assert!(clear(&both[1..]).is_err());
    assert_eq!(clear(&both[..1]).unwrap().len(), 1);
}

#[test]
#[ignore = "needs root"]
fn another_namespace_in_use_stands_against_it() {
    let (first, second) = (Loop::new(8 * MIB), Loop::new(8 * MIB));
    run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,nodiscard", &second.device]);
    let at = second.directory.path().join("mounted");
    fs::create_dir(&at).unwrap();
    run("mount", &["-o", "ro,noload", &second.device, at.to_str().unwrap()]);
    let before = second.bytes();
    let found = cleared(&[&first, &second], &[first.word(), second.word()]);
    unmount(at.to_str().unwrap());
    let error = found.unwrap_err();
    assert!(error.to_string().contains("mounted at"), "{error}");
    assert!(error.next_step().contains("no option overrides it"), "{}", error.next_step());
    assert!(second.bytes() == before);
}
