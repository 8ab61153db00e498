//! Tests plans that change machine settings or use several targets, on loop devices. Needs root and
//! losetup; fails by name if one is missing.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::common::{Loop, World, printed, says, status, text, tool};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// Writes a plan of short reads, with `more` before its jobs.
fn plan(world: &World, more: &str, points: usize) -> String {
    let depths: Vec<String> = (1..=points).map(|depth| depth.to_string()).collect();
    let text = format!(
        "format = \"iodyno.plan/1\"\nname = \"mine\"\norder = \"written\"\n\
         [stop]\nmin_time = \"50ms\"\nmax_time = \"100ms\"\n{more}\n\
         [job]\nrw = \"randread\"\nbs = \"4k\"\nioengine = \"psync\"\n\
         [grid]\niodepth = [{}]\n",
        depths.join(", ")
    );
    let path = world.path("mine.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// `nr_requests` of a disk.
fn requests(disk: &Loop<'_>) -> u32 {
    let path = format!("/sys/block/{}/queue/nr_requests", disk.name());
    std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

#[test]
#[ignore = "needs root"]
fn what_a_plan_sets_is_in_effect_and_restored() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 4 * MIB);
    let (before, asked) = (requests(&disk), requests(&disk) / 2);
    let plan = plan(&world, &format!("[settings]\nnr_requests = {asked}"), 1);
    let sweep = ["sweep", &plan, "--target", &disk.device];
    let shown = text(&world.run(&[&sweep[..], &["--dry-run"]].concat()).stdout);
    let words = format!("Sets nr_requests of {} to {asked} (it is {before}).", disk.name());
    assert!(shown.contains(&words), "{shown}");
    assert_eq!(requests(&disk), before, "a dry run sets nothing");
    let found = printed(&world.run(&[&sweep[..], &["--json"]].concat()));
    let setting = &found["measurements"][0]["conditions"]["settings"][0];
    assert_eq!(setting["before"], before.to_string());
    assert_eq!(setting["value"], asked.to_string());
    assert_eq!(requests(&disk), before);
    assert!(text(&world.run(&["clean-up"]).stdout).contains("No leftovers found"));
}

#[test]
#[ignore = "needs root"]
fn a_run_that_is_not_let_go_on_stays_as_it_is() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 16 * MIB);
    let plan = plan(&world, "[preparation]\nfill = 100.0", 1);
    let word = disk.word();
    let allowing = ["--allow-write", &word, "--discard-data", &word];
    let mut child = world
        .command()
        .args(["sweep", &plan, "--target", &disk.device])
        .args(allowing)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Kills it before its first measurement.
    disk.wait_for_writes(10);
    child.kill().unwrap();
    child.stderr.take().unwrap().read_to_string(&mut String::new()).unwrap();
    child.wait().unwrap();
    for _ in 0..2 {
        let refused = world.run(&["resume"]);
        status(&refused, 2);
        let said = text(&refused.stderr);
        assert!(said.contains(": writing not allowed"), "{said}");
    }
    status(&world.run(&[&["resume"], &allowing[..]].concat()), 0);
}

#[test]
#[ignore = "needs root"]
fn what_cannot_be_set_is_refused_before_anything_is_measured() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 4 * MIB);
    let before = requests(&disk);
    let half = before / 2;
    let plan = plan(&world, &format!("[settings]\nscheduler = \"wish\"\nnr_requests = {half}"), 1);
    let output = world.run(&["sweep", &plan, "--target", &disk.device]);
    status(&output, 2);
    let said = text(&output.stderr);
    assert!(
        said.contains("scheduler cannot be set to wish") && said.contains("it takes"),
        "{said}"
    );
    assert_eq!(requests(&disk), before);
    assert_eq!(world.run(&["show", "last"]).status.code(), Some(2), "it is no run");
}

#[test]
#[ignore = "needs root"]
fn nothing_is_set_for_a_target_that_is_refused() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 4 * MIB);
    tool("mkfs.ext4", &["-q", "-F", &disk.device]);
    // Would be an error of its own, had it been tried.
    let plan = plan(&world, "[settings]\nscheduler = \"wish\"", 1);
    let writing = std::fs::read_to_string(&plan).unwrap().replace("randread", "randwrite");
    std::fs::write(&plan, writing).unwrap();
    let on = ["sweep", &plan, "--target", &disk.device, "--allow-write", &disk.word()];
    says(&world.run(&on), 2, "holds unused data");
}

#[test]
#[ignore = "needs root"]
fn what_a_killed_run_set_is_restored_by_clean_up() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 4 * MIB);
    let before = requests(&disk);
    let plan = plan(&world, &format!("[settings]\nnr_requests = {}", before / 2), 50);
    let mut child = world
        .command()
        .args(["sweep", &plan, "--target", &disk.device])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("IOPS")), "a point is measured");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(requests(&disk), before / 2);
    let output = world.run(&["clean-up"]);
    status(&output, 0);
    let said = text(&output.stdout);
    assert!(said.contains("queue/nr_requests") && said.contains(&before.to_string()), "{said}");
    assert_eq!(requests(&disk), before);
}

