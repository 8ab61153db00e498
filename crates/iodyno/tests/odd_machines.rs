//! Tests rescue systems, containers and old kernels: as much as possible is done, and the reason
//! for the rest is printed. Most need root (mount namespaces), python3 (system call filters) or a
//! control group.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::{World, printed, status, text, word};

const BINARY: &str = env!("CARGO_BIN_EXE_iodyno");
const FILTERED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist/without_io_uring.py");

/// The shortest possible check of a directory.
const CHECK: &str = "check --busy --time 100ms --quiet";

/// Runs `script` in its own mount namespace; `$I` is the binary.
fn among_own_mounts(world: &World, script: &str) -> Output {
    let mut command = world.with_environment(Command::new("unshare"));
    command.args(["--mount", "--propagation", "private", "sh", "-ec", script]);
    command.env("I", BINARY).env("D", world.directory("data")).output().unwrap()
}

#[test]
#[ignore = "needs root"]
fn without_sys_a_directory_is_measured_and_drives_are_said_to_be_unknown() {
    let world = World::new();
    let script = format!("mount -t tmpfs none /sys; \"$I\" list; \"$I\" {CHECK} \"$D\"");
    let output = among_own_mounts(&world, &script);
    status(&output, 0);
    let said = text(&output.stdout);
    for part in ["/sys is not mounted: the drives", "IOPS: nothing to compare with"] {
        assert!(said.contains(part), "`{part}` is missing in: {said}");
    }
}

#[test]
#[ignore = "needs root"]
fn without_proc_nothing_is_looked_at() {
    let world = World::new();
    std::fs::write(world.directory("data").join("job.fio"), "[t]\nrw=randread\n").unwrap();
    for words in [
        "list",
        "run --name=t --rw=randread --filename=\"$D/file\" --size=1m",
        "run \"$D/job.fio\"",
    ] {
        let output =
            among_own_mounts(&world, &format!("mount -t tmpfs none /proc; \"$I\" {words}"));
        status(&output, 2);
        let said = text(&output.stderr);
        for part in ["/proc is not mounted", "mount -t proc"] {
            assert!(said.contains(part), "{words}: `{part}` is missing in: {said}");
        }
        assert!(output.stdout.is_empty(), "{words}: {}", text(&output.stdout));
    }
}

#[test]
#[ignore = "needs root"]
fn without_device_nodes_it_says_what_to_make_visible() {
    let world = World::new();
    let script = format!("mount -t tmpfs none /dev; \"$I\" {CHECK} \"$D\"");
    let output = among_own_mounts(&world, &script);
    status(&output, 4);
    let said = text(&output.stdout);
    assert!(said.contains("/dev/urandom") && said.contains("mount --bind /dev"), "{said}");
}

#[test]
#[ignore = "needs root"]
fn on_a_read_only_root_results_are_kept_until_the_next_boot() {
    let world = World::new();
    // Keeps the workspace writable if it is on that file system.
    let script = format!(
        "unset IODYNO_STORE; mount --bind \"$D\" \"$D\"; mount -t tmpfs none /run; \
         mount -t tmpfs -o ro none /var/lib; mount -o remount,bind,ro /; \
         \"$I\" {CHECK} --run-name kept \"$D\"; \"$I\" show kept; \"$I\" runs"
    );
    let output = among_own_mounts(&world, &script.replace("--run-name", "--name"));
    status(&output, 0);
    let said = text(&output.stderr);
    let kept = "is read-only: results go to /run/iodyno/store.sqlite until the next boot";
    assert!(said.contains("/var/lib/iodyno/store.sqlite") && said.contains(kept), "{said}");
    assert!(text(&output.stdout).contains("kept"), "{}", text(&output.stdout));
    assert!(!Path::new("/run/iodyno/store.sqlite").exists());
}

