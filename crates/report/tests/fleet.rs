//! Drives of many hosts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::style;
use iodyno_judge::{ClaimBook, Question, assess};
use iodyno_model::{Accepted, Assessment, Fact, Measurement, RunRecord, Scope, Verdict};
use iodyno_report::Judged;
use iodyno_report::document::read::read_runs;
use iodyno_report::document::run_document;
use iodyno_report::export::{Places, fleet_openmetrics, work_list};
use iodyno_report::fleet::{Against, Fleet, HostRun, Outlier, fleet, fleet_of};
use iodyno_report::text::{fleet_text, json_text};

/// Host number `n`, with its own serial numbers.
fn host(n: usize) -> RunRecord {
    let mut record = common::record();
    record.run.id = format!("{:08}-7a80-7c11-9d3a-0b1f6f0c2d11", n);
    record.run.name = format!("run-{n}");
    let host = &mut record.snapshots[0];
    host.hostname = Fact::Read(format!("db{n:02}"));
    for drive in &mut host.drives {
        drive.serial = Fact::Read(format!("S64H{n:02}{}", drive.name));
    }
    record
}

fn scaled(mut record: RunRecord, measurement: usize, factor: f64) -> RunRecord {
    let result = &mut record.measurements[measurement].total[0];
    result.iops = result.iops.map(|iops| iops.scaled(factor));
    result.bandwidth = result.bandwidth.map(|rate| rate.scaled(factor));
    record
}

fn of(records: &[RunRecord]) -> Fleet {
    let claims = ClaimBook::builtin();
    let assessed: Vec<Assessment> = records
        .iter()
        .map(|record| assess(&Question { record, claims: &claims, baseline: None, expect: None }))
        .collect();
    let judged: Vec<Judged<'_>> = records
        .iter()
        .zip(&assessed)
        .map(|(record, assessment)| Judged { record, assessment })
        .collect();
    fleet(&judged)
}

#[test]
fn an_outlier_is_listed_first() {
    let mut records: Vec<RunRecord> = (1..=4).map(host).collect();
    // The random reads of nvme1 on one host are at 60 % of the others.
    records[2] = scaled(records[2].clone(), 4, 0.6);
    let fleet = of(&records);
    assert_eq!((fleet.len(), fleet.hosts(), fleet.classes.len()), (16, 4, 1));
    let first = &fleet.classes[0].drives[0];
    assert_eq!((first.host.as_str(), first.name.as_str()), ("db03", "nvme1"));
    let outlier = &first.outliers[0];
    assert_eq!(
        (outlier.measurement.as_str(), outlier.unlike.verdict),
        ("rand-read", Verdict::Fail)
    );
    assert!((outlier.unlike.ratio - 0.6).abs() < 0.01, "{outlier:?}");
    // nvme2 is unwritten and INVALID, nvme3 was not measured.
    assert_eq!(outlier.against, Against::Class { drives: 8 });
    assert!(fleet.classes[0].drives[1..].iter().all(|drive| drive.outliers.is_empty()));
    let text = fleet_text(&fleet, &style(120));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("FAIL  16 drives on 4 hosts, "), "{text}");
    assert!(lines[2].contains("SAMSUNG MZQL23T8HCLS-00A07, GDC5902Q"), "{text}");
    assert!(
        lines[4].contains("rand-read 60 % of the median of 8: 587.3k ± 1.1k IOPS, not 981k"),
        "{text}"
    );
}

#[test]
fn another_firmware_is_another_class_and_two_are_no_peers() {
    let mut records: Vec<RunRecord> = (1..=2).map(host).collect();
    records[1] = scaled(records[1].clone(), 4, 0.5);
    for drive in &mut records[1].snapshots[0].drives {
        drive.firmware = Fact::Read("GDC9999Q".into());
    }
    let fleet = of(&records);
    assert_eq!(fleet.classes.len(), 2);
    assert!(fleet.classes.iter().flat_map(|class| &class.drives).all(|d| d.outliers.is_empty()));
}

