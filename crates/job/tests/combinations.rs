//! Options that imply or contradict others.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use iodyno_job::{BlockSize, Job, JobError, Pattern, apply_all, check, is_fio_only};

#[test]
fn verify_only_writes_nothing() {
    let mut job = Job::default();
    let entries = [
        ("rw", Some("randwrite")),
        ("bs", Some("4k,8k")),
        ("verify", Some("crc32c")),
        ("verify_only", None),
    ];
    apply_all(&mut job, &entries).unwrap();
    assert!(!job.writes() && job.pattern.rw == Pattern::RandRead);
    assert_eq!(job.pattern.bs.read, BlockSize::Fixed(8192), "in the blocks that were written");
    assert!(!job.verify.write_sequence && check(&job).is_empty());
    // A job that only reads has no writes to be counted.
    let mut reads = Job::default();
    apply_all(&mut reads, &[("rw", Some("read")), ("verify_only", None)]).unwrap();
    assert!(job.verify.verify_only && !reads.verify.verify_only);
    // Only the mix itself knows which blocks it wrote: it stays a mix.
    let mut mix = Job::default();
    apply_all(&mut mix, &[("rw", Some("randrw")), ("verify_only", None)]).unwrap();
    assert!(!mix.writes() && mix.pattern.rw == Pattern::RandRw && check(&mix).is_empty());
}

#[test]
fn atomic_writes_go_past_the_page_cache_by_engines_that_have_them() {
    for (engine, refused) in [("io_uring", false), ("pvsync2", false), ("psync", true)] {
        let mut job = Job::default();
        apply_all(&mut job, &[("atomic", Some("1")), ("ioengine", Some(engine))]).unwrap();
        assert!(job.engine.direct);
        assert_eq!(!check(&job).is_empty(), refused, "{engine}");
    }
}

#[test]
fn blocks_of_any_size_are_not_verified() {
    let is_refused = |options: &[(&str, Option<&str>)]| {
        let mut job = Job::default();
        apply_all(&mut job, &[&[("rw", Some("randwrite"))], options].concat()).unwrap();
        let named = |error: &JobError| matches!(error, JobError::NotNative { option, .. } if *option == "bs_unaligned");
        check(&job).iter().any(named)
    };
    let (range, unaligned) = (("bsrange", Some("4k-20k")), ("bs_unaligned", Some("1")));
    let verify = ("verify", Some("crc32c"));
    assert!(is_refused(&[range, unaligned, verify]));
    assert!(!is_refused(&[range, verify]) && !is_refused(&[range, unaligned]));
    // Their sizes have a common divisor.
    assert!(!is_refused(&[("bssplit", Some("4k/50:6k/50")), unaligned, verify]));
    assert!(!is_refused(&[unaligned, verify]));
}

#[test]
fn options_that_a_job_cannot_represent_are_fio_only() {
    for (name, value) in [
        ("ioengine", "sg"),
        ("ioengine", "pvsync"),
        ("file_service_type", "zipf"),
        ("fadvise_hint", "random"),
        ("mem", "mmap"),
        ("clocksource", "gettimeofday"),
        ("gtod_cpu", "1"),
        ("zonemode", "zbd"),
    ] {
        assert!(is_fio_only(name, Some(value)), "{name}={value}");
    }
    for (name, value) in [
        ("ioengine", "libaio"),
        ("ioengine", "nbd"),
        ("profile", "act"),
        ("bs", "4k"),
        ("rw", "randread"),
        ("bs", "?"),
    ] {
        assert!(!is_fio_only(name, Some(value)), "{name}={value}");
    }
}
