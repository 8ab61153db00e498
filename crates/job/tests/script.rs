//! Tests of scripts: comparisons with fio, job file by job file, and errors.
//!
//! fio runs `tests/jobs/*.fio`, which write a few KiB into a folder of their own. Without fio,
//! `IODYNO_WITHOUT_FIO=1` skips the comparison.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test says what it left out")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_job::script::{CompileOptions, Script, ScriptError, ScriptErrors, compile};
use iodyno_job::syntax::{
    CommandLine, Entry, Environment, OptionTable, Place, Section, parse_command_line, parse_file,
};
use serde_json::Value;

fn environment(read: &dyn Fn(&str) -> std::io::Result<Vec<u8>>) -> Environment<'_> {
    Environment { variable: &|_| None, read, page_size_bytes: 4096, cpus: 8, memory_mib: 16_384 }
}

fn sections(text: &str) -> Vec<Section> {
    let read = |path: &str| panic!("{path} is not to be read");
    parse_file(text.as_bytes(), "x.fio", &environment(&read)).unwrap().sections
}

fn script(text: &str) -> Script {
    compile(&sections(text), &CompileOptions::default()).unwrap()
}

fn refused(text: &str, how: &CompileOptions<'_>) -> ScriptErrors {
    compile(&sections(text), how).unwrap_err()
}

fn command_line(words: &[&str]) -> CommandLine {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    parse_command_line(&words, &OptionTable).unwrap()
}

fn paths(script: &Script) -> Vec<Vec<&str>> {
    let jobs = script.phases.iter().flat_map(|phase| &phase.jobs);
    jobs.map(|job| job.job.files.paths.iter().map(String::as_str).collect()).collect()
}

/// An empty folder with `d1` and `d2` in it.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("script").join(name);
    let _ = fs::remove_dir_all(&folder);
    for directory in ["d1", "d2"] {
        fs::create_dir_all(folder.join(directory)).unwrap();
    }
    folder
}

fn fio_is_left_out() -> bool {
    let left_out = std::env::var_os("IODYNO_WITHOUT_FIO").is_some();
    if left_out {
        println!("not compared with fio: IODYNO_WITHOUT_FIO is set");
    }
    left_out
}

/// fio's report, and whether it succeeded.
fn fio(folder: &Path, arguments: &[&str]) -> (bool, Option<Value>) {
    let output = Command::new("fio")
        .arg("--output-format=json")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("fio runs; set IODYNO_WITHOUT_FIO=1 where it is not installed");
    let text = String::from_utf8(output.stdout).unwrap();
    let document = text.find('{').map(|at| serde_json::from_str(&text[at..]).unwrap());
    (output.status.success(), document)
}

/// Relative names of all regular files under a folder.
fn regular_files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// The entries that fio 3.33 reports: one for each job, or for each group of jobs with
/// `group_reporting` (stat.c, `__show_run_stats`).
fn reported(script: &Script) -> Vec<(String, u32)> {
    let mut entries = Vec::new();
    let mut last = None;
    for job in script.phases.iter().flat_map(|phase| &phase.jobs) {
        let threads = &job.job.threads;
        if !threads.group_reporting || last != Some(threads.group) {
            entries.push((job.job.name.clone(), threads.group));
        }
        last = Some(threads.group);
    }
    entries
}

/// First and last time in a job's latency log, ms.
fn span(folder: &Path, number: u32) -> Option<(u64, u64)> {
    let log = fs::read_to_string(folder.join(format!("log_lat.{}.log", number + 1))).ok()?;
    let mut times = log.lines().map(|line| line.split(',').next().unwrap().parse().unwrap());
    let first = times.next()?;
    Some((first, times.next_back().unwrap_or(first)))
}

/// Checks that the jobs of a phase start when all jobs of the previous one are done, and that
/// longer jobs of a phase overlap in time.
fn assert_phases_follow(script: &Script, folder: &Path, file: &str) {
    let mut before = 0;
    for phase in &script.phases {
        let spans = phase.jobs.iter().filter_map(|job| span(folder, job.job.threads.number));
        let spans: Vec<_> = spans.collect();
        let begin = spans.iter().map(|(first, _)| *first).min().unwrap_or(before);
        assert!(before <= begin, "{file}: a phase begins at {begin}, the last ended at {before}");
        if phase.jobs.iter().all(|job| job.job.pace.thinktime_ns > 0) {
            let first_end = spans.iter().map(|(_, last)| *last).min().unwrap();
            let last_begin = spans.iter().map(|(first, _)| *first).max().unwrap();
            assert!(last_begin <= first_end, "{file}: one after the other: {spans:?}");
        }
        before = spans.iter().map(|(_, last)| *last).max().unwrap_or(before);
    }
}

