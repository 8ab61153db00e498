//! Tests that text from stores and files of others cannot control the terminal.

use crate::common::{World, json, status, text};
use serde_json::Value;

/// Every kind of character that terminals interpret, hide or reorder.
const HOSTILE: &str = "=\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{2066}\u{200b}\u{e0041}\t\r\nFORGED\u{7f}\u{8}";

/// Replaces every free text of a document; enumerations, times and ids stay.
fn poison(value: &mut Value, key: &str) {
    const FIXED: [&str; 17] = [
        "schema",
        "id",
        "state",
        "started",
        "ended",
        "taken",
        "kind",
        "scope",
        "direction",
        "end",
        "interval",
        "verdict",
        "validity",
        "severity",
        "outcome",
        "toml",
        "metric",
    ];
    match value {
        Value::String(text) if !FIXED.contains(&key) && text.parse::<f64>().is_err() => {
            text.push_str(HOSTILE);
        }
        Value::Array(all) => all.iter_mut().for_each(|one| poison(one, key)),
        Value::Object(all) => all.iter_mut().for_each(|(key, one)| poison(one, key)),
        _ => {}
    }
}

/// Asserts that `output` has only printable characters and line breaks, and no line forged by a
/// string.
#[track_caller]
fn is_harmless(words: &[&str], output: &[u8], which: &str) {
    let text = text(output);
    let bad = |c: char| {
        c != '\n'
            && (c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}' | '\u{feff}'))
    };
    if let Some(at) = text.find(bad) {
        let from = text[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
        panic!("{words:?} {which}: {:?}", text[from..].chars().take(160).collect::<String>());
    }
    let forged = text.lines().find(|line| line.starts_with("FORGED"));
    assert!(forged.is_none(), "{words:?} {which}: {forged:?}");
}

/// A store with a normal run and one whose texts are all hostile.
fn poisoned(world: &World) {
    let drive = world.sparse("drive", 1 << 30);
    let check = ["check", "--generator", "simulated", "--name", "clean", "-q"];
    let output = world.command().args(check).arg(&drive).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text(&output.stderr));
    let exported = world.run(&["runs", "export", "clean"]);
    let mut document = json(&exported.stdout);
    let id = document["id"].as_str().unwrap().to_owned();
    let last = if id.ends_with('0') { "1" } else { "0" };
    document["id"] = format!("{}{last}", &id[..id.len() - 1]).into();
    let mut hostile = document.clone();
    poison(&mut hostile, "");
    hostile["name"] = "hostile".into();
    let path = world.path("hostile.json");
    // Raw, not escaped by our writer.
    std::fs::write(&path, hostile.to_string()).unwrap();
    let imported = world.run(&["import", path.to_str().unwrap()]);
    is_harmless(&["import"], &imported.stdout, "stdout");
    is_harmless(&["import"], &imported.stderr, "stderr");
    let shown = world.run(&["show", "hostile"]);
    assert_ne!(shown.status.code(), Some(2), "{}", text(&imported.stderr));
}

#[test]
fn no_command_passes_on_what_moves_a_terminal() {
    let world = World::new();
    poisoned(&world);
    let fio = world.path("fio.json");
    let report = format!(
        "{{\"fio version\": {0}, \"time\": \"x\", \"jobs\": [{{\"jobname\": {0}, \"groupid\": 0, \
         \"error\": 0, \"read\": {{\"io_bytes\": 4096, \"runtime\": 10, \"iops\": 100.0, \
         \"bw\": 400, \"total_ios\": 1}}}}]}}",
        serde_json::to_string(&format!("fio-3.36{HOSTILE}")).unwrap()
    );
    std::fs::write(&fio, report).unwrap();
    let fio = fio.to_str().unwrap();
    let svg = world.path("x.svg");
    let page = world.path("x.html");
    let (svg, page) = (svg.to_str().unwrap(), page.to_str().unwrap());
    let commands: [&[&str]; 22] = [
        &["show", "hostile"],
        &["show", "hostile", "--json"],
        &["show", "hostile", "--wide"],
        &["show", "hostile", "--format", "junit"],
        &["show", "hostile", "--format", "openmetrics"],
        &["show", "hostile", "--format", "ocp"],
        &["show", fio],
        &["show", fio, "--json"],
        &["runs"],
        &["runs", "--json"],
        &["runs", "fleet"],
        &["runs", "export", "hostile"],
        &["runs", "export", "hostile", "--format", "csv"],
        &["list", "--history"],
        &["compare", "clean", "hostile"],
        &["compare", "clean", "hostile", "--json"],
        &["compare", "hostile", fio],
        &["explain", "hostile"],
        &["explain", "hostile", "--json"],
        &["plot", "hostile", "-o", svg],
        &["report", "hostile", "-o", page, "--force"],
        &["import", fio],
    ];
    for words in commands {
        // Wide enough that lines are broken only by their content.
        let output = world.command().env("COLUMNS", "100000").args(words).output().unwrap();
        let stdout = match words.contains(&"junit") {
            // Text in XML may contain line breaks.
            true => text(&output.stdout).replace('\n', " ").into_bytes(),
            false => output.stdout,
        };
        is_harmless(words, &stdout, "stdout");
        is_harmless(words, &output.stderr, "stderr");
        assert!(!text(&output.stderr).contains("panicked"), "{words:?}");
    }
    let colours = world.run(&["--color", "always", "show", "hostile"]);
    let plain = text(&colours.stdout).replace("\u{1b}[", "");
    assert!(!plain.contains('\u{1b}') && !plain.contains("2J\u{7}"), "only colours");
    let csv = text(&world.run(&["runs", "export", "hostile", "--format", "csv"]).stdout);
    let cells = csv.lines().flat_map(|line| line.split(','));
    assert!(cells.map(|cell| cell.trim_matches('"')).all(|cell| !cell.starts_with('=')), "{csv}");
}

#[test]
fn what_a_file_is_called_moves_no_terminal() {
    let world = World::new();
    let name = format!("odd{}", HOSTILE.replace('\n', ""));
    let path = world.path(&name);
    std::fs::write(&path, "nothing").unwrap();
    let path = path.to_str().unwrap();
    for words in [
        &["show", path][..],
        &["import", path],
        &["check", path, "--time", "200ms"],
        &["run", path],
        &["sweep", path],
        &["--store", path, "runs"],
        &["report", path, "-o", path],
        &["plot", path, "-o", path],
        &["explain", path],
    ] {
        let output = world.run(words);
        is_harmless(&words[..1], &output.stdout, "stdout");
        is_harmless(&words[..1], &output.stderr, "stderr");
        assert_ne!(output.status.code(), Some(0), "{words:?}");
    }
    status(&world.run(&["runs"]), 0);
}
