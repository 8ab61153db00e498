//! Facts from the registers of a link's two ends and from the kernel's files.

mod support;

use iodyno_host::{Depth, snapshot};
use iodyno_model::{Aspm, Fact, Host, PcieSeverity};
use support::{DRIVE, Machine, ROOT, config, one_drive};

fn full(machine: &Machine) -> Host {
    snapshot(&machine.open(), Depth::Full)
}

#[test]
fn registers_of_a_link_are_read_at_both_ends() {
    // Device Capabilities 512 bytes, Device Control 256 and reads of 4096, L1.
    let words = [(0x02, 4 << 4 | 2), (0x04, 2), (0x08, 1 << 5 | 5 << 12), (0x10, 2)];
    let machine = one_drive()
        .bytes(&format!("{ROOT}/config"), &config(&words))
        .bytes(&format!("{DRIVE}/config"), &config(&[(0x02, 2), (0x04, 1), (0x08, 0), (0x10, 3)]))
        .file(&format!("{DRIVE}/link/l1_aspm"), "0\n")
        .file(
            &format!("{ROOT}/aer_dev_correctable"),
            "RxErr 3\nBadTLP 0\nBadDLLP 1\nTOTAL_ERR_COR 4\n",
        )
        .file(&format!("{DRIVE}/aer_dev_nonfatal"), "CmpltTO 2\nTOTAL_ERR_NONFATAL 2\n")
        .file(&format!("{DRIVE}/aer_dev_fatal"), "DLP 1\nTOTAL_ERR_FATAL 1\n");
    let host = full(&machine);
    let link = host.link("0000:01:00.0").unwrap();
    assert_eq!(link.port.able_payload_bytes, Fact::Read(512));
    assert_eq!(link.port.max_read_request_bytes, Fact::Read(4096));
    assert_eq!((link.max_payload_bytes(), link.able_payload_bytes()), (128, Some(256)));
    assert_eq!(link.aspm, Fact::Read(Aspm { l0s: true, l1: true }), "the register decides");
    let errors = |errors: &[iodyno_model::PcieError]| {
        errors
            .iter()
            .map(|error| (error.severity, error.kind.clone(), error.count))
            .collect::<Vec<_>>()
    };
    use PcieSeverity::{Correctable, Fatal, Nonfatal};
    assert_eq!(
        errors(&link.port.errors),
        [(Correctable, "RxErr".into(), 3), (Correctable, "BadDLLP".into(), 1)]
    );
    assert_eq!(
        errors(&link.device.errors),
        [(Nonfatal, "CmpltTO".into(), 2), (Fatal, "DLP".into(), 1)]
    );
    assert_eq!(link.device.uncorrectable_errors, Fact::Read(3));

    // The kernel's link power states are readable by everybody.
    let user = machine.bytes(&format!("{DRIVE}/config"), &config(&[])[..64]);
    let host = full(&user);
    let link = host.link("0000:01:00.0").unwrap();
    assert_eq!(link.aspm, Fact::Read(Aspm { l0s: false, l1: false }));
    assert_eq!(link.device.able_payload_bytes, Fact::NeedsRoot);
    assert_eq!(link.able_payload_bytes(), None);
}

#[test]
fn registers_and_kernel_files_agree_on_aspm() {
    let seen = |machine: &Machine| full(machine).link("0000:01:00.0").unwrap().aspm.clone();
    let rest = |l0s, l1| Fact::Read(Aspm { l0s, l1 });
    // Link Control of the port and of the drive; the kernel's combination.
    for (port, drive, l0s, l1) in [
        (0, 0, 0, 0),
        (3, 3, 1, 1),
        (1, 0, 1, 0),
        (0, 1, 1, 0),
        (2, 0, 0, 0),
        (0, 2, 0, 0),
        (2, 3, 1, 1),
    ] {
        let files = one_drive()
            .file(&format!("{DRIVE}/link/l0s_aspm"), &format!("{l0s}\n"))
            .file(&format!("{DRIVE}/link/l1_aspm"), &format!("{l1}\n"));
        let registers = one_drive()
            .bytes(&format!("{ROOT}/config"), &config(&[(0x02, 4 << 4 | 2), (0x10, port)]))
            .bytes(&format!("{DRIVE}/config"), &config(&[(0x02, 2), (0x10, drive)]));
        assert_eq!(seen(&files), rest(l0s == 1, l1 == 1));
        assert_eq!(seen(&registers), seen(&files), "port {port}, drive {drive}");
    }
    // An unsupported state has no file; an unreadable one is not off.
    let only_l0s = || one_drive().file(&format!("{DRIVE}/link/l0s_aspm"), "1\n");
    assert_eq!(seen(&only_l0s()), rest(true, false));
    let hidden = only_l0s()
        .bytes(&format!("{ROOT}/config"), &config(&[])[..64])
        .denied(&format!("{DRIVE}/link/l1_aspm"));
    assert_eq!(seen(&hidden), Fact::NeedsRoot);
    assert_eq!(seen(&one_drive()), Fact::Absent);
}
