//! Tests `sweep` and `resume` on real files.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::common::{World, json, says, status, text};
use serde_json::Value;

fn write(world: &World, name: &str, text: &str) {
    std::fs::write(world.path(name), text).unwrap();
}

/// A small grid on a file made for it.
pub(crate) const GRID: [&str; 19] = [
    "sweep",
    "--target",
    "data",
    "--set",
    "size=1m",
    "--set",
    "bs=4k",
    "--set",
    "ioengine=libaio",
    "--set",
    "direct=1",
    "--grid",
    "rw=randread,randwrite",
    "--grid",
    "iodepth=1,2,4",
    "--max-time",
    "200ms",
    "--order",
    "written",
];

/// (name, end reason) of all measurements of the run.
fn measured(world: &World, selector: &str) -> Vec<(String, String)> {
    let output = world.run(&["show", selector, "--json"]);
    let document = json(&output.stdout);
    let word = |of: &Value| of.as_str().unwrap().to_owned();
    let all = document["measurements"].as_array().unwrap().iter();
    all.map(|of| (word(&of["name"]), word(&of["end"]))).collect()
}

fn names(all: &[(String, String)]) -> BTreeSet<&str> {
    all.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn loads_that_would_write_what_is_there_are_refused_as_a_whole() {
    let world = World::new();
    std::fs::write(world.path("data"), vec![7; 1 << 20]).unwrap();
    let output = world.run(&["sweep", "headroom", "--target", "data", "--max-time", "100ms"]);
    status(&output, 2);
    let error = text(&output.stderr);
    assert!(error.contains("it writes data") && error.contains("--allow-write"), "{error}");
    assert_eq!(std::fs::read(world.path("data")).unwrap(), vec![7; 1 << 20]);
    let output =
        world.run(&["sweep", "headroom", "--target", "new", "--set", "size=1m", "--dry-run"]);
    status(&output, 0);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("up to 58 loads of both, each at most 30 s: measures for at most 30 min"),
        "{shown}"
    );
    assert!(!world.path("new").exists());
}

