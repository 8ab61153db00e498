//! Summary of a check: its content, lines and columns.

mod common;

use common::{assert_as_expected, style};
use iodyno_model::{
    Assessment, EndReason, Evidence, Fact, Finding, JudgedMeasurement, Measurement, Reason,
    RunRecord, RunState, Scaling, Severity, Validity, Verdict,
};
use iodyno_report::text::{Body, Style, ascii, run_screen, scaling_words};

const WIDTHS: [usize; 4] = [60, 80, 100, 160];

fn screen(record: &RunRecord, assessment: &Assessment, status: u8, width: usize) -> String {
    run_screen(record, assessment, status, Body::Drives(&[]), "last", &style(width))
}

/// `count` drives like the first of the realistic run, all healthy.
fn healthy(count: usize) -> (RunRecord, Assessment) {
    let mut record = common::record();
    let mut assessment = common::assessment(&record);
    let (drive, link) =
        (record.snapshots[0].drives[0].clone(), record.snapshots[0].links[0].clone());
    let of_one: Vec<_> = record.measurements[..3].to_vec();
    let at_once = record.measurements[8].clone();
    let judged: Vec<JudgedMeasurement> = assessment.measurements[..3].to_vec();
    let host = &mut record.snapshots[0];
    (host.drives, host.links) = (Vec::new(), vec![link]);
    (record.measurements, assessment.measurements) = (Vec::new(), Vec::new());
    (record.run.targets, assessment.subjects) = (Vec::new(), Vec::new());
    record.run.skipped.clear();
    for n in 0..count {
        let mut drive = drive.clone();
        drive.name = format!("nvme{n}");
        drive.namespaces[0].name = format!("nvme{n}n1");
        record.snapshots[0].drives.push(drive);
        record.run.targets.push(format!("nvme{n}n1"));
        assessment.subjects.push((format!("nvme{n}"), Verdict::Pass));
        for (of, judged) in of_one.iter().zip(&judged) {
            let mut of = of.clone();
            of.targets = vec![format!("nvme{n}n1")];
            let measurement = record.measurements.len();
            record.measurements.push(of);
            assessment.measurements.push(JudgedMeasurement { measurement, ..judged.clone() });
        }
    }
    if count > 1 {
        let mut at_once = at_once;
        at_once.targets = record.run.targets.clone();
        record.measurements.push(at_once);
    }
    assessment.findings.clear();
    assessment.verdict = Verdict::Pass;
    (record, assessment)
}

#[test]
fn the_summary_of_a_machine_matches_at_every_width() {
    let record = common::record();
    let assessment = common::assessment(&record);
    let (machine, machine_judged) = common::virtual_machine();
    let (eight, eight_judged) = healthy(8);
    for width in WIDTHS {
        assert_as_expected(&format!("glance-{width}.txt"), &screen(&record, &assessment, 1, width));
        let text = screen(&machine, &machine_judged, 0, width);
        assert_as_expected(&format!("glance-virtual-{width}.txt"), &text);
        assert_as_expected(
            &format!("glance-healthy-{width}.txt"),
            &screen(&eight, &eight_judged, 0, width),
        );
    }
}

#[test]
fn every_line_fits_and_colour_and_locale_change_no_word() {
    let record = common::record();
    let assessment = common::assessment(&record);
    let (machine, machine_judged) = common::virtual_machine();
    let (eight, eight_judged) = healthy(8);
    for (record, assessment) in
        [(&record, &assessment), (&machine, &machine_judged), (&eight, &eight_judged)]
    {
        for width in 40..=200 {
            let text = screen(record, assessment, 1, width);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
                assert_eq!(line.trim_end(), line, "no blanks at the end");
            }
            assert!(ascii(&text).is_ascii(), "{text}");
            assert_eq!(ascii(&text).lines().count(), text.lines().count());
            let colored = Style { color: true, ..style(width) };
            let colored = run_screen(record, assessment, 1, Body::Drives(&[]), "last", &colored);
            let mut plain = String::new();
            for (n, part) in colored.split("\x1b[").enumerate() {
                plain += if n == 0 { part } else { part.split_once('m').expect("a colour").1 };
            }
            assert_eq!(plain, text);
        }
    }
}

