//! Tests common user mistakes: each gives a clear message and no panic.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Output, Stdio};

use crate::common::{World, json, says, status, text};

#[test]
fn a_target_that_is_not_there() {
    let world = World::new();
    world.refused(&["check", "/dev/nvme77n1"], &["/dev/nvme77n1"]);
    world.refused(&["check", "nvme77"], &["nvme77"]);
    world.refused(&["check", "/nowhere/at/all"], &["/nowhere/at/all"]);
    world.refused(&["check", "/dev/null"], &["/dev/null"]);
}

#[test]
fn a_target_given_twice_also_under_another_name() {
    let world = World::new();
    let directory = world.directory("data");
    let link = world.path("link");
    std::os::unix::fs::symlink(&directory, &link).unwrap();
    let (a, b) = (directory.to_str().unwrap(), link.to_str().unwrap());
    world.refused(&["check", a, b], &["same target", "link"]);
    world.refused(&["check", a, a], &["is named twice"]);
}

#[test]
fn a_file_smaller_than_a_block_is_no_failure_of_its_disk() {
    let world = World::new();
    let file = world.sparse("small", 4096);
    let output = world.run(&["check", file.to_str().unwrap(), "--busy", "--time", "200ms"]);
    status(&output, 4);
    let shown = text(&output.stderr);
    assert!(shown.contains("too small: 4096 bytes"), "{shown}");
    assert!(!text(&output.stdout).contains("FAIL"), "{}", text(&output.stdout));
}

#[test]
fn json_is_never_ignored() {
    let world = World::new();
    let page = world.path("page.html");
    for command in [
        &["sweep", "--list"][..],
        &["sweep", "database", "--target", "data", "--dry-run"],
        &["prepare", "nvme77", "--dry-run"],
        &["layouts", "nvme77", "--dry-run"],
        &["report", "-o", page.to_str().unwrap()],
        &["plot", "-o", "plot.svg"],
        &["runs", "fleet"],
        &["runs", "prune", "--keep", "1"],
        &["clean-up"],
        &["completions", "bash"],
    ] {
        world.refused(&[command, &["--json"]].concat(), &[command[0], "has no JSON"]);
    }
    assert!(!page.exists());
}

#[test]
fn a_job_whose_name_would_move_the_cursor() {
    let world = World::new();
    let file = world.path("data");
    let filename = format!("--filename={}", file.display());
    let job = ["run", "--name=a\x1b[31mb", "--rw=read", "--size=64k", &filename];
    let output = world.run(&job);
    status(&output, 0);
    for told in [&output.stdout, &output.stderr] {
        let told = text(told);
        assert!(told.contains("a[31mb") && !told.contains('\x1b'), "{told:?}");
    }
}

#[test]
fn endless_job_files_and_plans_are_refused() {
    let world = World::new();
    for device in ["/dev/zero", "/dev/null", "/dev/full", "/dev/tty", "/dev/ptmx"] {
        for command in [&["run"][..], &["sweep", "--target", "data"], &["check", "--expect"]] {
            world.refused(&[command, &[device]].concat(), &[device]);
        }
        world.refused(&["import", device], &[device]);
        world.refused(&["check", device], &[device]);
        if ["/dev/zero", "/dev/null"].contains(&device) {
            // Allowed for jobs: see engines.rs.
            continue;
        }
        let target = format!("--filename={device}");
        let output = world.run(&["run", "--name=j", "--rw=read", "--size=4k", &target]);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{}", text(&output.stderr));
    }
    world.refused(&["run", "/dev/zero"], &["--filename=/dev/zero"]);
    let endless = std::fs::File::open("/dev/zero").unwrap();
    says(
        &world.command().args(["run", "-"]).stdin(endless).output().unwrap(),
        2,
        "too long: more than 16777216 bytes",
    );
    let long = world.sparse("long.fio", 1 << 40);
    world.refused(&["run", long.to_str().unwrap()], &["too long: more than"]);
    world.refused(&["sweep", long.to_str().unwrap(), "--target", "data"], &["too long: more than"]);
}

#[test]
fn a_dry_run_refuses_a_file_that_is_too_short() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    let sweep = ["sweep", "--dry-run", "--target", "data", "--set", "rw=read", "--set"];
    status(&world.run(&[&sweep[..], &["size=1m"]].concat()), 0);
    let longer = [&sweep[..], &["size=2m"]].concat();
    world.refused(&longer, &["holds 1 MiB, and a job reads 2 MiB"]);
}

#[test]
fn a_grid_with_too_many_points_is_refused() {
    let world = World::new();
    let sweep = ["sweep", "--target", "data", "--set", "rw=randread", "--dry-run"];
    world.refused(
        &[&sweep[..], &["--repeat", "10000000"]].concat(),
        &["10000000 points", "4096 at most"],
    );
    let values: Vec<String> = (1..=1000).map(|n| n.to_string()).collect();
    let axis = |option: &str| format!("{option}={}", values.join(","));
    let axes = ["iodepth", "randseed", "size", "numjobs", "thinktime", "rate_iops", "loops"];
    let axes: Vec<String> = axes.iter().map(|option| axis(option)).collect();
    let words = axes.iter().flat_map(|axis| ["--grid", axis.as_str()]);
    let words: Vec<&str> = sweep.into_iter().chain(words).collect();
    world.refused(&words, &["18446744073709551615 points", "4096 at most"]);
    world.refused(&[&words[..], &["--for", "1h"]].concat(), &["4096 at most"]);
}

#[test]
fn memory_is_not_storage() {
    let world = World::new();
    world.refused(&["check", "/dev/shm"], &["/dev/shm", "memory"]);
}