#[test]
fn presets_are_listed_and_shown_without_a_byte_read() {
    let world = World::new();
    let output = world.run(&["sweep", "--list"]);
    status(&output, 0);
    let list = text(&output.stdout);
    assert!(list.contains("check ") && list.contains("(iodyno check)"), "{list}");
    for preset in ["blocksize", "depth-grid", "limits", "database", "file-layout", "trim-effect"] {
        assert!(list.contains(preset), "{list}");
        let output =
            world.run(&["sweep", preset, "--target", "data", "--set", "size=4m", "--dry-run"]);
        status(&output, 0);
        assert!(text(&output.stdout).contains(" points"), "{}", text(&output.stdout));
    }
    assert!(!world.path("data").exists());
    let output =
        world.run(&["sweep", "depth-grid", "--target", "data", "--set", "size=4m", "--dry-run"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("depth-grid: 196 points, each until"), "{shown}");
    assert!(shown.contains(": measures for at most 3 h 16 min"), "{shown}");
    let first: Vec<&str> = shown.lines().filter(|line| line.contains("rw=")).take(2).collect();
    assert!(first[0].contains("rw=randread iodepth=1 numjobs=1 "), "{first:?}");
    assert!(first[1].contains("rw=randread iodepth=1 numjobs=64 "), "{first:?}");
}

#[test]
fn every_point_of_a_grid_is_measured_once() {
    let world = World::new();
    let output = world.run(&GRID);
    status(&output, 0);
    let table = text(&output.stdout);
    assert!(table.starts_with("DONE  6 points on ") && table.contains(": most "), "{table}");
    assert!(table.contains("rw \\ iodepth") || table.contains("iodepth \\ rw"), "{table}");
    let table = text(&world.run(&["show", "-v", "last"]).stdout);
    let all = measured(&world, "last");
    assert_eq!((all.len(), names(&all).len()), (6, 6));
    for rw in ["randread", "randwrite"] {
        for depth in [1, 2, 4] {
            let name = format!("rw={rw} iodepth={depth}");
            assert!(names(&all).contains(name.as_str()) && table.contains(&name), "{name}");
        }
    }
}

#[test]
fn what_follows_from_a_sweep_is_shown_from_any_directory() {
    let world = World::new();
    status(&world.run(&GRID), 0);
    let knees = |at: &str| {
        let output =
            world.command().args(["show", "last", "--json"]).current_dir(at).output().unwrap();
        let mut document = json(&output.stdout);
        document["outlook"]["knees"].take().as_array().unwrap().len()
    };
    let here = knees(world.path("").to_str().unwrap());
    assert_eq!((here, knees("/")), (2, 2));
}

#[test]
fn a_headroom_that_the_store_has_is_shown_with_what_is_explained() {
    const PLAN: &str = r#"
        format = "iodyno.plan/1"
        name = "small"
        order = "written"
        fresh = true
        p99_bound = "10s"
        headroom = { points = 2 }
        stop = { min_time = "100ms", max_time = "1s", precision_percent = 50 }
        job = { ioengine = "psync", bs = "4k", size = "4m" }

        [[step]]
        name = "write"
        job = { rw = "write" }

        [[step]]
        name = "read"
        job = { rw = "randread", norandommap = 1 }
    "#;
    let world = World::new();
    write(&world, "small.toml", PLAN);
    status(&world.run(&["sweep", "small.toml", "--target", "data"]), 0);
    let all = text(&world.run(&["show", "-v", "last"]).stdout);
    let is_heading = |line: &&str| line.starts_with("NAME ") && line.contains(" P99");
    let mut rows = all.lines().skip_while(|line| !is_heading(line));
    assert!(rows.next().is_some(), "a row for each measurement: {all}");
    assert!(rows.take_while(|row| !row.is_empty()).any(|row| row.contains(" reads/s ")), "{all}");
    let job = ["run", "--name=a", "--rw=read", "--bs=4k", "--filename=data"];
    status(&world.run(&job), 0);
    let explained = text(&world.run(&["explain", "last"]).stdout);
    let line = explained.lines().find(|line| line.contains("(sweep headroom, "));
    assert!(line.is_some_and(|line| line.contains("read p99 ")), "{explained}");
    let all = text(&world.run(&["explain", "-v", "last"]).stdout);
    assert!(all.contains("(sweep headroom, "), "{all}");
    let json = text(&world.run(&["explain", "--json", "last"]).stdout);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let earlier = &document["earlier_headroom"];
    assert!(earlier[0]["target"].is_string() && earlier[0]["run"].is_string(), "{earlier}");
    assert_eq!(earlier.as_array().unwrap().len(), 1);

    // Flushes have a result of their own; no disk keeps this rate. A sweep that was stopped has none.
    let sync = PLAN.replace("points = 2", "points = 2, sync = true")
        + "\n[[step]]\nname = \"sync\"\njob = { rw = \"write\", fdatasync = 1, rate_iops = 10000000 }\n";
    write(&world, "sync.toml", &sync);
    status(&world.run(&["sweep", "sync.toml", "--target", "data"]), 0);
    let shown = text(&world.run(&["show", "last"]).stdout);
    assert!(shown.contains("no load reached its rates") && !shown.contains("due time"), "{shown}");
    write(&world, "many.toml", &PLAN.replace("points = 2", "points = 30"));
    kill_at(&world, &["sweep", "many.toml", "--target", "data"], 1, " reads/s alone");
    status(&world.run(&job), 0);
    let explained = text(&world.run(&["explain", "-v", "last"]).stdout);
    let lines: Vec<&str> =
        explained.lines().filter(|line| line.contains("(sweep headroom")).collect();
    assert_eq!(lines.len(), 2, "{explained}");
    let json = text(&world.run(&["explain", "--json", "last"]).stdout);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let runs = document["earlier_headroom"].as_array().unwrap();
    assert!(runs.iter().any(|one| one["run"] == earlier[0]["run"]), "{runs:?}");
}

#[test]
fn existing_targets_are_only_read() {
    let world = World::new();
    std::fs::write(world.path("data"), vec![7_u8; 1 << 20]).unwrap();
    let output = world.run(&GRID);
    says(&output, 0, "3 that write are skipped");
    let shown = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("SKIP data: 3 points that write, which was not permitted"), "{shown}");
    let document = json(&world.run(&["show", "last", "--json"]).stdout);
    let skipped = &document["skipped"][0];
    assert_eq!((&skipped["target"], &skipped["reason"]["points"]), (&"data".into(), &3.into()));
    let next = format!("iodyno resume {} --allow-write data", document["id"].as_str().unwrap());
    assert!(shown.contains("SKIP data: 3 points") && shown.contains(&next), "{shown}");
    // It is not one that was stopped.
    says(&world.run(&["resume"]), 2, "nothing to resume");
    let told = world.refused(
        &["resume", "last"],
        &["nothing was measured", "3 points that write, which was not permitted", "; next: "],
    );
    assert!(told.contains(&next), "{told}");
    assert!(measured(&world, "last").iter().all(|(name, _)| name.contains("randread")));
    assert!(std::fs::read(world.path("data")).unwrap().iter().all(|byte| *byte == 7));
    let writes = ["sweep", "--target", "data", "--set", "rw=write"];
    says(&world.run(&writes), 2, "--allow-write");
    // What is read after a step that fills or trims is nothing without it.
    let effect = ["sweep", "trim-effect", "--target", "data", "--set", "size=1m", "-q"];
    says(&world.run(&effect), 2, "its step `fill` writes data");
    let dry = world.run(&[&effect[..], &["--dry-run"]].concat());
    assert!(text(&dry.stdout).contains("trim-effect: 4 points"), "{}", text(&dry.stdout));
}

