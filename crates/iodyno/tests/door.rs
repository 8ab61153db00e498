//! Tests that a file system on a device stays intact, whatever path or link leads to it.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{Loop, World, says, status, text, tool};

const SIZE: u64 = 8 << 20;

/// A job that only reads a file of the world.
const JOB: [&str; 5] =
    ["--name=j", "--filename=data", "--rw=randread", "--size=1m", "--io_size=64k"];

/// A world with a file to read, a stored run, and a file system on a loop device.
fn prepared(world: &World) -> Loop<'_> {
    world.sparse("data", 1 << 20);
    status(&run(world, "--run-name=kept --name=j --filename=data --rw=randread --size=1m"), 0);
    let disk = Loop::new(world, "image", SIZE);
    tool("mkfs.ext4", &["-q", "-F", &disk.device]);
    disk
}

/// Runs `run` with these words in the world's folder.
fn run(world: &World, words: &str) -> std::process::Output {
    let words = words.split_ascii_whitespace();
    world.command().arg("run").args(words).output().unwrap()
}

/// Flushed content of the device, from the file behind it.
fn flushed(disk: &Loop<'_>) -> Vec<u8> {
    tool("blockdev", &["--flushbufs", &disk.device]);
    std::fs::read(disk.world.path("image")).unwrap()
}

/// Asserts that the command is refused with exit status 2 and a message with `says`, and that the
/// device is unchanged.
#[track_caller]
fn refused(disk: &Loop<'_>, words: &[&str], says: &str) {
    let before = flushed(disk);
    let output = disk.world.command().args(words).output().unwrap();
    status(&output, 2);
    let said = text(&output.stderr);
    assert!(said.contains(says), "{words:?}: {said}");
    assert!(flushed(disk) == before, "{words:?} wrote to the device");
}

#[test]
#[ignore = "needs root"]
fn no_command_takes_a_device_for_a_store() {
    let world = World::new();
    let disk = prepared(&world);
    let link = world.path("link.sqlite");
    symlink(&disk.device, &link).unwrap();
    let target = world.sparse("target", 64 << 20);
    let target = target.to_str().unwrap();
    let report = world.path("report.html");
    let fio = world.path("fio.json");
    std::fs::write(&fio, "{\"fio version\": \"fio-3.36\", \"jobs\": []}").unwrap();
    let commands: [&[&str]; 16] = [
        &["runs"],
        &["runs", "rm", "last"],
        &["runs", "prune", "--keep", "1"],
        &["runs", "export", "last"],
        &["show", "last"],
        &["show"],
        &["list", "--history"],
        &["clean-up"],
        &["resume"],
        &["check", target, "--busy", "--time", "200ms"],
        &["compare", "last", "last"],
        &["plot", "last", "-o", "x.svg"],
        &["report", "last", "-o", report.to_str().unwrap()],
        &["sweep", "--target", target, "--set", "bs=4k", "--set", "rw=randread"],
        &["explain", "last"],
        &["run", "--name=j", "--filename=data", "--rw=randread", "--size=1m"],
    ];
    for words in commands {
        for store in [disk.device.as_str(), link.to_str().unwrap()] {
            let first = [&["--store", store], words].concat();
            refused(&disk, &first, "is a block device");
        }
    }
    let before = flushed(&disk);
    let output = world.command().env("IODYNO_STORE", &disk.device).arg("runs").output().unwrap();
    status(&output, 2);
    assert!(flushed(&disk) == before);
    refused(&disk, &["--store", ":memory:", "runs"], "the store must be a file");
    let path = world.path("fifo");
    tool("mkfifo", &[path.to_str().unwrap()]);
    refused(&disk, &["--store", path.to_str().unwrap(), "runs"], "is a pipe");
}

#[test]
#[ignore = "needs root"]
fn no_output_goes_to_a_device() {
    let world = World::new();
    let disk = prepared(&world);
    let device = disk.device.as_str();
    let link = |name: &str| {
        symlink(device, world.path(name)).unwrap();
        name.to_owned()
    };
    let with_job = |more: &[&str]| [&["run"], &JOB[..], more].concat().join(" ");
    let job = |more: &[&str], says: &str| {
        let words = with_job(more);
        refused(&disk, &words.split(' ').collect::<Vec<_>>(), says);
    };
    let is_device = "is a block device";
    let output = format!("--output={device}");
    job(&[&output], is_device);
    job(&[&output, "--output-format=json"], is_device);
    job(&[&output, "--output-format=terse", "--status-interval=100ms"], is_device);
    job(&[&output, "--generator", "fio"], is_device);
    job(&[&format!("--output={}", link("linked.txt"))], is_device);
    for page in
        [&["report", "kept", "-o", device][..], &["report", "kept", "--force", "-o", device]]
    {
        refused(&disk, page, is_device);
    }
    refused(&disk, &["plot", "kept", "-o", &link("picture.svg")], is_device);
    refused(&disk, &["plot", "kept", "-o", &link("picture.png")], is_device);
    for format in ["csv", "json", "parquet"] {
        refused(&disk, &["runs", "export", "kept", "--format", format, "-o", device], is_device);
    }
    refused(&disk, &["capture", device], "exists: use a new name");
}

