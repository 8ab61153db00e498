//! Tests fio's results in `show`, `import`, `run` and `runs export`: group totals, details,
//! truncated output, and stated machines.

use std::process::Command;

use crate::common::{World, json, status, text};
use serde_json::Value;

/// Writes fio's output for jobs on two files into the file `name`.
fn fio(world: &World, name: &str, arguments: &[&str]) -> String {
    let path = world.path(name);
    let output = Command::new("fio")
        .current_dir(world.directory("fio"))
        .args(["--size=2m", "--bs=4k", "--time_based", "--runtime=1s", "--eta=never"])
        .args(arguments)
        .output()
        .expect("these tests need fio: make deps");
    assert!(output.status.success(), "{}", text(&output.stderr));
    std::fs::write(&path, output.stdout).unwrap();
    path.to_str().unwrap().to_owned()
}

const TWO: [&str; 6] =
    ["--name=a", "--filename=da", "--rw=randread", "--name=b", "--filename=db", "--rw=randrw"];

fn document(world: &World, report: &str) -> Value {
    json(&world.run(&["show", report, "--json"]).stdout)
}

/// IOPS of a direction.
fn iops(of: &Value, direction: &str) -> f64 {
    of[direction]["iops"]["value"].as_f64().unwrap()
}

#[test]
fn logs_of_submissions_alone_are_shown_and_compared() {
    let world = World::new();
    let log = |name: &str, ns: u32| {
        let path = world.directory(name).join("j_slat.1.log");
        std::fs::write(&path, format!("500, {ns}, 0, 0, 0\n1000, {ns}, 0, 0, 0\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) = (log("a", 6000), log("b", 3000));
    let shown = text(&world.run(&["show", "-v", &a]).stdout);
    assert!(shown.contains("latency slat mean 6.00 us"), "{shown}");
    let compared = text(&world.run(&["compare", &a, &b]).stdout);
    let line = compared.lines().find(|line| line.contains("latency slat")).unwrap();
    assert!(line.contains("0.500"), "{compared}");
}

#[test]
fn a_group_of_jobs_has_a_total() {
    let world = World::new();
    for (name, format) in [("two.txt", "normal"), ("two.json", "json+")] {
        let report =
            fio(&world, name, &[&TWO[..], &[&format!("--output-format={format}")]].concat());
        let shown = world.run(&["show", &report]);
        let out = text(&shown.stdout);
        assert!(out.contains("all 2 jobs") && !out.contains(" 0 of them"), "{out}");
        let page = world.path("page.html");
        let to = page.to_str().unwrap();
        status(&world.run(&["report", &report, "-o", to, "--force"]), 0);
        assert!(std::fs::read_to_string(&page).unwrap().contains("all 2 jobs"));
        let document = document(&world, &report);
        let [total] = &document["group_totals"].as_array().unwrap()[..] else { panic!("{out}") };
        assert_eq!(total["members"], serde_json::json!([0, 1]));
        let [a, b] = &document["measurements"].as_array().unwrap()[..] else { panic!("{out}") };
        let sum = iops(a, "read") + iops(b, "read");
        // Both took one second within a few milliseconds.
        assert!((iops(total, "read") / sum - 1.0).abs() < 0.05, "{out}");
        assert!((iops(total, "write") / iops(b, "write") - 1.0).abs() < 0.05, "{out}");
    }
}

#[test]
fn jobs_on_several_targets_have_a_sum() {
    let world = World::new();
    let (a, b) = (world.path("a"), world.path("b"));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let ran = world.run(&[
        "run",
        "--size=2m",
        "--time_based",
        "--runtime=1s",
        "--rw=randread",
        "--name=first",
        &format!("--filename={a}"),
        "--name=second",
        &format!("--filename={b}"),
    ]);
    let out = text(&ran.stdout);
    assert!(out.contains("all 2 jobs"), "{out}{}", text(&ran.stderr));
    let shown = text(&world.run(&["show", "last"]).stdout);
    assert!(shown.contains("all 2 jobs"), "{shown}");
    let document = document(&world, "last");
    let total = &document["group_totals"][0];
    let ios = |of: &Value| of["read"]["ios"].as_u64().unwrap();
    assert_eq!(
        ios(total),
        ios(&document["measurements"][0]) + ios(&document["measurements"][1]),
        "{document}"
    );
}

/// A stated machine must not reduce what is shown of the jobs.
#[test]
fn a_stated_machine_hides_no_figure_of_a_job() {
    let world = World::new();
    let report = world.path("jobs.txt");
    let job = "\
a: (groupid=0, jobs=8): err= 0: pid=7: Sat Nov 21 14:43:13 2026
  read: IOPS=80.0k, BW=313MiB/s (328MB/s)(3125MiB/10000msec)
    clat (usec): min=50, max=500, avg=99.00, stdev= 9.02
     lat (usec): min=50, max=500, avg=100.00, stdev= 9.02
  write: IOPS=20.0k, BW=78.1MiB/s (81.9MB/s)(781MiB/10000msec); 0 zone resets
    clat (usec): min=10, max=500, avg=19.00, stdev= 9.02
     lat (usec): min=10, max=500, avg=20.00, stdev= 9.02
  cpu          : usr=1.00%, sys=2.00%, ctx=161411, majf=0, minf=11
  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=800000,200000,0,0 short=0,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth=1
";
    std::fs::write(&report, job).unwrap();
    let report = report.to_str().unwrap();
    status(&world.run(&["import", report, "--name", "stated", "--link", "gen4x4"]), 0);
    let out = text(&world.run(&["show", "-v", "stated"]).stdout);
    for figure in ["8 jobs", "read 80.00k IOPS", "write 20.000k IOPS", "mean 20.00 us"] {
        let found = out.contains(figure);
        assert!(found, "{figure}: {out}");
    }
}

#[test]
fn truncated_output_is_a_failure() {
    let world = World::new();
    let report = fio(&world, "whole.json", &[&TWO[..], &["--output-format=json"]].concat());
    status(&world.run(&["show", &report]), 0);
    let whole = std::fs::read_to_string(&report).unwrap();
    let cut = world.path("cut.json");
    let end = whole.find("\"usr_cpu\"").unwrap();
    std::fs::write(&cut, &whole[..end]).unwrap();
    let cut = cut.to_str().unwrap();
    for command in [&["show", cut][..], &["show", cut, "-q"], &["runs", "export", cut]] {
        status(&world.run(command), 4);
    }
    let out = text(&world.run(&["show", cut]).stdout);
    // Missing values stay unknown: there is no CPU time.
    assert!(!out.contains("cpu"), "{out}");
}

#[test]
fn details_are_shown_and_exported_where_asked() {
    let world = World::new();
    let job = ["--name=a", "--filename=da", "--rw=randread", "--output-format=normal"];
    let report = fio(&world, "one.txt", &job);
    let short = text(&world.run(&["show", &report]).stdout);
    assert!(!short.contains("samples") && !short.contains("\nDetails\n"), "{short}");
    let out = text(&world.run(&["show", &report, "--details"]).stdout);
    for word in ["by that machine's clock", "read bw", "read iops", "depth", "classes", "disk"] {
        assert!(out.contains(word), "{word}: {out}");
    }
    let csv = text(&world.run(&["runs", "export", &report, "--format", "csv"]).stdout);
    let rows: Vec<Vec<&str>> = csv.lines().map(cells).collect();
    let (names, row) = (&rows[0], &rows[1]);
    for name in [
        "sampled_iops_mean",
        "sampled_bandwidth_max_bytes_per_s",
        "depth_shares",
        "latency_class_shares",
        "disks",
        "printed",
    ] {
        let at = names.iter().position(|column| *column == name).unwrap();
        assert!(!row[at].is_empty(), "{name}: {csv}");
    }
    // A document keeps the details on their way to another host.
    let json = world.run(&["runs", "export", &report]).stdout;
    let other = world.path("other.json");
    std::fs::write(&other, &json).unwrap();
    let again = text(&world.run(&["show", other.to_str().unwrap(), "--details"]).stdout);
    let of = |out: &str| out[out.find("Details").unwrap()..].to_owned();
    assert_eq!(of(&again), of(&out));
}

/// Cells of a CSV line: commas within quotes do not separate.
fn cells(line: &str) -> Vec<&str> {
    let mut quoted = false;
    line.split(|c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
    .collect()
}

/// A trim destroys data like a write, but writes nothing.
#[test]
fn trims_are_reported_as_trims() {
    let world = World::new();
    let target = world.path("target");
    std::fs::write(&target, vec![7; 16 << 20]).unwrap();
    let target = target.to_str().unwrap();
    let filename = format!("--filename={target}");
    let job = ["--name=t", "--rw=trim", "--bs=1m", "--size=16m", &filename];
    let ran = world.run(&[&["run", "--allow-write", target][..], &job].concat());
    let said = text(&ran.stderr);
    assert!(said.contains("Trims 16 MiB of "), "{said}");
    assert!(!said.contains("Writes"), "{said}");
}

/// iodyno's own output in fio's format: depth shares sum to 100 % whatever the ramp did, and disks
/// have all counters.
#[test]
fn our_output_counts_depths_and_disks_as_fio_does() {
    let world = World::new();
    let data = world.path("data");
    std::fs::write(&data, vec![7; 16 << 20]).unwrap();
    let data = format!("--filename={}", data.to_str().unwrap());
    let ran = world.run(&[
        "run",
        "--name=a",
        "--rw=randread",
        "--bs=4k",
        "--direct=1",
        "--ioengine=io_uring",
        "--iodepth=4",
        "--ramp_time=1s",
        "--runtime=1s",
        "--time_based",
        "--output-format=json",
        &data,
    ]);
    let out = text(&ran.stdout);
    let document: Value = serde_json::from_str(&out).unwrap();
    let levels = document["jobs"][0]["iodepth_level"].as_object().unwrap();
    let all: f64 = levels.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((all - 100.0).abs() < 0.5, "{levels:?}");
    let disks = document["disk_util"].as_array().unwrap();
    let read = disks.iter().find(|disk| disk["read_ios"].as_u64() > Some(100));
    let disk = read.unwrap_or_else(|| panic!("{disks:?}"));
    for counter in ["read_ticks", "in_queue"] {
        assert!(disk[counter].as_u64() > Some(0), "{disk}");
    }
}
