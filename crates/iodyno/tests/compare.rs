//! Tests `compare` end to end: stored runs, fio's files, limits.

use crate::common::{World, json, printed, says, status, text, validate};
use serde_json::Value;

/// A report of 4 KiB random reads in the format of fio 3.33, as far as it is parsed.
fn report(job: &str, iops: f64, started_ms: u64) -> String {
    let ios = (iops * 10.0) as u64;
    let latency_ns = 32e9 / iops;
    serde_json::to_string_pretty(&serde_json::json!({
        "fio version": "fio-3.33",
        "timestamp_ms": started_ms + 10_000,
        "global options": { "rw": "randread", "bs": "4k", "direct": "1", "ioengine": "io_uring" },
        "jobs": [{
            "jobname": job,
            "groupid": 0,
            "error": 0,
            "job options": { "iodepth": "32", "numjobs": "1" },
            "job_start": started_ms,
            "read": {
                "io_bytes": ios * 4096,
                "bw_bytes": (iops * 4096.0) as u64,
                "iops": iops,
                "runtime": 10_000,
                "total_ios": ios,
                "short_ios": 0,
                "lat_ns": { "min": 1000, "max": 9_000_000, "mean": latency_ns, "stddev": 10.0, "N": ios },
            },
            "latency_depth": 32,
        }],
    }))
    .unwrap()
    // serde_json sorts members; fio's version comes first.
    .replacen("{\n", "{\n  \"fio version\" : \"fio-3.33\",\n", 1)
}

/// Writes reports `NAME1.json` … with these IOPS, two minutes apart.
fn reports(world: &World, name: &str, iops: &[f64], first_ms: u64) -> String {
    let paths = iops.iter().enumerate().map(|(n, iops)| {
        let path = world.path(&format!("{name}{}.json", n + 1));
        std::fs::write(&path, report(name, *iops, first_ms + n as u64 * 120_000)).unwrap();
        path.to_str().unwrap().to_owned()
    });
    paths.collect::<Vec<_>>().join(",")
}

/// Figure of a metric in a row.
fn figure<'d>(document: &'d Value, row: usize, metric: &str) -> &'d Value {
    let figures = document["rows"][row]["figures"].as_array().unwrap();
    figures.iter().find(|figure| figure["metric"] == metric).unwrap()
}

#[test]
fn two_checks_stand_side_by_side() {
    let world = World::new();
    let (a, b) = (world.sparse("a", 1 << 30), world.sparse("b", 1 << 30));
    for name in ["first", "second", "first,second"] {
        let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
        let checked =
            world.run(&["check", a, b, "--generator", "simulated", "--name", name, "--quiet"]);
        status(&checked, 0);
    }
    let compared = world.run(&["compare", "first", "second", "-v"]);
    status(&compared, 0);
    let out = text(&compared.stdout);
    for word in ["seq-read on", "rand-read on", "latency on", "bandwidth", "p99.9", "unknown"] {
        assert!(out.contains(word), "{word} is missing in\n{out}");
    }
    let document = json(&world.run(&["compare", "first", "second", "--json"]).stdout);
    validate(&document, "iodyno.compare.1");
    // Two drives, alone and both at once, three steps each.
    assert_eq!(document["rows"].as_array().unwrap().len(), 9);
    assert_eq!(document["rows"][0]["sides"][0]["validity"], "QUALIFIED");
    assert_eq!(figure(&document, 0, "bw")["differences"][1]["real"], "spread_unknown");
    assert_eq!(document["exit_status"], 0);

    let document = json(&world.run(&["compare", "first:latency", "second", "--json"]).stdout);
    assert_eq!(document["rows"].as_array().unwrap().len(), 3);
    assert_eq!(document["alone"].as_array().unwrap().len(), 6);

    // A name with a comma is no list of repetitions.
    for name in ["first,second", "first,second:latency"] {
        let document = json(&world.run(&["compare", name, "first", "--json"]).stdout);
        assert_eq!(document["sides"][0]["runs"].as_array().unwrap().len(), 1, "{document}");
    }

    let same = world.run(&["compare", "first,second", "last", "second"]);
    assert!(text(&same.stdout).contains("the same run as first,second"), "{same:?}");
}

