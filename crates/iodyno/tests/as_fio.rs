//! Tests iodyno called as fio, by a link of that name, as callers of fio use it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Loop, World, json, says, status, text};
use crate::run::document;

/// A link named `fio` in a folder of its own, to be put first in PATH.
fn link(world: &World) -> std::path::PathBuf {
    let link = world.directory("bin").join("fio");
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_iodyno"), &link).unwrap();
    }
    link
}

fn command(world: &World, line: &str) -> Command {
    let mut command = world.with_environment(Command::new(link(world)));
    command.current_dir(world.directory("work")).args(line.split_whitespace());
    command
}

fn fio(world: &World, line: &str) -> Output {
    command(world, line).output().unwrap()
}

/// Returns standard output of a successful call; standard error must be empty.
#[track_caller]
fn fine(world: &World, line: &str) -> String {
    let output = fio(world, line);
    status(&output, 0);
    assert_eq!(text(&output.stderr), "", "{line}");
    text(&output.stdout)
}

const JOB: &str = "--name=t --size=64k --bs=4k";

#[test]
fn a_version_is_fios_and_nothing_else() {
    let world = World::new();
    for line in ["--version", "-v", "--version --nonsense"] {
        assert_eq!(fine(&world, line), "fio-3.42\n");
    }
    let by_word = world.run(&["fio", "--version"]);
    assert_eq!(text(&by_word.stdout), "fio-3.42\n");
    // The link is refused where the real fio is required.
    let mut run = world.command();
    run.args(["run", "--generator", "fio", "--fio"]).arg(link(&world)).args(["--name=t"]);
    says(&run.output().unwrap(), 2, "is not fio");
}

#[test]
fn pages_are_laid_out_as_fios() {
    let world = World::new();
    let engines = fine(&world, "--enghelp");
    assert!(engines.starts_with("Available IO engines:\n"), "{engines}");
    assert!(!engines.contains("\taio\n") && !engines.contains("\tlinuxaio\n"), "{engines}");
    assert!(fine(&world, "--enghelp=libaio").contains("cmdprio_percentage"));
    for engine in ["\tpsync\n", "\tlibaio\n", "\tio_uring\n"] {
        assert!(engines.contains(engine), "{engines}");
    }
    assert!(fine(&world, "--enghelp=io_uring").contains("sqthread_poll"));
    assert!(fine(&world, "--enghelp=io_uring,hipri").starts_with("               hipri: "));
    assert_eq!(fine(&world, "--enghelp=psync"), "IO engine psync has no options\n");
    let rw = fine(&world, "--cmdhelp=rw");
    assert!(rw.contains("\n               alias: readwrite\n"), "{rw}");
    assert!(rw.contains("\n                    : randwrite\n"), "{rw}");
    // Options that only fio implements are not listed: scripts probe for them so.
    let zones = fine(&world, "--cmdhelp=zonemode");
    assert!(zones.contains("strided") && !zones.contains(": zbd"), "{zones}");
    assert!(fine(&world, "--cmdhelp=all").lines().count() > 150);
    assert!(fine(&world, "--help").contains("job file"));
    says(&fio(&world, "--enghelp=nosuch"), 1, "IO engine nosuch not found");
    says(&fio(&world, "--cmdhelp=nosuch"), 0, "No such command: nosuch");
}

#[test]
fn only_looking_changes_nothing_and_has_fios_status() {
    let world = World::new();
    let file = "[global]\nbs=8k\n[a]\nrw=write\nsize=64k\nioengine=pvsync\n";
    fs::write(world.directory("work").join("a.fio"), file).unwrap();
    assert_eq!(fine(&world, "--parse-only a.fio"), "");
    assert_eq!(fine(&world, "--parse-only --name=t --read_iolog=not-there-yet"), "");
    let shown = fine(&world, "--warnings-fatal --showcmd a.fio");
    assert_eq!(shown, "fio --name=a --bs=8k --rw=write --size=64k --ioengine=pvsync\n");
    for line in ["--parse-only --name=t --bs=foo", "--showcmd --name=t --nonsense=1", "gone.fio"] {
        let output = fio(&world, line);
        status(&output, 1);
        assert!(output.stdout.is_empty() && text(&output.stderr).starts_with("fio: "));
    }
    let output = fio(&world, "--readonly --name=t --rw=write --size=4k");
    status(&output, 1);
    assert_eq!(world.files("work"), ["a.fio"]);
}

