//! Tests thirty typical mistakes at the prompt: each is answered in at most three lines, with what
//! to type next.

use std::os::unix::fs::chown;
use std::process::{Command, Output};

use crate::common::{Loop, World, mount_tracefs, status, text, tool};

/// Typed words, and text required in the answer. `@` stands for a file of 1 MiB.
const MISTAKES: &[(&str, &[&str])] = &[
    ("chekc", &["'check'"]),
    ("data check", &["the command comes first: iodyno check data"]),
    ("data", &["the command comes first: iodyno check data"]),
    ("jobs.fio", &["the command comes first: iodyno run jobs.fio"]),
    ("plan.toml", &["the command comes first: iodyno sweep plan.toml"]),
    ("bench.ini", &["the command comes first: iodyno sweep bench.ini"]),
    ("lab.json.gz", &["the command comes first: iodyno show lab.json.gz"]),
    ("run plan.toml", &["plan.toml is a plan: iodyno sweep plan.toml"]),
    ("run snia-iops", &["snia-iops is a plan: iodyno sweep snia-iops"]),
    ("runs list", &["without it, iodyno runs lists all"]),
    ("runs last", &["iodyno show last"]),
    ("version", &["iodyno --version"]),
    ("help chekc", &["iodyno help check"]),
    ("rules nosuch", &["iodyno rules lists them"]),
    ("run -v job.fio", &["iodyno show -v last"]),
    ("check --no-laod", &["--no-load"]),
    ("check nvme77", &["no such device", "iodyno list"]),
    ("check dangling", &["symbolic link to /nowhere/at/all, which does not exist"]),
    ("check --time 5x", &["5x", "10s"]),
    ("check --runtime=10", &["--time 10"]),
    ("check --filename=@", &["name the target alone: ", "data"]),
    ("explain --filename=@ --rw=randread", &["name the target alone: ", "data"]),
    ("explain @ --rw randread", &["tip: rw=randread"]),
    ("explain --group_reporting @", &["tip: group_reporting=1"]),
    ("sweep --filename=@ --rw=read", &["name targets with --target ", "data"]),
    ("sweep --target @ --rw=read", &["--set rw=read"]),
    ("sweep --target @ --iodepth=1,2", &["--grid iodepth=1,2"]),
    ("check --budget 0", &["at least 100ms"]),
    ("check --expect nope.toml", &["nope.toml"]),
    ("check --baseline nope .", &["nope"]),
    ("check . --volume gp4", &["gp4", "known: gp3"]),
    ("check . --volume gp3,fast", &["fast", "gp3,6000iops,500MB/s"]),
    ("check --columns serail --no-load .", &["did you mean \"serial\""]),
    ("explain /dev/nope", &["/dev/nope", "no such device", "iodyno list"]),
    ("explain @ iodeth=4", &["did you mean `iodepth`"]),
    ("explain nvme0n1 iodepth=deep", &["iodepth"]),
    ("fit etdc .", &["did you mean etcd?"]),
    ("fit msql .", &["did you mean mysql?"]),
    ("fit etcd", &["iodyno fit etcd TARGET", "directory"]),
    ("fit etcd nope", &["nope", "no such directory"]),
    ("fit etcd @", &["is a file", "directory"]),
    ("fit ceph-osd .", &["whole device"]),
    ("fit ceph-osd /nope", &["no such device", "iodyno list"]),
    ("fit ceph-osd @ --dry-run", &["no block device", "iodyno list"]),
    ("sweep headroom --target @ --p99-bound 0", &["above 0"]),
    ("fit etcd . --write /nowhere/x", &["/nowhere/x"]),
    ("list --columns sreial", &["did you mean \"serial\""]),
    ("rules link-degrade", &["'link-degraded'"]),
    ("run nope.fio", &["nope.fio"]),
    ("run --name=a --rw=randraed --filename=@", &["did you mean `randread`"]),
    ("run --name=a --ioengine=iouring --filename=@", &["did you mean `io_uring`"]),
    ("run --name=a --iodeth=4 --filename=@", &["did you mean `--iodepth`"]),
    ("run --name=a --rw=write --filename=@", &["--allow-write"]),
    (
        "run --name=a --rw=read --size=900000g --filename=big",
        &["are free", "next: free some space"],
    ),
    ("run --name=a --bs=4q --filename=@", &["4q", "4k"]),
    ("run --name=a --size=-1 --filename=@", &["size"]),
    ("run", &["job"]),
    ("sweep blocksze --target @", &["did you mean blocksize?"]),
    ("sweep headrom --target @", &["did you mean headroom"]),
    ("sweep what-is-this --target @", &["iodyno sweep --list"]),
    ("sweep blocksize --target nope/at/all", &["nope/at/all"]),
    ("sweep headroom --target nodir/new --dry-run", &["no directory nodir"]),
    ("sweep --target none --dry-run", &["`size` is missing", "--set size=1g"]),
    ("sweep --target @ --set offset=2m --dry-run", &["offset=2097152 does not fit"]),
    ("sweep --target @ --set cpus_allowed=9999 --dry-run", &["names CPU 9999"]),
    ("sweep --target @ --set exec_prerun=true --dry-run", &["plans run no commands"]),
    ("sweep --target /dev/nvme77n1 --dry-run", &["no such device", "iodyno list"]),
    ("sweep --target @ --grid rw=read,write --allow-write nope --dry-run", &["--allow-write"]),
    ("sweep --target @ --set rw=read --grid io_size=1m,2m", &["`io_size`", "until = \"done\""]),
    ("sweep --target @ --grid bs=4q", &["4q"]),
    ("sweep --target @ --grid bs", &["OPTION=VALUE"]),
    ("sweep blocksize @", &["name targets with --target "]),
    ("replay x.iotrace @", &["name targets with --target "]),
    ("resume", &["nothing to resume"]),
    ("resume nope", &["nope", "iodyno runs"]),
    ("show nope", &["nope", "iodyno runs"]),
    ("compare a", &["2 values required"]),
    ("compare a b", &["iodyno runs"]),
    ("plot --figure grdi last", &["'grid'"]),
    ("plot last -o picture.bmp", &[".svg", ".png"]),
    ("import /nowhere", &["/nowhere"]),
    ("prepare @", &["--purge", "--fill"]),
    ("layouts --on-files 64m --layout md7", &["did you mean `md"]),
];