#[test]
fn repeated_reports_of_fio_tell_what_is_real() {
    let world = World::new();
    let before = reports(&world, "before", &[100_000.0, 100_400.0, 99_700.0], 1_700_000_000_000);
    let after = reports(&world, "after", &[92_000.0, 92_300.0, 91_800.0], 1_700_000_060_000);
    let document = printed(&world.run(&["compare", &before, &after, "--json"]));
    validate(&document, "iodyno.compare.1");
    let difference = &figure(&document, 0, "iops")["differences"][1];
    assert_eq!(difference["real"], "yes");
    assert!((difference["percent"].as_f64().unwrap() + 8.0).abs() < 0.1, "{difference}");
    assert_eq!(document["rows"][0]["sides"][1]["order"], "interleaved");
    assert_eq!(document["rows"][0]["point"]["name"], Value::Null, "the job was renamed");

    for (limit, expected) in [
        ("iops < -5%", 1),
        ("iops < -10%", 0),
        ("lat > 5%", 1),
        ("bw > 5%", 0),
        // These reports lack percentiles, so p99 cannot be judged.
        ("p99 > 5%", 4),
    ] {
        let judged = world.run(&["compare", &before, &after, "--fail-if", limit]);
        status(&judged, expected);
        let out = text(&judged.stdout);
        let label = ["PASS", "FAIL", "", "", "UNJUDGED"][expected as usize];
        assert!(out.starts_with(label), "{out}");
        assert_eq!(out.contains(&format!("Exit status {expected}")), expected > 0, "{out}");
    }
    let both = ["compare", &before, &after, "--fail-if", "p99 > 5%", "--fail-if", "iops < -5%"];
    status(&world.run(&both), 1);

    // One side after the other: a change in between may be the cause.
    let later = reports(&world, "later", &[92_000.0, 92_300.0, 91_800.0], 1_800_000_000_000);
    let compared = world.run(&["compare", &before, &later]);
    assert!(text(&compared.stdout).contains("not interleaved"), "{}", text(&compared.stdout));
}

#[test]
fn without_repetitions_a_limit_needs_the_noise() {
    let world = World::new();
    let before = reports(&world, "before", &[100_000.0], 1_700_000_000_000);
    let after = reports(&world, "after", &[93_000.0], 1_700_000_100_000);
    let refused = world.run(&["compare", &before, &after, "--fail-if", "iops < -5%"]);
    status(&refused, 2);
    let error = text(&refused.stderr);
    assert!(error.contains("--noise 3%") && error.contains("A1,A2,A3"), "{error}");
    for (noise, expected) in [("1%", 1), ("3%", 0), ("3", 0)] {
        let judged =
            world.run(&["compare", &before, &after, "--fail-if", "iops < -5%", "--noise", noise]);
        status(&judged, expected);
    }
    // Naming a run three times is no repetition.
    let thrice = [before.as_str(); 3].join(",");
    let again = [after.as_str(); 3].join(",");
    status(&world.run(&["compare", &thrice, &again, "--fail-if", "iops < -5%"]), 2);
}

#[test]
fn repetitions_that_do_not_count_are_not_asked_for_again() {
    let world = World::new();
    let before = reports(&world, "before", &[100_000.0, 100_400.0, 99_700.0], 1_700_000_000_000);
    let after = reports(&world, "after", &[92_000.0, 92_300.0, 91_800.0], 1_700_000_060_000);
    for n in 1..=3 {
        let path = world.path(&format!("after{n}.json"));
        let failed =
            std::fs::read_to_string(&path).unwrap().replace("\"error\": 0", "\"error\": 5");
        std::fs::write(&path, failed).unwrap();
    }
    let refused = world.run(&["compare", &before, &after, "--fail-if", "iops < -5%"]);
    status(&refused, 2);
    let error = text(&refused.stderr);
    assert!(error.contains("only 0 of 3 repetitions of ") && error.contains("count:"), "{error}");
    assert!(!error.contains("Give 3"), "{error}");
}

