//! Tests `iodyno fit` in a real directory: output, written settings, leftovers and refusals.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::common::{Loop, World, json, says, status, text, tool, validate};

/// A log like etcd's, with bounds that every disk meets, that none meets, and undecided ones.
const LOG: &str = r#"
format = "iodyno.profile/1"
name = "log"
about = "a log of which each entry is flushed"
on = "directory"
rounds = 3
notes = ["Made for a test."]
jobs = """
[wal]
ioengine=psync
rw=write
bs=4k
size=1m
overwrite=1
fdatasync=1
time_based
runtime=300ms
unlink=1

[half]
stonewall
ioengine=psync
rw=write
bs=4k
size=1m
time_based
runtime=300ms
rate_iops={wal write iops * 0.5}
unlink=1
"""

[[quantity]]
name = "time to commit"
of = "wal sync p99"

[[quantity.bound]]
limit = { at_most_ms = 60000.0 }
severity = "FAIL"
source = "nobody, https://example.org/log"
date = "2026-11"

[[quantity]]
name = "entries"
of = "wal write iops"

[[quantity.bound]]
limit = { at_least_iops = 1e12 }
severity = "SEVERITY"
source = "nobody"
date = "2026-11"

[[setting]]
text = "commits = {wal write iops}\nhalf = {half write iops}"
apply = "log.conf"
why = "As fast as the disk."
"#;

/// Reads of a sparse file, which measure no storage.
const HOLES: &str = r#"
format = "iodyno.profile/1"
name = "holes"
about = "reads of nothing"
on = "directory"
rounds = 3
jobs = """
[scan]
ioengine=psync
rw=read
bs=64k
filename=holes
size=4m
time_based
runtime=200ms
"""

[[quantity]]
name = "reads of holes"
of = "scan read iops"

[[setting]]
text = "scan = {scan read iops}"
apply = "scan.conf"
why = "As fast as nothing."
"#;