/// Jobs, their order, names, groups, files and phases are the same as in fio.
#[test]
fn job_files_run_as_fio_runs_them() {
    if fio_is_left_out() {
        return;
    }
    let jobs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs");
    let mut compared = 0;
    for entry in fs::read_dir(&jobs).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "fio") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let file = path.to_str().unwrap();
        let script = {
            let line = command_line(&[file]);
            let sections =
                line.load(&OptionTable, &environment(&|path| std::fs::read(path))).unwrap();
            compile(&sections, &CompileOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
        };
        let folder = folder(name);
        let (content, document) =
            fio(&folder, &["--write_lat_log=log", "--log_unix_epoch=1", file]);
        assert!(content, "{name}: fio failed");
        let document = document.unwrap();
        let found: Vec<(String, u32)> = document["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| {
                let group = job["groupid"].as_u64().unwrap();
                (job["jobname"].as_str().unwrap().to_owned(), u32::try_from(group).unwrap())
            })
            .collect();
        assert_eq!(reported(&script), found, "{name}");

        let mut files = regular_files(&folder);
        files.retain(|file| !file.starts_with("log_"));
        let ours: BTreeSet<String> =
            paths(&script).into_iter().flatten().map(ToOwned::to_owned).collect();
        if ours.iter().any(|path| path.starts_with("/dev/")) {
            assert!(files.is_empty(), "{name}: {files:?}");
        } else {
            assert_eq!(ours, files, "{name}");
        }
        for job in script.phases.iter().flat_map(|phase| &phase.jobs) {
            let made_io = span(&folder, job.job.threads.number).is_some();
            assert_eq!(made_io, !job.job.files.paths.is_empty(), "{name}: {}", job.job.name);
        }
        assert_phases_follow(&script, &folder, name);
        compared += 1;
    }
    assert!(compared >= 15, "only {compared} job files in {}", jobs.display());
}

/// `own options` are fio's "job options", and `global` its "global options".
#[test]
fn own_and_global_options_are_kept_apart_as_in_fio() {
    if fio_is_left_out() {
        return;
    }
    let folder = folder("written");
    fs::write(
        folder.join("x.fio"),
        "[global]\nrw=write\nsize=8k\n[a]\nbs=4k\n[b]\nsize=4k\nnumjobs=2\n",
    )
    .unwrap();
    let words = ["--iodepth=2", "--name=c", "--rw=write", "--size=4k", "x.fio"];
    let line = command_line(&words);
    let read = |path: &str| fs::read(folder.join(path));
    let sections = line.load(&OptionTable, &environment(&read)).unwrap();
    let script = compile(&sections, &CompileOptions::default()).unwrap();
    let (content, document) = fio(&folder, &words);
    assert!(content);
    let document = document.unwrap();
    let written = |options: &[(String, Option<String>)]| -> BTreeMap<String, String> {
        options.iter().map(|(n, v)| (n.clone(), v.clone().unwrap_or_default())).collect()
    };
    let fios = |value: &Value| -> BTreeMap<String, String> {
        let options = value.as_object().unwrap().iter();
        options
            .filter(|(name, _)| *name != "name")
            .map(|(n, v)| (n.clone(), v.as_str().unwrap().to_owned()))
            .collect()
    };
    assert_eq!(written(&script.global), fios(&document["global options"]));
    let jobs: Vec<_> = script.phases.iter().flat_map(|phase| &phase.jobs).collect();
    let theirs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), theirs.len());
    for (job, theirs) in jobs.iter().zip(theirs) {
        let section = &script.sections[job.section];
        assert_eq!(section.name, theirs["jobname"].as_str().unwrap());
        assert_eq!(written(&section.options), fios(&theirs["job options"]), "{}", section.name);
    }
}