#[test]
fn another_load_of_the_same_name_is_no_peer() {
    // The random reads of nvme1 on one host are at 60 % of the others.
    let slow = |change: &dyn Fn(usize, &mut Measurement)| {
        let mut records: Vec<RunRecord> = (1..=4).map(host).collect();
        records[2] = scaled(records[2].clone(), 4, 0.6);
        for (n, record) in records.iter_mut().enumerate() {
            change(n, &mut record.measurements[4]);
        }
        let fleet = of(&records);
        let read = |record| HostRun::of_documents(&document(record)).unwrap().unwrap();
        assert_eq!(fleet_of(records.iter().flat_map(read).collect()), fleet);
        fleet.drives().filter(|drive| !drive.outliers.is_empty()).count()
    };
    assert_eq!(slow(&|_, _| ()), 1);
    let others: [fn(&mut Measurement); 3] = [
        |of| of.workload.iodepth = Some(4),
        |of| of.workload.numjobs = Some(1),
        |of| drop(of.workload.options.insert("rate_iops".into(), "5000".into())),
    ];
    for (at, other) in others.into_iter().enumerate() {
        let of_one = |n: usize, of: &mut Measurement| {
            if n == 2 {
                other(of)
            }
        };
        assert_eq!(slow(&of_one), 0, "{at}");
    }
    // Each host may find another depth.
    let searched = |n: usize, of: &mut Measurement| {
        let jobs = 1 << n;
        (of.workload.iodepth, of.workload.numjobs) = (Some(512 / jobs), Some(jobs));
        of.conditions.depths_tried = vec![(256, 9e5), (512, 9.1e5)];
    };
    assert_eq!(slow(&searched), 1);
}

#[test]
fn the_newest_run_of_a_host_counts() {
    let mut later = host(1);
    later.run.started_ns += 1;
    later.run.id = "later".into();
    let fleet = of(&[later.clone(), later, host(1), host(2)]);
    assert_eq!((fleet.hosts(), fleet.older_runs), (2, 1));
    let runs = fleet.classes[0].drives.iter().filter(|drive| drive.host == "db01");
    assert!(runs.clone().count() == 4 && runs.clone().all(|drive| drive.run_id == "later"));
    let text = fleet_text(&fleet, &style(100));
    assert!(text.contains("1 older run of the same hosts\n"), "{text}");
}

#[test]
fn a_run_of_one_drive_leaves_the_others_of_its_host() {
    let mut later = host(1);
    (later.run.started_ns, later.run.id) = (later.run.started_ns + 1, "later".into());
    later.run.scope = Scope::Targets;
    let kept = later.snapshots[0].drives[0].clone();
    later.run.targets.retain(|name| name.starts_with(&kept.name));
    later.run.skipped.retain(|skipped| skipped.target.starts_with(&kept.name));
    later.measurements.retain(|of| of.targets.iter().all(|name| name.starts_with(&kept.name)));
    let fleet = of(&[later, host(1)]);
    assert_eq!((fleet.len(), fleet.hosts(), fleet.older_runs), (4, 1, 0));
    assert_eq!(fleet.drives().filter(|drive| drive.run_id == "later").count(), 1);
}

#[test]
fn hosts_of_one_name_are_distinguished() {
    let accepted = |n: usize, id: &str, later_ns: i64| {
        let mut record = host(n);
        record.snapshots[0].hostname = Fact::Read("localhost".into());
        record.run.id = format!("{n}-{later_ns}");
        record.run.started_ns += later_ns;
        record.run.accepted = Some(Accepted {
            profile: "check".into(),
            step: 1,
            node: "localhost".into(),
            host_id: Some(id.into()),
            rank: None,
            start_at: None,
            clock_error_ns: None,
            cut_short: false,
        });
        record
    };
    let records = [
        accepted(1, "aa", 2),
        accepted(2, "bb", 1),
        // Each of them once more, earlier; the second was then booted from an image.
        accepted(1, "aa", 0),
        accepted(2, "cc", 0),
    ];
    let fleet = of(&records);
    assert_eq!((fleet.len(), fleet.hosts(), fleet.older_runs), (8, 2, 2));
    let hosts: Vec<_> = fleet.drives().map(|drive| drive.host.as_str()).collect();
    assert!(hosts.contains(&"localhost") && hosts.contains(&"localhost.bb"), "{hosts:?}");
    let read = |record| HostRun::of_documents(&document(record)).unwrap().unwrap();
    assert_eq!(fleet_of(records.iter().flat_map(read).collect()), fleet);
}

