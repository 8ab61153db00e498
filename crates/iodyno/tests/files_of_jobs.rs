//! Tests how jobs treat their files, on a disk and in memory.

use std::fs;
use std::process::Output;

use crate::common::{World, json, printed, status, text};

fn run(world: &World, job_file: &str, more: &[&str]) -> Output {
    fs::write(world.path("jobs.fio"), job_file).unwrap();
    let mut command = world.command();
    command.args(["run", "jobs.fio"]).args(more).output().unwrap()
}

#[test]
fn unlink_removes_files_when_their_last_job_is_done() {
    let world = World::new();
    let data = world.directory("data");
    let (global, look) = ("size=64k\nbs=4k\nunlink=1\n", "exec_prerun=ls data\n");
    let directory = format!("directory={}\n", data.display());
    let jobs = format!(
        "[global]\n{directory}{global}\n\
         [first]\nrw=write\nfilename=own:common\n\
         [second]\nstonewall\nrw=read\nfilename=common\n{look}\
         [third]\nstonewall\nunlink=0\nrw=write\nfilename=kept\n{look}\
         [fourth]\nstonewall\nrw=write\nfilename=last\n"
    );
    let output = run(&world, &jobs, &["--allow-exec"]);
    status(&output, 0);
    let seen = |job: &str| fs::read_to_string(world.path(&format!("{job}.prerun.txt"))).unwrap();
    assert_eq!(seen("second"), "common\nkept\nlast\n", "the first job's own file is gone");
    assert_eq!(seen("third"), "kept\nlast\n", "the other one when nobody wants it any more");
    assert_eq!(world.files("data"), ["kept"]);
}

#[test]
fn a_file_is_laid_out_with_the_contents_of_its_job() {
    let world = World::new();
    let data = world.directory("data");
    let jobs = format!(
        "[global]\ndirectory={}\nfilename=f\nsize=64k\nbs=4k\n\
         [reads]\nrw=read\nbuffer_pattern=0x0102\n",
        data.display()
    );
    status(&run(&world, &jobs, &[]), 0);
    assert_eq!(fs::read(data.join("f")).unwrap(), [1, 2].repeat(32 << 10));
    // It is known as a file of iodyno's own, whatever it holds.
    let more = jobs.replace("rw=read", "rw=write").replace("size=64k", "size=128k");
    status(&run(&world, &more, &[]), 0);
}

/// A folder in memory, removed with its content.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

#[test]
fn jobs_may_have_files_in_memory() {
    let (world, memory) = (World::new(), in_memory());
    for direct in ["0", "1"] {
        let jobs = format!(
            "[global]\ndirectory={}\nsize=64k\nbs=4k\ndirect={direct}\nverify=crc32c\n\
             [writes]\nrw=randwrite\nioengine=psync\n\
             [reads]\nstonewall\nrw=randread\nioengine=io_uring\niodepth=4\nverify=none\n",
            memory.path().display()
        );
        let output = run(&world, &jobs, &["--output-format=json"]);
        if direct == "1" && output.status.code() == Some(2) {
            // Before Linux 6.6.
            let said = text(&output.stderr);
            assert!(said.contains("lacks O_DIRECT") && said.contains("use direct=0"), "{said}");
            continue;
        }
        status(&output, 0);
        let document = json(&output.stdout);
        assert_eq!(document["jobs"][0]["write"]["total_ios"], 16);
        assert_eq!(document["jobs"][1]["read"]["total_ios"], 16);
    }
    let shown = run(
        &world,
        &format!("[reads]\nfilename={}/reads.0.0\nrw=read\n", memory.path().display()),
        &[],
    );
    status(&shown, 0);
    assert!(text(&shown.stdout).contains("no storage is measured"), "{}", text(&shown.stdout));
}

const FILE_BYTES: usize = 1 << 20;

