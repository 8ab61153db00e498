//! Tests `iodyno accept` and its pushes where something around them fails: stores, servers, parents.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::accept::{MACHINE, TWICE, path, profile, quick, server};
use crate::common::{World, eventually, json, says, status, text, worker_of};

#[test]
fn a_presigned_url_with_another_document_keeps_this_one() {
    let world = World::new();
    let (url, heard) = server(&[412, 412]);
    let file = world.path("url");
    std::fs::write(&file, format!("{url}/bucket/n1.json?X-Amz-Signature=00ff\n")).unwrap();
    let reference = format!("@{}", path(&file));
    says(&quick(&world, &["--push", &reference]), 1, "each needs a URL of its own");
    says(&world.run(&["runs", "push"]), 4, "1 left");
    assert_eq!(world.files("store.sqlite.outbox").len(), 2);
    assert_eq!(heard.join().unwrap().len(), 2);
}

#[test]
fn a_store_that_cannot_be_opened_hides_no_verdict() {
    let world = World::new();
    let shared = world.directory("shared");
    let (garbage, words) = (world.path("garbage"), "this is no database ".repeat(100));
    std::fs::write(&garbage, &words).unwrap();
    let stores = [garbage.clone(), world.directory("folder"), garbage.join("store.sqlite")];
    for store in &stores {
        let words = ["--drain-hint", "--push", path(&shared), "--store", path(store)];
        let output = quick(&world, &words);
        says(&output, 1, path(store));
        assert!(text(&output.stdout).contains("link-degraded"), "{}", text(&output.stdout));
        let check = ["check", "--no-load", "--sysroot", MACHINE, "--store", path(store)];
        says(&world.run(&check), 1, path(store));
        // Without a verdict to give, another store is the user's to name.
        let words = ["run", "--name=j", "--filename=x", "--size=1m", "--store", path(store)];
        says(&world.run(&words), 2, path(store));
    }
    assert_eq!(world.files("shared").len(), stores.len());
    assert_eq!(std::fs::read_to_string(&garbage).unwrap(), words);
    // A file: in a directory a kill would leave the scratch file, without a journal of it.
    let (own, place) = (profile(&world, TWICE), world.path("data"));
    std::fs::write(&place, vec![7; 1 << 20]).unwrap();
    let fine = world.run(&["accept", &own, path(&place), "--json", "--store", path(&garbage)]);
    says(&fine, 0, "is not an iodyno store");
    let runs = json(&fine.stdout);
    assert_eq!(runs.as_array().unwrap().len(), 2);
    assert!(!runs[1]["measurements"].as_array().unwrap().is_empty());
}

