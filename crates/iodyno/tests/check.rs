//! Tests `check` end to end, on simulated drives and on real files.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::common::{World, json, printed, status, text, validate, worker_of};

#[test]
fn a_simulated_drive_is_checked_stored_and_shown_again() {
    let world = World::new();
    let file = world.sparse("drive", 1 << 30);
    let file = file.to_str().unwrap();
    let checked = world.run(&["check", file, "--generator", "simulated", "--name", "first"]);
    // Without claims and peers the rates are not judged, which is no failure.
    status(&checked, 0);
    let out = text(&checked.stdout);
    for word in ["UNJUDGED", "3204 MB/s", "IOPS, p99 ", "nothing to compare with", "show -v first"]
    {
        assert!(out.contains(word), "{word} is missing in\n{out}");
    }
    assert!(out.lines().count() <= 5, "{out}");
    let verbose = text(&world.run(&["show", "first", "-v"]).stdout);
    for word in ["sequential read", "random read", "latency", "UNJUDGED", "MB/s", "MiB/s"] {
        assert!(verbose.contains(word), "{word} is missing in\n{verbose}");
    }

    let shown = world.run(&["show", "first"]);
    status(&shown, 0);
    assert_eq!(text(&shown.stdout), out, "shown again it says the same");

    let document = world.run(&["show", "last", "--json"]);
    let document = json(&document.stdout);
    validate(&document, "iodyno.run.2");
    assert_eq!(document["schema"], "iodyno.run/2");
    let bandwidth = document["measurements"][0]["read"]["bandwidth"]["value"].as_f64().unwrap();
    // Rate of the simulated drive: 3.2 GB/s.
    assert!((bandwidth / 3.2e9 - 1.0).abs() < 0.02, "{bandwidth}");

    let runs = json(&world.run(&["runs", "--json"]).stdout);
    assert_eq!(runs["runs"][0]["name"], "first");
    status(&world.run(&["runs", "rm", "first", "last"]), 0);
    let runs = json(&world.run(&["runs", "--json"]).stdout);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 0);
}

#[test]
fn the_quick_plan_reads_a_single_target() {
    let world = World::new();
    let file = world.sparse("drive", 1 << 30);
    let check = ["check", file.to_str().unwrap(), "--plan", "quick"];
    let output = world.run(&[&check[..], &["--generator", "simulated", "--json"]].concat());
    let document = json(&output.stdout);
    assert_eq!(document["measurements"][0]["name"], "latency", "{document:#}");
    // Its only measurement has nothing to be compared with.
    assert_eq!(document["verdict"], "UNJUDGED");
    let required = [&check[..], &["--generator", "simulated", "--require-verdict"]].concat();
    status(&world.run(&required), 4);
}

#[test]
fn a_verdict_that_is_required_or_a_target_that_was_named_is_no_success() {
    let world = World::new();
    let file = world.sparse("drive", 1 << 30);
    let file = file.to_str().unwrap();
    let check = ["check", file, "--generator", "simulated", "-q"];
    let required = world.run(&[&check[..], &["--require-verdict"]].concat());
    status(&required, 4);
    assert!(text(&required.stdout).lines().last().unwrap().starts_with("Exit status 4: "));
    let long = world.run(&[&check[..], &["-v"]].concat());
    status(&long, 0);
    assert!(text(&long.stdout).contains("sequential read"), "{}", text(&long.stdout));
    // `--columns` selects from the full table of drives.
    let columns = world.run(&["show", "--columns", "name,lba"]);
    assert!(text(&columns.stdout).contains("NAME  LBA"), "{}", text(&columns.stdout));
}

#[test]
fn the_screen_fits_every_width_and_every_locale() {
    let world = World::new();
    let (a, b) = (world.sparse("a", 1 << 30), world.sparse("b", 1 << 30));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    status(&world.run(&["check", a, b, "--generator", "simulated", "-q"]), 0);
    for width in ["60", "80", "100", "160"] {
        for (locale, color) in [("C", "never"), ("C.UTF-8", "never"), ("C.UTF-8", "always")] {
            let shown = world
                .command()
                .args(["show", "--color", color])
                .env("COLUMNS", width)
                .env("LC_ALL", locale)
                .output()
                .unwrap();
            status(&shown, 0);
            let out = text(&shown.stdout);
            assert!(locale != "C" || out.is_ascii(), "{out}");
            assert_eq!(out.contains('\x1b'), color == "always", "{out}");
            let is_short = |line: &str| line.chars().count() <= width.parse().unwrap();
            assert!(color == "always" || out.lines().all(is_short), "{width}:\n{out}");
            assert!(out.contains("2 targets: nothing to compare with"), "{out}");
            assert!(out.contains("2 at once"), "{out}");
        }
    }
}

