//! fio's output, and its comparison with iodyno's.

// Each test binary uses some of it.
#![allow(dead_code, unreachable_pub)]

use std::path::Path;
use std::process::Command;

use iodyno_fio::out::{Report, ReportJob, Reporting};
use iodyno_fio::read::Document;
use iodyno_model::Host;
use serde_json::Value;

/// Clones, groups and syncs.
pub const JOBS: &str = "\
[global]
filename=data
size=2m
lat_percentiles=1
clat_percentiles=1
slat_percentiles=1
[mix]
rw=randrw
ioengine=libaio
direct=1
iodepth=4
numjobs=2
[apart]
stonewall
rw=write
bs=8k
fsync=16
[together]
stonewall
rw=randread
numjobs=3
group_reporting
bs=16k
";

/// Output of fio for `job` in `directory`, in all formats at once: terse lines, the JSON+ document,
/// normal text.
pub fn fio(directory: &Path, job: &str) -> String {
    let file = directory.join("test.fio");
    std::fs::write(&file, job).unwrap();
    let output = Command::new("fio")
        .current_dir(directory)
        .args(["--output-format=normal,terse,json+", "--terse-version=5"])
        .arg(&file)
        .output()
        .expect("the tests run the real fio: install the package fio");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Splits fio's combined output into (terse lines, JSON, normal text).
pub fn parts(output: &str) -> (Vec<&str>, &str, &str) {
    let start = output.find("{\n  \"fio version\"").unwrap();
    let end = start + output[start..].find("\n}\n").unwrap() + 3;
    let terse = output[..start]
        .lines()
        .filter(|line| line.split(';').nth(1).is_some_and(|version| version.starts_with("fio-")));
    (terse.collect(), &output[start..end], &output[end..])
}

/// Normal text of fio's combined output, with the header before all formats.
pub fn alone(output: &str) -> String {
    let (terse, json, text) = parts(output);
    let front = &output[..output.find(json).unwrap()];
    let front = front.lines().filter(|line| !terse.contains(line));
    front.chain(text.lines()).map(|line| format!("{line}\n")).collect()
}

/// Report that should equal `document`, read from `output`. Its sections are already merged groups.
pub fn report<'a>(output: &str, document: &'a Document, reporting: &Reporting) -> Report<'a> {
    let json: Value = serde_json::from_str(parts(output).1).unwrap();
    let options = |job: &Value| {
        let options = job["job options"].as_object().unwrap().iter();
        options.map(|(name, value)| (name.clone(), value.as_str().unwrap().into())).collect()
    };
    let jobs = document.measurements.iter().zip(json["jobs"].as_array().unwrap());
    Report {
        version: "0.0.0",
        written_ns: document.written_ns.unwrap(),
        pid: 1,
        global_options: document.global_options.clone(),
        jobs: jobs
            .map(|(measurement, job)| ReportJob {
                measurement,
                options: options(job),
                reporting: reporting.clone(),
            })
            .collect(),
        disks: document.disks.clone(),
        idleness: None,
    }
}

/// Members of a JSON text as fio writes it, one per line: (depth, name, value).
pub fn members(json: &str) -> Vec<(usize, &str, &str)> {
    json.lines()
        .filter_map(|line| {
            let (name, value) = line.trim_start().strip_prefix('"')?.split_once("\" : ")?;
            Some((line.len() - line.trim_start().len(), name, value.trim_end_matches(',')))
        })
        .collect()
}

/// Compares two values: as numbers within `relative` of the larger (at least of 1) or within
/// `absolute`, else exactly.
pub fn near(ours: &str, fios: &str, relative: f64, absolute: f64) -> bool {
    let number = |text: &str| text.trim_end_matches('%').parse::<f64>().ok();
    match (number(ours), number(fios)) {
        (Some(a), Some(b)) => {
            (a - b).abs() <= (relative * a.abs().max(b.abs()).max(1.0)).max(absolute)
        }
        _ => ours == fios,
    }
}

/// A host without any facts.
pub fn host() -> Host {
    Host::default()
}
