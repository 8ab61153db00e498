//! Drives of many hosts.

mod common;

use iodyno_judge::{ClaimBook, Question, assess};
use iodyno_model::{Assessment, Fact, RunRecord, Verdict};
use iodyno_report::Judged;
use iodyno_report::fleet::{Fleet, fleet};
use iodyno_report::text::{Style, fleet_text};

fn style(width: usize) -> Style {
    Style { width, color: false, wide: false, columns: None }
}

/// Host number `n`: its drives have serials of their own.
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
fn an_outlier_of_its_class_stands_first() {
    let mut records: Vec<RunRecord> = (1..=4).map(host).collect();
    // The random reads of nvme1 of one host, 60 % of all others'.
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
    // nvme2 was never written and is INVALID, nvme3 was not measured.
    assert_eq!(outlier.of, 8);
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
fn the_newest_run_of_a_host_counts() {
    let mut later = host(1);
    later.run.started_ns += 1;
    later.run.id = "later".into();
    let fleet = of(&[later, host(1), host(2)]);
    assert_eq!((fleet.hosts(), fleet.older_runs), (2, 1));
    let runs = fleet.classes[0].drives.iter().filter(|drive| drive.host == "db01");
    assert!(runs.clone().count() == 4 && runs.clone().all(|drive| drive.run_id == "later"));
    let text = fleet_text(&fleet, &style(100));
    assert!(text.contains("1 older run of the same hosts left out"), "{text}");
}

#[test]
fn runs_without_a_host_are_targets_of_their_own() {
    let imported = |name: &str| {
        let mut record = host(1);
        record.snapshots.clear();
        record.run.name = name.into();
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
