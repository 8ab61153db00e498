//! Public documents read back.

mod common;

use std::sync::LazyLock;

use iodyno_judge::{ClaimBook, Question, assess};
use iodyno_model::{EndReason, Fact, LatencyKind, RunRecord};
use iodyno_report::document::read::{DocumentError, read_runs};
use iodyno_report::document::run_document;
use iodyno_report::text::{Body, details_text, jobs_text, measurements_text, run_screen};
use proptest::prelude::*;
use serde_json::{Value, json};

fn document(record: &RunRecord) -> Value {
    let assessment = common::assessment(record);
    serde_json::to_value(run_document(record, &assessment, 1)).expect("plain data")
}

fn read(document: &Value) -> RunRecord {
    read_runs(&document.to_string()).expect("our own document").remove(0)
}

#[test]
fn a_document_read_back_makes_the_same_document() {
    let record = common::record();
    let written = document(&record);
    let again = read(&written);
    let judged = again.run.judged.clone();
    assert_eq!(judged.as_ref().unwrap().reasons.len(), record.measurements.len());
    assert_eq!(again.run, iodyno_model::Run { is_copy: true, judged, ..record.run.clone() });
    assert_eq!(again.measurements.len(), record.measurements.len());
    assert_eq!(document(&again), written);
    assert_eq!(again.snapshots[0].drives, record.snapshots[0].drives);
    assert_eq!(again.snapshots[0].links, record.snapshots[0].links);
}

/// Version 1 had sentences only.
#[test]
fn a_document_of_version_1_is_read() {
    let mut old = document(&common::record());
    old["schema"] = "iodyno.run/1".into();
    let measurement = &mut old["measurements"][1];
    measurement["conditions"]["shortfalls"] = vec!["verify: offset 4096: it is old"].into();
    (measurement["end"], measurement["failure"]) = ("failed".into(), "EIO".into());
    let read = &read(&old).measurements[1];
    assert_eq!(read.conditions.shortfalls, ["verify: offset 4096: it is old".into()]);
    assert_eq!(read.end, EndReason::Failed("EIO".into()));
}

#[test]
fn an_unknown_machine_stays_unknown() {
    let mut record = common::record();
    record.snapshots = vec![common::without_facts(common::host())];
    let written = document(&record);
    let again = read(&written);
    assert_eq!(document(&again), written, "every reason too");
    assert_eq!(again.snapshots[0].drives[0].health, Fact::NeedsRoot);
    record.snapshots.clear();
    assert!(read(&document(&record)).snapshots.is_empty());
}

/// A document written before its parts were the model's types: all measured values survive, except
/// pages, of which it holds only a few figures, and judgements, which are made again.
#[test]
fn an_earlier_document_loses_nothing() {
    const NOT_HELD: [&str; 5] =
        ["nvme_version", "lba_format", "best_lba_format", "used_bytes", "deallocated_reads_as"];
    const JUDGED: [&str; 5] = ["validity", "reasons", "claim", "ceilings", "verdicts"];
    let written: Value = serde_json::from_str(include_str!("fixtures/run-0.1.0.json")).unwrap();
    let record = read(&written);
    let claims = ClaimBook::builtin();
    let question = Question { record: &record, claims: &claims, baseline: None, expect: None };
    let again = serde_json::to_value(run_document(&record, &assess(&question), 0)).unwrap();
    let mut pointers = Vec::new();
    for part in ["host", "drives", "links", "measurements", "plan", "skipped", "origin"] {
        collect(&written[part], format!("/{part}"), &mut pointers);
    }
    let anew = |name: &str| NOT_HELD.contains(&name) || JUDGED.contains(&name);
    let mut compared = 0;
    for pointer in pointers.iter().filter(|pointer| !pointer.split('/').any(anew)) {
        let value = written.pointer(pointer).unwrap();
        let is_leaf = !value.is_array() && !value.is_object() && !value.is_null();
        // A null without a reason means that there is none.
        if is_leaf && *value != "not offered by this machine" {
            // A sentence that became a value is its text.
            let now = again.pointer(pointer).map(|now| now.get("text").unwrap_or(now));
            assert_eq!(now, Some(value), "{pointer}");
            compared += 1;
        }
    }
    assert!(compared > 700, "{compared}");
}

#[test]
fn percentiles_are_stated_and_not_bins() {
    let record = read(&document(&common::record()));
    let result = &record.measurements[2].total[0];
    assert!(result.bins(LatencyKind::Total).is_none());
    let (kind, p99) = result.percentile(99.0).expect("the document has it");
    assert_eq!(kind, LatencyKind::Total);
    assert!(p99.low() < p99.high() && p99.low() <= p99.value && p99.value <= p99.high());
}

