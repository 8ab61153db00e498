//! Mistakes in plans are reported with line and column, for each kind there is.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use iodyno_campaign::Study;
use iodyno_model::{Run, RunKind};

/// Error of a plan; empty for a valid one.
fn said(text: &str) -> String {
    Study::parse(text, "p").map_or_else(|error| error.to_string(), |_| String::new())
}

const HEAD: &str = "format = \"iodyno.plan/1\"\nname = \"x\"\n";
const ROUNDS: &str = "order = \"written\"\n[grid]\nbs = [\"4k\", \"8k\"]\n[rounds]\n";
const TRACK: &str = "track = [{ point = \"bs=4k\", metric = \"iops\" }]";

#[test]
fn a_stored_plan_is_shown_as_it_was_measured() {
    let grid = "targets = [\"t\"]\n[grid]\nblocksize = [\"4k\", \"8k\"]\nruntime = [1, 2]\n";
    let plan = format!("{HEAD}{grid}");
    assert!(said(&plan).contains("`runtime`: points last until they are known"));
    let of = |plan: String| Study::of(&Run { kind: RunKind::Sweep, plan, ..Run::new("x", 0) });
    let study = of(plan.clone()).unwrap();
    assert_eq!(study.points(0)[0].title, "blocksize=4k runtime=1");
    assert!(study.check().is_err(), "no run begins with it");
    let many = plan.replace("targets", "repeat = 4000000000\ntargets");
    assert_eq!(of(many), None, "another's document does not fill the memory");
}

