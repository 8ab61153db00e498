//! Tests the examples of each command's help as printed.

use std::fmt::Write as _;
use std::path::Path;

use crate::common::{World, script, status, text};

const COMMANDS: [&str; 32] = [
    "",
    "check",
    "accept",
    "explain",
    "fit",
    "list",
    "top",
    "rules",
    "run",
    "fio",
    "sweep",
    "resume",
    "layouts",
    "prepare",
    "record",
    "replay",
    "model",
    "show",
    "compare",
    "report",
    "plot",
    "runs",
    "runs export",
    "runs fleet",
    "runs push",
    "runs rm",
    "runs prune",
    "import",
    "capture",
    "clean-up",
    "completions",
    "help",
];

/// Errors for want of a real drive: the words were understood, and the file in its place was
/// refused.
const WANTS_A_DRIVE: [&str; 7] = [
    "block device",
    "expected a drive",
    "leave out --dry-run",
    "nothing to resume",
    "no run",
    "captured machine",
    "no drives found",
];

/// Substitute for `iodyno`: no load, no long runs. As `sudo` it runs the command that follows.
const STAND_IN: &str = r#"#!/bin/sh
case " $* " in
    *" --list "*) ;;
    *" accept "*) set -- "$@" --sysroot "$HOME/links.json" ;;
    *" check "*) set -- "$@" --generator simulated ;;
    *" explain "*) set -- "$@" --generator simulated --budget 1s ;;
    *" --dry-run "*|*" --list "*|*" fit "*" --explain "*) ;;
    *" sweep "*|*" layouts "*|*" prepare "*|*" fit "*) set -- "$@" --dry-run ;;
esac
exec timeout 60 "$IODYNO" "$@"
"#;

/// Examples of a help text, one per line.
fn examples(help: &str) -> Vec<String> {
    let behind = help.split("Examples:\n").nth(1).unwrap_or_default();
    let block = behind.split("\n\n").next().unwrap_or_default().replace("\\\n", " ");
    block.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// Commands listed in a help text, without the nested `help`.
fn subcommands(help: &str) -> Vec<String> {
    let list = help.split("\nOptions:").next().unwrap_or_default();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let is_command = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
    names.filter(is_command).filter(|name| *name != "help").map(ToOwned::to_owned).collect()
}

#[test]
fn every_example_is_understood() {
    let world = World::new();
    let here = world.directory("here");
    let programs = world.directory("programs");
    script(&programs.join("iodyno"), STAND_IN);
    script(&programs.join("sudo"), "#!/bin/sh\nexec \"$@\"\n");
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let shell = |line: &str| {
        let mut command = world.with_environment(std::process::Command::new("sh"));
        command.env("PATH", &path).env("IODYNO", env!("CARGO_BIN_EXE_iodyno")).env("HOME", &here);
        command.args(["-c", line]).current_dir(&here).output().unwrap()
    };
    let prepared = "\
        mkdir -p mnt/data results hosts before after .zfunc .config/fish/completions \
            .local/share/bash-completion/completions\n\
        for file in nvme0n1 nvme1n1 nvme2n1 nvme0 nvme1 data mnt/data/file; do\n\
            head -c 8388608 /dev/urandom > $file; done\n\
        printf '[rand-read]\\nrw=randread\\nfilename=data\\nsize=1m\\nbs=4k\\niodepth=4\\nnumjobs=1\\n' > random-read.fio\n\
        printf '[benchfio]\\ntarget = data\\ntype = file\\nmode = read\\noutput = out\\n' \
            > benchmark.ini\n\
        printf '%s,h,0,%s,8192,4096,90\\n' 128166372003061629 Write 128166372009061629 Read > msr.csv\n\
        iodyno import msr.csv -o prod.iotrace\n\
        iodyno fio --output-format=json --output=fio.json random-read.fio\n\
        iodyno fio --output-format=normal --output=fio-output.txt random-read.fio\n\
        for run in a1 a2 a3 b1 b2 b3 before after; do\n\
            iodyno run -q --run-name $run random-read.fio; done\n\
        iodyno runs export before > before.json\n\
        iodyno runs export after > after.json\n\
        cp before.json hosts/; cp before.json before/; cp after.json after/\n\
        cp fio.json results/; cp fio-output.txt post.md\n";
    status(&shell(&format!("set -e\n{prepared}")), 0);
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/studies");
    std::fs::copy(studies.join("970-evo.toml"), here.join("study.toml")).unwrap();
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    std::fs::copy(profiles.join("etcd.toml"), here.join("my-application.toml")).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/fixtures");
    std::fs::copy(fixtures.join("links.json"), here.join("links.json")).unwrap();
    let (mut wrong, mut tried) = (String::new(), 0);
    for command in COMMANDS.iter().filter(|command| **command != "help") {
        let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        let help = match *command {
            // `--help` of this command is fio's.
            "fio" => world.run(&["help", "fio"]),
            _ => world.run(&[&words[..], &["--help"]].concat()),
        };
        status(&help, 0);
        for name in subcommands(&text(&help.stdout)) {
            let whole = format!("{command} {name}");
            if !COMMANDS.contains(&whole.trim_start()) {
                let _ = writeln!(wrong, "{whole}: not in COMMANDS");
            }
        }
        let lines = examples(&text(&help.stdout));
        if lines.is_empty() {
            let _ = writeln!(wrong, "{command}: no examples");
        }
        for line in lines {
            // Files take the place of the examples' drives.
            let files = line.replace("/dev/nvme", "nvme").replace("nvme", "./nvme");
            let files = files.replace("/mnt/", "./mnt/").replace("=30 ", "=1 ");
            let output = shell(
                &files
                    .replace("SERIAL1", "SERIAL")
                    .replace("SERIAL2", "SERIAL")
                    .replace("SERIAL", "./nvme0n1"),
            );
            let said = text(&output.stderr);
            let wants = WANTS_A_DRIVE.iter().any(|what| said.contains(what));
            let fine = match output.status.code() {
                Some(2) => wants && !said.contains("Usage:"),
                // A verdict is not a usage error.
                code => matches!(code, Some(0 | 1 | 4)),
            };
            if !fine {
                let _ = writeln!(wrong, "{line} ({}):\n{said}", output.status);
            }
            tried += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(tried > 60, "{tried}");
}
