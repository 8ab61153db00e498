//! Tests the summary of the laboratory's seven drives on terminals of several widths.

use std::path::Path;

use crate::common::{World, as_captured, status, text};

#[test]
fn the_laboratory_is_read_at_a_glance() {
    let world = World::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    // Copied, so that the suggested commands are short.
    std::fs::copy(tests.join("captured/lab.json.gz"), world.path("lab.json.gz")).unwrap();
    let sheet = tests.join("../../../lab/datasheet.toml");
    let show = |width: &str, more: &[&str]| {
        let shown = world
            .command()
            .args(["show", "lab.json.gz", "--datasheet", sheet.to_str().unwrap()])
            .args(more)
            .env("COLUMNS", width)
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        status(&shown, 1);
        text(&shown.stdout)
    };
    for width in ["60", "80", "100", "160"] {
        let shown = show(width, &[]);
        as_captured(&format!("lab-{width}.txt"), &shown);
        assert!(shown.lines().all(|line| line.chars().count() <= width.parse().unwrap()));
    }
    let shown = show("80", &[]);
    assert!(shown.lines().count() <= 31, "{shown}");
    let long = show("80", &["-v"]);
    assert!(long.lines().count() > 100 && long.contains("ruleset"), "{long}");
}
