//! Comparisons as text and as documents.

mod common;

use common::{assert_as_expected, style};
use iodyno_judge::comparison::{Comparison, Limit, Side, compare, rulings};
use iodyno_judge::{ClaimBook, ExitStatus};
use iodyno_model::{EndReason, Estimate, Fact, RunRecord, WrittenState};
use iodyno_report::Compared;
use iodyno_report::document::{compare_document, schemas};
use iodyno_report::export::{FORMATS, Results};
use iodyno_report::text::{Style, comparison_screen, comparison_text, row_title};

/// Order of the runs in time: interleaved.
const TURNS: [&str; 6] = ["b1", "a1", "b2", "a2", "b3", "a3"];

/// The test run, `factor` times as fast, with another id.
fn run(id: &str, factor: f64) -> RunRecord {
    let turn = TURNS.iter().position(|of| *of == id).unwrap_or(TURNS.len());
    let mut record = common::record();
    record.run.id = id.into();
    record.run.name = id.into();
    for (n, of) in record.measurements.iter_mut().enumerate() {
        of.started_ns = of.started_ns.map(|ns| ns + (2 + turn as i64) * 1_000_000_000 + n as i64);
        for result in &mut of.total {
            result.iops = result.iops.map(|one| one.scaled(factor));
            result.bandwidth = result.bandwidth.map(|one| one.scaled(factor));
            result.latency_mean = result.latency_mean.map(|one| one.scaled(1.0 / factor));
        }
    }
    record
}

fn compared(sides: &[(&str, Vec<&RunRecord>)]) -> Comparison {
    let sides: Vec<Side<'_>> = sides
        .iter()
        .map(|(label, records)| Side { label: (*label).to_owned(), records: records.clone() })
        .collect();
    compare(&sides, &ClaimBook::default())
}

/// Three repetitions per side; the second has other conditions, is faster, and one of its
/// measurements failed.
fn repeated() -> [Vec<RunRecord>; 2] {
    let before = [("b1", 1.0), ("b2", 1.004), ("b3", 0.997)].map(|(id, factor)| run(id, factor));
    let after = [("a1", 1.05), ("a2", 1.046), ("a3", 1.051)].map(|(id, factor)| {
        let mut record = run(id, factor);
        for host in &mut record.snapshots {
            host.kernel.release = Fact::Read("6.12.9".into());
            host.cpus.governor = Fact::NeedsRoot;
        }
        record.measurements[1].end = EndReason::Failed("EIO".into());
        record
    });
    [before.to_vec(), after.to_vec()]
}

/// Their comparison as text, with two limits.
fn texts(widths: impl IntoIterator<Item = usize>) -> Vec<(usize, String)> {
    let [before, after] = repeated();
    let comparison =
        compared(&[("before", before.iter().collect()), ("after", after.iter().collect())]);
    let limits: [Limit; 2] = ["bw < -5%", "iops > 2%"].map(|text| text.parse().expect("a limit"));
    let rulings = rulings(&comparison, &limits, None);
    let status = comparison.exit_status(&rulings) as u8;
    let text = |width| (width, comparison_text(&comparison, &rulings, status, &style(width)));
    widths.into_iter().map(text).collect()
}

/// Reviewed output.
#[test]
fn text_matches_on_narrow_usual_and_wide_terminals() {
    for (width, text) in texts([60, 80, 120]) {
        assert_as_expected(&format!("comparison-{width}.txt"), &text);
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let runs: Vec<RunRecord> = (0..5).map(|n| run(&format!("run-{n}"), 1.0 + n as f64)).collect();
    let sides: Vec<(&str, Vec<&RunRecord>)> =
        ["one", "two", "three", "four", "a label that is far too long to stand above a column"]
            .into_iter()
            .zip(&runs)
            .map(|(label, run)| (label, vec![run]))
            .collect();
    let comparison = compared(&sides);
    let five = (40..200).map(|width| (width, comparison_text(&comparison, &[], 0, &style(width))));
    for (width, text) in texts(40..200).into_iter().chain(five) {
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}\n{text}");
        }
    }
    let all = comparison_text(&comparison, &[], 0, &style(100));
    assert!(all.contains("+100 %") && all.contains("+400 %"), "every side is there:\n{all}");
    let wide = comparison_text(&comparison, &[], 0, &Style { wide: true, ..style(80) });
    assert_eq!(wide.matches("DIFFERENCE").count(), 4);
    assert_eq!(wide.lines().filter(|line| line.contains("DIFFERENCE")).count(), 1);
}

