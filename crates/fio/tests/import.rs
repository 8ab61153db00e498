//! Imports texts and folders found in practice: damaged, in several formats, with other content
//! around, and bench-fio's trees.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufReader, Cursor};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use iodyno_fio::read::{Imported, path, stream, text};
use iodyno_model::{Direction, EndReason, LatencyKind, Measurement};
use proptest::prelude::*;

/// Output of fio with these arguments, run in `directory`.
fn fio_in(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("fio")
        .current_dir(directory)
        .args(["--filename=data", "--size=256k", "--bs=4k", "--eta=never"])
        .args(arguments)
        .output()
        .expect("these tests need fio: make deps");
    String::from_utf8(output.stdout).unwrap()
}

fn fio(arguments: &[&str]) -> String {
    fio_in(tempfile::tempdir().unwrap().path(), arguments)
}

/// Two jobs in JSON.
static JSON: LazyLock<String> = LazyLock::new(|| {
    fio(&["--name=first", "--rw=randrw", "--name=second", "--rw=read", "--output-format=json"])
});

fn names(found: &Imported) -> Vec<&str> {
    found.measurements.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn one_run_in_several_formats_counts_once() {
    let common = ["--name=a", "--rw=randrw", "--name=b", "--rw=read", "--clat_percentiles=1"];
    let run = |formats: &str| fio(&[&common[..], &[formats]].concat());
    for formats in ["terse,json", "normal,json+", "normal,terse,json,json+"] {
        let output = run(&format!("--output-format={formats}"));
        let found = text("", &output);
        assert_eq!((names(&found), found.problems.len()), (vec!["a", "b"], 0), "{formats}");
        let counted = found.measurements.iter().flat_map(|one| &one.total);
        assert!(counted.into_iter().all(|result| result.ios.is_some()), "{formats}");
    }
    let failed = ["--name=a", "--rw=write", "--filename=/dev/full", "--output-format=terse,json"];
    assert_eq!(names(&text("", &fio(&failed))), ["a"]);
    let longer = fio(&["--name=a", "--rw=randrw", "--size=2m", "--output-format=terse"]);
    assert_eq!(names(&text("", &format!("{}{longer}", *JSON))).len(), 3);
}

#[test]
fn truncated_documents_are_read_up_to_the_cut() {
    let json = &*JSON;
    let second = json.find("\"second\"").unwrap();
    let at = second + json[second..].find("\"clat_ns\"").unwrap() + 40;
    let found = text("file", &format!("noise\n{}", &json[..at]));
    assert_eq!(names(&found), ["first", "second"]);
    let [problem] = &found.problems[..] else { panic!("{found:?}") };
    assert_eq!(problem.line, Some(1 + json[..at].lines().count()));
    assert!(problem.what.contains("cut off"), "{problem:?}");
    let read = found.measurements[1].result(Direction::Read).unwrap();
    assert_eq!(read.ios, Some(64), "that was printed before");
    // Before the first figure of a job there is nothing to import.
    let found = text("file", &json[..second + 20]);
    assert_eq!((names(&found), found.problems.len()), (vec!["first"], 1));
}

#[test]
fn jobs_around_a_damage_are_read() {
    let json = JSON.replacen("\"total_ios\" :", "\"total_ios\" garbage", 1);
    let found = text("file", &json);
    assert_eq!(names(&found), ["first", "second"]);
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    assert_eq!(found.measurements[1].source, found.measurements[0].source);
    // The head is lost.
    let jobs = &json[json.find("\"jobs\"").unwrap()..];
    let found = text("file", jobs);
    assert_eq!(names(&found), ["second"]);
    assert_eq!(found.measurements[0].source, "fio");
}

#[test]
fn members_may_be_sorted_and_lines_joined() {
    let value: serde_json::Value = serde_json::from_str(&JSON[JSON.find('{').unwrap()..]).unwrap();
    let sorted = |value: &serde_json::Value| text("", &format!("{{ }}\n{value}\n{{ \"a\": 1 }}"));
    let plain = text("", &JSON);
    assert_eq!(sorted(&value), plain);
    assert_eq!(text("", &format!("{value:#}")), plain);
    let wrapped = serde_json::json!({ "host": "a", "output": value });
    assert_eq!(sorted(&wrapped), plain);
}

#[test]
fn pages_and_mails_are_read() {
    let plain = names(&text("", &JSON)).len();
    for pasted in [
        format!("<pre>\n{}</pre>", JSON.replace('"', "&quot;")),
        JSON.lines().map(|line| format!("> > {line}\n")).collect(),
        JSON.replace("  ", "\u{a0}\u{a0}"),
        JSON.replace("\" :", "\u{201d} :").replace('"', "\u{201c}"),
    ] {
        let found = text("", &pasted);
        assert_eq!((found.measurements.len(), found.problems.len()), (plain, 0), "{pasted}");
    }
}

/// Output of fio 2: us, KiB, padded percentiles, no `bw_bytes`.
#[test]
fn reports_of_fio_2_are_in_other_units() {
    let json = r#"fio: noise
{
  "fio version" : "fio-2.2.10",
  "timestamp" : 1510963172,
  "jobs" : [
    {
      "jobname" : "a", "groupid" : 0, "error" : 0, "elapsed" : 3,
      "read" : {
        "io_bytes" : 1024, "bw" : 512, "iops" : 128.00, "runtime" : 2000, "total_ios" : 256,
        "slat" : { "min" : 0, "max" : 0, "mean" : 0.00, "stddev" : 0.00 },
        "clat" : { "min" : 43, "max" : 5405, "mean" : 163.02, "stddev" : 230.56,
          "percentile" : { "1.000000" : 120, "99.000000" : 948, "0.00" : 0, "0.00" : 0 },
          "bins" : { "43" : 1, "128" : 255, "FIO_IO_U_PLAT_BITS" : 6 } },
        "lat" : { "min" : 44, "max" : 5406, "mean" : 164.00, "stddev" : 230.00 }
      },
      "latency_us" : { "50" : 0.39, "250" : 99.61 }, "latency_ms" : { ">=2000" : 0.00 }
    }
  ]
}
"#;
    let found = text("", json);
    assert_eq!(found.problems, []);
    let one = &found.measurements[0];
    assert_eq!((one.source.as_str(), one.duration_ns), ("fio 2.2.10", Some(2_000_000_000)));
    let read = one.result(Direction::Read).unwrap();
    assert_eq!((read.bytes, read.bandwidth.unwrap().value), (Some(1 << 20), 524_288.0));
    let stated = read.stated.as_ref().unwrap();
    assert!(stated.submission.is_empty(), "nothing was measured");
    assert_eq!(stated.completion.percentiles.len(), 2);
    let p99 = stated.completion.percentile(99.0).unwrap();
    assert_eq!((p99.value, p99.bounds()), (948e3, Some((944e3, 951_999.0))));
    assert_eq!(read.latency_mean.unwrap().bounds(), Some((164e3, 165e3)));
    let bins: Vec<_> = read.bins(LatencyKind::Completion).unwrap().bins().collect();
    assert_eq!(bins.iter().map(|bin| bin.count).collect::<Vec<_>>(), [1, 255]);
    // Bin 128 contains 128 and 129 us.
    assert!(bins[1].low_ns >= 128_000 && bins[1].high_ns < 131_000, "{bins:?}");
    let ranges = &one.account.as_ref().unwrap().latency_ranges;
    let ranges: Vec<_> = ranges.iter().map(|range| (range.low_ns, range.high_ns)).collect();
    assert_eq!(ranges, [(20_000, Some(50_000)), (100_000, Some(250_000))]);
}

#[test]
fn a_client_counts_its_servers_and_not_their_sum() {
    let json = JSON.replace("\"jobs\" :", "\"client_stats\" :");
    let single = json.replace("\"jobname\" : \"first\"", "\"jobname\" : \"All clients\"");
    assert_eq!(names(&text("", &single)), ["second"]);
    let named = json.replace("\"groupid\"", "\"hostname\" : \"far\",\n\"groupid\"");
    assert_eq!(text("", &named).measurements[0].targets, ["far:data"]);
    let alone = single.replace("\"second\"", "\"All clients\"");
    assert_eq!(text("", &alone).measurements.len(), 2);
}

/// `--status-interval` repeats reports; runs are appended.
#[test]
fn interim_reports_count_once() {
    let run = || {
        fio(&[
            "--name=a",
            "--name=b",
            "--rw=randread",
            "--thread",
            "--time_based",
            "--runtime=1",
            "--rate_iops=500",
            "--status-interval=300ms",
            "--output-format=json",
        ])
    };
    let output = run();
    assert!(output.matches("fio version").count() > 3, "{output}");
    assert_eq!(names(&text("", &output)), ["a", "b"]);
    // Before fio 2.2.5 reports had no time.
    let timeless = output.replace("\"timestamp", "\"other");
    assert_eq!(names(&text("", &timeless)), ["a", "b"]);
    let late = run().replace("\"elapsed\" : ", "\"elapsed\" : 1");
    assert_eq!(names(&text("", &format!("{output}{late}"))), ["a", "b", "a", "b"]);
}

#[test]
fn clones_are_parts_of_their_job() {
    let run = |extra: &[&str]| {
        let common = ["--name=a", "--rw=read", "--numjobs=3", "--output-format=json+"];
        text("", &fio(&[&common[..], &["--lat_percentiles=1"], extra].concat()))
    };
    let (apart, grouped) = (run(&[]), run(&["--group_reporting"]));
    let [one] = &apart.measurements[..] else { panic!("{apart:?}") };
    assert_eq!(
        one.parts.iter().map(|part| part.clone).collect::<Vec<_>>(),
        [Some(0), Some(1), Some(2)]
    );
    let (sum, all) = (&one.total[0], &grouped.measurements[0].total[0]);
    assert_eq!((sum.ios, sum.bytes, sum.latency.count()), (all.ios, all.bytes, 192));
    assert!(grouped.measurements[0].parts.is_empty());
    // They ended at different times: together they took as long as the longest.
    let longest_s = one.duration_ns.unwrap() as f64 / 1e9;
    let rate = sum.iops.unwrap().value;
    assert!((rate * longest_s / 192.0 - 1.0).abs() < 1e-9, "{rate} {longest_s}");
}

#[test]
fn impossible_numbers_are_dropped() {
    let output = fio(&["--name=a", "--rw=read", "--numjobs=2", "--output-format=json+"]);
    for member in ["total_ios", "io_bytes", "ctx", "majf", "max", "runtime", "numjobs", "error"] {
        let mark = format!("\"{member}\" : ");
        for number in ["18446744073709551615", "1e300", "-1", "\"text\""] {
            let mut parts = output.split(&mark);
            let mut odd = parts.next().unwrap().to_owned();
            for part in parts {
                let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
                odd.push_str(&format!("{mark}{number}{rest}"));
            }
            let found = text("", &odd);
            assert!(found.measurements.len() + found.problems.len() > 0, "{member} {number}");
        }
    }
}

#[test]
fn a_failed_job_is_no_result() {
    let output = fio(&["--name=a", "--rw=write", "--filename=/dev/full", "--output-format=json"]);
    let found = text("", &output);
    assert!(matches!(found.measurements[0].end, EndReason::Failed(_)), "{found:?}");
}

#[test]
fn other_encodings_and_other_files() {
    let read = |bytes: &[u8]| stream("file", BufReader::new(Cursor::new(bytes))).unwrap();
    let wide: Vec<u8> = JSON.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = read(&[b"\xff\xfe", &wide[..]].concat());
    assert_eq!((names(&wide), wide.problems.len()), (vec!["first", "second"], 0));
    assert_eq!(read(JSON.replace('\n', "\r\n").as_bytes()), read(JSON.as_bytes()));
    for nothing in [&b""[..], b"a\0b", b"[global]\nrw=read\n"] {
        let found = read(nothing);
        assert!(found.measurements.is_empty());
        assert_eq!(found.problems[0].what, "no fio output found");
    }
    let rows = read(b"1, 100, 0, 4096\n2, 100, 0, 4096\n");
    assert!(rows.problems[0].what.contains("name lacks the log type"), "{rows:?}");
}

/// A campaign of bench-fio: two block sizes, clones, logs next to the results.
#[test]
fn a_campaign_is_read_with_its_logs() {
    let directory = tempfile::tempdir().unwrap();
    let campaign = directory.path().join("out");
    for (bs, rw, iodepth, numjobs) in [("4k", "randread", 1, 2), ("64k", "randrw", 4, 1)] {
        let folder = match rw {
            "randrw" => campaign.join("nvme0n1/randrw70").join(bs),
            _ => campaign.join("nvme0n1").join(bs),
        };
        fs::create_dir_all(&folder).unwrap();
        let log = folder.join(format!("{rw}-iodepth-{iodepth}-numjobs-{numjobs}"));
        let log = log.display();
        let output = fio_in(
            directory.path(),
            &[
                "--name=FIOJOB",
                &format!("--rw={rw}"),
                &format!("--bs={bs}"),
                &format!("--iodepth={iodepth}"),
                &format!("--numjobs={numjobs}"),
                "--time_based",
                "--runtime=1",
                "--rate_iops=400",
                "--log_avg_msec=100",
                &format!("--write_bw_log={log}"),
                &format!("--write_iops_log={log}"),
                &format!("--write_lat_log={log}"),
                "--output-format=json",
            ],
        );
        fs::write(folder.join(format!("{rw}-{iodepth}-{numjobs}.json")), output).unwrap();
    }
    fs::write(campaign.join("job.fio"), "[global]").unwrap();
    fs::write(campaign.join("picture.png"), "picture").unwrap();
    // A link back to a parent does not cause an endless loop.
    std::os::unix::fs::symlink(&campaign, campaign.join("nvme0n1/loop")).unwrap();
    let found = path(&campaign).unwrap();
    assert_eq!(found.problems, []);
    let labels: Vec<_> = found
        .measurements
        .iter()
        .map(|one| (one.workload.bs, one.workload.rw.as_deref(), one.parts.len()))
        .collect();
    assert_eq!(labels, [(Some(4096), Some("randread"), 2), (Some(65536), Some("randrw"), 0)]);
    for one in &found.measurements {
        for result in &one.total {
            let windows = result.series.windows();
            assert!((8..=12).contains(&windows.len()), "{windows:?}");
            // The last window of a log may be missing, and others late, especially if fio waited
            // for a CPU.
            let ios: u64 = windows.iter().filter_map(|window| window.ios).sum();
            let all = result.ios.unwrap();
            assert!((0.2..1.1).contains(&(ios as f64 / all as f64)), "{ios} {all}");
            assert!(windows.iter().any(|window| window.latency_mean_ns() > Some(0.0)));
        }
    }
    // Facts from names alone.
    let json = campaign.join("nvme0n1/4k/randread-1-2.json");
    let text = fs::read_to_string(&json).unwrap();
    fs::write(&json, text.replace(" options\"", " words\"")).unwrap();
    let found = path(&campaign).unwrap();
    let one = &found.measurements[0];
    assert_eq!(one.workload.label(), "rw=randread bs=4k iodepth=1 numjobs=2");
    assert_eq!(one.targets, ["nvme0n1"]);
}

#[test]
fn files_without_fio_output_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("deep")).unwrap();
    fs::write(at("deep/run.json"), &*JSON).unwrap();
    fs::write(at("notes.txt"), "nothing").unwrap();
    fs::write(at("chart.svg"), "<svg/>").unwrap();
    let found = path(directory.path()).unwrap();
    assert_eq!(found.measurements.len(), 2);
    let told: Vec<_> = found.problems.iter().map(|problem| problem.file.clone()).collect();
    assert_eq!(told, [at("notes.txt").display().to_string()]);
    assert!(path(&at("none")).is_err());
}

