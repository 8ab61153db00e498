//! Tests plans in rounds on real files.

use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use crate::common::{World, json, says, status, text};
use serde_json::Value;

const PRESETS: [&str; 8] = ["iops", "throughput", "latency", "wsat", "hir", "xsr", "cbw", "dirth"];

fn document(world: &World, run_name: &str) -> Value {
    json(&world.run(&["show", run_name, "--json"]).stdout)
}

/// Writes a plan of two points in rounds and one after them, with the limit `percent`.
fn plan(world: &World, percent: f64) {
    let text = format!(
        "format = \"iodyno.plan/1\"\nname = \"mine\"\norder = \"written\"\nbefore = \"purge it\"\n\
         [rounds]\nmost = 3\nwindow = 2\nexcursion_percent = {percent:.9}\n\
         slope_percent = {percent:.9}\n\
         track = [{{ point = \"write bs=4k\", metric = \"iops\" }},\n\
         {{ point = \"write bs=4k\", metric = \"latency_mean\" }}]\n\
         [job]\nsize = \"4m\"\nioengine = \"psync\"\ntime_based = 1\nruntime = \"50ms\"\n\
         [[step]]\nname = \"write\"\njob = {{ rw = \"randwrite\" }}\ngrid = {{ bs = [\"8k\", \"4k\"] }}\n\
         [[step]]\nname = \"last\"\nafter = true\njob = {{ rw = \"randread\", bs = \"4k\" }}\n"
    );
    std::fs::write(world.path("mine.toml"), text).unwrap();
}

/// (name, round) of all measurements.
fn measured(document: &Value) -> Vec<(String, Option<u64>)> {
    let all = document["measurements"].as_array().unwrap().iter();
    all.map(|of| (of["name"].as_str().unwrap().to_owned(), of["round"].as_u64())).collect()
}

fn expected(rounds: u64) -> Vec<(String, Option<u64>)> {
    let round = |round| ["write bs=8k", "write bs=4k"].map(|name| (name.to_owned(), Some(round)));
    (1..=rounds).flat_map(round).chain([("last".to_owned(), None)]).collect()
}

#[test]
fn presets_say_what_they_take_and_what_comes_before() {
    let world = World::new();
    world.sparse("data", 16 << 20);
    for preset in PRESETS {
        let preset = format!("snia-{preset}");
        let output = world.run(&["sweep", &preset, "--target", "data", "--dry-run"]);
        status(&output, 0);
        let said = text(&output.stdout);
        assert!(
            said.contains("First, do this yourself") && said.contains("purge the drive"),
            "{said}"
        );
        assert_eq!(said.contains("until steady"), preset != "snia-xsr", "{said}");
    }
    let output = world.run(&["sweep", "snia-iops", "--target", "data", "--dry-run"]);
    let said = text(&output.stdout);
    let words =
        "rounds of 56 points, 56 min each, until steady: 5 to 25 rounds, at most 23 h 20 min";
    assert!(said.contains(words), "{said}");
    let points: Vec<&str> = said.lines().filter(|line| line.ends_with("data")).collect();
    assert_eq!(points.len(), 56, "one round is as the other");
    assert!(points[0].contains("100/0 bs=1m") && points[55].contains("0/100 bs=512"), "{said}");
    for (more, words) in [
        (["--scale", "0.1"], "points, 6 min each,"),
        (["--set", "time_based=0"], "points, at most 56 min each,"),
    ] {
        let sweep = ["sweep", "snia-iops", "--target", "data", "--dry-run"];
        let output = world.run(&[&sweep[..], &more].concat());
        assert!(text(&output.stdout).contains(words), "{words}: {}", text(&output.stdout));
    }
}

#[test]
fn a_preset_runs_scaled_down() {
    let world = World::new();
    let arguments = ["--target", "data", "--set", "size=16m", "--scale", "0.0005"];
    let output = world.run(&[&["sweep", "snia-throughput"], &arguments[..]].concat());
    status(&output, 0);
    let table = text(&output.stdout);
    assert!(table.contains("  Steady state on "), "{table}");
    let all = text(&world.run(&["show", "-v", "last"]).stdout);
    for word in ["ROUND", "0/100 bandwidth", "(at most 20 %)", "(at most 10 %)", "x (round - "] {
        assert!(all.contains(word), "{word}: {all}");
    }
    let found = document(&world, "last");
    let rounds = &found["rounds"][0];
    let last = rounds["window"][1].as_u64().unwrap();
    assert_eq!(rounds["window"][0].as_u64(), Some(last - 4));
    // It ends in the first steady round, else with the last.
    assert_eq!(last, rounds["steady_in"].as_u64().unwrap_or(25));
    assert_eq!(rounds["tracked"][0]["window"]["steady"], !rounds["steady_in"].is_null());
    assert_eq!(rounds["tracked"][0]["values"].as_array().unwrap().len() as u64, last);
    assert_eq!(found["measurements"].as_array().unwrap().len() as u64, 2 * last);
}