/// Creates a file of another owner.
fn theirs(world: &World, name: &str, bytes: usize) -> String {
    let path = world.path(name);
    fs::write(&path, vec![0xa5; bytes]).unwrap();
    path.to_str().unwrap().to_owned()
}

/// First changed byte of a file from [`theirs`], and the end of the last one.
fn touched(path: &str) -> Option<(usize, usize)> {
    let bytes = fs::read(path).unwrap();
    let first = bytes.iter().position(|byte| *byte != 0xa5)?;
    Some((first, bytes.iter().rposition(|byte| *byte != 0xa5).unwrap() + 1))
}

#[test]
fn nothing_is_written_outside_of_offset_and_size() {
    let world = World::new();
    for (options, start, end) in [
        ("rw=randwrite bs=16k blockalign=4k random_generator=lfsr size=100k", 0, 102_400),
        (
            "rw=randwrite bs=16k blockalign=4k random_generator=lfsr time_based runtime=300ms",
            0,
            102_400,
        ),
        ("rw=randwrite bs=16k blockalign=4k offset=64k", 65_536, 167_936),
        ("rw=write bs=64k offset=64k", 65_536, 131_072),
        ("rw=write bsrange=4k-32k offset=4k loops=3", 4096, 106_496),
        ("rw=randwrite bssplit=4k/50:24k/50 norandommap io_size=1m offset=8k", 8192, 110_592),
        ("rw=randwrite bs=16k bs_unaligned=1 bsrange=3k-16k norandommap io_size=1m", 0, 102_400),
        ("rw=write:12k bs=8k number_ios=100 time_based runtime=300ms", 0, 102_400),
        ("rw=randrw bs=12k,20k blockalign=4k,8k random_generator=lfsr io_size=1m", 0, 102_400),
        ("rw=write bs=16k offset_increment=200k numjobs=2", 0, 204_800 + 102_400),
    ] {
        for engine in ["psync", "io_uring", "mmap"] {
            let path = theirs(&world, "theirs", FILE_BYTES);
            let mut lines = format!("[t]\nfilename={path}\nioengine={engine}\niodepth=8\n");
            if !options.contains("size=100k") {
                lines += "size=100k\n";
            }
            lines += &options.replace(' ', "\n");
            let output = run(&world, &lines, &["--allow-write", &path]);
            status(&output, 0);
            let (first, last) = touched(&path).unwrap();
            assert!(first >= start && last <= end, "{options} by {engine}: {first} to {last}");
            assert_eq!(fs::metadata(&path).unwrap().len(), FILE_BYTES as u64, "{options}");
        }
    }
}

#[test]
fn what_is_refused_has_changed_nothing() {
    let world = World::new();
    let data = world.directory("data");
    let path = theirs(&world, "data/theirs", 5000);
    let named = theirs(&world, "data/named", 50_000);
    let fine = format!(
        "[global]\nsize=1m\nbs=4k\n[first]\nrw=write\nfilename={0}/new\n\
         [named]\nrw=read\nfilename={named}\n",
        data.display()
    );
    let data = data.display();
    for (job, words, said) in [
        (format!("rw=write\nfilename={path}"), vec![], ": writing not allowed"),
        (format!("rw=read\nfilename={path}"), vec![], "holds 4.88 KiB, and a job reads 1 MiB"),
        (format!("rw=write\ndirectory={data}/none"), vec![], ": no directory "),
        (format!("rw=write\nfilename={data}/none/a/f"), vec![], ": no directory "),
        (
            format!("rw=write\nfilename_format=none/$jobnum\ndirectory={data}"),
            vec![],
            ": no directory ",
        ),
        (
            format!("rw=write\nnrfiles=3\nsize=3m\nfilename={data}/a:{data}/none/b"),
            vec![],
            ": no directory ",
        ),
        (
            format!("rw=write\nfilename={data}/other\nallow_file_create=0"),
            vec![],
            "allow_file_create",
        ),
        (
            format!("rw=write\nfilename={data}/other"),
            vec!["--allow-write", "/typo"],
            "`/typo` is allowed, but no job writes it",
        ),
        (format!("rw=write\nfilename={data}/other\ndirect=1\nbs=1000"), vec![], "multiples of"),
        (format!("rw=write\nfilename={data}/other\nsize=1000t"), vec![], "are free"),
        (
            format!(
                "rw=write\nfilename={data}/other:{path}:{data}/new\nfile_append=1\nallow_file_create=1"
            ),
            vec!["--allow-write", &path],
            "different sizes",
        ),
    ] {
        let jobs = format!("{fine}[second]\n{job}\n");
        let mut more = vec!["--allow-write", named.as_str()];
        more.extend(words);
        let output = run(&world, &jobs, &more);
        status(&output, 2);
        assert!(text(&output.stderr).contains(said), "{job}: {}", text(&output.stderr));
        let mut there = world.files("data");
        there.sort();
        assert_eq!(there, ["named", "theirs"], "{job}");
        assert_eq!((touched(&path), touched(&named)), (None, None), "{job}");
        assert_eq!(fs::metadata(&named).unwrap().len(), 50_000, "{job}");
    }
}

