//! Writes to a drive, and other drives in its place, while a run was stopped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use iodyno_campaign::{Left, Refusal, Resumed, Study, differences, writes_since_stop};
use iodyno_model::{
    BackingFile, BlockDevice, BlockKind, Bytes, Direction, DirectionResult, DiskStats, Drive,
    Estimate, Fact, HealthLog, Host, Measurement, Namespace, Purpose, Run, RunRecord, RunState,
};

const GIB: u128 = 1 << 30;

/// A machine whose drive counts this many bytes as written by hosts.
fn host(host_written_bytes: u128) -> Host {
    let health = HealthLog {
        temperature_k: 313,
        available_spare_percent: 100,
        spare_threshold_percent: 10,
        used_percent: 3,
        host_written_bytes,
        power_on_hours: 100,
        power_cycles: 1,
        ..HealthLog::default()
    };
    let namespace = Namespace { name: "nvme0n1".into(), ..Namespace::default() };
    let drive = Drive {
        name: "nvme0".into(),
        health: Fact::Read(health),
        namespaces: vec![namespace],
        ..Drive::default()
    };
    Host { drives: vec![drive], ..Host::default() }
}

/// A study of reads and writes of half a minute each, prepared or not.
fn study(rw: &str, is_prepared: bool) -> Study {
    let preparation =
        if is_prepared { "[preparation]\npurge = \"discard\"\nfill = 1.0\n" } else { "" };
    let text = format!(
        "format = \"iodyno.plan/1\"\nname = \"x\"\ntargets = [\"nvme0n1\"]\n{preparation}\
         [stop]\nmin_time = \"1s\"\nmax_time = \"30s\"\n[grid]\nrw = {rw}\n"
    );
    Study::parse(&text, "x").unwrap()
}

/// The study after its fill, at 100 MB/s, and without points: killed, or stopped.
fn record(is_killed: bool) -> RunRecord {
    let fill = DirectionResult {
        bandwidth: Some(Estimate::bare(100e6)),
        ..DirectionResult::unknown(Direction::Write)
    };
    let fill = Measurement {
        purpose: Purpose::Fill,
        targets: vec!["nvme0n1".into()],
        total: vec![fill],
        ..Measurement::unknown("fill")
    };
    let run = Run {
        state: RunState::Interrupted,
        ended_ns: (!is_killed).then_some(1),
        targets: vec!["nvme0n1".into()],
        ..Run::new("1", 0)
    };
    RunRecord { run, snapshots: vec![host(0), host(100 * GIB)], measurements: vec![fill] }
}

/// Messages if the drive counts this many bytes more than when the run stopped.
fn said(
    study: &Study,
    record: &RunRecord,
    prepares: bool,
    bytes: u128,
) -> Result<Vec<String>, Refusal> {
    let (_, points) = Resumed::of(record, study.points(0), study);
    assert!(!points.is_empty());
    let left = Left { study, points: &points, prepares };
    writes_since_stop(record, &host(100 * GIB + bytes), &left)
}

const READS: &str = "[\"read\", \"randread\"]";
const WRITES: &str = "[\"read\", \"write\"]";

#[test]
fn prepared_drive_written_by_others_is_refused() {
    for (rw, is_killed, prepares) in [
        (READS, false, false),
        (WRITES, false, false),
        // A stopped fill goes on where it was.
        (WRITES, false, true),
        // Reads write nothing themselves, killed or not.
        (READS, true, false),
    ] {
        let (study, record) = (study(rw, true), record(is_killed));
        assert_eq!(said(&study, &record, prepares, GIB), Ok(Vec::new()));
        let what = said(&study, &record, prepares, 3 * GIB).unwrap_err().0;
        assert!(what.contains("nvme0n1: 3 GiB were written since the run stopped"), "{what}");
        assert!(what.contains("preparation has to be repeated"), "{what}");
    }
}

#[test]
fn own_writes_of_a_killed_run_are_accepted() {
    let (study, record) = (study(WRITES, true), record(true));
    // 30 s at 100 MB/s, and twice that: 6 GB are its own.
    let own = said(&study, &record, false, 6 * GIB).unwrap();
    assert!(
        own[0].contains("6 GiB were written") && own[0].contains("prepare it again"),
        "{own:?}"
    );
    assert!(said(&study, &record, false, 7 * GIB).is_err());
    // Bytes of a killed fill are not counted; it starts over.
    assert_eq!(said(&study, &record, true, 700 * GIB).map(|said| said.len()), Ok(1));
    // Nor are those of a point without an end.
    let endless = "format = \"iodyno.plan/1\"\nname = \"x\"\ntargets = [\"nvme0n1\"]\n\
                   [preparation]\nfill = 1.0\n[[step]]\nname = \"w\"\nuntil = \"done\"\n\
                   job = { rw = \"write\", size = \"1g\" }\n";
    let endless = Study::parse(endless, "x").unwrap();
    assert_eq!(said(&endless, &record, false, 700 * GIB).map(|said| said.len()), Ok(1));
}

