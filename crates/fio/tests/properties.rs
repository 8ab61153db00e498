//! Properties of every report, and of every input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::fs;

use common::{fio, members};
use iodyno_fio::out::{
    LogColumns, LogRow, LogWriter, Report, ReportJob, Reporting, json, json_plus, normal, terse,
};
use iodyno_fio::read;
use iodyno_job::Job;
use iodyno_model::{
    CpuUse, Direction, DirectionResult, DiskUse, ErrorCount, Estimate, Histogram, JobStats,
    Measurement, Part, RateSeries, Window, Workload,
};
use proptest::prelude::*;
use serde_json::Value;

fn result(direction: Direction, latencies_ns: &[u64], seconds: u64) -> DirectionResult {
    let mut latency = Histogram::default();
    latencies_ns.iter().for_each(|ns| latency.record(*ns));
    let ios = latency.count();
    let mut series = RateSeries::default();
    for n in 0..10 * seconds {
        series.push(Window {
            start_ns: n * 100_000_000,
            duration_ns: 100_000_000,
            ios: Some(ios),
            bytes: Some(4096 * ios),
            latency_sum_ns: latency.sum_ns(),
            ..Window::default()
        });
    }
    DirectionResult {
        ios: Some(ios),
        bytes: Some(4096 * ios),
        whole_ios: Some(ios),
        whole_bytes: Some(4096 * ios),
        errors: Some(0),
        short_ios: Some(0),
        iops: Some(Estimate::bare(ios as f64 / seconds as f64)),
        bandwidth: Some(Estimate::bare(4096.0 * ios as f64 / seconds as f64)),
        latency_mean: latency.mean_ns().map(Estimate::bare),
        latency,
        series,
        ..DirectionResult::unknown(direction)
    }
}

fn measurement(name: &str, clones: &[(Vec<u64>, Vec<u64>)], seconds: u64) -> Measurement {
    let account = JobStats {
        elapsed_ns: seconds * 1_000_000_000,
        counted_ns: seconds * 1_000_000_000,
        cpu: CpuUse { user: 0.25, system: 0.5, busiest_thread: 0.75, waited: None },
        ..JobStats::default()
    };
    let parts = clones.iter().enumerate().map(|(n, (reads, writes))| Part {
        target: "/dev/null".into(),
        clone: Some(n as u32),
        results: vec![
            result(Direction::Read, reads, seconds),
            result(Direction::Write, writes, seconds),
        ],
        account: Some(account.clone()),
        failure: None,
    });
    Measurement {
        targets: vec!["/dev/null".into()],
        workload: Workload { iodepth: Some(1), ..Workload::default() },
        source: "native 0.0.0".into(),
        started_ns: Some(0),
        duration_ns: Some(seconds * 1_000_000_000),
        parts: parts.collect(),
        ..Measurement::unknown(name)
    }
}

fn report<'a>(measurements: &'a [Measurement], reporting: &Reporting) -> Report<'a> {
    let job = |measurement: &'a Measurement| ReportJob {
        measurement,
        options: vec![("name".into(), measurement.name.clone())],
        reporting: reporting.clone(),
    };
    Report {
        version: "0.0.0",
        written_ns: 1_795_272_193_388_000_000,
        pid: 1,
        global_options: Vec::new(),
        jobs: measurements.iter().map(job).collect(),
        disks: vec![DiskUse { name: "nvme0n1".into(), elapsed_ns: 1, ..DiskUse::default() }],
        idleness: None,
    }
}

fn latencies() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![Just(0), 1_u64..1 << 40, Just(u64::MAX >> 1)], 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reports_parse_and_count_every_io(
        name: String,
        clones in prop::collection::vec((latencies(), latencies()), 1..4),
        seconds in 1_u64..5,
        group: bool,
    ) {
        let measurements = [measurement(&name, &clones, seconds), measurement("b", &clones, seconds)];
        let reporting = Reporting { group, ..Reporting::default() };
        let report = report(&measurements, &reporting);
        let reads: usize = clones.iter().map(|(reads, _)| reads.len()).sum();
        let writes: usize = clones.iter().map(|(_, writes)| writes.len()).sum();
        let document: Value = serde_json::from_str(&json_plus(&report)).unwrap();
        let jobs = document["jobs"].as_array().unwrap();
        prop_assert_eq!(jobs.len(), if group { 1 } else { 2 * clones.len() });
        prop_assert_eq!(&jobs[0]["jobname"], &name);
        for (direction, ios) in [("read", 2 * reads as u64), ("write", 2 * writes as u64)] {
            let of = |pick: &dyn Fn(&Value) -> u64| -> u64 {
                jobs.iter().map(|job| pick(&job[direction])).sum()
            };
            prop_assert_eq!(of(&|one| one["total_ios"].as_u64().unwrap()), ios);
            prop_assert_eq!(of(&|one| one["lat_ns"]["N"].as_u64().unwrap()), ios);
            prop_assert_eq!(of(&|one| one["clat_ns"]["N"].as_u64().unwrap()), ios);
            prop_assert_eq!(of(&|one| one["slat_ns"]["N"].as_u64().unwrap()), 0);
            let bins = |one: &Value| {
                let bins = one["lat_ns"]["bins"].as_object();
                bins.map_or(0, |bins| bins.values().map(|n| n.as_u64().unwrap()).sum())
            };
            prop_assert_eq!(of(&bins), ios);
        }
        for job in jobs {
            prop_assert_eq!(&job["usr_cpu"], &Value::from(25.0));
            let classes = ["latency_ns", "latency_us", "latency_ms"];
            let shares = classes.iter().flat_map(|class| job[*class].as_object().unwrap().values());
            let sum: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
            prop_assert!(sum == 0.0 || (sum - 100.0).abs() < 0.5, "{}", sum);
        }
        let read = read::json(&json_plus(&report)).unwrap();
        prop_assert_eq!(read.len(), jobs.len());
        for version in 2..=5 {
            let text = terse(&report, version);
            prop_assert_eq!(text.lines().count(), jobs.len());
            let fields = |line: &str| line.split(';').count();
            let first = fields(text.lines().next().unwrap());
            prop_assert!(text.lines().all(|line| fields(line) == first));
        }
        prop_assert!(normal(&report).contains("Run status group 0 (all jobs):"));
    }

    #[test]
    fn any_text_is_read_or_refused(text: String) {
        let _ = read::json(&text);
        let _ = read::json(&format!("{{\n  \"fio version\" : \"fio-3.33\",\n{text}"));
    }
}

