//! Normal output with expected values: published (`text/`, `matched.tar.xz`) from the folder in
//! IODYNO_CORPUS, else printed by this machine's fio.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{alone, fio, parts};
use iodyno_fio::read::{Imported, normal};
use iodyno_model::{Direction, DirectionResult, Estimate, LatencyKind, Measurement};
use serde_json::Value;

/// Texts with their values, and texts with the JSON of the same run.
struct Corpus {
    /// `NAME.txt` with `NAME.meta.json`.
    texts: PathBuf,
    /// Folders of `NAME.normal.txt` with `NAME.jsonplus.json` or `NAME.json`.
    matched: PathBuf,
    /// Least number of texts of either kind.
    least: (usize, usize),
    _made: tempfile::TempDir,
}

fn corpus() -> Corpus {
    let made = tempfile::tempdir().unwrap();
    let folder = made.path().to_owned();
    let Some(corpus) = std::env::var_os("IODYNO_CORPUS").map(PathBuf::from) else {
        make(&folder);
        return Corpus {
            texts: folder.join("text"),
            matched: folder.join("matched"),
            least: (2, 2),
            _made: made,
        };
    };
    let archive = corpus.join("matched.tar.xz");
    let unpacked =
        Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(&folder).status().unwrap();
    assert!(unpacked.success());
    Corpus {
        texts: corpus.join("text"),
        matched: folder.join("matched"),
        least: (80, 100),
        _made: made,
    }
}

/// The same with this machine's fio.
fn make(folder: &Path) {
    let (texts, matched) = (folder.join("text"), folder.join("matched/here"));
    fs::create_dir_all(&texts).unwrap();
    fs::create_dir_all(&matched).unwrap();
    for (name, rw) in [("reads", "randread"), ("mix", "randrw")] {
        let job = format!("[{name}]\nfilename=data\nsize=1m\nbs=4k\nrw={rw}\n");
        let output = fio(folder, &job);
        let (_, json, _) = parts(&output);
        let document: Value = serde_json::from_str(json).unwrap();
        let jobs = document["jobs"].as_array().unwrap().iter().map(|job| {
            let used = ["read", "write"].into_iter().filter(|side| job[side]["total_ios"] != 0);
            let sides = used.map(|side| {
                let mut values = job[side].clone();
                values["runtime_ms"] = job[side]["runtime"].clone();
                values["iops_exact"] = job[side]["iops"].clone();
                (side.to_owned(), values)
            });
            serde_json::json!({
                "jobname": job["jobname"], "groupid": job["groupid"], "error": job["error"],
                "numjobs": 1, "ddirs": sides.collect::<serde_json::Map<_, _>>(),
            })
        });
        let meta = serde_json::json!({ "expected": { "jobs": jobs.collect::<Vec<_>>() } });
        fs::write(texts.join(format!("{name}.txt")), alone(&output)).unwrap();
        fs::write(texts.join(format!("{name}.meta.json")), meta.to_string()).unwrap();
        fs::write(matched.join(format!("{name}.normal.txt")), alone(&output)).unwrap();
        fs::write(matched.join(format!("{name}.jsonplus.json")), json).unwrap();
    }
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        entries.filter(|path| path.to_str().is_some_and(|path| path.ends_with(ending))).collect();
    found.sort();
    found
}

/// Mismatches, one line each.
#[derive(Default)]
struct Differences {
    compared: usize,
    lines: Vec<String>,
}

impl Differences {
    fn near(&mut self, title: &str, ours: Option<f64>, theirs: Option<f64>, tolerance: f64) {
        let Some(theirs) = theirs else { return };
        self.compared += 1;
        if !ours.is_some_and(|ours| (ours - theirs).abs() <= tolerance) {
            self.lines.push(format!("{title}: {ours:?}, expected {theirs}"));
        }
    }

    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, title: &str, ours: T, theirs: T) {
        self.compared += 1;
        if ours != theirs {
            self.lines.push(format!("{title}: {ours:?}, expected {theirs:?}"));
        }
    }

    fn report(self) -> usize {
        assert!(self.lines.is_empty(), "{}", self.lines.join("\n"));
        self.compared
    }
}