#[test]
fn eight_healthy_drives_fit_a_screen_and_a_virtual_machine_ten_lines() {
    let (eight, judged) = healthy(8);
    let text = screen(&eight, &judged, 0, 80);
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.starts_with("PASS  8 drives: no problems"), "{text}");
    assert_eq!(text.matches("PASS").count(), 9, "the whole and each drive:\n{text}");
    assert!(!text.contains("Exit status") && !text.contains("INFO"), "{text}");
    let (machine, judged) = common::virtual_machine();
    let text = screen(&machine, &judged, 0, 80);
    assert!(text.lines().count() <= 10, "{text}");
    assert!(text.contains("1900 MB/s, 41k IOPS, p99 139 us: nothing to compare with"), "{text}");
    let text = screen(&machine, &judged, 4, 80);
    assert!(text.lines().last().expect("it says something").starts_with("Exit status 4"), "{text}");
}

#[test]
fn a_run_that_is_not_stored_names_no_command_that_finds_it() {
    let record = common::record();
    let body = Body::Drives(&[]);
    let text = run_screen(&record, &common::assessment(&record), 1, body, "", &style(80));
    assert!(text.contains("Why: iodyno rules ") && !text.contains("Details"), "{text}");
    assert!(!text.contains("iodyno report"), "{text}");
}

/// A warning about a drive with the text `what`, in which `{}` is its name.
fn warning(name: &str, what: &str) -> Finding {
    Finding {
        rule: "hot".into(),
        severity: Severity::Warn,
        subjects: vec![name.into()],
        what: what.replace("{}", name),
        evidence: vec![Evidence::new("temperature", "90 °C")],
        why: "Heat ages.".into(),
        next: "Look at the fans.".into(),
        cause: None,
    }
}

#[test]
fn a_finding_of_several_drives_is_one_entry_of_two_lines() {
    let (eight, mut judged) = healthy(8);
    judged.verdict = Verdict::Warn;
    let of_each = (0..5).map(|n| warning(&format!("nvme{n}"), "{} is hot."));
    judged.findings = of_each.collect();
    let text = screen(&eight, &judged, 0, 80);
    assert!(text.starts_with("WARN  8 drives: no failures, 1 warning"), "{text}");
    assert!(text.contains("WARN  nvme0, nvme1, nvme2 and 2 more is hot\n"), "{text}");
    assert_eq!(text.matches("-> Look at the fans").count(), 1, "{text}");
    assert!(text.contains("Why: iodyno rules hot"), "{text}");
    // Warnings beyond the limit are counted, failures never.
    for n in 0..9 {
        let severity = if n < 7 { Severity::Fail } else { Severity::Warn };
        let other = Finding { rule: format!("r{n}"), severity, ..warning("nvme6", "{} is odd.") };
        judged.findings.insert(0, other);
    }
    let text = screen(&eight, &judged, 1, 80);
    assert_eq!(
        text.lines().filter(|line| line.starts_with("FAIL  nvme6 is odd")).count(),
        7,
        "{text}"
    );
}

#[test]
fn failures_and_invalid_figures_are_shown() {
    let (mut record, mut judged) = healthy(2);
    record.measurements[0].end = EndReason::Failed("nvme0n1 vanished after 3 s (ENODEV)".into());
    record.measurements[0].total.clear();
    judged.measurements[4].validity = Validity::Invalid;
    let text = screen(&record, &judged, 3, 80);
    assert!(text.contains("FAIL  seq-read of nvme0n1: nvme0n1 vanished after 3 s"), "{text}");
    let row = text.lines().find(|line| line.starts_with("nvme1 ")).expect("its row");
    assert!(row.contains("(982k IOPS)") && text.contains("( ) not valid"), "{text}");
    assert!(text.starts_with("UNJUDGED  2 drives: a measurement failed"), "{text}");
    assert!(text.contains("Exit status 3: a measurement failed."), "{text}");
    record.run.state = RunState::Running;
    let text = screen(&record, &judged, 3, 80);
    assert!(text.starts_with("UNJUDGED  2 drives: running, or killed"), "{text}");
    record.run.is_alive = true;
    let text = screen(&record, &judged, 3, 80);
    assert!(text.starts_with("UNJUDGED  2 drives: still running"), "{text}");
    assert!(text.contains("Exit status 3: still running."), "{text}");
    record.run.is_alive = false;
    record.run.state = RunState::Interrupted;
    assert!(screen(&record, &judged, 3, 80).starts_with("UNJUDGED  2 drives: interrupted"));
    record.snapshots[0].drives[1].state = Fact::Read("dead".into());
    judged.verdict = Verdict::Fail;
    judged.subjects[1].1 = Verdict::Fail;
    record.run.state = RunState::Done;
    let text = screen(&record, &judged, 1, 80);
    assert!(text.starts_with("FAIL  nvme1 of 2 drives needs attention"), "{text}");
    let row = text.lines().find(|line| line.starts_with("nvme1 ")).expect("its row");
    assert!(row.contains("dead") && row.ends_with("FAIL"), "{text}");
}