#[test]
fn clone_rates_add_up_with_group_reporting_only() {
    let clones = vec![(vec![1000; 100], vec![]), (vec![2000; 300], vec![])];
    let measurements = [measurement("a", &clones, 2)];
    let rates = |group| {
        let reporting = Reporting { group, ..Reporting::default() };
        let document: Value =
            serde_json::from_str(&json(&report(&measurements, &reporting))).unwrap();
        let jobs = document["jobs"].as_array().unwrap().clone();
        let of = |name: &str| -> Vec<f64> {
            jobs.iter().map(|job| job["read"][name].as_f64().unwrap()).collect()
        };
        [of("iops_mean"), of("iops_samples"), of("bw_agg"), of("iops")]
    };
    // Windows of 100 ms contain all I/Os: 1000/s and 3000/s.
    assert_eq!(
        rates(false),
        [vec![1000.0, 3000.0], vec![4.0, 4.0], vec![100.0, 100.0], vec![50.0, 150.0]]
    );
    assert_eq!(rates(true), [vec![4000.0], vec![8.0], vec![100.0], vec![200.0]]);
}

#[test]
fn document_states_that_clat_repeats_lat() {
    let mut measurements = [measurement("a", &[(vec![5000], vec![])], 1)];
    measurements[0].total = measurements[0].parts[0].results.clone();
    let text = json(&report(&measurements, &Reporting::default()));
    let about =
        |name| members(&text).into_iter().find(|member| member.1 == name).unwrap().2.to_owned();
    assert!(about("latencies").contains("clat_ns repeats lat_ns"));
    assert_eq!(about("fio version"), "\"fio-3.42-iodyno-0.0.0\"");
    assert_eq!(about("source"), "\"native 0.0.0\"");
}

