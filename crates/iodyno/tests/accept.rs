//! Tests `iodyno accept`: steps in bounded time, one document, and its destinations.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use crate::common::{World, json, says, script, status, text, validate};
use serde_json::Value;

/// Four drives, one of them behind a degraded link.
pub(crate) const MACHINE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/fixtures/links.json");

/// Two steps on a directory, one after the other.
pub(crate) const TWICE: &str = r#"
format = "iodyno.accept/1"
name = "twice"
about = "for a test"
deadline = "60s"

[[step]]
run = ["check", "--time", "100ms", "{targets}"]

[[step]]
run = ["check", "--time", "100ms", "{targets}"]
"#;

pub(crate) fn profile(world: &World, text: &str) -> String {
    let path = world.path("own.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs `accept quick` on the captured machine.
pub(crate) fn quick(world: &World, words: &[&str]) -> Output {
    world.run(&[&["accept", "quick", "--sysroot", MACHINE], words].concat())
}

/// Starts a server that answers requests with these statuses, one after the other; returns the
/// requests.
pub(crate) fn server(statuses: &'static [u16]) -> (String, JoinHandle<Vec<(String, String)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = std::thread::spawn(move || {
        let answered = statuses.iter().map(|status| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut input = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                input.read_line(&mut line).unwrap();
                if let Some(of) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = of.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
                head += &line;
            }
            let mut body = vec![0; length];
            input.read_exact(&mut body).unwrap();
            let answer =
                format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            (head, String::from_utf8_lossy(&body).into_owned())
        });
        answered.collect()
    });
    (url, heard)
}

