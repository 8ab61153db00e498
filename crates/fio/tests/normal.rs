//! Compares fio's normal text with the JSON of the same run of the real fio.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::LazyLock;

use common::{JOBS, alone, fio, parts};
use iodyno_fio::read::{Document, documents, normal};
use iodyno_model::{Direction, JobStats, LatencyKind, Measurement};
use serde_json::Value;

fn cases() -> Vec<(&'static str, String)> {
    let null = "[global]\nioengine=null\nsize=8m\n";
    vec![
        ("clones, groups and syncs", JOBS.to_owned()),
        (
            "trims",
            format!("{null}[trim]\nrw=randtrim\n[trimwrite]\nstonewall\nrw=trimwrite\nbs=64k\n"),
        ),
        ("directions together", format!("{null}[a]\nrw=randrw\nunified_rw_reporting=mixed\n")),
        ("directions both ways", format!("{null}[a]\nrw=randrw\nunified_rw_reporting=both\n")),
        (
            "a list of percentiles and a description",
            format!(
                "{null}[a b: c]\nrw=read\npercentile_list=50:90:99.9999\n\
                 description=read: IOPS=1, BW=1B/s (1B/s)(1B/1msec)\ncontinue_on_error=all\n"
            ),
        ),
        ("thousands and bits", format!("{null}[a]\nrw=read\nkb_base=1000\nunit_base=1\n")),
        ("thousands", format!("{null}[a]\nrw=write\nbs=4k\nkb_base=1000\n")),
        ("several sizes", format!("{null}[a]\nrw=randrw\nbs=4k,8k\n[b]\nrw=read\nbsrange=4k-8k\n")),
        ("no latencies", format!("{null}[a]\nrw=read\ngtod_reduce=1\n")),
        ("a short last block", format!("{null}[a]\nrw=read\nbs=48k\nsize=1m\n")),
        ("six digits", format!("{null}[a]\nrw=read\nsignificant_figures=6\n")),
        (
            "steady state",
            format!(
                "{null}[a]\nrw=read\nsize=1g\ntime_based\nruntime=3\nrate_iops=1000\n\
                 steadystate=iops:90%\nsteadystate_duration=1\n"
            ),
        ),
    ]
}

/// Runs each case with fio's output for it.
static OUTPUTS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let run = |(title, job): (&'static str, String)| {
        let directory = tempfile::tempdir().unwrap();
        (title, fio(directory.path(), &job))
    };
    cases().into_iter().map(run).collect()
});

