//! Tests the output for stored runs on terminals of several widths, in several locales.

use std::fmt::Write as _;
use std::path::Path;

use crate::common::{self, World, as_captured, status, text, tool};

/// The lab's data sheet, under the name used by commands in the folder of captures.
const SHEET: &str = "datasheet.toml";

/// A data sheet for drives as fast as their links.
const FAST_SHEET: &str = "fast.toml";

const CASES: [(&str, &[&str]); 15] = [
    ("run", &["show", "run.json.gz"]),
    ("sweep", &["show", "sweep.json.gz"]),
    ("vm", &["show", "vm.json.gz"]),
    ("why", &["show", "why.json.gz"]),
    ("fit", &["show", "fit.json.gz"]),
    ("compare", &["compare", "run.json.gz", "again.json.gz"]),
    ("explain", &["explain", "lab.json.gz", "--datasheet", SHEET]),
    ("explain-one", &["explain", "why.json.gz"]),
    ("link", &["show", "link.json", "--datasheet", FAST_SHEET]),
    ("rounds", &["show", "rounds.json.gz"]),
    ("prepare", &["show", "prepare.json.gz"]),
    ("layouts", &["show", "layouts"]),
    ("runs", &["runs"]),
    ("fleet", &["runs", "fleet", "lab.json.gz", "vm.json.gz"]),
    ("list", &["list", "--sysroot", "links.json"]),
];