const DIRECTIONS: [Direction; 4] =
    [Direction::Read, Direction::Write, Direction::Trim, Direction::Mixed];

fn value(estimate: Option<Estimate>) -> Option<f64> {
    estimate.map(|estimate| estimate.value)
}

#[test]
fn published_texts_match_expected_values() {
    let corpus = corpus();
    let mut differences = Differences::default();
    let texts = files(&corpus.texts, ".txt");
    for path in &texts {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let meta = fs::read_to_string(path.with_extension("meta.json")).unwrap();
        let meta: Value = serde_json::from_str(&meta).unwrap();
        let imported = normal("", &text);
        compare(&mut differences, path, &imported, &meta);
    }
    assert!(texts.len() >= corpus.least.0, "{}", texts.len());
    assert!(differences.report() >= 10 * texts.len());
}

fn compare(to: &mut Differences, path: &Path, imported: &Imported, meta: &Value) {
    let title = path.file_stem().unwrap().to_string_lossy().into_owned();
    let empty = Vec::new();
    let jobs = meta["expected"]["jobs"].as_array().unwrap_or(&empty);
    if jobs.is_empty() {
        return groups(to, &title, imported, meta);
    }
    // Of several reports of a running job the last one counts.
    let identity = |job: &Value| (job["jobname"].clone(), job["pid"].clone());
    let repeated = |n: usize| {
        jobs[n]["pid"].is_u64()
            && jobs[n + 1..].iter().any(|next| identity(next) == identity(&jobs[n]))
    };
    let jobs: Vec<_> = (0..jobs.len()).filter(|n| !repeated(*n)).map(|n| &jobs[n]).collect();
    to.equal(&format!("{title} jobs"), imported.measurements.len(), jobs.len());
    for (measurement, job) in imported.measurements.iter().zip(jobs) {
        let title = format!("{title} {}", measurement.name);
        if let Some(name) = job["jobname"].as_str() {
            to.equal(&title, measurement.name.as_str(), name);
        }
        if let Some(group) = job["groupid"].as_u64() {
            to.equal(&format!("{title} group"), u64::from(measurement.group), group);
            let jobs = job["numjobs"].as_u64();
            to.equal(&format!("{title} jobs"), measurement.workload.numjobs.map(u64::from), jobs);
            let failed = job["error"].as_i64().unwrap() != 0;
            to.equal(&format!("{title} failed"), measurement.failure().is_some(), failed);
        }
        let sides = job["ddirs"].as_object().unwrap();
        to.equal(&format!("{title} directions"), measurement.total.len(), sides.len());
        for direction in DIRECTIONS {
            let title = format!("{title} {}", direction.name());
            match (measurement.result(direction), sides.get(direction.name())) {
                (Some(result), Some(expected)) => side(to, &title, measurement, result, expected),
                (None, None) => {}
                (ours, _) => to.lines.push(format!("{title}: {}", ours.is_some())),
            }
        }
    }
}

