//! Values in fio's text other than rates and latencies are kept, as from its JSON: latency classes,
//! rate samples, depths, disks, and the date.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::process::Command;

use common::{alone, parts};
use iodyno_fio::read::text;
use iodyno_model::{Estimate, Measurement, RateSamples};

fn near(ours: Option<Estimate>, theirs: Option<Estimate>, rounding: f64) -> bool {
    match (ours, theirs) {
        (Some(a), Some(b)) => (a.value - b.value).abs() <= rounding,
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// `unit` is the unit in which a figure is printed.
fn same(ours: &RateSamples, theirs: &RateSamples, unit: f64) -> bool {
    let all = |of: &RateSamples| [of.min, of.max, of.mean, of.stdev];
    let pairs = all(ours).into_iter().zip(all(theirs));
    ours.count == theirs.count && pairs.into_iter().all(|(a, b)| near(a, b, 0.006 * unit))
}

#[test]
fn text_and_terse_keep_what_json_keeps() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let output = Command::new("fio")
        .current_dir(&folder)
        .args(["--filename=data", "--size=4m", "--bs=4k", "--eta=never", "--terse-version=5"])
        .args(["--output-format=normal,terse,json+", "--time_based", "--runtime=2s"])
        .args(["--name=a", "--rw=randrw", "--ioengine=libaio", "--iodepth=4", "--rate_iops=800"])
        .output()
        .expect("these tests need fio: make deps");
    let output = String::from_utf8(output.stdout).unwrap();
    let (terse, json, _) = parts(&output);
    let only = |of: &str| -> Measurement {
        let found = text("", of).measurements;
        let [one] = &found[..] else { panic!("{found:?}") };
        one.clone()
    };
    let (of_json, of_terse) = (only(json), only(&terse.concat()));
    let of_text = only(&alone(&output));
    for (a, b) in of_text.total.iter().zip(&of_json.total) {
        let (a, b) = (a.sampled.as_ref().unwrap(), b.sampled.as_ref().unwrap());
        assert!(a.iops.count.unwrap() >= 3, "{a:?}");
        assert!(same(&a.bandwidth, &b.bandwidth, 1024.0), "{a:?}\n{b:?}");
        assert!(same(&a.iops, &b.iops, 1.0), "{a:?}\n{b:?}");
    }
    for (a, b) in of_terse.total.iter().zip(&of_json.total) {
        let (a, b) = (a.sampled.as_ref().unwrap(), b.sampled.as_ref().unwrap());
        assert!(same(&a.bandwidth, &b.bandwidth, 1024.0), "{a:?}\n{b:?}");
        assert!(same(&a.iops, &b.iops, 1.0), "{a:?}\n{b:?}");
    }
    let (account, json_account) = (of_text.account.unwrap(), of_json.account.unwrap());
    let counted: u64 = account.depth_levels.iter().sum();
    assert!(counted > 0);
    for (a, b) in account.depth_levels.iter().zip(json_account.depth_levels) {
        assert!(a.abs_diff(b) <= counted / 1000 + 1, "{account:?} {json_account:?}");
    }
    let (classes, json_classes) = (account.latency_ranges, json_account.latency_ranges);
    assert!(!classes.is_empty() && classes.len() == json_classes.len());
    for (a, b) in classes.iter().zip(&json_classes) {
        assert_eq!((a.low_ns, a.high_ns), (b.low_ns, b.high_ns));
        // The text has hundredths of a percent, and truncates where JSON rounds.
        assert!((a.share.value - b.share.value).abs() <= 1.01e-4, "{a:?} {b:?}");
    }
    let [disk, ..] = &of_text.disks[..] else { panic!("{:?}", of_text.disks) };
    let theirs = of_json.disks.iter().find(|of| of.name == disk.name).unwrap();
    assert!(disk.read_ios + disk.write_ios > 0 || theirs.read_ios + theirs.write_ios == 0);
    assert_eq!(
        (disk.read_ios, disk.write_ticks_ms, disk.in_queue_ms, disk.read_merges),
        (theirs.read_ios, theirs.write_ticks_ms, theirs.in_queue_ms, theirs.read_merges)
    );
    assert!((disk.util_percent() - theirs.util_percent()).abs() < 0.01);
    // `2026-11-22T14:35:48`, by that machine's clock.
    let printed = of_text.printed.unwrap();
    assert!(printed.len() == 19 && printed.as_bytes()[10] == b'T', "{printed}");
}

/// Documents of one file, and files of one folder, are of different times.
#[test]
fn reports_have_separate_phases() {
    let job = r#"{ "jobname": "a", "groupid": 0, "error": 0, "elapsed": 1,
        "read": { "total_ios": 1, "io_bytes": 4096, "runtime": 1000 } }"#;
    let report = |at: u64| {
        format!(
            "{{\n\"fio version\": \"fio-3.33\", \"timestamp\": {at}, \"jobs\": [ {job}, {job} ] }}\n"
        )
    };
    let both = format!("{}{}", report(1_700_000_000), report(1_700_009_000));
    let phases: Vec<u32> = text("", &both).measurements.iter().map(|of| of.phase).collect();
    assert_eq!(phases, [0, 0, 1, 1]);
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.json", "b.json"] {
        std::fs::write(folder.path().join(name), report(1_700_000_000)).unwrap();
    }
    let found = iodyno_fio::read::path(folder.path()).unwrap().measurements;
    assert_eq!(found.iter().map(|of| of.phase).collect::<Vec<_>>(), [0, 0, 1, 1]);
}