#[test]
fn a_run_that_was_permitted_to_write_is_not_done_without() {
    let world = World::new();
    std::fs::write(world.path("data"), vec![7_u8; 1 << 20]).unwrap();
    let permitted = ["--name", "killed", "--allow-write", "data"];
    kill_at(&world, &[&GRID[..], &permitted].concat(), 1, "IOPS");
    std::fs::write(world.path("data"), vec![7_u8; 1 << 20]).unwrap();
    let before = measured(&world, "killed").len();
    let output = world.run(&["resume"]);
    status(&output, 3);
    let told = text(&output.stderr);
    assert!(
        told.contains(&format!("{} of 6 points of the stored plan are left", 6 - before)),
        "{told}"
    );
    assert!(told.contains("3 that write are skipped"), "{told}");
    let shown = text(&output.stdout);
    assert!(shown.starts_with("STOPPED  3 points"), "{shown}");
    assert!(shown.contains("Next: iodyno resume killed --allow-write data\n"), "{shown}");
    // Elsewhere there is no such run.
    write(&world, "copy.json", &text(&world.run(&["runs", "export", "killed"]).stdout));
    let copy = text(&world.run(&["show", "copy.json"]).stdout);
    assert!(copy.starts_with("STOPPED  3 points") && !copy.contains("Next: "), "{copy}");
    assert!(std::fs::read(world.path("data")).unwrap().iter().all(|byte| *byte == 7));
    // Once only they are left, nothing is done.
    world.refused(&["resume"], &["nothing was measured", "resume killed --allow-write data"]);
    status(&world.run(&["resume", "killed", "--allow-write", "data"]), 0);
    assert_eq!(names(&measured(&world, "killed")).len(), 6);
}

/// Kills a sweep after it has reported `points` points.
fn kill_after(world: &World, points: usize, name: &str) {
    kill_at(world, &[&GRID[..], &["--name", name]].concat(), points, "IOPS");
}