#[test]
fn debug_shows_options_as_they_are_read_and_seeds() {
    let world = World::new();
    let out = fine(&world, "--parse-only --debug=parse --ss_dur=10s --ss=iops:10% --ss_ramp=5");
    assert!(out.starts_with("fio: set debug option parse\nparse "), "{out}");
    assert!(out.contains("handle_option=steadystate_duration, ptr=10s\n"), "{out}");
    assert!(out.contains("set steady state threshold to 10.000000%\n"), "{out}");
    let bandwidth = fine(&world, &format!("--parse-only --debug=parse {JOB} --ss=bw:12"));
    assert!(bandwidth.contains("set steady state BW threshold to 12\n"), "{bandwidth}");
    let seeds = |options: &str| {
        let line = format!("--debug=random --ioengine=null --output=x {JOB} {options}");
        assert_eq!(fine(&world, &line), "fio: set debug option random\n");
        let report = fs::read_to_string(world.directory("work").join("x")).unwrap();
        assert!(report.starts_with("random ") && report.contains("FIO_RAND_NR_OFFS=5\n"));
        let seeds: Vec<String> = report
            .lines()
            .filter_map(|line| line.split_once("rand_seeds[")?.1.split_once('='))
            .map(|(_, seed)| seed.to_owned())
            .collect();
        assert_eq!(seeds.len(), 5, "{report}");
        seeds
    };
    assert_eq!(seeds("--randrepeat=1"), seeds("--allrandrepeat=1"));
    assert_ne!(seeds("--randrepeat=0"), seeds("--randrepeat=0"));
    assert_eq!(seeds("--randrepeat=0 --randseed=7"), seeds("--randseed=7"));
    assert_ne!(seeds("--randseed=8"), seeds("--randseed=7"));
    status(&fio(&world, &format!("--debug=nonsense {JOB}")), 1);
}

#[test]
fn warnings_are_errors_where_that_was_asked_for() {
    let world = World::new();
    let job = format!("{JOB} --ioengine=null --time_based");
    fine(&world, &job);
    let output = fio(&world, &format!("--warnings-fatal {job}"));
    status(&output, 1);
    let told = text(&output.stderr);
    assert!(told.starts_with("fio: ") && told.contains("time_based needs a runtime"), "{told}");
    // Notes are iodyno's, and do not count as fio's warnings.
    fine(&world, &format!("--warnings-fatal --thread {JOB} --ioengine=null"));
}

#[test]
fn a_log_that_was_stored_compressed_is_inflated() {
    let world = World::new();
    let job =
        format!("{JOB} --ioengine=null --write_bw_log=l --log_offset=1 --log_compression=10k");
    fine(&world, &format!("{job} --log_store_compressed=1"));
    let inflated = fine(&world, "--inflate-log=l_bw.1.log.fz");
    let offsets = inflated.lines().map(|line| line.split(", ").nth(4).unwrap());
    let expected = (0..16).map(|block| (block << 12).to_string());
    assert!(offsets.eq(expected), "{inflated}");
    status(&fio(&world, "--inflate-log=missing"), 1);
    fine(&world, &job);
    status(&fio(&world, "--inflate-log=l_bw.1.log"), 1);
}

#[test]
fn output_is_normal_by_default_and_nothing_is_said_beside_it() {
    let world = World::new();
    // `iodyno run` prints notes for each of these options.
    let out =
        fine(&world, &format!("--debug=io --alloc-size=9 --max-jobs=4 --thread --iodepth=8 {JOB}"));
    let begin = "t: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=8\nfio-3.42";
    assert!(out.starts_with(begin), "{out}");
    for line in [
        "\nStarting 1 thread\n\nt: (groupid=0, jobs=1): err= 0: pid=",
        "\nRun status group 0 (all jobs):\n",
    ] {
        assert!(out.contains(line), "{out}");
    }
    assert!(!out.contains("zone resets") && out.contains("target=0.00ns, window=0.00ns"), "{out}");
    let into_file = fine(&world, &format!("--output=out --output-format=json {JOB}"));
    assert_eq!(into_file, "");
    let document = json(&fs::read(world.path("work/out")).unwrap());
    assert_eq!(document["jobs"][0]["latency_target_ns"], 0);
    let (terse, usual) = (fine(&world, &format!("--minimal {JOB}")), fine(&world, JOB));
    assert!(terse.starts_with("3;fio-3.42") && usual.starts_with("t: (g=0)"), "{terse}{usual}");
    // fio's own order, whatever the order asked for.
    let all = fine(&world, &format!("--output-format=normal,json,json+,terse {JOB}"));
    let begins = |line: &str| all.find(line).unwrap_or_else(|| panic!("no {line:?}: {all}"));
    let places = ["t: (g=0)", "\n3;fio-3.42", "\n{\n", "\nt: (groupid=0"].map(begins);
    assert!(places.is_sorted() && all.matches("\n{\n").count() == 1, "{all}");
}