fn side(
    to: &mut Differences,
    title: &str,
    measurement: &Measurement,
    result: &DirectionResult,
    expected: &Value,
) {
    let number = |name: &str| expected[name].as_f64();
    let printed = expected["printed"]["iops"].as_str().unwrap_or("");
    let carry = expected["carry_bug_possible"].as_bool() == Some(true);
    let suffixed = printed.ends_with(|c: char| c.is_ascii_alphabetic());
    let iops = number("iops");
    let tolerance = iops.map_or(0.0, |iops| match (carry, suffixed) {
        (true, _) => iops / 8.0,
        (_, true) => (iops * 0.005).max(1.0),
        _ => 1.0,
    });
    to.near(&format!("{title} iops"), value(result.iops), iops, tolerance);
    to.near(&format!("{title} exact iops"), value(result.iops), number("iops_exact"), 1e-6);
    to.near(&format!("{title} ios"), result.ios.map(|n| n as f64), number("total_ios"), 0.0);
    if let (Some(ours), Some(theirs)) = (result.iops, number("iops_exact")) {
        let holds = ours.low() <= theirs && theirs <= ours.high();
        to.equal(&format!("{title} interval {ours:?}"), holds, true);
    }
    let bandwidth = number("bw_bytes");
    let slack = if carry { 0.06 } else { 0.005 };
    let slack = bandwidth.map_or(0.0, |rate| rate * slack);
    to.near(&format!("{title} bandwidth"), value(result.bandwidth), bandwidth, slack);
    let bytes = number("io_bytes");
    // `21.0MiB` can be 21.97: the carry bug; the number of blocks gives the exact value.
    let slack = if expected["printed"]["io"].to_string().contains(".0") { 0.06 } else { 0.01 };
    let slack = bytes.map_or(0.0, |bytes| bytes * slack);
    to.near(&format!("{title} bytes"), result.bytes.map(|n| n as f64), bytes, slack);
    let run = measurement.duration_ns.map(|ns| ns as f64 / 1e6);
    let runtime = number("runtime_ms").filter(|_| measurement.total.len() == 1);
    to.near(&format!("{title} run time"), run, runtime, 0.0);
    let stated = result.stated.as_deref();
    for kind in LatencyKind::ALL {
        let theirs = &expected[kind.fio_name()];
        let ours = stated.map(|stated| stated.of(kind));
        for (name, ours) in [
            ("min_ns", ours.and_then(|ours| ours.min_ns)),
            ("mean_ns", ours.and_then(|ours| ours.mean_ns)),
            ("max_ns", ours.and_then(|ours| ours.max_ns)),
            ("stdev_ns", ours.and_then(|ours| ours.stdev_ns)),
        ] {
            let theirs = theirs[name].as_f64();
            let slack = theirs.map_or(0.0, |theirs| theirs * 1e-9);
            to.near(&format!("{title} {} {name}", kind.fio_name()), value(ours), theirs, slack);
        }
    }
    let percentiles = &expected["clat_pct"];
    let kind = match percentiles["kind"].as_str() {
        Some("lat") => LatencyKind::Total,
        _ => LatencyKind::Completion,
    };
    for (percent, theirs) in percentiles["values_ns"].as_object().into_iter().flatten() {
        let ours = stated.and_then(|stated| stated.of(kind).percentile(percent.parse().unwrap()));
        to.near(&format!("{title} p{percent}"), value(ours), theirs.as_f64(), 1.0);
    }
}

/// Texts with only the group status left.
fn groups(to: &mut Differences, title: &str, imported: &Imported, meta: &Value) {
    let groups = meta["expected"]["groups"].as_array().unwrap();
    to.equal(&format!("{title} groups"), imported.measurements.len(), groups.len());
    for (measurement, group) in imported.measurements.iter().zip(groups) {
        for (name, expected) in group["ddirs"].as_object().unwrap() {
            let title = format!("{title} {name}");
            let result = measurement.total.iter().find(|side| side.direction.name() == name);
            let rate = value(result.and_then(|result| result.bandwidth));
            let theirs = expected["bw_bytes"].as_f64();
            to.near(&title, rate, theirs, theirs.unwrap() * 0.005);
        }
    }
}

/// The same run as normal text and as JSON, of many versions.
#[test]
fn matched_texts_agree_with_their_json() {
    let corpus = corpus();
    let mut differences = Differences::default();
    let mut texts = 0;
    for version in fs::read_dir(&corpus.matched).unwrap() {
        for path in files(&version.unwrap().path(), ".normal.txt") {
            let stem = path.to_str().unwrap().strip_suffix(".normal.txt").unwrap();
            let jsons = [".jsonplus.json", ".json"].map(|ending| format!("{stem}{ending}"));
            let Some(json) = jsons.iter().find_map(|json| fs::read_to_string(json).ok()) else {
                continue;
            };
            let start = json.find("{\n").unwrap();
            let mut values = serde_json::Deserializer::from_str(&json[start..]).into_iter();
            let document: Value = values.next().unwrap().unwrap();
            let imported = normal("", &fs::read_to_string(&path).unwrap());
            let title = path.strip_prefix(&corpus.matched).unwrap().display().to_string();
            matched(&mut differences, &title, &imported, &document);
            texts += 1;
        }
    }
    assert!(texts >= corpus.least.1, "{texts}");
    assert!(differences.report() >= 10 * texts);
}