/// Kills a sweep after it has reported `points` lines with this sign.
fn kill_at(world: &World, sweep: &[&str], points: usize, sign: &str) {
    let mut child =
        world.command().args(sweep).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut seen = 0;
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        seen += usize::from(line.unwrap().contains(sign));
        if seen == points {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(seen, points);
}

#[test]
fn a_killed_sweep_goes_on_where_it_was() {
    let world = World::new();
    for points in [1, 3] {
        let name = format!("killed-{points}");
        kill_after(&world, points, &name);
        let before = measured(&world, &name);
        assert!(before.len() >= points, "{before:?}");
        // It may have been writing when killed, which leaves the file in any state.
        let output = world.run(&["resume", &name, "--allow-write", "data"]);
        status(&output, 0);
        let left = format!("{} of 6 points of the stored plan are left", 6 - before.len());
        assert!(text(&output.stderr).contains(&left), "{}", text(&output.stderr));
        let all = measured(&world, &name);
        assert_eq!(all[..before.len()], before, "what was measured stays");
        assert_eq!((all.len(), names(&all).len()), (6, 6));
        // Nothing is left: the run is shown again.
        let output = world.run(&["resume", &name, "--allow-write", "data"]);
        status(&output, 0);
        assert_eq!(measured(&world, &name).len(), 6);
    }
}

#[test]
fn a_file_of_another_size_is_another_study() {
    let world = World::new();
    let file = world.path("data");
    std::fs::write(&file, vec![7_u8; 1 << 20]).unwrap();
    let sweep = ["sweep", "--target", "data", "--set", "rw=randread", "--max-time", "300ms"];
    kill_at(&world, &[&sweep[..], &["--grid", "iodepth=1,2,3", "--name", "s"]].concat(), 1, "IOPS");
    std::fs::write(&file, vec![7_u8; 2 << 20]).unwrap();
    world.refused(&["resume", "s"], &["had 1 MiB when it was measured, and has 2 MiB"]);
    std::fs::remove_file(&file).unwrap();
    world.refused(&["resume", "s"], &["had 1 MiB when it was measured, and is gone"]);
    std::fs::write(&file, vec![7_u8; 1 << 20]).unwrap();
    let output = world.run(&["resume", "s"]);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text(&output.stderr));
}

#[test]
fn a_run_that_lacks_nothing_is_finished() {
    let world = World::new();
    let sweep = [&GRID[..], &["--name", "whole"]].concat();
    let output = world.run(&sweep);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text(&output.stderr));
    let exported = world.run(&["runs", "export", "whole"]);
    let mut document = json(&exported.stdout);
    // Stopped after its last point.
    document["state"] = "interrupted".into();
    write(&world, "stopped.json", &document.to_string());
    let other = world.path("other.sqlite");
    let other = ["--store", other.to_str().unwrap()];
    let there = |words: &[&str]| world.run(&[&other[..], words].concat());
    there(&["import", "stopped.json"]);
    let state = || -> Value {
        let shown = there(&["show", "whole", "--json"]);
        serde_json::from_slice::<Value>(&shown.stdout).unwrap()["state"].clone()
    };
    assert_eq!(state(), "interrupted");
    let output = there(&["resume", "whole", "--allow-write", "data"]);
    assert!(text(&output.stderr).contains(" points are done"), "{}", text(&output.stderr));
    assert_eq!(state(), "done");
}

#[test]
fn a_sweep_goes_on_where_it_began_whatever_was_measured_since() {
    let world = World::new();
    kill_after(&world, 1, "killed");
    let other = ["run", "--name=r", "--rw=read", "--size=64k", "--filename=other"];
    status(&world.run(&other), 0);
    let elsewhere = world.directory("elsewhere");
    std::fs::write(elsewhere.join("data"), vec![1; 1 << 20]).unwrap();
    says(
        &world.command().current_dir(&elsewhere).arg("resume").output().unwrap(),
        2,
        "use the same directory",
    );
    says(&world.run(&["resume"]), 0, "killed: ");
    assert_eq!(names(&measured(&world, "killed")).len(), 6);
}

