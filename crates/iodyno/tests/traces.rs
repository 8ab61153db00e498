//! Tests traces in `show`, `import` and `model`, and which files these and others replace.

use std::io::Cursor;
use std::path::PathBuf;

use crate::common::{self, World, json, printed, says, status, text, tool};
use iodyno_trace::{Device, Header, Index, Io, Names, Writer};

const ALIBABA: &str = "0,R,126703644672,4096,1577808000000626\n3,W,8192,16384,1577808000100626\n\
    3,W,24576,16384,1577808000200626\n3,W,40960,16384,1577808000200700\n";

#[test]
fn published_traces_are_shown_and_imported() {
    let world = World::new();
    let csv = world.path("day.csv");
    std::fs::write(&csv, ALIBABA).unwrap();
    let (csv, ours) = (csv.to_str().unwrap(), world.path("day.iotrace"));
    let ours = ours.to_str().unwrap();
    status(&world.run(&["import", csv, "-o", ours]), 0);
    let [theirs, own] = [csv, ours].map(|path| {
        let shown = world.run(&["show", path]);
        status(&shown, 0);
        text(&shown.stdout)
    });
    assert_eq!(theirs, own);
    assert!(own.contains("2 devices") && own.contains("mostly sequential 16 KiB writes"), "{own}");
    assert!(own.contains("no latencies"), "{own}");

    let mut bytes = std::fs::read(ours).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(ours, &bytes).unwrap();
    let cut = world.run(&["show", ours]);
    status(&cut, 4);
    let shown = text(&cut.stdout);
    assert!(shown.contains("No I/Os") && shown.contains("cut off"), "{shown}");
}

/// A trace of three chunks of 100 reads each, with the offsets of the second and third.
fn chunks() -> (Vec<u8>, [usize; 2]) {
    let mut names = Names::default();
    names.device(&Device::named("a")).unwrap();
    let header = Header { source: "tracefs".into(), tick_ns: 1, ..Header::default() };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    for n in 0..300_u64 {
        let io = Io { at_ns: n * 1_000_000, offset: n % 64 * 4096, length: 4096, ..Io::default() };
        writer.push(io, &names).unwrap();
        if n % 100 == 99 {
            writer.flush(&names).unwrap();
        }
    }
    let (bytes, _) = writer.end(&names, 0, 0).unwrap();
    let index = Index::read(Cursor::new(&bytes)).unwrap();
    let places = [1, 2].map(|n| index.chunks[n].at as usize);
    (bytes, places)
}

/// Every reader of an incomplete trace reports that, and exits with 4.
#[test]
fn damaged_and_cut_traces_are_not_told_as_whole() {
    let world = World::new();
    let (whole, [second, third]) = chunks();
    let mut flipped = whole.clone();
    flipped[second + 30] ^= 1;
    let log = bursty() + "2000200 /dev/a rea";
    let path = |name: &str| world.path(name).to_str().unwrap().to_owned();
    let (trace, to) = (path("trace"), path("a.iomodel"));
    let damaged = "1 block or line could not be read: I/Os may be missing";
    let cut = "the recording was cut off";
    for (bytes, ios, words) in
        [(&flipped[..], 200, damaged), (&whole[..third], 200, cut), (log.as_bytes(), 3200, cut)]
    {
        std::fs::write(&trace, bytes).unwrap();
        let shown = world.run(&["show", &trace]);
        status(&shown, 4);
        assert!(text(&shown.stdout).contains(words), "{}", text(&shown.stdout));
        let told = |arguments: &[&str]| {
            let output = world.run(arguments);
            status(&output, 4);
            let said = text(&output.stderr);
            assert!(said.contains(&format!("note: {trace}: {words}")), "{said}");
            output
        };
        let model = json(&told(&["--json", "model", &trace, "-o", &to]).stdout);
        common::validate(&model, "iodyno.trace-model.1");
        assert_eq!(model["likeness"]["trace"]["ios"], ios);
        assert_eq!(model["damaged"], u64::from(words == damaged));
        assert_eq!(model["is_cut"], words == cut);
        if bytes == log.as_bytes() {
            continue;
        }
        let log = path("a.iolog");
        told(&["import", &trace, "-o", &log]);
        let lines = std::fs::read_to_string(log).unwrap();
        assert_eq!(lines.lines().filter(|line| line.contains(" read ")).count(), ios);
        told(&["import", &trace, "-o", &path("a.parquet")]);
        told(&["replay", &trace, "--target", "copy"]);
    }
    std::fs::write(&trace, &whole).unwrap();
    for words in [&["show"][..], &["model", "-o", &to], &["import", "-o", &path("a.iolog")]] {
        status(&world.run(&[words, &[trace.as_str()]].concat()), 0);
    }
}