#[test]
#[ignore = "needs root"]
fn targets_together_are_one_measurement_with_parts() {
    let world = World::new();
    let disks = [Loop::new(&world, "a", 4 * MIB), Loop::new(&world, "b", 4 * MIB)];
    let plan = plan(&world, "", 2);
    let on = ["sweep", &plan, "--target", &disks[0].device, "--target", &disks[1].device];
    let found = printed(&world.run(&[&on[..], &["--together", "--json"]].concat()));
    let all = found["measurements"].as_array().unwrap();
    assert_eq!(all.len(), 2);
    for of in all {
        assert_eq!(of["targets"].as_array().unwrap().len(), 2);
        let parts = of["parts"].as_array().unwrap();
        let ios = |of: &Value| of["read"]["ios"].as_u64().unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts.iter().map(ios).sum::<u64>(), ios(of));
    }
    // All points are measured: there is nothing to resume.
    says(&world.run(&["resume", "last"]), 0, "all 2 points are done");
    let apart = printed(&world.run(&[&on[..], &["--json"]].concat()));
    assert_eq!(apart["measurements"].as_array().unwrap().len(), 4);
}

#[test]
#[ignore = "needs root"]
fn a_device_is_named_as_check_takes_it() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 4 * MIB);
    let sweep = ["sweep", "--target", disk.name(), "--set", "rw=randread", "--max-time", "100ms"];
    let output = world.run(&sweep);
    status(&output, 0);
    let progress = format!("sweep {}: ", disk.name());
    assert!(text(&output.stderr).contains(&progress), "{}", text(&output.stderr));
    // Writes are refused for this name, too.
    let before = disk.bytes();
    says(
        &world.run(&["sweep", "--target", disk.name(), "--set", "rw=randwrite"]),
        2,
        "--allow-write",
    );
    assert!(disk.bytes() == before);
}

#[test]
#[ignore = "needs root"]
fn scaling_says_where_the_aggregate_stopped_growing() {
    let world = World::new();
    let disks = ["a", "b"].map(|name| Loop::new(&world, name, 4 * MIB));
    let on = ["--target", &disks[0].device, "--target", &disks[1].device, "--scale", "0.005"];
    let output = world.run(&[&["sweep", "scaling"], &on[..]].concat());
    status(&output, 0);
    let said = text(&output.stdout);
    for step in ["seq-read", "rand-read"] {
        let words =
            [format!("{step}: the aggregate stopped"), format!("{step}: the aggregate grew")];
        assert!(words.iter().any(|words| said.contains(words)), "{said}");
    }
}

#[test]
#[ignore = "needs root"]
fn acceptance_is_one_command_and_guarded_as_prepare_is() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 32 * MIB);
    let sweep = ["sweep", "acceptance", "--target", &disk.device, "--scale", "0.0001"];
    let before = disk.bytes();
    let refused = |more: &[&str], words: &str| {
        let output = world.run(&[&sweep[..], more].concat());
        status(&output, 2);
        let said = text(&output.stderr);
        assert!(said.contains(words), "{words}: {said}");
    };
    refused(&["--purge", "discard"], "writing not allowed");
    let word = disk.word();
    // A loop device has no Format command.
    refused(&["--allow-write", &word], "not a whole namespace");
    assert!(disk.bytes() == before);
    let shown =
        text(&world.run(&[&sweep[..], &["--purge", "discard", "--dry-run"]].concat()).stdout);
    assert!(shown.contains("Destroys all data of loop") && shown.contains("verify"), "{shown}");
    assert!(disk.bytes() == before);
    let found = printed(&disk.allowed(&sweep, &["--purge", "discard", "--json"]));
    let all = found["measurements"].as_array().unwrap();
    let names: Vec<&str> = all.iter().map(|of| of["name"].as_str().unwrap()).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("discard", "verify"));
    assert!(names.contains(&"70/30") && names.contains(&"until steady"), "{names:?}");
    assert!(all.iter().all(|of| of["end"] != "failed"));
}

#[test]
#[ignore = "needs root"]
fn a_soak_lasts_as_often_as_it_fits() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 4 * MIB);
    let sweep = ["sweep", "soak", "--target", &disk.device, "--scale", "0.0002", "--for", "720ms"];
    let found = printed(&disk.allowed(&sweep, &["--json"]));
    let all = found["measurements"].as_array().unwrap();
    assert_eq!(all.len(), 6, "three points of 120 ms, twice");
    assert!(all.iter().all(|of| of["end"] != "failed"));
    says(&world.run(&["sweep", "snia-wsat", "--target", &disk.device, "--for", "1h"]), 2, "--for");
}

