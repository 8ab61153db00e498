//! Tests `rules`: the list, one page, and rules changed since a run.

use crate::common::{World, json, says, status, text};
use crate::pages;
use iodyno_store::Store;

#[test]
fn rules_are_listed_and_one_is_explained() {
    let world = World::new();
    let list = world.run(&["rules"]);
    status(&list, 0);
    let list = text(&list.stdout);
    let page = world.run(&["rules", "link-degraded"]);
    status(&page, 0);
    let page = text(&page.stdout);
    assert!(list.contains("FAIL  link-degraded\n"), "{list}");
    for part in ["link-degraded\n", "\nWhen it fires\n", "\n  - ", "\nSources\n"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("##") && page.lines().all(|line| line.chars().count() <= 100), "{page}");

    let one = world.run(&["rules", "link-degraded", "--json"]);
    let one = json(&one.stdout);
    assert_eq!(one["schema"], "iodyno.rules/1");
    assert_eq!(one["rules"].as_array().unwrap().len(), 1);
    says(&world.run(&["rules", "link-degradet"]), 2, "'link-degraded'");
}

#[test]
fn a_run_that_other_rules_judged_is_judged_anew_and_says_so() {
    let world = World::new();
    let drive = world.sparse("drive", 1 << 30);
    let check = ["check", "--generator", "simulated", "-q"];
    status(&world.command().args(check).arg(drive).output().unwrap(), 0);
    let same = world.run(&["show", "last"]);
    assert!(!text(&same.stderr).contains("judged anew"), "{}", text(&same.stderr));

    let mut store = Store::open(&world.path("store.sqlite")).unwrap();
    let id = store.find("last").unwrap().id;
    let mut assessment = store.assessment(&id).unwrap().unwrap();
    assessment.ruleset = "0".into();
    store.put_assessment(&id, &assessment).unwrap();
    drop(store);
    let anew = world.run(&["show", "last"]);
    status(&anew, 0);
    let note = text(&anew.stderr);
    assert!(note.contains("judged anew: UNJUDGED by ruleset"), "{note}");
    assert!(note.trim_end().ends_with("it was UNJUDGED by ruleset 0"), "{note}");
}

/// The lines of `page` with those that follow `first` and begin with `start` replaced by `lines`.
fn replaced(page: &str, first: &str, start: &str, lines: &[String]) -> String {
    let (before, rest) = page.split_once(first).unwrap();
    let mut after = rest.lines();
    let kept: Vec<&str> = after.by_ref().skip_while(|line| line.starts_with(start)).collect();
    let all = lines.iter().map(String::as_str).chain(kept);
    format!("{before}{first}{}\n", all.collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_book_lists_all_rules() {
    let rows = iodyno_judge::rules().map(|rule| {
        let severity = format!("{:?}", rule.severity).to_uppercase();
        format!("| [{0}]({0}.md) | {severity} | {1} |", rule.id, rule.summary)
    });
    let mut pages: Vec<String> =
        iodyno_judge::rules().map(|rule| format!("    - [{0}](rules/{0}.md)", rule.id)).collect();
    pages.sort();
    let lists = [
        (
            "docs/rules/README.md",
            "| rule | worst | looks for |\n|---|---|---|\n",
            "| ",
            rows.collect(),
        ),
        ("docs/SUMMARY.md", "- [Rules](rules/README.md)\n", "    - [", pages),
    ];
    for (file, first, start, lines) in lists {
        let expected = replaced(&pages::read(file), first, start, &lines);
        expect_test::expect_file![pages::root().join(file)].assert_eq(&expected);
    }
}
