//! Reports with their expected values: published ones from the folder in IODYNO_CORPUS, else
//! reports made by this machine's fio.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_fio::read::{documents, path, text};
use iodyno_model::{Bin, Direction, DirectionResult, JobStats, LatencyKind, Measurement};
use serde_json::Value;

/// Location of the reports, and the least number of jobs and percentiles in them.
struct Corpus {
    folder: PathBuf,
    jobs: usize,
    percentiles: usize,
    _made: tempfile::TempDir,
}

/// Corpus in `IODYNO_CORPUS` with `archive` unpacked, or one made by fio.
fn corpus(archive: &str) -> Corpus {
    let made = tempfile::tempdir().unwrap();
    if let Some(folder) = std::env::var_os("IODYNO_CORPUS").map(PathBuf::from) {
        let packed = folder.join(archive);
        let unpacked = match packed.is_file() {
            true => {
                let arguments = ["-xf".as_ref(), packed.as_os_str(), "-C".as_ref()];
                let tar = Command::new("tar").args(arguments).arg(made.path()).status();
                assert!(tar.unwrap().success());
                made.path().to_owned()
            }
            false => folder,
        };
        return Corpus { folder: unpacked, jobs: 40, percentiles: 1000, _made: made };
    }
    for (name, rw) in [("reads", "randread"), ("writes", "write"), ("mix", "randrw")] {
        make(made.path(), name, rw);
    }
    Corpus { folder: made.path().into(), jobs: 6, percentiles: 100, _made: made }
}

/// A report of this machine's fio, and what another parser reads in it.
fn make(folder: &Path, name: &str, rw: &str) {
    for part in ["json", "terse", "matched"] {
        fs::create_dir_all(folder.join(part)).unwrap();
    }
    let run = |output: &str| {
        let output = Command::new("fio")
            .current_dir(folder)
            .args(["--size=1m", "--bs=4k", "--numjobs=2", "--lat_percentiles=1"])
            .args(["--clat_percentiles=1", "--eta=never", output])
            .args([format!("--name={name}"), format!("--rw={rw}"), format!("--filename={name}")])
            .output()
            .expect("these tests need fio: make deps");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run("--output-format=json+,terse");
    let start = text.find("{\n").unwrap();
    let (terse, json) = text.split_at(start);
    let report: Value = serde_json::from_str(json).unwrap();
    let jobs = report["jobs"].as_array().unwrap().iter().map(|job| {
        let used = ["read", "write"].into_iter().filter(|side| job[side]["total_ios"] != 0);
        let sides = used.map(|side| {
            let mut values = job[side].clone();
            values["lat_mean_ns"] = job[side]["lat_ns"]["mean"].clone();
            values["runtime_ms"] = job[side]["runtime"].clone();
            (side.to_owned(), values)
        });
        serde_json::json!({
            "jobname": job["jobname"], "groupid": job["groupid"], "error": job["error"],
            "ddirs": sides.collect::<serde_json::Map<_, _>>(),
        })
    });
    let jobs: Vec<Value> = jobs.collect();
    let meta = |expected: Value| serde_json::json!({ "expected": expected }).to_string();
    let all = serde_json::json!([{ "jobs": jobs }]);
    fs::write(folder.join(format!("json/{name}.txt")), json).unwrap();
    fs::write(folder.join(format!("json/{name}.meta.json")), meta(all)).unwrap();
    fs::write(folder.join(format!("terse/{name}.txt")), terse).unwrap();
    // I/Os are not counted here.
    let lines = meta(jobs.into()).replace("total_ios", "not printed");
    fs::write(folder.join(format!("terse/{name}.meta.json")), lines).unwrap();
    fs::write(folder.join(format!("matched/{name}.jsonplus.json")), json).unwrap();
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

fn expected(path: &Path) -> Vec<Value> {
    let meta = fs::read_to_string(path.with_extension("meta.json")).unwrap();
    let meta: Value = serde_json::from_str(&meta).unwrap();
    meta["expected"].as_array().unwrap().clone()
}

/// Jobs as fio reports them: each clone separately.
struct Job<'a> {
    of: &'a Measurement,
    results: &'a [DirectionResult],
    account: Option<&'a JobStats>,
}

fn jobs(measurements: &[Measurement]) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for of in measurements {
        match of.parts.is_empty() {
            true => jobs.push(Job { of, results: &of.total, account: of.account.as_ref() }),
            false => jobs.extend(of.parts.iter().map(|part| Job {
                of,
                results: &part.results,
                account: part.account.as_ref(),
            })),
        }
    }
    jobs
}