/// Eight hosts whose random reads fell to `factor` of four earlier runs, and to `own` on nvme1 of
/// db03.
fn over_months(factor: f64, own: f64) -> Fleet {
    let mut records = Vec::new();
    for n in 1..=8 {
        let of = |month: usize, factor: f64| {
            let mut record = host(n);
            for at in 0..record.measurements.len() {
                // No two are the same.
                let noise = 1.0 + 0.004 * ((n * 7 + month * 3 + at) % 5) as f64;
                if record.measurements[at].name == "rand-read" {
                    record = scaled(record, at, noise * factor);
                }
            }
            record.run.id = format!("{n}-{month}");
            record.run.started_ns += month as i64 * 30 * 86_400 * 1_000_000_000;
            record
        };
        // Constantly slower than its peers is no change.
        let usual = 1.0 - 0.01 * n as f64;
        records.extend((0..4).map(|month| of(month, usual)));
        let last = of(4, usual * factor);
        records.push(if n == 3 { scaled(last, 4, own / factor) } else { last });
    }
    of(&records)
}

#[test]
fn a_slowing_drive_is_compared_with_its_earlier_runs() {
    let fleet = over_months(1.0, 0.85);
    assert_eq!((fleet.older_runs, fleet.outliers().1), (32, 1));
    let fell = fleet.drives().find(|drive| !drive.outliers.is_empty()).unwrap();
    assert_eq!((fell.host.as_str(), fell.name.as_str()), ("db03", "nvme1"));
    let before = fell.outliers.iter().find_map(|one| match one.against {
        Against::Itself { value, runs, .. } => Some((one.estimate.value / value, runs)),
        Against::Class { .. } => None,
    });
    let (share, runs) = before.unwrap();
    assert!((share - 0.85).abs() < 0.02 && runs == 4, "{share} {runs}");
    let text = fleet_text(&fleet, &style(160));
    assert!(text.contains("1 slower than before"), "{text}");
    // All are slower, as by a kernel: not the drive's fault.
    assert_eq!(over_months(0.85, 0.85).outliers().1, 0);
    assert_eq!(over_months(1.0, 1.0).outliers().1, 0);
    let both = over_months(0.9, 0.7);
    assert_eq!(both.outliers().1, 1);
    let text = fleet_text(&both, &style(200));
    assert!(
        text.contains("of what it was in 4 runs since 20") && text.contains(", its class 90 %"),
        "{text}"
    );
}

#[test]
fn a_drive_is_recognised_in_another_host() {
    let mut records = Vec::new();
    for n in 1..=4 {
        let mut earlier = host(n);
        earlier.run.id = format!("earlier-{n}");
        earlier.run.started_ns -= 1_000_000_000;
        records.extend([earlier, host(n)]);
    }
    // The drives of the first two hosts were swapped, and those of one host are slow.
    for (at, serials) in [(1, 2), (3, 1)] {
        for drive in &mut records[at].snapshots[0].drives {
            drive.serial = Fact::Read(format!("S64H{serials:02}{}", drive.name));
        }
    }
    records[1] = scaled(records[1].clone(), 4, 0.6);
    let fleet = of(&records);
    let fell: Vec<_> = fleet.drives().filter(|drive| !drive.outliers.is_empty()).collect();
    assert_eq!(fell.len(), 1);
    assert_eq!((fell[0].host.as_str(), fell[0].serial.as_deref()), ("db01", Some("S64H02nvme1")));
    let itself = |one: &&Outlier| matches!(one.against, Against::Itself { runs: 1, .. });
    assert!(fell[0].outliers.iter().any(|one| itself(&one)), "{:?}", fell[0].outliers);
}

#[test]
fn steps_of_one_acceptance_are_merged() {
    let step = |number: u32, of: Option<usize>| {
        let mut record = host(1);
        record.run.id = format!("step-{number}");
        record.run.started_ns += i64::from(number);
        record.run.accepted = Some(Accepted {
            profile: "own".into(),
            step: number,
            node: "db01".into(),
            host_id: None,
            rank: None,
            start_at: None,
            clock_error_ns: None,
            cut_short: false,
        });
        if let Some(drive) = of {
            let kept = record.snapshots[0].drives.remove(drive);
            let is_kept = |name: &String| name.starts_with(&kept.name);
            record.run.targets.retain(is_kept);
            record.run.skipped.retain(|skipped| is_kept(&skipped.target));
            record.measurements.retain(|of| of.targets.iter().all(is_kept));
            record.snapshots[0].drives = vec![kept];
        }
        record
    };
    let run_of = |fleet: &Fleet, name: &str| {
        fleet.drives().find(|drive| drive.name == name).map(|drive| drive.run_id.clone())
    };
    // The second step was of one drive; the first step of an earlier acceptance is not shown.
    let fleet = of(&[step(1, None), step(2, Some(0)), host(2)]);
    assert_eq!((fleet.len(), fleet.older_runs), (8, 0));
    assert_eq!(run_of(&fleet, "nvme0").as_deref(), Some("step-2"));
    assert_eq!(run_of(&fleet, "nvme1").as_deref(), Some("step-1"));
    let mut before = step(2, None);
    before.run.started_ns -= 1_000_000;
    before.run.id = "before".into();
    let fleet = of(&[before, step(1, None), step(2, Some(0))]);
    assert_eq!((fleet.len(), fleet.older_runs), (4, 1));
}