/// Iodyno's intervals contain fio's own numbers.
fn assert_agree(title: &str, ours: &[Measurement], document: &Document, json: &Value) {
    let jobs = json["jobs"].as_array().unwrap();
    assert_eq!(ours.len(), jobs.len(), "{title}");
    for ((ours, theirs), job) in ours.iter().zip(&document.measurements).zip(jobs) {
        let title = format!("{title}: {}", ours.name);
        assert_eq!(ours.name, theirs.name, "{title}");
        assert_eq!((ours.phase, ours.group), (theirs.phase, theirs.group), "{title}");
        assert_eq!(ours.source, theirs.source, "{title}");
        assert_eq!(ours.duration_ns, theirs.duration_ns, "{title}");
        assert_eq!(ours.started_ns, None, "{title}");
        let (known, asked) = (&ours.workload, &theirs.workload);
        assert!(asked.rw.is_none() || asked.rw == known.rw, "{title}");
        assert!(asked.ioengine.is_none() || asked.ioengine == known.ioengine, "{title}");
        assert_eq!(asked.iodepth, known.iodepth, "{title}");
        let thousands = known.bs == Some(4000);
        assert!(asked.bs.is_none() || asked.bs == known.bs || thousands, "{title}");
        let directions = |of: &Measurement| -> Vec<Direction> {
            of.total.iter().map(|side| side.direction).collect()
        };
        assert_eq!(directions(ours), directions(theirs), "{title}");
        let (account, theirs_account) =
            (ours.account.as_ref().unwrap(), theirs.account.as_ref().unwrap());
        assert_eq!(account.switches, theirs_account.switches, "{title}");
        let issued: u64 = ours.total.iter().filter_map(|side| side.ios).sum();
        for (ours, theirs) in account.depth_levels.iter().zip(theirs_account.depth_levels) {
            // Printed with one decimal, in percent.
            assert!(ours.abs_diff(theirs) <= issued / 1000 + 1, "{title}");
        }
        let (cpu, theirs_cpu) = (account.cpu, theirs_account.cpu);
        // Per thread; some end before others, which only JSON shows.
        let each = |cpu: f64, of: &JobStats| cpu / f64::from(of.threads.max(1));
        let (user, system) = (each(cpu.user, account), each(cpu.system, account));
        assert!((user - each(theirs_cpu.user, theirs_account)).abs() <= 0.000_051, "{title}");
        assert!((system - each(theirs_cpu.system, theirs_account)).abs() <= 0.000_051, "{title}");
        let ranges = &account.latency_ranges;
        let share: f64 = ranges.iter().map(|range| range.share.value).sum();
        let timed = ours.total.iter().any(|side| side.stated.is_some());
        assert!(!timed || (share - 1.0).abs() < 0.01, "{title} {share}");
        assert!(ranges.windows(2).all(|two| two[0].high_ns.unwrap() <= two[1].low_ns), "{title}");
        let attained = job["steadystate"]["attained"].as_u64().map(|attained| attained == 1);
        assert_eq!(account.steadystate_attained, attained, "{title}");
        for (side, theirs) in ours.total.iter().zip(&theirs.total) {
            let title = format!("{title} {}", side.direction.name());
            assert_eq!(side.ios, theirs.ios, "{title}");
            assert_eq!(side.short_ios, theirs.short_ios, "{title}");
            for (ours, theirs) in [(side.iops, theirs.iops), (side.bandwidth, theirs.bandwidth)] {
                let (ours, theirs) = (ours.unwrap(), theirs.unwrap().value);
                assert!(ours.low() <= theirs && theirs <= ours.high(), "{title} {ours:?} {theirs}");
            }
            let fixed = known.bs.is_some() && !title.contains("short");
            assert!(!fixed || side.bytes == theirs.bytes, "{title}");
            assert_latencies(&title, side.stated.as_deref(), &job[side.direction.name()]);
        }
    }
}

fn assert_latencies(title: &str, stated: Option<&iodyno_model::StatedLatencies>, json: &Value) {
    for kind in LatencyKind::ALL {
        let theirs = &json[format!("{}_ns", kind.fio_name())];
        // Before 3.9 their number is missing.
        if theirs["N"].as_u64().or(theirs["max"].as_u64()).unwrap_or(0) == 0 {
            assert!(stated.is_none_or(|stated| stated.of(kind).is_empty()), "{title}");
            continue;
        }
        let ours = stated.unwrap().of(kind);
        let holds = |ours: Option<iodyno_model::Estimate>, theirs: &Value| {
            let (ours, theirs) = (ours.unwrap(), theirs.as_f64().unwrap());
            let slack = theirs * 1e-9;
            let held = ours.low() - slack <= theirs && theirs <= ours.high() + slack;
            assert!(held, "{title} {kind:?} {ours:?} {theirs}");
        };
        holds(ours.min_ns, &theirs["min"]);
        holds(ours.max_ns, &theirs["max"]);
        holds(ours.mean_ns, &theirs["mean"]);
        holds(ours.stdev_ns, &theirs["stddev"]);
        let empty = serde_json::Map::new();
        let percentiles = theirs["percentile"].as_object().unwrap_or(&empty).iter();
        // Up to 3.3 the list was padded with these.
        let percentiles: Vec<_> = percentiles.filter(|(percent, _)| *percent != "0.00").collect();
        assert_eq!(ours.percentiles.len(), percentiles.len(), "{title} {kind:?}");
        for (percent, value) in percentiles {
            holds(ours.percentile(percent.parse().unwrap()), value);
        }
    }
}

#[test]
fn normal_text_agrees_with_the_json_of_the_same_run() {
    for (title, output) in OUTPUTS.iter() {
        let (_, json, _) = parts(output);
        let imported = normal("out.txt", &alone(output));
        assert_eq!(imported.problems, [], "{title}");
        let document = documents(json).unwrap().remove(0);
        assert_agree(
            title,
            &imported.measurements,
            &document,
            &serde_json::from_str(json).unwrap(),
        );
    }
}

fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/normal");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

