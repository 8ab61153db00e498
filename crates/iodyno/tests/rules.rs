//! Tests `rules`: the list, one page, and rules changed since a run.

use crate::common::{World, json, says, status, text};
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
