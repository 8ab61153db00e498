//! Snapshot of the lab's captured machine, whose links, identities and pages are known: two Gen4 x4
//! drives behind one Gen4 x4 uplink, one Gen4 x4 drive trained to Gen3 x2, one Gen5 x4 drive.

mod support;

use iodyno_host::{Captured, Source};
use iodyno_host::{Depth, capture, parse_health_log, snapshot, temperature_c};
use iodyno_model::{Bytes, Fact, Host, LinkState, Temperature};
use serde_json::json;
use support::{Machine, Watched, lab_file};

fn lab() -> Captured {
    Captured::open(lab_file()).expect("the fixture is a captured machine")
}

/// The same machine as seen by an unprivileged user.
fn unprivileged() -> Captured {
    let mut machine = Machine::lab();
    for (path, entry) in &mut machine.0 {
        if path.starts_with("/ioctl/") {
            *entry = json!("denied");
        } else if path.ends_with("/config") {
            // Listed files were not read: no port, no drive.
            let Some(hex) = entry["bytes"]["hex"].as_str() else { continue };
            let hex = hex[..hex.len().min(128)].to_owned();
            *entry = json!({ "bytes": { "length": 64, "hex": hex } });
        }
    }
    machine.open()
}

fn pairs(host: &Host) -> Vec<(&str, &str, Option<String>, Option<String>)> {
    let label = |state: Option<LinkState>| state.map(LinkState::label);
    host.links
        .iter()
        .map(|link| {
            let addresses = (link.port.address.as_str(), link.device.address.as_str());
            (addresses.0, addresses.1, label(link.current.value()), label(link.able()))
        })
        .collect()
}

#[test]
fn links_are_the_ones_that_were_built() {
    let both = |label: &str| Some(label.to_owned());
    let expected = [
        ("0000:00:01.0", "0000:01:00.0", both("Gen4 x4"), both("Gen4 x4")),
        ("0000:02:00.0", "0000:03:00.0", both("Gen4 x4"), both("Gen4 x4")),
        ("0000:02:01.0", "0000:04:00.0", both("Gen4 x4"), both("Gen4 x4")),
        ("0000:00:02.0", "0000:05:00.0", both("Gen3 x2"), both("Gen4 x4")),
        ("0000:00:03.0", "0000:06:00.0", both("Gen5 x4"), both("Gen5 x4")),
    ];
    let host = snapshot(&lab(), Depth::Full);
    assert_eq!(pairs(&host), expected);
    let links = |name: &str| host.drive(name).unwrap().links.clone();
    assert_eq!(links("nvme0"), ["0000:01:00.0", "0000:03:00.0"]);
    assert_eq!(links("nvme1"), ["0000:01:00.0", "0000:04:00.0"]);
    assert_eq!(links("nvme2"), ["0000:05:00.0"]);
    // DevCtl and LnkCtl2 as lspci decodes them.
    let degraded = host.link("0000:05:00.0").unwrap();
    assert_eq!(degraded.device.max_payload_bytes, Fact::Read(128));
    assert_eq!(degraded.device.target_generation, Fact::Read(4));
    assert_eq!(degraded.port.correctable_errors, Fact::Read(0));
    // QEMU's drives have no AER capability.
    assert_eq!(degraded.device.correctable_errors, Fact::Absent);

    // Without configuration space the same pairs are found.
    assert_eq!(pairs(&snapshot(&unprivileged(), Depth::Full)), expected);
}