#[test]
#[ignore = "needs root"]
fn names_that_we_make_up_follow_no_link() {
    let world = World::new();
    let disk = prepared(&world);
    let device = disk.device.as_str();
    let job = |more: &str| {
        let words = format!("run {} {more}", JOB.join(" "));
        refused(&disk, &words.split(' ').collect::<Vec<_>>(), "is a symbolic link");
    };
    for (option, kinds) in [
        ("write_bw_log", &["bw"][..]),
        ("write_iops_log", &["iops"]),
        ("write_lat_log", &["lat", "clat", "slat"]),
        ("write_hist_log", &["clat_hist"]),
    ] {
        for kind in kinds {
            let log = world.path(&format!("x_{kind}.1.log"));
            symlink(device, &log).unwrap();
            job(&format!("--{option}=x"));
            job(&format!("--{option}=x --log_avg_msec=100 --log_hist_msec=100"));
            job(&format!("--{option}=x --generator fio"));
            std::fs::remove_file(log).unwrap();
        }
    }
    symlink(device, world.path("j.prerun.txt")).unwrap();
    let output = run(&world, &format!("{} --exec_prerun=true --allow-exec", JOB.join(" ")));
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("is a symbolic link"), "{}", text(&output.stderr));
    let pages = world.directory("man");
    symlink(device, pages.join("iodyno-check.1")).unwrap();
    refused(&disk, &["man", pages.to_str().unwrap()], "is a symbolic link");
}

#[test]
#[ignore = "needs root"]
fn a_log_of_ios_takes_the_place_of_no_device_and_of_no_file_of_others() {
    let world = World::new();
    let disk = prepared(&world);
    for generator in ["native", "fio"] {
        write_log(&world, &disk, generator);
    }
}

fn write_log(world: &World, disk: &Loop<'_>, generator: &str) {
    let job = JOB.join(" ");
    let log =
        |path: &str| run(world, &format!("{job} --generator {generator} --write_iolog={path}"));
    let before = flushed(disk);
    let theirs = world.path("theirs.txt");
    std::fs::write(&theirs, "somebody's work\n").unwrap();
    for path in [Path::new(&disk.device), &theirs] {
        let output = log(path.to_str().unwrap());
        assert!(!output.status.success(), "{path:?}");
    }
    assert!(flushed(disk) == before, "{generator} wrote to the device");
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "somebody's work\n");
    status(&log("new.iolog"), 0);
    assert!(std::fs::read_to_string(world.path("new.iolog")).unwrap().starts_with("fio version"));
    status(&log("new.iolog"), 0);
}

#[test]
fn a_log_that_cannot_be_written_is_refused_before_anything_is() {
    let world = World::new();
    std::fs::write(world.path("notes"), "notes").unwrap();
    let first = "--name=one --filename=made --rw=write --bs=4k --size=64k --name=two --stonewall";
    for (log, says) in [("notes", "already exists"), ("made", "is a target of this run")] {
        let two = format!("--filename=other --rw=write --bs=4k --size=64k --write_iolog={log}");
        let output = run(&world, &format!("{first} {two}"));
        status(&output, 2);
        assert!(text(&output.stderr).contains(says), "{log}: {}", text(&output.stderr));
        assert!(!world.path("made").exists() && !world.path("other").exists(), "{log}");
    }
    assert_eq!(std::fs::read(world.path("notes")).unwrap(), b"notes");
}

#[test]
fn the_store_and_the_runs_own_files_are_no_targets() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    status(&run(&world, &JOB.join(" ")), 0);
    let job = "--name=j --bs=4k --size=64k";
    std::fs::write(world.path("j.fio"), format!("[j]\n{}\n", "filename=j.fio\nrw=write\nsize=64k"))
        .unwrap();
    std::fs::write(world.path("k.fio"), "[k]\nfilename=data\nrw=read\nsize=64k\n").unwrap();
    let files = ["store.sqlite", "data", "j.fio", "k.fio"];
    let before = files.map(|name| std::fs::read(world.path(name)));
    for (words, says) in [
        (
            format!("{job} --rw=write --filename=store.sqlite --allow-write store.sqlite"),
            "run store",
        ),
        (format!("{job} --rw=write --filename=store.sqlite-wal"), "run store"),
        (format!("{job} --rw=read --filename=data --output=data"), "is a target of this run"),
        (format!("{job} --rw=read --filename=data --stream data"), "is a target of this run"),
        (
            format!("{job} --rw=write --filename=x_bw.1.log --write_bw_log=x"),
            "is a target of this run",
        ),
        ("j.fio --allow-write j.fio".into(), "would write the job file itself"),
        ("k.fio --output=k.fio".into(), "it is the job file"),
    ] {
        let output = run(&world, &words);
        status(&output, 2);
        assert!(text(&output.stderr).contains(says), "{words}: {}", text(&output.stderr));
    }
    let after = files.map(|name| std::fs::read(world.path(name)));
    for (before, after) in before.iter().zip(&after) {
        assert!(before.as_ref().unwrap() == after.as_ref().unwrap());
    }
    assert!(!world.path("x_bw.1.log").exists() && !world.path("store.sqlite-wal").exists());
}

