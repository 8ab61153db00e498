//! Tests `iodyno explain`: published studies give their authors' conclusions; measured targets; the
//! command line.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::common::{World, json, says, status, text, tool};
use serde_json::Value;

fn study(name: &str) -> String {
    format!("{}/tests/studies/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Answers for a study, in its order.
fn explained(arguments: &[&str]) -> Vec<Value> {
    let world = World::new();
    let mut words = vec!["explain", "--json"];
    words.extend(arguments);
    let output = world.run(&words);
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    assert_eq!(document["schema"], "iodyno.explain/1");
    document["explained"].as_array().unwrap().clone()
}

#[track_caller]
fn answers(answer: &Value, words: &[&str]) {
    let mut all = answer["sentence"].as_str().unwrap().to_owned();
    for note in answer["notes"].as_array().unwrap() {
        all.push('\n');
        all.push_str(note.as_str().unwrap());
    }
    for word in words {
        assert!(all.contains(word), "`{word}` is not in:\n{all}");
    }
}

fn at(answers: &[Value], rate: f64) -> &Value {
    let found = answers.iter().find(|one| one["rate"]["value"].as_f64() == Some(rate));
    found.unwrap_or_else(|| panic!("no answer for {rate}"))
}

/// True if a suspect is cleared.
fn is_cleared(answer: &Value, limiter: &str) -> bool {
    let suspects = answer["suspects"].as_array().unwrap();
    suspects.iter().any(|one| one["limiter"] == limiter && one["standing"] == "cleared")
}

#[test]
fn a_970_evo_is_limited_by_its_state_or_by_its_link() {
    let all = explained(&[&study("970-evo.toml")]);
    assert_eq!(all.len(), 4);
    for (rate, other, link) in [(1110e6, "1117 MB/s", "Gen3"), (1117e6, "1110 MB/s", "Gen2")] {
        let written = at(&all, rate);
        assert_eq!(written["limiter"], "drive");
        assert!(is_cleared(written, "link"));
        answers(
            written,
            &["the drive in this state (written at random)", "sequential fill is untested"],
        );
        answers(written, &[&format!("On {link} x4 the same reads had {other}")]);
        assert_ne!(written["validity"], "INVALID");
    }
    for (rate, validity) in [(1110e6, "QUALIFIED"), (1117e6, "QUALIFIED"), (1660e6, "INVALID")] {
        let of = at(&all, rate);
        assert_eq!(of["validity"], validity, "{rate}");
        let reasons = of["reasons"].as_array().unwrap();
        let overlap = reasons.iter().find(|reason| reason["rule"] == "overlapping-jobs");
        let why = overlap.unwrap()["why"].as_str().unwrap();
        // The result is marked; to invalidate it, a cache would have to exceed link and claim.
        assert!(why.starts_with("4 jobs accessed the same blocks: offset_increment"), "{why}");
    }
    let slow = at(&all, 1660e6);
    assert_eq!(slow["limiter"], "link");
    answers(slow, &["PCIe Gen2 x4 carries 2000 MB/s raw and about 1660 to 1880 MB/s of data"]);
    answers(slow, &["1660 MB/s were read", "limited by the link", "3379 MB/s"]);
    // Wording for readers who do not know PCIe.
    answers(slow, &["4 lanes of generation 2 between drive and processor"]);
    answers(slow, &["addresses and checksums take the rest"]);
    assert!((slow["behind"]["gain"].as_f64().unwrap() - 1.04).abs() < 0.01);
    assert_eq!(slow["behind"]["measured"], true);
    let fast = at(&all, 3379e6);
    assert_eq!(fast["validity"], "INVALID");
    assert_eq!(fast["limiter"], Value::Null, "the claim and the link lie side by side");
    answers(fast, &["INVALID as a statement about flash", "trimmed"]);
    answers(fast, &["near the 3400 MB/s of the data sheet only because nothing is read"]);
}

#[test]
fn a_p5600_gives_what_is_claimed_and_an_empty_one_says_nothing() {
    let all = explained(&[&study("p5600.csv")]);
    let sequential = at(&all, 6938e6);
    // The payload size is unknown: at 99 % of its claim the link may be full as well.
    assert_eq!((&sequential["limiter"], &sequential["validity"]), (&Value::Null, &"VALID".into()));
    answers(sequential, &["both are close: 6938 MB/s of 6534 to 7411 MB/s"]);
    answers(sequential, &["6938 MB/s of 7000 MB/s", "PASS: 99 % of the claim"]);
    let random = at(&all, 1e6);
    assert_eq!(random["limiter"], "drive");
    answers(random, &["PASS, above: 128 % of the claim"]);
    let empty = at(&all, 1_654e3);
    assert_eq!((&empty["limiter"], &empty["validity"]), (&Value::Null, &"INVALID".into()));
    answers(
        empty,
        &["212 % of the 780k IOPS that the data sheet states only because nothing is read"],
    );
    answers(random, &["is no ceiling here and confirms nothing"]);
}

#[test]
fn drives_behind_an_hba_share_a_limit_below_its_slot() {
    let words = ["--behind", "SAS HBA gen4x8", "--model", "SATA SSD", &study("hba.md")];
    let all = explained(&words);
    let ten = all.last().unwrap();
    assert_eq!((ten["rate"]["value"].as_f64(), &ten["limiter"]), (Some(4400e6), &"shared".into()));
    answers(
        ten,
        &[
            "a shared limit of 4400 MB/s of the drives behind SAS HBA",
            "10 to 8 drives: 4400 MB/s, x1.00",
        ],
    );
    answers(ten, &["below the slot of SAS HBA, PCIe Gen4 x8 (13067 to 14823 MB/s)"]);
    // Nine drives give the same evidence.
    let changes: Vec<&str> = ten["contrasts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["change"].as_str().unwrap())
        .collect();
    assert_eq!(changes, ["10 to 1 drives", "10 to 8 drives", "10 to 9 drives"]);
}

#[test]
fn two_raid_cards_limit_and_neither_drive_nor_slot_does() {
    let all = explained(&[&study("ps1030.toml")]);
    for rate in [3.5e9, 40e9, 350e3, 3e6, 700e3, 30e9] {
        let answer = at(&all, rate);
        assert_eq!(answer["limiter"], "card", "{rate}: {}", answer["sentence"]);
        assert!(is_cleared(answer, "drive"), "{rate}");
        answers(answer, &["PERC H965i, PCIe Gen4 x16", "not the drive", "nor "]);
    }
    for rate in [3.5e9, 40e9] {
        let words = "3500 MB/s a drive is what PCIe Gen4 x2 carries: consistent with that, to be \
                     checked behind the card";
        answers(at(&all, rate), &[words]);
    }
    answers(at(&all, 40e9), &["limited by the cards (2 x PERC H965i)"]);
    answers(at(&all, 3e6), &["beyond 64 jobs only the latency grows, from 683 us to 1.37 ms"]);
    answers(at(&all, 700e3), &["each write is 6 I/Os"]);
}

#[test]
fn a_stripe_that_does_not_help_is_said_to_be_untested() {
    let all = explained(&["--model", "P4510", &study("p4510.txt")]);
    let reads = at(&all, 343e3);
    assert_eq!(reads["limiter"], Value::Null);
    assert_eq!(reads["between"], serde_json::json!(["cpu", "depth", "layer"]));
    answers(reads, &["does not speed up this read load, one drive has 422k IOPS"]);
    answers(reads, &["one I/O at a time for each of 64 jobs"]);
    for next in ["twice the jobs", "twice the iodepth", "all drives at once without the layer"] {
        assert!(reads["advice"].as_str().unwrap().contains(next), "{next}");
    }
    assert_eq!(
        reads["experiments"],
        serde_json::json!(["twice-the-jobs", "twice-the-depth", "members-at-once"])
    );
    let writes = at(&all, 694e3);
    answers(writes, &["1.6 times the 436k IOPS of one drive alone"]);
}

#[test]
fn a_target_is_measured_and_kept() {
    let world = World::new();
    let target = world.sparse("target", 1 << 34);
    let target = target.to_str().unwrap();
    let words =
        ["explain", target, "rw=randread", "bs=4k", "iodepth=64", "--generator", "simulated"];
    let output = world.run(&words);
    status(&output, 0);
    let out = text(&output.stdout);
    // Whatever is under the file on this machine, the device itself is the limit.
    assert!(out.starts_with("Limited by the") && out.contains("itself"), "{out}");
    assert!(out.contains("rw=randread bs=4k iodepth=64 numjobs=1 on"), "{out}");
    let long = text(&world.run(&["explain", "last", "-v"]).stdout);
    assert!(long.starts_with("rw=randread bs=4k iodepth=64 numjobs=1 on"), "{long}");
    for part in ["Single changes", "Suspects", "next  "] {
        assert!(long.contains(part), "{part}: {long}");
    }
    assert!(out.lines().chain(long.lines()).all(|line| line.chars().count() <= 100), "{out}");
    assert!(out.lines().count() <= 12 && out.contains("next  "), "{out}");
    // The stored run gives the same explanation, and is shown like any other.
    let again = world.run(&["explain", "last", "--quiet"]);
    status(&again, 0);
    assert_eq!(text(&again.stdout), out);
    let shown = world.run(&["show", "last"]);
    assert_eq!(text(&shown.stdout), out);
    let shown = world.run(&["show", "last", "-v"]);
    assert!(text(&shown.stdout).contains("twice-the-depth"), "{}", text(&shown.stdout));
    let page = world.path("page.html");
    status(&world.run(&["report", "last", "-o", page.to_str().unwrap()]), 0);
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["<h2>What limits it</h2>", "limited by the", "Suspects", "does not limit"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_words_leave_open_of_a_workload_is_the_default() {
    let world = World::new();
    let target = world.sparse("target", 1 << 30);
    let target = target.to_str().unwrap();
    for (words, workload) in [
        (&["iodepth=1"][..], "rw=randread bs=4k iodepth=1 numjobs=1 on"),
        (&["readwrite=read", "bs=128k"], "rw=read bs=128k iodepth=32 numjobs=1 on"),
        (&["ioengine=psync", "numjobs=2"], "rw=randread bs=4k iodepth=1 numjobs=2 on"),
    ] {
        let mut all = vec!["explain", target, "-v", "--generator", "simulated", "--budget", "2s"];
        all.extend(words);
        let output = world.run(&all);
        let out = text(&output.stdout);
        assert!(out.starts_with(workload), "{words:?}: {out}{}", text(&output.stderr));
    }
}

#[test]
fn what_is_named_for_writing_is_written() {
    let world = World::new();
    let target = world.sparse("target", 1 << 30);
    let target = target.to_str().unwrap();
    let asked =
        ["explain", target, "rw=randwrite", "bs=4k", "iodepth=8", "--generator", "simulated"];
    let refused = world.run(&asked);
    says(&refused, 2, "--allow-write");
    let none = json(&world.run(&["runs", "--json"]).stdout);
    assert_eq!(none["runs"], serde_json::json!([]), "what was refused is no run");
    let mut allowed = asked.to_vec();
    allowed.extend(["-v", "--allow-write", target]);
    let output = world.run(&allowed);
    status(&output, 0);
    assert!(text(&output.stdout).contains("were written"), "{}", text(&output.stdout));
    let mut mistyped = asked.to_vec();
    mistyped[2] = "rw=randread";
    mistyped.extend(["--allow-write", "SERIAL"]);
    status(&world.run(&mistyped), 2);
}

#[test]
fn what_is_stated_is_imported_and_marked() {
    let world = World::new();
    let file = study("p5600.csv");
    status(&world.run(&["import", "--blocks", "unknown", &file]), 0);
    let shown = json(&world.run(&["show", "p5600", "--json"]).stdout);
    assert_eq!(shown["drives"][0]["model"], "Intel SSD D7-P5600 3.2TB");
    let evidence = &shown["measurements"][2]["conditions"]["written"][0]["evidence"];
    assert_eq!(evidence["text"], "stated: trimmed");
    says(
        &world.run(&["explain", "p5600", "--link", "gen4x4"]),
        2,
        "cannot be described by options",
    );
}

#[test]
fn mistakes_say_what_to_do() {
    let world = World::new();
    let target = world.sparse("target", 1 << 20);
    let target = target.to_str().unwrap();
    let fails = |words: &[&str], says: &str| {
        let output = world.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let error = text(&output.stderr);
        assert!(error.contains(says), "{words:?}: {error}");
    };
    fails(&["explain", target, "rw=randraed"], "randread");
    fails(&["explain", target, "runtime=5"], "limit: --budget");
    fails(&["explain", "--link", "gen9x4", "x.txt"], "gen4x4");
    fails(&["explain", "--blocks", "new", "x.txt"], "written-seq");
    fails(&["explain", "no-such-thing/at-all"], "no file or folder");
    let table = world.path("empty.csv");
    std::fs::write(&table, "rw,bs,iops\nread,4k,fast\n").unwrap();
    fails(&["explain", table.to_str().unwrap()], "number");
}

#[test]
fn a_name_that_nothing_is_known_of_is_reported() {
    let world = World::new();
    let said = |words: &[&str]| {
        let file = study("hba.md");
        let words = [&["explain", "--behind", "HBA"], words, &[file.as_str()]].concat();
        text(&world.run(&words).stderr).to_owned()
    };
    let unknown = said(&["--model", "Foo Bar 1TB", "--layer", "raid60"]);
    assert!(unknown.contains("no data sheet for drive `Foo Bar 1TB`"), "{unknown}");
    assert!(unknown.contains("`raid60`") && unknown.contains("raid6, stripe"), "{unknown}");
    let near = said(&["--model", "Samsung PM9A3 7.6TB U.2"]);
    assert!(near.contains("the nearest is `Samsung PM9A3 7.68TB U.2`"), "{near}");
    for model in ["Samsung PM9A3 7.68TB U.2", "PM9A3 7.68TB", "970 EVO 500GB"] {
        let known = said(&["--model", model]);
        assert!(!known.contains("no data sheet"), "{model}: {known}");
    }
}

/// A job's block as fio prints it, of sequential reads with `mib` MiB/s.
fn block(mib: u32) -> String {
    format!(
        "seq: (g=0): rw=read, bs=(R) 128KiB-128KiB, (W) 128KiB-128KiB, (T) 128KiB-128KiB, \
         ioengine=libaio, iodepth=32\nfio-3.33\nStarting 1 process\n\nseq: (groupid=0, jobs=1): \
         err= 0: pid={mib}: Mon Jan  1 00:00:00 2024\n  read: IOPS={}, BW={mib}MiB/s\
         ({mib}MiB/1000msec)\n    clat (usec): min=1, max=9000, avg={}, stdev=1.00\n  \
         cpu          : usr=1.00%, sys=2.00%, ctx=10, majf=0, minf=1\n     issued rwts: \
         total={},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n     latency   : target=0, window=0, \
         percentile=100.00%, depth=32\n\n",
        mib * 8,
        32_000_000 / (mib * 8),
        mib * 8
    )
}

#[test]
fn a_page_with_one_workload_in_several_states_is_explained_by_its_differences() {
    let world = World::new();
    let page = world.path("page.txt");
    let blocks: String = [1058, 1065, 1583, 3222].map(block).concat();
    std::fs::write(&page, blocks).unwrap();
    let output = world.run(&["explain", "--json", page.to_str().unwrap()]);
    let document = json(&output.stdout);
    let [one] = document["explained"].as_array().unwrap().as_slice() else { panic!("{document}") };
    assert_eq!(one["limiter"], Value::Null);
    let sentence = one["sentence"].as_str().unwrap();
    assert!(sentence.contains("measured 4 times") && sentence.contains("3.0 times"), "{sentence}");
}

#[test]
fn a_synchronous_engine_is_told_by_its_jobs() {
    let world = World::new();
    let file = world.path("psync.toml");
    let figures = "format = \"iodyno.figures/1\"\n[environment]\ntool = \"fio\"\n[[figure]]\n\
                   workload = \"rw=randread bs=4k iodepth=32 numjobs=1 ioengine=psync direct=1\"\n\
                   model = \"Samsung SSD 990 PRO 2TB\"\niops = \"9.78k\"\nlatency = \"102 us\"\n";
    std::fs::write(&file, figures).unwrap();
    let output = world.run(&["explain", file.to_str().unwrap()]);
    let out = text(&output.stdout);
    assert!(!out.contains("3.27 ms") && !out.contains("twice the iodepth"), "{out}");
}

#[test]
fn an_interrupt_before_the_first_rate_is_no_wrong_usage() {
    let world = World::new();
    let path = world.path("data");
    std::fs::write(&path, vec![7; 16 << 20]).unwrap();
    let mut command = world.command();
    command.args(["explain", path.to_str().unwrap(), "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notes = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("at full speed") {
        assert!(notes.read_line(&mut said).unwrap() > 0, "it ended before it measured: {said}");
    }
    tool("kill", &["-INT", &child.id().to_string()]);
    let output = child.wait_with_output().unwrap();
    notes.read_to_string(&mut said).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    let document = json(&output.stdout);
    assert_eq!(document["schema"], "iodyno.explain/1");
}
