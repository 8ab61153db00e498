//! Tests the memory use of `import` relative to its input.

use crate::common::World;
use serde_json::{Map, Value, json};

/// JSON+ of `jobs` jobs, indented as by fio.
fn report(jobs: usize) -> String {
    let percents = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99];
    let percentiles = percents.map(|percent| (format!("{percent}.000000"), json!(75_264)));
    let bins: Map<String, Value> =
        (0..210).map(|n| (format!("{}", 45_312 + n * 1024), json!(1 + n % 7 * 90))).collect();
    let clat = json!({
        "min": 45_000, "max": 3_372_420, "mean": 80_627.4, "stddev": 81_551.2, "N": 12_191,
        "percentile": Map::from_iter(percentiles), "bins": bins,
    });
    let job = |n: usize| {
        json!({
            "jobname": format!("job{n}"), "groupid": 0, "error": 0, "elapsed": 2,
            "job options": { "name": format!("job{n}"), "rw": "randread", "bs": "4k" },
            "read": {
                "io_bytes": 49_934_336, "total_ios": 12_191, "runtime": 1001,
                "clat_ns": clat, "lat_ns": clat,
            },
            "job_runtime": 1000, "usr_cpu": 1.5, "sys_cpu": 5.0,
        })
    };
    let jobs: Vec<Value> = (0..jobs).map(job).collect();
    serde_json::to_string_pretty(&json!({ "fio version": "fio-3.42", "jobs": jobs })).unwrap()
}

/// Peak memory of the import of `jobs` jobs, and the length of their report, bytes.
fn peak(world: &World, jobs: usize) -> (f64, f64) {
    let report = report(jobs);
    std::fs::write(world.path("report.json"), &report).unwrap();
    let peak_kib = world.peak_kib(&["import", "--name", &jobs.to_string(), "report.json"]);
    (peak_kib as f64 * 1024.0, report.len() as f64)
}

#[test]
fn memory_grows_little_more_than_a_report_does() {
    let world = World::new();
    let ((least, short), (most, long)) = (peak(&world, 500), peak(&world, 1500));
    let for_each_byte = (most - least) / (long - short);
    assert!(for_each_byte < 1.5, "{for_each_byte:.2} bytes: {least} {short}, {most} {long}");
}