/// Published campaigns, in the folder in IODYNO_CORPUS.
#[test]
fn published_campaigns_are_read_completely() {
    let Some(corpus) = std::env::var_os("IODYNO_CORPUS") else {
        return a_campaign_is_read_with_its_logs();
    };
    let directory = tempfile::tempdir().unwrap();
    let archive = Path::new(&corpus).join("bench-fio.tar.xz");
    let tar = Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(directory.path()).status();
    assert!(tar.unwrap().success());
    let root = directory.path().join("bf");
    let read = |name: &str| path(&root.join(name)).unwrap();
    let full = read("campaign-F-7x7-full");
    assert_eq!((full.measurements.len(), full.problems.len()), (49, 0));
    for one in &full.measurements {
        let jobs = one.workload.numjobs.unwrap() as usize;
        assert_eq!(one.parts.len(), if jobs > 1 { jobs } else { 0 });
        let result = one.result(Direction::Read).unwrap();
        assert_eq!(result.ios, Some(clones(one)));
        let first = result.series.windows()[0].iops().unwrap();
        let mean = result.iops.unwrap().value;
        // The run takes two seconds, and the machine is not idle.
        assert!((0.5..2.0).contains(&(first / mean)), "{}: {first} {mean}", one.workload.label());
    }
    for (name, count) in
        [("campaign-A-2bs-3qd-2nj", 12), ("campaign-B-mixed", 16), ("early-stop-60s-logs", 8)]
    {
        let found = read(name);
        assert_eq!((found.measurements.len(), found.problems), (count, vec![]), "{name}");
        let with_series =
            |one: &Measurement| one.total.iter().all(|result| !result.series.windows().is_empty());
        assert!(found.measurements.iter().all(with_series), "{name}");
    }
    let bad = read("bad-specimens");
    let failed = bad.measurements.iter().filter(|one| one.failure().is_some()).count();
    assert_eq!((bad.measurements.len(), failed), (7, 2));
    let told = |file: &str, line| {
        bad.problems.iter().any(|problem| problem.file.ends_with(file) && problem.line == line)
    };
    assert!(told("truncated.json", Some(108)) && told("zero-bytes-output-disk-full.json", None));
    assert!(told("bad-specimens/randread-iodepth-1-numjobs-1_iops.1.log", Some(2)));
    assert!(told("empty-log/randread-iodepth-16-numjobs-1_iops.1.log", None));
}

