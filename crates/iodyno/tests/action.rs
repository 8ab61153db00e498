//! Tests the CI action: its steps run in bash, as by a runner.

use std::collections::HashMap;
use std::process::{Command, Output};

use crate::common::{self, World, json, says, status, text};

/// Small reads from memory, too few of them for the disk's counters to make them invalid; with direct
/// I/O each goes to the disk and is slow.
const JOB: &str = "[read]\nfilename=data\nsize=1m\nrw=randread\nbs=512\nioengine=psync\ntime_based\nruntime=100ms\nrate_iops=250000\ninvalidate=0\ndirect=0\n";

/// A step with commands: its environment as written in the file, and the commands.
struct Step {
    environment: Vec<(String, String)>,
    commands: String,
}

fn action() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../action.yml")).unwrap()
}

/// Lines of `text` indented by at least `columns`, without that indentation.
fn block(text: &str, columns: usize) -> String {
    let indent = " ".repeat(columns);
    let own = |line: &&str| line.is_empty() || line.starts_with(&indent);
    text.lines()
        .take_while(own)
        .map(|line| line.get(columns..).unwrap_or("").to_owned() + "\n")
        .collect()
}

fn steps() -> Vec<Step> {
    let action = action();
    let step = |text: &str| {
        let environment = text.split("      env:\n").nth(1).unwrap();
        let environment = block(environment, 8);
        let pairs = environment.lines().filter_map(|line| line.split_once(": "));
        Step {
            environment: pairs.map(|(name, value)| (name.into(), value.into())).collect(),
            commands: block(text.split("      run: |\n").nth(1).unwrap(), 8),
        }
    };
    action.split("\n    - name: ").skip(1).map(step).collect()
}

/// Default values of the inputs.
fn defaults() -> HashMap<String, String> {
    let action = action();
    let inputs = action.split("\ninputs:\n").nth(1).unwrap();
    let inputs = block(inputs, 2);
    let mut found = HashMap::new();
    let mut name = "";
    for line in inputs.lines() {
        match line.trim().strip_prefix("default: ") {
            Some(value) => drop(found.insert(name.to_owned(), value.trim_matches('\'').to_owned())),
            None if !line.starts_with(' ') => name = line.trim_end_matches(':'),
            None => {}
        }
    }
    found
}

/// A CI runner with a workspace.
struct Runner {
    world: World,
}

impl Runner {
    fn new() -> Self {
        let runner = Self { world: World::new() };
        for folder in ["work space", "temp", "programs"] {
            runner.world.directory(folder);
        }
        runner.write("job.fio", JOB);
        std::fs::write(runner.world.path("work space/data"), vec![7; 1 << 20]).unwrap();
        runner
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.world.path("work space").join(name), text).unwrap();
    }

    /// Runs the steps of the action until one fails.
    fn run(&self, inputs: &[(&str, &str)]) -> Output {
        let mut values = defaults();
        values.insert("binary".into(), env!("CARGO_BIN_EXE_iodyno").into());
        values.extend(inputs.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let mut output = None;
        for step in steps() {
            let mut bash = self.world.with_environment(Command::new("bash"));
            bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.commands]);
            bash.current_dir(self.world.path("work space")).env("GITHUB_RUN_ID", "1");
            for (name, file) in [
                ("RUNNER_TEMP", "temp"),
                ("GITHUB_PATH", "path"),
                ("GITHUB_OUTPUT", "output"),
                ("GITHUB_STEP_SUMMARY", "summary"),
            ] {
                bash.env(name, self.world.path(file));
            }
            let added = std::fs::read_to_string(self.world.path("path")).unwrap_or_default();
            let path = std::env::var("PATH").unwrap();
            let programs = self.world.path("programs");
            let added = added.replace('\n', ":");
            bash.env("PATH", format!("{added}{}:{path}", programs.display()));
            for (name, value) in &step.environment {
                let mut value = value.clone();
                while let Some((before, rest)) = value.split_once("${{ ") {
                    let (key, after) = rest.split_once(" }}").unwrap();
                    let known = match key.strip_prefix("inputs.") {
                        Some(input) => {
                            values.get(input).unwrap_or_else(|| panic!("{input}")).clone()
                        }
                        None => key.replace(
                            "github.action_path",
                            concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
                        ),
                    };
                    value = format!("{before}{known}{after}");
                }
                bash.env(name, value);
            }
            let done = bash.output().unwrap();
            let failed = !done.status.success();
            output = Some(done);
            if failed {
                break;
            }
        }
        output.unwrap()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.world.path(name)).unwrap()
    }

    fn count(&self, folder: &str) -> usize {
        std::fs::read_dir(self.world.path("work space").join(folder)).unwrap().count()
    }
}