/// Standard output with single blanks: where lines end depends on the length of the folder's name.
fn unwrapped(output: &Output) -> String {
    text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn rounds_end_with_the_steady_state_or_say_that_there_is_none() {
    let world = World::new();
    for (percent, rounds, words) in
        [(1e6, 2, "reached in round 2 of at most 3"), (1e-9, 3, "NOT REACHED in 3 rounds")]
    {
        plan(&world, percent);
        let output = world.run(&["sweep", "mine.toml", "--target", "data"]);
        status(&output, 0);
        let said = unwrapped(&output);
        assert!(said.contains(words) && said.contains("After the rounds"), "{said}");
        assert!(said.contains(&format!("over rounds {} to {rounds}", rounds - 1)), "{said}");
        assert_eq!(said.contains("NOT IN STEADY STATE"), rounds == 3, "{said}");
        let found = document(&world, "last");
        assert_eq!(measured(&found), expected(rounds));
        let shown = unwrapped(&world.run(&["show", "-v", "last"]));
        for word in [words, "plan requires: purge it", "unknown: none recorded"] {
            assert!(shown.contains(word), "{word}: {shown}");
        }
    }
}

#[test]
fn a_range_is_known_in_a_file_that_is_there() {
    let world = World::new();
    for more in [&[][..], &["--set", "size=50%"]] {
        std::fs::write(world.path("there"), vec![7; 1 << 20]).unwrap();
        let sweep = ["sweep", "snia-wsat", "--target", "there", "--allow-write", "there"];
        status(&world.run(&[&sweep[..], &["--scale", "0.0001"], more].concat()), 0);
        let found = document(&world, "last");
        let (rounds, whole) =
            (&found["rounds"][0], if more.is_empty() { 1 << 20 } else { 1 << 19 });
        let written = found["measurements"].as_array().unwrap().iter();
        let written = written.map(|of| of["write"]["bytes"].as_u64().unwrap());
        let times = written.sum::<u64>() as f64 / f64::from(whole);
        assert!((rounds["written_times"].as_f64().unwrap() / times - 1.0).abs() < 1e-9, "{rounds}");
    }
}

#[test]
fn a_test_without_rounds_has_its_report() {
    let world = World::new();
    let sweep =
        ["sweep", "snia-xsr", "--target", "data", "--set", "size=4m", "--scale", "0.000002"];
    status(&world.run(&[&sweep[..], &["--state", "operator=Jane Doe"]].concat()), 0);
    let shown = unwrapped(&world.run(&["show", "-v", "last"]));
    for words in
        ["Stated operator Jane Doe", "plan requires: purge the drive", "Settings threads 1"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("Steady"), "{shown}");
}

#[test]
fn a_killed_run_goes_on_in_its_round() {
    let world = World::new();
    plan(&world, 1e-9);
    for points in [1, 3] {
        let name = format!("killed-{points}");
        // A file left by a killed run is not overwritten without permission.
        let _ = std::fs::remove_file(world.path("data"));
        let mut child = world
            .command()
            .args(["sweep", "mine.toml", "--target", "data", "--name", &name])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let done = lines.map(Result::unwrap).filter(|line| line.contains("IOPS")).take(points);
        assert_eq!(done.count(), points);
        child.kill().unwrap();
        child.wait().unwrap();
        // After a kill nothing proves that the file's content is iodyno's.
        says(&world.run(&["resume", &name]), 2, "--allow-write");
        status(&world.run(&["resume", &name, "--allow-write", "data"]), 0);
        assert_eq!(measured(&document(&world, &name)), expected(3));
        // Nothing is left: the run is shown again.
        let output = world.run(&["resume", &name]);
        status(&output, 0);
        assert!(unwrapped(&output).contains("NOT REACHED in 3 rounds"));
        assert_eq!(measured(&document(&world, &name)).len(), 7);
    }
}

#[test]
fn a_stored_run_has_the_range_of_the_running_one() {
    let world = World::new();
    let plan = "format = \"iodyno.plan/1\"\nname = \"mine\"\norder = \"written\"\nrepeat = 1\n\
         [rounds]\nmost = 12\nwindow = 11\nwritten_times = 4\n\
         track = [{ point = \"w\", metric = \"iops\" }]\n\
         [job]\nsize = \"1m\"\nnumjobs = 2\noffset_increment = \"1m\"\nbs = \"64k\"\nrate = \"4m\"\n\
         [[step]]\nname = \"w\"\nuntil = \"done\"\njob = { rw = \"write\" }\n";
    std::fs::write(world.path("clones.toml"), plan).unwrap();
    std::fs::write(world.path("there"), vec![7; 2 << 20]).unwrap();
    let permission = ["--allow-write", "there"];
    let mut command = world.command();
    command.args(["sweep", "clones.toml", "--target", "there", "--name", "killed"]);
    let mut child = command.args(permission).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line.starts_with("round 2 ")));
    child.kill().unwrap();
    child.wait().unwrap();
    status(&world.run(&[&["resume", "killed"], &permission[..]].concat()), 0);
    let found = document(&world, "killed");
    assert_eq!(found["rounds"][0]["written_times"], 4.0, "{}", found["rounds"]);
    assert_eq!(measured(&found).iter().filter_map(|(_, round)| *round).max(), Some(4));
}

#[test]
fn what_rounds_cannot_have_is_refused() {
    let world = World::new();
    let preset = ["sweep", "snia-throughput", "--target", "data"];
    std::fs::write(world.path("there"), vec![7; 1 << 20]).unwrap();
    for (arguments, words) in [
        (&[&preset[..], &["--max-time", "1s"]].concat()[..], "--scale"),
        (&[&preset[..], &["--scale", "0"]].concat(), "above 0"),
        (&[&preset[..], &["--repeat", "2"]].concat(), "repeat = 1"),
        (&[&preset[..], &["--order", "random"]].concat(), "order"),
        (&["sweep", "snia-iops", "--target", "data", "--grid", "bs=8k"], "no point `0/100 bs=4k`"),
        (&["sweep", "snia-throughput", "--target", "there"], "--allow-write"),
    ] {
        let output = world.run(arguments);
        status(&output, 2);
        assert!(text(&output.stderr).contains(words), "{words}: {}", text(&output.stderr));
    }
    assert_eq!(std::fs::read(world.path("there")).unwrap(), vec![7; 1 << 20]);
}
