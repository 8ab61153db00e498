//! The HTML page, as far as it can be tested without a browser.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use iodyno_judge::ClaimBook;
use iodyno_model::{
    Assessment, Conditions, Direction, DirectionResult, EndReason, Estimate, Fact, Knee, Origin,
    Peak, Prediction, Predictions, Reason, RunKind, RunRecord, Severity, Spread, Validity, Verdict,
    is_unsafe,
};
use iodyno_report::Judged;
use iodyno_report::document::run_document;
use iodyno_report::page::{PageRun, is_page, page};
use iodyno_report::text::{Body, PlannedPoint, run_heading, run_screen, run_text};
use sha2::{Digest, Sha256};

fn of(record: &RunRecord) -> String {
    let assessment = common::assessment(record);
    html(&[run(record, &assessment, &[])])
}

fn run<'a>(record: &'a RunRecord, assessment: &'a Assessment, unread: &'a [String]) -> PageRun<'a> {
    PageRun { unread, ..PageRun::new(Judged { record, assessment }) }
}

fn html(runs: &[PageRun<'_>]) -> String {
    page(runs, &ClaimBook::default()).unwrap()
}

/// Elements `name`: each opening tag with the content up to its closing tag.
fn elements<'a>(html: &'a str, name: &str) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(&format!("<{name}")) {
        let (tag, body) = rest[at..].split_once('>').unwrap();
        let (content, after) = body.split_once(&format!("</{name}>")).unwrap();
        found.push((tag, content));
        rest = after;
    }
    found
}

/// The page without the contents of its script elements.
fn without_scripts(html: &str) -> String {
    let scripts = elements(html, "script").into_iter().filter(|(_, text)| !text.is_empty());
    scripts.fold(html.to_string(), |html, (_, text)| html.replace(text, ""))
}

#[test]
fn points_of_a_plan_are_in_the_order_of_its_axes() {
    let mut record = common::record();
    for (n, of) in record.measurements.iter_mut().enumerate() {
        of.name = format!("point {n}");
    }
    let assessment = common::assessment(&record);
    let titles = record.measurements.iter().rev().map(|of| of.name.clone());
    let planned: Vec<PlannedPoint> =
        titles.map(|title| PlannedPoint { title, part: String::new(), at: Vec::new() }).collect();
    let order = |planned| {
        let html = html(&[PageRun { planned, ..run(&record, &assessment, &[]) }]);
        let links =
            html.split("href=\"#run-1-").skip(1).map(|rest| rest.split('"').next().unwrap());
        links.filter_map(|id| id.parse::<usize>().ok()).take(record.measurements.len()).collect()
    };
    let (measured, by_plan): (Vec<usize>, Vec<usize>) = (order(&[]), order(&planned));
    assert!(measured.len() > 1 && measured.is_sorted(), "{measured:?}");
    assert_eq!(by_plan, measured.iter().rev().copied().collect::<Vec<_>>());
}

#[test]
fn host_and_start_stand_once_under_the_title_or_in_it() {
    let mut record = common::record();
    record.run.origin = Origin::Measured;
    for host in &mut record.snapshots {
        host.hostname = Fact::Read("db".into());
    }
    let about = |record: &RunRecord| {
        let page = without_scripts(&of(record));
        let (_, behind) = page.split_once("<p class=\"dim\">").unwrap();
        behind.split_once("</p>").unwrap().0.to_owned()
    };
    record.run.name = "db17".into();
    assert!(about(&record).starts_with("db · <span"), "{}", about(&record));
    record.run.name.clear();
    assert!(!about(&record).contains("db · ") && !about(&record).contains("UTC"));
}

#[test]
fn the_page_has_the_text_of_the_terminal() {
    let record = common::record();
    let html = of(&record);
    assert!(is_page(html.as_bytes()), "a page is known as ours");
    for word in [
        "db17-after-firmware",
        "iodyno check",
        "FAIL",
        "INVALID",
        "QUALIFIED",
        "6853 ± 13 MB/s",
        "99 % of the claim",
        "link-degraded",
        "Reseat the drive",
        "Not measured",
        "iodyno check --busy nvme3n1",
        "Gen3 x2 of Gen4 x4 !",
        "GDC5902Q",
        // Names of rows are headers.
        "<th scope=\"row\"",
    ] {
        assert!(html.contains(word), "{word} is missing");
    }
    let (fail, info) = (html.find("The link of nvme2"), html.find("Formatted with 512-byte"));
    assert!(fail.is_some() && fail < info, "the worst finding stands first");
    assert_eq!(html.matches("class=\"measurement\"").count(), record.measurements.len());
}