#[test]
fn several_targets_are_measured_alone_and_then_all_at_once() {
    let world = World::new();
    let (a, b) = (world.sparse("a", 1 << 30), world.sparse("b", 1 << 30));
    let document = printed(&world.run(&[
        "check",
        a.to_str().unwrap(),
        b.to_str().unwrap(),
        "--generator",
        "simulated",
        "--json",
    ]));
    validate(&document, "iodyno.run.2");
    let measurements = document["measurements"].as_array().unwrap();
    assert_eq!(measurements.len(), 9);
    let together: Vec<_> =
        measurements.iter().filter(|m| m["targets"].as_array().unwrap().len() == 2).collect();
    assert_eq!(together.len(), 3);
    let sum = together[0]["read"]["bandwidth"]["value"].as_f64().unwrap();
    assert!((sum / 6.4e9 - 1.0).abs() < 0.02, "{sum}");
    assert_eq!(together[0]["parts"].as_array().unwrap().len(), 2);
}

#[test]
fn a_real_directory_is_checked_and_left_as_it_was() {
    let world = World::new();
    let directory = world.directory("data");
    let checked =
        world.run(&["check", directory.to_str().unwrap(), "--busy", "--time", "300ms", "--json"]);
    let document = json(&checked.stdout);
    validate(&document, "iodyno.run.2");
    // Whatever the disk, it cannot fail without a claim.
    assert!(matches!(checked.status.code(), Some(0 | 4)), "{document:#}");
    assert_eq!(document["measurements"].as_array().unwrap().len(), 3, "{document:#}");
    for measurement in document["measurements"].as_array().unwrap() {
        let read = &measurement["read"];
        assert!(read["ios"].as_u64().unwrap() > 0, "{measurement:#}");
        let bs: u64 = measurement["workload"]["bs"].as_str().unwrap().parse().unwrap();
        assert_eq!(read["bytes"].as_u64().unwrap(), bs * read["ios"].as_u64().unwrap());
    }
    assert!(world.files("data").is_empty());
}

