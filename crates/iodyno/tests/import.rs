//! Tests `import` of fio's output and of iodyno's results from elsewhere.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{World, says, status, text};
use serde_json::Value;

/// Writes fio's JSON report of a small job into the file `name`.
fn fio(world: &World, name: &str) -> String {
    let path = world.path(name);
    let output = Command::new("fio")
        .current_dir(world.directory("fio"))
        .args(["--name=first", "--rw=read", "--bs=16k", "--filename=data", "--size=1m"])
        .args(["--name=second", "--stonewall", "--rw=randread", "--bs=4k", "--filename=data"])
        .args(["--size=1m", "--output-format=json+", "--eta=never"])
        .output()
        .expect("these tests need fio: make deps");
    assert!(output.status.success(), "{}", text(&output.stderr));
    std::fs::write(&path, output.stdout).unwrap();
    path.to_str().unwrap().to_owned()
}

fn json(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_slice(&world.run(arguments).stdout).unwrap()
}

/// Stores a run of a simulated drive in `store`.
fn simulated(world: &World, store: &Path, name: &str) {
    let drive = world.sparse("drive", 1 << 30);
    let store = store.to_str().unwrap();
    let arguments = ["--store", store, "check", "--generator", "simulated", "--name", name, "-q"];
    status(&world.command().args(arguments).arg(drive).output().unwrap(), 0);
}

#[test]
fn a_report_becomes_a_run_that_can_be_shown() {
    let world = World::new();
    let report = fio(&world, "database.json");
    let imported = world.run(&["import", &report]);
    status(&imported, 0);
    let out = text(&imported.stdout);
    assert!(out.starts_with("Run database · "), "{out}");
    assert!(out.contains("2 measurements by fio 3."), "{out}");
    assert!(out.contains("first") && out.contains("16 KiB") && out.contains("randread"), "{out}");
    let said = text(&imported.stderr);
    assert!(said.contains("next: iodyno show database"), "{said}");
    let document = json(&world, &["show", "database", "--json"]);
    assert_eq!(document["origin"]["kind"], "imported");
    assert_eq!(document["origin"]["from"], report);
    assert_eq!(document["measurements"].as_array().unwrap().len(), 2);
    assert_eq!(document["measurements"][0]["workload"]["bs"], "16384");
    assert_eq!(document["measurements"][0]["read"]["bytes"], 1 << 20);
    assert_eq!(document["host"], Value::Null);
    // fio's defaults apply to options missing in its JSON.
    let reasons = document["measurements"][1]["reasons"].to_string();
    assert!(reasons.contains("page-cache"), "{reasons}");
}

#[test]
fn names_are_the_users_or_get_a_number() {
    let world = World::new();
    let report = fio(&world, "a.json");
    let other = fio(&world, "b.json");
    says(&world.run(&["import", &report, &report]), 0, "the name `a` is taken: using `a-2`");
    says(
        &world.run(&["import", "--name", "P4510 single", &report, &other]),
        0,
        "next: iodyno show 'P4510 single'",
    );
    let document = json(&world, &["show", "P4510 single", "--json"]);
    let phases: Vec<i64> = document["measurements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["phase"].as_i64().unwrap())
        .collect();
    assert_eq!(phases, [0, 1, 2, 3], "two files did not run at the same time");
    says(
        &world.run(&["import", "--name", "P4510 single", &report]),
        2,
        "choose another --run-name",
    );
    assert_eq!(json(&world, &["runs", "--json"])["runs"].as_array().unwrap().len(), 3);
}

#[test]
fn pipes_are_read() {
    let world = World::new();
    let report = std::fs::read(fio(&world, "x.json")).unwrap();
    for (words, name) in [
        (&["import", "-", "--name", "dash", "--json"][..], "dash"),
        (&["import", "/dev/stdin", "--name", "pipe", "--json"], "pipe"),
        (&["show", "-", "--json"], "standard input"),
        (&["runs", "export", "-"], "standard input"),
    ] {
        let mut child = world
            .command()
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&report).unwrap();
        let output = child.wait_with_output().unwrap();
        status(&output, 0);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["schema"], "iodyno.run/2");
        assert_eq!(document["name"], name);
    }
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_imported() {
    let world = World::new();
    let report = fio(&world, "good.json");
    let nothing = world.path("nothing.txt");
    std::fs::write(&nothing, "a letter\n\u{1b}[31mto nobody\n").unwrap();
    let output = world.run(&["import", nothing.to_str().unwrap(), "/no/such/file", &report]);
    status(&output, 2);
    let said = text(&output.stderr);
    assert!(said.contains("/no/such/file"), "{said}");
    assert!(said.contains("nothing.txt"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    assert_eq!(json(&world, &["show", "good", "--json"])["name"], "good");
    let none = world.run(&["import", nothing.to_str().unwrap()]);
    status(&none, 2);
    assert!(none.stdout.is_empty());
}

fn study(name: &str) -> String {
    format!("{}/tests/studies/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_stated_name_that_nothing_is_known_of_is_reported() {
    let world = World::new();
    let output = world.run(&["import", "--model", "Foo Bar 1TB", &study("hba.md")]);
    status(&output, 4);
    let said = text(&output.stderr);
    assert!(said.contains("no data sheet for drive `Foo Bar 1TB`"), "{said}");
}

#[test]
fn a_joined_run_has_the_stated_machine_of_all_its_results() {
    let world = World::new();
    let (stripe, card) = (study("p4510.txt"), study("hba.md"));
    let words = ["import", "--run-name", "both", "--model", "970 EVO 500GB", &stripe, &card];
    status(&world.run(&words), 0);
    let document = json(&world, &["show", "both", "--json"]);
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["name"].to_string()).collect()
    };
    let blocks = names(&document["host"]["blocks"]);
    let last = "\"drive10\"".to_owned();
    assert!(blocks.contains(&last) && blocks.len() == 11, "ten drives and a stripe: {blocks:?}");
    assert_eq!(document["measurements"].as_array().unwrap().len(), 8);
    // Drives behind links of two generations.
    says(&world.run(&["import", "--run-name", "links", &study("970-evo.toml")]), 2, "one machine");
}

#[test]
fn a_failed_measurement_is_imported_as_failed() {
    let world = World::new();
    let path = fio(&world, "broken.json");
    let report = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, report.replacen("\"error\" : 0", "\"error\" : 28", 1)).unwrap();
    let output = world.run(&["import", &path]);
    status(&output, 3);
    let out = text(&output.stdout);
    assert!(out.contains("1 of them failed") && out.contains("FAILED"), "{out}");
    let document = json(&world, &["show", "broken", "--json"]);
    assert_eq!(document["measurements"][0]["end"], "failed");
}