#[test]
#[ignore = "needs root"]
fn a_test_of_snias_prepares_the_drive_where_a_purge_is_asked_for() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 32 * MIB);
    let sweep = ["sweep", "snia-throughput", "--target", &disk.device, "--scale", "0.001"];
    let shown = |more: &[&str]| {
        let output = world.run(&[&sweep[..], &["--dry-run"], more].concat());
        text(&output.stdout)
    };
    let taken_as_it_is = shown(&[]);
    assert!(taken_as_it_is.contains("First, do this yourself"), "{taken_as_it_is}");
    assert!(!taken_as_it_is.contains("Destroys"), "{taken_as_it_is}");
    let purged = shown(&["--purge", "discard"]);
    for words in ["Destroys all data of loop", "0.002x its size", "done as far as shown below"] {
        assert!(purged.contains(words), "{words}: {purged}");
    }
    let filled = shown(&["--purge", "none"]);
    assert!(!filled.contains("Destroys") && filled.contains("0.002x its size"), "{filled}");
    let before = disk.bytes();
    status(&world.run(&[&sweep[..], &["--purge", "discard"]].concat()), 2);
    assert!(disk.bytes() == before, "it was not allowed");
    let found =
        printed(&disk.allowed(&sweep, &["--purge", "discard", "--set", "size=8m", "--json"]));
    let all = found["measurements"].as_array().unwrap();
    let before: Vec<&str> = all
        .iter()
        .take_while(|of| of["round"].is_null())
        .map(|of| of["name"].as_str().unwrap())
        .collect();
    assert_eq!(before, ["discard"], "the share of a fill is less than one of its blocks");
    let said = text(&world.run(&["show", "-v", "last"]).stdout);
    assert!(said.contains("discard · by this run"), "{said}");
}

#[test]
#[ignore = "needs root"]
fn a_preparation_is_no_point_and_no_result() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 4 * MIB);
    let plan = "format = \"iodyno.plan/1\"\nname = \"mine\"\n[preparation]\npurge = \"discard\"\n\
                [job]\nrw = \"randread\"\nbs = \"4k\"\n[grid]\niodepth = [1, 4]\n";
    std::fs::write(world.path("mine.toml"), plan).unwrap();
    let sweep = ["sweep", "mine.toml", "--target", &disk.device, "--max-time", "100ms"];
    let said = text(&disk.allowed(&sweep, &[]).stdout);
    assert!(said.contains("2 points on loop"), "{said}");
    assert!(!said.contains("at discard"), "{said}");
    let compared = text(&world.run(&["compare", "-v", "last", "last"]).stdout);
    assert!(compared.contains("randread 4 KiB") && !compared.contains("trim"), "{compared}");
}

#[test]
fn the_catalogue_of_keys_is_a_plan() {
    let world = World::new();
    let page = include_str!("../../../docs/reference/plans.md");
    let plan = page.split("```toml\n").nth(1).and_then(|rest| rest.split_once("```"));
    std::fs::write(world.path("mine.toml"), plan.unwrap().0).unwrap();
    world.sparse("data", 16 << 20);
    let output = world.run(&["sweep", "mine.toml", "--target", "data", "--dry-run"]);
    status(&output, 0);
    assert!(text(&output.stdout).contains("mine: 15 points"), "{}", text(&output.stdout));
}

#[test]
fn a_dry_run_announces_all_the_time_and_refuses_what_the_run_would() {
    let world = World::new();
    std::fs::write(world.path("data"), [7; 1 << 16]).unwrap();
    let head = "format = \"iodyno.plan/1\"\nname = \"plan\"\ntargets = [\"data\"]\n[stop]\n\
                max_time = \"10s\"\n";
    let dry = |plan: &str, more: &[&str]| {
        std::fs::write(world.path("plan.toml"), format!("{head}{plan}")).unwrap();
        let output = world.run(&[&["sweep", "plan.toml", "--dry-run"], more].concat());
        format!("{}{}", text(&output.stdout), text(&output.stderr))
    };
    let steps = "[[step]]\nname = \"a\"\non = [\"each\"]\njob = { rw = \"read\" }\n[[step]]\n\
                 name = \"b\"\njob = { rw = \"randread\" }\noutstanding = { from = 1, to = 8, \
                 until_growth_below_percent = 5 }\n";
    // Two measurements, a search and the sampling of blocks, with a second of overhead each.
    let shown = dry(steps, &[]);
    assert!(shown.contains("measures for at most 31.9 s"), "{shown}");
    let done = "[[step]]\nname = \"a\"\nuntil = \"done\"\njob = { rw = \"read\", runtime = 1, \
                ramp_time = 2, startdelay = 1 }\n[[step]]\nname = \"b\"\nuntil = \"done\"\n\
                job = { rw = \"read\" }\n";
    let shown = dry(done, &[]);
    for line in ["1 of them take their full time, at most 4 s\n", "1 of them end when their work"] {
        assert!(shown.contains(line), "{shown}");
    }
    let writes = "[grid]\nrw = [\"read\", \"write\"]\n";
    assert!(dry(writes, &["--allow-write", "data"]).contains("2 points"));
    let shown = dry(writes, &["--allow-write", "nonsense"]);
    assert!(shown.contains("--allow-write") && !shown.contains("2 points"), "{shown}");
    let shown = dry(writes, &["--target", "data", "--target", "./data"]);
    assert!(shown.contains("data and ./data are the same target"), "{shown}");
}