/// A world with copies of the captures, so that suggested commands are short.
fn captures() -> World {
    let world = World::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(tests.join("captured")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        std::fs::copy(&path, world.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    std::fs::copy(tests.join("../../../lab/datasheet.toml"), world.path(SHEET)).unwrap();
    std::fs::copy(tests.join("../../host/tests/fixtures/links.json"), world.path("links.json"))
        .unwrap();
    full_links(&world);
    for built in ["raw", "all", "ext4"] {
        let capture = world.path(&format!("layouts-{built}.json.gz"));
        status(&world.run(&["import", capture.to_str().unwrap()]), 0);
    }
    world
}

/// The check of the laboratory as if links limited its sequential reads, which QEMU throttles far
/// below that; one link is degraded.
fn full_links(world: &World) {
    let lab = world.path("lab.json.gz");
    let lab = tool("gzip", &["-dc", lab.to_str().unwrap()]);
    let mut document = common::json(lab.as_bytes());
    for of in document["measurements"].as_array_mut().unwrap() {
        if of["name"] != "seq-read" {
            continue;
        }
        let times = match of["targets"].as_array().unwrap().as_slice() {
            [only] if only == "nvme2n1" => 60.0,
            [_] => 240.0,
            _ => 230.0,
        };
        scale(&mut of["read"], times);
        scale(&mut of["parts"], times);
    }
    std::fs::write(world.path("link.json"), document.to_string()).unwrap();
    let sheet = std::fs::read_to_string(world.path(SHEET)).unwrap();
    let sheet = sheet.replace("seq_read_mbs = 25", "seq_read_mbs = 6000");
    std::fs::write(world.path(FAST_SHEET), sheet).unwrap();
}

/// Multiplies every rate and its bounds.
fn scale(value: &mut serde_json::Value, times: f64) {
    if let Some(all) = value.as_array_mut() {
        all.iter_mut().for_each(|one| scale(one, times));
    }
    for (name, inner) in value.as_object_mut().into_iter().flatten() {
        if !["iops", "bandwidth"].contains(&name.as_str()) {
            scale(inner, times);
            continue;
        }
        for (_, bound) in inner.as_object_mut().into_iter().flatten() {
            if let Some(rate) = bound.as_f64().filter(|rate| *rate > 1.0) {
                *bound = (rate * times).into();
            }
        }
    }
}

fn shown(world: &World, words: &[&str], width: usize, locale: &str, color: &str) -> (String, i32) {
    let output = world
        .command()
        .args(words)
        .args(["--color", color])
        .env("COLUMNS", width.to_string())
        .env("LC_ALL", locale)
        .output()
        .unwrap();
    (text(&output.stdout), output.status.code().unwrap())
}

#[test]
fn screens_fit_every_terminal() {
    let world = captures();
    for (name, words) in CASES {
        let mut all = String::new();
        for width in [60, 80, 100, 160] {
            let (out, code) = shown(&world, words, width, "C.UTF-8", "never");
            let widest = out.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{name} at {width}:\n{out}");
            let command = words.join(" ");
            write!(all, "$ iodyno {command}   # {width} columns, exit status {code}\n{out}\n")
                .unwrap();
        }
        as_captured(&format!("screens/{name}.txt"), &all);
    }
}

#[test]
fn colour_and_locale_change_no_word() {
    let world = captures();
    for (name, words) in CASES {
        let (plain, _) = shown(&world, words, 80, "C.UTF-8", "never");
        assert!(!plain.contains('\x1b'), "{name}");
        let (colored, _) = shown(&world, words, 80, "C.UTF-8", "always");
        assert!(colored.contains('\x1b'), "{name}: {colored}");
        let bare = colored.split('\x1b').enumerate().map(|(n, part)| match n {
            0 => part,
            _ => part.split_once('m').unwrap().1,
        });
        assert_eq!(bare.collect::<String>(), plain, "{name}");
        let (ascii, _) = shown(&world, words, 80, "C", "never");
        assert!(ascii.is_ascii(), "{name}: {ascii}");
        assert_eq!(ascii.lines().count(), plain.lines().count(), "{name}");
    }
}

#[test]
fn a_terminal_has_colour_unless_no_color_says_otherwise() {
    let world = captures();
    let on_terminal = |environment: &str| {
        let (program, store) = (env!("CARGO_BIN_EXE_iodyno"), world.path("store.sqlite"));
        let line = format!(
            "cd '{}'; stty rows 24 cols 80; TERM=xterm {environment} LC_ALL=C.UTF-8 IODYNO_STORE='{}' '{program}' \
             show run.json.gz 2>/dev/null",
            world.path(".").display(),
            store.display()
        );
        tool("script", &["-qec", &line, "/dev/null"]).replace('\r', "")
    };
    let (plain, _) = shown(&world, &["show", "run.json.gz"], 80, "C.UTF-8", "never");
    assert!(on_terminal("NO_COLOR=").contains('\x1b'));
    for without in ["NO_COLOR=1", "TERM=dumb", "TERM="] {
        assert_eq!(on_terminal(without), plain.trim_end(), "{without}");
    }
}

#[test]
fn a_directory_of_a_virtual_machine_takes_ten_lines() {
    let world = captures();
    let (out, code) = shown(&world, &["show", "vm.json.gz"], 80, "C.UTF-8", "never");
    assert!(out.lines().count() <= 10 && out.contains("nothing to compare with"), "{out}");
    assert_eq!(code, 0);
}

#[test]
fn what_a_degraded_link_causes_is_said_under_it() {
    let world = captures();
    let words = ["show", "link.json", "--datasheet", FAST_SHEET];
    let (out, code) = shown(&world, &words, 100, "C.UTF-8", "never");
    let lines: Vec<&str> = out.lines().collect();
    let link = lines.iter().position(|line| line.contains("The link of nvme2 runs")).unwrap();
    assert!(lines[link + 1].contains("therefore: nvme2n1 reaches 25 % of the claim"), "{out}");
    // The other slow drive is slow by itself.
    let slow: Vec<_> = lines.iter().filter(|line| line.contains("nvme3n1 reaches")).collect();
    assert!(slow.len() == 1 && slow[0].starts_with("FAIL"), "{out}");
    assert_eq!(code, 1);
}

#[test]
fn a_drive_below_its_twins_is_no_reason_to_buy_a_faster_one() {
    let world = captures();
    let words = ["explain", "lab.json.gz", "--datasheet", SHEET, "--json"];
    let (out, _) = shown(&world, &words, 80, "C.UTF-8", "never");
    let document = common::json(out.as_bytes());
    let all = document["explained"].as_array().unwrap();
    let of = |target: &str| {
        let is_of = |one: &&serde_json::Value| one["targets"][0].as_str() == Some(target);
        let found: Vec<_> = all.iter().filter(is_of).collect();
        assert!(!found.is_empty(), "{target}: {out}");
        found
    };
    for one in of("nvme3n1") {
        let advice = one["advice"].as_str().unwrap();
        assert!(!advice.contains("faster"), "{advice}");
        let sentence = one["sentence"].as_str().unwrap();
        // Results of an empty drive say nothing about this one.
        assert!(!sentence.contains("hold nothing"), "{sentence}");
    }
    for one in of("nvme4n1") {
        assert_eq!(one["validity"], "INVALID");
        assert_eq!(one["limiter"], serde_json::Value::Null, "nothing follows from it: {one}");
    }
}
