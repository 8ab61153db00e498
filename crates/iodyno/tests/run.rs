//! Tests `run` with typical job files and command lines on real files. Needs fio, and root,
//! losetup, mkfs.ext4 and mount for the full disk; fails by name if one is missing.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{World, json, printed, status, text};

fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command();
    command.arg("run").args(arguments);
    command
}

/// Expects that `run` refuses these words, see [`World::refused`].
#[track_caller]
fn refused(world: &World, arguments: &[&str], words: &[&str]) -> String {
    world.refused(&[&["run"], arguments].concat(), words)
}

/// Runs and returns fio's JSON.
#[track_caller]
pub(crate) fn document(world: &World, arguments: &[&str]) -> serde_json::Value {
    printed(&world.jobs(&[arguments, &["--output-format=json"]].concat()))
}

/// Numbers of I/Os read and written by the first job.
#[track_caller]
fn counts(world: &World, arguments: &[&str]) -> (u64, u64) {
    let document = document(world, arguments);
    let ios = |direction| document["jobs"][0][direction]["total_ios"].as_u64().unwrap();
    (ios("read"), ios("write"))
}

const SMALL: &str = "[global]\nsize=64k\nbs=4k\nfilename=data\n\n[reads]\nrw=randread\n\n[again]\nstonewall\nrw=read\n";

