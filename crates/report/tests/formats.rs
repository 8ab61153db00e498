//! Formats for other tools: JUnit, OCP, OpenMetrics, CSV and Parquet.

mod common;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iodyno_judge::ClaimBook;
use iodyno_judge::comparison::{Limit, Side, compare, rulings};
use iodyno_model::{
    Assessment, EndReason, Estimate, Fact, Measurement, RunRecord, RunState, Validity, Verdict,
};
use iodyno_report::export::{Command as Offers, FORMATS, LiveCounts, LiveMetrics, Results};
use iodyno_report::{Compared, Judged};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

fn schema(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas").join(name)
}

/// Runs that formats may stumble over: the server, a virtual machine, one without a host, one with
/// hostile names, and one that failed.
fn runs() -> Vec<(RunRecord, Assessment)> {
    let record = common::record();
    let assessment = common::assessment(&record);
    let server = (record, assessment);
    let mut nameless = server.clone();
    nameless.0.snapshots.clear();
    nameless.0.run.name.clear();
    nameless.0.run.ended_ns = None;
    nameless.0.measurements[0].started_ns = None;
    nameless.0.measurements[0].duration_ns = None;
    let mut hostile = server.clone();
    let bad = "\u{1b}[31m<a b=\"c\">&amp;]]>\\\n\u{0}\u{fffe},=1+1";
    hostile.0.run.name = bad.into();
    hostile.0.snapshots[0].hostname = Fact::Read(bad.into());
    hostile.0.snapshots[0].drives[0].model = Fact::Read(bad.into());
    hostile.0.measurements[0].name = bad.into();
    hostile.1.findings[0].what = bad.into();
    hostile.1.measurements[0].metrics[0].reason = bad.into();
    hostile.1.measurements[0].metrics[0].verdict = Verdict::Fail;
    let mut broken = server.clone();
    broken.0.run.state = RunState::Failed;
    broken.0.measurements[0].end = EndReason::Failed("EIO at 4096".into());
    broken.0.measurements[0].total.clear();
    broken.0.measurements[3].total[0].iops = Some(Estimate::bare(f64::NAN));
    broken.0.measurements[3].total[0].ios = None;
    broken.1.measurements[0].metrics.clear();
    vec![server, common::virtual_machine(), nameless, hostile, broken]
}

fn export(name: &str, results: Results<'_>) -> Vec<u8> {
    let (format, _) = FORMATS.iter().find(|(format, _)| format.name() == name).expect(name);
    format.export(results).expect("it has a form for them")
}

/// One run as text.
fn text(name: &str, of: Judged<'_>) -> String {
    String::from_utf8(export(name, Results::Runs(&[of]))).expect("UTF-8")
}

fn judged((record, assessment): &(RunRecord, Assessment)) -> Judged<'_> {
    Judged { record, assessment }
}