#[test]
fn where_io_uring_is_forbidden_or_missing_another_engine_measures_and_says_why() {
    let world = World::new();
    let directory = world.directory("data");
    let kinds =
        [("--forbidden", "os error 1"), ("--early", "os error 22"), ("--old", "os error 38")];
    for (kind, asked) in kinds {
        let run = |arguments: &[&str]| {
            let mut command = world.with_environment(Command::new("python3"));
            command.args([FILTERED, kind, BINARY]).args(arguments).output().unwrap()
        };
        let words: Vec<&str> =
            CHECK.split(' ').chain(["--json", directory.to_str().unwrap()]).collect();
        let document = printed(&run(&words));
        let measured = document["measurements"].as_array().unwrap();
        assert!(!measured.is_empty(), "{kind}: {document:#}");
        for of in measured {
            assert_ne!(of["workload"]["ioengine"], "io_uring", "{kind}");
            let why = of["conditions"]["engine_reason"].as_str().unwrap_or_default();
            assert!(why.contains("io_uring"), "{kind}: {:#}", of["conditions"]);
        }
        status(&run(&["list"]), 0);
        let file = world.path("file");
        std::fs::write(&file, vec![7; 1 << 20]).unwrap();
        let job = format!("--filename={}", file.display());
        let by_name = ["run", "--name=t", "--rw=randread", "--ioengine=io_uring", &job];
        let refused = run(&by_name);
        status(&refused, 3);
        let said = text(&refused.stdout) + &text(&refused.stderr);
        let one_line = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["io_uring is absent, switched off", "ioengine=auto takes what there is", asked]
        {
            assert!(one_line.contains(part), "{kind}: `{part}` is missing in: {said}");
        }
    }
}

#[test]
fn without_a_locale_screens_are_ascii() {
    let world = World::new();
    let directory = world.directory("data");
    let run = |arguments: &[&str], locale: Option<&str>| {
        let mut command = world.command();
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            command.env_remove(name);
        }
        command.envs(locale.map(|locale| ("LC_ALL", locale)));
        let output = command.args(arguments).output().unwrap();
        status(&output, 0);
        output.stdout
    };
    let check: Vec<&str> = CHECK.split(' ').chain([directory.to_str().unwrap()]).collect();
    for locale in [Some("C"), Some("POSIX"), None] {
        for arguments in [&["list"][..], &["list", "--tree"], &check] {
            let said = run(arguments, locale);
            assert!(said.is_ascii(), "{locale:?} {arguments:?}: {}", text(&said));
        }
    }
}

/// A control group of version 1, removed at the end.
struct Group(String);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// The lab covers version 2 groups; this one runs where a machine has version 1 (RHEL 8).
#[test]
#[ignore = "needs root"]
fn a_container_of_a_fifth_of_a_cpu_is_said_to_be_throttled() {
    let hierarchy = "/sys/fs/cgroup/cpu";
    if !Path::new(hierarchy).join("cpu.shares").exists() {
        return;
    }
    let world = World::new();
    let group = Group(format!("{hierarchy}/iodyno-test-{}", std::process::id()));
    std::fs::create_dir(&group.0).unwrap();
    for (name, value) in [("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "4000")] {
        std::fs::write(Path::new(&group.0).join(name), value).unwrap();
    }
    std::fs::write(world.path("file"), vec![7; 1 << 20]).unwrap();
    let script = format!(
        "echo $$ >{}/tasks; exec {} run --name=t --rw=randread --ioengine=psync --bs=4k \
         --filename=file --time_based --runtime=2",
        group.0,
        word(Path::new(BINARY))
    );
    let mut command = world.with_environment(Command::new("sh"));
    command.args(["-ec", &script]).env("COLUMNS", "300");
    let output = command.output().unwrap();
    status(&output, 0);
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let name = group.0.rsplit('/').next().unwrap();
    for part in ["cgroup-limit", "cpu.cfs_quota_us", &format!("control group cpu:/{name}")] {
        assert!(said.contains(part), "`{part}` is missing in: {said}");
    }
}
