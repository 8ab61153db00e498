//! Tests `runs export`: JSON, CSV and Parquet.

use crate::common::{World, json, printed, says, status, text};
use serde_json::Value;

fn world() -> World {
    let world = World::new();
    for name in ["one", "two"] {
        let drive = world.sparse(name, 1 << 30);
        let drive = drive.to_str().unwrap();
        let checked =
            world.run(&["check", drive, "--generator", "simulated", "--name", name, "-q"]);
        status(&checked, 0);
    }
    world
}

#[test]
fn json_is_the_public_document_or_an_array_of_them() {
    let world = world();
    let export =
        |words: &[&str]| -> Value { printed(&world.run(&[&["runs", "export"], words].concat())) };
    let shown = json(&world.run(&["show", "one", "--json"]).stdout);
    assert_eq!(export(&["one"]), shown);
    assert_eq!(export(&["one", "-o", "-"]), shown);
    let both = export(&["one", "two", "--format", "json"]);
    assert_eq!((&both[0], &both[1]["name"]), (&shown, &"two".into()));
    // Exported runs can be imported.
    let file = world.path("both.json");
    let path = file.to_str().unwrap();
    status(&world.run(&["runs", "export", "one", "two", "-o", path]), 0);
    let elsewhere = world.path("elsewhere.sqlite");
    let elsewhere = elsewhere.to_str().unwrap();
    status(&world.run(&["--store", elsewhere, "import", path]), 0);
    let runs = world.run(&["--store", elsewhere, "runs", "--json"]);
    let runs = json(&runs.stdout);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn csv_has_the_documented_columns() {
    let world = world();
    let output = world.run(&["runs", "export", "one", "two", "--format", "csv"]);
    status(&output, 0);
    let out = text(&output.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 3, "{out}");
    assert!(lines[1].contains(",one,") && lines[4].contains(",two,"), "{out}");
    let path = format!("{}/../../docs/reference/export.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    let documented: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(lines[0].split(',').collect::<Vec<_>>(), documented);
}

#[test]
fn parquet_goes_to_a_file() {
    let world = world();
    let file = world.path("results.parquet");
    let path = file.to_str().unwrap();
    status(&world.run(&["runs", "export", "one", "--format", "parquet", "-o", path]), 0);
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let table = world.path("results.csv");
    let csv = table.to_str().unwrap();
    status(&world.run(&["runs", "export", "one", "--format", "csv", "-o", csv]), 0);
    for own in [path, csv] {
        says(&world.run(&["import", own]), 2, "is a table for other programs");
    }
    let piped = world.run(&["runs", "export", "one", "--format", "parquet"]);
    assert_eq!(piped.stdout, bytes);
    says(
        &world.run(&["runs", "export", "one", "-o", "/no/such/folder/x.json"]),
        2,
        "/no/such/folder/x.json",
    );
    status(&world.run(&["runs", "export", "three"]), 2);
}