#[test]
fn drives_are_identified() {
    let host = snapshot(&lab(), Depth::Full);
    let models: Vec<_> = host.drives.iter().filter_map(|drive| drive.model.value()).collect();
    assert_eq!(
        models,
        [
            "INTEL SSDPE2KX020T8",
            "Dell Ent NVMe P5600 MU U.2 3.2TB",
            "Samsung SSD 970 EVO 500GB",
            "Dell Ent NVMe PS1030 MU U.2 3.2TB"
        ]
    );
    let drive = host.drive("nvme2").unwrap();
    assert_eq!(drive.serial, Fact::Read("LAB0003".into()));
    assert_eq!(drive.firmware, Fact::Read("2B2QEXE7".into()));
    assert_eq!(drive.address, Fact::Read("0000:05:00.0".into()));
    assert_eq!(drive.numa_node, Fact::Absent);
    assert_eq!(drive.local_cpus, Fact::Read(vec![0, 1]));
    assert_eq!(drive.capacity, Fact::Read(Bytes::gib(2)));
    assert_eq!(
        drive.temperature,
        Fact::Read(Temperature {
            composite_c: 49.85,
            warning_c: Some(69.85),
            critical_c: Some(99.85)
        })
    );
    // nvme id-ctrl: ver 0x10400, mdts 7, wctemp 343, cctemp 373, nn 256, oncs 0x15d, vwc 7.
    let identify = drive.identify.get().unwrap();
    assert_eq!(identify.version, "1.4.0");
    assert_eq!(identify.max_transfer_bytes, Some(512 << 10));
    assert_eq!((identify.warning_temperature_k, identify.critical_temperature_k), (343, 373));
    assert_eq!(identify.namespace_count, 256);
    assert!(identify.volatile_write_cache && identify.supports_trim && !identify.multi_port);
    // nvme id-ns: nsze 0x400000, nlbaf 7, flbas 0, dlfeat 1.
    let namespace = &drive.namespaces[0];
    assert_eq!(namespace.name, "nvme2n1");
    assert_eq!(namespace.size, Fact::Read(Bytes::gib(2)));
    let identify = namespace.identify.get().unwrap();
    assert_eq!((identify.size_blocks, identify.used_blocks), (4 << 20, 4 << 20));
    assert_eq!(identify.formats.len(), 8);
    assert_eq!(identify.format().unwrap().data_bytes, 512);
    assert_eq!((identify.formats[4].data_bytes, identify.formats[5].metadata_bytes), (4096, 8));
    assert_eq!(identify.deallocated_reads_as, Some(0));
    let health = drive.health.get().unwrap();
    assert_eq!((health.temperature_k, health.host_read_bytes), (323, 512_000));
    assert_eq!(host.block("nvme2n1").unwrap().queue.hardware_queues, Fact::Read(2));
}

#[test]
fn a_log_page_is_read_at_the_right_offsets() {
    // Every byte is its own offset; figure 207 gives the fields' offsets.
    let page: Vec<u8> = (0..512).map(|i| i as u8).collect();
    let log = parse_health_log(&page).unwrap();
    let at = |offset: u8| u32::from_le_bytes([offset, offset + 1, offset + 2, offset + 3]);
    assert_eq!((log.critical_warning, log.temperature_k), (0, 0x0201));
    assert_eq!(
        (log.available_spare_percent, log.spare_threshold_percent, log.used_percent),
        (3, 4, 5)
    );
    let low = |value: u128| value as u8;
    assert_eq!(low(log.host_read_commands), 64);
    assert_eq!(low(log.host_write_commands), 80);
    assert_eq!((low(log.power_cycles), low(log.power_on_hours)), (112, 128));
    assert_eq!((low(log.unsafe_shutdowns), low(log.media_errors)), (144, 160));
    assert_eq!(low(log.error_log_entries), 176);
    assert_eq!((log.warning_temperature_min, log.critical_temperature_min), (at(192), at(196)));
    assert_eq!(log.thermal_transitions, [at(216), at(220)]);
    assert_eq!(log.thermal_seconds, [at(224), at(228)]);
    assert!(parse_health_log(&page[..200]).is_none());
}

#[test]
fn facts_for_root_only_say_so() {
    let host = snapshot(&unprivileged(), Depth::Full);
    let drive = host.drive("nvme0").unwrap();
    assert_eq!(drive.identify, Fact::NeedsRoot);
    assert_eq!(drive.health, Fact::NeedsRoot);
    assert_eq!(drive.namespaces[0].identify, Fact::NeedsRoot);
    assert_eq!(drive.model, Fact::Read("INTEL SSDPE2KX020T8".into()));
    assert_eq!(drive.capacity, Fact::Read(Bytes::gib(2)));
    let link = host.link("0000:03:00.0").unwrap();
    assert_eq!(link.device.target_generation, Fact::NeedsRoot);
    assert_eq!(link.port.max_payload_bytes, Fact::NeedsRoot);
}

