//! Reports with the values that are in them: those that others published, where
//! IODYNO_CORPUS names their folder (`json/`, and `matched/` unpacked), else
//! reports that the fio of this machine makes for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use iodyno_fio::read::{ReadError, documents};
use iodyno_model::{Bin, Direction, Measurement};
use serde_json::Value;

/// Where the reports are, and at least how many jobs and percentiles they have.
struct Corpus {
    folder: PathBuf,
    jobs: usize,
    percentiles: usize,
    _made: Option<tempfile::TempDir>,
}

fn corpus() -> Corpus {
    if let Ok(folder) = std::env::var("IODYNO_CORPUS") {
        return Corpus { folder: folder.into(), jobs: 20, percentiles: 1000, _made: None };
    }
    let made = tempfile::tempdir().unwrap();
    for (name, rw) in [("reads", "randread"), ("writes", "write"), ("mix", "randrw")] {
        make(made.path(), name, rw);
    }
    Corpus { folder: made.path().into(), jobs: 6, percentiles: 100, _made: Some(made) }
}

/// A report of the fio of this machine, and what another parser reads in it.
fn make(folder: &Path, name: &str, rw: &str) {
    let (json, matched) = (folder.join("json"), folder.join("matched"));
    fs::create_dir_all(&json).unwrap();
    fs::create_dir_all(&matched).unwrap();
    let output = std::process::Command::new("fio")
        .current_dir(folder)
        .args(["--size=1m", "--bs=4k", "--numjobs=2", "--lat_percentiles=1"])
        .args(["--clat_percentiles=1", "--output-format=json+", "--eta=never"])
        .args([format!("--name={name}"), format!("--rw={rw}"), format!("--filename={name}")])
        .output()
        .expect("these tests need fio: make deps");
    let text = String::from_utf8(output.stdout).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let jobs = report["jobs"].as_array().unwrap().iter().map(|job| {
        let used = ["read", "write"].into_iter().filter(|side| job[side]["total_ios"] != 0);
        let sides = used.map(|side| {
            let mut values = job[side].clone();
            values["lat_mean_ns"] = job[side]["lat_ns"]["mean"].clone();
            (side.to_owned(), values)
        });
        serde_json::json!({
            "jobname": job["jobname"], "groupid": job["groupid"], "error": job["error"],
            "ddirs": sides.collect::<serde_json::Map<_, _>>(),
        })
    });
    let meta = serde_json::json!({
        "fio_version": "3", "expected": [{ "jobs": jobs.collect::<Vec<_>>() }],
    });
    fs::write(json.join(format!("{name}.txt")), &text).unwrap();
    fs::write(json.join(format!("{name}.meta.json")), meta.to_string()).unwrap();
    fs::write(matched.join(format!("{name}.jsonplus.json")), text).unwrap();
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().is_some_and(|path| path.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn near(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-4 * theirs.abs().max(1.0)
}

#[test]
fn published_documents_hold_what_they_say() {
    let (mut read, corpus) = (0, corpus());
    for path in files(&corpus.folder.join("json"), ".txt") {
        let text = fs::read_to_string(&path).unwrap();
        let meta = fs::read_to_string(path.with_extension("meta.json")).unwrap();
        let meta: Value = serde_json::from_str(&meta).unwrap();
        let title = path.display();
        if meta["fio_version"].as_str().unwrap().starts_with("2.") {
            assert!(documents(&text).is_err(), "{title}");
            continue;
        }
        let found = documents(&text).unwrap_or_else(|error| panic!("{title}: {error}"));
        let expected = meta["expected"].as_array().unwrap();
        assert_eq!(found.len(), expected.len(), "{title}");
        for (document, expected) in found.iter().zip(expected) {
            let jobs = expected["jobs"].as_array().unwrap();
            assert_eq!(document.measurements.len(), jobs.len(), "{title}");
            for (measurement, job) in document.measurements.iter().zip(jobs) {
                compare(measurement, job, &path);
                read += 1;
            }
        }
    }
    assert!(read >= corpus.jobs, "{read}");
}

fn compare(measurement: &Measurement, job: &Value, path: &Path) {
    let title = format!("{} {}", path.display(), measurement.name);
    assert_eq!(measurement.name, job["jobname"].as_str().unwrap(), "{title}");
    assert_eq!(u64::from(measurement.group), job["groupid"].as_u64().unwrap(), "{title}");
    let error = job["error"].as_i64().unwrap();
    assert_eq!(i64::from(measurement.account.as_ref().unwrap().error), error, "{title}");
    for (name, expected) in job["ddirs"].as_object().unwrap() {
        let direction = match name.as_str() {
            "read" => Direction::Read,
            "write" => Direction::Write,
            "trim" => Direction::Trim,
            _ => Direction::Mixed,
        };
        let result = measurement.result(direction).unwrap_or_else(|| panic!("{title} {name}"));
        let checks = [
            ("total_ios", result.ios.map(|ios| ios as f64)),
            ("io_bytes", result.bytes.map(|bytes| bytes as f64)),
            ("iops", result.iops.map(|iops| iops.value)),
            ("bw_bytes", result.bandwidth.map(|rate| rate.value)),
            ("lat_mean_ns", result.latency_mean.map(|mean| mean.value)),
        ];
        for (name, ours) in checks {
            if let Some(theirs) = expected[name].as_f64() {
                let ours = ours.unwrap_or_else(|| panic!("{title}: no {name}"));
                // Before 3.2 there were whole KiB/s only.
                let near = near(ours, theirs)
                    || name == "bw_bytes" && (0.0..1024.0).contains(&(ours - theirs));
                assert!(near, "{title}: {name} {ours} {theirs}");
            }
        }
    }
}

/// Percentiles from the bins are those that fio printed.
#[test]
fn bins_give_fios_percentiles() {
    let (mut compared, corpus) = (0, corpus());
    for path in files(&corpus.folder.join("matched"), "jsonplus.json") {
        let text = fs::read_to_string(&path).unwrap();
        let title = path.display();
        let found = match documents(&text) {
            Ok(found) => found,
            Err(ReadError::TooOld { .. }) => continue,
            Err(error) => panic!("{title}: {error}"),
        };
        let raw: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
        for (measurement, job) in found[0].measurements.iter().zip(raw["jobs"].as_array().unwrap())
        {
            for result in &measurement.total {
                let name = match result.direction {
                    Direction::Read => "read",
                    Direction::Write => "write",
                    Direction::Trim => "trim",
                    Direction::Mixed => "mixed",
                };
                let clat = result.split.as_ref().map(|split| &split.completion);
                for (kind, histogram) in [("clat_ns", clat), ("lat_ns", Some(&result.latency))] {
                    let fios = &job[name][kind]["percentile"];
                    let (Some(fios), Some(histogram)) = (fios.as_object(), histogram) else {
                        continue;
                    };
                    if histogram.count() == 0 {
                        continue;
                    }
                    if let Some(n) = job[name][kind]["N"].as_u64() {
                        assert_eq!(histogram.count(), n, "{title} {name} {kind}");
                    }
                    for (percent, ns) in fios {
                        let rank =
                            percent.parse::<f64>().unwrap() / 100.0 * histogram.count() as f64;
                        let mut seen = 0;
                        let bin = histogram.bins().find(|bin| {
                            seen += bin.count;
                            seen as f64 >= rank
                        });
                        let Some(Bin { low_ns, high_ns, .. }) = bin else { continue };
                        let ns = ns.as_u64().unwrap();
                        assert!(
                            (low_ns..=high_ns).contains(&ns) || ns == 0,
                            "{title} {name} {kind} {percent}: {ns} {low_ns}..{high_ns}"
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared >= corpus.percentiles, "{compared}");
}
