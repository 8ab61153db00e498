//! What outputs may overwrite: earlier outputs of the same kind, and never a target.

use crate::common::{World, says, status, text};

const TEXT: &[u8] = b"Written by hand, and nowhere else.\n";

fn jobs<'w>(more: &[&'w str]) -> Vec<&'w str> {
    [&["run", "--name=t", "--filename=data", "--rw=read", "--size=64k"], more].concat()
}

#[test]
fn no_output_overwrites_a_target_by_whatever_name() {
    let world = World::new();
    // Looks like an earlier stream, document or report.
    let target = [b"{\"type\":\"iodyno.run/fio-3.".repeat(10_000), vec![b'x'; 1 << 20]].concat();
    std::fs::write(world.path("data"), &target).unwrap();
    std::fs::hard_link(world.path("data"), world.path("same")).unwrap();
    let list: [&[&str]; 6] = [
        &jobs(&["--output=same"]),
        &jobs(&["--stream", "same"]),
        &["check", "--time", "100ms", "--stream", "same", "data"],
        &["sweep", "--target", "data", "--grid", "rw=read", "--stream", "same"],
        &["accept", "quick", "data", "-o", "same"],
        &["explain", "--budget", "1s", "--stream", "same", "data"],
    ];
    for words in list {
        says(&world.run(words), 2, "same is a target of this run");
        assert!(std::fs::read(world.path("data")).unwrap() == target, "{words:?}");
    }
    let fio = ["fio", "--output=same", "--name=t", "--filename=data", "--rw=read"];
    says(&world.run(&fio), 1, "same is a target of this run");
    assert!(std::fs::read(world.path("data")).unwrap() == target);
}

#[test]
fn only_outputs_of_the_same_kind_are_overwritten() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    status(&world.run(&jobs(&[])), 0);
    let list: [(&str, &[&str]); 9] = [
        ("o.txt", &jobs(&["--output=o.txt"])),
        ("o.json", &jobs(&["--output=o.json", "--output-format=json"])),
        ("o.normal", &jobs(&["--output=o.normal", "--output-format=normal"])),
        ("o.terse", &jobs(&["--output=o.terse", "--output-format=terse"])),
        ("o.stream", &jobs(&["--stream", "o.stream"])),
        ("d.json", &["runs", "export", "last", "-o", "d.json"]),
        ("d.csv", &["runs", "export", "last", "--format", "csv", "-o", "d.csv"]),
        ("p.svg", &["plot", "last", "-o", "p.svg"]),
        ("p.png", &["plot", "last", "-o", "p.png"]),
    ];
    for (name, words) in list {
        std::fs::write(world.path(name), TEXT).unwrap();
        let refused = world.run(words);
        says(&refused, 2, &format!("{name} exists and has other content"));
        assert_eq!(std::fs::read(world.path(name)).unwrap(), TEXT);
        std::fs::remove_file(world.path(name)).unwrap();
        // A new file, then an earlier output.
        for _ in 0..2 {
            status(&world.run(words), 0);
            assert_ne!(std::fs::read(world.path(name)).unwrap(), TEXT);
        }
    }
    // fio overwrites any file.
    std::fs::write(world.path("fio.txt"), TEXT).unwrap();
    let fio = ["fio", "--output=fio.txt", "--name=t", "--filename=data", "--rw=read"];
    status(&world.run(&fio), 0);
    assert!(text(&std::fs::read(world.path("fio.txt")).unwrap()).contains("fio-3"));
}

#[test]
fn json_and_another_format_are_refused_wherever_json_stands() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    status(&world.run(&jobs(&[])), 0);
    let list: [&[&str]; 5] = [
        &["show", "last", "--format", "openmetrics"],
        &["show", "last", "--details"],
        &["check", "--no-load", "--format", "junit"],
        &["compare", "last", "last", "--format", "junit"],
        &["runs", "export", "last", "--format", "csv"],
    ];
    for words in list {
        let said = world.refused(&[&["--json"], words].concat(), &["--json", "cannot be used"]);
        assert!(said.contains(words.iter().rfind(|word| word.starts_with("--")).unwrap()));
    }
}

#[test]
fn the_newest_runs_are_listed_and_a_long_import_is_summed_up() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    let report = ["--output-format=json", "--output=report.json"];
    status(&world.run(&jobs(&report)), 0);
    let report = std::fs::read(world.path("report.json")).unwrap();
    let names: Vec<String> = (0..21).map(|n| format!("r{n}.json")).collect();
    names.iter().for_each(|name| std::fs::write(world.path(name), &report).unwrap());
    let mut words = vec!["import"];
    words.extend(names.iter().map(String::as_str));
    let imported = world.run(&words);
    status(&imported, 0);
    assert_eq!(text(&imported.stdout), "21 runs, 21 measurements\n");
    let lines = |words: &[&str]| text(&world.run(words).stdout).lines().count();
    assert_eq!(lines(&["runs", "--all"]) - lines(&["runs"]), 2);
    says(&world.run(&["runs"]), 0, "2 older: iodyno runs --all");
    let all = crate::common::printed(&world.run(&["runs", "--json"]));
    assert_eq!(all["runs"].as_array().unwrap().len(), 22);
    let pruned = text(&world.run(&["runs", "prune", "--keep", "1"]).stdout);
    assert!(pruned.starts_with("removed 21, kept at most 1\nfreed "), "{pruned}");
}
