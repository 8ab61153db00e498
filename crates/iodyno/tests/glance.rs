//! The check of the laboratory's seven drives, as it is shown on terminals of several widths.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::path::Path;

use common::{World, status, text};

#[test]
fn the_laboratory_is_read_at_a_glance() {
    let world = World::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    // Copied, so that the commands that it names are short.
    std::fs::copy(tests.join("captured/lab.json.gz"), world.path("lab.json.gz")).unwrap();
    let sheet = tests.join("../../../lab/datasheet.toml");
    let show = |width: &str, more: &[&str]| {
        let shown = world
            .command()
            .current_dir(world.path("."))
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
        let file = tests.join(format!("captured/lab-{width}.txt"));
        if std::env::var_os("IODYNO_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&file, &shown).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            expected == shown,
            "{} differs; it is now:\n{shown}\n\
             if that is meant: IODYNO_BLESS=1 cargo test -p iodyno --test glance",
            file.display()
        );
        assert!(shown.lines().all(|line| line.chars().count() <= width.parse().unwrap()));
    }
    let shown = show("80", &[]);
    assert!(shown.lines().count() <= 27, "{shown}");
    let long = show("80", &["-v"]);
    assert!(long.lines().count() > 100 && long.contains("ruleset"), "{long}");
}