#[test]
fn what_cannot_be_recorded_or_converted_is_said() {
    let world = World::new();
    let wrong = |arguments: &[&str], words: &str| {
        let output = world.run(arguments);
        says(&output, 2, words);
    };
    wrong(&["record", "nosuchdrive", "--summary"], "no block device");
    wrong(&["record", "../x", "--summary"], "no block device");
    wrong(&["record", "nvme0n1"], "--output");
    wrong(&["record", "nvme0n1", "-o", "/nosuch/folder/a.iotrace"], "no folder");
    let notes = world.path("notes.txt");
    std::fs::write(&notes, "hello, world\n").unwrap();
    let notes = notes.to_str().unwrap();
    wrong(&["import", notes, "-o", "a.iotrace"], "unknown trace; iodyno reads");
    std::fs::write(notes, ALIBABA).unwrap();
    wrong(&["import", notes, "-o", "a.csv"], ".iotrace");
    wrong(&["import", notes, "-o", "a.parquet"], "import it first");
}

#[test]
fn a_conversion_that_fails_leaves_what_was_there() {
    let world = World::new();
    let (log, to) = (world.path("a.iolog"), world.path("a.iotrace"));
    let convert = |from: &PathBuf, expected: i32, words: &str| {
        let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
        let output = world.run(&["import", from, "-o", to]);
        status(&output, expected);
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    };
    std::fs::write(&log, "fio version 3 iolog\n0 a add\n0 a read 0 4096\n1 a rea").unwrap();
    convert(&log, 2, "line 4");
    assert!(!to.exists());
    let (older, _) = chunks();
    std::fs::write(&to, &older).unwrap();
    convert(&log, 2, "line 4");
    assert_eq!(std::fs::read(&to).unwrap(), older);
    std::fs::write(&to, ALIBABA).unwrap();
    convert(&to, 2, "is the trace itself");
    assert_eq!(std::fs::read(&to).unwrap(), ALIBABA.as_bytes());
    std::fs::write(&log, bursty()).unwrap();
    convert(&log, 2, "exists and has other content, not a trace or model: remove it");
    assert_eq!(std::fs::read(&to).unwrap(), ALIBABA.as_bytes());
    std::fs::write(&to, &older).unwrap();
    convert(&log, 0, "");
    assert_ne!(std::fs::read(&to).unwrap(), older);
    let replayed = world.run(&["replay", to.to_str().unwrap(), "--target", to.to_str().unwrap()]);
    says(&replayed, 2, "is the trace itself");
}

/// A compressed trace that is cut off: its beginning is shown, and replaces nothing.
#[test]
fn a_cut_compressed_trace_is_shown_and_replaces_nothing() {
    let world = World::new();
    let log = world.path("a.iolog");
    std::fs::write(&log, bursty()).unwrap();
    tool("gzip", &[log.to_str().unwrap()]);
    let cut = world.path("a.iolog.gz");
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() * 3 / 4]).unwrap();
    let cut = cut.to_str().unwrap();
    let shown = world.run(&["--json", "show", cut]);
    status(&shown, 4);
    let document = json(&shown.stdout);
    let reads = document["trace"]["operations"][0]["ios"].as_u64().unwrap();
    assert!((1000..3000).contains(&reads) && document["trace"]["is_cut"] == true, "{document}");
    assert!(text(&shown.stderr).contains(cut), "{}", text(&shown.stderr));
    let (older, _) = chunks();
    for (command, name) in [("model", "a.iomodel"), ("import", "a.iotrace")] {
        let to = world.path(name);
        std::fs::write(&to, &older).unwrap();
        says(&world.run(&[command, cut, "-o", to.to_str().unwrap()]), 2, cut);
        assert_eq!(std::fs::read(&to).unwrap(), older, "{command}");
    }
}

