//! Header that fio prints before its jobs run.

use iodyno_job::{IoEngine, Job};
use iodyno_model::Direction;

use crate::out::json_value::push;
use crate::out::number::{Unit, num2str};
use crate::out::report::Report;

/// Header of normal output, before [`super::normal()`]: a line for each section of `jobs`, which
/// include their clones, fio's version and the number of jobs.
pub fn head(report: &Report<'_>, jobs: &[&Job]) -> String {
    let mut text = String::new();
    for job in jobs {
        let threads = &job.threads;
        match threads.clone {
            0 => section(&mut text, job),
            1 => text.push_str("...\n"),
            _ => {}
        }
    }
    let threads = jobs.iter().filter(|job| job.threads.thread).count();
    let counted = |count, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {more}")),
    };
    let starting = [
        counted(threads, "thread", "threads"),
        counted(jobs.len() - threads, "process", "processes"),
    ];
    let starting: Vec<String> = starting.into_iter().flatten().collect();
    let (version, starting) = (report.fio_version(), starting.join(" and "));
    push(&mut text, format_args!("{version}\nStarting {starting}\n"));
    text
}

fn section(text: &mut String, job: &Job) {
    let name: String = job.name.chars().filter(|c| !c.is_control()).collect();
    if job.engine.ioengine == IoEngine::Cpuio {
        let load = &job.engine.cpu_load;
        let (mode, percent) = (if load.qsort { "qsort" } else { "noop" }, load.percent);
        let cycle = load.chunk_us;
        return push(
            text,
            format_args!("{name} ({mode}): ioengine=cpuio, cpuload={percent}, cpucycle={cycle}\n"),
        );
    }
    let size = |bytes| num2str(bytes, 4, true, Unit::Bytes);
    let sizes = |direction| {
        let bs = job.pattern.bs.of(direction);
        format!("{}-{}", size(bs.smallest()), size(bs.largest()))
    };
    push(
        text,
        format_args!(
            "{name}: (g={}): rw={}, bs=(R) {}, (W) {}, (T) {}, ioengine={}, iodepth={}\n",
            job.threads.group,
            job.pattern.rw.name(),
            sizes(Direction::Read),
            sizes(Direction::Write),
            sizes(Direction::Trim),
            job.engine.ioengine.name(),
            job.depth.iodepth,
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_a_line_and_its_clones_three_dots() {
        let mut job = Job { name: "a".into(), ..Job::default() };
        iodyno_job::apply(&mut job, "bs", "4k,64k").unwrap();
        iodyno_job::apply(&mut job, "rw", "randrw").unwrap();
        iodyno_job::apply(&mut job, "ioengine", "libaio").unwrap();
        let mut clones = [job.clone(), job.clone(), job];
        for (number, clone) in (0..).zip(&mut clones) {
            clone.threads.clone = number;
        }
        clones[2].threads.thread = true;
        let report = Report {
            version: "1.2",
            written_ns: 0,
            pid: 1,
            global_options: Vec::new(),
            jobs: Vec::new(),
            disks: Vec::new(),
            idleness: None,
        };
        // As printed by fio 3.33.
        let expected = "a: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 64.0KiB-64.0KiB, (T) \
                        64.0KiB-64.0KiB, ioengine=libaio, iodepth=1\n...\n";
        let text = head(&report, &clones.iter().collect::<Vec<_>>());
        let rest = text.strip_prefix(expected).unwrap_or_else(|| panic!("{text}"));
        assert!(rest.ends_with("\nStarting 1 thread and 2 processes\n"), "{rest}");
    }

    #[test]
    fn a_job_that_loads_a_cpu_has_no_blocks() {
        let mut job = Job { name: "c".into(), ..Job::default() };
        iodyno_job::apply(&mut job, "ioengine", "cpuio").unwrap();
        iodyno_job::apply(&mut job, "cpuload", "50").unwrap();
        let mut text = String::new();
        section(&mut text, &job);
        assert_eq!(text, "c (noop): ioengine=cpuio, cpuload=50, cpucycle=50000\n");
        iodyno_job::apply(&mut job, "cpumode", "qsort").unwrap();
        section(&mut text, &job);
        assert!(text.ends_with("c (qsort): ioengine=cpuio, cpuload=50, cpucycle=50000\n"));
    }
}