#[test]
fn a_quick_look_sends_no_command_to_a_drive() {
    let source = Watched::new(lab());
    let host = snapshot(&source, Depth::Quick);
    assert_eq!(source.commands.lock().unwrap().as_slice(), [""; 0]);
    // The kernel asks the drive when its temperature is read.
    let reads = source.reads.lock().unwrap();
    assert!(!reads.iter().any(|path| path.contains("hwmon")), "{reads:?}");
    assert_eq!(pairs(&host), pairs(&snapshot(&lab(), Depth::Full)));
    assert_eq!(temperature_c(&source.source, "nvme3"), Some(49.85));
    assert_eq!(temperature_c(&source.source, "nvme9"), None);
}

#[test]
fn every_file_is_read_once() {
    let source = Watched::new(lab());
    let start = std::time::Instant::now();
    snapshot(&source, Depth::Full);
    let elapsed = start.elapsed();
    let mut reads = source.reads.into_inner().unwrap();
    reads.sort();
    // Except a drive's model, which is its block device's as well.
    let twice: Vec<_> = reads
        .windows(2)
        .filter(|pair| pair[0] == pair[1] && !pair[0].ends_with("/model"))
        .collect();
    assert!(twice.is_empty(), "{twice:?} ({} reads in {elapsed:?})", reads.len());
    // `list` has 50 ms per machine: about 60 attributes per drive leave room.
    assert!(reads.len() < 100 * 4, "{} reads in {elapsed:?}", reads.len());
}

#[test]
fn a_capture_reads_as_the_machine_did() {
    let folder = tempfile::tempdir().unwrap();
    for (name, source) in [("root", lab()), ("user", unprivileged())] {
        let host = snapshot(&source, Depth::Full);
        for name in [format!("{name}.json"), name.to_owned()] {
            let to = folder.path().join(name);
            capture(&source, &to, false).unwrap();
            assert_eq!(snapshot(&Captured::open(&to).unwrap(), Depth::Full), host);
        }
    }
    // A capture of a capture is identical, byte by byte.
    let again = folder.path().join("again.json");
    capture(&lab(), &again, false).unwrap();
    assert_eq!(
        std::fs::read(&again).unwrap(),
        std::fs::read(folder.path().join("root.json")).unwrap()
    );
    // An existing folder is not written into.
    assert!(capture(&lab(), &folder.path().join("root"), false).is_err());
}

#[test]
fn masked_serials_are_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("masked.json");
    capture(&lab(), &to, true).unwrap();
    let text = std::fs::read_to_string(&to).unwrap().to_lowercase();
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    for serial in ["lab0001", "lab0004"] {
        assert!(!text.contains(serial));
        assert!(!text.contains(&hex(&serial.to_uppercase())));
    }
    let (masked, host) =
        (snapshot(&Captured::open(&to).unwrap(), Depth::Full), snapshot(&lab(), Depth::Full));
    let mut serials: Vec<_> = masked.drives.iter().map(|drive| drive.serial.value()).collect();
    serials.sort();
    serials.dedup();
    assert_eq!(serials.len(), 4, "{serials:?}");
    assert_eq!(masked.links, host.links);
    assert_eq!(masked.drives[0].identify, host.drives[0].identify);
    assert_eq!(masked.drives[0].namespaces[0].identify, host.drives[0].namespaces[0].identify);
}

#[test]
fn this_machine_can_be_captured() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("here");
    let live = iodyno_host::Live::new();
    let before = live.taken_ns();
    capture(&live, &to, false).unwrap();
    let captured = Captured::open(&to).unwrap();
    assert!((before..=live.taken_ns()).contains(&captured.taken_ns()));
    let (here, there) = (snapshot(&live, Depth::Full), snapshot(&captured, Depth::Full));
    assert_eq!(here.kernel, there.kernel);
    assert_eq!(here.cpus, there.cpus);
    assert_eq!(here.memory, there.memory);
    assert_eq!(here.page_bytes, there.page_bytes);
    assert_eq!(here.page_bytes.value(), u32::try_from(rustix::param::page_size()).ok());
}
