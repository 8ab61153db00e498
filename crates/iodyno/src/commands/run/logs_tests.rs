use std::fs;

use iodyno_job::script::compile;
use iodyno_job::syntax::{Environment, OptionTable, parse_command_line};
use iodyno_load::{DirectionInterval, JobInterval};

use super::*;

const MS: u64 = 1_000_000;

/// The `n`th interval of 100 ms, in which each of `jobs` read ten blocks of 4 KiB.
fn interval(n: u64, jobs: usize) -> Interval {
    let mut latency = Histogram::default();
    (0..10).for_each(|_| latency.record(50_000));
    let read = DirectionInterval { ios: 10, bytes: 40_960, latency, ..Default::default() };
    let rows = vec![IoRow {
        priority: 0,
        ended_ns: (n * 100 + 50) * MS,
        latency_ns: 50_000,
        split_ns: None,
        direction: iodyno_model::Direction::Read,
        offset: 0,
        length: 4096,
    }];
    let job = JobInterval {
        active_ns: 100 * MS,
        directions: PerDirection { read, ..PerDirection::default() },
        rows,
        ..JobInterval::default()
    };
    Interval {
        start_ns: n * 100 * MS,
        duration_ns: 100 * MS,
        draining: false,
        cut: false,
        warnings: Vec::new(),
        jobs: vec![job; jobs],
    }
}

/// Rows and columns of the logs of this name after `intervals` of the job with these options; its
/// logs have the prefix `l`.
fn rows(options: &str, intervals: &[Interval], name: &str) -> Vec<Vec<u64>> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let line = format!("--name=t --filename=x --size=1m {options}")
        .replace("=l ", &format!("={} ", path("l")));
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let line = parse_command_line(&words, &OptionTable).unwrap();
    let environment = Environment {
        variable: &|_| None,
        read: &|_| unreachable!(),
        page_size_bytes: 4096,
        cpus: 1,
        memory_mib: 1,
    };
    let sections = line.load(&OptionTable, &environment).unwrap();
    let script = compile(&sections, &iodyno_job::script::CompileOptions::default()).unwrap();
    let jobs: Vec<ClearedJob<'_>> = script.phases[0]
        .jobs
        .iter()
        .map(|job| ClearedJob { job: job.job.clone(), files: Vec::new() })
        .collect();
    let aggregate = path("agg");
    let mut logs = LogFiles::new(&script, Some(&aggregate));
    for interval in intervals {
        let mut interval = interval.clone();
        if jobs[0].job.report.logs.average_ms > 0 {
            // Without row logs no generator makes rows.
            interval.jobs.iter_mut().for_each(|job| job.rows.clear());
        }
        logs.record(&jobs, &interval).unwrap();
    }
    logs.finish().unwrap();
    // A log that was not requested has no file.
    let text = fs::read_to_string(path(name)).unwrap_or_default();
    let columns = |row: &str| row.split(", ").map(|column| column.parse().unwrap()).collect();
    text.lines().map(columns).collect()
}

fn times(rows: &[Vec<u64>]) -> Vec<u64> {
    rows.iter().map(|row| row[0]).collect()
}

#[test]
fn draining_forms_no_window_of_its_own() {
    let mut intervals: Vec<Interval> = (0..4).map(|n| interval(n, 1)).collect();
    intervals.push(Interval { draining: true, duration_ns: MS, ..interval(4, 1) });
    let logs = "--write_bw_log=l --write_iops_log=l --write_lat_log=l --log_avg_msec=200 ";
    for name in ["l_bw.1.log", "l_iops.1.log", "l_lat.1.log", "l_clat.1.log"] {
        assert_eq!(times(&rows(logs, &intervals, name)), [200, 400], "{name}");
    }
    // Running work ends in a partial window; a window of completions counts only if there is
    // nothing else.
    intervals[4].draining = false;
    assert_eq!(times(&rows(logs, &intervals, "l_bw.1.log")), [200, 400, 401]);
    let short = [Interval { draining: true, ..interval(0, 1) }];
    assert_eq!(times(&rows(logs, &short, "l_bw.1.log")), [100]);
    // A requested log exists even if it is empty.
    assert!(rows(logs, &[], "l_slat.1.log").is_empty());
}