/// Validates XML against the schema by xmllint.
fn assert_junit(xml: &[u8]) {
    use std::io::Write as _;
    let mut lint = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema"])
        .arg(schema("junit-10.xsd"))
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("these tests need xmllint (Debian: libxml2-utils): make deps");
    lint.stdin.take().expect("it is piped").write_all(xml).expect("xmllint reads");
    let output = lint.wait_with_output().expect("xmllint ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(xml));
}

#[test]
fn junit_is_valid() {
    for run in runs() {
        assert_junit(text("junit", judged(&run)).as_bytes());
    }
}

#[test]
fn junit_fails_failures_and_skips_unjudged() {
    let runs = runs();
    let xml = text("junit", judged(&runs[0]));
    let suite = |name: &str| {
        let from = xml.find(&format!("<testsuite name=\"{name}\"")).expect(name);
        &xml[from..from + xml[from..].find("</testsuite>").expect("an end")]
    };
    let degraded = suite("nvme2n1");
    assert!(degraded.contains("<failure type=\"link-degraded\""), "{degraded}");
    assert!(degraded.contains("carries: 1746 MB/s instead of 7094 MB/s"), "{degraded}");
    assert!(degraded.contains("next: Reseat the drive"), "{degraded}");
    assert!(degraded.contains("INVALID blocks-not-written"), "{degraded}");
    // A WARN passes, with a message.
    assert!(degraded.contains("WARN Almost no block"), "{degraded}");
    let fine = suite("nvme0n1");
    assert!(!fine.contains("<failure"), "{fine}");
    assert!(fine.contains("PASS 6853 ± 13 MB/s (6536 MiB/s), 99 % of the claim"), "{fine}");
    assert!(fine.contains("name=\"serial\" value=\"S64HNE0R500123\""), "{fine}");
    let busy = suite("nvme3n1");
    assert!(busy.contains("<skipped message=\"it serves others"), "{busy}");
    let machine = suite("machine");
    assert!(machine.contains("seq-read nvme0n1 nvme1n1 nvme2n1"), "{machine}");
    assert!(!machine.contains("unlike-baseline"), "not applicable is no case: {machine}");
    let broken = text("junit", judged(&runs[4]));
    assert!(broken.contains("<error message=\"EIO at 4096\"/>"), "{broken}");
}

#[test]
fn junit_names_every_case_once() {
    let mut run = runs().remove(0);
    for (n, measurement) in run.0.measurements.iter_mut().take(3).enumerate() {
        measurement.name = "FIOJOB".into();
        measurement.workload.bs = Some(if n == 0 { 4096 } else { 65536 });
        measurement.workload.options.insert("runtime".into(), "3".into());
        measurement.workload.rw = Some("read".into());
        measurement.workload.iodepth = Some(1);
        measurement.workload.numjobs = Some(1);
    }
    let xml = text("junit", judged(&run));
    let mut names: Vec<&str> =
        xml.lines().filter(|line| line.contains("<testcase ")).map(str::trim).collect();
    names = names.iter().map(|line| line.split(" time=").next().expect("a part")).collect();
    for name in ["bs=4k iodepth=1 numjobs=1\"", "bs=64k iodepth=1 numjobs=1\"", "numjobs=1 #2\""] {
        let named = |line: &&&str| line.contains("name=\"FIOJOB rw=read ") && line.contains(name);
        assert_eq!(names.iter().filter(named).count(), 1, "{name}: {names:#?}");
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Schemas of a folder, by `$id`.
struct Published(HashMap<String, Value>);

impl jsonschema::Retrieve for Published {
    fn retrieve(
        &self,
        uri: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        self.0.get(uri.as_str()).cloned().ok_or_else(|| format!("there is no {uri}").into())
    }
}

/// Our schema, and the published one if present.
fn validators() -> Vec<jsonschema::Validator> {
    let read = |path: &Path| -> Value {
        let text = std::fs::read_to_string(path).expect("a schema");
        serde_json::from_str(&text).expect("JSON")
    };
    let mut all = vec![jsonschema::validator_for(&read(&schema("ocp.json"))).expect("a schema")];
    if let Some(folder) = std::env::var_os("IODYNO_OCP_SPEC") {
        let entries = std::fs::read_dir(&folder).expect("IODYNO_OCP_SPEC names a folder");
        let files = entries.map(|entry| entry.expect("an entry").path());
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let by_id = |path: PathBuf| {
            let value = read(&path);
            (value["$id"].as_str().expect("an $id").to_owned(), value)
        };
        let published = Published(files.map(by_id).collect());
        let root = read(&Path::new(&folder).join("root.json"));
        let options = jsonschema::options().with_retriever(published);
        all.push(options.build(&root).expect("the published schema"));
    }
    all
}

fn assert_ocp(text: &str) {
    let validators = validators();
    for (number, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["sequenceNumber"], number);
        for validator in &validators {
            let errors: Vec<String> =
                validator.iter_errors(&line).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{line}: {errors:#?}");
        }
    }
}

#[test]
fn ocp_is_valid() {
    for run in runs() {
        assert_ocp(&text("ocp", judged(&run)));
    }
}

#[test]
fn a_comparison_exports_in_valid_formats() {
    let before = common::record();
    let mut after = before.clone();
    after.run.id = "after".into();
    for of in &mut after.measurements {
        for result in &mut of.total {
            result.iops = result.iops.map(|iops| iops.scaled(0.8));
        }
    }
    let side = |label: &str, record| Side { label: label.into(), records: vec![record] };
    let sides = [side("before", &before), side("after \"<&", &after)];
    let comparison = compare(&sides, &ClaimBook::builtin());
    let limits: Vec<Limit> =
        ["iops < -5%", "lat > 5%"].map(|limit| limit.parse().expect("a limit")).into();
    let rulings = rulings(&comparison, &limits, Some(0.01));
    let status = comparison.exit_status(&rulings);
    let at_ns = 1_700_000_000_000_000_000;
    let of = Compared { comparison: &comparison, rulings: &rulings, status, at_ns };
    let text =
        |name: &str| String::from_utf8(export(name, Results::Comparison(of))).expect("UTF-8");
    let xml = text("junit");
    assert_junit(xml.as_bytes());
    assert!(xml.contains("message=\"iops &lt; -5% holds\""), "{xml}");
    assert!(xml.contains("lat &gt; +5% does not hold"), "{xml}");
    assert!(xml.contains("-20.0 %, run-to-run spread unknown"), "{xml}");
    assert_ocp(&text("ocp"));
    let metrics = text("openmetrics");
    let lines = metrics.lines().map(|line| Ok(line.to_owned()));
    let scrape = prometheus_parse::Scrape::parse(lines).expect("the text format");
    let broken = scrape.samples.iter().filter(|sample| {
        sample.metric == "iodyno_compare_limit" && sample.labels.get("outcome") == Some("broken")
    });
    assert!(broken.count() > 0, "{metrics}");
    let markdown = text("markdown");
    assert!(markdown.starts_with("**FAIL** "), "{markdown}");
    for part in [": iops \\< -5% holds\n", "after \"\\<\\&", "-20 %", "| unknown |"] {
        assert!(markdown.contains(part), "{part} is missing in\n{markdown}");
    }
    let lines = markdown.lines().filter(|line| line.starts_with('|'));
    let columns: Vec<usize> =
        lines.map(|line| line.replace("\\|", "").matches('|').count()).collect();
    assert!(columns.len() > 2 && columns.iter().all(|count| *count == columns[0]), "{markdown}");
}

#[test]
fn ocp_has_the_run_in_order() {
    let lines = |run: &(RunRecord, Assessment)| -> Vec<Value> {
        let text = text("ocp", judged(run));
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let runs = runs();
    let server = lines(&runs[0]);
    let times: Vec<&str> = server.iter().map(|line| line["timestamp"].as_str().unwrap()).collect();
    let parsed: Vec<jiff::Timestamp> = times.iter().map(|time| time.parse().unwrap()).collect();
    assert!(parsed.is_sorted());
    let mut open = None;
    for line in &server {
        let step = &line["testStepArtifact"];
        if step.is_null() {
            assert!(open.is_none(), "every step ends: {line}");
        } else if step["testStepStart"].is_object() {
            assert!(open.replace(step["testStepId"].clone()).is_none(), "one at a time: {line}");
        } else {
            assert_eq!(open.as_ref(), Some(&step["testStepId"]));
            open.take_if(|_| step["testStepEnd"].is_object());
        }
    }
    let end = |lines: &[Value]| lines.last().unwrap()["testRunArtifact"]["testRunEnd"].clone();
    assert_eq!(end(&server), serde_json::json!({"status": "COMPLETE", "result": "FAIL"}));
    let failed = lines(&runs[4]);
    assert_eq!(end(&failed), serde_json::json!({"status": "ERROR", "result": "NOT_APPLICABLE"}));
    let diagnosis = |verdict: &str| {
        let all = server.iter().map(|line| &line["testStepArtifact"]["diagnosis"]);
        all.clone().find(|one| one["verdict"] == verdict).expect(verdict).clone()
    };
    assert_eq!(diagnosis("link-degraded-fail")["type"], "FAIL");
    assert_eq!(diagnosis("link-degraded-fail")["hardwareInfoId"], "nvme2n1");
    assert_eq!(diagnosis("bandwidth-pass")["type"], "PASS");
    assert_eq!(diagnosis("unlike-peers-cannot-tell")["type"], "UNKNOWN");
}

#[test]
fn openmetrics_is_read_by_a_prometheus_parser() {
    for run in runs() {
        let text = text("openmetrics", judged(&run));
        assert!(text.ends_with("# EOF\n"));
        let lines = text.lines().map(|line| Ok(line.to_owned()));
        let scrape = prometheus_parse::Scrape::parse(lines).expect("the text format");
        let samples = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(scrape.samples.len(), samples, "every line is a sample");
        let mut series: Vec<&str> =
            text.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
        series.retain(|line| !line.starts_with('#'));
        let count = series.len();
        series.sort_unstable();
        series.dedup();
        assert_eq!(series.len(), count, "no series stands there twice");
        assert!(!text.contains("NaN") && !text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn a_failure_that_was_repeated_with_success_does_not_count() {
    let (mut record, assessment) = runs().remove(4);
    let again = Measurement { end: EndReason::Done, ..record.measurements[0].clone() };
    let failed = |record: &RunRecord| {
        let of = Judged { record, assessment: &assessment };
        let metrics = text("openmetrics", of);
        let ones = metrics.lines().filter(|line| line.starts_with("iodyno_measurement_failed{"));
        (
            ones.filter(|line| line.ends_with(" 1")).count(),
            text("ocp", of).contains("\"message\":\"EIO at 4096"),
        )
    };
    let name = format!("name=\"{}\"", record.measurements[0].name);
    let named = |record: &RunRecord| {
        text("junit", Judged { record, assessment: &assessment }).matches(&name).count()
    };
    let before = named(&record);
    assert_eq!(failed(&record), (1, true));
    record.run.resumed_at = vec![record.measurements.len()];
    record.measurements.push(again);
    assert_eq!((failed(&record), named(&record)), ((0, false), before), "it keeps its name");
}

#[test]
fn openmetrics_leaves_out_invalid_figures() {
    let run = runs().remove(0);
    let text = text("openmetrics", judged(&run));
    let of = |name: &str, target: &str| {
        let begin = format!("{name}{{");
        let target = format!("target=\"{target}\"");
        text.lines().filter(|line| line.starts_with(&begin) && line.contains(&target)).count()
    };
    assert_eq!(run.1.measurements[6].validity, Validity::Invalid);
    assert_eq!(of("iodyno_measurement_iops", "nvme2n1"), 0);
    assert_eq!(of("iodyno_measurement_validity", "nvme2n1"), 2 * 3);
    assert_eq!(of("iodyno_measurement_iops", "nvme0n1"), 3);
    assert!(text.contains(
        "iodyno_drive_verdict{drive=\"nvme2\",model=\"SAMSUNG MZQL23T8HCLS-00A07\",\
         serial=\"S64HNE0R500131\",firmware=\"GDC5902Q\",verdict=\"FAIL\"} 1\n"
    ));
    assert!(text.contains("# UNIT iodyno_measurement_latency_mean_seconds seconds\n"));
}

fn csv_of(runs: &[(RunRecord, Assessment)]) -> Vec<HashMap<String, String>> {
    let judged: Vec<Judged<'_>> = runs.iter().map(judged).collect();
    let bytes = export("csv", Results::Runs(&judged));
    csv::Reader::from_reader(bytes.as_slice()).deserialize().map(|row| row.expect("CSV")).collect()
}

#[test]
fn no_cell_of_csv_is_a_formula() {
    for (name, cell) in [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1+1", " =1+1"),
        ("\r=1+1", " =1+1"),
        ("-5", "-5"),
        ("a=b", "a=b"),
    ] {
        let mut one = runs().swap_remove(0);
        one.0.run.name = name.into();
        let rows = csv_of(&[one]);
        assert_eq!(rows[0]["run_name"], cell);
        let figures = rows.iter().flat_map(|row| row.iter());
        assert!(
            figures.filter(|(key, _)| key.ends_with("_percent")).all(|(_, c)| !c.starts_with('\''))
        );
    }
}

#[test]
fn csv_has_a_row_for_each_direction() {
    let all = runs();
    let rows = csv_of(&all);
    let expected: usize = all.iter().map(|(record, _)| record.measurements.len()).sum();
    assert_eq!(rows.len(), expected, "they all only read; the one that failed has a row, too");
    let first = &rows[0];
    assert_eq!(first["run_name"], "db17-after-firmware");
    assert_eq!(first["drive_serial"], "S64HNE0R500123");
    assert_eq!(
        (&*first["rw"], &*first["bs_bytes"], &*first["direction"]),
        ("read", "262144", "read")
    );
    let figure = |name: &str| first[name].parse::<f64>().expect(name);
    assert!(figure("iops_low") < figure("iops") && figure("iops") < figure("iops_high"));
    assert_eq!(first["interval"], "confidence 0.95");
    assert_eq!((&*first["validity"], &*first["verdict"]), ("VALID", "PASS"));
    assert_eq!(rows[6]["validity"], "INVALID");
    assert!(rows[6]["reservations"].starts_with("blocks-not-written: "));
    let failed = rows.iter().find(|row| row["end"] == "failed").expect("one failed");
    assert_eq!(
        (&*failed["failure"], &*failed["iops"], &*failed["errors"]),
        ("EIO at 4096", "", "")
    );
    assert!(rows.iter().flat_map(HashMap::values).all(|cell| !cell.contains('\u{1b}')));
}

#[test]
fn parquet_equals_csv() {
    let all = runs();
    let judged: Vec<Judged<'_>> = all.iter().map(judged).collect();
    let bytes = export("parquet", Results::Runs(&judged));
    let table = export("csv", Results::Runs(&judged));
    let mut table = csv::Reader::from_reader(table.as_slice());
    let columns = table.headers().expect("CSV").clone();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("Parquet");
    let csv = csv_of(&all);
    let mut count = 0;
    for (row, expected) in reader.get_row_iter(None).expect("rows").zip(&csv) {
        let row = row.expect("a row");
        let names: Vec<&str> = row.get_column_iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, columns.iter().collect::<Vec<_>>());
        for (name, field) in row.get_column_iter() {
            let text = match field {
                Field::Null => String::new(),
                Field::Str(text) => text.chars().filter(|c| !c.is_control()).collect(),
                Field::Long(count) => count.to_string(),
                Field::Double(figure) => figure.to_string(),
                other => panic!("{name}: {other:?}"),
            };
            let expected: String = expected[name].chars().filter(|c| *c != ' ').collect();
            assert_eq!(text.replace(' ', ""), expected, "{name}");
        }
        count += 1;
    }
    assert_eq!(count, csv.len());
}

#[test]
fn nothing_to_export_is_a_table_without_rows() {
    let bytes = export("csv", Results::Runs(&[]));
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
    let bytes = export("parquet", Results::Runs(&[]));
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("Parquet");
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn every_format_is_offered_and_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/export.md");
    let page = std::fs::read_to_string(page).expect("docs/reference/export.md").to_lowercase();
    let all = runs();
    let runs: Vec<Judged<'_>> = all.iter().map(judged).collect();
    let sides = [0, 1].map(|n| Side { label: n.to_string(), records: vec![&all[0].0] });
    let comparison = compare(&sides, &ClaimBook::builtin());
    let status = comparison.exit_status(&[]);
    let compared = Compared { comparison: &comparison, rulings: &[], status, at_ns: 0 };
    for (format, commands) in FORMATS {
        assert!(!commands.is_empty() && page.contains(format.name()), "{format:?}");
        for command in *commands {
            let results = match command {
                Offers::Show => Results::Runs(&runs[..1]),
                Offers::Export => Results::Runs(&runs),
                Offers::Compare => Results::Comparison(compared),
            };
            let exported = format.export(results).expect("it has a form");
            assert!(!exported.is_empty(), "{format:?} of {command:?}");
            assert!(format.is_binary() || String::from_utf8(exported).is_ok(), "{format:?}");
        }
    }
}

#[test]
fn a_running_measurement_has_counters_for_prometheus() {
    let mut latency = iodyno_model::Histogram::default();
    [900, 1500, 70_000, 20_000_000_000].iter().for_each(|ns| latency.record(*ns));
    let (target, direction) = ("/mnt/\"a\" b", iodyno_model::Direction::Read);
    let counts =
        LiveCounts { target, direction, ios: 4, bytes: 16_384, errors: 1, latency: &latency };
    let metrics = LiveMetrics {
        run: None,
        now: None,
        done: 2,
        left_ns: 1_500_000_000,
        temperature_c: Some(41.0),
        counts: vec![counts],
    };
    let text = metrics.to_string();
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE iodyno_live_ios counter\n"));
    let lines = text.lines().map(|line| Ok(line.to_owned()));
    let scrape = prometheus_parse::Scrape::parse(lines).expect("the text format");
    let buckets = scrape.samples.iter().find_map(|sample| match &sample.value {
        prometheus_parse::Value::Histogram(buckets) => Some(buckets),
        _ => None,
    });
    let buckets = buckets.expect("a histogram");
    assert!(buckets.windows(2).all(|pair| pair[0].count <= pair[1].count), "{buckets:?}");
    let below = |le: f64| buckets.iter().find(|one| one.less_than == le).expect("le").count;
    assert_eq!((below(1.024e-6), below(2.048e-6), below(f64::INFINITY)), (1.0, 2.0, 4.0));
    assert!(text.contains("target=\"/mnt/\\\"a\\\" b\",direction=\"read\"} 16384\n"), "{text}");
    assert!(text.contains("iodyno_live_left_seconds 1.5\n"), "{text}");
}