fn profile(world: &World, severity: &str) -> String {
    let path = world.path("log.toml");
    std::fs::write(&path, LOG.replace("SEVERITY", severity)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_directory_is_measured_judged_and_left_as_it_was() {
    let world = World::new();
    let directory = world.directory("var");
    let place = directory.to_str().unwrap();
    let settings = world.path("log.conf");
    let log = profile(&world, "FAIL");
    let fit = ["fit", &log, place, "--write", settings.to_str().unwrap()];
    let output = world.run(&fit);
    status(&output, 1);
    let shown = text(&output.stdout);
    let first = shown.lines().next().unwrap();
    assert!(first.starts_with("FAIL  log on ") && first.contains("misses 1 of 2"), "{shown}");
    assert!(shown.contains("Settings (log.conf):") && shown.contains("PASS"), "{shown}");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "nothing is left");
    // The second job was limited to half of the rate reached by the first.
    let settings = std::fs::read_to_string(settings).unwrap();
    assert!(settings.starts_with("# written by iodyno fit log\n"), "{settings}");
    let value = |key: &str| {
        let line = settings.lines().find(|line| line.starts_with(key)).unwrap();
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!((0.1..0.9).contains(&(value("half") / value("commits"))), "{settings}");

    let document = json(&world.run(&["show", "last", "--json"]).stdout);
    validate(&document, "iodyno.run.2");
    let fit = &document["fit"];
    assert_eq!(fit["place"], place);
    assert_eq!(fit["quantities"][0]["bounds"][0]["kept"], "yes");
    assert_eq!(fit["quantities"][0]["bounds"][0]["source"], "nobody, https://example.org/log");
    assert_eq!(fit["quantities"][1]["bounds"][0]["kept"], "no");
    assert!(fit["quantities"][0]["estimate"]["high"].as_f64().unwrap() > 0.0);
    assert_eq!(fit["settings"][0]["apply"], "log.conf");
    let junit = text(&world.run(&["show", "last", "--format", "junit"]).stdout);
    assert!(junit.contains("time to commit: at most 60000 ms"), "{junit}");
    assert!(junit.contains(&format!("classname=\"{place}\" name=\"wal ")), "{junit}");
    assert!(!junit.contains("iodyno-fit"), "nobody knows the files: {junit}");
    assert!(junit.contains("nobody, https://example.org/log (2026-11)"), "{junit}");
    let page = world.path("fit.html");
    status(&world.run(&["report", "last", "--output", page.to_str().unwrap()]), 0);
    let page = std::fs::read_to_string(page).unwrap();
    let has = |what: &str| assert!(page.contains(what), "{what}: {page}");
    has("misses 1 of 2 bounds");
    has("at most 60000 ms");
    has("nobody, https://example.org/log (2026-11)");
    has("Settings (log.conf): As fast as the disk.");
    let runs = text(&world.run(&["runs"]).stdout);
    assert!(runs.contains("log on /"), "{runs}");
    // After export and import it is the same run.
    let exported = world.path("fit.json");
    std::fs::write(&exported, world.run(&["runs", "export", "last"]).stdout).unwrap();
    let again = world.run(&["show", exported.to_str().unwrap()]);
    status(&again, 1);
    assert!(text(&again.stdout).starts_with("FAIL  log on "), "{}", text(&again.stdout));

    let log = profile(&world, "INFO");
    let output = world.run(&["fit", &log, place]);
    status(&output, 0);
    let second = world.run(&["compare", exported.to_str().unwrap(), "last"]);
    let compared = text(&second.stdout);
    assert!(compared.contains("A  ") && compared.contains("B  "), "{compared}");
}

#[test]
fn nothing_that_follows_from_invalid_rounds_is_written() {
    let world = World::new();
    let directory = world.directory("var");
    world.sparse("var/holes", 4 << 20);
    let (holes, settings) = (world.path("holes.toml"), world.path("scan.conf"));
    std::fs::write(&holes, HOLES).unwrap();
    let [holes, directory, to] = [&holes, &directory, &settings].map(|path| path.to_str().unwrap());
    let output = world.run(&["fit", holes, directory, "--write", to]);
    status(&output, 4);
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(shown.contains("Not derived: scan read iops is not known."), "{shown}");
    assert!(said.contains("not written, since scan read iops is not known"), "{said}");
    assert!(!settings.exists());

    // Another configuration is not overwritten, though it has the application's syntax, and not
    // through a link either; a profile without settings writes none.
    let link = world.path("link");
    std::os::unix::fs::symlink(to, &link).unwrap();
    let link = link.to_str().unwrap();
    let bare = HOLES.split("[[setting]]").next().unwrap();
    let refused = "name another file, then merge";
    for (profile, theirs, path, why) in [
        (HOLES, "scan = 7\nprecious = 1\n", to, refused),
        (HOLES, "scan = 7\n", link, refused),
        (HOLES, "# written by", to, refused),
        (bare, "theirs", to, "has no settings"),
    ] {
        std::fs::write(holes, profile).unwrap();
        std::fs::write(to, theirs).unwrap();
        says(&world.run(&["fit", holes, directory, "--write", path]), 2, why);
        assert_eq!(std::fs::read_to_string(to).unwrap(), theirs);
    }
    // A file written by an earlier run, of whichever profile, and an empty one are no obstacle.
    std::fs::write(holes, HOLES).unwrap();
    for earlier in ["# written by iodyno fit etcd\nscan = 7\n", ""] {
        std::fs::write(to, earlier).unwrap();
        let said = text(&world.run(&["fit", holes, directory, "--write", to]).stderr);
        assert!(said.contains("not written, since"), "{said}");
    }
}

/// One job that leaves its file.
const SHORT: &str = r#"
format = "iodyno.profile/1"
name = "short"
about = "a log"
on = "directory"
rounds = 3
jobs = """
[wal]
ioengine=psync
rw=rw
rwmixread=0
bs=4k
size=1m
fdatasync=1
time_based
runtime=300ms
"""

[[quantity]]
name = "entries"
of = "wal write iops"

[[quantity.bound]]
limit = { at_least_iops = 1e12 }
severity = "FAIL"
source = "nobody"
date = "2026-11"

[[setting]]
text = "read = {wal read p99}, at {quoted target}"
apply = "x.conf"
why = ""
"#;

#[test]
fn a_verdict_stands_where_settings_cannot_be_written() {
    let world = World::new();
    let directory = world.directory("var #1");
    let (profile, to) = (world.path("short.toml"), world.path("x.conf"));
    let fit = |text: &str| {
        std::fs::write(&profile, text).unwrap();
        let [profile, directory, to] =
            [&profile, &directory, &to].map(|path| path.to_str().unwrap());
        world.run(&["fit", profile, directory, "--write", to])
    };
    says(&fit(SHORT), 1, "not written, since wal read p99 is not known");
    assert!(!to.exists());
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "its files are removed");
    status(&fit(&SHORT.replace("wal read p99", "wal write iops")), 1);
    let written = std::fs::read_to_string(&to).unwrap();
    assert!(written.ends_with(&format!("at \"{}\"\n", directory.display())), "{written}");
}

#[test]
fn the_dry_run_of_a_device_looks_at_the_device() {
    let world = World::new();
    let file = world.path("image");
    std::fs::write(&file, [1; 4096]).unwrap();
    let file = file.to_str().unwrap();
    for (target, why) in [
        ("/nope", "no such device"),
        ("nope", "no such device"),
        (file, "no block device"),
        ("", "name a whole device"),
    ] {
        for more in [&["--dry-run"][..], &[]] {
            let arguments = [&["fit", "ceph-osd", target][..], more].concat();
            says(&world.run(&arguments), 2, why);
        }
    }
    says(&world.run(&["fit", "etcd", ""]), 2, "name the directory");
}

#[test]
#[ignore = "needs root"]
fn the_dry_run_of_a_device_in_use_refuses_it() {
    let world = World::new();
    let disk = Loop::new(&world, "image", 16 << 20);
    let dry = ["fit", "ceph-osd", &*disk.device, "--dry-run"];
    let planned = world.run(&dry);
    status(&planned, 0);
    assert!(text(&planned.stdout).contains("its data is lost"), "{}", text(&planned.stdout));
    tool("mkfs.ext4", &["-qF", &disk.device]);
    let planned = world.run(&dry);
    status(&planned, 0);
    assert!(text(&planned.stdout).contains("holds data that would be lost"), "{planned:?}");
    let mounted = world.directory("mounted");
    let folder = mounted.to_str().unwrap();
    tool("mount", &[&disk.device, folder]);
    let planned = world.run(&dry);
    tool("umount", &[folder]);
    status(&planned, 2);
    let said = text(&planned.stdout);
    assert!(said.contains("is in use and would be refused"), "{said}");
}

#[test]
fn profiles_are_listed_explained_and_planned() {
    let world = World::new();
    let directory = world.directory("var");
    let listed = text(&world.run(&["fit", "--list"]).stdout);
    let profiles: Vec<_> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    assert!(listed.contains("\netcd ") || listed.starts_with("etcd "), "{listed}");
    assert!(profiles.len() >= 12, "{listed}");
    for (name, about) in profiles {
        let explained = text(&world.run(&["fit", name, "--explain"]).stdout);
        assert!(explained.starts_with(about.trim()), "{explained}");
        assert!(explained.contains("[global]"), "{explained}");
    }
    let planned = world.run(&["fit", "etcd", directory.to_str().unwrap(), "--dry-run"]);
    let planned = text(&planned.stdout);
    assert!(planned.contains("total 50 s; up to 100 s"), "{planned}");
    // Eight jobs use a file that `filesize` makes larger than the part of each.
    let directory_word = directory.to_str().unwrap();
    let planned = world.run(&["fit", "mlperf-checkpoint", directory_word, "--dry-run"]);
    let planned = text(&planned.stdout);
    assert!(planned.contains(" 1, 4.29 GB together"), "{planned}");
    // `size` is the total of all files of a job.
    let files = world.path("files.toml");
    std::fs::write(&files, HOLES.replace("filename=holes", "nrfiles=4")).unwrap();
    let planned = world.run(&["fit", files.to_str().unwrap(), directory_word, "--dry-run"]);
    let planned = text(&planned.stdout);
    assert!(planned.contains(" 4, 4.19 MB together"), "{planned}");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn a_profile_that_is_wrong_is_refused_with_the_place() {
    let world = World::new();
    let directory = world.directory("var");
    for (from, to, said) in [
        ("at_most_ms = 60000.0", "at_most_ms = x", "line 37"),
        ("wal sync p99", "log sync p99", "`log sync p99`"),
        ("wal sync p99", "wal sync", "JOB (read|write|trim|sync)"),
        ("rw=write", "rw=wrote", "wrote"),
        ("{half write iops}", "{half}", "{half}"),
        ("size=1m", "filename=/etc/passwd", "filename"),
        ("rounds = 3", "rounds = 1", "3 to 50"),
        ("size=1m", "size=9000p", "too little would be left for others"),
    ] {
        let path = world.path("wrong.toml");
        std::fs::write(&path, LOG.replace("SEVERITY", "FAIL").replacen(from, to, 1)).unwrap();
        let arguments = ["fit", path.to_str().unwrap(), directory.to_str().unwrap()];
        let output = world.run(&arguments);
        status(&output, 2);
        assert!(text(&output.stderr).contains(said), "{to}: {}", text(&output.stderr));
    }
    assert_eq!(std::fs::read_dir(Path::new(&directory)).unwrap().count(), 0);
}

#[test]
fn files_of_a_killed_fit_are_cleaned_up() {
    let world = World::new();
    let directory = world.directory("var");
    let place = directory.to_str().unwrap();
    let log = world.path("log.toml");
    std::fs::write(&log, LOG.replace("SEVERITY", "FAIL").replace("300ms", "60s")).unwrap();
    let fit = ["fit", log.to_str().unwrap(), place];
    let mut child = world.command().args(fit).stderr(Stdio::null()).spawn().unwrap();
    // Written for a while: its first job runs, and all files are there.
    let log = directory.join(".iodyno-fit.wal.0.0");
    let mut seen = BTreeSet::new();
    while seen.len() < 3 {
        assert!(child.try_wait().unwrap().is_none());
        let written = std::fs::metadata(&log).ok().filter(|found| found.blocks() > 0);
        seen.extend(written.and_then(|found| found.modified().ok()));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Another file took the place of the first, as one of another fit would.
    let names = || std::fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path());
    let first = names().min().unwrap();
    let hold = std::fs::File::open(&first).unwrap();
    std::fs::remove_file(&first).unwrap();
    std::fs::write(&first, "mine").unwrap();
    says(&world.run(&fit), 2, "iodyno clean-up");
    // The killed process may take a moment to end.
    let clean = || text(&world.run(&["clean-up"]).stdout);
    let cleaned =
        std::iter::repeat_with(clean).find(|said| said != "No leftovers found.\n").unwrap();
    assert!(cleaned.contains("removed\n") && cleaned.contains("in other use\n"), "{cleaned}");
    assert_eq!(names().collect::<Vec<_>>(), [first]);
    drop(hold);
    assert_eq!(text(&world.run(&["clean-up"]).stdout), "No leftovers found.\n");
}