/// Inputs common to all jobs here.
const JOB_FILE: [(&str, &str); 2] = [("job", "job.fio"), ("arguments", "--generator 'native'")];

const FAST: &str = "sed -i 's/^direct=.*/direct=0/' job.fio";
const SLOW: &str = "sed -i 's/^direct=.*/direct=1/' job.fio";

#[test]
fn a_slower_candidate_fails_the_job_with_a_table_in_its_summary() {
    let runner = Runner::new();
    let inputs = [
        ("repetitions", "3"),
        ("fail-if", "iops < -20%\nbw < -20%"),
        ("baseline", FAST),
        ("candidate", SLOW),
    ];
    let output = runner.run(&[&JOB_FILE[..], &inputs].concat());
    status(&output, 1);
    assert_eq!(runner.read("output"), "status=1\n");
    let summary = runner.read("summary");
    for part in ["**FAIL**", "iops \\< -20% holds", "| IOPS ", "baseline/1.json to ", " runs"] {
        assert!(summary.contains(part), "{part} is missing in\n{summary}");
    }
    // Every other pair is reversed, so that a steady drift affects both sides alike.
    let log = text(&output.stdout);
    let order: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("::group::")).collect();
    let turned =
        ["baseline 1", "candidate 1", "candidate 2", "baseline 2", "baseline 3", "candidate 3"];
    assert_eq!(order[..6], turned);
    let compared = json(runner.read("work space/iodyno-results/compare.json").as_bytes());
    assert_eq!(compared["rows"][0]["sides"][1]["order"], "interleaved");
}

#[test]
fn it_looks_again_until_each_limit_is_decided_or_all_repetitions_are_made() {
    let runner = Runner::new();
    // A test of equal sides for a difference of exactly 0 is hardly ever decided.
    let inputs = [
        ("repetitions", "3"),
        ("most-repetitions", "5"),
        ("fail-if", "iops < 0%"),
        ("baseline", FAST),
        ("candidate", FAST),
    ];
    let output = runner.run(&[&JOB_FILE[..], &inputs].concat());
    let made = runner.count("iodyno-results/candidate");
    assert_eq!(runner.count("iodyno-results/baseline"), made);
    let compared = json(runner.read("work space/iodyno-results/compare.json").as_bytes());
    let is_open = compared["limits"][0]["outcome"] == "not_shown";
    assert!(made == if is_open { 5 } else { made.clamp(3, 5) }, "{made}: {compared:#}");
    assert_eq!(output.status.success(), compared["limits"][0]["outcome"] != "broken");
}

#[test]
fn inputs_are_checked_before_anything_is_measured() {
    let runner = Runner::new();
    for (name, value, told) in [
        ("most-repetitions", "forty", "'forty' is not a whole number"),
        ("repetitions", "0", "'0' is not a whole number"),
        ("repetitions", "2", "3 or more, or give noise"),
        ("results", "a,b", "name a folder without one"),
    ] {
        let inputs = [("candidate", "touch measured"), (name, value)];
        let output = runner.run(&[&JOB_FILE[..], &inputs].concat());
        status(&output, 2);
        assert!(text(&output.stdout).contains(told), "{}", text(&output.stdout));
    }
    assert!(!runner.world.path("work space/measured").exists());
}