#[test]
fn plans_and_files_of_bench_fio_are_read() {
    let world = World::new();
    write(
        &world,
        "mine.toml",
        "format = \"iodyno.plan/1\"\nname = \"mine\"\nrepeat = 2\ntargets = [\"data\"]\n\
         [stop]\nmin_time = \"100ms\"\nmax_time = \"200ms\"\n\
         [job]\nsize = \"1m\"\n[grid]\nbs = [\"4k\", 8192]\n\
         [[step]]\nname = \"reads\"\njob = { rw = \"randread\" }\n\
         [[step]]\nname = \"once\"\nuntil = \"done\"\njob = { rw = \"read\", bs = \"64k\" }\n",
    );
    let output = world.run(&["sweep", "mine.toml"]);
    status(&output, 0);
    let all = measured(&world, "last");
    let count = |name: &str| all.iter().filter(|(one, _)| one == name).count();
    assert_eq!((count("reads bs=4k"), count("reads bs=8192"), count("once")), (2, 2, 2), "{all:?}");
    assert!(all.iter().all(|(name, end)| (name == "once") == (end == "done")), "{all:?}");
    write(
        &world,
        "b.ini",
        "[benchfio]\ntarget = data\ntype = file\nmode = randread\niodepth = 1,2\nnumjobs = 1\n\
         size = 1m\nruntime = 1\noutput = x\n",
    );
    let output = world.run(&["sweep", "b.ini", "--max-time", "200ms"]);
    status(&output, 0);
    assert_eq!(measured(&world, "last").len(), 2);
}

