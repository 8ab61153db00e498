//! Tests data written by one run and verified by another (`verify_state_save`,
//! `verify_state_load`), and trims of verified data.

use std::fs;
use std::process::{Command, Output};

use crate::common::{Loop, World, json, says, status, text};

/// A file of 64 blocks; unwritten ones hold zeros.
const JOB: &str = "--name=a/b --filesize=256k --bs=4k --verify=crc32c --output-format=json";

fn command(world: &World, filename: &str) -> Command {
    let mut command = world.command();
    command.arg("fio").current_dir(world.directory("work")).args(JOB.split_whitespace());
    command.arg(format!("--filename={filename}"));
    command
}

fn fio(world: &World, line: &str) -> Output {
    command(world, "data").args(line.split_whitespace()).output().unwrap()
}

/// Numbers of reads and writes of a successful job.
#[track_caller]
fn ios(output: &Output) -> (u64, u64) {
    status(output, 0);
    assert_eq!(text(&output.stderr), "");
    let document = json(&output.stdout);
    let of = |direction: &str| document["jobs"][0][direction]["total_ios"].as_u64().unwrap();
    (of("read"), of("write"))
}

#[test]
fn another_run_verifies_as_far_as_was_written() {
    // fio counts writes that are only verified as the job's writes, and so do its clients.
    for (rw, reads, told) in
        [("write", "read", (10, 0)), ("randwrite", "randwrite --verify_only", (10, 10))]
    {
        let world = World::new();
        let written = fio(&world, &format!("--rw={rw} --do_verify=0 --number_ios=10"));
        assert_eq!(ios(&written), (0, 10), "{rw}");
        let state = world.directory("work").join("local-a.b-0-verify.state");
        assert_eq!(fs::metadata(&state).unwrap().len(), 24 + 144 + 8);
        let read = fio(&world, &format!("--rw={reads} --verify_state_load=1"));
        assert_eq!(ios(&read), told, "{reads}");
        // Without the state, unwritten blocks are reported.
        let read = fio(&world, &format!("--rw={reads}"));
        status(&read, 1);
        // The state file is damaged, then missing.
        fs::write(&state, "nonsense").unwrap();
        says(
            &fio(&world, &format!("--rw={reads} --verify_state_load=1")),
            1,
            "verify_state_load: ",
        );
        fs::remove_file(&state).unwrap();
        status(&fio(&world, &format!("--rw={reads} --verify_state_load=1")), 1);
    }
}

#[test]
fn a_policy_says_which_writes_a_state_has() {
    let world = World::new();
    world.directory("work/states");
    let write = "--rw=write --fsync=16 --number_ios=40 --aux-path=states";
    for (policy, reads) in [("completed", 40), ("fsynced", 32)] {
        let written = fio(&world, &format!("{write} --do_verify=0 --verify_policy={policy}"));
        assert_eq!(ios(&written), (0, 40), "{policy}");
        assert!(world.directory("work/states").join("local-a.b-0-verify.state").exists());
        let read = fio(&world, "--rw=read --verify_state_load=1 --aux-path=states");
        assert_eq!(ios(&read), (reads, 0), "{policy}");
    }
    let synced = "--rw=write --end_fsync=1 --number_ios=40 --aux-path=states";
    fio(&world, &format!("{synced} --do_verify=0 --verify_policy=fsynced"));
    let read = fio(&world, "--rw=read --verify_state_load=1 --aux-path=states");
    assert_eq!(ios(&read), (40, 0), "the sync at the end covers all");
    let state = world.directory("work/states").join("local-a.b-0-verify.state");
    fs::remove_file(&state).unwrap();
    ios(&fio(&world, &format!("{write} --verify_state_save=0")));
    assert!(!state.exists());
}

#[test]
fn a_lost_write_of_another_run_is_found_by_its_number() {
    for (rw, norandommap) in [("write", ""), ("randwrite", " --norandommap"), ("randrw", "")] {
        for engine in ["psync", "libaio"] {
            let world = World::new();
            let data = world.directory("work").join("data");
            let job = format!("--rw={rw} --size=256k --ioengine={engine}{norandommap}");
            fio(&world, &format!("{job} --do_verify=0"));
            let first = fs::read(&data).unwrap();
            fio(&world, &format!("{job} --do_verify=0 --io_size=512k"));
            let verify = format!("{job} --io_size=512k --verify_only --verify_write_sequence=1");
            let (reads, _) = ios(&fio(&world, &verify));
            let mut second = fs::read(&data).unwrap();
            let blocks = || first.chunks(4096).zip(second.chunks(4096)).enumerate();
            let written = blocks().filter(|(_, (_, one))| one.starts_with(b"iodyno"));
            assert_eq!(reads, written.count() as u64, "{rw} {engine}: each block once");
            // Blocks that differ in the number of the last write: bytes 24 to 31 of the header.
            let differs = |(_, (a, b)): &(usize, (&[u8], &[u8]))| {
                a.starts_with(b"iodyno") && a[24..32] != b[24..32]
            };
            let lost = blocks().find(differs).unwrap().0;
            second[lost * 4096..][..4096].copy_from_slice(&first[lost * 4096..][..4096]);
            fs::write(&data, &second).unwrap();
            says(&fio(&world, &verify), 1, "a lost write");
            ios(&fio(&world, &format!("{job} --verify_only")));
        }
    }
}

#[test]
fn a_triggers_command_finds_the_states() {
    let world = World::new();
    let mut command = command(&world, "data");
    command.args(["--rw=write", "--do_verify=0", "--rate_iops=20", "--trigger-timeout=1"]);
    let output = command.arg("--trigger=cp local-a.b-0-verify.state found").output().unwrap();
    let (_, written) = ios(&output);
    assert!((1..64).contains(&written), "{written}");
    let state = world.directory("work").join("local-a.b-0-verify.state");
    assert_eq!(fs::read(world.directory("work").join("found")).unwrap(), fs::read(state).unwrap());
    assert_eq!(ios(&fio(&world, "--rw=read --verify_state_load=1")), (written, 0));
}

#[test]
fn a_trigger_that_comes_too_late_is_noted() {
    let world = World::new();
    let run = ["run", "--name=a", "--filename=data", "--size=64k", "--rw=write", "--allow-exec"];
    let output =
        world.run(&[&run[..], &["--trigger-timeout=1h", "--trigger=touch fired"]].concat());
    status(&output, 0);
    assert!(text(&output.stderr).contains("ended before the trigger"), "{output:?}");
    assert!(!world.path("fired").exists());
}

#[test]
#[ignore = "needs root"]
fn a_device_trims_what_is_still_in_the_page_cache() {
    let world = World::new();
    let drive = Loop::new(&world, "image", 1 << 20);
    let word = drive.word();
    let trims = "--rw=write --trim_percentage=100 --trim_backlog=1 --number_ios=64";
    for verify in ["--do_verify=0", "--do_verify=1"] {
        let mut command = command(&world, &drive.device);
        command.args(["--allow-write", &word, "--discard-data", &word, verify]);
        let output = command.args(trims.split(' ')).output().unwrap();
        assert_eq!(ios(&output).1, 64, "{verify}");
        assert_eq!(json(&output.stdout)["jobs"][0]["trim"]["total_ios"], 64, "{verify}");
    }
}