#[test]
fn published_documents_match_expected_values() {
    let (mut read, corpus) = (0, corpus(""));
    for path in files(&corpus.folder.join("json"), ".txt") {
        let title = path.display().to_string();
        let found = text(&title, &fs::read_to_string(&path).unwrap());
        assert_eq!(found.problems, [], "{title}");
        let all = expected(&path);
        let all: Vec<&Value> = all.iter().flat_map(|one| one["jobs"].as_array().unwrap()).collect();
        let jobs = jobs(&found.measurements);
        assert_eq!(jobs.len(), all.len(), "{title}");
        for (job, expected) in jobs.iter().zip(all) {
            compare(job, expected, &title);
            read += 1;
        }
    }
    assert!(read >= corpus.jobs, "{read}");
}

#[test]
fn published_terse_lines_match_expected_values() {
    let (mut read, corpus) = (0, corpus(""));
    for path in files(&corpus.folder.join("terse"), ".txt") {
        let title = path.display().to_string();
        let found = text(&title, &fs::read_to_string(&path).unwrap());
        assert_eq!(found.problems, [], "{title}");
        let (jobs, all) = (jobs(&found.measurements), expected(&path));
        assert_eq!(jobs.len(), all.len(), "{title}");
        for (job, expected) in jobs.iter().zip(&all) {
            compare(job, expected, &title);
            read += 1;
        }
    }
    assert!(read >= corpus.jobs, "{read}");
}

fn compare(job: &Job<'_>, expected: &Value, title: &str) {
    let title = format!("{title} {}", job.of.name);
    assert_eq!(job.of.name, expected["jobname"].as_str().unwrap(), "{title}");
    assert_eq!(u64::from(job.of.group), expected["groupid"].as_u64().unwrap(), "{title}");
    let error = expected["error"].as_i64().unwrap();
    assert_eq!(i64::from(job.account.unwrap().error), error, "{title}");
    assert_eq!(job.of.failure().is_some(), error != 0, "{title}");
    let sides = expected["ddirs"].as_object().unwrap();
    for (name, expected) in sides {
        let direction = match name.as_str() {
            "read" => Direction::Read,
            "write" => Direction::Write,
            "trim" => Direction::Trim,
            // The total next to the parts is their sum.
            _ if sides.len() > 1 => continue,
            _ => Direction::Mixed,
        };
        let result = job.results.iter().find(|result| result.direction == direction);
        let result = result.unwrap_or_else(|| panic!("{title}: no {name}"));
        let stated = result.stated.as_deref().cloned().unwrap_or_default();
        let summaries =
            [("slat", &stated.submission), ("clat", &stated.completion), ("lat", &stated.total)];
        let mut checks: Vec<(String, Option<f64>, f64)> = vec![
            ("total_ios".to_owned(), result.ios.map(|ios| ios as f64), 0.0),
            ("io_bytes".to_owned(), result.bytes.map(|bytes| bytes as f64), 0.0),
            // Some versions print whole I/Os and whole KiB per second.
            ("iops".to_owned(), result.iops.map(|iops| iops.value), 1.0),
            ("bw_bytes".to_owned(), result.bandwidth.map(|rate| rate.value), 1024.0),
        ];
        for (kind, summary) in summaries {
            let value = |of: Option<iodyno_model::Estimate>| of.map(|of| of.value);
            checks.push((format!("{kind}_min_ns"), value(summary.min_ns), 0.0));
            checks.push((format!("{kind}_mean_ns"), value(summary.mean_ns), 0.0));
            checks.push((format!("{kind}_max_ns"), value(summary.max_ns), 0.0));
            if expected["p99_kind"].as_str().unwrap_or("clat") == kind {
                checks.push(("p99_ns".to_owned(), value(summary.percentile(99.0)), 0.0));
            }
        }
        for (name, ours, rounding) in checks {
            let Some(theirs) = expected[&name].as_f64() else { continue };
            // Rounding may change a bandwidth of 2.x by 1/512.
            let near = |ours: f64| (ours - theirs).abs() <= rounding.max(1e-6 * theirs.abs());
            let nothing = theirs == 0.0 && ours.is_none();
            assert!(nothing || ours.is_some_and(near), "{title}: {name} {ours:?} {theirs}");
        }
        let runtime_ns = expected["runtime_ms"].as_u64().unwrap() * 1_000_000;
        assert!(job.of.duration_ns.unwrap() >= runtime_ns, "{title}");
    }
}