#[test]
fn errors_say_what_is_wrong_and_what_there_is() {
    let world = World::new();
    let one = reports(&world, "one", &[1000.0], 1_700_000_000_000);
    let other = world.path("other: a,b.json");
    let written = report("seq", 10.0, 1).replace("randread", "read");
    std::fs::write(&other, written).unwrap();
    let other = other.to_str().unwrap();
    let error = |arguments: &[&str]| {
        let output = world.run(arguments);
        status(&output, 2);
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
        text(&output.stderr)
    };
    let third = world.path("third.json");
    std::fs::write(&third, report("third", 10.0, 1).replace("\"4k\"", "\"8k\"")).unwrap();
    let third = third.to_str().unwrap();
    // Paths may contain commas and colons.
    let nothing = error(&["compare", &one, other, third]);
    assert!(nothing.contains("nothing in common"), "{nothing}");
    assert!(
        nothing.contains("one: randread 4 KiB") && nothing.contains("seq: read 4 KiB"),
        "{nothing}"
    );
    // Two explicitly named measurements are compared, but without a verdict.
    let unlike =
        world.run(&["compare", &one, other, "-v", "--fail-if", "iops < -5%", "--noise", "3%"]);
    status(&unlike, 4);
    let out = text(&unlike.stdout);
    assert!(
        out.contains("one: randread 4 KiB, depth 32 against seq: read 4 KiB, depth 32"),
        "{out}"
    );
    assert!(out.contains("They differ in rw.") && !out.contains("FAIL"), "{out}");
    let document = json(&world.run(&["compare", &one, other, "--json"]).stdout);
    validate(&document, "iodyno.compare.1");
    assert_eq!(document["rows"][0]["unlike"]["workload"]["rw"], "read");
    assert_eq!(figure(&document, 0, "iops")["differences"][1]["real"], "unlike");
    let unknown = error(&["compare", &one, "no-such-run"]);
    assert!(unknown.contains("no-such-run"), "{unknown}");
    let named = error(&["compare", &one, &format!("{one}:tow")]);
    assert!(named.contains("no measurement `tow`, but: one"), "{named}");
    assert!(error(&["compare", &one, ","]).contains("names no run"));
    let metric = error(&["compare", &one, &one, "--fail-if", "iosp < -5%"]);
    assert!(metric.contains("did you mean `iops`?"), "{metric}");
    assert!(error(&["compare", &one]).contains("2 values required"));
    assert!(error(&["compare", &one, &one, "--noise=-3%"]).contains("expected a percentage: 3%"));
}

#[test]
fn real_jobs_are_compared_with_fios_report_of_the_same() {
    let world = World::new();
    let data = world.sparse("data", 1 << 20);
    std::fs::write(&data, vec![7; 1 << 20]).unwrap();
    let job = world.path("job.fio");
    let options = format!(
        "[reads]\nfilename={}\nsize=1m\nrw=randread\nbs=4k\niodepth=2\nioengine=libaio\n",
        data.display()
    );
    std::fs::write(&job, options).unwrap();
    let job = job.to_str().unwrap();
    let (ours, fios) = (world.path("ours.json"), world.path("fio.json"));
    let run = world.run(&["run", job, "--run-name", "ours"]);
    status(&run, 0);
    let fio = world
        .with_environment(std::process::Command::new("fio"))
        .args([job, "--output-format=json"])
        .arg(format!("--output={}", fios.display()))
        .status()
        .unwrap();
    assert!(fio.success());
    let run =
        world.run(&["run", job, "--output-format=json", &format!("--output={}", ours.display())]);
    status(&run, 0);
    let document = printed(&world.run(&[
        "compare",
        "ours",
        fios.to_str().unwrap(),
        ours.to_str().unwrap(),
        "--json",
    ]));
    validate(&document, "iodyno.compare.1");
    assert_eq!(document["rows"].as_array().unwrap().len(), 1, "{document:#}");
    assert!(document["rows"][0]["sides"].as_array().unwrap().iter().all(|side| !side.is_null()));
    let generator = document["differing"].as_array().unwrap().iter();
    let mut generator = generator.filter(|one| one["what"] == "generator");
    assert!(generator.next().unwrap()["values"][1][0].as_str().unwrap().starts_with("fio 3"));
    // A file tells nothing about the host.
    let not_known = document["not_known"].as_array().unwrap();
    assert!(
        not_known.iter().any(|one| one["side"] == 1
            && one["what"].as_array().unwrap().contains(&Value::from("host")))
    );
}