#[test]
fn mistakes_are_named() {
    let world = World::new();
    write(&world, "bad.toml", "format = \"iodyno.plan/1\"\nname = \"x\"\n[grid]\niodeth = [1]\n");
    let twice = "format = \"iodyno.plan/1\"\nname = \"x\"\n[[step]]\nname = \"a\"\n[[step]]\nname = \"a\"\n";
    write(&world, "twice.toml", twice);
    let cases: [(&[&str], &str); 12] = [
        (&["sweep", "twice.toml", "--target", "x"], "several points are `a`"),
        (&["sweep", "--target", "x", "--grid", "iodepth=1,1"], "several points are `iodepth=1`"),
        (&["sweep", "blocksize"], "--target"),
        (&["sweep", "blocksiez", "--target", "x"], "blocksize"),
        (&["sweep", "bad.toml", "--target", "x"], "did you mean `iodepth`"),
        (&["sweep", "bad.toml", "--target", "x"], "line 4, column 10"),
        (&["sweep", "--target", "x", "--grid", "iodepth"], "OPTION=VALUE,VALUE..."),
        (&["sweep", "--target", "x", "--set", "rw=raed"], "rw=raed"),
        (&["sweep", "check", "--target", "x"], "iodyno check"),
        (&["sweep", "blocksize", "--target", "nvme99n1"], "iodyno list shows them"),
        (&["sweep", "database", "--target", "."], "name a file in it"),
        (&["resume", "nothing"], "nothing"),
    ];
    for (arguments, words) in cases {
        let output = world.run(arguments);
        status(&output, 2);
        let said = text(&output.stderr);
        assert!(said.contains(words) && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_plan_says_who_makes_the_load_and_a_run_goes_on_with_it() {
    let world = World::new();
    write(
        &world,
        "fio.toml",
        "format = \"iodyno.plan/1\"\nname = \"x\"\ntargets = [\"data\"]\ngenerator = \"fio\"\n\
         [stop]\nmin_time = \"1s\"\nmax_time = \"2s\"\n[job]\nsize = \"1m\"\n[grid]\niodepth = [1, 2]\n",
    );
    let said = |more: &[&str]| {
        let output = world.run(&[&["sweep", "fio.toml", "--dry-run"], more].concat());
        status(&output, 0);
        text(&output.stdout)
    };
    assert!(said(&[]).contains("2 points, 4 s: 2 s each, by fio"), "{}", said(&[]));
    let native = said(&["--generator", "native"]);
    assert!(native.contains("until ± 2 %, at most 2 s"), "{native}");
    status(&world.run(&GRID), 0);
    says(&world.run(&["resume", "last", "--generator", "fio"]), 2, "that it began with");
    status(&world.run(&["resume", "last", "--generator", "native"]), 0);
}

#[test]
fn what_an_adaptive_sweep_does_not_measure_it_predicts_and_says_so() {
    let world = World::new();
    let arguments = [&GRID[..], &["--adaptive", "--p99-bound", "1s", "--precision", "40"]].concat();
    status(&world.run(&arguments), 0);
    let output = world.run(&["show", "last", "--json"]);
    let document = json(&output.stdout);
    let outlook = &document["outlook"];
    let count = |of: &Value| of.as_array().unwrap().len();
    assert_eq!(count(&document["measurements"]) + count(&outlook["predictions"]), 6);
    assert_eq!(count(&outlook["knees"]), 2, "one for each pattern");
    assert_eq!(outlook["knees"][0]["p99_bound_ns"], 1_000_000_000_u64);
    let output = world.run(&["resume", "last"]);
    status(&output, 0);
    let shown = text(&output.stdout);
    assert!(shown.contains("rw=randread data: "), "{shown}");
    // Page and figure agree.
    status(&world.run(&["report", "last", "-o", "page.html"]), 0);
    status(&world.run(&["plot", "last", "--figure", "depth", "-o", "depth.svg"]), 0);
    let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap();
    let (page, figure) = (read("page.html"), read("depth.svg"));
    let (_, embedded) = page.split_once("id=\"document\">").unwrap();
    let embedded: Value =
        serde_json::from_str(embedded.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(&embedded["outlook"], outlook);
    let is_any = count(&outlook["predictions"]) > 0;
    assert_eq!(page.contains("<h3>Predicted, not measured</h3>"), is_any);
    assert_eq!(figure.contains("hollow: predicted, not measured"), is_any);
    let output = world.run(&[&GRID[..], &["--adaptive", "--repeat", "2"]].concat());
    status(&output, 2);
}

#[test]
fn a_copy_of_the_plan_of_check_is_a_plan() {
    let world = World::new();
    let plan = include_str!("../../../plans/check.toml");
    let plan = plan.replace("min_time = \"5s\"", "min_time = \"100ms\"");
    let plan = plan.replace("max_time = \"10s\"", "max_time = \"300ms\"");
    write(&world, "mine.toml", &plan.replace("\"check\"", "\"mine\""));
    for name in ["a", "b"] {
        std::fs::write(world.path(name), vec![7; 1 << 20]).unwrap();
    }
    let of_files = ["sweep", "mine.toml", "--target", "a", "--target", "b"];
    let dry = world.run(&[&of_files[..], &["--dry-run"]].concat());
    let told = text(&dry.stdout);
    assert!(told.contains("6 points") && told.contains("on all at once"), "{told}");
    let output = world.run(&of_files);
    status(&output, 0);
    let all = measured(&world, "last");
    let steps = ["seq-read", "rand-read", "latency"];
    let expected: Vec<&str> = steps.repeat(3);
    assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected);
    let resumed = world.run(&["resume", "last"]);
    let told = text(&resumed.stderr);
    assert!(!resumed.status.success() && told.contains("can be resumed"), "{told}");
}

#[test]
fn a_dry_run_refuses_what_the_run_would() {
    let world = World::new();
    let sweep = ["sweep", "--dry-run", "--target", "new", "--grid", "rw=read", "--set", "size=1m"];
    status(&world.run(&sweep), 0);
    for (option, says) in [
        ("--volume=nan", "--volume"),
        ("--max-time=0", "expected a time above 0"),
        ("--scale=99999999999999999999", "--scale: expected a number above 0"),
    ] {
        world.refused(&[&sweep[..], &[option]].concat(), &[says]);
    }
}