#[test]
fn predictions_are_separate_from_measurements() {
    let record = common::record();
    let assessment = common::assessment(&record);
    let peak = Peak { at: "iodepth=8".into(), outstanding: 8, iops: 9000.0 };
    let outlook = Predictions {
        predictions: vec![Prediction {
            name: "iodepth=4 <b>".into(),
            target: "nvme0n1".into(),
            beside: 0,
            iodepth: 4,
            numjobs: 1,
            iops: Estimate::confident(5000.0, 4900.0, 5100.0, 0.95),
        }],
        checked: 1,
        held: 1,
        headroom: Vec::new(),
        knees: vec![Knee {
            curve: "rw=randread".into(),
            target: "nvme0n1".into(),
            knee: peak.clone(),
            most: peak,
            is_first: false,
            is_last: true,
            is_unclear: false,
            measurement: 0,
            under: None,
        }],
    };
    let run = PageRun { outlook: Some(&outlook), ..run(&record, &assessment, &[]) };
    let html = html(&[run]);
    let visible = without_scripts(&html);
    for words in [
        "<h3>Predicted, not measured</h3>",
        "~ 5000 ± 100",
        "Verified on one point: it held.",
        "rw=randread nvme0n1: highest 9000 IOPS",
    ] {
        assert!(visible.contains(words), "{words}");
    }
    assert!(!visible.contains("iodepth=4 <b>"));
    assert!(html.contains("\"predictions\":[{\"name\":\"iodepth=4"), "the data has it, too");
    assert!(!of(&record).contains("Predicted, not measured"));
}

#[test]
fn scripts_are_allowed_by_their_digests_and_nothing_is_fetched() {
    let html = of(&common::record());
    let policy = html.split_once("http-equiv=\"Content-Security-Policy\"").unwrap().1;
    let policy = policy.split_once("\">").unwrap().0.replace("&#39;", "'");
    assert!(policy.contains("default-src 'none'"), "{policy}");
    for word in ["unsafe", "http:", "https:", "*", "data:"] {
        assert!(!policy.contains(word), "{word} in {policy}");
    }
    let digest = |text: &str| {
        format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
    };
    let scripts = elements(&html, "script");
    let run: Vec<_> = scripts.iter().filter(|(tag, _)| *tag == "<script").collect();
    assert_eq!(run.len(), 3, "ECharts, what draws with it, and the page's own");
    assert!(run.iter().all(|(_, text)| policy.contains(&digest(text))), "{policy}");
    for (_, style) in elements(&html, "style") {
        assert!(policy.contains(&digest(style)), "{policy}");
    }
    let own = without_scripts(&html);
    for word in [" src=", " onclick=", " style=", "href=\"http", "<link", "<iframe", "@import"] {
        assert!(!own.contains(word), "{word} in the page");
    }
}

#[test]
fn the_data_is_the_public_document() {
    let record = common::record();
    let assessment = common::assessment(&record);
    let html = of(&record);
    let scripts = elements(&html, "script");
    let (_, data) = scripts.iter().find(|(tag, _)| tag.contains("id=\"document\"")).unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data, serde_json::to_value(run_document(&record, &assessment, 1)).unwrap());
}

#[test]
fn names_of_devices_and_files_are_text() {
    let mut record = common::record();
    let hostile = "</script></style><script>alert(1)</script><img src=x onerror='alert(2)'>\"&amp;\u{202e}\u{2066}\u{200f}\u{61c}";
    record.run.name = hostile.into();
    record.run.command = hostile.into();
    record.run.plan = hostile.into();
    record.run.targets[0] = hostile.into();
    record.snapshots[0].drives[0].model = Fact::Read(hostile.into());
    record.snapshots[0].blocks[0].name = hostile.into();
    for measurement in &mut record.measurements {
        measurement.name = hostile.into();
        measurement.targets[0] = hostile.into();
        measurement.workload.options.insert("description".into(), hostile.into());
        measurement.conditions.shortfalls.push(hostile.into());
    }
    let mut assessment = common::assessment(&record);
    for finding in &mut assessment.findings {
        finding.what = hostile.into();
        finding.subjects = vec![hostile.into()];
        finding.evidence[0].what = hostile.into();
        finding.severity = Severity::Warn;
    }
    let unread = [hostile.to_string()];
    let run = run(&record, &assessment, &unread);
    let html = html(&[run, run]);
    let shown = without_scripts(&html);
    assert!(!shown.contains("<script>alert") && !shown.contains("<img"), "a tag of theirs");
    assert!(
        !html.contains(|c| c != '\n' && is_unsafe(c)),
        "a character that turns the text around"
    );
    // Every script element is one of ours and closed where we close it.
    let tags = elements(&html, "script");
    let ours = |tag: &str| tag == "<script" || tag.starts_with("<script type=\"application/json\"");
    assert!(tags.iter().all(|(tag, _)| ours(tag)));
    assert_eq!(html.matches("</script>").count(), tags.len());
    assert_eq!(html.matches("</style>").count(), 1);
}