fn matched(to: &mut Differences, title: &str, imported: &Imported, document: &Value) {
    let jobs = document["jobs"].as_array().unwrap();
    // 3.0 and 3.1 print nothing for a job that failed before its first I/O.
    let idle = |job: &Value| {
        DIRECTIONS
            .iter()
            .all(|side| job[side.name()].is_null() || job[side.name()]["total_ios"] == 0)
    };
    if imported.measurements.is_empty() && jobs.iter().all(idle) {
        return to.equal(title, imported.problems.len(), 1);
    }
    to.equal(&format!("{title} jobs"), imported.measurements.len(), jobs.len());
    for (measurement, job) in imported.measurements.iter().zip(jobs) {
        let title = format!("{title} {}", measurement.name);
        to.equal(&title, Some(measurement.name.as_str()), job["jobname"].as_str());
        let failed = job["error"].as_i64() != Some(0);
        to.equal(&format!("{title} failed"), measurement.failure().is_some(), failed);
        let number = |name: &str| job[name].as_f64();
        let account = measurement.account.as_ref().unwrap();
        let percent = Some(account.cpu.user * 100.0);
        to.near(&format!("{title} cpu"), percent, number("usr_cpu"), 0.0051);
        to.near(&format!("{title} ctx"), Some(account.switches as f64), number("ctx"), 0.0);
        let sides = DIRECTIONS.iter().filter(|side| !job[side.name()].is_null());
        let busy = sides.filter(|side| job[side.name()]["io_bytes"] != 0);
        let busy = busy.filter(|side| job["read"].is_null() || **side != Direction::Mixed).count();
        to.equal(&format!("{title} directions"), measurement.total.len(), busy);
        for result in &measurement.total {
            let title = format!("{title} {}", result.direction.name());
            matched_side(to, &title, result, &job[result.direction.name()]);
        }
    }
}

/// Iodyno's intervals contain fio's own numbers.
fn matched_side(to: &mut Differences, title: &str, result: &DirectionResult, json: &Value) {
    let mut holds = |what: &str, ours: Option<Estimate>, theirs: Option<f64>| {
        let (Some(ours), Some(theirs)) = (ours, theirs) else { return };
        // JSON has floats.
        let slack = theirs.abs() * 1e-9;
        let held = ours.low() - slack <= theirs && theirs <= ours.high() + slack;
        to.equal(&format!("{title} {what} {ours:?} {theirs}"), held, true);
    };
    let exact = |n: Option<u64>| n.map(|n| Estimate::bare(n as f64));
    holds("ios", exact(result.ios), json["total_ios"].as_f64());
    holds("short", exact(result.short_ios), json["short_ios"].as_f64());
    holds("iops", result.iops, json["iops"].as_f64());
    holds("bandwidth", result.bandwidth, json["bw_bytes"].as_f64());
    for kind in LatencyKind::ALL {
        let Some(stated) = &result.stated else { continue };
        let (ours, name) = (stated.of(kind), kind.fio_name());
        let (theirs, unit) = match &json[format!("{name}_ns")] {
            Value::Null => (&json[name], 1000.0),
            theirs => (theirs, 1.0),
        };
        let number = |name: &str| theirs[name].as_f64().map(|number| number * unit);
        holds(&format!("{name} min"), ours.min_ns, number("min"));
        holds(&format!("{name} max"), ours.max_ns, number("max"));
        holds(&format!("{name} mean"), ours.mean_ns, number("mean"));
        holds(&format!("{name} deviation"), ours.stdev_ns, number("stddev"));
        let percentiles = theirs["percentile"].as_object();
        for (percent, value) in percentiles.into_iter().flatten() {
            let ours = ours.percentile(percent.parse().unwrap());
            holds(&format!("{name} p{percent}"), ours, value.as_f64().map(|value| value * unit));
        }
    }
}