/// Children of a process.
fn children(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let listed = listed.unwrap_or_default();
    listed.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn a_killed_acceptance_leaves_no_step_behind() {
    let world = World::new();
    let place = world.directory("data");
    let own = profile(&world, &TWICE.replace("100ms", "10m"));
    let mut accept = world
        .command()
        .args(["accept", &own, path(&place), "--deadline", "20m"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let worker = worker_of(accept.id());
    eventually("a step is running", || !children(worker).is_empty());
    let step = children(worker)[0];
    let of_step = worker_of(step);
    accept.kill().unwrap();
    accept.wait().unwrap();
    eventually("the step has ended", || {
        [step, of_step].iter().all(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z")
        })
    });
}

#[test]
fn a_server_without_drives_is_not_accepted() {
    let world = World::new();
    let whole = json(&std::fs::read(MACHINE).unwrap());
    let left = whole.as_object().unwrap().iter().filter(|(path, _)| !path.starts_with("/sys/"));
    let left = left.filter(|(path, _)| !path.starts_with("/ioctl/"));
    let left: serde_json::Map<_, _> = left.map(|(a, b)| (a.clone(), b.clone())).collect();
    let machine = world.path("none.json");
    std::fs::write(&machine, serde_json::to_vec(&left).unwrap()).unwrap();
    for profile in ["quick", "check"] {
        let output = world.run(&["accept", profile, "--drain-hint", "--sysroot", path(&machine)]);
        status(&output, 4);
        assert_eq!(text(&output.stdout), "iodyno: no NVMe drive\n");
    }
    // The document says it too.
    let document =
        json(&world.run(&["accept", "quick", "--json", "--sysroot", path(&machine)]).stdout);
    assert_eq!(document["verdict"], "UNJUDGED");
}

#[test]
fn a_document_that_another_push_sent_meanwhile_is_not_left() {
    let world = World::new();
    let outbox = world.directory("store.sqlite.outbox");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    for name in ["n.0.1.json", "n.0.2.json"] {
        std::fs::write(outbox.join(name), "{}").unwrap();
        std::fs::write(outbox.join(format!("{name}.to")), format!("[{url:?}]")).unwrap();
    }
    let folder = outbox.clone();
    let first = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        let mut input = BufReader::new(stream.try_clone().unwrap());
        while !line.ends_with("\r\n\r\n") {
            input.read_line(&mut line).unwrap();
        }
        for name in ["n.0.2.json", "n.0.2.json.to"] {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
        stream
            .write_all(b"HTTP/1.1 201 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
        // The body is read before the connection ends: a reset would be an error.
        let _ = input.fill_buf();
    });
    says(&world.run(&["runs", "push"]), 0, "pushed: 1");
    first.join().unwrap();
    assert!(world.files("store.sqlite.outbox").is_empty());
}

#[test]
fn a_folder_of_documents_is_read_whole_or_said_not_to_be() {
    let world = World::new();
    let shared = world.directory("shared");
    status(&quick(&world, &["--push", path(&shared)]), 1);
    let document = shared.join(&world.files("shared")[0]);
    let copy = |folder: &str, name: &str| {
        let to = world.directory(folder).join(name);
        std::fs::copy(&document, &to).unwrap();
        to
    };
    copy("upper", "N.JSON");
    let plain = copy("packed", "n.json");
    assert!(Command::new("gzip").arg(plain).status().unwrap().success());
    for folder in ["upper", "packed"] {
        let read = world.run(&["runs", "fleet", folder]);
        status(&read, 0);
        assert!(text(&read.stdout).contains("4 drives on 1 host"), "{}", text(&read.stdout));
    }
    copy("shared/1/2/3/4/5/6/7/8/9", "deep.json");
    says(&world.run(&["runs", "fleet", path(&shared)]), 4, "9: more than 8 folders below");
    copy("beside/locked", "n.json");
    copy("beside", "n.json");
    let locked = world.path("beside/locked");
    let mode = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0);
    let read = crate::bad_input::without(
        &world,
        "-dac_override,-dac_read_search",
        &["runs", "fleet", "beside"],
    );
    mode(0o755);
    says(&read, 4, "beside/locked: cannot be read");
    assert!(text(&read.stdout).contains("1 host"), "{}", text(&read.stdout));
}

#[test]
fn a_verdict_survives_an_output_that_nobody_reads() {
    let world = World::new();
    let machine = ["--sysroot", MACHINE];
    status(&world.run(&[&["check", "--no-load", "-q"], &machine[..]].concat()), 1);
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for words in [
        &["check", "--no-load"][..],
        &["check", "--no-load", "--json"],
        &["accept", "quick"],
        &["accept", "quick", "--drain-hint"],
        &["show", "last"],
        &["show", "last", "--details"],
    ] {
        let words = [words, &machine, &["--quiet"]].concat();
        let start = |stdout: Stdio| {
            world.command().args(&words).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap()
        };
        let mut gone = start(Stdio::piped());
        drop(gone.stdout.take());
        let gone = gone.wait_with_output().unwrap();
        assert_eq!((gone.status.code(), text(&gone.stderr)), (Some(1), String::new()), "{words:?}");
        let full = start(full().into()).wait_with_output().unwrap();
        assert_eq!(full.status.code(), Some(1), "{words:?}");
        assert!(text(&full.stderr).contains("standard output"), "{}", text(&full.stderr));
    }
    // Where all is well, an output that is full or closed is a failure.
    let output = world.command().arg("list").stdout(full()).output().unwrap();
    says(&output, 2, "standard output");
    let mut closed = world.with_environment(std::process::Command::new("sh"));
    closed.args(["-c", "exec \"$0\" list >&-", env!("CARGO_BIN_EXE_iodyno")]);
    says(&closed.output().unwrap(), 2, "standard output");
}
