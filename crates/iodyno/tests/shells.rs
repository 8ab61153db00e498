//! Tests the completion scripts in their shells, and the manual pages with mandoc and groff. Needs
//! bash, zsh, fish, mandoc and groff.

use std::path::Path;
use std::process::Command;

use crate::common::{World, script, status, text};

/// Text typed before Tab, and the completed line.
const COMPLETED: &[(&str, &str)] = &[
    ("iodyno che", "iodyno check"),
    ("iodyno check --no-l", "iodyno check --no-load"),
    ("iodyno rules link-deg", "iodyno rules link-degraded"),
    ("iodyno sweep snia-io", "iodyno sweep snia-iops"),
    ("iodyno layouts --plan snia-io", "iodyno layouts --plan snia-iops"),
    ("iodyno show firs", "iodyno show first-run"),
    ("iodyno compare first-run seco", "iodyno compare first-run second-run"),
    ("iodyno runs rm seco", "iodyno runs rm second-run"),
    ("iodyno plot --figure grid3", "iodyno plot --figure grid3d"),
    ("iodyno plot --figure=grid3", "iodyno plot --figure=grid3d"),
    ("iodyno run --ioengine=io_uring_", "iodyno run --ioengine=io_uring_cmd"),
    ("iodyno run --name=a --filename=min", "iodyno run --name=a --filename=mine.fio"),
    ("iodyno run min", "iodyno run mine.fio"),
    ("iodyno run ~/min", "iodyno run ~/mine.fio"),
    ("iodyno run with", r"iodyno run with\ blank.fio"),
    ("iodyno report fol", "iodyno report folder/"),
    // A program in PATH has this name, which no argument accepts.
    ("iodyno check zz-prog", "iodyno check zz-prog"),
    ("iodyno run zz-prog", "iodyno run zz-prog"),
    ("iodyno capture zz-prog", "iodyno capture zz-prog"),
    ("iodyno run --name=a --fio zz-prog", "iodyno run --name=a --fio zz-prog"),
    ("iodyno check --budget zz-prog", "iodyno check --budget zz-prog"),
];

/// A home with two stored runs, some files, and a program in PATH.
fn home(world: &World) -> String {
    let home = world.directory("home");
    for name in ["mine.fio", "with blank.fio"] {
        std::fs::write(home.join(name), "").unwrap();
    }
    std::fs::create_dir(home.join("folder")).unwrap();
    for name in ["first-run", "second-run"] {
        let drive = world.sparse("drive", 1 << 30);
        let check = ["check", drive.to_str().unwrap(), "--generator", "simulated", "-q"];
        status(&world.run(&[&check[..], &["--run-name", name]].concat()), 0);
    }
    let programs = world.directory("programs");
    script(&programs.join("zz-program"), "#!/bin/sh\n");
    let ours = Path::new(env!("CARGO_BIN_EXE_iodyno")).parent().unwrap();
    format!("{}:{}:/usr/bin:/bin", programs.display(), ours.display())
}

/// Runs `program` in that home.
fn at_home(world: &World, program: &str, path: &str) -> Command {
    // Ends a shell that hangs.
    let mut command = world.with_environment(Command::new("timeout"));
    let home = world.path("home");
    command.args(["120", program]).current_dir(&home).env("HOME", &home).env("PATH", path);
    command.env("TERM", "dumb").env("LC_ALL", "C.UTF-8").env_remove("ZDOTDIR");
    command
}