#[test]
fn mistakes_are_answered_in_three_lines() {
    let world = World::new();
    let here = world.directory("here");
    let data = here.join("data");
    std::fs::write(&data, vec![1; 1 << 20]).unwrap();
    std::fs::write(here.join("jobs.fio"), "[a]\nrw=read\n").unwrap();
    std::fs::write(here.join("plan.toml"), include_str!("../../../plans/check.toml")).unwrap();
    std::fs::write(here.join("bench.ini"), "[benchfio]\ntarget = x\n").unwrap();
    std::fs::write(here.join("lab.json.gz"), "").unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", here.join("dangling")).unwrap();
    // The store has one run.
    let first = ["--name=first", "--rw=read", "--filename=data"];
    status(&world.command().current_dir(&here).arg("run").args(first).output().unwrap(), 0);
    let wrong: Vec<_> = MISTAKES
        .iter()
        .filter_map(|(typed, named)| {
            let words = typed.split(' ').map(|word| word.replace('@', data.to_str().unwrap()));
            let output = world.command().current_dir(&here).args(words).output().unwrap();
            badly_answered(typed, named, &output, here.to_str().unwrap())
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Here a file is no target.
    let plot = text(&world.run(&["plot", "last", "--filename=picture.png"]).stderr);
    assert!(!plot.contains("name the target"), "{plot}");
}

#[test]
#[ignore = "needs root"]
fn missing_permission_and_busy_targets_are_answered_too() {
    let world = World::new();
    let disk = Loop::new(&world, "image", 16 << 20);
    let device = &*disk.device;
    let whole = format!("run --name=a --rw=write --filename={device}");
    mount_tracefs();
    tool("mkfs.ext4", &["-qF", device]);
    let mounted = world.directory("mounted");
    let folder = mounted.to_str().unwrap();
    tool("mount", &[device, folder]);
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    // The user's folder, without a store yet.
    chown(world.path(""), Some(65534), Some(65534)).unwrap();
    let dry = format!("sweep --dry-run --target {device} --set rw=write --allow-write nope");
    let rows: [(&[&str], &str, &[&str]); 6] = [
        (&[], &dry, &["--allow-write loop"]),
        (&nobody, &format!("explain {device}"), &["no permission", "next: sudo "]),
        (&nobody, &format!("run --name=a --rw=read --filename={device}"), &["next: "]),
        (&nobody, &format!("record {device} --for 1s -o x.iotrace"), &["run as root"]),
        (
            &[],
            &format!("prepare {device} --fill 1x"),
            &["in use", "mounted at", "next: unmount it"],
        ),
        (&[], &whole, &["in use", "mounted at", "next: unmount it"]),
    ];
    let wrong: Vec<_> = rows
        .iter()
        .filter_map(|(user, typed, named)| {
            let mut command = match user.split_first() {
                None => world.command(),
                Some((setpriv, user)) => {
                    let mut command = world.with_environment(Command::new(setpriv));
                    command.args(user).arg(env!("CARGO_BIN_EXE_iodyno"));
                    command
                }
            };
            let output = command.args(typed.split(' ')).output();
            badly_answered(typed, named, &output.unwrap(), folder)
        })
        .collect();
    tool("umount", &[folder]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Windows line ends are accepted.
#[test]
fn a_job_file_may_come_from_windows() {
    let world = World::new();
    let here = world.directory("here");
    std::fs::write(here.join("data"), vec![1; 1 << 20]).unwrap();
    let job = "; from Windows\r\n[global]\r\nrw=randread\r\n\r\n[a]\r\nfilename=data\r\n";
    std::fs::write(here.join("job.fio"), job).unwrap();
    let output = world.command().current_dir(&here).args(["run", "job.fio"]).output().unwrap();
    status(&output, 0);
    assert!(text(&output.stdout).contains("randread"), "{}", text(&output.stdout));
}

/// Reason why an answer is bad: an exit status other than 2, more than three lines at 60 columns,
/// or missing text of `named`. `here` is replaced.
fn badly_answered(typed: &str, named: &[&str], output: &Output, here: &str) -> Option<String> {
    let said = text(&output.stderr);
    // After a blank line clap adds its usage, as for every command.
    let answer = said.split("\n\nUsage:").next().unwrap_or_default();
    let answer = answer.split("\n\nFor more information").next().unwrap_or_default();
    // Earlier notes are not part of the answer, and the folder's name does not count.
    let answer = answer.replace(here, "/here");
    let behind = answer
        .lines()
        .skip_while(|line| !["iodyno: ", "error: "].iter().any(|begin| line.starts_with(begin)));
    let lines: usize = behind.map(|line| lines_at_60(line.trim())).sum();
    let lacks: Vec<_> = named.iter().filter(|word| !said.contains(**word)).collect();
    let is_bad = output.status.code() != Some(2) || lines > 3 || !lacks.is_empty();
    is_bad.then(|| format!("{typed} ({}, {lines} lines): lacks {lacks:?}\n{said}", output.status))
}

/// Number of lines on a terminal of 60 columns, with wrapping between words.
fn lines_at_60(line: &str) -> usize {
    let (mut lines, mut used) = (usize::from(!line.is_empty()), 0);
    for word in line.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > 60 {
            (lines, used) = (lines + 1, 0);
        }
        used += length + usize::from(used > 0);
    }
    lines
}

#[test]
fn an_empty_variable_names_no_store() {
    let world = World::new();
    let home = world.directory("home");
    let output = world.command().env("IODYNO_STORE", "").env("HOME", &home).arg("runs").output();
    let output = output.unwrap();
    assert!(!text(&output.stderr).contains("required"), "{}", text(&output.stderr));
}