#[test]
fn another_hosts_store_is_copied_with_its_ids_and_left_as_it_is() {
    let world = World::new();
    let theirs = world.path("theirs.sqlite");
    simulated(&world, &theirs, "monday");
    let before = std::fs::read(&theirs).unwrap();
    let imported = world.run(&["import", theirs.to_str().unwrap()]);
    status(&imported, 0);
    assert!(text(&imported.stdout).contains("UNJUDGED"), "{}", text(&imported.stdout));
    assert_eq!(std::fs::read(&theirs).unwrap(), before);
    let of = |store: &Path| {
        json(&world, &["--store", store.to_str().unwrap(), "show", "monday", "--json"])
    };
    assert_eq!(of(&theirs), of(&world.path("store.sqlite")));
    says(
        &world.run(&["import", theirs.to_str().unwrap()]),
        0,
        "run monday is already in the store",
    );
}

#[test]
fn our_document_is_read_back_with_its_figures() {
    let world = World::new();
    let theirs = world.path("theirs.sqlite");
    simulated(&world, &theirs, "tuesday");
    let there = json(&world, &["--store", theirs.to_str().unwrap(), "show", "tuesday", "--json"]);
    std::fs::write(world.path("tuesday.json"), there.to_string()).unwrap();
    status(&world.run(&["import", world.path("tuesday.json").to_str().unwrap()]), 0);
    let here = json(&world, &["show", "tuesday", "--json"]);
    for member in ["id", "name", "started", "command", "measurements", "host", "verdict"] {
        assert_eq!(here[member], there[member], "{member}");
    }
    let damaged = world.path("damaged.json");
    let printed = world.run(&["show", "tuesday", "--json"]).stdout;
    std::fs::write(&damaged, &printed[..2000]).unwrap();
    says(&world.run(&["import", damaged.to_str().unwrap()]), 2, "damaged.json: not JSON");
}

#[test]
fn a_captured_machine_is_judged_like_check_without_load() {
    let world = World::new();
    for capture in ["rack7", "rack8.json"] {
        let path = world.path(capture);
        let path = path.to_str().unwrap();
        status(&world.run(&["capture", path]), 0);
        let imported = world.run(&["import", path]);
        let said = text(&imported.stdout);
        status(&imported, 0);
        let name = Path::new(capture).file_stem().unwrap().to_str().unwrap();
        assert!(said.starts_with(&format!("Run {name} · ")), "{said}");
        let shown = json(&world, &["show", name, "--json"]);
        let checked = json(&world, &["--sysroot", path, "check", "--no-load", "--json"]);
        for member in ["drives", "links", "findings", "rules", "subjects", "verdict"] {
            assert_eq!(shown[member], checked[member], "{member}");
        }
    }
}

#[test]
fn a_folder_gives_every_run_of_ours_and_one_of_fios() {
    let world = World::new();
    let theirs = world.path("theirs.sqlite");
    simulated(&world, &theirs, "wednesday");
    let folder = world.directory("all");
    let shown = ["--store", theirs.to_str().unwrap(), "show", "wednesday", "--json"];
    std::fs::write(folder.join("wednesday.json"), world.run(&shown).stdout).unwrap();
    status(&world.run(&["capture", folder.join("host").to_str().unwrap()]), 0);
    let output = world.run(&["import", folder.to_str().unwrap()]);
    status(&output, 0);
    let runs = json(&world, &["runs", "--json"]);
    let mut names: Vec<&str> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["host", "wednesday"]);
}

