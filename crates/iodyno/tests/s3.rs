//! Tests documents in object storage, with a Python server that checks signatures independently.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};

use crate::common::{World, says, status, text};

/// Four drives, one of them behind a degraded link.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/fixtures/links.json");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/s3_server.py");
/// Key, secret and session token, with characters that URLs and files have to preserve.
const WHO: [&str; 3] = ["AKIDEXAMPLE", "wJalr/XUtn+FEMI;K7=", "to/k+en=="];

struct Server {
    process: Child,
    port: u16,
    /// Log of its requests.
    said: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn new() -> Self {
        let mut server = Command::new("python3");
        let mut process = server.arg(SERVER).args(WHO).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        Self { process, port: line.trim().parse().unwrap(), said }
    }

    /// iodyno with this server's URL, without credentials.
    fn command(&self, world: &World, words: &[&str]) -> Command {
        let mut command = world.command();
        command.args(words).env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port));
        command.env("AWS_REGION", "eu-north-1").env("HOME", world.path("home"));
        for name in ["AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, world: &World, words: &[&str], who: [&str; 3]) -> Output {
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
        let mut command = self.command(world, words);
        // The token of another server is not used for this one.
        command.envs(names.into_iter().zip(who)).env("IODYNO_PUSH_TOKEN", "other").output().unwrap()
    }

    /// The requests that it answered.
    fn ended(mut self) -> Vec<String> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        said.lines().map(str::to_owned).collect()
    }
}

#[test]
fn documents_are_put_once_and_read_by_lists() {
    let server = Server::new();
    let reader = World::new();
    let shared = reader.directory("shared");
    let nodes = ["n1", "n2", "n 3"];
    for node in nodes {
        let world = World::new();
        let words = ["accept", "quick", "--sysroot", MACHINE, "--push", "s3://bucket/fleet/a b/"];
        let wrong = [WHO[0], "wrong", WHO[2]];
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
        let mut command = server.command(&world, &words);
        command.args(["--push", shared.to_str().unwrap()]).env("NODE_NAME", node);
        says(&command.envs(names.into_iter().zip(wrong)).output().unwrap(), 1, "it answered 403");
        let outbox = world.path("store.sqlite.outbox");
        let kept: Vec<_> = world.files("store.sqlite.outbox");
        let list = kept.iter().find(|name| name.ends_with(".to")).unwrap();
        let name = list.strip_suffix(".to").unwrap();
        let copies = [list, name].map(|name| (name, std::fs::read(outbox.join(name)).unwrap()));
        // The same document twice: the second time it exists already.
        for _ in 0..2 {
            for (name, bytes) in &copies {
                std::fs::write(outbox.join(name), bytes).unwrap();
            }
            status(&server.run(&world, &["runs", "push"], WHO), 0);
            assert!(world.files("store.sqlite.outbox").is_empty());
        }
    }
    let read = server.run(&reader, &["runs", "fleet", "s3://bucket/fleet"], WHO);
    status(&read, 0);
    let of_folder = reader.run(&["runs", "fleet", shared.to_str().unwrap()]);
    assert_eq!(text(&read.stdout), text(&of_folder.stdout));
    let asked = server.ended();
    let count = |what: &str, answer: &str| {
        asked.iter().filter(|line| line.starts_with(what) && line.ends_with(answer)).count()
    };
    assert_eq!((count("PUT", " 403"), count("PUT", " 200"), count("PUT", " 412")), (3, 3, 3));
    // Two lists, since one page holds two names; three documents.
    assert_eq!(count("GET", " 200"), 5, "{asked:?}");
}

#[test]
fn an_object_that_cannot_be_read_hides_no_other() {
    let server = Server::new();
    let reader = World::new();
    for folder in ["busy", "fine", "refused"] {
        let world = World::new();
        let place = format!("s3://bucket/fleet/{folder}");
        let words = ["accept", "quick", "--sysroot", MACHINE, "--push", &place];
        status(&server.run(&world, &words, WHO), 1);
    }
    let read = server.run(&reader, &["runs", "fleet", "s3://bucket/fleet"], WHO);
    says(&read, 4, "fleet/refused/");
    let said = text(&read.stderr);
    assert!(said.contains("it answered 403") && said.lines().count() == 1, "{said}");
    assert!(text(&read.stdout).contains("4 drives on 1 host"), "{}", text(&read.stdout));
    let asked = server.ended();
    let of_busy = asked.iter().filter(|line| line.starts_with("GET") && line.contains("/busy/"));
    let answers: Vec<&str> = of_busy.filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(answers, ["503", "200"], "{asked:?}");
}

#[test]
fn credentials_come_from_a_file_too_and_mistakes_are_told() {
    let server = Server::new();
    let world = World::new();
    let run = |words: &[&str]| server.command(&world, words).output().unwrap();
    says(
        &run(&["accept", "quick", "--sysroot", MACHINE, "--push", "s3://bucket"]),
        1,
        "no credentials",
    );
    world.directory("home/.aws");
    let [key, secret, token] = WHO;
    let profile = format!(
        "[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\naws_session_token = {token}\n"
    );
    std::fs::write(world.path("home/.aws/credentials"), profile).unwrap();
    status(&run(&["runs", "push"]), 0);
    status(&run(&["runs", "fleet", "s3://bucket"]), 0);
    for (url, told) in [("s3://key:secret@bucket/x", "@FILE"), ("s3:///x", "BUCKET")] {
        let refused = run(&["runs", "fleet", url]);
        assert!(text(&refused.stderr).contains(told), "{}", text(&refused.stderr));
        assert!(!refused.status.success() && !text(&refused.stderr).contains("secret@"));
    }
    let asked = server.ended();
    assert!(asked.iter().all(|line| line.ends_with(" 200")), "{asked:?}");
}