#[test]
fn a_job_that_nothing_judged_is_done_on_the_page_as_on_the_terminal() {
    let mut record = common::record();
    record.run.kind = RunKind::Run;
    let mut assessment = common::assessment(&record);
    assessment.verdict = Verdict::Pass;
    assessment.findings.clear();
    assessment.measurements.clear();
    let style = common::style(200);
    let body = Body::Rows { planned: &[], outlook: None, follows: &[] };
    let screen = run_screen(&record, &assessment, 0, body, "last", &style);
    let clause = screen.strip_prefix("DONE  ").and_then(|line| line.split("   ").next()).unwrap();
    // Where nothing is judged, the details have no verdict.
    assert!(!run_text(&record, &assessment, 0, &style).unwrap().contains("DONE"));
    let run = run(&record, &assessment, &[]);
    for (runs, marks) in [(vec![run], 1), (vec![run; 2], 4)] {
        let html = without_scripts(&html(&runs));
        assert_eq!((html.matches(">DONE<").count(), html.matches(">PASS<").count()), (marks, 0));
        assert!(html.contains(clause), "{clause} is missing");
    }
}

#[test]
fn what_is_not_valid_is_a_warning_on_the_page_as_on_the_terminal() {
    let mut record = common::record();
    record.run.kind = RunKind::Run;
    let mut assessment = common::assessment(&record);
    assessment.verdict = Verdict::Pass;
    assessment.findings.clear();
    assessment.measurements.truncate(2);
    let why = "the kernel's counters differ";
    for (n, judged) in assessment.measurements.iter_mut().enumerate() {
        judged.metrics.clear();
        judged.validity = if n == 0 { Validity::Invalid } else { Validity::Valid };
        judged.reasons = vec![Reason {
            rule: "counters-differ".into(),
            validity: judged.validity,
            why: why.into(),
        }];
    }
    assessment.measurements[1].reasons.clear();
    let body = Body::Rows { planned: &[], outlook: None, follows: &[] };
    let screen = run_screen(&record, &assessment, 0, body, "last", &common::style(200));
    let (clause, _) = screen.strip_prefix("WARN  ").unwrap().split_once("   ").unwrap();
    assert!(clause.ends_with(", 1 not valid"), "{clause}");
    let words = format!("not valid: {why} [counters-differ]");
    assert!(screen.contains(&words), "{screen}");
    let html = without_scripts(&html(&[run(&record, &assessment, &[])]));
    let (head, rest) = html.split_once("class=\"attention\"").unwrap();
    assert!(head.contains(">WARN<") && head.contains(clause), "{head}");
    let words = words.replace('\'', "&#39;");
    assert!(rest.split_once("</ul>").unwrap().0.contains(&words), "{words} is missing");
    assert!(!html.contains(">DONE<"));
}

#[test]
fn reports_without_dates_did_not_start_when_they_were_read() {
    let mut record = common::record();
    record.run.kind = RunKind::Import;
    record.run.origin = Origin::Imported("old.txt".into());
    record.snapshots.clear();
    let shown = |record: &RunRecord| {
        let page = without_scripts(&of(record));
        assert_eq!(page.contains("<dt>read on</dt>"), record.is_undated());
        (page.contains("<dt>started</dt>"), run_heading(record, &common::style(200)))
    };
    let (is_started, heading) = shown(&record);
    assert!(is_started && !heading.contains("read on"), "{heading}");
    record.measurements.iter_mut().for_each(|of| of.started_ns = None);
    let (is_started, heading) = shown(&record);
    assert!(!is_started && heading.contains("read on"), "{heading}");
}

#[test]
fn several_runs_have_a_table_and_sections() {
    let (mut one, (other, other_assessment)) = (common::record(), common::virtual_machine());
    one.run.origin = Origin::Imported("results/fio.txt".into());
    one.snapshots.clear();
    for result in one.measurements.iter_mut().flat_map(|m| &mut m.total) {
        result.errors = None;
        if let Some(iops) = &mut result.iops {
            *iops = Estimate {
                value: iops.value,
                spread: Spread::Rounding { low: iops.value - 500.0, high: iops.value + 500.0 },
            };
        }
    }
    let assessment = common::assessment(&one);
    let unread = ["results/fio.txt:12: the line ends early".to_string()];
    let html = html(&[run(&one, &assessment, &unread), run(&other, &other_assessment, &[])]);
    for word in [
        "<title>2 runs",
        "imported from results/fio.txt",
        "results/fio.txt:12: the line ends early",
        "href=\"#run-2\"",
        "id=\"run-2\"",
        "As printed; its spread is not known.",
        "No NVMe drive on this machine",
        // The invalid ones are named, not drawn beside the others.
        "Not drawn: ",
    ] {
        assert!(html.contains(word), "{word} is missing");
    }
    let first = html.split_once("id=\"run-1\"").unwrap().1.split_once("id=\"run-2\"").unwrap().0;
    assert!(!first.contains(">Host</h3>"), "nothing is known of its host");
    assert!(!first.contains(">errors</th>"), "errors were not counted: there is no column of them");
}