fn clones(one: &Measurement) -> u64 {
    match one.parts.is_empty() {
        true => one.total[0].ios.unwrap(),
        false => one.parts.iter().map(|part| part.results[0].ios.unwrap()).sum(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damaged_reports_are_read_or_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..60, "\\PC{0,6}|[0-9]{20}"), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = JSON.clone().into_bytes();
        for (at, gone, added) in damage {
            let at = at.index(bytes.len());
            let end = (at + gone).min(bytes.len());
            bytes.splice(at..end, added.into_bytes());
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let found = text("", &String::from_utf8_lossy(&bytes));
        for one in &found.measurements {
            for result in &one.total {
                for rate in [result.iops, result.bandwidth, result.latency_mean].into_iter().flatten() {
                    prop_assert!(rate.value.is_finite() && rate.value >= 0.0, "{rate:?}");
                }
            }
        }
        prop_assert!(found.measurements.len() <= 2);
    }

    #[test]
    fn any_text_is_read_or_refused(any: String, at in any::<prop::sample::Index>()) {
        let found = text("", &any);
        prop_assert!(!found.measurements.is_empty() || !found.problems.is_empty());
        // Whatever surrounds a report, the report is read.
        let around = any.replace(['{', '"', '\\', ';', '[', ','], "");
        let at = at.index(around.len() + 1);
        let at = (0..=at).rev().find(|at| around.is_char_boundary(*at)).unwrap();
        let (before, behind) = around.split_at(at);
        let found = text("", &format!("{before}\n{}\n{behind}", *JSON));
        prop_assert_eq!(found.measurements.len(), 2);
    }
}

#[test]
fn options_that_json_does_not_list_are_fios_defaults() {
    let read = |arguments: &[&str]| {
        let json = fio(&[arguments, &["--output-format=json"]].concat());
        text("", &json).measurements.remove(0).workload
    };
    let plain = read(&["--name=a", "--rw=randread", "--iodepth=32"]);
    assert_eq!((plain.ioengine.as_deref(), plain.direct), (Some("psync"), Some(false)));
    assert_eq!((plain.iodepth, plain.numjobs, plain.bs), (Some(32), Some(1), Some(4096)));
    let named = read(&["--name=a", "--ioengine=libaio", "--direct=1"]);
    assert_eq!((named.ioengine.as_deref(), named.direct), (Some("libaio"), Some(true)));
    assert_eq!((named.rw.as_deref(), named.iodepth), (Some("read"), Some(1)));
    // Terse lines list no options: what they omit stays unknown.
    let terse = fio(&["--name=a", "--rw=read", "--output-format=terse"]);
    assert_eq!(text("", &terse).measurements[0].workload.ioengine, None);
}