#[test]
fn each_job_that_fails_counts_in_the_exit_status() {
    let world = World::new();
    fine(&world, &format!("{JOB} --rw=write --verify=crc32c --do_verify=0 --filename=data"));
    let line = "--size=64k --bs=4k --rw=read --filename=data --verify=md5 --name=a --name=b";
    let output = fio(&world, line);
    status(&output, 2);
    assert!(text(&output.stdout).contains("err=84"), "{}", text(&output.stdout));
    let output = fio(&world, &format!("{line} --output-format=json"));
    assert_eq!(json(&output.stdout)["jobs"][1]["error"], 84);
}

#[test]
#[ignore = "needs root"]
fn the_guard_asks_on_standard_error_and_is_answered_by_its_words() {
    let world = World::new();
    let drive = Loop::new(&world, "image", 1 << 20);
    let job = format!("--rw=write --filename={} {JOB}", drive.device);
    let before = drive.bytes();
    let output = fio(&world, &job);
    status(&output, 1);
    let said = text(&output.stderr);
    assert!(said.starts_with("fio: ") && said.contains(drive.name()), "{said}");
    assert!(before == drive.bytes(), "a refusal writes nothing");
    let word = drive.word();
    fine(&world, &format!("{job} --allow-write {word} --discard-data {word}"));
    assert!(before != drive.bytes());
    // Callers that pass the permission to each call also pass it to read-only ones.
    let job = format!("--rw=read --filename={} {JOB}", drive.device);
    fine(&world, &format!("{job} --allow-write {word} --discard-data {word}"));
    // An empty file made for the job needs no permission, nor do files that jobs create.
    let work = world.directory("work");
    fs::write(work.join("touched"), "").unwrap();
    fine(&world, &format!("--rw=write --filename=touched {JOB}"));
    fine(&world, &format!("--rw=randwrite --filename=touched:made {JOB}"));
    fs::write(work.join("full"), vec![1; 1 << 16]).unwrap();
    status(&fio(&world, &format!("--rw=write --filename=full {JOB}")), 1);
    assert_eq!(fs::read(work.join("full")).unwrap(), vec![1; 1 << 16]);
}

const LONG: &str = "--name=t --size=64k --bs=4k --time_based --runtime=600 --rate_iops=100";

/// Reads until the output contains `word`.
fn read_until(output: &mut impl Read, word: &str) -> String {
    let mut reader = BufReader::new(output);
    let mut all = String::new();
    while !all.contains(word) {
        assert!(reader.read_line(&mut all).unwrap() > 0, "{word} is missing in {all}");
    }
    all
}

