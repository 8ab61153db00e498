//! Tests I/O engines selected by name, in whole runs.

use std::fs;

use crate::common::{World, json, printed, says, status, text};

/// I/Os and bytes of the first job, by direction.
#[track_caller]
fn moved(world: &World, arguments: &[&str]) -> [(u64, u64); 3] {
    let job =
        printed(&world.jobs(&[arguments, &["--output-format=json"]].concat()))["jobs"][0].clone();
    let of = |direction: &str, key: &str| job[direction][key].as_u64().unwrap();
    ["read", "write", "trim"].map(|one| (of(one, "total_ios"), of(one, "io_bytes")))
}

#[test]
fn null_needs_nothing_and_touches_nothing() {
    let world = World::new();
    let null = ["--name=t", "--ioengine=null", "--bs=4k", "--size=1m"];
    let with = |more: &[&'static str]| [&null[..], more].concat();
    let all = 1 << 20;
    assert_eq!(moved(&world, &with(&["--rw=randread"])), [(256, all), (0, 0), (0, 0)]);
    assert_eq!(moved(&world, &with(&["--rw=write", "--iodepth=8"])), [(0, 0), (256, all), (0, 0)]);
    assert_eq!(moved(&world, &with(&["--rw=randtrim"])), [(0, 0), (0, 0), (256, all)]);
    // Nothing is written, so nothing is verified: fio counts the reads all the same.
    let verified = with(&["--rw=write", "--verify=md5", "--direct=1"]);
    assert_eq!(moved(&world, &verified), [(256, all), (256, all), (0, 0)]);
    assert!(!world.path("t.0.0").exists());
    // It uses neither the file of its name nor another job's file of that name.
    fs::write(world.path("precious"), b"precious").unwrap();
    let named = with(&["--rw=write", "--filename=precious"]);
    assert_eq!(moved(&world, &named)[1], (256, all));
    assert_eq!(fs::read(world.path("precious")).unwrap(), b"precious");
    let beside = with(&["--rw=write", "--filename=both", "--name=u", "--ioengine=psync"]);
    let beside =
        [&beside[..], &["--size=64k", "--filename=both", "--rw=write", "--bs=4k"]].concat();
    assert_eq!(moved(&world, &beside)[1], (256, all));
    assert_eq!(fs::metadata(world.path("both")).unwrap().len(), 64 << 10);
    // Without a size the run ends only by another limit.
    let endless = ["--name=t", "--ioengine=null", "--rw=randwrite", "--number_ios=1000"];
    assert_eq!(moved(&world, &endless)[1], (1000, 1000 << 12));
}

#[test]
fn single_ios_have_priorities_of_their_own() {
    let world = World::new();
    for engine in ["libaio", "io_uring"] {
        let engine = format!("--ioengine={engine}");
        let job = ["--name=t", &engine, "--rw=randrw", "--bs=4k", "--size=4m", "--iodepth=8"];
        let job = [&job[..], &["--cmdprio_percentage=40,0", "--cmdprio_class=2", "--cmdprio=3"]];
        let job = [&job.concat()[..], &["--prioclass=3", "--output-format=json,normal"]].concat();
        let output = world.jobs(&job);
        status(&output, 0);
        let said = text(&output.stdout);
        let (document, normal) = said.split_at(said.find("\n}\n").unwrap() + 3);
        let found = json(document.as_bytes())["jobs"][0].clone();
        let read = &found["read"];
        let ranks = read["prios"].as_array().unwrap();
        let of = |rank: usize, key: &str| ranks[rank][key].as_u64().unwrap();
        let parts = |rank| [of(rank, "prioclass"), of(rank, "prio"), of(rank, "priohint")];
        assert_eq!((ranks.len(), parts(0), parts(1)), (2, [2, 3, 0], [3, 0, 0]));
        let count = |rank: usize| ranks[rank]["clat_ns"]["N"].as_u64().unwrap();
        assert_eq!(count(0) + count(1), read["total_ios"].as_u64().unwrap());
        assert!(count(0).abs_diff(2 * count(1) / 3) < count(1), "{ranks:?}");
        assert!(found["write"]["prios"].is_null());
        assert!(normal.contains("clat prio 2/3/0 ("), "{normal}");
        assert!(normal.contains("of IOs) percentiles ("), "{normal}");
    }
    let other = ["--name=t", "--rw=read", "--size=4k", "--cmdprio_percentage=10"];
    says(&world.jobs(&other), 2, "libaio");
}

#[test]
fn what_keeps_nothing_may_be_read_and_written() {
    let world = World::new();
    let all = 1 << 20;
    for engine in ["psync", "io_uring"] {
        let engine = format!("--ioengine={engine}");
        let job = ["--name=t", &engine, "--bs=4k", "--size=1m", "--direct=1"];
        let with = |more: &[&'static str]| [&job[..], more].concat();
        let written = with(&["--rw=randwrite", "--filename=/dev/null"]);
        assert_eq!(moved(&world, &written)[1], (256, all));
        assert_eq!(moved(&world, &with(&["--rw=read", "--filename=/dev/zero"]))[0], (256, all));
        let nothing = world.jobs(&with(&["--rw=read", "--filename=/dev/null"]));
        assert!(!nothing.status.success(), "{}", text(&nothing.stdout));
    }
    // The name `null` alone does not make a link to a real device harmless.
    let other = world.path("null");
    std::os::unix::fs::symlink("/dev/full", &other).unwrap();
    let job = ["--name=t", "--rw=write", "--size=4k", "--filename=null"];
    status(&world.jobs(&job), 2);
}

#[test]
fn page_fault_works_on_memory_alone() {
    let world = World::new();
    fs::write(world.path("precious"), b"precious").unwrap();
    let job = ["--name=t", "--ioengine=page_fault", "--bs=4k", "--size=1m", "--filename=precious"];
    let with = |more: &[&'static str]| [&job[..], more].concat();
    let all = 1 << 20;
    assert_eq!(moved(&world, &with(&["--rw=randread"]))[0], (256, all));
    // The written data exists, and reads return it.
    let verified = with(&["--rw=randwrite", "--verify=crc32c"]);
    assert_eq!(moved(&world, &verified), [(256, all), (256, all), (0, 0)]);
    assert_eq!(fs::read(world.path("precious")).unwrap(), b"precious");
    status(&world.jobs(&with(&["--nrfiles=2"])), 2);
}

#[test]
fn jobs_without_io_count_none() {
    let world = World::new();
    let load = ["--name=burn", "--ioengine=cpuio", "--cpuload=100", "--exit_on_io_done=1"];
    let beside = ["--name=io", "--ioengine=null", "--rw=read", "--bs=4k", "--number_ios=1000"];
    // It ends with the other job's I/O, which is slow enough to observe the load.
    let both = [&load[..], &beside, &["--rate_iops=2000", "--output-format=json"]].concat();
    let jobs = printed(&world.jobs(&both))["jobs"].clone();
    let count = |job: usize| jobs[job]["read"]["total_ios"].as_u64().unwrap();
    assert_eq!((count(0), count(1)), (0, 1000));
    assert!(jobs[0]["usr_cpu"].as_f64().unwrap() > 1.0, "{}", jobs[0]);
    let alone = world.jobs(&[&load[..3], &["--runtime=100ms"]].concat());
    status(&alone, 0);
    assert!(!text(&alone.stdout).contains("page cache"), "{}", text(&alone.stdout));
    for (unfit, told) in [(&load[..2], "cpuload"), (&load[..3], "runtime")] {
        says(&world.jobs(unfit), 2, told);
    }
}

#[test]
fn a_program_runs_beside_the_io_where_that_is_allowed() {
    let world = World::new();
    let job = ["--name=p", "--ioengine=exec", "--runtime=7s", "--program=/bin/echo"];
    let job = [&job[..], &["--arguments=%n  for %r"]].concat();
    says(&world.jobs(&job), 2, "--allow-exec");
    assert!(!world.path("p.stdout").exists());
    status(&world.jobs(&[&job[..], &["--allow-exec"]].concat()), 0);
    assert_eq!(fs::read_to_string(world.path("p.stdout")).unwrap(), "p for 7\n");
    let absent = ["--name=p", "--ioengine=exec", "--program=/nonexistent", "--allow-exec"];
    let remarked = world.jobs(&absent);
    status(&remarked, 0);
    let said = text(&remarked.stdout) + &text(&remarked.stderr);
    assert!(said.contains("cannot be started"), "{said}");
    // A running program is ended with its job.
    let sleeping = ["--name=s", "--ioengine=exec", "--runtime=100ms", "--program=/bin/sleep"];
    let sleeping = [&sleeping[..], &["--arguments=3600", "--allow-exec"]].concat();
    status(&world.jobs(&sleeping), 0);
}

#[test]
fn other_engines_write_what_they_verify() {
    let world = World::new();
    for engine in ["posixaio", "splice"] {
        for direct in ["--direct=0", "--direct=1"] {
            let engine = format!("--ioengine={engine}");
            let job = [
                "--name=t",
                &engine,
                direct,
                "--rw=randwrite",
                "--bs=4k,16k",
                "--size=1m",
                "--iodepth=8",
                "--verify=crc32c",
                "--end_fsync=1",
            ];
            assert_eq!(moved(&world, &job)[1], (64, 1 << 20), "{engine} {direct}");
        }
    }
}

#[test]
fn falloc_makes_room_and_needs_the_permission_of_a_write() {
    let world = World::new();
    let job = ["--name=t", "--ioengine=falloc", "--rw=write", "--bs=64k", "--size=1m"];
    let job = [&job[..], &["--fallocate=none"]].concat();
    assert_eq!(moved(&world, &job)[1], (16, 1 << 20));
    assert_eq!(fs::metadata(world.path("t.0.0")).unwrap().len(), 1 << 20);
    // Its reads allocate, too, so an existing file must be named explicitly.
    fs::write(world.path("precious"), vec![7; 1 << 20]).unwrap();
    let reads = ["--name=t", "--ioengine=falloc", "--rw=read", "--bs=64k", "--filename=precious"];
    status(&world.jobs(&reads), 2);
    status(&world.jobs(&[&["--readonly"], &reads[..]].concat()), 2);
    let word = world.path("precious").display().to_string();
    assert_eq!(moved(&world, &[&reads[..], &["--allow-write", &word]].concat())[0].0, 16);
}

/// A job on the names of 20 files in `directory`.
fn names<'a>(engine: &'a str, directory: &'a str) -> Vec<&'a str> {
    let files = ["--nrfiles=20", "--filesize=4k", "--openfiles=1", "--fallocate=none"];
    [&["--name=t", "--rw=write", engine, directory], &files[..]].concat()
}

#[test]
fn files_are_made_looked_up_and_removed_an_operation_each() {
    let world = World::new();
    let data = world.directory("data");
    let directory = format!("--directory={}", data.display());
    let all = [(0, 0), (20, 20 << 12), (0, 0)];
    assert_eq!(moved(&world, &names("--ioengine=filecreate", &directory)), all);
    assert_eq!(world.files("data").len(), 20);
    let lookup = [&names("--ioengine=filestat", &directory)[..], &["--stat_type=statx"]].concat();
    assert_eq!(moved(&world, &lookup), all);
    // Another run recognises the files as iodyno's.
    assert_eq!(moved(&world, &names("--ioengine=filedelete", &directory)), all);
    assert!(world.files("data").is_empty());
    let unlinked = [&names("--ioengine=filecreate", &directory)[..], &["--unlink=1"]].concat();
    assert_eq!(moved(&world, &unlinked), all);
    assert!(world.files("data").is_empty());
    let larger = [&names("--ioengine=filecreate", &directory)[..], &["--filesize=8k"]].concat();
    says(&world.jobs(&larger), 2, "filesize=4096");
}

#[test]
fn directories_are_made_looked_up_and_removed_an_operation_each() {
    let world = World::new();
    let data = world.directory("data");
    let directory = format!("--directory={}", data.display());
    let all = [(0, 0), (20, 20 << 12), (0, 0)];
    // As fio does, it creates the names that it looks up or removes.
    assert_eq!(moved(&world, &names("--ioengine=dirdelete", &directory)), all);
    assert!(world.files("data").is_empty());
    assert_eq!(moved(&world, &names("--ioengine=dircreate", &directory)), all);
    assert_eq!(world.files("data").len(), 20);
    assert!(world.files("data").iter().all(|name| data.join(name).is_dir()));
    assert_eq!(moved(&world, &names("--ioengine=dirstat", &directory)), all);
    // By now they belong to someone else.
    says(
        &world.jobs(&names("--ioengine=dirdelete", &directory)),
        2,
        ": exists, and the job removes only",
    );
    assert_eq!(world.files("data").len(), 20);
}

#[test]
fn other_threads_submit_as_many_at_once_as_the_depth_says() {
    let world = World::new();
    for engine in ["psync", "null", "libaio"] {
        let job = [
            "--name=t",
            "--size=1m",
            "--bs=4k",
            "--rw=randrw",
            "--iodepth=8",
            "--randrepeat=1",
            "--io_submit_mode=offload",
            &format!("--ioengine={engine}"),
        ];
        let [reads, writes, _] = moved(&world, &job);
        assert_eq!(reads.0 + writes.0, 256, "{engine}");
    }
}

#[test]
fn filedelete_removes_only_what_may_be_written() {
    let world = World::new();
    let data = world.directory("data");
    let directory = format!("--directory={}", data.display());
    let precious = data.join("t.0.7");
    fs::write(&precious, vec![7; 4096]).unwrap();
    for engine in ["filedelete", "filecreate"].map(|name| format!("--ioengine={name}")) {
        // Even reads of these engines create and remove.
        let reads = [&names(&engine, &directory)[..], &["--rw=read", "--readonly"]].concat();
        status(&world.jobs(&reads), 2);
    }
    for rw in ["--rw=write", "--rw=read"] {
        let deleting = [&names("--ioengine=filedelete", &directory)[..], &[rw]].concat();
        let refused = world.jobs(&deleting);
        status(&refused, 2);
        let word = precious.display().to_string();
        assert!(text(&refused.stderr).contains(&word), "{}", text(&refused.stderr));
        assert_eq!(world.files("data"), ["t.0.7"], "nothing is made before");
    }
    // An existing file stays unchanged; looking it up needs no permission.
    assert_eq!(moved(&world, &names("--ioengine=filecreate", &directory))[1].0, 20);
    assert_eq!(moved(&world, &names("--ioengine=filestat", &directory))[1].0, 20);
    assert_eq!(fs::read(&precious).unwrap(), [7; 4096]);
    // Links are not followed, and only regular files are opened.
    let other = data.join("t.0.9");
    fs::remove_file(&other).unwrap();
    std::os::unix::fs::symlink("/dev/null", &other).unwrap();
    for engine in ["--ioengine=filecreate", "--ioengine=filedelete"] {
        status(&world.jobs(&names(engine, &directory)), 2);
    }
    fs::remove_file(&other).unwrap();
    let word = precious.display().to_string();
    let allowed =
        [&names("--ioengine=filedelete", &directory)[..], &["--allow-write", &word]].concat();
    assert_eq!(moved(&world, &allowed)[1].0, 20);
    assert!(world.files("data").is_empty());
}

#[test]
fn the_rules_know_each_engine() {
    use iodyno_job::IoEngine;
    use iodyno_model::EngineKind;
    for (name, engine) in IoEngine::ALL {
        let kind =
            EngineKind::of(name).unwrap_or_else(|| panic!("{name}: a line in EngineKind::of"));
        let waits = matches!(kind, EngineKind::OneAtATime | EngineKind::Allocating);
        let reaches_none = kind == EngineKind::WithoutDevice;
        assert!(reaches_none || waits == engine.is_synchronous(), "{name}: {kind:?}");
        assert_eq!(Some(kind), EngineKind::of(engine.name()), "{name} is another name");
    }
}
