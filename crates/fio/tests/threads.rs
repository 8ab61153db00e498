//! Sums over threads: CPU time, and rates of jobs that ended at different times.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

use iodyno_fio::read::text;
use iodyno_model::{Direction, Measurement};
use serde_json::Value;

fn fio(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("fio")
        .current_dir(&folder)
        .args(["--filename=data", "--size=8m", "--bs=4k", "--eta=never"])
        .args(arguments)
        .output()
        .expect("these tests need fio: make deps");
    String::from_utf8(output.stdout).unwrap()
}

/// CPU time for each I/O, ns.
fn cpu_ns(of: &Measurement) -> f64 {
    let cpu = of.cpu.unwrap();
    let ios: u64 = of.total.iter().filter_map(|side| side.ios).sum();
    let elapsed_ns = of.account.as_ref().unwrap().elapsed_ns;
    (cpu.user + cpu.system) * elapsed_ns as f64 / ios as f64
}

/// fio prints the mean over threads as a job's; CPU time does not depend on it.
#[test]
fn cpu_time_is_that_of_all_threads_in_every_format() {
    let job = ["--name=a", "--rw=randread", "--numjobs=4", "--time_based", "--runtime=1"];
    let together = fio(&[&job[..], &["--group_reporting", "--output-format=normal,json"]].concat());
    let (json, normal) = together.split_once("\n}\n").unwrap();
    let document = format!("{json}\n}}\n");
    let printed: Value = serde_json::from_str(&document[document.find('{').unwrap()..]).unwrap();
    let number = |name: &str| printed["jobs"][0].pointer(name).unwrap().as_f64().unwrap();
    // Normal output has only the longest run time.
    let longest = number("/read/runtime") * 4.0 / number("/job_runtime");
    let json = text("", &document).measurements.remove(0);
    let normal = text("", normal).measurements.remove(0);
    let printed = fio(&[&job[..], &["--output-format=json"]].concat());
    let apart = text("", &printed).measurements;
    let [apart] = &apart[..] else { panic!("{apart:?}") };
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let of_thread = |of: &Value| of["usr_cpu"].as_f64().unwrap() + of["sys_cpu"].as_f64().unwrap();
    let of_threads: f64 = printed["jobs"].as_array().unwrap().iter().map(of_thread).sum();
    let of_apart = apart.cpu.unwrap();
    let percent = (of_apart.user + of_apart.system) * 100.0;
    assert!((percent / of_threads - 1.0).abs() < 0.03, "{percent} {of_threads}");
    let (of_json, of_normal) = (cpu_ns(&json), cpu_ns(&normal));
    let longer = of_normal / of_json;
    assert!((0.97..longest * 1.03).contains(&longer), "{of_normal} {of_json} {longest}");
    let (json, normal) = (json.cpu.unwrap(), normal.cpu.unwrap());
    assert!((json.user / normal.user - 1.0).abs() < 0.05, "{json:?} {normal:?}");
    assert!((json.system / normal.system - 1.0).abs() < 0.05, "{json:?} {normal:?}");
    assert!(json.busiest_thread <= (json.user + json.system) / 3.9, "{json:?}");
}

/// Up to 3.3 JSON has no sum of run times, and no version lists `group_reporting`: one entry
/// represents all four clones.
#[test]
fn one_entry_of_several_clones_is_all_of_them() {
    let job = r#"{ "jobname": "a", "groupid": 0, "error": 0, "usr_cpu": 2.0, "sys_cpu": 10.0,
        "job options": { "numjobs": "4" },
        "read": { "total_ios": 4000, "io_bytes": 16384000, "runtime": 1000 } }"#;
    let cpu = |jobs: &[&str]| {
        let jobs = jobs.join(", ");
        let json = format!(r#"{{ "fio version": "fio-2.16", "jobs": [ {jobs} ] }}"#);
        let found = text("", &json).measurements;
        let [one] = &found[..] else { panic!("{found:?}") };
        one.cpu.unwrap()
    };
    let whole = cpu(&[job]);
    assert!((whole.user - 0.08).abs() < 1e-9 && (whole.system - 0.4).abs() < 1e-9, "{whole:?}");
    let apart = cpu(&[job, job, job, job]);
    assert!((apart.user - 0.08).abs() < 1e-9 && (apart.busiest_thread - 0.12).abs() < 1e-9);
}

#[test]
fn cpu_time_that_is_not_printed_is_not_known() {
    let json = r#"{ "fio version": "fio-3.33", "jobs": [ { "jobname": "a", "groupid": 0,
        "error": 0, "read": { "total_ios": 1, "io_bytes": 4096, "runtime": 1 } } ] }"#;
    assert_eq!(text("", json).measurements[0].cpu, None);
}

/// One clone ran for 44 ms and the other for 193: together they took 193 ms.
#[test]
fn rates_of_clones_are_of_the_time_of_all() {
    let clone = |ios: u64, ms: u64, start: &str| {
        format!(
            r#"{{ "jobname": "a", "groupid": 0, "error": 0, "job_runtime": {ms}, {start}
            "job options": {{ "numjobs": "2" }}, "usr_cpu": 1, "sys_cpu": 2,
            "read": {{ "total_ios": {ios}, "io_bytes": {}, "runtime": {ms},
            "iops": {}, "bw": {} }} }}"#,
            ios * 4096,
            ios as f64 * 1000.0 / ms as f64,
            ios * 4 * 1000 / ms,
        )
    };
    let rates = |clones: [String; 2]| {
        let [first, second] = clones;
        let json = format!(
            r#"{{ "fio version": "fio-3.36", "timestamp": 1700000000,
            "jobs": [ {first}, {second} ] }}"#
        );
        let found = text("", &json).measurements;
        let [one] = &found[..] else { panic!("{found:?}") };
        let side = one.result(Direction::Read).unwrap();
        (side.iops.unwrap(), side.bandwidth.unwrap(), one.duration_ns)
    };
    let (iops, bandwidth, duration_ns) = rates([clone(1024, 44, ""), clone(1024, 193, "")]);
    assert_eq!(duration_ns, Some(193_000_000));
    assert!((iops.value - 2048.0 / 0.193).abs() < 1.0, "{iops:?}");
    assert!((bandwidth.value - 2048.0 * 4096.0 / 0.193).abs() < 4096.0, "{bandwidth:?}");
    assert!(iops.low() <= iops.value && iops.value <= iops.high());
    // The second one began when the first had ended.
    let at = |ms: u64| format!("\"job_start\": {},", 1_700_000_000_000 + ms);
    let (iops, ..) = rates([clone(1024, 44, &at(0)), clone(1024, 193, &at(100))]);
    assert!((iops.value - 2048.0 / 0.293).abs() < 1.0, "{iops:?}");
}