#[test]
fn a_ramp_is_not_logged_and_counts_for_no_time() {
    let ramp = |n| {
        let mut one = interval(n, 1);
        one.jobs[0].ramping = n < 3;
        one
    };
    let intervals: Vec<Interval> = (0..7).map(ramp).collect();
    let options = "--time_based --runtime=1 --ramp_time=300ms --write_iops_log=l ";
    let averages = format!("{options} --log_avg_msec=200 ");
    assert_eq!(times(&rows(&averages, &intervals, "l_iops.1.log")), [200, 400]);
    assert_eq!(times(&rows(options, &intervals, "l_iops.1.log")), [50, 150, 250, 350]);
}

#[test]
fn averages_of_both_parts_of_latencies_are_logged_where_they_are_known() {
    let mut one = interval(0, 1);
    let mut split = SplitLatency::default();
    (0..10).for_each(|_| split.submission.record(2000));
    (0..9).for_each(|_| split.completion.record(40_000));
    split.completion.record(60_000);
    let logs = "--write_lat_log=l --log_avg_msec=100 --log_window_value=both ";
    let value = |intervals: &[Interval], name: &str| {
        let rows = rows(logs, intervals, name);
        rows.first().map(|row| [row[1], row[2]])
    };
    assert_eq!(value(&[one.clone()], "l_clat.1.log"), Some([50_000, 50_000]));
    assert_eq!(value(&[one.clone()], "l_slat.1.log"), None);
    one.jobs[0].directions.read.split = Some(Box::new(split));
    assert_eq!(value(&[one.clone()], "l_lat.1.log"), Some([50_000, 50_000]));
    assert_eq!(value(&[one.clone()], "l_slat.1.log"), Some([2000, 2000]));
    assert_eq!(value(&[one], "l_clat.1.log"), Some([42_000, 60_000]));
}

#[test]
fn only_the_parts_of_a_latency_have_a_time_of_issue() {
    let mut one = interval(0, 1);
    one.jobs[0].rows[0].split_ns = Some((1000, 49_000));
    let logs =
        "--write_lat_log=l --write_bw_log=l --write_iops_log=l --log_offset=1 --log_issue_time=1 ";
    let issued = |name: &str| *rows(logs, &[one.clone()], name)[0].last().unwrap();
    let names = ["lat", "bw", "iops", "clat", "slat"].map(|kind| format!("l_{kind}.1.log"));
    let begun = 50 * MS - 50_000;
    assert_eq!(names.map(|name| issued(&name)), [0, 0, 0, begun, begun]);
}

#[test]
fn latencies_that_are_not_measured_have_no_log() {
    let mut one = interval(0, 1);
    one.jobs[0].rows[0].split_ns = Some((1000, 49_000));
    let logged = |option: &str, kind: &str| {
        let options = format!("--write_lat_log=l --{option}=1 ");
        !rows(&options, &[one.clone()], &format!("l_{kind}.1.log")).is_empty()
    };
    for (option, expected) in [
        ("disable_bw", [true, true, true]),
        ("disable_lat", [false, true, true]),
        ("disable_clat", [true, false, true]),
        ("disable_slat", [true, true, false]),
        ("gtod_reduce", [false, false, false]),
    ] {
        assert_eq!(["lat", "clat", "slat"].map(|kind| logged(option, kind)), expected, "{option}");
    }
}

#[test]
fn a_histogram_names_its_block_size() {
    let intervals: Vec<Interval> = (0..2).map(|n| interval(n, 1)).collect();
    let found =
        rows("--bs=8k --write_hist_log=l --log_hist_msec=200 ", &intervals, "l_clat_hist.1.log");
    assert_eq!((found.len(), &found[0][..3]), (1, &[200, 0, 8192][..]));
}

#[test]
fn the_bandwidth_of_all_together_is_a_log_for_each_direction() {
    let intervals: Vec<Interval> = (0..11).map(|n| interval(n, 2)).collect();
    let options = "--numjobs=2 --nrfiles=1";
    // 81920 bytes in 100 ms.
    let expected = [vec![500, 800, 0, 0, 0], vec![1000, 800, 0, 0, 0]];
    assert_eq!(rows(options, &intervals, "agg-read_bw.log"), expected);
    let none = [vec![500, 0, 2, 0, 0], vec![1000, 0, 2, 0, 0]];
    assert_eq!(rows(options, &intervals, "agg-trim_bw.log"), none);
}