/// Percentiles computed from bins equal those that fio printed.
#[test]
fn percentiles_from_bins_match_fio() {
    let (mut compared, corpus) = (0, corpus("matched.tar.xz"));
    for path in files(&corpus.folder.join("matched"), "jsonplus.json") {
        let text = fs::read_to_string(&path).unwrap();
        let found = documents(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for measurement in &found[0].measurements {
            for result in &measurement.total {
                for kind in LatencyKind::ALL {
                    let Some(bins) = result.bins(kind) else { continue };
                    let title = format!("{} {} {kind:?}", path.display(), measurement.name);
                    // Up to 3.3 `lat` has no count, and the bins are those of clat.
                    if let (Some(ios), LatencyKind::Completion) = (result.ios, kind) {
                        assert!(bins.count() <= ios, "{title}");
                    }
                    for (percent, stated) in &result.stated.as_ref().unwrap().of(kind).percentiles {
                        let rank = percent / 100.0 * bins.count() as f64;
                        let mut seen = 0;
                        let bin = bins.bins().find(|bin| {
                            seen += bin.count;
                            seen as f64 >= rank
                        });
                        let Some(Bin { low_ns, high_ns, .. }) = bin else { continue };
                        let (low, high) = stated.bounds().unwrap();
                        let meets = low <= high_ns as f64 && low_ns as f64 <= high;
                        assert!(
                            meets || stated.value == 0.0,
                            "{title} {percent}: {stated:?} {low_ns}..{high_ns}"
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared >= corpus.percentiles, "{compared}");
}

/// One run in several formats: each figure is within the intervals of the others.
#[test]
fn formats_of_one_run_agree() {
    let corpus = corpus("matched.tar.xz");
    let folder = corpus.folder.join("matched");
    let mut compared = 0;
    for json in files(&folder, ".json") {
        let name = json.file_name().unwrap().to_str().unwrap();
        let stem = name.split('.').next().unwrap();
        let terse = files(json.parent().unwrap(), ".txt").into_iter().find(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(stem) && name.contains(".terse") && !name.contains("separate-run")
        });
        let Some(terse) = terse.filter(|_| !name.contains("separate-run")) else { continue };
        let (one, other) = (path(&json).unwrap(), path(&terse).unwrap());
        let (ours, theirs) = (jobs(&one.measurements), jobs(&other.measurements));
        assert_eq!(ours.len(), theirs.len(), "{}", json.display());
        for (one, other) in ours.iter().zip(&theirs) {
            assert_eq!(one.of.name, other.of.name, "{}", json.display());
            for (one, other) in one.results.iter().zip(other.results) {
                agree(one, other, &json.display().to_string());
                compared += 1;
            }
        }
    }
    assert!(compared > 50 || std::env::var_os("IODYNO_CORPUS").is_none(), "{compared}");
}

fn agree(json: &DirectionResult, terse: &DirectionResult, title: &str) {
    let meet =
        |what: &str, a: Option<iodyno_model::Estimate>, b: Option<iodyno_model::Estimate>| {
            let (Some(a), Some(b)) = (a, b) else { return };
            let slack = 1e-6 * a.value.abs() + 0.001;
            let meets = a.low() <= b.high() + slack && b.low() <= a.high() + slack;
            assert!(meets, "{title}: {what} {a:?} {b:?}");
        };
    meet("iops", json.iops, terse.iops);
    meet("bandwidth", json.bandwidth, terse.bandwidth);
    let (Some(a), Some(b)) = (&json.stated, &terse.stated) else { return };
    for kind in LatencyKind::ALL {
        let (a, b) = (a.of(kind), b.of(kind));
        meet("min", a.min_ns, b.min_ns);
        meet("mean", a.mean_ns, b.mean_ns);
        meet("max", a.max_ns, b.max_ns);
    }
    // With lat_percentiles terse lines have percentiles of the total latency, without saying so.
    let of = match a.total.percentiles.is_empty() {
        true => &a.completion,
        false => &a.total,
    };
    for (percent, value) in &of.percentiles {
        meet("percentile", Some(*value), b.completion.percentile(*percent));
    }
}
