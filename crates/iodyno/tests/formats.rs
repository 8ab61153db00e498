//! Tests that `check` and `show` print every `--format`; the content is tested where the formats
//! are implemented.

use crate::common::{World, says, status, text};

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