#[test]
fn every_mistake_has_its_place() {
    let of = |lines: &str| said(&format!("{HEAD}{lines}"));
    let in_rounds = |lines: &str| of(&format!("{ROUNDS}{lines}"));
    let tracked = |lines: &str| in_rounds(&format!("{TRACK}\n{lines}"));
    assert_eq!(tracked(""), "", "the plan is right but for what each line makes of it");
    let cases = [
        // Top level.
        (
            said("name = \"x\"\nformat = \"iodyno.plan/9\""),
            "2, column 10: format `iodyno.plan/9` is not known; this iodyno reads iodyno.plan/1",
        ),
        (
            of("repeat = 10000000"),
            "3, column 10: 10000000 points, and a study has 4096 at most: fewer values, rounds or \
             repetitions",
        ),
        (of("repeat = 0"), "3, column 10: repeat: expected at least 1"),
        (
            of("p99_bound = \"5x\""),
            "3, column 13: p99_bound: expected a time such as 10, 10s, 500ms or 2m, not `5x`",
        ),
        (
            of("repeat = 2\nadaptive = true"),
            "4, column 12: adaptive: cannot be combined with rounds, repetitions or scaling: each would skip other points",
        ),
        // [stop].
        (
            of("[stop]\nprecision_percent = 0"),
            "4, column 21: stop: precision_percent: expected a number above 0",
        ),
        (
            of("[stop]\nprecision_percent = nan"),
            "4, column 21: stop: precision_percent: expected a number above 0",
        ),
        (
            of("[stop]\nlevel_percent = 100"),
            "4, column 17: stop: level_percent: expected a number from 50 to below 100",
        ),
        (
            of("[stop]\nlevel_percent = 0.95"),
            "4, column 17: stop: level_percent: expected a number from 50 to below 100",
        ),
        (
            of("[stop]\np99_percent = -1"),
            "4, column 15: stop: p99_percent: expected 0 (not asked for) or above",
        ),
        (
            of("[stop]\nmin_time = \"2m\"\nmax_time = \"1m\""),
            "5, column 12: stop: max_time: expected 2m (min_time) or longer",
        ),
        (
            of("[stop]\nmin_time = \"2m\""),
            "3, column 1: stop: max_time: expected 2m (min_time) or longer",
        ),
        (of("stop.round = \"0\""), "3, column 14: stop: round: expected a time above 0"),
        (
            of("[stop]\nmax_time = \"\""),
            "4, column 12: stop: max_time: expected a time such as 10, 10s, 500ms or 2m, not ``",
        ),
        // Shapes.
        (
            of("[grid]\niodepth = 8"),
            "4, column 11: invalid type: integer `8`, expected a sequence: a list, as in iodepth = [8]; of tables, as in [[step]]",
        ),
        (
            of("[step]\nname = \"a\""),
            "3, column 1: invalid type: map, expected a sequence: a list, as in iodepth = [8]; of tables, as in [[step]]",
        ),
        // Options at their places.
        (
            of("[job]\niodeth = 1"),
            "4, column 10: there is no option `iodeth`; did you mean `iodepth`?",
        ),
        (of("[grid]\niodepth = []"), "4, column 11: grid: `iodepth` has no values"),
        (
            of(
                "[grid]\nbs = [1]\n[[step]]\nname = \"a\"\n[[step]]\nname = \"b\"\n[step.grid]\nbs = []",
            ),
            "10, column 6: step `b`: grid: `bs` has no values",
        ),
        (
            of("[[step]]\nname = \"a\"\njob = { bs = [\"4k\"] }"),
            "5, column 14: step `a`: `[\"4k\"]`: expected text or a number",
        ),
        (
            of("[[step]]\nname = \"a\"\nafter = true"),
            "5, column 9: step `a`: after: there are no rounds",
        ),
        (of("[job]\nbs = true"), "4, column 6: `bs = true`: expected size; for each direction"),
        (
            of("[job]\nrw = \"read\"\nreadwrite = \"write\""),
            "4, column 6: `readwrite` and `rw` are one option: expected one of them",
        ),
        // Options that a point cannot keep.
        (
            of("targets = [\"a\", \"b-${SIDE}\"]"),
            "3, column 17: targets: `b-${SIDE}`: plans expand no variables",
        ),
        (of("[job]\nname = \"a\""), "4, column 8: `name`: points are named by their step and grid"),
        (
            of("[[step]]\nname = \"a\"\njob = { filename = \"b\" }"),
            "5, column 20: step `a`: `filename`: `targets` names files and devices",
        ),
        (
            of("[job]\nwait_for = \"a\""),
            "4, column 12: `wait_for`: points are measured one after the other",
        ),
        (
            of("[grid]\nruntime = [\"1\", \"2\"]"),
            "4, column 11: `runtime`: points last until they are known: use max_time of [stop], or until = \"done\"",
        ),
        (
            of("[grid]\nio_limit = [\"1m\", \"2m\"]"),
            "4, column 12: `io_size`: points last until they are known: use max_time of [stop], or until = \"done\"",
        ),
        (
            of("[job]\nloops = 3\n[[step]]\nname = \"a\""),
            "4, column 9: `loops`: points last until they are known: use max_time of [stop], or until = \"done\"",
        ),
        (
            of("[job]\nsteadystate = \"iops:4%\""),
            "4, column 15: `steadystate`: points last until they are known: use max_time of [stop], or until = \"done\"",
        ),
        (
            of("[job]\ntime_based = 0"),
            "4, column 14: `time_based`: points last until they are known: use max_time of [stop], or until = \"done\"",
        ),
        (
            of("[grid]\nrw = [\"randrw\", \"randread\"]\nrwmixread = [0, 100]"),
            "5, column 13: `rwmixread`: `rw=randread` has no mix to vary: a step of its own can have it",
        ),
        (
            of(
                "[[step]]\nname = \"a\"\noutstanding = { from = 3, to = 6, until_growth_below_percent = 2 }\njob = { iodepth = 3 }",
            ),
            "6, column 19: step `a`: `iodepth`: `outstanding` searches for it",
        ),
        (
            of("[[step]]\nname = \"a\"\non = [\"each\"]\njob = { numjobs = 2 }"),
            "6, column 19: step `a`: `numjobs`: a step with `on` or `outstanding` is one job on each target: use iodepth",
        ),
        (of("[job]\nexec_prerun = \"true\""), "4, column 15: `exec_prerun`: plans run no commands"),
        (
            of("[stop]\nmax_time = \"1s\"\n[job]\nramp_time = 1"),
            "6, column 13: `ramp_time`: expected less than max_time of [stop], which includes it",
        ),
        (
            of("[job]\nsize = \"64k\"\n[grid]\nblocksize = [\"4k\", \"1m\"]"),
            "4, column 8: `size`: 65536 bytes are less than a block of 1048576",
        ),
        (
            of("[preparation]\ncondition = \"rw=randread bs=4k\""),
            "4, column 13: preparation: condition: expected a workload that writes, as in rw=randwrite",
        ),
        // [rounds].
        (in_rounds("most = 7"), "6, column 1: rounds: track: expected points to track"),
        (tracked("window = 1"), "8, column 10: rounds: window: expected 2 or more"),
        (tracked("most = 4"), "8, column 8: rounds: most: expected the window or more"),
        (
            tracked("excursion_percent = 0"),
            "8, column 21: rounds: excursion_percent: expected a number above 0",
        ),
        (
            tracked("slope_percent = -1"),
            "8, column 17: rounds: slope_percent: expected a number above 0",
        ),
        (
            tracked("written_times = 0"),
            "8, column 17: rounds: written_times: expected a number above 0",
        ),
        (
            in_rounds(
                "[[rounds.track]]\npoint = \"bs=4k\"\nmetric = \"iops\"\n\
                       [[rounds.track]]\npoint = \"bs=1k\"\nmetric = \"iops\"",
            ),
            "11, column 9: rounds: track: no point `bs=1k`; the first one is `bs=4k`: names have all options that vary",
        ),
        (
            of(&format!("{}{TRACK}", ROUNDS.replace("8k", "4k"))),
            "7, column 20: rounds: track: there are several points `bs=4k`",
        ),
        (
            of(&format!("{}{TRACK}", ROUNDS.replace("written", "corners"))),
            "6, column 1: rounds: expected order = \"written\" and repeat = 1: a round is the same each time",
        ),
        (
            tracked("[preparation]\ncondition = \"random\""),
            "9, column 13: preparation: condition: remove it: rounds condition a drive themselves",
        ),
        // [scaling].
        (
            of("order = \"random\"\n[scaling]"),
            "4, column 1: scaling: not with rounds or order = \"random\": each step adds one drive to those before, in order",
        ),
        (
            of("[scaling]\nleast_gain_percent = 100"),
            "4, column 22: scaling: least_gain_percent: expected a number above 0 and below 100",
        ),
        // [preparation].
        (
            of("[preparation]\nfill = 0"),
            "4, column 8: preparation: fill: expected a number above 0 and at most 100 times",
        ),
        (
            of("[preparation]\ncondition = \"rw\""),
            "4, column 13: preparation: condition: rw: expected OPTION=VALUE, as in rw=randwrite bs=4k, or `random`",
        ),
        (
            of("[preparation]\ncondition = \"rw=randwrite iodeth=1\""),
            "4, column 13: preparation: condition: there is no option `iodeth`; did you mean \
             `iodepth`?",
        ),
        (
            of("[preparation]\ncondition = \"random\"\nround = \"x\""),
            "5, column 9: preparation: round: expected a time such as 10, 10s, 500ms or 2m, not `x`",
        ),
    ];
    let mut wrong = Vec::new();
    for (said, expected) in cases {
        let expected = format!("p: line {expected}");
        if said != expected {
            wrong.push(format!("said     {said}\nexpected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn mistakes_in_plans_of_steps_have_their_place() {
    let base = "format = \"iodyno.plan/1\"\nname = \"x\"\n[[step]]\nname = \"a\"\n";
    for (lines, expected) in [
        (
            "job = { iodeth = 1 }",
            "5, column 18: step `a`: there is no option `iodeth`; did you mean `iodepth`?",
        ),
        (
            "job = { }\noutstanding = { from = 2, to = 1, until_growth_below_percent = 1 }",
            "6, column 15: step `a`: outstanding: expected 1 <= from <= to",
        ),
        (
            "job = { }\noutstanding = { from = 1, to = 2, until_growth_below_percent = 0 }",
            "6, column 64: step `a`: outstanding: until_growth_below_percent: expected a number above 0",
        ),
        (
            "job = { }\n[[step]]\nname = \"a\"\non = [\"each\"]",
            "7, column 8: there are two steps `a`",
        ),
        (
            "job = { }\n[stop]\nmax_time = \"1s\"\nmin_time = \"2s\"",
            "7, column 12: stop: max_time: expected 2s (min_time) or longer",
        ),
    ] {
        let error = Study::parse(&format!("{base}{lines}"), "p").unwrap_err();
        assert_eq!(error.to_string(), format!("p: line {expected}"));
    }
}

#[test]
fn mistakes_of_the_plan_of_check_are_named_with_their_place() {
    let base = include_str!("../../../plans/check.toml");
    let parse = |text: &str| Study::parse(text, "mine.toml").unwrap_err().to_string();
    let typo = parse(&base.replace("iodepth = 32", "iodeth = 32"));
    assert!(typo.contains("step `seq-read`") && typo.contains("did you mean `iodepth`"), "{typo}");
    let key = parse(&base.replace("about =", "abuot ="));
    assert!(key.contains("line") && key.contains("abuot"), "{key}");
    let format = parse(&base.replace("plan/1", "plan/9"));
    assert!(format.contains("plan/9"), "{format}");
    let twice = parse(&base.replace("\"latency\"", "\"seq-read\""));
    assert!(twice.contains("two steps"), "{twice}");
    assert!(parse("step = ").contains("line 1"));
    for key in ["adaptive = true", "targets_together = true", "[grid]\nbs = [\"4k\", \"8k\"]"] {
        let more = base.replacen("[stop]", &format!("{key}\n[stop]"), 1);
        assert!(parse(&more).contains("go with nothing but"), "{key}: {}", parse(&more));
    }
}

#[test]
fn check_plan_matches_the_guide() {
    let study = Study::preset("check").unwrap();
    let steps = study.target_steps().unwrap();
    let names: Vec<_> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["seq-read", "rand-read", "latency"]);
    assert_eq!(steps[0].job.largest_block(), 256 << 10);
    assert_eq!(steps[0].job.depth.iodepth, 32);
    assert_eq!(steps[1].job.pattern.rw, iodyno_job::Pattern::RandRead);
    assert_eq!(steps[1].outstanding.unwrap().from, 64);
    assert_eq!(study.stop().unwrap().max_ns, 10_000_000_000);
    assert!(study.written_samples() >= 4096);
    assert!(Study::preset("chekc").is_none());
    assert!(steps.iter().all(|step| step.each && step.together));
}

#[test]
fn mistakes_in_changed_plans_have_no_place() {
    let mut study = Study::named("x");
    study.repeat = 0;
    assert_eq!(study.check().unwrap_err().to_string(), "x: repeat: expected at least 1");
}

#[test]
fn a_value_counts_once_in_any_spelling() {
    let checked = |grid: &str| {
        let plan = format!("{HEAD}targets = [\"t\"]\n{grid}");
        let checked = Study::parse(&plan, "p").unwrap().check();
        checked.map_or_else(|error| error.to_string(), |()| String::new())
    };
    for (option, one, other) in [
        ("bs", "4k", "4096"),
        ("size", "16m", "16M"),
        ("iodepth", "1", "01"),
        ("rw", "randread", "randread "),
    ] {
        let grid = format!("[grid]\n{option} = [\"{one}\", \"{other}\"]");
        assert_eq!(
            checked(&grid),
            format!("x: grid: `{option}`: `{one}` and `{other}` are one value: expected it once")
        );
    }
    // Engines that iodyno makes alike, an option without effect, and units of another base.
    for grid in [
        "[grid]\nioengine = [\"sync\", \"psync\"]",
        "[grid]\nthread = [0, 1]",
        "[job]\nkb_base = 1000\n[grid]\nbs = [\"4k\", \"4096\"]",
    ] {
        assert_eq!(checked(grid), "", "{grid}");
    }
}