#[test]
fn jobs_that_fio_refuses_are_refused() {
    let by_fio: &[(&str, &str)] = &[
        ("[a]\nwait_for=b\n[b]\n", "line 2: `wait_for=b`: no job before it"),
        ("[a]\nwait_for=a\n", "line 2: job `a` waits for itself"),
        ("[b]\n[b]\n[a]\nwait_for=b\n", "line 4: `wait_for=b`: 2 jobs"),
        (
            "[global]\ngroup_reporting\n[a]\n[b]\nlat_percentiles=1\n",
            "line 4: job `b`: lat_percentiles differs",
        ),
        ("[a]\niodeth=32\n", "line 2: there is no option `iodeth`; did you mean `iodepth`?"),
        ("[a]\nrate=1m\nrate_iops=100\n", "line 1: job `a`: rate and rate_iops"),
    ];
    let left_out = fio_is_left_out();
    let folder = folder("refused");
    for (text, expected) in by_fio {
        let error = refused(text, &CompileOptions::default());
        assert!(error.to_string().starts_with(&format!("x.fio {expected}")), "{error}");
        if !left_out {
            // Without the refused section there is no job to run.
            fs::write(folder.join("x.fio"), format!("[global]\nsize=4k\n{text}")).unwrap();
            assert!(!fio(&folder, &["x.fio"]).0, "fio takes {text}");
        }
    }
}

#[test]
fn all_errors_are_reported_at_once_and_each_once() {
    let text =
        "[global]\niodeth=32\n[a]\nbs=four\nexec_prerun=rm x\n[b]\nioengine=sg\nwait_for=c\n";
    let ScriptErrors(errors) = refused(text, &CompileOptions::default());
    let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    for (line, expected) in lines.iter().zip([
        "x.fio line 2: there is no option `iodeth`; did you mean `iodepth`?",
        "x.fio line 4: `bs=four`",
        "x.fio line 5: `exec_prerun=rm x` would run a command",
        "x.fio line 7: `ioengine=sg` is not supported by the native generator",
        "x.fio line 8: `wait_for=c`: no job before it has this name; the last are a",
    ]) {
        assert!(line.starts_with(expected), "{line}");
    }
    assert!(lines[3].contains("--generator fio"));
}

#[test]
fn fio_gets_what_only_fio_does() {
    let text = "[a]\nioengine=sg\nexec_prerun=true\nsize=1m\n";
    let how = CompileOptions { for_fio: true, exec: true, ..CompileOptions::default() };
    let script = compile(&sections(text), &how).unwrap();
    assert_eq!(script.sections[0].options[0], ("ioengine".into(), Some("sg".into())));
    let ScriptErrors(errors) =
        refused(text, &CompileOptions { for_fio: true, ..CompileOptions::default() });
    assert!(matches!(errors[..], [ScriptError::Command { option: "exec_prerun", .. }]));
    for never in ["bs=x", "ioengine=libpmem", "profile=act", "ioengine=sg\nrw=write"] {
        let ScriptErrors(errors) = refused(&format!("[a]\n{never}\n"), &how);
        assert_eq!(errors.len(), 1, "{never}");
    }
    let ScriptErrors(errors) = refused("[a]\nioengine=sg\nrw=write\n", &CompileOptions::default());
    assert!(!errors[0].to_string().contains("--generator"), "{}", errors[0]);
}

