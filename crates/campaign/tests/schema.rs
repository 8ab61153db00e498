//! JSON schemas of plans and of application profiles.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use expect_test::expect_file;
use std::path::PathBuf;

use iodyno_campaign::{Study, plan_schema, profile_names, profile_schema};
use iodyno_model::Profile;
use serde_json::Value;

const FILE: &str = "docs/schema/iodyno.plan.1.json";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The schema in docs/schema is the one that the types generate.
#[test]
fn the_schema_in_docs_is_up_to_date() {
    let text = serde_json::to_string_pretty(&plan_schema()).unwrap() + "\n";
    expect_file![root().join(FILE)].assert_eq(&text);
}

fn is_valid(text: &str) -> bool {
    let plan: Value = serde_json::to_value(toml::from_str::<toml::Value>(text).unwrap()).unwrap();
    jsonschema::validator_for(&plan_schema()).unwrap().is_valid(&plan)
}

fn is_read(text: &str) -> bool {
    Study::parse(text, "plan").is_ok()
}

#[test]
fn every_preset_is_valid() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("plans")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(is_valid(&text) && is_read(&text), "{}", path.display());
        count += 1;
    }
    assert_eq!(count, Study::presets().count(), "a preset that nobody knows");
}

#[test]
fn plans_written_as_toml_are_valid() {
    for (name, _) in Study::presets() {
        let text = Study::preset(name).unwrap().to_toml().unwrap();
        assert!(is_valid(&text), "{name}: {text}");
    }
}

#[test]
fn schema_and_parser_refuse_the_same_misspellings() {
    let base = include_str!("../../../plans/acceptance.toml");
    let replaced = [
        ("about =", "abuot ="),
        ("iodyno.plan/1", "iodyno.plan/2"),
        ("purge = \"format\"", "purge = \"shred\""),
        ("fill = 2.0", "fil = 2.0"),
        ("fill = 2.0", "fill = \"twice\""),
        ("min_time", "min_tmie"),
        ("order = \"written\"", "order = \"any\""),
        ("until = \"done\"", "until = \"ready\""),
        ("size = \"100%\"", "siez = \"100%\""),
        ("rw = \"read\"", "rw = [\"read\"]"),
        ("[job]", "[settings]\nscheduelr = \"none\"\n[job]"),
        ("[job]", "[scaling]\nleast_gain = 3\n[job]"),
    ];
    assert!(is_valid(base) && is_read(base));
    for (from, to) in replaced {
        let text = base.replacen(from, to, 1);
        assert!(text != base && !is_valid(&text) && !is_read(&text), "{to}");
    }
}

#[test]
fn the_schema_of_profiles_is_up_to_date_and_every_profile_valid() {
    let schema = profile_schema();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    expect_file![root().join("docs/schema/iodyno.profile.1.json")].assert_eq(&text);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let is_valid = |text: &str| {
        let of: toml::Value = toml::from_str(text).unwrap();
        validator.is_valid(&serde_json::to_value(of).unwrap())
    };
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("profiles")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(is_valid(&text), "{}", path.display());
        count += 1;
    }
    assert_eq!(count, profile_names().count(), "a profile that nobody knows");
    let etcd = include_str!("../../../profiles/etcd.toml");
    for (from, to) in [
        ("about =", "abuot ="),
        ("at_most_ms = 10.0", "at_most = 10.0"),
        ("on = \"directory\"", "on = \"disk\""),
        ("source =", "sauce ="),
    ] {
        let text = etcd.replace(from, to);
        assert_ne!(text, etcd);
        assert!(!is_valid(&text) && Profile::parse(&text).is_err(), "{to}");
    }
}