#[test]
fn steps_become_one_document_in_the_store_a_file_and_a_directory() {
    let world = World::new();
    let (place, shared) = (world.directory("data"), world.directory("shared"));
    let own = profile(&world, TWICE);
    let file = world.path("all.json");
    let words = ["accept", &own, path(&place), "--push", path(&shared), "-o", path(&file)];
    let output = world
        .command()
        .args(words)
        .args(["--json", "--start-at", "1000000000"])
        .envs([("SLURM_PROCID", "2"), ("SLURM_NTASKS", "3"), ("SLURMD_NODENAME", "rack7/n2")])
        .output()
        .unwrap();
    says(&output, 0, "--start-at was ");
    let names = world.files("shared");
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(names[0].starts_with("rack7_n2.") && names[0].ends_with(".json"), "{names:?}");
    let pushed = std::fs::read(shared.join(&names[0])).unwrap();
    assert!(pushed == output.stdout && pushed == std::fs::read(file).unwrap());
    assert!(world.files(".").iter().all(|name| !name.ends_with(".part")));
    assert!(world.files("store.sqlite.outbox").is_empty());
    let document = json(&pushed);
    let runs = document.as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for (run, step) in runs.iter().zip(1..) {
        validate(run, "iodyno.run.2");
        let accepted = &run["accepted"];
        assert_eq!((&accepted["profile"], &accepted["step"]), (&"twice".into(), &step.into()));
        assert_eq!(accepted["node"], "rack7/n2");
        assert_eq!(accepted["start_at"], "2001-09-09T01:46:40Z");
        let rank = serde_json::json!({"by": "slurm", "rank": 2, "of": 3});
        assert_eq!(accepted["rank"], rank);
        assert!(!run["measurements"].as_array().unwrap().is_empty());
    }
    // The store has the same runs, and another store imports the directory.
    let stored = json(&world.run(&["runs", "--json"]).stdout);
    let ids = |runs: &Value| -> Vec<String> {
        let mut ids: Vec<String> =
            runs.as_array().unwrap().iter().map(|run| run["id"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&stored["runs"]), ids(&document));
    assert_eq!(stored["runs"][0]["accepted"]["node"], "rack7/n2");
    let other = World::new();
    status(&other.run(&["import", path(&shared)]), 0);
    assert_eq!(ids(&json(&other.run(&["runs", "--json"]).stdout)["runs"]), ids(&document));
}

#[test]
fn nodes_that_begin_together_are_shown_as_one() {
    let shared = World::new();
    let (place, results) = (shared.directory("data"), shared.directory("results"));
    let own = profile(&shared, TWICE);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let worlds = [World::new(), World::new()];
    let nodes = worlds.iter().zip(["0", "2"]).map(|(world, rank)| {
        let mut command = world.command();
        command.args(["accept", &own, path(&place), "--push", path(&results), "--quiet"]);
        command.args(["--start-at", &(now + 2).to_string()]).stdout(Stdio::null());
        command.envs([("SLURM_PROCID", rank), ("SLURM_NTASKS", "3"), ("SLURMD_NODENAME", rank)]);
        command.spawn().unwrap()
    });
    for mut node in nodes.collect::<Vec<_>>() {
        assert!(node.wait().unwrap().success());
    }
    for name in results.read_dir().unwrap() {
        let document = json(&std::fs::read(name.unwrap().path()).unwrap());
        for run in document.as_array().unwrap() {
            validate(run, "iodyno.run.2");
            let of = &run["measurements"][0]["read"];
            let sum = |of: &Value, name: &str| -> u64 {
                of.as_array().unwrap().iter().filter_map(|one| one[name].as_u64()).sum()
            };
            assert_eq!(of["ios"], sum(&of["mergeable"]["seconds"], "ios"));
            let bins = of["mergeable"]["latency"]["bins"].as_array().unwrap();
            assert_eq!(of["ios"], bins.iter().filter_map(|bin| bin[1].as_u64()).sum::<u64>());
        }
    }
    let table = |words: &[&str]| {
        let output =
            shared.run(&[&["runs", "fleet", "--format", "together", "--wide"], words].concat());
        status(&output, 0);
        text(&output.stdout)
    };
    let shown = table(&[path(&results)]);
    for step in ["twice, step 1 at ", "twice, step 2 at "] {
        assert!(shown.contains(step), "{shown}");
    }
    assert!(shown.contains("2 nodes") && shown.contains("missing: rank 1"), "{shown}");
    // The nodes' stores give the same table as their documents.
    let stores = worlds.each_ref().map(|world| world.path("store.sqlite"));
    assert_eq!(table(&stores.each_ref().map(|store| path(store))), shown);
    let told = shared.run(&["runs", "fleet", "--format", "together", MACHINE]);
    assert!(text(&told.stdout).contains("had an agreed start"), "{}", text(&told.stdout));
}

#[test]
fn a_hint_says_why_and_nothing_where_all_is_well() {
    let world = World::new();
    let output = quick(&world, &["--drain-hint"]);
    status(&output, 1);
    let line = text(&output.stdout);
    assert!(line.starts_with("iodyno: ") && line.lines().count() == 1, "{line}");
    assert!(line.contains("link") && line.len() < 200 && !line.contains(['"', '$']), "{line}");
    let place = world.directory("data");
    let own = profile(&world, TWICE);
    let fine = world.run(&["accept", &own, path(&place), "--drain-hint"]);
    status(&fine, 0);
    assert_eq!(text(&fine.stdout), "");
}

#[test]
fn what_is_past_its_deadline_ends_and_is_told() {
    let world = World::new();
    let place = world.directory("data");
    let own = profile(&world, &TWICE.replace("100ms", "10m"));
    let began = Instant::now();
    let words = ["accept", &own, path(&place), "--deadline", "4s"];
    let output = world.run(&[&words[..], &["--json"]].concat());
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    status(&output, 3);
    let document = json(&output.stdout);
    assert_eq!(
        (&document["state"], &document["accepted"]["cut_short"]),
        (&"interrupted".into(), &true.into())
    );
    let hint = world.run(&[&words[..], &["--drain-hint"]].concat());
    status(&hint, 3);
    assert_eq!(text(&hint.stdout), "iodyno: twice did not finish in time\n");
    // Its own files are removed.
    assert!(world.files("data").is_empty(), "{:?}", world.files("data"));
}

#[test]
fn what_no_destination_takes_is_kept_and_pushed_later() {
    let world = World::new();
    let missing = world.path("away");
    let output = quick(&world, &["--push", path(&missing), "--push", "env:PUSH_URL"]);
    status(&output, 1);
    let said = text(&output.stderr);
    assert!(said.contains("PUSH_URL is not set") && said.contains("1 left"), "{said}");
    let kept = world.files("store.sqlite.outbox");
    assert_eq!(kept.len(), 2, "{kept:?}");
    status(&world.run(&["runs", "push"]), 4);
    std::fs::create_dir(&missing).unwrap();
    let (url, heard) = server(&[503, 201]);
    let push = |world: &World| {
        let mut command = world.command();
        command.args(["runs", "push"]).env("PUSH_URL", &url).env("IODYNO_PUSH_TOKEN", "s3cret");
        command.output().unwrap()
    };
    let pushed = push(&world);
    status(&pushed, 0);
    assert!(world.files("store.sqlite.outbox").is_empty());
    let heard = heard.join().unwrap();
    let name = &world.files("away")[0];
    let expected = std::fs::read_to_string(missing.join(name)).unwrap();
    for (head, body) in &heard {
        assert!(head.starts_with(&format!("PUT /{name} HTTP/1.1")), "{head}");
        let head = head.to_ascii_lowercase();
        assert!(head.contains("authorization: bearer s3cret"), "{head}");
        assert!(head.contains("if-none-match: *") && body == &expected, "{head}");
    }
    assert_eq!(heard.len(), 2);
    let nothing = push(&world);
    status(&nothing, 0);
}

#[test]
fn where_nothing_can_be_kept_the_node_is_judged_and_pushed_all_the_same() {
    let world = World::new();
    let shared = world.directory("shared");
    std::fs::write(world.path("store.sqlite.outbox"), "").unwrap();
    let away = world.path("away");
    let words = ["--push", path(&shared), "--push", path(&away), "--drain-hint"];
    let output = quick(&world, &words);
    status(&output, 1);
    assert!(text(&output.stdout).contains("link-degraded"), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(said.contains("now or never") && said.contains("away refused"), "{said}");
    assert_eq!(world.files("shared").len(), 1, "{said}");
    // On a healthy node the failed push is the only problem.
    let own = profile(&world, TWICE);
    let place = world.directory("data");
    let output = world.run(&["accept", &own, path(&place), "--push", path(&shared)]);
    status(&output, 2);
    assert_eq!(world.files("shared").len(), 2);
}

#[test]
fn the_measurements_are_pushed_as_a_table_where_that_is_taken() {
    let world = World::new();
    let (place, shared) = (world.directory("data"), world.directory("shared"));
    let own = profile(&world, TWICE);
    let (url, heard) = server(&[201, 201, 201]);
    let mut command = world.command();
    command.args(["accept", &own, path(&place), "--push-parquet", "--push", path(&shared)]);
    // A signature is valid for one object.
    command.args(["--push", "env:A", "--push", "env:B"]);
    command.env("A", &url).env("B", format!("{url}/one?X-Amz-Signature=0"));
    status(&command.output().unwrap(), 0);
    let mut names = world.files("shared");
    names.sort();
    let stem = names[0].strip_suffix(".json").unwrap();
    assert_eq!(names[1..], [format!("{stem}.parquet")]);
    let table = std::fs::read(shared.join(&names[1])).unwrap();
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    let heard = heard.join().unwrap();
    let of = |kind: &str| heard.iter().filter(|(head, _)| head.contains(kind)).count();
    assert_eq!((of("application/json"), of("application/vnd.apache.parquet")), (2, 1));
    // Readers of documents skip the table.
    let table = text(&world.run(&["runs", "fleet", path(&shared)]).stdout);
    assert!(table.contains("1 host"), "{table}");
    let other = World::new();
    let imported = other.run(&["import", path(&shared)]);
    status(&imported, 0);
    assert_eq!(json(&other.run(&["runs", "--json"]).stdout)["runs"].as_array().unwrap().len(), 2);
    status(&world.run(&["accept", &own, path(&place), "--push-parquet"]), 2);
}

#[test]
fn a_full_outbox_keeps_the_newest_and_names_what_it_dropped() {
    let world = World::new();
    let (outbox, away) = (world.directory("store.sqlite.outbox"), world.path("away"));
    for run in 0..1002 {
        let name = format!("n{}.0.{run:04}.json", run % 2);
        std::fs::write(outbox.join(&name), "{}").unwrap();
        std::fs::write(outbox.join(format!("{name}.to")), format!("[{away:?}]")).unwrap();
    }
    let output = world.run(&["runs", "push"]);
    status(&output, 4);
    let said = text(&output.stderr);
    assert!(said.contains("2 oldest documents dropped\n") && said.contains("1000 left"), "{said}");
    assert!(said.contains("outbox/dropped") && said.contains("iodyno runs export"), "{said}");
    let dropped = std::fs::read_to_string(outbox.join("dropped")).unwrap();
    assert_eq!(dropped, "n0.0.0000.json\nn1.0.0001.json\n");
    // The loss is reported until the user has dealt with it.
    world.directory("away");
    says(&world.run(&["runs", "push"]), 0, "since the outbox was full: 2");
    assert_eq!((world.files("away").len(), world.files("store.sqlite.outbox").len()), (1000, 1));
}

#[test]
fn a_refusal_for_good_is_not_repeated_and_a_copy_that_is_there_suffices() {
    let world = World::new();
    let (url, heard) = server(&[403, 412]);
    says(&quick(&world, &["--push", &url]), 1, "it answered 403");
    status(&world.run(&["runs", "push"]), 0);
    assert_eq!(heard.join().unwrap().len(), 2);
}

#[test]
fn a_presigned_url_in_a_file_is_taken_as_it_is() {
    let world = World::new();
    let (url, heard) = server(&[200]);
    let file = world.path("url");
    std::fs::write(&file, format!("{url}/bucket/n1.json?X-Amz-Signature=00ff\n")).unwrap();
    let reference = format!("@{}", path(&file));
    status(&quick(&world, &["--push", &reference]), 1);
    let heard = heard.join().unwrap();
    assert!(
        heard[0].0.starts_with("PUT /bucket/n1.json?X-Amz-Signature=00ff HTTP/1.1"),
        "{heard:?}"
    );
}

#[test]
fn mistakes_are_told_before_anything_is_done() {
    let world = World::new();
    for (words, told) in [
        (&["quikc"][..], "did you mean quick?"),
        (&["check", "--push", "https://me:pw@host/"], "@FILE"),
        (&["write", "/dev/null"], "--allow-write"),
        (&["burn-in", "--allow-write", "X"], "name each target"),
        (&["fit", "etcd", ".", "--sysroot", MACHINE], "captured machine"),
        (&["quick", "--start-at", "noon"], "seconds since 1970"),
    ] {
        let output = world.run(&[&["accept"], words].concat());
        status(&output, 2);
        assert!(text(&output.stderr).contains(told), "{words:?}: {}", text(&output.stderr));
    }
    assert!(!world.path("store.sqlite").exists());
    let list = text(&world.run(&["accept", "--list"]).stdout);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["quick", "check", "fit", "write", "burn-in"]);
}

#[test]
fn slurms_prolog_keeps_jobs_off_bad_and_silent_drives_alone() {
    let world = World::new();
    let prolog = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/slurm/prolog.sh");
    let options = world.path("healthcheck");
    let exits = |iodyno: &str, status: u8| {
        let logger = "logger() { echo \"$*\" >>logged; }";
        std::fs::write(&options, format!("IODYNO={iodyno}\n{logger}\n")).unwrap();
        // Runs `sh check --quiet …` in place of `iodyno check --quiet …`.
        std::fs::write(world.path("check"), format!("exit {status}\n")).unwrap();
        std::fs::write(world.path("runs"), "echo $* >>pruned\n").unwrap();
        let mut command = world.with_environment(Command::new("bash"));
        let ended = command.arg(prolog).env("IODYNO_HEALTHCHECK", &options).output().unwrap();
        ended.status.code().unwrap()
    };
    // timeout(1) exits with 124 if the command gave no answer.
    for (status, expected) in [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0), (124, 1), (126, 0)] {
        assert_eq!(exits("sh", status), expected, "{status}");
    }
    // The store is pruned: a thousand jobs a day must not fill the disk.
    let pruned = std::fs::read_to_string(world.path("pruned")).unwrap();
    assert_eq!(pruned, "prune --quiet --keep 100\n".repeat(7));
    assert_eq!(exits("/none", 0), 0, "a binary that is missing drains no cluster");
    let logged = std::fs::read_to_string(world.path("logged")).unwrap();
    assert_eq!(logged.lines().count(), 3, "2, 126 and 127 are not judged: {logged}");
}

