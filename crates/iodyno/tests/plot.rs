//! Tests `iodyno plot` of stored runs and of fio's output.

use std::process::Command;

use crate::common::{World, says, status, text};

/// Stores a sweep over depths as `sweep`; each job ends after 4 MiB.
fn sweep(world: &World) {
    let file = world.path("data");
    let mut arguments = vec!["run".into(), "--quiet".into(), "--run-name".into(), "sweep".into()];
    for depth in [1, 2, 4, 8] {
        arguments.push(format!("--name=depth-{depth}"));
        arguments.push(format!("--filename={}", file.display()));
        let job =
            "--size=4m --bs=64k --rw=randread --ioengine=libaio --direct=1 --stonewall --numjobs=1";
        arguments.extend(job.split(' ').map(str::to_owned));
        arguments.push(format!("--iodepth={depth}"));
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    status(&world.run(&arguments), 0);
}

#[test]
fn a_stored_run_becomes_svg_and_png() {
    let world = World::new();
    sweep(&world);
    let svg = world.path("depth.svg");
    let plot = ["plot", "sweep", "--title", "Depth & all", "-o", svg.to_str().unwrap()];
    status(&world.run(&plot), 0);
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("Depth &amp; all"));
    assert!(picture.contains("Queue depth"), "the depths suggest the figure");
    let png = world.path("compare.png");
    let size = ["--figure", "compare", "--size", "640x400", "--dark"];
    let plot = [&["plot", "sweep", "-o", png.to_str().unwrap()], &size[..]].concat();
    status(&world.run(&plot), 0);
    let bytes = std::fs::read(&png).unwrap();
    // PNG: eight bytes of signature, then IHDR with width and height.
    assert_eq!(&bytes[1..4], b"PNG");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((number(16), number(20)), (640, 400));
    // Twice the size, text included; a wide picture has larger text, too.
    let sized = |options: &[&str]| {
        let plot = ["plot", "sweep", "-o", svg.to_str().unwrap()];
        status(&world.run(&[&plot[..], options].concat()), 0);
        let picture = std::fs::read_to_string(&svg).unwrap();
        picture.split('>').next().unwrap().to_owned()
    };
    let both = sized(&["--size", "600x400", "--scale", "2x"]);
    assert!(
        both.contains("width=\"1200\" height=\"800\"") && both.contains("0 0 600 400"),
        "{both}"
    );
    let wide = sized(&["--size", "2400x1000"]);
    assert!(
        wide.contains("width=\"2400\" height=\"1000\"") && wide.contains("0 0 1200 500"),
        "{wide}"
    );
}

#[test]
fn fio_output_is_plotted_without_being_stored() {
    let world = World::new();
    let report = world.path("fio.json");
    let fio = Command::new("fio")
        .arg(format!("--filename={}", world.path("data").display()))
        .arg(format!("--output={}", report.display()))
        .args("--name=job --size=2m --bs=4k --rw=randrw --ioengine=psync".split(' '))
        .args(["--output-format=json+"])
        .current_dir(world.directory("fio"))
        .output()
        .unwrap();
    status(&fio, 0);
    let svg = world.path("latency.svg");
    let report = report.to_str().unwrap();
    let plot = ["plot", report, "--figure", "latency", "-o", svg.to_str().unwrap()];
    status(&world.run(&plot), 0);
    let picture = std::fs::read_to_string(&svg).unwrap();
    for word in ["Percentile", "read", "write", "fio:"] {
        assert!(picture.contains(word), "{word}");
    }
    assert!(!world.path("store.sqlite").exists());
}

#[test]
fn what_cannot_be_drawn_is_said_and_is_the_users_to_change() {
    let world = World::new();
    sweep(&world);
    let output = world.path("x.svg");
    let output = output.to_str().unwrap();
    let long = ["--size", "99999x1"];
    for (arguments, says) in [
        (&["plot", "sweep", "-o", "x.pdf"][..], ".svg or .png"),
        (&["plot", "no-such-run", "-o", output], "neither a run"),
        (&["plot", "sweep", "--where", "bs=4k", "-o", output], "measured: 64k"),
        (&["plot", "sweep", "--where", "bs", "-o", output], "OPTION=VALUE"),
        (&["plot", "sweep", "--where", "iodpeth=4", "-o", output], "did you mean `iodepth`?"),
        (&["plot", "sweep", "--series", "numjbos", "-o", output], "did you mean `numjobs`?"),
        (&["plot", "sweep", "--series", "rate_iops", "-o", output], "no measurement has rate_iops"),
        (&["plot", "sweep", "--metric", "speed", "-o", output], "p99.9"),
        (&["plot", "sweep", "--figure", "xyzzy", "-o", output], "grid3d"),
        (&["plot", "sweep", "--figure", "scaling", "-o", output], "numbers of targets"),
        (&[&["plot", "sweep", "-o", output], &long[..]].concat(), "8192 pixels"),
        (&["plot", "sweep", "--scale", "huge", "-o", output], "expected a factor: 2x"),
        (&["plot", "sweep"], "--output"),
    ] {
        let refused = world.run(arguments);
        status(&refused, 2);
        let said = text(&refused.stderr);
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    assert!(!world.path("x.svg").exists());
}

#[test]
fn a_picture_that_cannot_be_written_is_an_error() {
    let world = World::new();
    sweep(&world);
    let nowhere = world.path("no/such/folder.svg");
    says(&world.run(&["plot", "sweep", "-o", nowhere.to_str().unwrap()]), 2, "there is no folder");
}