#[test]
fn a_machine_without_drives_says_so() {
    let (mut record, mut judged) = healthy(1);
    record.snapshots[0].drives.clear();
    record.measurements.clear();
    record.run.targets.clear();
    judged.subjects.clear();
    judged.verdict = Verdict::Unjudged;
    let text = screen(&record, &judged, 0, 80);
    assert!(text.starts_with("UNJUDGED  this machine: nothing to judge"), "{text}");
    assert!(text.contains("No NVMe drive on this machine."), "{text}");
}

#[test]
fn devices_cannot_move_the_cursor() {
    let evil = "\x1b[2J\u{9b}31m\r\u{202e}x\ny\u{7}";
    let mut record = common::record();
    let mut assessment = common::assessment(&record);
    record.run.targets.push(evil.into());
    record.run.skipped[0].why = evil.into();
    record.run.skipped[0].target = evil.into();
    record.run.skipped[0].next = evil.into();
    record.snapshots[0].hostname = Fact::Read(evil.into());
    record.snapshots[0].drives[0].name = evil.into();
    record.snapshots[0].drives[0].state = Fact::Read(evil.into());
    let finding = &mut assessment.findings[0];
    (finding.rule, finding.what, finding.next) = (evil.into(), evil.into(), evil.into());
    finding.subjects = vec![evil.into()];
    for width in [40, 100] {
        let text = screen(&record, &assessment, 1, width);
        let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(bad, None);
    }
}

#[test]
fn empty_drives_allow_no_conclusion() {
    let mut record = common::record();
    let assessed = common::assessment(&record);
    let first = record.measurements[0].clone();
    let on = |count: usize| Measurement {
        targets: (0..count).map(|n| format!("nvme{n}n1")).collect(),
        parts: Vec::new(),
        ..first.clone()
    };
    record.measurements = (1..=3).map(on).collect();
    let words = |validity: Validity| {
        let reason =
            Reason { rule: "blocks-not-written".into(), validity, why: "they hold nothing".into() };
        let judged = |measurement| JudgedMeasurement {
            measurement,
            validity,
            reasons: vec![reason.clone()],
            metrics: Vec::new(),
        };
        let mut assessment = assessed.clone();
        assessment.measurements = (0..3).map(judged).collect();
        scaling_words(&record, &assessment, &Scaling::default()).concat()
    };
    let valid = words(Validity::Qualified);
    assert!(valid.contains("the aggregate stopped growing at 1 drive"), "{valid}");
    let invalid = words(Validity::Invalid);
    assert!(invalid.contains("undecided") && invalid.contains("3 of 3"), "{invalid}");
    assert!(invalid.contains("blocks-not-written") && !invalid.contains("stopped"), "{invalid}");
}

#[test]
fn effects_are_listed_under_their_cause() {
    let mut record = common::record();
    let mut assessment = common::assessment(&record);
    record.measurements.clear();
    assessment.findings = vec![
        Finding {
            rule: "effect".into(),
            severity: Severity::Fail,
            cause: Some("cause".into()),
            ..warning("nvme6", "{} is slow.")
        },
        Finding { rule: "cause".into(), ..warning("nvme6", "The link of {} is narrow.") },
    ];
    let shown = screen(&record, &assessment, 1, 100);
    assert!(
        shown.contains("FAIL  The link of nvme6 is narrow\n      therefore: nvme6 is slow\n"),
        "{shown}"
    );
    assert_eq!(shown.matches("is slow").count(), 1, "{shown}");
    // Without its cause it is an entry of its own.
    assessment.findings.remove(1);
    let shown = screen(&record, &assessment, 1, 100);
    assert!(shown.contains("FAIL  nvme6 is slow") && !shown.contains("therefore"), "{shown}");
}