#[test]
fn start_spread_is_that_of_first_steps() {
    let step = |n: usize, number: u32, ms: i64| {
        let mut record = host(n);
        record.run.id = format!("{n}-{number}");
        record.run.started_ns += ms * 1_000_000;
        record.run.accepted = Some(Accepted {
            profile: "fit".into(),
            step: number,
            node: format!("db{n:02}"),
            host_id: None,
            rank: None,
            start_at: Some("2024-11-21T11:34:56Z".into()),
            clock_error_ns: None,
            cut_short: false,
        });
        record
    };
    let fleet = of(&[step(1, 1, 0), step(2, 1, 7), step(1, 2, 30_000), step(2, 2, 95_000)]);
    assert_eq!((fleet.hosts(), fleet.start_spread_ns), (2, Some(7_000_000)));
}

#[test]
fn runs_without_a_host_are_targets_of_their_own() {
    let imported = |name: &str| {
        let mut record = host(1);
        record.snapshots.clear();
        (record.run.name, record.run.id) = (name.into(), name.into());
        record
    };
    let fleet = of(&[imported("a"), imported("b")]);
    assert_eq!((fleet.classes.len(), fleet.hosts(), fleet.older_runs), (1, 2, 0));
    assert!(fleet.classes[0].kind.is_none());
    assert_eq!(fleet_text(&of(&[]), &style(80)), "No drives and no targets in these runs.\n");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut records: Vec<RunRecord> = (1..=4).map(host).collect();
    records[2] = scaled(records[2].clone(), 4, 0.6);
    records[3].snapshots[0].hostname = Fact::Read("a-host-\u{1b}[31mof-a-very-long-name".repeat(3));
    let fleet = of(&records);
    for width in [40, 60, 80, 100, 160] {
        let text = fleet_text(&fleet, &style(width));
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        assert!(!text.contains('\u{1b}'));
    }
}

/// Document that a host pushes.
fn document(record: &RunRecord) -> String {
    let claims = ClaimBook::builtin();
    let assessment = assess(&Question { record, claims: &claims, baseline: None, expect: None });
    json_text(&run_document(record, &assessment, 0)).unwrap()
}

/// Hosts; every sixth runs another kernel, and its drives are 12 % slower.
fn slow_with_a_kernel(hosts: usize) -> Vec<RunRecord> {
    let of = |n: usize| {
        // No two are the same.
        let mut record = scaled(host(n), 4, 1.0 + 0.001 * (n % 7) as f64);
        if n.is_multiple_of(6) {
            record = scaled(record, 4, 0.88);
            record.snapshots[0].kernel.release = Fact::Read("6.12.99-bad".into());
        }
        record
    };
    (1..=hosts).map(of).collect()
}

#[test]
fn documents_give_the_same_fleet_as_their_runs() {
    let records = slow_with_a_kernel(12);
    let texts: Vec<String> = records.iter().map(document).collect();
    let read = |text: &str| HostRun::of_documents(text).unwrap().unwrap();
    let all = format!("[{}]", texts.join(","));
    assert_eq!(fleet_of(read(&all)), of(&records));
    assert_eq!(fleet_of(texts.iter().flat_map(|text| read(text)).collect()), of(&records));
    // Runs judged by another ruleset are judged again; text that is not a document is an error.
    let other = texts[0].replace("\"ruleset\": \"", "\"ruleset\": \"0");
    assert_ne!(other, texts[0]);
    assert_eq!(HostRun::of_documents(&other).unwrap(), None);
    for hostile in
        ["", "[", "{}", "[1]", "{\"schema\": []}", "[[[[[[[[", "null", "{\"drives\": {}}"]
    {
        assert!(HostRun::of_documents(hostile).is_err(), "{hostile}");
    }
    for cut in (0..texts[0].len()).step_by(997) {
        let Some(part) = texts[0].get(..cut) else { continue };
        assert!(HostRun::of_documents(part).is_err(), "{cut}");
        // Any replaced value gives a result or an error, never a panic.
        for other in ["null", "-1e999", "[]", "\"\\u0000\u{1b}[31m\"", "{\"a\":[[]]}"] {
            let at = texts[0][cut..].find(": ").map_or(cut, |at| cut + at + 2);
            let end = texts[0][at..].find(['\n', ',']).map_or(at, |end| at + end);
            let damaged = format!("{}{other}{}", &texts[0][..at], &texts[0][end..]);
            let quick = HostRun::of_documents(&damaged).ok().flatten();
            let _ = (quick.map(fleet_of), read_runs(&damaged));
        }
    }
}