#[test]
fn jobs_that_write_other_blocks_are_other_workloads() {
    let world = World::new();
    let job = |name: &str, bs: &str| {
        let file = world.path(&format!("{name}.fio"));
        let data = world.path("data");
        let options =
            format!("[mixed]\nfilename={}\nsize=1m\nrw=randrw\nbs={bs}\n", data.display());
        std::fs::write(&file, options).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (small, large) = (job("small", "4k,8k"), job("large", "4k,64k"));
    for (job, name) in [(&small, "small"), (&large, "large")] {
        status(&world.run(&["run", job, "--run-name", name]), 0);
    }
    let shown = json(&world.run(&["show", "large", "--json"]).stdout);
    assert_eq!(shown["measurements"][0]["workload"]["bs"], "4096,65536,65536");
    let table = text(&world.run(&["show", "large", "-v"]).stdout);
    assert!(table.contains("4 KiB/64 KiB"), "{table}");
    let rows = |with: &str| {
        let compared = world.run(&["compare", "large", with, "--json"]);
        json(&compared.stdout)["rows"].as_array().unwrap().clone()
    };
    let both = |row: &Value| row["sides"].as_array().unwrap().iter().all(|side| !side.is_null());
    says(&world.run(&["compare", "large", "small"]), 2, "nothing in common");
    // The page cache is a caveat, which Markdown states as the text does.
    let markdown = text(&world.run(&["compare", "large", "large", "--format", "markdown"]).stdout);
    assert!(markdown.contains("\n- \\* A: QUALIFIED, direct=0"), "{markdown}");
    // fio's report of the same job.
    let report = world.path("fio.json");
    let mut fio = world.with_environment(std::process::Command::new("fio"));
    let output = format!("--output={}", report.display());
    assert!(fio.args([&large, "--output-format=json", &output]).status().unwrap().success());
    let rows = rows(report.to_str().unwrap());
    assert!(rows.len() == 2 && rows.iter().all(both), "{rows:#?}");
}

/// One run as printed by fio 3 in all formats at once, each in its own file.
fn formats(world: &World) -> Vec<String> {
    // Small buffered writes may take less than 3 us: not valid where the cache is not known.
    let fio = std::process::Command::new("fio")
        .current_dir(world.directory("fio"))
        .args(
            "--name=job --filename=data --size=64m --bs=64k --rw=randrw --ioengine=psync"
                .split(' '),
        )
        .args(["--output-format=normal,terse,json+", "--eta=never"])
        .output()
        .expect("these tests need fio: make deps");
    status(&fio, 0);
    let printed = text(&fio.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    let terse = lines.iter().position(|line| line.starts_with("3;fio-")).unwrap();
    let begin = lines.iter().position(|line| *line == "{").unwrap();
    let end = lines.iter().position(|line| *line == "}").unwrap();
    let json_plus = lines[begin..=end].join("\n");
    let mut without_bins = json(json_plus.as_bytes());
    for latencies in ["slat_ns", "clat_ns", "lat_ns"] {
        for direction in ["read", "write"] {
            let of = &mut without_bins["jobs"][0][direction][latencies];
            of.as_object_mut().unwrap().remove("bins");
        }
    }
    // serde_json sorts members; fio's version comes first.
    let without_bins = serde_json::to_string_pretty(&without_bins).unwrap();
    let without_bins = without_bins.replacen("{\n", "{\n  \"fio version\" : \"fio-3\",\n", 1);
    let normal = [&lines[..terse], &lines[end + 1..]].concat().join("\n");
    let files = [
        ("run.txt", normal),
        ("run.terse", lines[terse].to_owned()),
        ("run.json", without_bins),
        ("run.json+", json_plus),
    ];
    let written = files.map(|(name, text)| {
        let path = world.path(name);
        std::fs::write(&path, text + "\n").unwrap();
        path.to_str().unwrap().to_owned()
    });
    written.to_vec()
}

#[test]
fn all_formats_of_one_run_agree_to_what_each_prints() {
    let world = World::new();
    let files = formats(&world);
    let mut arguments = vec!["compare", "--json"];
    arguments.extend(files.iter().map(String::as_str));
    let document = printed(&world.run(&arguments));
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "reads and writes: {document:#}");
    for figure in rows.iter().flat_map(|row| row["figures"].as_array().unwrap()) {
        let known = figure["values"].as_array().unwrap().iter().filter(|value| !value.is_null());
        let rates = ["bw", "iops", "lat"].contains(&figure["metric"].as_str().unwrap());
        assert!(!rates || known.count() == 4, "{figure:#}");
        for difference in figure["differences"].as_array().unwrap() {
            let same = difference["percent"].as_f64().is_none_or(|percent| percent.abs() < 1e-9);
            assert!(same || difference["real"] == "within_rounding", "{figure:#}");
        }
    }
}