#[test]
fn colour_repeats_the_words_and_strings_are_not_trusted() {
    let mut hostile = run("h", 1.1);
    hostile.measurements.iter_mut().for_each(|of| {
        of.name = "\u{1b}[2Jseq\u{202e}".into();
        of.workload.options.insert("x\u{1b}".into(), "\u{7}y".into());
        of.workload.ioengine = Some("\u{9b}evil".into());
    });
    let plain = run("p", 1.0);
    let comparison = compared(&[("p", vec![&plain]), ("\u{1b}]0;owned\u{7}", vec![&hostile])]);
    let text = comparison_text(&comparison, &[], 0, &style(100));
    let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!text.contains(bad), "{text:?}");
    let [before, after] = repeated();
    let comparison =
        compared(&[("before", before.iter().collect()), ("after", after.iter().collect())]);
    let colored = comparison_text(&comparison, &[], 0, &Style { color: true, ..style(80) });
    assert!(colored.contains("\x1b["));
    let mut bare = colored.clone();
    while let Some(at) = bare.find('\x1b') {
        let end = at + bare[at..].find('m').unwrap();
        bare.replace_range(at..=end, "");
    }
    assert_eq!(bare, comparison_text(&comparison, &[], 0, &style(80)));
}

/// A report of fio has its options as written.
#[test]
fn mixed_workloads_have_their_direction_by_either_name() {
    for rw in ["rw", "readwrite", "randreadwrite", "randtrimwrite"] {
        let [before, after] = [("b1", 1.0), ("a1", 1.05)].map(|(id, factor)| {
            let mut record = run(id, factor);
            record.measurements[0].workload.rw = Some(rw.into());
            record
        });
        let comparison = compared(&[("before", vec![&before]), ("after", vec![&after])]);
        let titles: Vec<String> = comparison.rows.iter().map(row_title).collect();
        let is_told =
            |title: &String| title.contains(&format!("{rw} ")) && title.ends_with("reads");
        assert!(titles.iter().any(is_told), "{rw}: {titles:?}");
    }
}

#[test]
fn the_document_is_valid() {
    let [before, after] = repeated();
    let mut odd = run("odd", 1.0);
    for of in &mut odd.measurements {
        of.total[0].iops = Some(Estimate::confident(1.0, f64::NAN, f64::INFINITY, 0.95));
        of.total[0].bandwidth = Some(Estimate::bare(f64::NAN));
        of.conditions.written.iter_mut().for_each(|one| one.state = WrittenState::Unwritten);
    }
    let comparison = compared(&[
        ("before", before.iter().collect()),
        ("after", after.iter().collect()),
        ("odd", vec![&odd]),
    ]);
    let limits: [Limit; 1] = ["iops < -1%".parse().unwrap()];
    let rulings = rulings(&comparison, &limits, None);
    let document = compare_document(&comparison, &rulings, 3);
    let document = serde_json::to_value(document).unwrap();
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "iodyno.compare.1.json").unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(document["schema"], "iodyno.compare/1");
    assert_eq!(document["sides"][1]["label"], "after");
    assert_eq!(document["sides"][1]["runs"].as_array().unwrap().len(), 3);
    let row = &document["rows"][0];
    assert_eq!(row["point"]["workload"]["rw"], "read");
    assert_eq!(row["sides"][1]["repetitions"], 3);
    let figure = &row["figures"][0];
    assert_eq!((figure["metric"].as_str(), figure["latency"].as_str()), (Some("bw"), None));
    let difference = &figure["differences"][1];
    assert_eq!(difference["real"], "yes");
    assert!((difference["percent"].as_f64().unwrap() - 4.9).abs() < 0.2, "{difference}");
    assert!(difference["p_adjusted"].as_f64() >= difference["p_value"].as_f64());
    assert_eq!(difference["ratio"]["interval"], "confidence");
    assert!(figure["differences"][0].is_null());
    let kernel =
        document["differing"].as_array().unwrap().iter().find(|one| one["what"] == "kernel");
    assert_eq!(kernel.unwrap()["values"][1][0], "6.12.9");
    assert_eq!(document["not_known"][0]["what"][0], "CPU governor");
    assert!(document["limits"].as_array().unwrap().iter().any(|one| one["outcome"] == "kept"));
}