#[test]
fn several_stand_in_an_array() {
    let one = document(&common::record());
    let both = read_runs(&Value::Array(vec![one.clone(), one]).to_string()).expect("two");
    assert_eq!(both.len(), 2);
}

#[test]
fn other_documents_are_rejected_by_name() {
    let of = |text: &str| read_runs(text).expect_err("no run");
    assert!(matches!(of("fio"), DocumentError::NotJson(_)));
    assert!(matches!(of("{}"), DocumentError::Schema(_)));
    let list = of(r#"{"schema": "iodyno.list/1", "drives": []}"#);
    assert!(list.to_string().contains("iodyno.list/1"), "{list}");
    let later = of(r#"{"schema": "iodyno.run/3"}"#);
    assert!(matches!(later, DocumentError::Schema(_)));
    let without = of(r#"{"schema": "iodyno.run/2", "id": "x"}"#);
    assert!(without.to_string().contains("missing field"), "{without}");
    let mut bad = document(&common::record());
    bad["started"] = "yesterday".into();
    assert!(matches!(of(&bad.to_string()), DocumentError::Time(_)));
}

/// The server's document, which takes a while to make.
static SERVER: LazyLock<Value> = LazyLock::new(|| document(&common::record()));

/// A document with one value replaced by another.
fn mutated() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({})),
    ];
    (any::<prop::sample::Index>(), leaf).prop_map(|(at, leaf)| {
        let mut value = SERVER.clone();
        let mut pointers = Vec::new();
        collect(&value, String::new(), &mut pointers);
        let pointer = at.get(&pointers).clone();
        if let Some(place) = value.pointer_mut(&pointer) {
            *place = leaf;
        }
        value
    })
}

fn collect(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            collect(value, format!("{at}/{name}"), pointers);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, value)| {
            collect(value, format!("{at}/{n}"), pointers);
        }),
        _ => {}
    }
    pointers.push(at);
}