#[test]
fn a_signal_asks_for_a_report_and_another_one_ends_with_128() {
    let world = World::new();
    let mut child = command(&world, &format!("--eta=always --eta-newline=1 {LONG}"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    // The line ends with a carriage return, and with a line feed before the next.
    let line = read_until(&mut output, "IOPS][eta ");
    assert!(line.contains("Jobs: 1 (f=1): [R(1)]["), "{line}");
    signal("-USR1");
    let interim = read_until(&mut output, "Run status group 0");
    assert_eq!(interim.matches("t: (groupid=0, jobs=1): err= 0: pid=").count(), 1, "{interim}");
    signal("-INT");
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("t: (groupid=0"), "what was measured is printed: {rest}");
    assert_eq!(child.wait().unwrap().code(), Some(128));
}

#[test]
fn a_trigger_ends_the_run_and_runs_its_command() {
    let world = World::new();
    let work = world.directory("work");
    let ended = |line: &str| {
        let mut command = command(&world, &format!("{LONG} {line}"));
        let output = command.arg("--trigger=echo pulled > pulled").output().unwrap();
        status(&output, 0);
        assert_eq!(text(&output.stderr), "");
        assert_eq!(fs::read_to_string(work.join("pulled")).unwrap(), "pulled\n");
        fs::remove_file(work.join("pulled")).unwrap();
    };
    ended("--trigger-timeout=1");
    fs::write(work.join("file"), "").unwrap();
    ended("--trigger-file=file");
    assert!(!work.join("file").exists(), "it would end the next run");
    // iodyno must not remove a file with data.
    fs::write(work.join("file"), "data").unwrap();
    ended("--trigger-file=file");
    assert!(work.join("file").exists());
    let mut run = world.command();
    run.current_dir(&work).arg("run").args(LONG.split(' '));
    let output = run.args(["--trigger-timeout=1", "--trigger=true"]).output().unwrap();
    says(&output, 2, "--allow-exec");
}

#[test]
fn idle_cpus_stand_behind_the_report() {
    let world = World::new();
    let job = format!("{JOB} --time_based --runtime=1");
    let document =
        json(fine(&world, &format!("--idle-prof=percpu --output-format=json {job}")).as_bytes());
    let idle = &document["cpu_idleness"];
    for name in ["system", "cpu-0"] {
        assert!((0.0..=100.0).contains(&idle[name].as_f64().unwrap()), "{idle}");
    }
    assert!(idle["unit_mean"].as_f64().unwrap() > 0.0);
    let normal = fine(&world, &format!("--idle-prof=system {JOB}"));
    let at = normal.find("\nCPU idleness:\n  system: ").unwrap();
    assert!(normal[at..].contains("\n  unit work: mean="), "{normal}");
    assert!(fine(&world, "--idle-prof=calibrate").starts_with("CPU idleness:\n  unit work: mean="));
}

#[test]
fn commands_of_jobs_run_in_a_shell_as_with_fio() {
    let world = World::new();
    let mut command = command(&world, JOB);
    let output = command.arg("--exec_prerun=echo before > before").output().unwrap();
    status(&output, 0);
    let path = world.path("work");
    assert_eq!(fs::read_to_string(Path::new(&path).join("before")).unwrap(), "before\n");
}

#[test]
fn options_are_repeated_as_fio_has_them() {
    let world = World::new();
    let line = format!("--output-format=json {JOB} --group_reporting --rate_iops=1000");
    let document = json(fine(&world, &line).as_bytes());
    let options = &document["jobs"][0]["job options"];
    for (name, value) in [("name", "t"), ("group_reporting", ""), ("rate_iops", "1000")] {
        assert_eq!(options[name], value, "{options}");
    }
}

#[test]
fn an_error_that_a_job_goes_on_from_is_no_failure() {
    let world = World::new();
    fine(&world, &format!("{JOB} --rw=write --filename=data"));
    let line = format!("--filename=data --verify=md5 --verify_dump=1 --output-format=json {JOB}");
    let output = fio(&world, &format!("{line} --continue_on_error=all"));
    says(&output, 0, "fio: verify: offset 0: ");
    let dump = Path::new(&world.path("work")).join("data.0.received");
    assert_eq!(fs::metadata(dump).unwrap().len(), 4096);
    let document = json(&output.stdout);
    let job = &document["jobs"][0];
    assert_eq!((&job["error"], &job["total_err"]), (&84.into(), &16.into()), "{job}");
    let output = fio(&world, &line);
    says(&output, 1, "err=84/verify: ");
}

#[test]
fn interim_documents_say_what_threads_use() {
    let world = World::new();
    let line = "--name=t --size=64k --bs=4k --time_based --runtime=3 --status-interval=1 --output-format=json";
    let printed = fine(&world, line);
    let documents: Vec<_> =
        serde_json::Deserializer::from_str(&printed).into_iter().map(Result::unwrap).collect();
    let interim: &[serde_json::Value] = &documents[..documents.len() - 1];
    assert!(!interim.is_empty(), "{printed}");
    for document in interim {
        let job = &document["jobs"][0];
        let cpu = job["usr_cpu"].as_f64().unwrap() + job["sys_cpu"].as_f64().unwrap();
        assert!(cpu > 0.0 && cpu < 150.0 && job["ctx"].as_u64().unwrap() > 0, "{job}");
    }
}

#[test]
fn trims_are_counted_by_block() {
    let world = World::new();
    fine(&world, &format!("{JOB} --rw=write --filename=data"));
    let line = format!(
        "{JOB} --filename=data --ioengine=falloc --rw=trim --io_size=96k --block_error_percentiles=1"
    );
    let block =
        &json(fine(&world, &format!("{line} --output-format=json")).as_bytes())["jobs"][0]["block"];
    let percentiles = &block["percentiles"];
    let known = [&percentiles["1.000000"], &percentiles["40.000000"], &percentiles["60.000000"]];
    assert_eq!(known, [1, 1, 2], "{block}");
    assert_eq!(
        (&block["states"]["trimmed"], &block["states"]["unwritten"]),
        (&16.into(), &0.into())
    );
    let normal = fine(&world, &line);
    for lines in
        ["  block lifetime percentiles :\n   | 1.00th=1, ", " unwritten=0, trimmed=16, written=0,"]
    {
        assert!(normal.contains(lines), "{normal}");
    }
    let output = fio(&world, &format!("{line} --bs=96k"));
    status(&output, 1);
}

#[test]
fn behind_a_link_of_its_name_the_real_fio_is_found() {
    let world = World::new();
    let mut folders = vec![link(&world).parent().unwrap().to_owned()];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let mut run = world.command();
    run.args(["run", "--generator", "fio", "--name=t", "--size=64k", "--rw=read"]);
    run.env("PATH", std::env::join_paths(folders).unwrap());
    status(&run.output().unwrap(), 0);
}

#[test]
fn options_stay_with_their_job_beside_one_that_makes_no_io() {
    let world = World::new();
    let file =
        "[global]\nsize=64k\n[first]\nbs=8k\n[made]\ncreate_only=1\nbs=16k\n[last]\nbs=32k\n";
    fs::write(world.path("made.fio"), file).unwrap();
    let document = document(&world, &["made.fio"]);
    let jobs = document["jobs"].as_array().unwrap();
    for (name, bs) in [("first", "8k"), ("last", "32k")] {
        let job = jobs.iter().find(|job| job["jobname"] == name).unwrap();
        assert_eq!(job["job options"]["bs"], bs, "{job}");
    }
}

#[test]
fn the_time_of_a_libaio_job_does_not_include_the_end_of_its_context() {
    let world = World::new();
    let job = ["--name=t", "--rw=randread", "--size=1m", "--ioengine=libaio"];
    let document = document(&world, &[&job[..], &["--rate_iops=1000", "--number_ios=85"]].concat());
    let job = &document["jobs"][0];
    let (counted, whole) = (&job["read"]["runtime"], &job["job_runtime"]);
    assert!(counted.as_u64().unwrap() <= whole.as_u64().unwrap() + 1, "{job}");
}

#[test]
fn averages_of_a_synchronous_engine_are_in_the_log_of_completions() {
    let world = World::new();
    let job = ["--name=t", "--rw=randread", "--size=1m", "--write_lat_log=l", "--log_avg_msec=50"];
    status(&world.jobs(&[&job[..], &["--rate_iops=1000", "--number_ios=150"]].concat()), 0);
    let rows = |name: &str| fs::read_to_string(world.path(name)).unwrap().lines().count();
    assert_eq!(rows("l_clat.1.log"), rows("l_lat.1.log"));
    assert!(rows("l_clat.1.log") > 1);
}

#[test]
fn a_read_only_run_lays_out_no_file() {
    let world = World::new();
    let job = ["run", "--readonly", "--name=t", "--rw=read", "--size=64k", "--filename=none"];
    world.refused(&job, &["--readonly", "none"]);
    assert!(!world.path("none").exists());
    status(&world.jobs(&["--name=t", "--rw=read", "--size=64k", "--filename=none"]), 0);
    status(&world.run(&job), 0);
    world.refused(&[&job[..], &["--size=128k"]].concat(), &["too short"]);
    assert_eq!(fs::metadata(world.path("none")).unwrap().len(), 64 << 10);
}

#[test]
fn an_empty_prefix_of_a_log_is_the_jobs_name() {
    let world = World::new();
    let file = "[a]\nsize=64k\nrw=read\nwrite_lat_log=\n";
    fs::write(world.path("log.fio"), file).unwrap();
    status(&world.jobs(&["log.fio"]), 0);
    assert!(world.path("a_lat.1.log").exists());
}
