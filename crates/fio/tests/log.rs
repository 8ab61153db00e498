//! Reads logs: published ones from the folder in IODYNO_CORPUS, those of this machine's fio, and
//! long ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::Command;

use iodyno_fio::read::{Imported, Problem, path};
use iodyno_model::{
    Direction, DirectionResult, LatencyKind, LatencySeries, Measurement, RateSeries, Window,
};
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

/// Imports files of these names, with a report next to them that states fio's version, if given.
fn folder(files: &[(&str, &str)], version: Option<&str>) -> (TempDir, Imported) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    if let Some(version) = version {
        let report = format!(
            "{{\n  \"fio version\" : \"{version}\",\n  \"jobs\" : [ {{\n    \"jobname\" : \"g\",\n\
             \"job options\" : {{ \"write_bw_log\" : \"g\" }}\n  }} ]\n}}\n"
        );
        fs::write(directory.path().join("report.json"), report).unwrap();
    }
    let imported = path(directory.path()).unwrap();
    (directory, imported)
}

fn only(imported: &Imported) -> &Measurement {
    let [one] = &imported.measurements[..] else { panic!("{imported:?}") };
    one
}

fn windows(of: &Measurement, direction: Direction) -> &[Window] {
    of.result(direction).unwrap().series.windows()
}

#[test]
fn averaged_rates_cover_their_windows() {
    let bw = "500, 1000, 0, 0\n1000, 3000, 0, 0\n1000, 50, 1, 0\n2000, 4000, 0, 0\n";
    let iops = "500, 250, 0, 0\n1000, 750, 0, 0\n1000, 10, 1, 0\n2000, 1000, 0, 0\n";
    let (_, imported) = folder(&[("g_bw.1.log", bw), ("g_iops.1.log", iops)], None);
    assert_eq!(imported.problems, []);
    let one = only(&imported);
    assert_eq!(
        (one.name.as_str(), one.source.as_str(), one.duration_ns),
        ("g", "fio", Some(2_000_000_000))
    );
    let read: Vec<_> = windows(one, Direction::Read)
        .iter()
        .map(|window| (window.start_ns, window.ios.unwrap(), window.bytes.unwrap()))
        .collect();
    // Without I/O from 1000 to 1500 ms no row was written.
    let kib = 1024;
    let expected = [
        (0, 125, 500 * kib),
        (500_000_000, 375, 1500 * kib),
        (1_000_000_000, 0, 0),
        (1_500_000_000, 500, 2000 * kib),
    ];
    assert_eq!(read, expected);
    let write = windows(one, Direction::Write);
    assert_eq!(write.last().unwrap().ios, Some(5));
    assert_eq!(one.result(Direction::Read).unwrap().ios, None, "rates are no counts");
    assert!((one.result(Direction::Read).unwrap().iops.unwrap().value - 500.0).abs() < 1e-9);
}

#[test]
fn jobs_add_up_and_means_count_for_their_ios() {
    let files = [
        ("g_iops.1.log", "1000, 100, 0, 0, 0\n2000, 100, 0, 0, 0\n"),
        ("g_iops.2.log", "1000, 300, 0, 0, 0\n2000, 300, 0, 0, 0\n"),
        ("g_lat.1.log", "1000, 1000000, 0, 0, 0\n2000, 2000000, 0, 0, 0\n"),
        ("g_lat.2.log", "1000, 5000000, 0, 0, 0\n2000, 4000000, 0, 0, 0\n"),
    ];
    let (_, imported) = folder(&files, None);
    assert_eq!(imported.problems, []);
    let windows = windows(only(&imported), Direction::Read);
    let means: Vec<_> =
        windows.iter().map(|one| (one.ios, one.latency_mean_ns().unwrap())).collect();
    assert_eq!(means, [(Some(400), 4e6), (Some(400), 3.5e6)]);
    assert!(windows.iter().all(|window| window.bytes.is_none()), "no log of bytes");
    // The same rows in one log of all jobs.
    let all = "1000, 100, 0, 0, 0\n2000, 100, 0, 0, 0\n1000, 300, 0, 0, 0\n2000, 300, 0, 0, 0\n";
    let (_, imported) = folder(&[("g_iops.log", all)], None);
    let together: Vec<_> =
        self::windows(only(&imported), Direction::Read).iter().map(|one| one.ios).collect();
    assert_eq!(together, [Some(400), Some(400)]);
}