#[test]
fn common_traits_of_slow_drives_are_reported() {
    let fleet = of(&slow_with_a_kernel(60));
    let slow: Vec<_> = fleet.drives().filter(|drive| !drive.outliers.is_empty()).collect();
    assert!(!slow.is_empty());
    assert!(slow.iter().all(|drive| drive.traits.kernel.as_deref() == Some("6.12.99-bad")));
    let of_kernel: Vec<_> = fleet.common.iter().filter(|of| of.value == "6.12.99-bad").collect();
    assert_eq!(of_kernel.len(), 1, "{:?}", fleet.common);
    assert!(of_kernel[0].chance < 0.01, "{of_kernel:?}");
    let text = fleet_text(&fleet, &style(200));
    assert!(
        text.contains("in common: 10 of 10 slow have kernel 6.12.99-bad, 30 of 230 others"),
        "{text}"
    );
    assert_eq!(
        (of_kernel[0].reason.as_str(), of_kernel[0].wrong, of_kernel[0].others),
        ("slow", (10, 10), (30, 230))
    );
    // No common trait is reported if nothing sets them apart.
    let alike = of(&(1..=12).map(host).collect::<Vec<_>>());
    assert!(alike.common.iter().all(|of| of.reason != "slow"), "{:?}", alike.common);
}

#[test]
fn one_slow_drive_in_a_large_fleet_is_found_below_ten_percent() {
    let mut records: Vec<RunRecord> =
        (1..=40).map(|n| scaled(host(n), 4, 1.0 + 0.001 * (n % 7) as f64)).collect();
    records[8] = scaled(records[8].clone(), 4, 0.93);
    records[9] = scaled(records[9].clone(), 4, 0.97);
    let fleet = of(&records);
    let slow: Vec<_> = fleet.drives().filter(|drive| !drive.outliers.is_empty()).collect();
    let hosts: Vec<_> = slow.iter().map(|drive| drive.host.as_str()).collect();
    // 7 % is significant; 3 % is too, but does not matter.
    assert_eq!(hosts, ["db09"]);
    assert_eq!(slow[0].outliers[0].unlike.verdict, Verdict::Warn);
}

#[test]
fn the_work_list_has_place_and_action_but_no_formula() {
    let mut records = slow_with_a_kernel(24);
    records[5].snapshots[0].drives[1].serial = Fact::Read("=HYPERLINK(\"x\")".into());
    let fleet = of(&records);
    let places = Places::parse("host, rack\ndb06, R2-U17\ndb12,R3\n").unwrap();
    let list = work_list(&fleet, &places).unwrap();
    let mut reader = csv::Reader::from_reader(list.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().next(), Some("rack"));
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let wrong = fleet.drives().filter(|drive| drive.is_wrong()).count();
    assert_eq!(rows.len(), wrong);
    let of_host = |host: &str| rows.iter().find(|row| &row[1] == host && &row[7] == "unlike-peers");
    assert_eq!(&of_host("db06").unwrap()[0], "R2-U17");
    assert_eq!(&of_host("db18").unwrap()[0], "");
    assert!(rows.iter().all(|row| row.iter().all(|cell| !cell.starts_with('='))), "{list}");
    assert!(list.contains("'=HYPERLINK"), "{list}");
    assert!(Places::parse("name,shelf\na,b\n").is_err());
    let metrics = fleet_openmetrics(&fleet);
    let lines = metrics.lines().map(|line| Ok::<_, std::io::Error>(line.to_owned()));
    let scraped = prometheus_parse::Scrape::parse(lines).unwrap();
    let counted = scraped.samples.iter().filter(|of| of.metric == "iodyno_fleet_drive_wrong");
    assert_eq!(counted.count(), wrong);
}