#[test]
fn fio_output_is_shown_without_verdict_or_storing() {
    let world = World::new();
    let report = fio(&world, "database.json");
    let shown = world.run(&["show", &report]);
    status(&shown, 0);
    let out = text(&shown.stdout);
    assert!(out.contains("first") && out.contains("randread"), "{out}");
    assert!(!out.contains("UNJUDGED") && !out.contains("Kept as"), "{out}");
    assert!(!world.path("store.sqlite").exists());
}

#[test]
fn a_page_of_ours_in_a_folder_is_no_result() {
    let world = World::new();
    fio(&world, "results.json");
    let folder = world.directory("results");
    std::fs::rename(world.path("results.json"), folder.join("results.json")).unwrap();
    let (folder, page) = (folder.to_str().unwrap(), folder.join("report.html"));
    let page = page.to_str().unwrap();
    status(&world.run(&["report", folder, "-o", page]), 0);
    let again = world.run(&["report", folder, "-o", page]);
    status(&again, 0);
    assert_eq!(text(&again.stderr), "");
    says(&world.run(&["import", page]), 2, "a page of iodyno report");
    // `.` is named after the folder.
    let imported = world.command().current_dir(folder).args(["import", "."]).output().unwrap();
    status(&imported, 0);
    assert!(text(&imported.stdout).starts_with("Run results · "), "{}", text(&imported.stdout));
}

/// Transaction counter of the store's file (<https://www.sqlite.org/fileformat2.html>, 1.3.8).
fn transactions(world: &World) -> u32 {
    let bytes = std::fs::read(world.path("store.sqlite")).unwrap();
    u32::from_be_bytes(bytes[24..28].try_into().unwrap())
}

#[test]
fn one_import_is_one_transaction() {
    let world = World::new();
    let report = std::fs::read(fio(&world, "first.json")).unwrap();
    status(&world.run(&["import", world.path("first.json").to_str().unwrap()]), 0);
    let names: Vec<String> = (0..20).map(|n| format!("report{n}.json")).collect();
    let paths: Vec<String> =
        names.iter().map(|name| world.path(name).to_str().unwrap().to_owned()).collect();
    paths.iter().for_each(|path| std::fs::write(path, &report).unwrap());
    let before = transactions(&world);
    let mut arguments = vec!["import"];
    arguments.extend(paths.iter().map(String::as_str));
    status(&world.run(&arguments), 0);
    assert_eq!(transactions(&world) - before, 1);
    let runs = json(&world, &["runs", "--json"]);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 21, "{runs}");
}

#[test]
fn compressed_reports_and_logs_are_read() {
    let world = World::new();
    let report = std::fs::read(fio(&world, "report.json")).unwrap();
    let log = b"500, 1000, 0, 0\n1000, 3000, 0, 0\n";
    for (program, ending) in [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")] {
        let compressed = |bytes: &[u8]| {
            let mut child = Command::new(program)
                .args(["-9", "-c"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("these tests need gzip, xz and zstd: make deps");
            child.stdin.take().unwrap().write_all(bytes).unwrap();
            child.wait_with_output().unwrap().stdout
        };
        let folder = world.directory(ending);
        // All of these formats allow two concatenated parts.
        let (half, other) = report.split_at(report.len() / 2);
        let whole = [compressed(half), compressed(other)].concat();
        let path = folder.join(format!("{program}.json.{ending}"));
        std::fs::write(&path, &whole).unwrap();
        let imported = world.run(&["import", path.to_str().unwrap()]);
        status(&imported, 0);
        let out = text(&imported.stdout);
        assert!(out.starts_with(&format!("Run {program} · ")), "{out}");
        assert!(out.contains("2 measurements by fio 3."), "{out}");

        let path = folder.join(format!("x_bw.1.log.{ending}"));
        std::fs::write(path, compressed(log)).unwrap();
        let document = json(&world, &["show", folder.to_str().unwrap(), "--json"]);
        assert_eq!(document["measurements"].as_array().unwrap().len(), 3, "{document}");

        // Truncation is reported.
        std::fs::write(folder.join(format!("cut.json.{ending}")), &whole[..whole.len() / 3])
            .unwrap();
        let cut =
            world.run(&["import", folder.join(format!("cut.json.{ending}")).to_str().unwrap()]);
        status(&cut, 2);
    }
}

/// `yes` and a disk full of zeros are both endless.
#[test]
fn an_endless_source_is_given_up() {
    let world = World::new();
    let mut yes = Command::new("yes")
        .arg("a line of a log of another program that says nothing")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let endless = yes.stdout.take().unwrap();
    let output = world.command().args(["import", "-"]).stdin(endless).output().unwrap();
    yes.wait().unwrap();
    says(&output, 2, "no fio output for a GiB");
}