/// As fio ends logs: the last row of IOPS a millisecond late, and mean latencies for one more
/// second.
#[test]
fn a_log_that_ends_early_has_no_values_afterwards() {
    let files = [
        ("g_iops.1.log", "1000, 1000, 0, 0, 0\n2000, 1000, 0, 0, 0\n3001, 1000, 0, 0, 0\n"),
        ("g_lat.1.log", "1000, 9, 0, 0, 0\n2000, 9, 0, 0, 0\n3000, 9, 0, 0, 0\n4000, 9, 0, 0, 0\n"),
    ];
    let (_, imported) = folder(&files, Some("fio-3.33"));
    let read = windows(only(&imported), Direction::Read);
    let ios: Vec<_> = read.iter().map(|window| window.ios).collect();
    assert_eq!(ios, [Some(1000), Some(1000), Some(1000), None], "{read:?}");
}

#[test]
fn each_io_counts_where_each_has_a_row() {
    let lat = "0, 150000, 0, 4096, 0\n40, 250000, 1, 8192, 0\n1100, 100, 0, 4096, 0\n";
    let ones = "0, 1, 0, 4096, 0\n40, 1, 1, 8192, 0\n1100, 1, 0, 4096, 0\n";
    let (_, imported) = folder(&[("g_lat.1.log", lat), ("g_iops.1.log", ones)], None);
    assert_eq!(imported.problems, []);
    let one = only(&imported);
    let read = one.result(Direction::Read).unwrap();
    assert_eq!((read.ios, read.bytes, read.latency.count()), (Some(2), Some(8192), 2));
    assert_eq!((read.latency.min_ns(), read.latency.max_ns()), (Some(100), Some(150_000)));
    let seconds: Vec<_> =
        read.latency_series.windows().iter().map(|w| (w.start_ns, w.latency.count())).collect();
    assert_eq!(seconds, [(0, 1), (1_000_000_000, 1)]);
    assert_eq!(read.latency_series.kind, LatencyKind::Total);
    assert_eq!(one.result(Direction::Write).unwrap().bytes, Some(8192));
}

/// One row per second of 100 us, as each version wrote it.
#[test]
fn the_unit_of_latencies_comes_from_the_version_or_the_rows() {
    let rows = |value: &str, rest: &str| -> String {
        (1..4).map(|n| format!("{n}000, {value}, 0, {rest}\n")).collect()
    };
    let mean = |version, text: &str| {
        let (_, imported) = folder(&[("g_lat.1.log", text)], version);
        let all = &imported.measurements[0].result(Direction::Read).unwrap().latency_series;
        let window = &imported.measurements[0].result(Direction::Read).unwrap().series.windows()[1];
        assert!(all.windows().is_empty(), "means are no latencies");
        let assumed = imported.problems.iter().any(|problem| problem.what.contains("taken for ns"));
        (window.latency_mean_ns().unwrap(), assumed)
    };
    assert_eq!(mean(Some("fio-2.16"), &rows("100", "0")), (100e3, false));
    assert_eq!(mean(Some("fio-3.1"), &rows("100000", "0")), (100e3, false));
    // In us this would be 100 s within the first second.
    assert_eq!(mean(None, &rows("100000000", "0")), (100e6, false));
    assert_eq!(mean(None, &rows("9", "0")), (9e3, false));
    assert_eq!(mean(None, &rows("100000", "0, 0, 0x0000")), (100e3, false));
    assert_eq!(mean(None, &rows("100000", "0")), (100e3, true));
}

/// A log on its own, with its report next to it.
#[test]
fn a_log_alone_takes_its_version_from_its_report() {
    let rows = "1000, 100, 0, 0\n2000, 100, 0, 0\n";
    let mean = |version| {
        let (directory, _) = folder(&[("g_lat.1.log", rows)], version);
        let imported = path(&directory.path().join("g_lat.1.log")).unwrap();
        let mean = only(&imported).result(Direction::Read).unwrap().latency_mean.unwrap().value;
        (mean, imported.problems.len())
    };
    assert_eq!(mean(Some("fio-2.16")), (100e3, 0));
    assert_eq!(mean(Some("fio-3.1")), (100.0, 0));
    assert_eq!(mean(None), (100.0, 1));
}

#[test]
fn logs_of_the_clock_begin_with_their_first_row() {
    let log = "1795253257279, 201, 0, 0\n1795253257783, 202, 0, 0\n1795253258283, 198, 0, 0\n";
    let (_, imported) = folder(&[("g_iops.1.log", log)], None);
    let one = only(&imported);
    assert!((1_400_000_000..1_600_000_000).contains(&one.duration_ns.unwrap()), "{one:?}");
    let rate = one.result(Direction::Read).unwrap().iops.unwrap().value;
    assert!((rate - 200.0).abs() < 2.0, "{rate}");
}