/// Sums and differences of what a document says may exceed any integer.
#[test]
fn extreme_numbers_do_not_overflow() {
    let mut document = document(&common::record());
    document["started"] = "1677-09-21T00:12:44Z".into();
    document["ended"] = "2262-04-11T23:47:16Z".into();
    document["plan"]["kind"] = "run".into();
    let disk = json!({"name": "nvme0n1", "read_sectors": u64::MAX, "written_sectors": u64::MAX});
    let measurements = document["measurements"].as_array_mut().unwrap();
    for of in measurements.iter_mut() {
        of["phase"] = 1.into();
        of["workload"]["numjobs"] = u32::MAX.to_string().into();
        of["disks"] = json!([disk]);
        (of["read"]["errors"], of["read"]["whole_ios"]) = (u64::MAX.into(), u64::MAX.into());
        of["write"] = of["read"].clone();
    }
    let jobs = measurements.len() as u64 * u64::from(u32::MAX);
    let record = read(&document);
    let (assessment, style) = (common::assessment(&record), common::style(100));
    run_screen(&record, &assessment, 0, Body::Drives(&[]), "last", &style);
    let details = details_text(&record, &style);
    assert!(details.contains("iB read, "), "{details}");
    assert!(jobs_text(&record, &assessment, &style).contains(&format!("all {jobs} jobs")));
    assert!(measurements_text(&record, &assessment, &style).contains("I/O errors"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_panics_on_modified_documents(value in mutated()) {
        if let Ok(records) = read_runs(&value.to_string()) {
            let claims = ClaimBook::builtin();
            let question =
                Question { record: &records[0], claims: &claims, baseline: None, expect: None };
            let written = run_document(&records[0], &assess(&question), 0);
            prop_assert_eq!(Value::from(written.head.id), value["id"].clone());
        }
    }

    #[test]
    fn nothing_panics_on_any_text(text in ".{0,200}") {
        let _ = read_runs(&text);
    }
}

#[test]
fn links_and_layers_are_read_back() {
    use iodyno_model::{
        Aspm, BlockKind, Bytes, FileSystem, Iommu, LatencyMonitor, MappedPlace, MappedSegment,
        MdMember, NamespacePath, OcpHealth, PcieError, PcieSeverity, Subsystem, VolumeLimits,
    };
    let mut host = common::host();
    let link = &mut host.links[0];
    link.aspm = Fact::Read(Aspm { l0s: false, l1: true });
    link.port.able_payload_bytes = Fact::Read(512);
    link.device.max_read_request_bytes = Fact::NeedsRoot;
    let severity = PcieSeverity::Nonfatal;
    link.device.errors = vec![PcieError { severity, kind: "CmpltTO".into(), count: 2 }];
    host.drives[0].power_state = Fact::Read(1);
    host.drives[0].autonomous_power_states = Fact::NeedsRoot;
    host.drives[0].write_cache_on = Fact::Read(false);
    host.drives[0].iommu =
        Fact::Read(Iommu { group: 14, domain: Fact::Read("DMA".into()), strict: Fact::Read(true) });
    host.drives[0].ocp_health = Fact::Read(OcpHealth {
        media_written_bytes: 5 << 40,
        unaligned_ios: 7,
        ..OcpHealth::default()
    });
    host.drives[0].volume_limits =
        Fact::Read(VolumeLimits { volume_iops_us: Some(9), ..VolumeLimits::default() });
    host.drives[0].latency_monitor = Fact::Read(LatencyMonitor {
        enabled: true,
        thresholds_ms: [5, 10, 50, 100],
        counts: [[1, 2, 3]; 4],
    });
    host.drives[0].namespaces[0].path =
        Some(NamespacePath { name: "nvme0c0n1".into(), ana_state: Fact::Read("optimized".into()) });
    host.subsystems = vec![Subsystem {
        name: "nvme-subsys0".into(),
        nqn: Fact::Absent,
        io_policy: Fact::Read("numa".into()),
        controllers: vec!["nvme0".into()],
    }];
    host.kernel.parameters.insert("nvme.poll_queues".into(), "2".into());
    for block in &mut host.blocks {
        block.queue.wbt_lat_us = Fact::Read(2000);
        match &mut block.kind {
            BlockKind::Partition => block.start = Fact::Read(Bytes::mib(1)),
            BlockKind::Md(array) => {
                array.raid_disks = Fact::Read(2);
                array.state = Fact::Read("clean".into());
                array.stripe_cache_pages = Fact::Read(256);
                array.stripe_threads = Fact::Read(0);
                array.members = vec![MdMember {
                    device: "nvme0n1p2".into(),
                    slot: Some(0),
                    state: Fact::Read("in_sync".into()),
                    data_offset_bytes: Fact::Read(1 << 20),
                    errors: Fact::Absent,
                }];
            }
            BlockKind::DeviceMapper(mapped) => {
                let places = vec![MappedPlace { device: "nvme3n1".into(), start_bytes: 1 << 20 }];
                mapped.table = Fact::Read(vec![MappedSegment {
                    start_bytes: 0,
                    length_bytes: 1 << 30,
                    target: "linear".into(),
                    chunk_bytes: None,
                    allocated_bytes: None,
                    places,
                }]);
                block.file_system = Some(FileSystem {
                    kind: "xfs".into(),
                    block_bytes: Fact::Read(4096),
                    stripe_unit_bytes: Fact::Read(64 << 10),
                    stripe_width_bytes: Fact::Absent,
                    data_profile: Fact::Read("raid1".into()),
                    devices: Fact::Read(2),
                });
            }
            _ => {}
        }
    }
    let mut record = common::record();
    record.snapshots = vec![host.clone()];
    let again = read(&document(&record)).snapshots.remove(0);
    assert_eq!(again.links[0], host.links[0]);
    assert_eq!(again.kernel, host.kernel);
    assert_eq!(again.drives[0].iommu, host.drives[0].iommu);
    assert_eq!(again.drives[0].power_state, Fact::Read(1));
    assert_eq!(again.drives[0].autonomous_power_states, Fact::NeedsRoot);
    assert_eq!(again.drives[0].write_cache_on, Fact::Read(false));
    assert_eq!(again.drives[0].ocp_health, host.drives[0].ocp_health);
    assert_eq!(again.drives[0].latency_monitor, host.drives[0].latency_monitor);
    assert_eq!(again.drives[0].namespaces[0].path, host.drives[0].namespaces[0].path);
    assert_eq!(again.subsystems, host.subsystems);
    for (there, here) in again.blocks.iter().zip(&host.blocks) {
        assert_eq!((&there.kind, &there.start), (&here.kind, &here.start));
        assert_eq!(there.file_system, here.file_system);
        assert_eq!(there.queue.wbt_lat_us, Fact::Read(2000));
    }
    assert_eq!(again.stack_under("dm-0"), host.stack_under("dm-0"));
}