#[test]
fn sides_not_interleaved_differ_probably_at_best() {
    let runs = |factors: [f64; 3], of: [&str; 3]| [0, 1, 2].map(|nth| run(of[nth], factors[nth]));
    let before = runs([1.0, 1.004, 0.997], ["b1", "a1", "b2"]);
    let after = runs([1.05, 1.046, 1.051], ["a2", "b3", "a3"]);
    let comparison =
        compared(&[("before", before.iter().collect()), ("after", after.iter().collect())]);
    let limits: [Limit; 1] = ["iops > 2%".parse().expect("a limit")];
    let rulings = rulings(&comparison, &limits, None);
    let status = comparison.exit_status(&rulings) as u8;
    let text = comparison_text(&comparison, &rulings, status, &style(80));
    assert!(text.contains("+4.9 ± 0.8 %  probably"), "{text}");
    assert!(text.contains("Real: probably."), "{text}");
    assert!(text.contains("UNJUDGED  iops > +2%, after: probably, but"), "{text}");
    assert_eq!(status, 4);
}

#[test]
fn a_workload_that_the_candidate_lacks_is_named_beside_the_verdict() {
    let before = ["b1", "b2", "b3"].map(|id| run(id, 1.0));
    let after = ["a1", "a2", "a3"].map(|id| {
        let mut record = run(id, 1.001);
        record.measurements.remove(0);
        record.measurements[0].total[0].errors = Some(3);
        record
    });
    let comparison =
        compared(&[("before", before.iter().collect()), ("after", after.iter().collect())]);
    let rulings = rulings(&comparison, &["bw < -5%".parse().expect("a limit")], None);
    let status = comparison.exit_status(&rulings);
    let screen = iodyno_report::text::comparison_screen(&comparison, &rulings, 4, &style(200));
    let document = compare_document(&comparison, &rulings, 4);
    assert!(document.limits_alone.iter().all(|one| one.side == 1 && one.why.is_some()));
    assert_eq!(document.limits_alone.len(), comparison.alone.len());
    let compared = Compared { comparison: &comparison, rulings: &rulings, status, at_ns: 0 };
    let export = |name: &str| {
        let (format, _) = FORMATS.iter().find(|(of, _)| of.name() == name).expect(name);
        String::from_utf8(format.export(Results::Comparison(compared)).expect("a form"))
            .expect("text")
    };
    for text in [&screen, &export("markdown"), &export("junit")] {
        assert!(text.contains("the side lacks this workload"), "{text}");
    }
    for text in [&screen, &export("markdown")] {
        assert!(text.contains("9 I/Os failed"), "{text}");
    }
    // Without limits, too, the verdict is first.
    let compared = Compared { rulings: &[], status: ExitStatus::Fine, ..compared };
    let (format, _) = FORMATS.iter().find(|(of, _)| of.name() == "markdown").expect("a format");
    let text = format.export(Results::Comparison(compared)).expect("a form");
    let screen = iodyno_report::text::comparison_screen(&comparison, &[], 0, &style(200));
    let (label, words) = screen.lines().next().expect("a line").split_once("  ").expect("words");
    let text = String::from_utf8(text).expect("text");
    assert!(text.starts_with(&format!("**{label}** {words}\n")), "{text}");
}

#[test]
fn without_valid_results_it_says_so_and_why() {
    let failed = ["A1", "B1"].map(|id| {
        let mut record = run(id, 1.0);
        for of in &mut record.measurements {
            of.end = EndReason::Failed("EIO".into());
        }
        record
    });
    let sides = compared(&[("A", vec![&failed[0]]), ("B", vec![&failed[1]])]);
    let text = comparison_screen(&sides, &[], 0, &style(100));
    let first = "UNJUDGED  no workload has valid results on two sides\n";
    assert!(text.starts_with(first) && text.contains("\n* A: INVALID, it failed: EIO"), "{text}");
}