/// Neither the store nor a file of another kind is overwritten, by any command.
#[test]
fn outputs_replace_their_own_kind_only() {
    let world = World::new();
    let path = |name: &str| world.path(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.iolog"), bursty()).unwrap();
    let job = ["run", "--name=a", "--size=64k", "--filename", &path("target")];
    let run = |more: &[&str]| world.run(&[&job, more].concat());
    let imported = |to: &str| world.run(&["import", &path("a.iolog"), "-o", to]);
    status(&run(&["--output-format=json", &format!("--output={}", path("run.json"))]), 0);
    let store = world.path("store.sqlite");
    let before = std::fs::read(&store).unwrap();
    let named = store.to_str().unwrap();
    for name in [named.to_owned(), format!("{named}-wal"), format!("{named}.outbox/a.iotrace")] {
        for output in [
            world.run(&["runs", "export", "last", "-o", &name]),
            world.run(&["report", "last", "--force", "-o", &name]),
            run(&[&format!("--output={name}")]),
            run(&["--stream", &name]),
        ] {
            says(&output, 2, "belongs to the run store");
        }
    }
    assert_eq!(std::fs::read(&store).unwrap(), before);

    status(&imported(&path("a.iotrace")), 0);
    let others = [("a.fio", "[mine]\nrw=read\n"), ("a.toml", "mine = 1\n"), ("a.iomodel", "x")];
    for (name, content) in others {
        std::fs::write(path(name), content).unwrap();
        let output = world.run(&["model", &path("a.iotrace"), "-o", &path(name)]);
        says(&output, 2, "exists and has other content");
        assert_eq!(std::fs::read(path(name)).unwrap(), content.as_bytes());
        // Empty files, and those of an earlier time.
        std::fs::write(path(name), "").unwrap();
        for _ in 0..2 {
            status(&world.run(&["model", &path("a.iotrace"), "-o", &path(name)]), 0);
        }
    }
    let output = world.run(&["model", &path("a.iotrace"), "-o", &path("run.json.fio")]);
    status(&output, 0);
    std::fs::rename(path("a.fio"), path("b.iolog")).unwrap();
    says(
        &world.run(&["import", &path("a.iotrace"), "-o", &path("b.iolog")]),
        2,
        "is options made from a trace, not an iolog",
    );
}

/// Lines that are not I/Os count, with their reasons, in every way to read them.
#[test]
fn lines_that_are_not_read_are_counted() {
    let world = World::new();
    let path = |name: &str| world.path(name).to_str().unwrap().to_owned();
    let csv = path("a.csv");
    std::fs::write(&csv, format!("\u{feff}{ALIBABA}")).unwrap();
    let shown = world.run(&["--json", "show", &csv]);
    status(&shown, 0);
    assert_eq!(json(&shown.stdout)["trace"]["operations"][0]["ios"], 1, "the first row");
    std::fs::write(&csv, format!("{ALIBABA}what is this\n")).unwrap();
    status(&world.run(&["show", &csv]), 4);
    status(&world.run(&["import", &csv, "-o", &path("a.iotrace")]), 4);
    says(&world.run(&["import", &csv]), 2, "is a trace: convert it with -o FILE.iotrace");
    let log = path("a.iolog");
    std::fs::write(&log, bursty() + "2000200 /dev/a rea").unwrap();
    says(&world.run(&["show", &log]), 4, &format!("note: {log}: line 3204: "));

    // Its second half is a day earlier: farther away than is put in order.
    let row = |n: u64, us: u64| format!("0,R,{},4096,{us}\n", n * 4096);
    let late = (0..70_000).map(|n| row(n, 1_577_808_000_000_000 + n * 10));
    let early = (0..10).map(|n| row(n, 1_577_700_000_000_000 + n));
    std::fs::write(&csv, late.chain(early).collect::<String>()).unwrap();
    let words = "10 I/Os too far out of order";
    let shown = world.run(&["show", &csv]);
    status(&shown, 4);
    assert!(text(&shown.stdout).contains(words), "{}", text(&shown.stdout));
    for (command, to) in [("import", "a.iotrace"), ("model", "a.iomodel")] {
        says(&world.run(&[command, &csv, "-o", &path(to)]), 4, words);
    }

    std::fs::write(&csv, "0,R,0,4096,1577808000000626\n").unwrap();
    let one = text(&world.run(&["show", &csv]).stdout);
    assert!(one.contains("1 I/O ") && !one.contains("IOPS"), "{one}");
}

#[test]
fn what_options_cannot_make_is_refused() {
    let world = World::new();
    let path = |name: &str| world.path(name).to_str().unwrap().to_owned();
    let lines = "0 /dev/a add\n0 /dev/a open\n0 /dev/a trim 0 4096\n9 /dev/a sync 0 0\n";
    std::fs::write(path("a.iolog"), format!("fio version 3 iolog\n{lines}")).unwrap();
    let output = world.run(&["model", &path("a.iolog"), "-o", &path("a.fio")]);
    says(&output, 2, "use -o FILE.iomodel");
    assert!(!world.path("a.fio").exists());
    status(&world.run(&["model", &path("a.iolog"), "-o", &path("a.iomodel")]), 0);
}

/// fio's log of thirty simultaneous reads every 20 ms, and of a log that is flushed.
fn bursty() -> String {
    let mut log = String::from("fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n");
    for n in 0..3000_u64 {
        let us = n / 30 * 20_000;
        let offset = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 8000 * 8192;
        log += &format!("{us} /dev/a read {offset} 8192\n");
        if n % 30 == 29 {
            let offset = (64 << 20) + n / 30 * 4096;
            log +=
                &format!("{} /dev/a write {offset} 4096\n{} /dev/a sync 0 0\n", us + 100, us + 300);
        }
    }
    log
}

#[test]
fn a_model_is_small_like_its_trace_and_read_as_one() {
    let world = World::new();
    let path = |name: &str| world.path(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.iolog"), bursty()).unwrap();
    let output = world.run(&["import", &path("a.iolog"), "-o", &path("a.iotrace")]);
    status(&output, 0);
    let make = |to: &[&str], seed: &str| {
        let mut words = vec!["--json".to_owned(), "model".into(), path("a.iotrace")];
        words.extend(["--seed".into(), seed.into()]);
        to.iter().for_each(|name| words.extend(["-o".to_owned(), path(name)]));
        printed(&world.run(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    let document = make(&["a.iomodel", "a.fio", "a.toml"], "1");
    common::validate(&document, "iodyno.trace-model.1");
    assert_eq!(document["misses"], serde_json::json!([]), "{document}");
    let options = document["likeness"]["options_p99_ns"].as_u64().unwrap();
    let trace = document["likeness"]["trace"]["simulated_p99_ns"].as_u64().unwrap();
    assert!(options * 2 < trace, "{document}");
    let length = |name: &str| std::fs::metadata(path(name)).unwrap().len();
    assert!(length("a.iomodel") * 2 < length("a.iolog"));

    // The model is shown as a trace with the same rates and sizes; the same seed gives the same
    // I/Os, another one gives others.
    let summary = printed(&world.run(&["--json", "show", &path("a.iomodel")]));
    common::validate(&summary, "iodyno.trace-summary.1");
    let counts: Vec<_> = summary["trace"]["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["operation"].as_str().unwrap(), one["ios"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [("read", 3000), ("write", 100), ("flush", 100)]);
    make(&["b.iomodel"], "1");
    make(&["c.iomodel"], "2");
    let ios = |name: &str| {
        let to = path(&format!("{name}.iolog"));
        status(&world.run(&["import", &path(name), "-o", &to]), 0);
        std::fs::read(to).unwrap()
    };
    assert_eq!(ios("a.iomodel"), ios("b.iomodel"));
    assert_ne!(ios("a.iomodel"), ios("c.iomodel"));

    // The job file is valid and lists what it cannot express.
    let job = std::fs::read_to_string(path("a.fio")).unwrap();
    assert!(job.contains("# Lost: when bursts come") && job.contains("fsync=1\n"), "{job}");
    status(&world.run(&["fio", "--parse-only", &path("a.fio")]), 0);
    std::fs::write(path("target"), vec![1; 1 << 20]).unwrap();
    let (plan, target) = (path("a.toml"), path("target"));
    let words = ["sweep", "--dry-run", &plan, "--target", &target, "--allow-write", &target];
    status(&world.run(&words), 0);

    let page = world.run(&["report", &path("a.iotrace"), "-o", &path("a.html")]);
    status(&page, 0);
    let page = std::fs::read_to_string(path("a.html")).unwrap();
    assert!(page.contains("<figure>") && page.contains("/dev/a"));

    says(
        &world.run(&["model", &path("a.iotrace"), "-o", &path("a.txt")]),
        2,
        "expected .iomodel, .fio or .toml",
    );
    std::fs::write(path("none"), "nothing").unwrap();
    status(&world.run(&["model", &path("none"), "-o", &path("d.iomodel")]), 2);
}