#[test]
fn what_fio_is_not_given_is_refused_before_anything_is_written() {
    let world = World::new();
    let first = "--name=one --filename=made --rw=write --bs=4k --size=64k --name=two --stonewall";
    for (option, says) in
        [("iomem=mmapshared:/x", "it may reach other targets"), ("read_iolog=log", "is not passed")]
    {
        let two = format!("--filename=other --rw=write --bs=4k --size=64k --{option}");
        let output = run(&world, &format!("{first} {two} --generator fio"));
        status(&output, 2);
        assert!(text(&output.stderr).contains(says), "{option}: {}", text(&output.stderr));
        assert!(!world.path("made").exists() && !world.path("other").exists(), "{option}");
    }
}

#[test]
fn fio_opens_no_log_where_everybody_may_plant_a_link() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    tool("chmod", &["1777", world.directory("share").to_str().unwrap()]);
    for option in ["write_bw_log=share/x", "write_iolog=share/x"] {
        let output = run(&world, &format!("{} --generator fio --{option}", JOB.join(" ")));
        assert!(!output.status.success());
        let error = text(&output.stderr);
        assert!(error.contains("share/x") && error.contains("everybody may write"), "{error}");
    }
    assert_eq!(std::fs::read_dir(world.path("share")).unwrap().count(), 0);
}

#[test]
fn a_log_that_is_replayed_is_not_written() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    let job = "--name=j --filename=data --size=1m --bs=4k";
    let written = format!("{job} --rw=randread --number_ios=20 --write_iolog=log");
    status(&run(&world, &written), 0);
    let log = std::fs::read(world.path("log")).unwrap();
    status(&run(&world, &format!("{job} --read_iolog=log --write_iolog=log")), 0);
    assert_eq!(std::fs::read(world.path("log")).unwrap(), log);
}

#[test]
#[ignore = "needs root"]
fn a_link_that_somebody_planted_leads_nowhere() {
    let world = World::new();
    for folder in ["share", "rooted"] {
        std::fs::create_dir(world.path(folder)).unwrap();
    }
    std::fs::write(world.path("rooted/data"), vec![7; 1 << 20]).unwrap();
    tool("chmod", &["1777", world.path("share").to_str().unwrap()]);
    let link = world.path("share/bench");
    symlink("../rooted", &link).unwrap();
    tool("chown", &["-h", "65534", link.to_str().unwrap()]);
    let job = "--name=j --rw=write --bs=4k --size=64k";
    let data = "share/bench/data";
    for words in [
        format!("{job} --filename={data} --allow-write {data}"),
        format!("{job} --directory=share/bench"),
        format!("{} --filename=own --output=share/bench/out", job.replace("write", "read")),
    ] {
        let output = run(&world, &words);
        status(&output, 2);
        let error = text(&output.stderr);
        assert!(error.contains("another user's symbolic link"), "{words}: {error}");
    }
    let rooted = std::fs::read_dir(world.path("rooted")).unwrap().count();
    assert_eq!(rooted, 1, "nothing was made there");
    assert_eq!(std::fs::read(world.path("rooted/data")).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn a_pipe_and_a_link_to_a_file_take_output_as_ever() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    let there = world.path("there.txt");
    std::fs::write(&there, "3;fio-3.40;earlier;\n".repeat(1000)).unwrap();
    symlink("there.txt", world.path("link.txt")).unwrap();
    let job = JOB.join(" ");
    status(&run(&world, &format!("{job} --output=link.txt --output-format=terse")), 0);
    let lines = std::fs::read_to_string(&there).unwrap();
    assert_eq!(lines.lines().count(), 1, "{lines}");
    assert!(world.path("link.txt").is_symlink());
    let output = run(&world, &format!("{job} --output=/dev/stdout --output-format=terse"));
    status(&output, 0);
    assert!(text(&output.stdout).contains(";j;"), "{}", text(&output.stdout));
    status(&run(&world, &format!("{job} --output=/dev/null --output-format=json")), 0);
}

#[test]
fn explain_runs_commands_only_where_it_may() {
    let world = World::new();
    let data = world.sparse("data", 64 << 20);
    let made = world.path("made");
    // A path of the build may contain a blank, at which commands are split.
    let command = "exec_prerun=touch made";
    let words = ["explain", data.to_str().unwrap(), "--budget", "300ms", command];
    says(&world.command().args(words).output().unwrap(), 2, "--allow-exec");
    assert!(!made.exists());
    let words = [&words[..], &["--allow-exec"]].concat();
    let output = world.command().args(words).output().unwrap();
    assert!(made.exists(), "{}", text(&output.stderr));
}