#[test]
fn slurms_health_check_drains_a_node_once_and_leaves_other_reasons() {
    let world = World::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/slurm/healthcheck.sh");
    let options = world.path("healthcheck");
    let asked = |state: &str, status: u8| {
        // Replaces scontrol(1), which the script takes from the system's directories.
        let scontrol = format!(
            "scontrol() {{ [ $1 = show ] && echo '   State={state} Weight=1' || echo \"$*\" >>asked; }}\n\
             logger() {{ echo \"$*\" >>logged; }}"
        );
        std::fs::write(&options, format!("IODYNO=sh\n{scontrol}\n")).unwrap();
        // Runs `sh accept quick …` in place of `iodyno accept quick …`.
        let accept = format!("echo 'iodyno: link-degraded'; exit {status}\n");
        std::fs::write(world.path("accept"), accept).unwrap();
        std::fs::write(world.path("runs"), "").unwrap();
        std::fs::write(world.path("asked"), "").unwrap();
        let mut command = world.with_environment(Command::new("bash"));
        command.arg(script).env("IODYNO_HEALTHCHECK", &options).env("SLURMD_NODENAME", "node1");
        assert!(command.status().unwrap().success());
        std::fs::read_to_string(world.path("asked")).unwrap()
    };
    let drains = "update NodeName=node1 State=DRAIN Reason=iodyno: link-degraded\n";
    assert_eq!([1, 3].map(|status| asked("IDLE", status)), [drains, drains]);
    assert_eq!([0, 2, 4].map(|status| asked("IDLE", status)), ["", "", ""]);
    assert_eq!(["IDLE+DRAIN", "DRAINED*"].map(|state| asked(state, 1)), ["", ""]);
    let logged = std::fs::read_to_string(world.path("logged")).unwrap();
    assert_eq!(logged.lines().count(), 2, "{logged}");
    assert!(
        logged.contains("exit status 2, not drained") && logged.contains("status 4"),
        "{logged}"
    );
}

