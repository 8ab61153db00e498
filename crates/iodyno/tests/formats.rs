//! Tests that `check` and `show` print every `--format`; the content is tested where the formats
//! are implemented.

use serde_json::Value;

use crate::common::{World, json, says, status, text};
use crate::sweep::GRID;

#[test]
fn check_and_show_print_what_other_tools_read() {
    let world = World::new();
    let drive = world.sparse("drive", 1 << 30);
    let drive = drive.to_str().unwrap();
    let check = ["check", drive, "--generator", "simulated", "--name", "run", "-q"];
    let begins = [
        ("junit", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"iodyno run\""),
        ("ocp", "{\"sequenceNumber\":0,"),
        ("openmetrics", "# HELP iodyno_run_info "),
    ];
    for (format, begin) in begins {
        // The exit status does not depend on the format.
        let checked = world.run(&[&check[..], &["--format", format]].concat());
        status(&checked, 0);
        let out = text(&checked.stdout);
        assert!(out.starts_with(begin), "{out}");
        let shown = world.run(&["show", "run", "--format", format]);
        status(&shown, 0);
        assert_eq!(text(&shown.stdout), out);
        status(&world.run(&["runs", "rm", "run"]), 0);
    }
    says(&world.run(&["show", "--format", "ocp", "--json"]), 2, "cannot be used with");
}

#[test]
fn junit_names_each_point_that_a_stop_left_out() {
    let world = World::new();
    world.run(&[&GRID[..], &["--name", "whole"]].concat());
    let mut document = json(&world.run(&["runs", "export", "whole"]).stdout);
    document["state"] = "interrupted".into();
    let left: Vec<Value> = document["measurements"].as_array_mut().unwrap().drain(4..).collect();
    assert!(!left.is_empty());
    std::fs::write(world.path("stopped.json"), document.to_string()).unwrap();
    let stopped = world.path("stopped.json");
    let junit = ["show", stopped.to_str().unwrap(), "--format", "junit"];
    let xml = text(&world.run(&junit).stdout);
    assert!(!xml.contains("classname=\"machine\" name=\"rw="), "each under its target: {xml}");
    assert_eq!(xml.matches("the run was stopped before it").count(), left.len(), "{xml}");
    for of in left {
        assert!(xml.contains(&format!("name=\"{}", of["name"].as_str().unwrap())), "{xml}");
    }
}
