//! Tests that suggested commands, and refusals, lead on from where the user is: the same store and
//! user, and the run in progress.

use std::process::{Command, Stdio};

use crate::common::{World, eventually, says, status, text, word, worker_of};

/// Prefix of suggested commands under sudo.
fn sudo() -> &'static str {
    if rustix::process::geteuid().is_root() { "sudo " } else { "" }
}

#[test]
fn suggested_commands_name_the_store_and_sudo() {
    let world = World::new();
    std::fs::write(world.path("data"), vec![1; 1 << 20]).unwrap();
    let run = |words: &[&str]| {
        let mut command = world.command();
        command.args(words).env("SUDO_UID", "1000").env("COLUMNS", "200").output().unwrap()
    };
    let store = "other store.sqlite";
    let job = ["--store", store, "run", "--name=t", "--rw=read", "--filename=data"];
    let output = run(&job);
    status(&output, 0);
    let sudo = sudo();
    for command in ["Details: {}iodyno show -v last", "Page: {}iodyno report last"] {
        let command = format!("{} --store 'other store.sqlite'", command.replace("{}", sudo));
        assert!(text(&output.stdout).contains(&command), "{}", text(&output.stdout));
    }
    says(&run(&["--store", store, "show", "nope"]), 2, &format!("{sudo}iodyno runs --store"));
    // The usual store needs no name, but sudo does not pass on the variable that names it.
    let usual = world.path("store.sqlite").display().to_string();
    let job = [&["--store", &usual], &job[2..]].concat();
    let said = text(&world.command().args(&job).env("COLUMNS", "200").output().unwrap().stdout);
    assert!(said.contains("Details: iodyno show -v last "), "{said}");
    for words in [&job[..], &job[2..]] {
        let said = text(&run(words).stdout);
        let named = if sudo.is_empty() { String::new() } else { format!("--store {usual}") };
        let details = format!("Details: {sudo}iodyno show -v last {named}");
        assert!(said.contains(&details), "{said}");
    }
}

#[test]
fn a_run_in_progress_and_a_killed_one_say_what_they_are() {
    let world = World::new();
    std::fs::write(world.path("data"), vec![1; 1 << 20]).unwrap();
    let job = ["--name=t", "--rw=read", "--filename=data", "--time_based", "--runtime=600"];
    let mut iodyno = world.command();
    iodyno.arg("run").args(job).stdout(Stdio::null()).stderr(Stdio::null());
    let mut iodyno = iodyno.spawn().unwrap();
    let pid = worker_of(iodyno.id());
    let listed = || text(&world.run(&["runs", "--json"]).stdout);
    eventually("it is listed with its target", || listed().contains("/data\""));
    let shown = text(&world.run(&["show", "last"]).stdout);
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.starts_with("RUNNING ") && flat.contains("run --name=t --rw=read"), "{shown}");
    assert!(flat.contains(&format!("still running, process {pid}, since 20")), "{shown}");
    says(&world.run(&["runs", "rm", "last"]), 2, &format!("stop it first (kill -INT {pid},"));
    let kill = |pid: u32| Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(kill(pid).success());
    iodyno.wait().unwrap();
    let shown = text(&world.run(&["show", "last"]).stdout);
    assert!(shown.starts_with("STOPPED ") && shown.contains("--name=t"), "{shown}");
}

#[test]
fn explain_names_the_newest_run_with_a_rate() {
    let world = World::new();
    std::fs::write(world.path("data"), vec![1; 1 << 20]).unwrap();
    let job = ["--run-name", "with rate", "--name=t", "--rw=read", "--filename=data"];
    status(&world.jobs(&job), 0);
    status(&world.run(&["check", "--no-load", "data"]), 0);
    says(&world.run(&["explain"]), 2, "the newest run with one: iodyno explain 'with rate'");
}

#[test]
#[ignore = "needs root"]
fn results_go_to_no_folder_that_happens_to_be_the_working_directory() {
    let world = World::new();
    std::os::unix::fs::chown(world.path(""), Some(54321), Some(54321)).unwrap();
    let here = word(&world.path(""));
    let run = format!("cd {here} && {} check", env!("CARGO_BIN_EXE_iodyno"));
    // A user without an entry in /etc/passwd.
    let output = Command::new("setpriv")
        .args(["--reuid=54321", "--regid=54321", "--clear-groups", "sh", "-c", &run])
        .env_remove("HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("IODYNO_STORE")
        .output()
        .unwrap();
    says(&output, 2, "name the store with --store PATH");
    assert!(world.files("").is_empty(), "{:?}", world.files(""));
}