#[test]
fn slurms_acceptance_drains_bad_nodes_and_no_undecided_ones() {
    let world = World::new();
    let sbatch = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/slurm/accept.sbatch");
    let bin = world.directory("bin");
    for (name, body) in [
        // Replaces srun(1) with one task on this machine.
        ("srun", "#!/bin/sh\nshift 2\nexec \"$@\"\n"),
        ("scontrol", "#!/bin/sh\necho \"$*\" >>asked\n"),
    ] {
        script(&bin.join(name), body);
    }
    let asked = |reason: &str, status: u8| {
        let accept = format!("echo '{reason}'; exit {status}\n");
        std::fs::write(world.path("accept"), accept).unwrap();
        std::fs::write(world.path("asked"), "").unwrap();
        let mut command = world.with_environment(Command::new("bash"));
        let directories = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        command.arg(sbatch).env("PATH", directories);
        let ended = command.env("IODYNO", "sh").env("SLURMD_NODENAME", "node1").output().unwrap();
        assert_eq!(ended.status.code(), Some(i32::from(status)), "{}", text(&ended.stderr));
        std::fs::read_to_string(world.path("asked")).unwrap()
    };
    let drains = "update NodeName=node1 State=DRAIN Reason=iodyno: link-degraded\n";
    let of = |status| asked("iodyno: link-degraded", status);
    assert_eq!([1, 3].map(of), [drains, drains]);
    assert_eq!([0, 2, 4, 126, 127].map(of), [""; 5]);
    assert_eq!(asked("", 3), "", "an interrupt says nothing about the node");
}
