//! Tests the documentation: commands run, links resolve, every page is in the book.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{self, World, text};
use crate::pages::{self, Block, How};

/// Languages of blocks that contain no commands.
const NO_COMMANDS: &[&str] = &["text", "toml", "ini", "json", "yaml"];

/// Programs that are replaced: name, substitute, and reason.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("sudo", "exec \"$@\"", "everything that is written to belongs to the test"),
    (
        "make",
        "PATH=$REAL_PATH exec make -n -C \"$ROOT\" \"$@\"",
        "the target exists; it takes minutes",
    ),
    ("cargo", "exit 0", "it builds what this test runs"),
    ("scp", "exit 0", "there is no other machine"),
    ("ssh", "exit 0", "there is no other machine"),
    ("ansible-playbook", "exit 0", "make fleet runs it"),
    ("apt-get", INSTALLED, PACKAGES),
    ("dnf", INSTALLED, PACKAGES),
    ("pip", INSTALLED, PACKAGES),
    ("brew", INSTALLED, PACKAGES),
    ("makepkg", "[ -f PKGBUILD ]", PACKAGES),
    ("nix-build", "[ -f iodyno.nix ]", PACKAGES),
    ("podman", "exit 0", "containers are not among the tools of the tests"),
    ("systemctl", "exit 0", "it would change this machine"),
    ("duckdb", "exit 0", "not a tool of the tests"),
    ("jq", "cat >/dev/null", "not a tool of the tests"),
];

/// Succeeds if the last word is an existing file.
const INSTALLED: &str = "for word; do :; done; [ -f \"${word%%\\[*}\" ]";
const PACKAGES: &str = "dist/test_packages.py installs packages";

/// Folders of the reader's machine, mapped to folders of the test.
const FOLDERS: &[&str] = &["/mnt/", "/srv/", "/usr/local/", "/usr/share/", "/var/lib/"];

/// Calls iodyno as the block's class requires; `exec -a` keeps the name fio.
const WRAPPER: &str = r#"#!/bin/bash
case "$HOW" in
parsed) case " $0 $* " in *" run "*|*"fio "*) more=--parse-only ;; *) more=--help ;; esac ;;
dry-run) more=--dry-run ;;
*) more= ;;
esac
exec -a "$0" "$BINARY" "$@" $more
"#;

/// The folder in which the commands of the pages run.
struct Reader {
    world: World,
}

impl Reader {
    fn new() -> Self {
        let world = World::new();
        let programs = world.directory("programs");
        let program = |name: &str, script: &str| common::script(&programs.join(name), script);
        program("iodyno", WRAPPER);
        for (name, script, _) in PROGRAMS {
            program(name, &format!("#!/bin/sh\n{script}\n"));
        }
        let reader = Self { world };
        reader.world.directory("made");
        let script = include_str!("pages/folder.sh");
        let made = reader.bash("made", script, How::AsPrinted);
        assert!(made.0 == 0, "folder.sh: {}", made.1);
        reader
    }