#[test]
fn results_of_an_earlier_job_are_a_baseline_with_the_noise_between_jobs() {
    let runner = Runner::new();
    let stored = [("baseline-results", "stored"), ("noise", "30%"), ("repetitions", "3")];
    let with = |candidate: &'static str, limit: &'static str| {
        let more = [("fail-if", limit), ("candidate", candidate), ("most-repetitions", "3")];
        runner.run(&[&JOB_FILE[..], &stored, &more].concat())
    };
    let first = with(FAST, "iops < -20%");
    status(&first, 0);
    let said = text(&first.stdout);
    assert!(said.contains("::warning::No baseline in stored yet"), "{said}");
    let made = runner.world.path("work space/iodyno-results/candidate");
    std::fs::rename(made, runner.world.path("work space/stored")).unwrap();
    status(&with(FAST, "iops < -69%"), 0);
    status(&with(SLOW, "iops < -20%"), 1);
    assert_eq!(runner.count("iodyno-results/baseline"), 0);
}

#[test]
fn a_job_may_name_its_side_and_a_plan_is_swept() {
    let runner = Runner::new();
    for side in ["baseline", "candidate"] {
        let name = format!("work space/data-{side}");
        std::fs::write(runner.world.path(&name), vec![7; 1 << 20]).unwrap();
    }
    let job = JOB.replace("=data", "=data-${SIDE}");
    runner.write("job.fio", &job);
    let few = [("repetitions", "3"), ("most-repetitions", "3"), ("fail-if", "iops < -99%")];
    status(&runner.run(&[&few[..], &[("job", "job.fio")]].concat()), 0);
    let plan = "format = \"iodyno.plan/1\"\nname = \"mine\"\ntargets = [\"data\"]\n\
                [stop]\nmax_time = \"100ms\"\n[job]\nrw = \"randread\"\nsize = \"1m\"\n\
                ioengine = \"psync\"\n[grid]\nbs = [\"4k\", \"64k\"]\n";
    runner.write("plan.toml", plan);
    let swept = [("job", "plan.toml"), ("candidate", "true")];
    status(&runner.run(&[&few[..], &swept].concat()), 0);
    let compared = json(runner.read("work space/iodyno-results/compare.json").as_bytes());
    assert_eq!(compared["limits"].as_array().unwrap().len(), 2, "a limit for each point");
}

/// Runs the first example of the page, with a substitute for the reader's own command.
#[test]
fn the_documented_step_runs_as_printed() {
    let page = include_str!("../../../docs/howto/ci.md");
    let example = page.split("  with:\n").nth(1).unwrap();
    let example = block(example, 4);
    let value = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.split("  #").next().unwrap().trim().to_owned())
    };
    let printed: Vec<(String, String)> = example.lines().map(value).collect();
    assert_eq!(printed.len(), 4, "{printed:?}");
    let runner = Runner::new();
    let program = "#!/bin/sh\necho \"$SIDE is $1\" >>used\n";
    common::script(&runner.world.path("work space/use"), program);
    let mut inputs: Vec<(&str, &str)> =
        printed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    inputs.extend([("repetitions", "3"), ("most-repetitions", "3")]);
    let output = runner.run(&inputs);
    // Whether equal sides differ by chance is tested elsewhere.
    let ended = output.status.code();
    assert!(matches!(ended, Some(0 | 1)), "{}", text(&output.stderr));
    let used = runner.read("work space/used");
    assert!(used.starts_with("baseline is old\ncandidate is new\ncandidate is new\n"), "{used}");
    assert!(runner.read("summary").contains("bw \\< -5%") || ended == Some(0));
    let documented = page.split("| input |").nth(1).unwrap();
    for input in defaults().into_keys().chain(["job".into(), "results".into()]) {
        let is_shown = documented.contains(&format!("`{input}`"));
        assert!(is_shown || printed.iter().any(|(name, _)| *name == input), "{input}");
    }
}