#[test]
fn logs_of_latencies_give_latencies() {
    let mut counts = vec!["0"; 1856];
    counts[128] = "90";
    counts[700] = "10";
    let row = |time: u64| format!("{time}, 0, 4096, {}\n", counts.join(", "));
    let bins = format!("{}{}", row(1000), row(2000));
    let clat = "1000, 5000, 0, 0\n2000, 7000, 0, 0\n";
    let (_, alone) = folder(&[("g_clat_hist.1.log", &bins), ("g_clat.1.log", clat)], None);
    let result = only(&alone).result(Direction::Read).unwrap();
    let (kind, p50) = result.percentile(50.0).unwrap();
    assert_eq!((kind, p50.value <= 129.0), (LatencyKind::Completion, true), "{p50:?}");
    assert!(result.percentile(99.0).unwrap().1.value > 10_000.0);
    assert_eq!(result.bins(LatencyKind::Completion).unwrap().count(), 200);

    let (_, means) = folder(&[("g_clat.1.log", clat)], Some("fio-3.33"));
    let (kind, mean) = only(&means).result(Direction::Read).unwrap().mean_latency().unwrap();
    assert_eq!((kind, mean.value), (LatencyKind::Completion, 6000.0));
}

/// A log on its own needs only the beginning of the report next to it, however long that is.
#[test]
fn only_the_beginning_of_a_long_report_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path_of = |name: &str| directory.path().join(name);
    fs::write(path_of("g_lat.1.log"), "500, 1000, 0, 0\n1000, 3000, 0, 0\n").unwrap();
    let padding = "x".repeat(4096);
    let job = |name: &str| {
        format!(
            "{{ \"jobname\" : \"{name}\", \"desc\" : \"{padding}\", \"job options\" : {{ \"write_lat_log\" : \"g\" }}, \
             \"error\" : 0, \"read\" : {{ \"io_bytes\" : 4096, \"total_ios\" : 1 }} }},\n"
        )
    };
    let head = "{\n\"fio version\" : \"fio-2.16\",\n\"jobs\" : [\n";
    let mut report = fs::File::create(path_of("report.json")).unwrap();
    let jobs = job("a").repeat((2 << 20) / padding.len());
    std::io::Write::write_all(&mut report, format!("{head}{jobs}").as_bytes()).unwrap();
    // A hole larger than any memory: reading all of it never ends.
    report.set_len(1 << 42).unwrap();
    let imported = path(&path_of("g_lat.1.log")).unwrap();
    let latency = only(&imported).result(Direction::Read).unwrap().latency_mean.unwrap();
    assert_eq!(latency.value, 2_000_000.0, "fio 2 logged us");
}

#[test]
fn invalid_rows_are_reported_by_line() {
    let log = "1000, 5000, 0, 0, 0\ngarbage\n2000, 5000, 0, 0, 0\n3000, 50";
    let (directory, imported) = folder(&[("g_iops.1.log", log), ("g_bw.1.log", "")], None);
    let file = |name: &str| directory.path().join(name).display().to_string();
    let told: Vec<_> =
        imported.problems.iter().map(|Problem { file, line, .. }| (file.clone(), *line)).collect();
    assert_eq!(told, [(file("g_iops.1.log"), Some(2)), (file("g_bw.1.log"), None)]);
    assert!(imported.problems[0].what.contains("1 more"), "{:?}", imported.problems[0]);
    assert_eq!(windows(only(&imported), Direction::Read).len(), 2);
}

/// 3 million rows of an hour, generated while they are read.
#[test]
fn a_long_log_becomes_a_short_series() {
    use std::io::Write;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("g_lat.1.log");
    let mut out = std::io::BufWriter::new(fs::File::create(&file).unwrap());
    let rows = 3_000_000_u64;
    for n in 0..rows {
        writeln!(out, "{}, {}, {}, 4096, 0", n * 6 / 5, 80_000 + n % 1000, n % 2).unwrap();
    }
    drop(out);
    let before = peak_kib();
    let imported = path(&file).unwrap();
    assert!(peak_kib() - before < 100 << 10, "{} KiB more", peak_kib() - before);
    assert_eq!(imported.problems, []);
    for result in &only(&imported).total {
        assert_eq!(result.ios, Some(rows / 2));
        assert_eq!(result.latency.count(), rows / 2);
        let (rates, latencies) = (result.series.windows(), result.latency_series.windows());
        assert!((1000..=RateSeries::LIMIT).contains(&rates.len()), "{}", rates.len());
        assert!((500..=LatencySeries::LIMIT).contains(&latencies.len()), "{}", latencies.len());
        assert_eq!(rates.iter().filter_map(|window| window.ios).sum::<u64>(), rows / 2);
        assert_eq!(latencies.iter().map(|window| window.latency.count()).sum::<u64>(), rows / 2);
    }
}