#[test]
fn a_job_file_runs_and_is_stored() {
    let world = World::new();
    fs::write(world.path("small.fio"), SMALL).unwrap();
    let output = world.jobs(&["small.fio"]);
    status(&output, 0);
    let out = text(&output.stdout);
    for word in ["DONE", "2 jobs", "reads", "again", "4 KiB", "IOPS", "MAX"] {
        assert!(out.contains(word), "{word} is missing in\n{out}");
    }
    assert!(text(&output.stderr).contains("again"), "each job is told when it is done");
    let shown = world.run(&["show", "-v", "last"]);
    for word in ["reads", "again", "4 KiB", "psync", "depth 1"] {
        assert!(text(&shown.stdout).contains(word), "{}", text(&shown.stdout));
    }
    let runs = world.run(&["runs", "--json"]);
    let runs = json(&runs.stdout);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn the_command_line_as_getopt_takes_it() {
    let world = World::new();
    let first = "--name=t --rw=randread --bs=4k --size=64k --filename=data";
    for line in [
        first,
        "-name=t -rw=randread -bs 4k -size 64k -filename data",
        "--name t --rw randread --blocksize 4k --size 64k --filename data",
        "--name=t --readwrite=randread -bs=4k --size=64k --filename=data --direct=0",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(counts(&world, &words), (16, 0), "{line}");
    }
}

#[test]
fn name_opens_a_job_and_section_selects_one() {
    let world = World::new();
    let line =
        "--size=64k --filename=data --name=a --rw=read --bs=4k --name=b --rw=randread --bs=8k";
    let words: Vec<&str> = line.split(' ').collect();
    let two = document(&world, &words);
    let of =
        |index: usize| (&two["jobs"][index]["jobname"], &two["jobs"][index]["read"]["total_ios"]);
    assert_eq!(of(0), (&"a".into(), &16.into()));
    assert_eq!(of(1), (&"b".into(), &8.into()));
    fs::write(world.path("small.fio"), SMALL).unwrap();
    let one = document(&world, &["--section=again", "small.fio"]);
    assert_eq!(one["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(one["jobs"][0]["jobname"], "again");
    refused(&world, &["--section=gone", "small.fio"], &["gone"]);
}

#[test]
fn nothing_is_done_where_it_is_only_looked_at() {
    let world = World::new();
    fs::write(world.path("small.fio"), SMALL).unwrap();
    let output = world.jobs(&["--parse-only", "small.fio"]);
    status(&output, 0);
    let shown = world.jobs(&["--showcmd", "small.fio"]);
    status(&shown, 0);
    let shown = text(&shown.stdout);
    assert!(shown.contains("--name=reads") && shown.contains("--rw=randread"), "{shown}");
    assert!(!world.path("data").exists() && !world.path("store.sqlite").exists());
    // The shown command line has the same meaning.
    let words: Vec<&str> = shown.split_whitespace().skip_while(|w| !w.starts_with("--")).collect();
    let output = world.jobs(&[&["--parse-only"], &words[..]].concat());
    status(&output, 0);

    refused(&world, &["--readonly", "--name=w", "--rw=write", "--size=4k"], &["w", "--readonly"]);
    assert_eq!(world.files("").len(), 1, "{:?}", world.files(""));
}

#[test]
fn own_options_stand_anywhere_among_those_of_jobs() {
    let world = World::new();
    let line =
        "--name=t --run-name mine --rw=read -q --size=64k --json --filename=data --store=other";
    let output = world.jobs(&line.split(' ').collect::<Vec<_>>());
    status(&output, 0);
    assert_eq!(text(&output.stderr), "", "quiet");
    let document = json(&output.stdout);
    assert_eq!((&document["schema"], &document["name"]), (&"iodyno.run/2".into(), &"mine".into()));
    assert!(world.path("other").exists());
}

#[test]
fn a_job_file_comes_from_standard_input() {
    let world = World::new();
    let mut child = command(&world, &["-", "--output-format=json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(SMALL.as_bytes()).unwrap();
    let document = printed(&child.wait_with_output().unwrap());
    assert_eq!(document["jobs"][0]["read"]["total_ios"], 16);
}

#[test]
fn outputs_have_the_shapes_of_fio() {
    let world = World::new();
    let job = ["--name=t", "--rw=read", "--bs=4k", "--size=64k", "--filename=data"];
    let with = |more: &[&str]| {
        let output = world.jobs(&[&job[..], more].concat());
        status(&output, 0);
        text(&output.stdout)
    };
    let plus: serde_json::Value = serde_json::from_str(&with(&["--output-format=json+"])).unwrap();
    let read = &plus["jobs"][0]["read"];
    assert!(!read["clat_ns"]["bins"].as_object().unwrap().is_empty(), "{read}");
    // As in fio: 121 fields of the job, 9 of the disk under it.
    for (words, fields) in [
        (&["--minimal"][..], 130),
        (&["--output-format=terse"], 130),
        (&["--terse-version=4", "--output-format", "terse"], 171),
        (&["--terse-version=5", "--minimal"], 189),
    ] {
        let line = with(words);
        assert_eq!(line.lines().count(), 1, "{line}");
        assert_eq!(line.trim_end().split(';').count(), fields, "{words:?}: {line}");
    }
    let normal = with(&["--output-format=normal"]);
    assert!(normal.contains("t: (groupid=0, jobs=1): err= 0: pid="), "{normal}");
    assert!(normal.contains("Run status group 0 (all jobs):\n   READ: bw="), "{normal}");
    let both = with(&["--output-format=normal,json"]);
    assert!(both.contains("Run status group 0") && both.contains("\"fio version\""), "{both}");

    let printed = with(&["--output=result.json", "--output-format=json"]);
    assert_eq!(printed, "");
    let written = fs::read_to_string(world.path("result.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["jobs"][0]["read"]["total_ios"], 16);
    assert_eq!(with(&["--output=text"]), "");
    assert!(fs::read_to_string(world.path("text")).unwrap().contains("IOPS"));
}

#[test]
fn fio_runs_the_engine_that_was_asked_for() {
    let world = World::new();
    let words = "--name=t --rw=randwrite --size=64k --filename=data --ioengine=posixaio \
                 --iodepth=4 --mem=mmap --generator fio";
    let output = world.jobs(&words.split_whitespace().collect::<Vec<_>>());
    status(&output, 0);
    let said = text(&output.stdout);
    assert!(said.contains("DONE  1 job on "), "{said}");
    let said = text(&world.run(&["show", "-v", "last"]).stdout);
    assert!(said.contains("depth 4") && said.contains("posixaio"), "{said}");
}

#[test]
fn both_generators_do_the_same() {
    let world = World::new();
    let job = "--name=t --rw=randrw --bs=4k --size=256k --filename=data --randrepeat=1 --numjobs=2";
    let words: Vec<&str> = job.split(' ').collect();
    let sum = |counts: (u64, u64)| counts.0 + counts.1;
    let native = sum(counts(&world, &words));
    let fio = sum(counts(&world, &[&words[..], &["--generator", "fio"]].concat()));
    assert_eq!((native, fio), (64, 64));
    refused(&world, &[&words[..], &["--generator", "fio", "--fio", "/none"]].concat(), &["/none"]);
}

#[test]
fn what_is_mistyped_is_named_with_its_line() {
    let world = World::new();
    let job = |text: &str| fs::write(world.path("x.fio"), text).unwrap();
    job("[global]\nsize=1m\nrw=read\nblocksiz=4k\n[a]\n");
    refused(&world, &["x.fio"], &["x.fio line 4", "`blocksiz`", "`blocksize`"]);
    job("[a]\nsize=100g offset=100g\nrw=read\n");
    refused(&world, &["x.fio"], &["x.fio line 2", "`offset`", "line of its own"]);
    job("[a]\nsize=1m\nioengine=rados\nlockfile=exclusive\n");
    let both = ["x.fio line 3", "use fio itself", "x.fio line 4", "--generator fio"];
    refused(&world, &["x.fio"], &both);
    job("[a]\nsize=1m\nrw=reed\n");
    refused(&world, &["x.fio"], &["x.fio line 3", "reed"]);
    job("[a]\nsize=1x\n");
    refused(&world, &["x.fio"], &["x.fio line 2", "`size=1x`"]);
    job("size=1m\n");
    refused(&world, &["x.fio"], &["x.fio line 1"]);
    job("[global]\nsize=1m\n");
    refused(&world, &["x.fio"], &["no job", "[section]"]);
    refused(&world, &["--name=t", "--blocksiz=4k"], &["--blocksiz", "blocksize"]);
    refused(&world, &["--rw=read"], &["--name"]);
    refused(&world, &[], &["--name=NAME"]);
}

#[test]
fn what_is_missing_is_named() {
    let world = World::new();
    refused(&world, &["gone.fio"], &["gone.fio"]);
    fs::write(world.path("x.fio"), "[global]\nrw=read\n\n[a]\nfilename=data\n").unwrap();
    refused(&world, &["x.fio"], &["x.fio line 4", "job `a`", "`size`", "--size=", "data"]);
    refused(
        &world,
        &["--name=t", "--filename=data", "--size=4k", "--allow_file_create=0"],
        &["data", "allow_file_create"],
    );
    assert!(!world.path("data").exists());
    // A refused run is not stored.
    assert!(text(&world.run(&["runs"]).stdout).contains("No runs"));
}

#[test]
fn names_in_dev_that_are_no_device_are_told() {
    let world = World::new();
    for rw in ["--rw=read", "--rw=write"] {
        let job = ["--name=t", "--size=4k", rw];
        // A volume of a group that is not active has no folder either.
        for name in ["/dev/nvme77n1", "/dev/mapper/none77", "/dev/vg77/none"] {
            let told = refused(
                &world,
                &[&job[..], &[&format!("--filename={name}")]].concat(),
                &[name, "no such device", "iodyno list"],
            );
            assert!(!told.contains("memory"), "{told}");
        }
        refused(
            &world,
            &[&job[..], &["--filename=/dev/disk/by-id/nvme-none"]].concat(),
            &["by-id"],
        );
    }
    assert!(!Path::new("/dev/nvme77n1").exists());
    // Name of a device without its path.
    let device = fs::read_dir("/sys/class/block").unwrap().next().unwrap().unwrap().file_name();
    let device = device.to_str().unwrap();
    let filename = format!("--filename={device}");
    let job = ["--name=t", "--size=4k", "--rw=read", &filename];
    refused(&world, &job, &["job `t`", &format!("/dev/{device}"), &format!("./{device}")]);
    assert!(!world.path(device).exists());
}

#[test]
#[ignore = "needs root"]
fn a_file_of_somebody_else_is_written_once_its_words_are_typed() {
    let world = World::new();
    fs::write(world.path("mine"), "precious").unwrap();
    let job = ["--name=t", "--rw=write", "--bs=4k", "--size=8k", "--filename=mine"];
    let message = refused(&world, &job, &["mine", "writing not allowed", "--allow-write"]);
    assert_eq!(fs::read_to_string(world.path("mine")).unwrap(), "precious");
    // The message contains the exact words to copy.
    let (_, typed) = message.split_once("--allow-write ").unwrap();
    let typed = match typed.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next().unwrap(),
        None => typed.split_whitespace().next().unwrap(),
    };
    assert_eq!(counts(&world, &[&job[..], &["--allow-write", typed]].concat()), (0, 2));
    // Nor is it extended for a job that only reads.
    let longer = ["--name=t", "--rw=read", "--size=64k", "--filename=mine"];
    refused(
        &world,
        &longer,
        &["mine holds 8 KiB, and a job reads 64 KiB", "size", "--allow-write"],
    );
    refused(&world, &["--name=t", "--size=4k", "--filename=."], &["directory=."]);
    let full = ["--name=t", "--rw=write", "--size=4k", "--filename=/dev/full"];
    refused(&world, &full, &["job `t`", "`filename=/dev/full`", "block device"]);
    // iodyno overwrites its own files.
    let job = ["--name=t", "--rw=write", "--bs=4k", "--size=8k", "--filename=new"];
    assert_eq!(counts(&world, &job), (0, 2));
    assert_eq!(counts(&world, &job), (0, 2));
    let reads = ["--name=t", "--rw=read", "--bs=4k", "--size=8k", "--filename=new"];
    refused(&world, &[&reads[..], &["--allow-write", "new"]].concat(), &["`new`", "no job writes"]);
}

#[test]
fn client_and_server_options_are_refused() {
    let world = World::new();
    refused(&world, &["--client=host", "x.fio"], &["--client", "each host"]);
    refused(&world, &["--server"], &["--server", "each host"]);
}

#[test]
fn percentages_are_of_the_file() {
    let world = World::new();
    world.sparse("data", 256 << 10);
    let job = ["--name=t", "--rw=read", "--bs=4k", "--filename=data"];
    assert_eq!(counts(&world, &[&job[..], &["--size=50%"]].concat()), (32, 0));
    assert_eq!(counts(&world, &[&job[..], &["--offset=75%"]].concat()), (16, 0));
    assert_eq!(counts(&world, &[&job[..], &["--size=25%", "--io_size=50%"]].concat()), (8, 0));
}

#[test]
fn commands_run_only_where_they_are_allowed() {
    let world = World::new();
    let job = [
        "--name=t",
        "--rw=read",
        "--size=4k",
        "--filename=data",
        "--exec_prerun=printf '%s|%s' 'a b' c",
        "--exec_postrun=touch after",
    ];
    refused(&world, &job, &["exec_prerun", "--allow-exec"]);
    assert!(!world.path("data").exists());
    status(&world.jobs(&[&job[..], &["--allow-exec"]].concat()), 0);
    assert_eq!(fs::read_to_string(world.path("t.prerun.txt")).unwrap(), "a b|c");
    assert!(world.path("after").exists());
    for (command, told) in [("false", "t.prerun.txt"), ("echo 3 > x", "sh -c"), ("/none", "/none")]
    {
        let prerun = format!("--exec_prerun={command}");
        let job = [&job[..4], &[&prerun, "--allow-exec"]].concat();
        refused(&world, &job, &["job `t`", "exec_prerun", told]);
    }
}

#[test]
fn an_interrupt_ends_it_and_what_was_measured_is_kept() {
    let world = World::new();
    let line = "--size=64k --filename=data --name=first --rw=read --name=endless --stonewall \
                --rw=randread --time_based --runtime=1h";
    let mut child = command(&world, &line.split_whitespace().collect::<Vec<_>>())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    // Printed when a job is done; the next one begins right after.
    let done = said.find(|line| line.as_ref().unwrap().starts_with("first ")).unwrap().unwrap();
    assert!(done.contains("IOPS"), "{done}");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("first"), "{}", text(&output.stdout));
    let shown = world.run(&["show", "last"]);
    assert!(text(&shown.stdout).contains("first"), "{}", text(&shown.stdout));
}

/// A file system on a loop device, unmounted at the end.
struct Mounted(String);

impl Mounted {
    fn new(world: &World, bytes: u64) -> Self {
        let image = world.sparse("image", bytes).display().to_string();
        let at = world.directory("full").display().to_string();
        for line in [&["mkfs.ext4", "-q", &image][..], &["mount", "-o", "loop", &image, &at]] {
            let output = Command::new(line[0]).args(&line[1..]).output().unwrap();
            assert!(output.status.success(), "{line:?}: {}", text(&output.stderr));
        }
        Self(at)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy", &self.0]).status();
    }
}

#[test]
fn what_a_steady_state_was_judged_by_is_stored_and_printed() {
    let world = World::new();
    let job = "--name=a --filename=data --size=64k --rw=randread --time_based --runtime=9 \
               --ss=iops:99% --ss_dur=2 --ss_interval=1";
    let shown = document(&world, &job.split_whitespace().collect::<Vec<_>>());
    let stored = printed(&world.run(&["show", "last", "--json"]));
    let samples = stored["measurements"][0]["account"]["steadystate_samples"].as_array().unwrap();
    let iops = |sample: &serde_json::Value| {
        (sample["ios"].as_f64().unwrap() * 1e9 / sample["duration_ns"].as_f64().unwrap()) as u64
    };
    let iops: Vec<u64> = samples.iter().map(iops).collect();
    assert_eq!(shown["jobs"][0]["steadystate"]["data"]["iops"], serde_json::json!(iops));
    assert_eq!(iops.len(), 2);
}

#[test]
#[ignore = "needs root"]
fn a_full_disk() {
    let world = World::new();
    let mounted = Mounted::new(&world, 16 << 20);
    let file = format!("--filename={}/data", mounted.0);
    let job = ["--name=t", "--rw=write", "--bs=64k", &file];
    // A job that cannot fit is refused before it starts.
    refused(&world, &[&job[..], &["--size=64m"]].concat(), &["64 MiB", "free", "size"]);
    assert_eq!(world.files("full"), ["lost+found"]);
    // A lack of space found during the run ends the job, and its results are kept.
    let output = world.jobs(&[&job[..], &["--size=64m", "--fallocate=none"]].concat());
    status(&output, 3);
    let out = text(&output.stdout);
    assert!(out.contains("ENOSPC") && out.contains("Free some space"), "{out}");
    let long = text(&world.run(&["show", "-v", "last"]).stdout);
    assert!(long.contains("The disk is full"), "{long}");
    assert!(!out.contains("replace the drive") && !long.contains("replace the drive"), "{out}");
    fs::remove_file(format!("{}/data", mounted.0)).unwrap();
    // A job meant to fill the device then ends normally.
    let output = world.jobs(&[&job[..], &["--fill_device=1"]].concat());
    status(&output, 0);
}

#[test]
fn the_help_says_how_to_begin() {
    let world = World::new();
    let output = world.run(&["run", "--help"]);
    status(&output, 0);
    let help = text(&output.stdout);
    for word in ["--name=", "--rw=", "--allow-write", "--generator", "--output-format", "Examples"]
    {
        assert!(help.contains(word), "{word} is missing in\n{help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}

#[test]
fn logs_of_fio_are_numbered_through_all_phases() {
    let world = World::new();
    let file = "[global]\nfilename=data\nsize=64k\nrw=read\nbs=4k\n\
                [a]\nwrite_bw_log=x\n\
                [b]\nstonewall\nbs=16k\nwrite_bw_log=x\n\
                [c]\nstonewall\nnumjobs=2\nwrite_lat_log=y\n";
    // Rows of each log, by its name.
    let logs = |folder: &str, program: &mut Command| {
        let folder = world.directory(folder);
        std::fs::write(folder.join("three.fio"), file).unwrap();
        std::fs::write(folder.join("data"), vec![1; 64 << 10]).unwrap();
        status(&program.arg("three.fio").current_dir(&folder).output().unwrap(), 0);
        let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        let logs = files.filter(|path| path.extension().is_some_and(|end| end == "log"));
        let rows = |path: std::path::PathBuf| {
            let rows = std::fs::read_to_string(&path).unwrap().lines().count();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), rows)
        };
        logs.map(rows).collect::<std::collections::BTreeMap<_, _>>()
    };
    let by_fio = logs("fio", &mut Command::new("fio"));
    assert_eq!((by_fio["x_bw.1.log"], by_fio["x_bw.2.log"], by_fio["y_lat.4.log"]), (16, 4, 16));
    let by_iodyno = logs("iodyno", world.command().args(["run", "--generator", "fio"]));
    assert_eq!(by_iodyno, by_fio);
}
