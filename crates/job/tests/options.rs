//! Tests of the whole option table: every row, round trips, the reference, and real job files.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, which tells what it counted")]

use expect_test::expect_file;
use std::collections::BTreeSet;

use iodyno_job::{
    Amount, BlockSize, Job, JobError, OptionSpec, Support, apply, apply_all, check, find,
    nearest_option, notes, options, reference,
};
use proptest::prelude::*;

/// Prints every option of `job` and applies it to a default job.
fn again(job: &Job) -> Job {
    let mut copy = Job::default();
    for spec in options() {
        let text = spec.print(job);
        if !text.is_empty() {
            apply(&mut copy, spec.name, &text).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    copy
}

fn has_examples(spec: &&OptionSpec) -> bool {
    !spec.examples.is_empty()
}

#[test]
fn names_are_unique() {
    let mut seen = BTreeSet::new();
    for spec in options() {
        for name in std::iter::once(&spec.name).chain(spec.aliases) {
            assert!(seen.insert(*name), "{name} is there twice");
            assert!(std::ptr::eq(find(name).unwrap(), spec), "{name}");
        }
        assert!(!spec.help.is_empty(), "{} has no help", spec.name);
    }
    assert!(seen.len() > 350, "{}", seen.len());
}

#[test]
fn every_example_is_parsed_printed_and_parsed_again() {
    for spec in options() {
        let native = matches!(spec.support, Support::Native | Support::IodynoOnly);
        assert!(!native || has_examples(&spec), "{}", spec.name);
        for example in spec.examples {
            let mut job = Job::default();
            apply(&mut job, spec.name, example).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again(&job), job, "{}={example}", spec.name);
        }
    }
}

#[test]
fn every_native_option_changes_something() {
    for spec in options().filter(|spec| spec.support == Support::Native).filter(has_examples) {
        let changes = spec.examples.iter().any(|example| {
            let mut job = Job::default();
            apply(&mut job, spec.name, example).unwrap();
            job != Job::default()
        });
        assert!(changes || spec.name == "cmd_type", "{}", spec.name);
    }
}

#[test]
fn defaults_are_those_of_fio() {
    // Different on purpose, or kept in another form.
    let ours = [
        "iodepth_batch",
        "fixedbufs",
        "registerfiles",
        "filename_format",
        "randseed",
        "zonemode",
        "percentile_list",
        "steadystate",
        "steadystate_check_interval",
        "rate_cycle",
        "thinktime_blocks",
        "latency_percentile",
        "latency_run",
        "steadystate_duration",
        "steadystate_ramp_time",
        "log_alternate_epoch_clock_id",
    ];
    for spec in options() {
        let by_fio = matches!(spec.support, Support::FioOnly(_) | Support::Foreign(_));
        if by_fio || spec.default.is_empty() || ours.contains(&spec.name) {
            continue;
        }
        let mut job = Job::default();
        apply(&mut job, spec.name, spec.default).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(job, Job::default(), "{}={}", spec.name, spec.default);
    }
}

#[test]
fn mistakes_are_named() {
    let mut job = Job::default();
    let mut error = |name, value| apply(&mut job, name, value).unwrap_err().to_string();
    assert_eq!(error("iodeth", "1"), "there is no option `iodeth`; did you mean `iodepth`?");
    assert!(error("qwertzuiop", "1").ends_with("`qwertzuiop`"));
    assert_eq!(error("iodepth", "0"), "`iodepth=0`: expected a number from 1 to 32768");
    assert!(error("size", "1G foo").contains("a size such as"));
    assert!(error("size", "100g offset=100g").contains("a size such as"));
    assert!(error("direct", "yes").contains("0 or 1"));
    assert!(error("ioengine", "iouring").ends_with(": did you mean `io_uring`?"));
    assert!(error("rw", "randraed").ends_with(": did you mean `randread`?"));
    assert!(error("bsrange", "4k").contains("4k-64k"));
    let by_fio = error("ioengine", "sg");
    assert!(by_fio.contains("--generator fio") && by_fio.contains("ioengine=sg"), "{by_fio}");
    for (name, value) in [("ioengine", "rbd"), ("rbdname", "x"), ("merge_blktrace_file", "log")] {
        let elsewhere = error(name, value);
        let is_named = elsewhere.starts_with(&format!("`{name}={value}` is not supported"));
        assert!(is_named && elsewhere.ends_with("; use fio itself"), "{elsewhere}");
    }
    assert_eq!(nearest_option("io_engine"), Some("ioengine"));
}

#[test]
fn options_without_effect_are_accepted() {
    let mut job = Job::default();
    for (name, value) in
        [("verify", "0"), ("zonemode", "none"), ("readfua", "0"), ("end_syncfs", "0")]
    {
        apply(&mut job, name, value).unwrap();
    }
    assert!(matches!(apply(&mut job, "readfua", "1"), Err(JobError::NotNative { .. })));
}

fn section(entries: &[(&str, Option<&str>)]) -> Job {
    let mut job = Job::default();
    apply_all(&mut job, entries).unwrap_or_else(|errors| panic!("{errors:?}"));
    job
}

#[test]
fn units_apply_to_their_whole_section() {
    let job = section(&[("bs", Some("4k")), ("kb_base", Some("1000")), ("size", Some("1mib"))]);
    assert_eq!(job.pattern.bs.read.largest(), 4000);
    assert_eq!(job.space.size, Some(Amount::Bytes(1 << 20)));
}

#[test]
fn flags_stand_alone_and_nothing_else_does() {
    let job = section(&[("group_reporting", None), ("write_bw_log", None)]);
    assert!(job.threads.group_reporting && job.report.logs.bandwidth.is_some());
    let mut job = Job::default();
    let errors = apply_all(&mut job, &[("direct", None), ("bs", Some("")), ("bs", Some("8k"))]);
    let errors = errors.unwrap_err();
    let expected = [(0, "direct"), (1, "bs")];
    let found = errors.iter().map(|(at, error)| (*at, error.option().unwrap()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(job.pattern.bs.read.fixed(), Some(8192));
}

/// Blocks of reads, writes and trims, in KiB, as fio 3.33 printed them for the same options.
#[test]
fn values_of_directions_are_those_of_fio() {
    for (bs, expected) in [
        ("8k", (8, 8, 8)),
        ("8k,16k", (8, 16, 16)),
        ("8k,", (8, 4, 4)),
        (",8k", (4, 8, 8)),
        (",8k,", (4, 8, 4)),
        (",,8k", (4, 4, 8)),
        ("8k,16k,32k", (8, 16, 32)),
        ("8k:16k", (8, 16, 16)),
    ] {
        let job = section(&[("bs", Some(bs))]);
        let sizes = job.pattern.bs.map(|bs| bs.largest() / 1024);
        assert_eq!((sizes.read, sizes.write, sizes.trim), expected, "{bs}");
    }
}

#[test]
fn options_are_resolved_as_in_fio() {
    let job = section(&[("gtod_reduce", Some("1")), ("time_based", None), ("randseed", Some("7"))]);
    assert!(job.report.disable_lat && !job.report.percentiles.clat && !job.time.time_based);
    let job = section(&[("zonesize", Some("1m")), ("ignore_error", Some(",ENOSPC"))]);
    assert_eq!(job.pattern.zonerange, Some(1 << 20));
    assert!(job.errors.continue_on().write && !job.errors.continue_on().read);
    let job = section(&[("verify", Some("md5")), ("bsrange", Some("4k-6k"))]);
    assert_eq!(job.verify.interval, Some(2048));
    assert!(job.contents.refill_buffers);
    assert!(job.verify.write_sequence, "nothing is written");
    let random = [("rw", Some("randwrite")), ("verify", Some("md5"))];
    assert!(section(&random).verify.write_sequence);
    let job = section(&[random[0], random[1], ("norandommap", None), ("ioengine", Some("libaio"))]);
    assert!(job.verify.write_sequence, "blocks may come again");
    let given = [random[0], random[1], ("norandommap", None), ("verify_header_seed", Some("1"))];
    assert!(section(&given).verify.write_sequence);
    assert_eq!(section(&[("steadystate", Some("iops:5%"))]).time.steadystate, None);
}

/// bench-fio's configparser doubles the sign; fio accepts both for percentages.
#[test]
fn percent_signs_are_accepted_where_fio_accepts_them() {
    let text = |name: &str, value: &str| {
        let mut job = Job::default();
        apply(&mut job, name, value).map(|()| find(name).unwrap().print(&job))
    };
    for (name, value, is) in [
        ("size", "100%%", "100%"),
        ("size", "50%", "50%"),
        ("steadystate", "iops:0.1%%", "iops:0.1%"),
        ("bssplit", "4k/60%:64k/40%%", "65536/40:4096/60"),
    ] {
        assert_eq!(text(name, value).as_deref(), Ok(is), "{name}={value}");
    }
    // fio reads 70% as -71, and 10.5 as 10.
    for (name, value) in [
        ("rwmixread", "70%"),
        ("percentage_random", "50%"),
        ("rate_iops", "10.5"),
        ("iodepth", "4.7"),
    ] {
        let error = text(name, value).unwrap_err().to_string();
        assert!(error.ends_with(&format!("fio misreads `{value}`")), "{error}");
    }
    assert!(text("bs", "1.5k").is_err() && text("size", "33.3%").is_err());
}

/// A mix overrides later sizes and ranges; missing percentages are filled in.
#[test]
fn mixes_of_blocks_are_those_of_fio() {
    for (split, expected) in [
        ("4k/50:1k/:32k/", vec![(1024, 25.0), (32_768, 25.0), (4096, 50.0)]),
        ("4k:8k:16k", vec![(4096, 33.0), (8192, 33.0), (16_384, 34.0)]),
        ("4k/20:8k/30", vec![(4096, 20.0), (8192, 80.0)]),
        ("4k/80:8k/60", vec![(4096, 40.0), (8192, 60.0)]),
        ("4k", vec![(4096, 100.0)]),
    ] {
        let job = section(&[("bssplit", Some(split)), ("bs", Some("2k"))]);
        assert_eq!(job.pattern.bs.write, BlockSize::Split(expected), "{split}");
    }
}

#[test]
fn contradictions_are_reported() {
    for (entries, part) in [
        (vec![("rate", "1m"), ("rate_iops", "5")], "exclude each other"),
        (vec![("rate", "1m"), ("rate_min", "2m")], "above"),
        (vec![("zonemode", "strided")], "zonesize"),
        (vec![("zonemode", "none"), ("zonesize", "1m")], "exclude each other"),
        (vec![("rw", "randtrim"), ("directory", "/mnt")], "needs a filename and no directory"),
        (vec![("size", "1k")], "less than a block"),
        (vec![("verify", "md5"), ("bs", "32")], "header"),
        (vec![("verify", "pattern")], "verify_pattern"),
        (vec![("direct", "1"), ("bs", "4KiB")], "KiB"),
        (vec![("sprandom", "1"), ("rw", "randread")], "sprandom needs"),
        (vec![("sprandom", "1"), ("rw", "randwrite"), ("norandommap", "0")], "sprandom needs"),
        (
            vec![("sprandom", "1"), ("rw", "randwrite"), ("random_generator", "tausworthe")],
            "sprandom needs",
        ),
        (vec![("rate", "1m"), ("latency_target", "5ms")], "exclude each other"),
    ] {
        let entries: Vec<_> =
            entries.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let errors = check(&section(&entries));
        assert!(errors.iter().any(|e| e.to_string().contains(part)), "{entries:?}: {errors:?}");
    }
    assert_eq!(check(&Job::default()), []);
    assert_eq!(check(&section(&[("sprandom", Some("1")), ("rw", Some("randwrite"))])), []);
}

#[test]
fn notes_name_options_without_effect() {
    for (entry, part) in [
        (("iodepth", "8"), "one I/O at a time"),
        (("clocksource", "cpu"), "changes nothing"),
        (("ioengine", "vsync"), "pvsync2"),
        (("bs", "4KiB"), "KiB is 1000"),
        (("sqthread_poll", "1"), "ioengine=psync"),
        (("time_based", "1"), "without runtime"),
        (("iodepth_batch_complete", "8"), "above iodepth"),
        (("steadystate", "iops:5%"), "steadystate_duration"),
    ] {
        let entries = [(entry.0, Some(entry.1))];
        let notes = notes(&section(&entries), &entries);
        assert!(notes.len() == 1 && notes[0].contains(part), "{entry:?}: {notes:?}");
    }
    let entries = [("bs", Some("4k")), ("runtime", Some("5")), ("time_based", None)];
    assert_eq!(notes(&section(&entries), &entries), Vec::<String>::new());
}

#[test]
fn the_reference_is_generated_from_the_table() {
    expect_file!["../../../docs/options.md"].assert_eq(&reference());
}

/// Job files of the folder IODYNO_CORPUS, or a few of our own.
fn job_files() -> Vec<(String, String)> {
    let Some(folder) = std::env::var_os("IODYNO_CORPUS") else {
        return OURS.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    };
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.to_string_lossy().ends_with(".txt"));
    let read = |path: std::path::PathBuf| {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        (path.file_name().unwrap().to_string_lossy().into_owned(), text)
    };
    files.map(read).collect()
}

const OURS: &[(&str, &str)] = &[
    (
        "randread.fio",
        "[global]\nioengine=libaio\ndirect=1\nbs=4k\nsize=10%\ngroup_reporting\nruntime=30s\n\
         time_based\n[a]\nrw=randread\niodepth=32\nnumjobs=4\n[b]\nstonewall\nrw=randrw:8\n\
         rwmixread=70\nbssplit=4k/60:64k/40\nrandom_distribution=zipf:1.2\n",
    ),
    (
        "verify.fio",
        "[w]\nrw=write\nbs=8k,16k\nsize=(4*16m)\nverify=crc32c\ndo_verify=1\nverify_fatal=1\n\
         fsync=32\nwrite_lat_log=out\nlog_avg_msec=250\npercentile_list=50:99:99.9\n",
    ),
    ("cluster.fio", "[r]\nioengine=rbd\npool=images\nrw=read\n"),
];

/// Sections with the options of [global] before them; values with variables are left out.
fn sections(text: &str) -> Vec<Vec<(&str, Option<&str>)>> {
    let mut global = Vec::new();
    let mut sections: Vec<Vec<_>> = Vec::new();
    let mut in_global = true;
    for line in text.lines() {
        let line = line.split(['#', ';']).next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix('[') {
            in_global = name.starts_with("global]");
            if !in_global {
                sections.push(global.clone());
            }
            continue;
        }
        let (name, value) = line
            .split_once('=')
            .map_or((line, None), |(name, value)| (name.trim(), Some(value.trim())));
        let is_option = !name.is_empty() && !name.starts_with("include") && !line.contains('$');
        let entries = if in_global { Some(&mut global) } else { sections.last_mut() };
        if is_option && value != Some("") {
            entries.expect("a section was begun").push((name, value));
        }
    }
    sections
}

/// Names unknown to any fio, in files as published.
const UNKNOWN: [&str; 5] = ["io_engine", "iodepth_mode", "target", "threads", "option"];

#[test]
fn job_files_are_accepted_or_refused_by_name_and_reason() {
    let files = job_files();
    let (mut local, mut taken) = (0, 0);
    let mut reasons = std::collections::BTreeMap::<String, usize>::new();
    for (file, text) in &files {
        let mut errors = BTreeSet::new();
        let mut is_local = true;
        for entries in sections(text) {
            let mut job = Job::default();
            let found = apply_all(&mut job, &entries).err().unwrap_or_default();
            for (at, error) in found {
                let (name, value) = entries[at];
                is_local &= !(name == "ioengine" && matches!(error, JobError::Foreign { .. }));
                let unknown = matches!(error, JobError::UnknownOption { .. });
                assert!(!unknown || UNKNOWN.contains(&name), "{file}: {name}={value:?}: {error}");
                assert!(
                    error.to_string().contains(name) || find(name).is_some(),
                    "{file}: {error}"
                );
                errors.insert(error.to_string());
            }
        }
        if is_local {
            local += 1;
            taken += usize::from(errors.is_empty());
            for error in errors {
                *reasons.entry(format!("{error} [{file}]")).or_default() += 1;
            }
        }
    }
    for (reason, count) in reasons {
        println!("{count:3} {reason}");
    }
    println!("{taken} of {local} files of {} whose I/O engine is local are taken", files.len());
    assert!(taken * 100 >= local * 85, "{taken} of {local}");
}

/// Rows with the number of an example each.
fn some_options() -> impl Strategy<Value = Vec<(usize, usize)>> {
    let count = options().filter(has_examples).count();
    prop::collection::vec((0..count, any::<usize>()), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_job_that_is_printed_is_the_same_job(rows in some_options(), settled: bool) {
        let table: Vec<_> = options().filter(has_examples).collect();
        let pick = |(row, example): &(usize, usize)| {
            let spec = table[*row];
            (spec.name, Some(spec.examples[example % spec.examples.len()]))
        };
        let entries: Vec<_> = rows.iter().map(pick).collect();
        let mut job = Job::default();
        if settled {
            prop_assert!(apply_all(&mut job, &entries).is_ok());
        } else {
            for (name, value) in &entries {
                prop_assert!(apply(&mut job, name, value.unwrap_or_default()).is_ok());
            }
        }
        prop_assert_eq!(again(&job), job, "{:?}", entries);
    }

    #[test]
    fn no_value_panics(row in 0..options().count(), text in "[ -~]{1,24}") {
        let spec = options().nth(row).unwrap();
        let mut job = Job::default();
        if apply(&mut job, spec.name, &text).is_ok() {
            let _ = (again(&job), check(&job));
        }
    }

    #[test]
    fn no_numbers_panic(row in 0..options().count(), text in "[0-9kmgx,:/%.-]{1,16}") {
        let spec = options().nth(row).unwrap();
        let mut job = Job::default();
        if apply(&mut job, spec.name, &text).is_ok() {
            prop_assert_eq!(again(&job), job, "{}={}", spec.name, text);
        }
        let mut job = Job::default();
        if apply_all(&mut job, &[(spec.name, Some(&text)), ("verify", Some("md5"))]).is_ok() {
            prop_assert_eq!(again(&job), job, "{}={}", spec.name, text);
        }
    }
}
