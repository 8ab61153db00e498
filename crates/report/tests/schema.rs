//! Public documents and their schemas.

mod common;

use expect_test::expect_file;

use iodyno_model::{Estimate, Fact, RunRecord, Severity};
use iodyno_report::document::{
    list_document, rules_document, run_document, runs_document, schemas,
};
use serde_json::Value;

/// docs/schema has the schemas as the types generate them.
#[test]
fn schemas_in_docs_are_up_to_date() {
    for (file, schema) in schemas() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        expect_file![format!("../../../docs/schema/{file}")].assert_eq(&text);
    }
}

fn assert_valid(file: &str, document: &Value) {
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == file).expect("a schema of that name");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{file}: {errors:#?}");
}

fn run_value(record: &RunRecord) -> Value {
    let assessment = common::assessment(record);
    serde_json::to_value(run_document(record, &assessment, 1)).expect("plain data")
}

#[test]
fn a_run_document_is_valid_and_has_its_measurements() {
    let document = run_value(&common::record());
    assert_valid("iodyno.run.2.json", &document);
    assert_eq!(document["schema"], "iodyno.run/2");
    assert_eq!(document["started"], "2024-11-21T11:34:56Z");
    let first = &document["measurements"][0];
    assert_eq!(first["validity"], "VALID");
    assert_eq!(first["workload"]["rw"], "read");
    assert_eq!(first["workload"]["bs"], "262144");
    assert_eq!(first["read"]["bandwidth"]["interval"], "confidence");
    assert_eq!(first["read"]["bandwidth"]["level"], 0.95);
    assert!((first["read"]["bandwidth"]["value"].as_f64().unwrap() - 6.853e9).abs() < 1.0);
    assert!(first.get("write").is_none(), "a direction that did not occur is absent");
    assert_eq!(first["claim"]["value"], 6.9e9);
    assert_eq!(first["claim"]["metric"], "bandwidth");
    assert_eq!(first["ceilings"][0]["by"], "link Gen4 x4");
    assert_eq!(first["verdicts"][0]["verdict"], "PASS");
    let latency = &document["measurements"][2]["read"]["latency"]["total"];
    let percentiles = latency["percentiles"].as_object().unwrap();
    assert!(percentiles.contains_key("99.9") && !percentiles.contains_key("99.99"));
    for interval in latency["percentile_intervals"].as_array().unwrap() {
        let value = percentiles[interval["percentile"].as_str().unwrap()].as_u64().unwrap();
        let (low, high) = (interval["low_ns"].as_u64(), interval["high_ns"].as_u64());
        assert!(low.unwrap() <= value && value <= high.unwrap(), "{interval}");
    }
    assert_eq!(document["measurements"][6]["validity"], "INVALID");
    assert_eq!(document["measurements"][8]["parts"].as_array().unwrap().len(), 3);
    assert_eq!(document["links"][2]["in_use"]["generation"], 3);
    assert_eq!(document["links"][2]["able"]["width"], 4);
    assert_eq!(document["drives"][3]["used_by"], serde_json::json!(["/srv/data", "LVM"]));
    assert_eq!(document["rules"][2]["outcome"], "cannot_tell");
    assert_eq!(document["rules"][2]["cannot_tell"][0]["missing"], "Link Control 2 needs root");
    assert_eq!(document["skipped"][0]["step"], Value::Null);
    assert_eq!(document["exit_status"], 1);
}

#[test]
fn unknown_facts_are_null_with_a_reason_and_never_zero() {
    let mut record = common::record();
    record.snapshots = vec![common::without_facts(common::host())];
    let document = run_value(&record);
    assert_valid("iodyno.run.2.json", &document);
    let drive = &document["drives"][0];
    assert_eq!(drive["serial"], Value::Null);
    assert_eq!(drive["unknown"]["serial"], "needs root");
    assert_eq!(drive["capacity_bytes"], Value::Null);
    assert_eq!(drive["health"], Value::Null);
    assert_eq!(drive["namespaces"][0]["used_bytes"], Value::Null);
    assert_eq!(document["host"]["memory_bytes"], Value::Null);
    assert_eq!(document["host"]["unknown"]["page_bytes"], "unreadable: garbage");
    assert_eq!(document["links"][0]["in_use"], Value::Null);
    assert_eq!(document["links"][0]["payload_bytes_per_s"], Value::Null);
    assert_valid(
        "iodyno.list.1.json",
        &serde_json::to_value(list_document(&common::without_facts(common::host()))).unwrap(),
    );

    record.snapshots.clear();
    let document = run_value(&record);
    assert_valid("iodyno.run.2.json", &document);
    assert_eq!(document["host"], Value::Null);
}

#[test]
fn any_single_fact_may_be_missing() {
    let removals: [fn(&mut iodyno_model::Host); 8] = [
        |host| host.drives[0].model = Fact::Absent,
        |host| host.drives[0].identify = Fact::NeedsRoot,
        |host| host.drives[0].namespaces.clear(),
        |host| host.drives[0].temperature = Fact::Unreadable("a word".into()),
        |host| host.links.clear(),
        |host| host.blocks.clear(),
        |host| host.cpus.online = Fact::Absent,
        |host| host.drives.clear(),
    ];
    for remove in removals {
        let mut record = common::record();
        remove(&mut record.snapshots[0]);
        assert_valid("iodyno.run.2.json", &run_value(&record));
    }
}

#[test]
fn non_finite_values_are_left_out() {
    let mut record = common::record();
    let bad = Estimate::confident(f64::NAN, f64::NEG_INFINITY, f64::INFINITY, 0.95);
    let measurement = &mut record.measurements[0];
    measurement.total[0].bandwidth = Some(bad);
    measurement.total[0].iops = Some(Estimate::confident(5.0, f64::NAN, 6.0, 0.95));
    measurement.total[0].latency_mean = Some(bad);
    measurement.total[0].latency = iodyno_model::Histogram::default();
    measurement.conditions.depth_reached = Some(f64::NAN);
    measurement.conditions.written[0].share = bad;
    let document = run_value(&record);
    assert_valid("iodyno.run.2.json", &document);
    let read = &document["measurements"][0]["read"];
    assert_eq!(read["bandwidth"], Value::Null);
    assert_eq!(read["iops"]["value"], 5.0);
    assert_eq!(read["iops"]["interval"], Value::Null);
    assert_eq!(read["latency"], serde_json::json!({}));
}

#[test]
fn a_virtual_machine_is_valid() {
    let (record, assessment) = common::virtual_machine();
    let document = serde_json::to_value(run_document(&record, &assessment, 4)).unwrap();
    assert_valid("iodyno.run.2.json", &document);
    assert_eq!(document["drives"], serde_json::json!([]));
    assert_eq!(document["host"]["blocks"][0]["kind"], "virtual disk");
    assert_eq!(document["measurements"][0]["conditions"]["device"], "vda");
}

#[test]
fn lists_are_valid() {
    assert_valid(
        "iodyno.list.1.json",
        &serde_json::to_value(list_document(&common::host())).unwrap(),
    );
    let runs = [common::record().run];
    let document = serde_json::to_value(runs_document(&runs)).unwrap();
    assert_valid("iodyno.runs.1.json", &document);
    assert_eq!(document["runs"][0]["name"], "db17-after-firmware");
    let rules = rules_document([("link-degraded", Severity::Fail, "a link below its ability")]);
    let document = serde_json::to_value(rules).unwrap();
    assert_valid("iodyno.rules.1.json", &document);
    assert_eq!(document["rules"][0]["severity"], "FAIL");
}