/// Text and JSON of one run of a version that is not installed.
#[test]
fn other_versions_agree_with_their_json() {
    for name in ["fio-2.16.txt", "fio-3.1.txt", "failed.txt"] {
        let output = fixture(name);
        let start = output.find("{\n").unwrap();
        let end = start + output[start..].find("\n}\n").unwrap() + 3;
        let json: Value = serde_json::from_str(&output[start..end]).unwrap();
        let imported = normal(name, &format!("{}{}", &output[..start], &output[end..]));
        assert_eq!(imported.problems, [], "{name}");
        let jobs = json["jobs"].as_array().unwrap();
        assert_eq!(imported.measurements.len(), jobs.len(), "{name}");
        for (ours, job) in imported.measurements.iter().zip(jobs) {
            let title = format!("{name} {}", ours.name);
            assert_eq!(Some(ours.name.as_str()), job["jobname"].as_str(), "{title}");
            assert_eq!(ours.failure().is_some(), job["error"] != 0, "{title}");
            for side in &ours.total {
                let theirs = &job[side.direction.name()];
                assert_eq!(side.ios, theirs["total_ios"].as_u64(), "{title}");
                // In 2.16 these are KiB.
                let per = if name.contains("2.16") { 1024 } else { 1 };
                let bytes = side.bytes.map(|bytes| bytes / per);
                assert_eq!(bytes, theirs["io_bytes"].as_u64(), "{title}");
                let (iops, rate) = (side.iops.unwrap(), theirs["iops"].as_f64().unwrap());
                assert!((iops.value - rate).abs() < 0.01, "{title} {iops:?} {rate}");
                if per == 1 {
                    assert_latencies(&title, side.stated.as_deref(), theirs);
                    continue;
                }
                let clat = &side.stated.as_ref().unwrap().completion;
                for (name, ours) in
                    [("min", clat.min_ns), ("max", clat.max_ns), ("mean", clat.mean_ns)]
                {
                    let (ours, theirs) = (ours.unwrap(), theirs["clat"][name].as_f64().unwrap());
                    let theirs = theirs * 1000.0;
                    assert!(ours.low() <= theirs && theirs <= ours.high(), "{title} {name}");
                }
                let percentile = theirs["clat"]["percentile"]["99.000000"].as_f64().unwrap();
                assert_eq!(clat.percentile(99.0).unwrap().value, percentile * 1000.0, "{title}");
            }
        }
    }
    let failed = normal("", &fixture("failed.txt")).measurements.remove(0);
    assert_eq!(failed.failure(), Some("No space left on device"));
}

#[test]
fn cumulative_reports_and_sums_count_once() {
    let imported = normal("x", &fixture("status-interval.txt"));
    let [only] = &imported.measurements[..] else { panic!("{imported:?}") };
    assert_eq!((only.name.as_str(), only.total[0].ios), ("b", Some(6001)));
    assert_eq!(only.workload.rw.as_deref(), Some("randread"));
    let [problem] = &imported.problems[..] else { panic!("{imported:?}") };
    assert_eq!((problem.file.as_str(), problem.line), ("x", Some(1)));
    assert!(problem.what.contains("`a`"), "{problem:?}");

    let imported = normal("", &fixture("client.txt"));
    let names: Vec<_> = imported.measurements.iter().map(|one| one.name.as_str()).collect();
    assert_eq!((names, imported.problems), (vec!["a", "b"], vec![]));

    // Two runs of one job in containers, where processes have the same pids.
    let run = |pid: u32, date: &str, ios: u32| {
        format!(
            "a: (groupid=0, jobs=1): err= 0: pid={pid}: {date}\n  read: IOPS=10, BW=40KiB/s \
             (41kB/s)(2400KiB/60001msec)\n     issued rwts: total={ios},0,0,0 short=0,0,0,0 \
             dropped=0,0,0,0\n"
        )
    };
    let text = run(12, "Thu Jan  1 10:00:00 2026", 600) + &run(12, "Thu Jan  1 10:05:00 2026", 601);
    assert_eq!(normal("", &text).measurements.len(), 2);
}