/// A damaged report is refused with its line, or read; nothing panics.
#[test]
fn mutated_documents_are_read_or_refused() {
    let measurements = [measurement("a", &[(vec![5000; 9], vec![70; 3])], 1)];
    let good = json_plus(&report(&measurements, &Reporting::default())).into_bytes();
    // A fixed sequence (Knuth's MMIX), so that failures are reproducible.
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut refused = 0;
    for _ in 0..3000 {
        let mut bad = good.clone();
        for _ in 0..=random(3) {
            let at = random(bad.len());
            match random(4) {
                0 => bad[at] = b"{}[]\",:-9eE.x\n"[random(14)],
                1 => bad.truncate(at),
                2 => drop(bad.drain(at..(at + random(40)).min(bad.len()))),
                _ => {
                    let digits = b"99999999999999999999999";
                    bad.splice(at..at, digits[..random(digits.len())].iter().copied());
                }
            }
            if bad.is_empty() {
                break;
            }
        }
        match read::documents(&String::from_utf8_lossy(&bad)) {
            Ok(documents) => {
                // Whatever was read can be written.
                let reporting = Reporting { group: true, ..Reporting::default() };
                for document in &documents {
                    let twice = [&document.measurements[..], &document.measurements[..]].concat();
                    let report = report(&twice, &reporting);
                    let _ = (json_plus(&report), normal(&report), terse(&report, 5));
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn documents_are_found_among_noise() {
    let measurements = [measurement("a", &[(vec![5000; 9], vec![])], 1)];
    let reporting = Reporting::default();
    let mut second = report(&measurements, &reporting);
    let first = json(&second);
    // The same run, half a second later, and another run.
    second.written_ns += 500_000_000;
    let later = json(&second);
    second.written_ns += 60_000_000_000;
    let another = json(&second);
    let output = format!(
        "fio: note {{\n{first}fio: terminating on signal 2\n\r{later}{{ }}\n{another}\ncut {{"
    );
    assert_eq!(read::documents(&output).unwrap().len(), 3);
    assert_eq!(read::json(&output).unwrap().len(), 2);
    let cut = &output[..output.len() / 2];
    let error = read::documents(cut).unwrap_err().to_string();
    assert!(error.starts_with("line "), "{error}");
    let old = another.replace("fio-3.42", "fio-2.16");
    assert_eq!(read::json(&old).unwrap().len(), 1);
    assert!(matches!(read::json("nothing"), Err(read::ReadError::NoDocument)));
}

/// fio's own logs, rewritten row by row by iodyno, are identical.
#[test]
fn logs_are_written_as_fio_writes_them() {
    let directory = tempfile::tempdir().unwrap();
    let job =
        "[a]\nioengine=null\nrw=randrw\nsize=1m\nwrite_lat_log=x\nwrite_bw_log=x\nlog_offset=1\n";
    fio(directory.path(), job);
    for kind in ["lat", "clat", "bw"] {
        let path = directory.path().join(format!("x_{kind}.1.log"));
        let fios = fs::read_to_string(&path).unwrap();
        let ours = directory.path().join("ours");
        let columns = LogColumns { offset: true, ..LogColumns::default() };
        let mut log = LogWriter::create(&ours, columns).unwrap();
        for line in fios.lines() {
            let fields: Vec<u64> = line.split(", ").map(|field| field.parse().unwrap()).collect();
            let [time_ms, value, direction, bs, offset, 0] = fields[..] else { panic!("{line}") };
            log.row(&LogRow {
                time_ms,
                value,
                max: 0,
                direction: [Direction::Read, Direction::Write][direction as usize],
                bs,
                offset,
                priority: 0,
                issue_time_ns: 0,
            })
            .unwrap();
        }
        log.finish().unwrap();
        assert!(fios.lines().count() > 100, "{kind}");
        assert_eq!(fs::read_to_string(&ours).unwrap(), fios, "{kind}");
    }
}

/// A measurement of reads that all failed with EIO; the job went on.
fn failed() -> Measurement {
    let mut failed = measurement("a", &[(vec![], vec![])], 1);
    let part = &mut failed.parts[0];
    part.results[0].errors = Some(7);
    let account = part.account.as_mut().unwrap();
    account.errors =
        vec![ErrorCount { errno: 5, direction: Direction::Read, count: 7, offsets: vec![0] }];
    failed
}

#[test]
fn failed_ios_are_reported_as_ios() {
    let reporting = Reporting { continue_on_error: true, ..Reporting::default() };
    let mut measurements = [failed()];
    let text = normal(&report(&measurements, &reporting));
    for line in [
        "a: (groupid=0, jobs=1): err= 5 (Input/output error): pid=",
        "     issued rwts: total=7,0,0,0 ",
        "     errors    : total=7, first_error=5/<Input/output error>\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let document: Value = serde_json::from_str(&json(&report(&measurements, &reporting))).unwrap();
    let read = &document["jobs"][0]["read"];
    assert_eq!((&read["total_ios"], &read["io_bytes"]), (&7.into(), &0.into()));
    // fio's own count has them already.
    measurements[0].source = "fio 3.42".into();
    measurements[0].parts[0].results[0].ios = Some(7);
    let text = normal(&report(&measurements, &reporting));
    assert!(text.contains("issued rwts: total=7,0,0,0 "), "{text}");
}

#[test]
fn a_job_without_io_is_reported_if_it_ran() {
    let mut measurements = [measurement("a", &[(vec![], vec![])], 1)];
    measurements[0].workload.iodepth = None;
    let header = "a: (groupid=0, jobs=1): err= 0: pid=";
    assert!(normal(&report(&measurements, &Reporting::default())).contains(header));
    let document: Value =
        serde_json::from_str(&json(&report(&measurements, &Reporting::default()))).unwrap();
    assert_eq!(document["jobs"][0]["latency_depth"], 0);
    let account = measurements[0].parts[0].account.as_mut().unwrap();
    (account.elapsed_ns, account.counted_ns) = (0, 0);
    assert!(!normal(&report(&measurements, &Reporting::default())).contains(header));
}

#[test]
fn percentiles_have_the_decimals_of_their_list() {
    let measurements = [measurement("a", &[(vec![5000; 9], vec![])], 1)];
    for (list, expected) in [
        ("50:99", " 50th=[ 5024],  99th=["),
        ("99.0:50", " 50.0th=[ 5024], 99.0th=["),
        ("50:99.999", " 50.000th=[ 5024], 99.999th=["),
    ] {
        let mut job = Job::default();
        iodyno_job::apply(&mut job, "percentile_list", list).unwrap();
        let text = normal(&report(&measurements, &Reporting::of(&job)));
        assert!(text.contains(expected), "{list}: {text}");
    }
}