/// Peak memory use of this process, KiB (proc(5), VmHWM).
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Logs of a run of this machine's fio agree with its report.
#[test]
fn logs_of_fio_agree_with_its_report() {
    let directory = tempfile::tempdir().unwrap();
    let run = |extra: &[&str], output: &str| {
        let output = Command::new("fio")
            .current_dir(directory.path())
            .args(["--name=g", "--filename=data", "--size=4m", "--bs=4k", "--rw=randrw"])
            .args(["--rate_iops=600,600", "--numjobs=2", "--write_bw_log=g", "--write_iops_log=g"])
            .args(["--write_lat_log=g", "--output-format=json+", "--eta=never"])
            .args(["--slat_percentiles=1", "--clat_percentiles=1", "--lat_percentiles=1"])
            .args(extra)
            .arg(format!("--output={output}"))
            .output()
            .expect("these tests need fio: make deps");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["--group_reporting"], "g.json");
    let imported = path(directory.path()).unwrap();
    // The file that fio worked on is there as well.
    let others: Vec<_> =
        imported.problems.iter().filter(|one| !one.file.ends_with("data")).collect();
    assert!(others.is_empty(), "{others:?}");
    let one = only(&imported);
    for result in &one.total {
        let ios: u64 = result.series.windows().iter().map(|window| window.ios.unwrap()).sum();
        assert_eq!(Some(ios), result.ios);
        let bytes: u64 = result.series.windows().iter().map(|window| window.bytes.unwrap()).sum();
        assert_eq!(Some(bytes), result.bytes);
        let sum: f64 = result.series.windows().iter().map(|window| window.latency_sum_ns).sum();
        let mean = result.latency_mean.unwrap().value;
        assert!((sum / ios as f64 / mean - 1.0).abs() < 1e-3, "{} {mean}", sum / ios as f64);
        let seconds: u64 = result.latency_series.windows().iter().map(|w| w.latency.count()).sum();
        assert_eq!(seconds, ios);
    }
}

/// Rows of published logs, by outcome.
#[test]
fn published_logs_match_expected_values() {
    let Some(corpus) = std::env::var_os("IODYNO_CORPUS") else {
        return logs_of_fio_agree_with_its_report();
    };
    let (mut read, mut assumed) = (0, Vec::new());
    for entry in fs::read_dir(Path::new(&corpus).join("logs")).unwrap() {
        let meta = entry.unwrap().path();
        if !meta.to_str().unwrap().ends_with(".meta.json") {
            continue;
        }
        let text = fs::read_to_string(meta.with_extension("").with_extension("txt")).unwrap();
        let meta: Value = serde_json::from_str(&fs::read_to_string(&meta).unwrap()).unwrap();
        let name = meta["original_name"].as_str().unwrap();
        let name = Path::new(name).file_name().unwrap().to_str().unwrap();
        let ending = name.rfind('_').map_or(name, |at| &name[at..]);
        let ending = if name.contains("_clat_hist") {
            &name[name.find("_clat_hist").unwrap()..]
        } else {
            ending
        };
        let version = meta["fio_version"].as_str().map(|version| format!("fio-{version}"));
        let (_, imported) = folder(&[(&format!("g{ending}"), &text)], version.as_deref());
        let title = format!("{} {}", meta["source"]["path"], meta["fio_version"]);
        if meta["format"] == "log:unknown" {
            assert!(imported.problems[0].what.contains("does not say of what"), "{imported:?}");
            continue;
        }
        // Counts beyond 2^64: fio wrote uninitialized memory.
        if meta["expected"]["samples_in_bins"].as_f64() > Some(1e19) {
            assert!(imported.problems[0].what.contains("not a row"), "{imported:?}");
            continue;
        }
        assert_eq!(imported.problems, [], "{title}");
        check(only(&imported), &meta, &title);
        read += 1;
        let (_, alone) = folder(&[(&format!("g{ending}"), &text)], None);
        if alone.problems.is_empty() {
            check(only(&alone), &meta, &format!("{title}, alone"));
        } else {
            assert!(alone.problems[0].what.contains("taken for ns"), "{:?}", alone.problems);
            assumed.push(title);
        }
    }
    assert!(read > 100 && assumed.len() < read / 4, "{read}, unit not known: {assumed:?}");
}