#[test]
fn an_empty_file_has_nothing_to_read() {
    let world = World::new();
    let file = world.sparse("empty", 0);
    let output = world.run(&["check", file.to_str().unwrap(), "--time", "200ms"]);
    assert!(matches!(output.status.code(), Some(2..=4)), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"));
}

#[test]
fn a_store_that_cannot_be_used() {
    let world = World::new();
    let file = world.sparse("drive", 1 << 30);
    let check = |store: &std::path::Path| {
        world
            .command()
            .env("IODYNO_STORE", store)
            .args(["check", file.to_str().unwrap(), "--generator", "simulated"])
            .output()
            .unwrap()
    };
    let garbage = world.path("garbage.sqlite");
    std::fs::write(&garbage, "this is not a database, and long enough to be sure of it".repeat(50))
        .unwrap();
    let kept = std::fs::read(&garbage).unwrap();
    // The verdict is given all the same, and the results are kept in a file; not in the store.
    says(&check(&garbage), 4, "garbage.sqlite is not an iodyno store");
    // A plain file in place of a folder.
    let output = check(&world.path("garbage.sqlite").join("store.sqlite"));
    says(&output, 4, "next: iodyno import iodyno-");
    assert_eq!(std::fs::read(&garbage).unwrap(), kept);
    let missing = world.command().env("IODYNO_STORE", world.path("none")).arg("show").output();
    status(&missing.unwrap(), 2);
}

#[test]
fn paths_need_not_be_utf8() {
    let world = World::new();
    let store = world.path("").join(OsStr::from_bytes(b"s\xff.sqlite"));
    let output =
        world.command().arg("--store").arg(&store).args(["check", "--no-load"]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0..=4)), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
    assert!(store.is_file());
    // fio's options are text.
    let name = OsStr::from_bytes(b"--filename=d\xff");
    for words in [&["fio", "--name=t"][..], &["run", "--name=t"]] {
        let refused = world.command().args(words).arg(name).output().unwrap();
        says(&refused, 2, "--filename=d\u{fffd} is not UTF-8: rename it");
    }
    let mut own = world.command();
    own.args(["run", "--store"]).arg(&store).args(["--name=t", "--filename=data", "--size=64k"]);
    world.sparse("data", 1 << 20);
    status(&own.output().unwrap(), 0);
}

#[test]
fn a_broken_data_sheet_names_file_and_line() {
    let world = World::new();
    let sheet = world.path("mine.toml");
    std::fs::write(&sheet, "[[drive]]\nvendor = \"X\"\nmodel = 5\n").unwrap();
    let file = world.sparse("drive", 1 << 30);
    world.refused(
        &["check", file.to_str().unwrap(), "--datasheet", sheet.to_str().unwrap()],
        &["mine.toml", "3"],
    );
}

#[test]
fn options_that_make_no_sense() {
    let world = World::new();
    world.refused(&["check", "--budget", "soon"], &["soon"]);
    world.refused(&["check", "--time", "1s", "--max-time", "2s"], &["--max-time"]);
    world.refused(&["list", "--columns", "name,serail"], &["serail", "serial"]);
    world.refused(&["show", "nothing-of-that-name"], &[]);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let world = World::new();
    let mut child = world
        .command()
        .args(["list", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(message, "");
}

#[test]
fn messages_wrap_at_40_columns() {
    let world = World::new();
    let file = world.sparse("drive", 1 << 30);
    let output = world
        .command()
        .env("COLUMNS", "40")
        .args(["check", file.to_str().unwrap(), "--generator", "simulated"])
        .output()
        .unwrap();
    for line in text(&output.stdout).lines() {
        // Paths are not wrapped, so that they can be copied.
        let wide = line.chars().count() > 40 && !line.contains('/');
        assert!(!wide, "{line}");
    }
}

/// The binary as root without these capabilities, or as the current user: others may not have
/// access to this folder.
pub(crate) fn without(world: &World, capabilities: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("prlimit");
    command.args(["--memlock=16384:16384", "setpriv"]);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.arg(format!("--bounding-set={capabilities}"));
        command.arg(format!("--inh-caps={capabilities}"));
    } else {
        command.arg("--no-new-privs");
    }
    command.arg("--").arg(env!("CARGO_BIN_EXE_iodyno")).args(arguments);
    world.with_environment(command).output().unwrap()
}

#[test]
fn a_directory_that_may_not_be_written() {
    let world = World::new();
    let directory = world.directory("closed");
    std::fs::set_permissions(&directory, Permissions::from_mode(0o555)).unwrap();
    let arguments = ["check", directory.to_str().unwrap(), "--busy", "--time", "200ms"];
    let output = without(&world, "-dac_override,-dac_read_search", &arguments);
    std::fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
    status(&output, 4);
    let said = text(&output.stdout);
    let next = if rustix::process::geteuid().is_root() { "to root too" } else { "sudo " };
    assert!(said.contains("no permission") && said.contains(next), "{said}");
}

#[test]
fn too_little_lockable_memory_degrades_and_says_so() {
    let world = World::new();
    let directory = world.directory("data");
    let arguments = ["check", directory.to_str().unwrap(), "--busy", "--time", "200ms", "--json"];
    let output = without(&world, "-ipc_lock", &arguments);
    let document = json(&output.stdout);
    let conditions = &document["measurements"][0]["conditions"];
    assert_eq!(conditions["registered_buffers"], false, "{conditions:#}");
    let told = conditions["shortfalls"].to_string();
    assert!(told.contains("RLIMIT_MEMLOCK"), "{told}");
}