#[test]
fn runs_of_several_hosts_are_compared_with_their_drives_in_one_table() {
    let record = |name: &str| {
        let mut record = common::record();
        record.run.id = name.into();
        record.run.name = name.into();
        record.snapshots[0].hostname = Fact::Read(format!("host-of-{name}"));
        record.snapshots[0].kernel.release = Fact::Read(format!("6.12.{}", name.len()));
        record
    };
    let records = [record("before"), record("after-it")];
    let assessments = records.each_ref().map(common::assessment);
    let of = |n: usize| run(&records[n], &assessments[n], &[]);
    let both = without_scripts(&html(&[of(0), of(1)]));
    for word in [
        "8 drives on 2 hosts",
        "SAMSUNG MZQL23T8HCLS-00A07, GDC5902Q, 3.84 TB: 8 drives",
        ">before</th>",
        "difference</th>",
        "unknown",
        "run-to-run spread is not known",
        "6.12.8",
    ] {
        assert!(both.contains(word), "{word} is missing");
    }
    assert!(!without_scripts(&html(&[of(0), of(0)])).contains("Drives of all hosts"));
    let alone = without_scripts(&html(&[of(0)]));
    assert!(!alone.contains("Compared") && !alone.contains("on 2 hosts"));
}

#[test]
fn failed_or_unknown_values_are_not_zero() {
    let mut record = common::record();
    record.measurements.truncate(3);
    record.measurements[0].end = EndReason::Failed("no space left on device".into());
    record.measurements[0].total.clear();
    record.measurements[1].total = vec![DirectionResult::unknown(Direction::Write)];
    let odd = &mut record.measurements[2];
    odd.total[0].iops = Some(Estimate::bare(f64::NAN));
    odd.targets.clear();
    odd.duration_ns = None;
    odd.conditions = Conditions::default();
    let mut assessment = common::assessment(&common::record());
    assessment.measurements.clear();
    let html = without_scripts(&html(&[run(&record, &assessment, &[])]));
    for word in ["FAILED", "no space left on device", "a measurement failed"] {
        assert!(html.contains(word), "{word} is missing");
    }
    let failed = html.split("<tr").find(|row| row.contains("FAILED")).unwrap();
    assert!(!failed.contains("UNJUDGED"), "{failed}");
    assert!(!html.contains("NaN"));
    let unknown = html.split_once("id=\"run-1-2\"").unwrap().1.split_once("</details>").unwrap().0;
    assert!(unknown.contains(">write<") && !unknown.contains(">0"), "{unknown}");
}

#[test]
fn foreign_pages_are_rejected() {
    assert!(!is_page(b""));
    assert!(!is_page(b"<!doctype html><title>my thesis</title>"));
    let late = [vec![b' '; 600], of(&common::record()).into_bytes()].concat();
    assert!(!is_page(&late), "the mark counts at the start only");
}

/// The page stays small enough for a browser and for mail, however much was measured.
#[test]
fn a_page_of_many_measurements_stays_small() {
    const MOST_BYTES: usize = 10_000_000;
    let mut record = common::record();
    let one = record.measurements.clone();
    record.measurements = (0..10_000).map(|n| one[n % one.len()].clone()).collect();
    let mut phases = 0..;
    record.measurements.iter_mut().for_each(|of| of.phase = phases.next().unwrap());
    let assessment = common::assessment(&record);
    let html = html(&[run(&record, &assessment, &[])]);
    assert!(html.len() < MOST_BYTES, "{} bytes", html.len());
    assert!(html.contains("256 of 10000 with their details"));
    assert_eq!(html.matches("<details class=\"measurement\"").count(), 256);

    let record = common::record();
    let records: Vec<RunRecord> = (0..200)
        .map(|n| {
            let mut record = record.clone();
            record.run.id = format!("run {n}");
            record.run.name = format!("night {n}");
            record
        })
        .collect();
    let assessment = common::assessment(&record);
    let runs: Vec<PageRun<'_>> =
        records.iter().map(|record| run(record, &assessment, &[])).collect();
    let html = self::html(&runs);
    assert!(html.len() < MOST_BYTES, "{} bytes", html.len());
    assert!(html.contains("Of 200 runs, only the first 32 are shown."));
    assert!(html.contains("night 199"), "all stand in the table");
}