fn check(one: &Measurement, meta: &Value, title: &str) {
    let expected = &meta["expected"];
    if let Some(count) = expected["samples_in_bins"].as_u64() {
        let windows = one.total.iter().flat_map(|result| result.latency_series.windows());
        assert_eq!(windows.map(|window| window.latency.count()).sum::<u64>(), count, "{title}");
        return;
    }
    for (direction, expected) in expected["per_direction"].as_object().unwrap() {
        let direction = match direction.as_str() {
            "read" => Direction::Read,
            "write" => Direction::Write,
            _ => Direction::Trim,
        };
        let result = one.result(direction).unwrap_or_else(|| panic!("{title}: {direction:?}"));
        let [n, mean] = ["n", "mean"].map(|name| expected[name].as_f64().unwrap());
        let us = if meta["expected"]["value_unit"] == "usec" { 1000.0 } else { 1.0 };
        let kind = meta["format"].as_str().unwrap();
        // Windows are a few ms late, and the last one may be short.
        let near = |ours: f64, theirs: f64| {
            let (low, high) = ((n - 1.0) / n - 0.05, 1.1);
            assert!((low..high).contains(&(ours / theirs)), "{title}: {ours} {theirs}");
        };
        match (kind, result.ios) {
            // A row for each I/O.
            ("log:iops", Some(ios)) => assert_eq!((ios as f64, mean), (n, 1.0), "{title}"),
            ("log:bw", Some(ios)) => assert_eq!(ios as f64, n, "{title}"),
            (_, Some(_)) => {
                let split = result.split.as_ref();
                let histogram = match kind {
                    "log:lat" => &result.latency,
                    "log:clat" => &split.unwrap().completion,
                    _ => &split.unwrap().submission,
                };
                let ours = (histogram.count() as f64, histogram.min_ns(), histogram.max_ns());
                let ns = |name: &str| Some((expected[name].as_f64().unwrap() * us) as u64);
                assert_eq!(ours, (n, ns("min"), ns("max")), "{title}");
                assert!((histogram.mean_ns().unwrap() / (mean * us) - 1.0).abs() < 1e-9, "{title}");
            }
            ("log:iops", None) => near(rate(result, n, |window| window.ios), mean),
            ("log:bw", None) => near(rate(result, n, |window| window.bytes), mean * 1024.0),
            (_, None) => {
                let windows = result.series.windows().iter();
                let (sum, count) = windows.fold((0.0, 0), |(sum, count), window| {
                    (sum + window.latency_sum_ns, count + window.latency_count.unwrap())
                });
                // The last window may be short.
                assert!(
                    (sum / count as f64 / (mean * us) - 1.0).abs() < 0.35,
                    "{title}: {sum} {count} {mean}"
                );
            }
        }
    }
}

/// Average of `rows` windows, per second.
fn rate(result: &DirectionResult, rows: f64, amount: fn(&Window) -> Option<u64>) -> f64 {
    let windows = result.series.windows();
    let sum: u64 = windows.iter().filter_map(amount).sum();
    sum as f64 * 1e9 / windows[0].duration_ns as f64 / rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_log_is_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        rows in prop::collection::vec((any::<u64>(), any::<u64>(), 0_u8..4, any::<u64>()), 0..40),
        cut in 0_usize..2000,
        kind in prop::sample::select(vec!["bw", "iops", "lat", "clat", "slat", "clat_hist"]),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut text: Vec<u8> = rows
            .iter()
            .flat_map(|(time, value, direction, bs)| {
                format!("{}, {value}, {direction}, {bs}\n", time >> (value % 64)).into_bytes()
            })
            .collect();
        text.truncate(cut.max(1));
        text.extend(&bytes);
        fs::write(directory.path().join(format!("x_{kind}.1.log")), &text).unwrap();
        let imported = path(directory.path()).unwrap();
        for result in imported.measurements.iter().flat_map(|one| &one.total) {
            for rate in [result.iops, result.bandwidth, result.latency_mean].into_iter().flatten() {
                prop_assert!(rate.value.is_finite() && rate.value >= 0.0);
            }
            prop_assert!(result.series.windows().len() <= RateSeries::LIMIT);
            prop_assert!(result.latency_series.windows().len() <= LatencySeries::LIMIT);
            prop_assert!(result.series.windows().iter().all(|w| w.latency_sum_ns.is_finite()));
        }
    }
}
