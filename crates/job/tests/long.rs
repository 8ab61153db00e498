//! Checks that parsing time is proportional to the length of job files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;

use iodyno_job::script::{CompileOptions, compile};
use iodyno_job::syntax::{Environment, parse_file};
use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread for parsing and compiling a job file, ns: the minimum of three.
fn cpu_ns(text: &str) -> i64 {
    let read = |path: &str| panic!("{path} is not to be read");
    let environment = Environment {
        variable: &|_| None,
        read: &read,
        page_size_bytes: 4096,
        cpus: 8,
        memory_mib: 16_384,
    };
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    };
    let once = |_| {
        let begun = now();
        let file = parse_file(text.as_bytes(), "x.fio", &environment).unwrap();
        compile(&file.sections, &CompileOptions::default()).unwrap();
        now() - begun
    };
    (0..3).map(once).min().unwrap()
}

/// A job file with `lines` options in one section.
fn options(lines: usize) -> String {
    let mut text = "[j]\nsize=1m\nfilename=data\nrw=read\n".to_owned();
    (0..lines).for_each(|n| writeln!(text, "iodepth={}", n % 32 + 1).unwrap());
    text
}

/// A job file with `count` sections, each a phase of its own.
fn sections(count: usize) -> String {
    let mut text = "[global]\nsize=1m\nfilename=data\nrw=read\n".to_owned();
    for n in 0..count {
        write!(text, "[j{n}]\nbs=4k\niodepth={}\nstonewall\n", n % 32 + 1).unwrap();
    }
    text
}

#[test]
fn four_times_the_lines_take_about_four_times_the_work() {
    // Quadratic, it would be 16 times.
    for (what, few, many) in
        [("options", options(5000), options(20_000)), ("sections", sections(1000), sections(4000))]
    {
        let (few, many) = (cpu_ns(&few), cpu_ns(&many));
        assert!(many < 9 * few, "{what}: {few} ns, then {many} ns");
    }
}