/// Types each line and Tab into `shell` on a pseudo-terminal of zsh; returns the resulting lines.
/// `prepared` is input for the shell, whose `show` binds Ctrl-X to a command that prints the line
/// between `<<` and `>>`.
fn typed(world: &World, shell: &str, prepared: &str) -> Vec<String> {
    let path = home(world);
    std::fs::write(world.path("home/.prepared"), prepared).unwrap();
    let mut script = format!(
        "zmodload zsh/zpty\nzpty shell {shell}\n\
         zpty -w shell 'stty cols 500; . ./.prepared; echo pre\"\"pared'\n\
         zpty -r -m shell seen '*prepared*' || exit 1\n"
    );
    for (line, _) in COMPLETED {
        script += &format!(
            "zpty -w -n shell $'{line}\\t\\x18'\nzpty -r -m shell seen '*<<*>>*' || exit 1\n\
             seen=${{seen#*<<}}; print -r -- \"${{seen%>>*}}\"\n\
             zpty -w -n shell $'\\x15'\n"
        );
    }
    let output = at_home(world, "zsh", &path).args(["-f", "-c", &script]).output().unwrap();
    status(&output, 0);
    text(&output.stdout).lines().map(|line| line.trim().to_owned()).collect()
}

#[track_caller]
fn are_completed(seen: &[String]) {
    let pairs = COMPLETED.iter().zip(seen);
    let wrong: Vec<_> = pairs.filter(|((_, expected), seen)| expected != seen).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(seen.len(), COMPLETED.len());
}

#[test]
fn bash_completes_what_is_typed() {
    let world = World::new();
    let prepared = r#"
bind 'set enable-bracketed-paste off'
bind 'set bell-style none'
bind -x '"\C-x": echo "<<$READLINE_LINE>>"'
source <(iodyno completions bash)
"#;
    are_completed(&typed(&world, "'bash --norc --noprofile -i'", prepared));
}

#[test]
fn zsh_completes_what_is_typed() {
    let world = World::new();
    let prepared = r#"
mkdir -p functions; iodyno completions zsh > functions/_iodyno; fpath+=~/functions
autoload -Uz compinit; compinit -u -D
unsetopt beep prompt_sp
show() { print -r -- "<<$BUFFER>>" }
zle -N show; bindkey -e; bindkey '^X' show
"#;
    are_completed(&typed(&world, "'zsh -f -i'", prepared));
}

#[test]
fn fish_completes_what_is_typed() {
    let world = World::new();
    let path = home(&world);
    let offered = |line: &str| {
        let script = format!("iodyno completions fish | source; complete --do-complete '{line}'");
        let output = at_home(&world, "fish", &path).args(["--no-config", "-c", &script]).output();
        let output = output.unwrap();
        status(&output, 0);
        let lines = text(&output.stdout);
        let value = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
        lines.lines().map(value).collect::<Vec<_>>()
    };
    for (line, completed) in COMPLETED {
        let word = completed.rsplit_once(" ").unwrap().1;
        let expected = match *completed {
            // fish escapes inserted text.
            _ if completed.contains('\\') => vec!["with blank.fio".to_owned()],
            _ if line == completed => Vec::new(),
            _ => vec![word.to_owned()],
        };
        assert_eq!(offered(line), expected, "{line}");
    }
    let of_machine: Vec<_> = std::fs::read_dir("/sys/block").unwrap().flatten().collect();
    let has_size = |name: &str| {
        let size = std::fs::read_to_string(format!("/sys/block/{name}/size")).unwrap_or_default();
        !["", "0"].contains(&size.trim())
    };
    let drives = offered("iodyno check ");
    for name in of_machine.iter().map(|entry| entry.file_name().into_string().unwrap()) {
        // Other tests create and remove loop devices meanwhile.
        if !name.starts_with("loop") && has_size(&name) {
            assert!(drives.contains(&name), "{name} is missing: {drives:?}");
        }
    }
}

#[test]
fn man_and_mandoc_have_no_complaint_about_the_pages() {
    let world = World::new();
    let folder = world.path("man");
    status(&world.run(&["man", folder.to_str().unwrap()]), 0);
    let mut pages: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(pages.len() > 15, "{pages:?}");
    let linted = Command::new("mandoc").args(["-Tlint", "-Wwarning"]).args(&pages).output();
    let linted = linted.unwrap();
    assert!(linted.status.success(), "{}", text(&linted.stdout));
    let read = Command::new("groff").args(["-ww", "-man", "-Tutf8", "-z"]).args(&pages).output();
    let read = read.unwrap();
    status(&read, 0);
    assert_eq!(text(&read.stderr), "");
}