    /// Runs a command in a folder of this world; returns its status and output.
    fn bash(&self, folder: &str, command: &str, how: How) -> (i32, String) {
        let home = self.world.path(folder);
        let mut command = command.to_owned();
        // The workspace's path may contain blanks, and pages do not quote these folders.
        let prefix = home.to_str().unwrap().replace(' ', "\\ ");
        for place in FOLDERS {
            command = command.replace(place, &format!("{prefix}{place}"));
        }
        let path = std::env::var("PATH").unwrap();
        let own = self.world.path("programs");
        let output = Command::new("timeout")
            .args(["300", "bash", "-c", &command])
            .current_dir(&home)
            .env("PATH", format!("{}/usr/local/bin:{}:{path}", home.display(), own.display()))
            .env("REAL_PATH", &path)
            .env("ROOT", pages::root())
            .env("BINARY", env!("CARGO_BIN_EXE_iodyno"))
            .env("HOME", &home)
            .env("IODYNO_STORE", home.join("store.sqlite"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .env_remove("NO_COLOR")
            .env("COLUMNS", "100")
            .env("LC_ALL", "C.UTF-8")
            .env("HOW", how.word())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code().unwrap_or(-1), said)
    }

    /// Runs the commands of a page in a folder of its own; returns the failures.
    fn follow(&self, page: &str) -> String {
        let folder = page.replace('/', "-");
        let from = self.world.path("made");
        let copy = Command::new("cp").arg("-r").arg(&from).arg(self.world.path(&folder)).status();
        assert!(copy.unwrap().success());
        let mut failed = String::new();
        for block in pages::blocks(page) {
            let class = block.class();
            for (command, shown) in block.commands() {
                let (status, said) = self.bash(&folder, &command, class.how);
                let parsed = matches!(class.how, How::Parsed);
                let expected = if parsed { status == 0 } else { class.statuses.contains(&status) };
                let shows = || format!("$ {command}\n{shown}```\n");
                if class.exact
                    && std::env::var_os("UPDATE_EXPECT").is_some()
                    && !shown.contains("[...]")
                {
                    let text =
                        pages::read(page).replace(&shows(), &format!("$ {command}\n{said}```\n"));
                    std::fs::write(pages::root().join(page), text).unwrap();
                } else if !expected || class.exact && !pages::fits(&shown, &said) {
                    let _ = writeln!(
                        failed,
                        "{}: {command}\nexit status {status}:\n{said}",
                        block.place()
                    );
                }
            }
        }
        std::fs::remove_dir_all(self.world.path(&folder)).unwrap();
        failed
    }
}

#[test]
fn every_command_runs_as_printed() {
    let reader = Reader::new();
    let only = std::env::var("IODYNO_PAGE").unwrap_or_default();
    let pages: Vec<String> =
        pages::pages().into_iter().filter(|page| page.contains(&only)).collect();
    let halves = [0, 1].map(|half| pages.iter().skip(half).step_by(2));
    let failed: String = std::thread::scope(|scope| {
        let reader = &reader;
        let threads =
            halves.map(|half| scope.spawn(move || half.map(|page| reader.follow(page)).collect()));
        threads.into_iter().map(|thread| -> String { thread.join().unwrap() }).collect()
    });
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn the_picture_is_of_the_laboratory() {
    const PICTURE: &str = "docs/pictures/check.svg";
    let world = World::new();
    let tests = pages::root().join("crates/iodyno/tests");
    let sheet = pages::root().join("lab/datasheet.toml");
    let run = |arguments: &[&str], status| {
        let output = world.command().args(arguments).env("LC_ALL", "C.UTF-8").output().unwrap();
        common::status(&output, status);
        text(&output.stdout)
    };
    run(&["import", tests.join("captured/lab.json.gz").to_str().unwrap()], 0);
    let screen =
        run(&["show", "last", "--color", "always", "--datasheet", sheet.to_str().unwrap()], 1);
    let title = "Output of iodyno check on a machine of seven drives: verdict, findings, a row for each drive";
    let drawn = pages::picture::svg(&format!("$ sudo iodyno check\n{screen}"), title);
    expect_test::expect_file![pages::root().join(PICTURE)].assert_eq(&drawn);
}

#[test]
fn commands_stand_in_blocks_that_are_run() {
    let prints =
        |line: &str| ["$ ", "iodyno ", "sudo iodyno "].iter().any(|start| line.starts_with(start));
    for page in pages::pages() {
        for line in pages::prose(&page).lines() {
            assert!(
                !line.starts_with("    ") || !prints(line.trim_start()),
                "{page}: not fenced: {line}"
            );
        }
        for Block { language, lines, line, .. } in pages::blocks(&page) {
            let commands = language == "sh" || language == "console";
            assert!(
                commands || NO_COMMANDS.contains(&language.as_str()),
                "{page}:{line}: language {language}"
            );
            let looks_so = lines.iter().any(|line| prints(line));
            assert!(commands || !looks_so, "{page}:{line}: a command in a block of {language}");
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = String::new();
    let mut all = pages::files("docs", ".md");
    all.extend(
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "lab/README.md"]
            .map(String::from),
    );
    all.extend(
        ["bench/README.md", "crosscheck/README.md", "datasheets/README.md"].map(String::from),
    );
    for page in &all {
        let here = Path::new(page).parent().unwrap();
        for link in pages::links(page) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() {
                pages::root().join(page)
            } else {
                pages::root().join(here).join(path)
            };
            let Ok(target) = target.canonicalize() else {
                let _ = writeln!(dead, "{page}: {link}");
                continue;
            };
            let target = target.strip_prefix(pages::root()).unwrap().to_str().unwrap().to_owned();
            let leaves_the_book = page.starts_with("docs/") && !target.starts_with("docs/");
            let no_anchor =
                !anchor.is_empty() && !pages::anchors(&target).iter().any(|one| one == anchor);
            if leaves_the_book || no_anchor {
                let _ = writeln!(dead, "{page}: {link}");
            }
        }
    }
    assert!(dead.is_empty(), "dead links, or out of the book:\n{dead}");
}

#[test]
fn every_page_is_in_the_book() {
    let listed = pages::links("docs/SUMMARY.md");
    for page in pages::files("docs", ".md") {
        let name = page.strip_prefix("docs/").unwrap();
        assert!(
            name == "SUMMARY.md" || listed.iter().any(|link| link == name),
            "docs/SUMMARY.md lacks {name}"
        );
    }
    for line in pages::read("docs/SUMMARY.md").lines() {
        let Some((title, file)) = line
            .trim_start()
            .strip_prefix("- [")
            .and_then(|line| line.strip_suffix(')')?.split_once("]("))
        else {
            continue;
        };
        let page = pages::read(&format!("docs/{file}"));
        assert_eq!(page.lines().next(), Some(format!("# {title}").as_str()), "docs/{file}");
    }
}

/// Help texts and errors refer to pages by path.
#[test]
fn pages_that_the_program_names_exist() {
    for file in pages::files("crates", ".rs").into_iter().chain(pages::files("plans", ".toml")) {
        for after in pages::read(&file).split("docs/").skip(1) {
            let end = after
                .find(|c: char| !(c.is_alphanumeric() || "/-_.".contains(c)))
                .unwrap_or(after.len());
            let path = after[..end].trim_end_matches('.');
            let named = path.ends_with(".md") || path.ends_with(".json");
            let made_up = path.starts_with('/') || path.contains("//");
            assert!(
                !named || made_up || pages::root().join("docs").join(path).exists(),
                "{file}: docs/{path}"
            );
        }
    }
}