/// Starts a check of `data` and waits until it measures.
fn started(world: &World) -> (std::process::Child, BufReader<std::process::ChildStderr>) {
    let directory = world.directory("data");
    let mut child = world
        .command()
        // Other tests use the same disk at the same time.
        .args(["check", directory.to_str().unwrap(), "--busy", "--time", "2s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("seq-read") {
        line.clear();
        assert!(notes.read_line(&mut line).unwrap() > 0, "it ended before it measured");
    }
    (child, notes)
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_leaves_nothing_behind() {
    let world = World::new();
    let (child, mut notes) = started(&world);
    send(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    let mut rest = String::new();
    notes.read_to_string(&mut rest).unwrap();
    assert_eq!(output.status.code(), Some(3), "{}{rest}", text(&output.stdout));
    assert!(world.files("data").is_empty());
    let document = json(&world.run(&["show", "last", "--json"]).stdout);
    assert_eq!(document["measurements"][0]["name"], "seq-read");
}

#[test]
fn after_a_kill_clean_up_removes_what_was_left() {
    let world = World::new();
    let (mut child, mut notes) = started(&world);
    child.kill().unwrap();
    child.wait().unwrap();
    // The supervisor was killed: the measuring process has ended once the pipe is closed.
    notes.read_to_string(&mut String::new()).unwrap();
    let cleaned = world.run(&["clean-up"]);
    status(&cleaned, 0);
    assert!(world.files("data").is_empty());
    let again = world.run(&["clean-up"]);
    status(&again, 0);
    assert_eq!(text(&again.stdout), "No leftovers found.\n");
    let document = json(&world.run(&["show", "last", "--json"]).stdout);
    assert_eq!(document["measurements"][0]["name"], "seq-read", "committed before the kill");
}

/// As the kernel does where memory is short.
#[test]
fn a_kill_of_the_worker_alone_names_what_undoes_its_changes() {
    let world = World::new();
    let (mut child, mut notes) = started(&world);
    send(worker_of(child.id()), "KILL");
    let ended = child.wait().unwrap();
    let mut said = String::new();
    notes.read_to_string(&mut said).unwrap();
    assert_eq!(ended.signal(), Some(9), "{said}");
    let told = "killed by signal 9 before it undid its changes; next: iodyno clean-up";
    assert!(said.lines().any(|line| line.ends_with(told)), "{said}");
    status(&world.run(&["clean-up"]), 0);
    assert!(world.files("data").is_empty());

    // Nothing is left to undo.
    let file = world.sparse("file", 1 << 20).display().to_string();
    let words = [&format!("--filename={file}"), "--name=a", "--time_based", "--runtime=1h"];
    let mut command = world.command();
    command.arg("run").args(words).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    send(worker_of(child.id()), "KILL");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(9));
    assert!(!text(&output.stderr).contains("clean-up"), "{}", text(&output.stderr));
}

fn send(pid: u32, signal: &str) {
    let sent = std::process::Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn the_command_that_reads_a_captured_machine_can_be_pasted() {
    let world = World::new();
    let capture = world.path("my machine.json");
    let captured = world.run(&["capture", capture.to_str().unwrap()]);
    status(&captured, 0);
    let quoted = format!("`iodyno --sysroot '{}' list`", capture.display());
    assert!(text(&captured.stderr).contains(&quoted), "{}", text(&captured.stderr));
}

#[test]
fn a_captured_machine_is_read_like_a_live_one() {
    let world = World::new();
    let capture = world.path("machine.json");
    let capture = capture.to_str().unwrap();
    status(&world.run(&["capture", capture, "--mask-serials"]), 0);
    let live = json(&world.run(&["list", "--json"]).stdout);
    let read = json(&world.run(&["list", "--json", "--sysroot", capture]).stdout);
    validate(&read, "iodyno.list.1");
    let tree = json(&world.run(&["list", "--tree", "--json", "--sysroot", capture]).stdout);
    validate(&tree, "iodyno.tree.1");
    let drawn = world.run(&["list", "--tree", "--sysroot", capture]);
    status(&drawn, 0);
    assert_eq!(text(&drawn.stdout).lines().next(), tree["tree"]["name"].as_str());
    assert_eq!(read["host"]["kernel"], live["host"]["kernel"]);
    assert_eq!(read["drives"].as_array().unwrap().len(), live["drives"].as_array().unwrap().len());
    // Another machine's drives cannot be measured, only inspected.
    status(&world.run(&["check", "--sysroot", capture]), 2);
    let checked = world.run(&["check", "--no-load", "--json", "--sysroot", capture]);
    validate(&json(&checked.stdout), "iodyno.run.2");
}

/// The four drives of the laboratory, the last one with this `state` and `sectors`.
fn with_last_drive(world: &World, state: &str, sectors: &str) -> String {
    let captured =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/fixtures/links.json").to_owned();
    let mut machine = json(&std::fs::read(captured).unwrap());
    let nvme3 = "/sys/devices/pci0000:00/0000:00:03.0/0000:06:00.0/nvme/nvme3";
    machine[format!("{nvme3}/state")]["text"] = format!("{state}\n").into();
    machine[format!("{nvme3}/nvme3n1/size")]["text"] = format!("{sectors}\n").into();
    let path = world.path(&format!("{state}-{sectors}.json"));
    std::fs::write(&path, machine.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_drive_that_cannot_be_used_fails_a_check_that_names_none() {
    let world = World::new();
    let expected = world.path("expect.toml");
    std::fs::write(&expected, "drives = 4").unwrap();
    let expected = expected.to_str().unwrap();
    // A failed reset leaves the namespace without blocks (Linux 6.12); a lost fabric connection
    // leaves it as it was.
    for (state, sectors, subject) in
        [("dead", "0", "nvme3"), ("connecting", "4194304", "nvme3"), ("live", "0", "nvme3n1")]
    {
        let machine = with_last_drive(&world, state, sectors);
        let check = |words: &[&str]| {
            let mut all = vec!["check", "--no-load", "--sysroot", &machine, "--json"];
            all.extend(words);
            world.run(&all)
        };
        let found = |output: &std::process::Output| {
            let document = json(&output.stdout);
            let findings = document["findings"].as_array().unwrap();
            let is_its = |of: &&serde_json::Value| of["rule"] == "drive-dead";
            let found = findings.iter().find(is_its).unwrap().clone();
            assert_eq!(found["subjects"][0], subject, "{state}");
            found["severity"].clone()
        };
        for words in [&[][..], &["--quiet"], &["--expect", expected]] {
            let checked = check(words);
            status(&checked, 1);
            assert_eq!(found(&checked), "FAIL", "{state} {words:?}");
            assert_eq!(json(&checked.stdout)["scope"], "machine");
            // The finding is stored with the run.
            status(&world.run(&["show", "last"]), 1);
        }
        let named = check(&["nvme0n1"]);
        assert_eq!(found(&named), "INFO", "{state}");
        assert_eq!(json(&named.stdout)["scope"], "targets");
        // `--expect` always concerns all drives.
        let named = check(&["nvme0n1", "--expect", expected]);
        status(&named, 1);
    }
}

#[test]
fn a_budget_that_cannot_be_kept_is_announced() {
    let world = World::new();
    world.sparse("a", 1 << 20);
    world.sparse("b", 1 << 20);
    let words =
        ["check", "--generator", "simulated", "--plan", "check", "--budget", "2s", "a", "b"];
    let said = text(&world.run(&words).stderr);
    assert!(said.contains("--budget 2 s is not enough"), "{said}");
}