#[test]
fn what_cannot_work_says_so_before_anything_is_measured() {
    let runner = Runner::new();
    runner.write("commented.fio", &format!("; ${{SIDE}}\n{JOB}"));
    // A plan has no environment: both sides would be one file of that name.
    runner.write("plan.toml", "targets = [\"data-${SIDE}\"]\n");
    for job in ["job.fio", "commented.fio", "plan.toml"] {
        let same = runner.run(&[("job", job)]);
        status(&same, 2);
        assert!(text(&same.stdout).contains("::error::Nothing differs"), "{}", text(&same.stdout));
    }
    says(
        &runner.run(&[("job", "job.fio"), ("baseline", "echo not built >&2; exit 7")]),
        7,
        "not built",
    );
}

#[test]
fn no_folder_is_emptied_that_it_did_not_make() {
    let runner = Runner::new();
    let own = runner.world.directory("work space/own");
    std::fs::write(own.join("data"), "mine").unwrap();
    let with = |input: (&'static str, &'static str), more: (&'static str, &'static str)| {
        runner.run(&[("job", "job.fio"), ("candidate", "exit 9"), input, more])
    };
    for results in ["own", "own/data", "", "."] {
        let refused = with(("results", results), ("baseline", "exit 9"));
        status(&refused, 2);
        assert!(text(&refused.stdout).contains("::error::results: '"), "{results}");
    }
    assert_eq!(runner.read("work space/own/data"), "mine");
    // The action created this folder, and its content may still be a baseline.
    for attempt in 0..2 {
        status(&with(("results", "new"), ("baseline", "exit 9")), 9);
        assert_eq!(runner.count("new/candidate"), 0, "{attempt}");
        std::fs::write(runner.world.path("work space/new/candidate/1.json"), "{}").unwrap();
    }
    let refused = with(("results", "new"), ("baseline-results", "own/../new/candidate"));
    status(&refused, 2);
    assert!(text(&refused.stdout).contains("::error::baseline-results:"));
    assert_eq!(runner.count("new/candidate"), 1);
}

#[test]
fn the_release_is_fetched_and_checked_and_built_from_source_where_there_is_none() {
    let runner = Runner::new();
    let program = |name: &str, script: &str| {
        let path = runner.world.path("programs").join(name);
        common::script(&path, &format!("#!/bin/bash\n{script}\n"));
    };
    let inputs = [("job", "job.fio"), ("binary", ""), ("baseline", "exit 9")];
    // Every file of the release comes from a folder; 9: the installed binary started the next step.
    let release = runner.world.directory("release");
    program("curl", &format!("cp '{}'/\"${{!#/*\\//}}\" .", release.display()));
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("iodyno-{version}-{}-linux-musl", std::env::consts::ARCH);
    let packed = "mkdir \"$0\" && cp \"$1\" \"$0/iodyno\" && tar czf \"$0.tar.gz\" \"$0\" && sha256sum \"$0.tar.gz\" >SHA256SUMS";
    let pack = Command::new("bash")
        .args(["-ec", packed, &name, env!("CARGO_BIN_EXE_iodyno")])
        .current_dir(&release)
        .status();
    assert!(pack.unwrap().success());
    status(&runner.run(&inputs), 9);
    let sums = std::fs::read_to_string(release.join("SHA256SUMS")).unwrap();
    std::fs::write(release.join("SHA256SUMS"), format!("0123{}", &sums[4..])).unwrap();
    let changed = runner.run(&inputs);
    status(&changed, 1);
    assert!(text(&changed.stdout).contains("::error::"), "{}", text(&changed.stdout));

    program("curl", "exit 22");
    let built =
        "target=${@: -1}; mkdir -p \"$target/release\"; cp \"$IODYNO\" \"$target/release/iodyno\"";
    program("cargo", &format!("IODYNO='{}'; {built}", env!("CARGO_BIN_EXE_iodyno")));
    status(&runner.run(&inputs), 9);
}
