//! Exports and pages say no more than is known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use iodyno_judge::ClaimBook;
use iodyno_model::{Assessment, Estimate, Fact, RunRecord};
use iodyno_report::Judged;
use iodyno_report::export::{FORMATS, Results};
use iodyno_report::page::{PageRun, page};
use serde_json::Value;

fn text(name: &str, record: &RunRecord, assessment: &Assessment) -> String {
    let (format, _) = FORMATS.iter().find(|(format, _)| format.name() == name).unwrap();
    let bytes = format.export(Results::Runs(&[Judged { record, assessment }])).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// OCP's measurements by name.
fn figures(ocp: &str) -> Vec<Value> {
    let lines = ocp.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let figures = lines.map(|line| line["testStepArtifact"]["measurement"].clone());
    figures.filter(|figure| !figure.is_null()).collect()
}

#[test]
fn an_interval_wider_than_its_value_is_not_exported() {
    let mut record = common::record();
    let result = &mut record.measurements[0].total[0];
    result.iops = Some(Estimate::confident(2900.0, 0.0, 1_122_100.0, 0.95));
    let assessment = common::assessment(&record);
    let table = text("csv", &record, &assessment);
    let mut table = csv::Reader::from_reader(table.as_bytes());
    let columns = table.headers().unwrap().clone();
    let row = table.records().next().unwrap().unwrap();
    let cell =
        |name: &str| row[columns.iter().position(|column| column == name).unwrap()].to_owned();
    assert_eq!(["iops", "iops_low", "iops_high"].map(cell), ["2900", "", ""]);
    assert_ne!(cell("bandwidth_low_bytes_per_s"), "");
    let gauges = text("openmetrics", &record, &assessment);
    let has = |name: &str| gauges.contains(&format!("\n{name}{{index=\"0\""));
    assert!(has("iodyno_measurement_iops"), "{gauges}");
    assert!(!has("iodyno_measurement_iops_low"), "{gauges}");
    let ocp = figures(&text("ocp", &record, &assessment));
    let iops = ocp.iter().find(|figure| figure["name"] == "read IOPS").unwrap();
    assert!(iops["metadata"]["interval"].is_null(), "{iops}");
}

#[test]
fn ocp_has_latencies_in_seconds() {
    let record = common::record();
    let latencies = figures(&text("ocp", &record, &common::assessment(&record)));
    let mean = latencies.iter().find(|figure| figure["name"] == "read total latency mean").unwrap();
    let expected = record.measurements[0].total[0].mean_latency().unwrap().1.value / 1e9;
    let value = mean["value"].as_f64().unwrap();
    assert!((value / expected - 1.0).abs() < 1e-9 && mean["unit"] == "s", "{mean}");
    assert!(latencies.iter().all(|figure| figure["unit"] != "ns"), "{latencies:?}");
}

#[test]
fn a_drive_named_fail_gets_no_mark() {
    let mut record = common::record();
    let mark = "<span class=\"mark bad\">FAIL</span>";
    let marks = |record: &RunRecord| {
        let assessment = common::assessment(record);
        let run = PageRun::new(Judged { record, assessment: &assessment });
        let html = page(&[run], &ClaimBook::default()).unwrap();
        html.matches(mark).count()
    };
    let before = marks(&record);
    for host in &mut record.snapshots {
        host.drives[0].model = Fact::Read("FAIL".into());
    }
    assert_eq!(marks(&record), before);
}