/// The text before a report tells its workload.
#[test]
fn a_preceding_command_gives_options() {
    let report = alone(&OUTPUTS[0].1);
    let commands = [
        "$ sudo fio --name=mix --filename=/dev/nvme0n1:/dev/nvme1n1 --bs=4k --rw=randrw \\\n    \
         --direct=1 --size=10g --runtime 60 --iodepth=4 --numjobs=2 | tee out.txt\n",
        "C:\\fio>fio.exe -name=mix -filename=/dev/nvme0n1:/dev/nvme1n1 -bs=4k -rw=randrw ^\n\
         -direct=1 -size=10g -runtime=60 -iodepth=4 -numjobs=2\n",
        "```\n[global]\nfilename=/dev/nvme0n1:/dev/nvme1n1\ndirect=1\nruntime=60\n\n[mix]\nrw=randrw\n\
         bs=4k\nsize=10g\n```\n\nand it printed\n\n",
        "[root@host ~]# /usr/bin/fio --client=vm --name=mix --filename=/dev/nvme0n1:/dev/nvme1n1 \
         --bs=4k\n--rw=randrw --direct=1\n--size=10g --runtime=60\n",
    ];
    for command in commands {
        let imported = normal("", &format!("{command}{report}"));
        let mix = &imported.measurements[0];
        assert_eq!(mix.targets, ["/dev/nvme0n1", "/dev/nvme1n1"], "{command}");
        assert_eq!((mix.workload.direct, mix.workload.size), (Some(true), Some(10 << 30)));
        assert_eq!(mix.workload.options["runtime"], "60");
        // The effective value takes precedence over the option.
        assert_eq!(mix.workload.ioengine.as_deref(), Some("libaio"));
        assert_eq!(mix.end, iodyno_model::EndReason::Time);
        // Another job's command does not apply to this one.
        let other = &imported.measurements[2];
        assert!(other.targets.is_empty() && other.workload.direct.is_none());
    }
    // The shell's expansion is unknown.
    let text = format!("$ fio --name=mix --direct=1 --size=$((10 * 1024))m --runtime=$T\n{report}");
    let mix = &normal("", &text).measurements[0].workload;
    assert_eq!((mix.direct, mix.size, mix.options.len()), (Some(true), None, 0), "{mix:?}");
    // A command with contradicting options belongs to another run.
    let text = format!("$ fio --name=mix --direct=1 --rw=randwrite\n{report}");
    assert_eq!(normal("", &text).measurements[0].workload.direct, None);
    // Several runs with only the group status left.
    let text = "Run status group 0 (all jobs):\n   READ: bw=64.0MiB/s (67.1MB/s), 64.0MiB/s-\
                64.0MiB/s (67.1MB/s-67.1MB/s), io=640MiB (671MB), run=10000-10000msec\n";
    let several = normal("", &format!("reads\n{text}again\n{text}"));
    assert_eq!(several.measurements.len(), 2);
    assert_eq!(several.measurements[0].name, "group 0");
    let unknown = normal("", &report.replace("(g=", "(h="));
    assert_eq!(unknown.measurements[0].workload.rw, None);
    assert_eq!(unknown.measurements[0].workload.direct, None);
}

#[test]
fn quoted_lines_without_a_block_are_no_measurements() {
    let block = iodyno_fio::read::text("", &page("")).measurements;
    assert_eq!(block.len(), 1);
    assert_eq!(block[0].workload.rw.as_deref(), Some("randread"));
    let quoted = "\nLater we saw\n\n  write: IOPS=436k, BW=1703MiB/s (1786MB/s)(100GiB/60001msec)\n\n\
                  * read: IOPS=343k, BW=1340MiB/s\n* write: IOPS=694k, BW=2711MiB/s\n";
    let found = iodyno_fio::read::text("", &page(quoted));
    assert_eq!(found.measurements.len(), 1, "{:?}", found.measurements);
    assert_eq!(found.measurements[0].total.len(), 1);
    let said = |problem: &iodyno_fio::read::Problem| problem.what.contains("not imported");
    assert!(found.problems.iter().any(said), "{:?}", found.problems);
}

/// A page with one whole block, and what follows it.
fn page(behind: &str) -> String {
    format!(
        "rand: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
         ioengine=libaio, iodepth=32\nfio-3.33\nStarting 2 processes\n\nrand: (groupid=0, jobs=2): \
         err= 0: pid=1: Mon Jan  1 00:00:00 2024\n  read: IOPS=1000, BW=4000KiB/s (4096kB/s)\
         (3906KiB/1000msec)\n    clat (usec): min=1, max=100, avg=50.00, stdev=1.00\n  \
         cpu          : usr=1.00%, sys=2.00%, ctx=10, majf=0, minf=1\n     issued rwts: \
         total=1000,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n{behind}"
    )
}