#[test]
fn readonly_refuses_writers() {
    let how = CompileOptions { readonly: true, ..CompileOptions::default() };
    let ScriptErrors(errors) =
        refused("[a]\nrw=randrw\n[b]\nrw=read\n[c]\nfilename=/dev/x\nrw=trim\n", &how);
    let jobs: Vec<_> = errors
        .iter()
        .map(|error| match error {
            ScriptError::Writes { job, .. } => job.as_str(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(jobs, ["a", "c"]);
}

#[test]
fn a_device_name_split_at_its_colons_is_refused_with_the_escaped_form() {
    let text = "[a]\nfilename=/dev/disk/by-path/pci-0000:01:00.0-nvme-1\n";
    let error = refused(text, &CompileOptions::default()).to_string();
    assert!(error.contains(r"filename=/dev/disk/by-path/pci-0000\:01\:00.0-nvme-1"), "{error}");
    let text = text.replace(':', "\\:");
    assert_eq!(paths(&script(&text)), [["/dev/disk/by-path/pci-0000:01:00.0-nvme-1"]]);
}

#[test]
fn clones_are_numbered_as_fio_numbers_them() {
    let script = script("[a]\nnumjobs=3\n[b]\n");
    let [phase] = &script.phases[..] else { panic!("{} phases", script.phases.len()) };
    let numbers: Vec<_> = phase
        .jobs
        .iter()
        .map(|job| (job.job.name.as_str(), job.job.threads.number, job.job.threads.clone))
        .collect();
    assert_eq!(numbers, [("a", 0, 0), ("a", 1, 2), ("a", 2, 1), ("b", 3, 0)]);
}

#[test]
fn the_command_line_counts_in_the_order_written() {
    let words = ["--filename=x", "--directory=d1", "--name=a", "--name=b", "--filename=y:z"];
    let line = command_line(&[&words[..], &["--directory=d2", "--nrfiles=2"]].concat());
    let sections = line.load(&OptionTable, &environment(&|path| std::fs::read(path))).unwrap();
    let script = compile(&sections, &CompileOptions::default()).unwrap();
    assert_eq!(paths(&script), [vec!["x"], vec!["x", "d1/y"]]);
    assert!(script.notes.iter().any(|note| note.contains("2 of 3 files")), "{:?}", script.notes);
}

#[test]
fn files_on_the_command_line_are_phases() {
    let read = |path: &str| Ok(format!("[{path}-1]\n[{path}-2]\n").into_bytes());
    let line = command_line(&["--name=a", "one", "two"]);
    let sections = line.load(&OptionTable, &environment(&read)).unwrap();
    let script = compile(&sections, &CompileOptions::default()).unwrap();
    let names: Vec<Vec<&str>> = script
        .phases
        .iter()
        .map(|phase| phase.jobs.iter().map(|job| job.job.name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["a", "one-1", "one-2"], vec!["two-1", "two-2"]]);
    let groups: Vec<_> = script.phases.iter().map(|p| p.jobs[0].job.threads.group).collect();
    assert_eq!(groups, [0, 1]);
    assert!(script.sections.iter().all(|section| section.options.is_empty()));
}

#[test]
fn surprises_are_noted() {
    let noted = |text: &str, expected: &str| {
        let notes = script(text).notes;
        assert!(notes.iter().any(|note| note.contains(expected)), "{expected}: {notes:#?}");
    };
    noted("[a]\nioengine=psync\niodepth=32\n", "iodepth=32");
    noted("[a]\ntime_based\nsize=4k\n", "time_based");
    noted("[a]\nfilename_format=x\nnumjobs=2\n", "make no I/O");
    noted(
        "[global]\nfilename=a\n[x]\nfilename=b\n[y]\n",
        "beside the job's own, as in fio: a, b (job x)",
    );
    noted("[global]\nfilename=a\n[x]\ndirectory=d\n", "directory does not hold for filename=a");
    noted("[a]\ndirectory=d\nfilename=/dev/sda\n", "d//dev/sda");
    noted("[a]\nstartdelay=1\n[b]\nstonewall\n", "a stonewall does not wait (job a)");
    let writers = "[a]\nrw=write\nfilename=x\n[b]\nfilename=x\n[c]\nfilename=y\n";
    noted(writers, "2 jobs use x at the same time, and write (job a, b)");
    for silent in [
        writers.replace("[b]\n", "[b]\nstonewall\n"),
        writers.replace("rw=write", "rw=read"),
        "[a]\nstartdelay=1\n[b]\n".into(),
        "[a]\nrw=write\nfilename=x\nsize=1m\nnumjobs=2\noffset_increment=1m\n".into(),
    ] {
        let notes = script(&silent).notes;
        assert!(notes.is_empty(), "{silent}: {notes:?}");
    }
}

#[test]
fn a_section_named_after_a_device_means_the_device() {
    let how =
        CompileOptions { is_special: &|name| name == "/dev/nvme0n1", ..CompileOptions::default() };
    let text = "[/dev/nvme0n1]\nrw=trim\nnumjobs=2\n[/dev/nvme0n2]\n";
    let script = compile(&sections(text), &how).unwrap();
    assert_eq!(paths(&script), [["/dev/nvme0n1"], ["/dev/nvme0n1"], ["/dev/nvme0n2.0.0"]]);
}

#[test]
fn a_missing_size_is_noticed() {
    for (text, missed) in [
        ("[a]\n", true),
        ("[a]\nsize=0\n", true),
        ("[a]\nsize=20%\n", false),
        ("[a]\nfilesize=1m\n", false),
        ("[a]\nfill_device=1\nrw=write\n", false),
    ] {
        assert_eq!(script(text).phases[0].jobs[0].needs_size, missed, "{text}");
    }
}

#[test]
fn overrides_come_last_and_replace_files() {
    let entry = |name: &str, value: &str| Entry {
        name: name.into(),
        value: Some(value.into()),
        place: Place::command_line(),
    };
    let overrides = [entry("size", "4k"), entry("filename", "scratch")];
    let how = CompileOptions { overrides: &overrides, ..CompileOptions::default() };
    let text = "[global]\nfilename=/dev/sda\n[a]\nfilename=/dev/sdb\nsize=1t\n";
    let script = compile(&sections(text), &how).unwrap();
    assert_eq!(paths(&script), [["scratch"]]);
    let size = script.phases[0].jobs[0].job.space.size;
    assert_eq!(size, Some(iodyno_job::Amount::Bytes(4096)));
    assert_eq!(script.sections[0].options[0].1.as_deref(), Some("/dev/sdb"));
}

#[test]
fn too_many_jobs_and_files_are_refused() {
    let error = refused("[a]\nnumjobs=4096\n[b]\n", &CompileOptions::default()).to_string();
    assert!(error.starts_with("x.fio line 3: job `b` makes more than 4096 jobs"), "{error}");
    let error =
        refused("[a]\nnrfiles=1000\nnumjobs=2000\n", &CompileOptions::default()).to_string();
    assert!(error.contains("files over all jobs"), "{error}");
}

/// CPU time of this thread so far, ns.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn the_time_for_options_grows_with_their_number() {
    let spent = |line: &dyn Fn(usize) -> String, lines: usize| {
        let own: String = (0..lines).map(line).collect();
        let text = format!("[a]\nrw=randread\nsize=1m\ndirectory=d\n{own}");
        let from = cpu_ns();
        let _ = compile(&sections(&text), &CompileOptions::default());
        cpu_ns() - from
    };
    let kinds: [(&str, &dyn Fn(usize) -> String); 5] = [
        ("bs", &|_| "bs=4k\n".into()),
        ("filename", &|_| "filename=x\n".into()),
        ("absolute", &|n| format!("filename=/x{n}\n")),
        ("directory", &|n| format!("directory=d{n}\nfilename=f{n}\n")),
        ("ioscheduler", &|_| "ioscheduler=none\n".into()),
    ];
    for (kind, line) in kinds {
        // Quadratic time would be 16 times as long for 4 times as many.
        let ratio = (0..3)
            .map(|_| spent(line, 4_000) as f64 / spent(line, 1_000).max(1) as f64)
            .fold(f64::INFINITY, f64::min);
        assert!(ratio < 9.0, "{kind}: {ratio:.1} times as long for 4 times as many");
    }
}

#[test]
fn inherited_options_do_not_multiply_without_end() {
    let global = "bs=4k\n".repeat(10_000);
    let jobs: String = (0..4000).map(|n| format!("[j{n}]\n")).collect();
    let text = format!("[global]\n{global}{jobs}");
    let read = |path: &str| panic!("{path} is not to be read");
    let error = parse_file(text.as_bytes(), "x.fio", &environment(&read)).unwrap_err();
    assert!(error.to_string().contains("more than 1048576 options"), "{error}");
}

#[test]
fn kb_base_of_a_section_leaves_what_it_inherits() {
    let script = script("[global]\nsize=4m\nbs=4k\n[a]\nkb_base=1000\nio_size=2k\n[b]\nrw=read\n");
    let of = |n: usize| &script.phases[0].jobs[n].job;
    assert_eq!(of(0).pattern.bs.read, iodyno_job::BlockSize::Fixed(4096));
    assert_eq!(of(0).space.size, of(1).space.size);
    assert_eq!(of(0).space.io_size, Some(iodyno_job::Amount::Bytes(2000)));
}

#[test]
fn options_of_a_file_included_in_global_are_inherited() {
    let read = |path: &str| match path {
        "inc.inc" => Ok(b"direct=1\n".to_vec()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    let text = "[global]\nsize=4m\ninclude inc.inc\n[a]\nbs=8k\n";
    let file = parse_file(text.as_bytes(), "x.fio", &environment(&read)).unwrap();
    let script = compile(&file.sections, &CompileOptions::default()).unwrap();
    let names = |options: &[(String, Option<String>)]| -> Vec<String> {
        options.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&script.global), ["size", "direct"]);
    assert_eq!(names(&script.sections[0].options), ["bs"]);
}
