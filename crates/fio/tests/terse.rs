//! Reads terse lines of all versions from this machine's fio.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

use iodyno_fio::read::text;
use iodyno_model::{Direction, Measurement};
use proptest::prelude::*;

/// Output of fio with these arguments.
fn fio(arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("fio")
        .current_dir(directory.path())
        .args(["--filename=data", "--size=256k", "--bs=4k", "--eta=never"])
        .args(arguments)
        .output()
        .expect("these tests need fio: make deps");
    String::from_utf8(output.stdout).unwrap()
}

/// Measurements of a text without problems.
fn read(output: &str) -> Vec<Measurement> {
    let found = text("", output);
    assert_eq!(found.problems, [], "{output}");
    found.measurements
}

fn directions(of: &Measurement) -> Vec<Direction> {
    of.total.iter().map(|result| result.direction).collect()
}

#[test]
fn all_versions_agree() {
    use Direction::{Read, Write};
    for version in ["2", "3", "4", "5"] {
        let version = format!("--terse-version={version}");
        let output = fio(&[
            "--name=a; b",
            "--description=c;d",
            "--rw=randrw",
            "--output-format=terse",
            &version,
        ]);
        let [one] = &read(&output)[..] else { panic!("{output}") };
        assert_eq!((one.name.as_str(), one.failure()), ("a; b", None), "{output}");
        assert_eq!(directions(one), [Read, Write], "{output}");
        let bytes: u64 = one.total.iter().map(|result| result.bytes.unwrap()).sum();
        assert_eq!(bytes, 256 << 10);
        for result in &one.total {
            let stated = &result.stated.as_ref().unwrap().completion;
            assert_eq!(stated.percentiles.len(), 17);
            assert!(stated.mean_ns.unwrap().value > 0.0 && result.ios.is_none());
        }
        assert!(!one.account.as_ref().unwrap().latency_ranges.is_empty());
    }
}

#[test]
fn directions_that_are_reported_together_are_one() {
    use Direction::{Mixed, Read, Write};
    for (unified, version, expected) in [
        ("mixed", "3", &[Mixed][..]),
        ("mixed", "5", &[Mixed]),
        ("both", "3", &[Read, Write]),
        ("both", "5", &[Read, Write]),
    ] {
        let unified = format!("--unified_rw_reporting={unified}");
        let version = format!("--terse-version={version}");
        let output = fio(&["--name=a", "--rw=randrw", "--output-format=terse", &unified, &version]);
        let [one] = &read(&output)[..] else { panic!("{output}") };
        assert_eq!(directions(one), expected, "{output}");
    }
}

#[test]
fn names_may_contain_semicolons() {
    let output = fio(&["--name=name", "--rw=read", "--output-format=terse"]);
    let odd = output.replacen(";name;", ";odd; name;0;", 1);
    assert_eq!(read(&odd)[0].name, "odd; name;0");
    assert_eq!(read(&odd)[0].total, read(&output)[0].total);
}

#[test]
fn text_around_lines_is_ignored() {
    let line = fio(&["--name=a", "--rw=read", "--output-format=terse"]);
    let line = line.trim();
    let found =
        read(&format!("clock setaffinity failed\r\n<host> {line}\r\nJobs: 1\r\"{line}\"\n"));
    // The same line twice is one run, reported twice.
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].total, read(line)[0].total);
}

#[test]
fn truncated_lines_are_read_up_to_the_cut() {
    let line = fio(&["--name=a", "--rw=randrw", "--output-format=terse"]);
    let fields: Vec<&str> = line.trim().split(';').collect();
    // Within the writes.
    let found = text("file", &format!("\n{}\n", fields[..70].join(";")));
    assert_eq!(directions(&found.measurements[0]), [Direction::Read]);
    assert_eq!((found.problems.len(), found.problems[0].line), (1, Some(2)));
    let found = text("file", &fields[..30].join(";"));
    assert_eq!((found.measurements.len(), found.problems.len()), (0, 1));
}

#[test]
fn interim_reports_count_once() {
    let output = fio(&[
        "--name=a",
        "--name=b",
        "--name=c",
        "--rw=randread",
        "--thread",
        "--time_based",
        "--runtime=1",
        "--rate_iops=500",
        "--output-format=terse",
        "--status-interval=300ms",
    ]);
    let lines = output.lines().filter(|line| line.starts_with("3;")).count();
    assert!(lines > 6, "{output}");
    let names: Vec<String> = read(&output).into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["a", "b", "c"], "{output}");
    // Clones and successive runs are not reports of one run.
    let run = || fio(&["--name=a", "--numjobs=3", "--rw=read", "--output-format=terse"]);
    assert_eq!(read(&format!("{}{}", run(), run())).len(), 6);
}

#[test]
fn a_failed_job_has_failed() {
    let output =
        fio(&["--name=a", "--rw=read", "--output-format=terse", "--filename=/dev/null/none"]);
    for one in text("", &output).measurements {
        assert!(one.failure().is_some(), "{one:?}");
    }
    let line = fio(&["--name=a", "--rw=read", "--output-format=terse"]);
    let failed = line.replacen(";a;0;0;", ";a;0;28;", 1);
    assert_eq!(read(&failed)[0].failure(), Some("No space left on device (os error 28)"));
}

proptest! {
    #[test]
    fn any_line_is_read_or_refused(
        version in 0..7_u8,
        fields in prop::collection::vec("[0-9]{1,25}|[0-9.]{1,8}%=[0-9]{1,25}|-?[a-z.%]{0,5}", 0..140),
        percentiles in prop::collection::vec(0..120_usize, 0..3),
    ) {
        let mut fields = fields;
        for at in percentiles {
            let at = at.min(fields.len());
            fields.splice(at..at, (1..=20).map(|n| format!("{n}.0%={n}")));
        }
        let line = format!("{version};fio-3.1;{}", fields.join(";"));
        for one in text("", &line).measurements {
            for result in one.total {
                for rate in [result.iops, result.bandwidth, result.latency_mean].into_iter().flatten() {
                    prop_assert!(rate.value.is_finite() && rate.value >= 0.0 && rate.low() <= rate.high());
                }
            }
        }
    }
}