#[test]
fn writes_to_an_unprepared_drive_are_reported() {
    for is_killed in [false, true] {
        let (study, record) = (study(READS, false), record(is_killed));
        assert_eq!(said(&study, &record, false, GIB), Ok(Vec::new()));
        let told = said(&study, &record, false, 2 * GIB).unwrap();
        assert!(told[0].starts_with("nvme0n1: 2 GiB were written"), "{told:?}");
    }
    // A drive without a counter gives no message.
    let (study, mut record) = (study(READS, true), record(false));
    record.snapshots[1].drives[0].health = Fact::Absent;
    assert_eq!(said(&study, &record, false, 700 * GIB), Ok(Vec::new()));
}

/// A run on this block device.
fn run_on(target: &str, blocks: &[BlockDevice]) -> RunRecord {
    let run = Run { targets: vec![target.into()], ..Run::new("1", 0) };
    let host = Host { blocks: blocks.to_vec(), ..Host::default() };
    RunRecord { run, snapshots: vec![host], measurements: Vec::new() }
}

#[test]
fn another_device_of_the_same_name_is_refused() {
    let looped = |inode| BlockDevice {
        name: "loop3".into(),
        kind: BlockKind::Loop {
            backing_file: Some("/srv/a".into()),
            backing: Fact::Read(BackingFile {
                device: (8, 1),
                inode,
                block: None,
                offset_bytes: 0,
            }),
        },
        size: Fact::Read(Bytes(1 << 30)),
        ..BlockDevice::default()
    };
    let disk = |id: &str| BlockDevice {
        name: "sda".into(),
        kind: BlockKind::Scsi,
        unique_id: Fact::Read(id.into()),
        ..BlockDevice::default()
    };
    let part = BlockDevice {
        name: "sda1".into(),
        kind: BlockKind::Partition,
        stands_on: vec!["sda".into()],
        ..BlockDevice::default()
    };
    let larger = BlockDevice { size: Fact::Read(Bytes(2 << 30)), ..looped(7) };
    for (target, before, now, refused) in [
        ("loop3", vec![looped(7)], vec![looped(7)], None),
        ("loop3", vec![looped(7)], vec![looped(8)], Some("loop3 is another device")),
        ("loop3", vec![looped(7)], vec![larger], Some("loop3 has changed in size or place")),
        ("loop3", vec![looped(7)], vec![], Some("loop3 no longer exists")),
        ("sda", vec![disk("naa.1")], vec![disk("naa.2")], Some("sda is another device")),
        (
            "sda1",
            vec![disk("naa.1"), part.clone()],
            vec![disk("naa.2"), part],
            Some("sda is another device"),
        ),
        // A file.
        ("/srv/a", vec![looped(7)], vec![], None),
    ] {
        let now = Host { blocks: now, ..Host::default() };
        let said = differences(&run_on(target, &before), &now);
        assert_eq!(said.err().map(|Refusal(what)| what).as_deref(), refused, "{target}");
    }
    // A killed run names its targets only in its measurements.
    let mut killed = run_on("sda", &[disk("naa.1")]);
    killed.run.targets.clear();
    killed.measurements =
        vec![Measurement { targets: vec!["sda".into()], ..Measurement::unknown("a") }];
    let now = Host { blocks: vec![disk("naa.2")], ..Host::default() };
    assert!(differences(&killed, &now).is_err());
}

#[test]
fn writes_to_other_devices_are_counted_by_the_kernel() {
    let counted = |written_bytes| Host {
        disk_stats: vec![DiskStats { name: "vda".into(), written_bytes, ..DiskStats::default() }],
        ..Host::default()
    };
    let mut record = run_on("vda", &[]);
    record.snapshots = vec![counted(1 << 40)];
    let study = study(READS, false);
    let left = Left { study: &study, points: &[], prepares: false };
    let said = |bytes| writes_since_stop(&record, &counted(bytes), &left).unwrap();
    assert_eq!(said((1 << 40) + (1 << 20)), Vec::<String>::new());
    assert!(said((1 << 40) + (3 << 30))[0].starts_with("vda: 3 GiB were written"));
}