#[test]
fn the_word_that_is_advised_is_enough_and_keeps_what_a_file_holds() {
    let world = World::new();
    let path = theirs(&world, "theirs", 50_000);
    let jobs = format!("[t]\nrw=read\nbs=4k\nsize=1m\nfilename={path}\n");
    let refused = run(&world, &jobs, &[]);
    status(&refused, 2);
    let said = text(&refused.stderr);
    // Quoted if the build's folder contains a blank.
    let words = [format!("--allow-write {path}"), format!("--allow-write '{path}'")];
    assert!(words.iter().any(|word| said.contains(word)), "{said}");
    assert!(said.contains("size=50000"), "{said}");
    // A second time with a file that is long enough.
    for _ in 0..2 {
        status(&run(&world, &jobs, &["--allow-write", &path]), 0);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), FILE_BYTES);
        assert!(bytes[..50_000].iter().all(|byte| *byte == 0xa5));
    }
    let less = format!("[t]\nrw=read\nbs=4k\nsize=49152\nfilename={path}\n");
    status(&run(&world, &less, &[]), 0);
}

#[test]
fn what_is_appended_leaves_what_was_there() {
    let world = World::new();
    for generator in ["native", "fio"] {
        for (options, ios) in
            [("", 16), ("overwrite=1\n", 16), ("loops=2\n", 32), ("rw=randwrite\n", 16)]
        {
            let path = theirs(&world, "theirs", 100_000);
            let jobs = format!(
                "[t]\nrw=write\nbs=4k\nsize=64k\nfile_append=1\nioengine=psync\nfilename={path}\n{options}"
            );
            let words = ["--allow-write", &path, "--output-format=json", "--generator", generator];
            // As in fio, each run appends once more.
            for run_number in 1..=2 {
                let document = printed(&run(&world, &jobs, &words));
                let context = format!("{generator} {options}");
                assert_eq!(document["jobs"][0]["write"]["total_ios"], ios, "{context}");
                let bytes = fs::read(&path).unwrap();
                assert_eq!(bytes.len(), 100_000 + run_number * 65_536, "{context}");
                assert!(bytes[..100_000].iter().all(|byte| *byte == 0xa5), "{context}");
            }
        }
    }
    // Reads begin there, too.
    let path = theirs(&world, "theirs", 100_000);
    let jobs = format!("[t]\nrw=read\nbs=4k\nsize=64k\nfile_append=1\nfilename={path}\n");
    let document = printed(&run(&world, &jobs, &["--allow-write", &path, "--output-format=json"]));
    assert_eq!(document["jobs"][0]["read"]["total_ios"], 16);
    assert_eq!(fs::read(&path).unwrap().len(), 165_536);
}
