//! Rounds on simulated drives of known truth: when a study is over, and how it resumes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::atomic::AtomicBool;

use common::machine::Machine;
use common::{Changing, StopAfter};
use iodyno_campaign::{Jobs, Options, Point, Resumed, Study, Watcher, Work};
use iodyno_judge::Convergence;
use iodyno_load::LoadGenerator;
use iodyno_model::{EndReason, RunRecord, RunState};
use iodyno_stats::{Steady, SteadyBy};
use iodyno_store::Store;
use iodyno_target::Permission;

struct Stage {
    machine: Machine,
    store: Store,
    study: Study,
}

impl Stage {
    /// Rounds of a read and a write, and a point after them.
    fn new(rounds: &str) -> Self {
        let machine = Machine::new();
        let target = machine.path("drive");
        let text = format!(
            "format = \"iodyno.plan/1\"\nname = \"rounds\"\norder = \"written\"\n\
             targets = [{target:?}]\n[rounds]\n{rounds}\n\
             track = [{{ point = \"write\", metric = \"iops\" }}]\n\
             [job]\nsize = \"1m\"\nbs = \"4k\"\niodepth = 64\ntime_based = 1\nruntime = \"1s\"\n\
             [[step]]\nname = \"read\"\njob = {{ rw = \"randread\" }}\n\
             [[step]]\nname = \"write\"\njob = {{ rw = \"randwrite\" }}\n\
             [[step]]\nname = \"last\"\nafter = true\njob = {{ rw = \"randwrite\" }}\n"
        );
        let study = Study::parse(&text, "rounds").unwrap();
        Self { machine, store: Store::in_memory().unwrap(), study }
    }

    fn points(&self) -> Vec<Point> {
        self.study.points(0)
    }

    fn run(&mut self, drive: &mut dyn LoadGenerator) -> RunRecord {
        let points = self.points();
        self.part(drive, &points, None, u32::MAX)
    }

    /// Measures `points`, at most this many.
    fn part(
        &mut self,
        drive: &mut dyn LoadGenerator,
        points: &[Point],
        resumed: Option<Resumed>,
        most: u32,
    ) -> RunRecord {
        let work = Work::of_study(&self.study, &self.points(), points).unwrap();
        let Jobs::Script(jobs) = &work.jobs else { panic!("{:?}", work.jobs) };
        let once = &jobs.script.phases;
        assert!(once.len() <= 3 * self.study.targets.len(), "each point once: {once:?}");
        let interrupted = AtomicBool::new(false);
        let options = Options { resumed, ..Options::of_jobs("", Permission::default()) };
        let watching = (&mut StopAfter(most, &interrupted) as &mut dyn Watcher, &interrupted);
        let store = &mut self.store;
        self.machine.carry_out(&work, &[], options, drive, store, watching).unwrap()
    }
}

/// A drive whose rate depends on how many phases it has seen.
fn aging(iops_max: impl Fn(u32) -> f64) -> impl LoadGenerator {
    Changing::new(move |phase, _| iops_max(phase))
}

/// (name, round) of all measurements.
fn measured(record: &RunRecord) -> Vec<(&str, Option<u32>)> {
    record.measurements.iter().map(|of| (of.name.as_str(), of.round)).collect()
}

fn rounds_of(record: &RunRecord) -> Option<u32> {
    record.measurements.iter().filter_map(|of| of.round).max()
}

/// A cache absorbs four rounds, then the rate falls off a cliff, to a tenth within three rounds.
fn cliff(phase: u32) -> f64 {
    match phase / 2 {
        0..4 => 500e3,
        4 => 300e3,
        5 => 120e3,
        _ => 50e3,
    }
}

#[test]
fn steady_state_is_found_after_the_cliff() {
    let mut stage = Stage::new("");
    let record = stage.run(&mut aging(cliff));
    assert_eq!(record.run.state, RunState::Done);
    // The first window without a step in it.
    assert_eq!(rounds_of(&record), Some(11));
    let asked = stage.study.rounds.clone().unwrap();
    let found = Convergence::of(&asked, None, record.measurements.iter());
    assert_eq!((found.steady_in, found.window(&asked)), (Some(11), Some(7..=11)));
    let average = found.tracks[0].window.unwrap().average;
    assert!((average / 50e3 - 1.0).abs() < 0.01, "{average}");
    let all = measured(&record);
    assert_eq!((all.len(), all[0], all[1]), (23, ("read", Some(1)), ("write", Some(1))));
    assert_eq!(all[22], ("last", None), "what comes after the rounds is measured once");
    // Fixed order, and each for its full time.
    assert!(all[..22].chunks(2).all(|round| round[0].0 == "read" && round[1].0 == "write"));
    assert!(record.measurements.iter().all(|of| of.duration_ns == Some(1_000_000_000)));
}

#[test]
fn a_slope_that_fio_lets_pass_is_not_steady() {
    // 4 % of the mean per round: 16 % over the window.
    let ramp = |phase: u32| 100e3 * (1.0 + 0.04 * f64::from(phase / 2));
    let mut stage = Stage::new("most = 9\nexcursion_percent = 100.0");
    let record = stage.run(&mut aging(ramp));
    assert_eq!(rounds_of(&record), Some(9), "all the rounds there are");
    let asked = stage.study.rounds.clone().unwrap();
    let found = Convergence::of(&asked, None, record.measurements.iter());
    assert_eq!((found.steady_in, found.last), (None, Some(9)));
    let values: Vec<f64> = found.tracks[0].values.iter().map(|value| value.unwrap()).collect();
    let fio = Steady { by: SteadyBy::Slope, limit: 10.0, percent: true, samples: 5 };
    assert!(fio.is_attained(&values));
    // It is not steady, but the point after the rounds is measured all the same.
    assert_eq!(measured(&record).last(), Some(&("last", None)));
}

#[test]
fn rounds_end_after_written_times() {
    // A cliff in each round, so that it is never steady; 1 MiB is soon written.
    let jumps = |phase: u32| if (phase / 2).is_multiple_of(2) { 100e3 } else { 10e3 };
    let written = |record: &RunRecord| {
        let bytes = |of: &iodyno_model::Measurement| of.total[0].whole_bytes.unwrap();
        let writes = record.measurements.iter().filter(|of| of.name == "write");
        writes.map(|of| bytes(of) as f64 / f64::from(1 << 20)).collect::<Vec<f64>>()
    };
    let mut stage = Stage::new("most = 6");
    let all = written(&stage.run(&mut aging(jumps)));
    assert_eq!(all.len(), 6);
    let enough = all[..3].iter().sum::<f64>() * 0.99;
    let mut stage = Stage::new(&format!("most = 6\nwritten_times = {enough}"));
    let record = stage.run(&mut aging(jumps));
    assert_eq!((rounds_of(&record), record.run.state), (Some(3), RunState::Done));
    assert_eq!(measured(&record).last(), Some(&("last", None)));
    // It is over for a resumed run as well.
    let mut left = record.clone();
    left.measurements.pop();
    let (_, left) = Resumed::of(&left, stage.points(), &stage.study);
    assert_eq!(left.len(), 1, "the point after the rounds alone: {left:?}");
}

#[test]
fn run_resumes_in_its_round() {
    let mut whole = Stage::new("");
    let expected = whole.run(&mut aging(|_| 100e3));
    assert_eq!(rounds_of(&expected), Some(5));
    // In the first round, within the window, after its last point, after all.
    for most in [1, 7, 10, 11] {
        let mut stage = Stage::new("");
        let mut drive = aging(|_| 100e3);
        let points = stage.points();
        let before = stage.part(&mut drive, &points, None, most);
        assert_eq!(before.measurements.len(), most as usize);
        let (resumed, left) = Resumed::of(&before, stage.points(), &stage.study);
        if most < 11 {
            assert_eq!(before.run.state, RunState::Interrupted);
            // The rest of 25 rounds, or only the last point once it is steady.
            let count = if most < 10 { 25 * 2 + 1 - most as usize } else { 1 };
            assert_eq!(left.len(), count);
            let record = stage.part(&mut drive, &left, Some(resumed), u32::MAX);
            assert_eq!(measured(&record), measured(&expected));
        } else {
            assert_eq!(left, []);
        }
    }
}

#[test]
fn rounds_that_failed_are_not_completed_after_later_ones() {
    let mut stage = Stage::new("most = 9");
    let jumps = |phase: u32| if (phase / 2).is_multiple_of(2) { 100e3 } else { 10e3 };
    let mut record = stage.run(&mut aging(jumps));
    assert_eq!(rounds_of(&record), Some(9));
    for of in &mut record.measurements {
        if of.name == "write" && matches!(of.round, Some(3..=6 | 9)) {
            of.end = EndReason::Failed("full".into());
        }
    }
    let (_, left) = Resumed::of(&record, stage.points(), &stage.study);
    let left: Vec<(&str, Option<u32>)> =
        left.iter().map(|point| (point.title.as_str(), point.round)).collect();
    assert_eq!(left, [("write", Some(9))]);
}

#[test]
fn targets_have_rounds_of_their_own() {
    let mut stage = Stage::new("");
    let other = stage.machine.path("other");
    stage.study.targets.push(other.to_str().unwrap().to_owned());
    // The second target is slower at first.
    let rate = |phase: u32| if (11..15).contains(&phase) { 20e3 } else { 100e3 };
    let record = stage.run(&mut aging(rate));
    let rounds = |name: &str| {
        let of = record.measurements.iter().filter(|of| of.targets[0].ends_with(name));
        of.filter_map(|of| of.round).max()
    };
    assert_eq!((rounds("drive"), rounds("other")), (Some(5), Some(7)));
}

#[test]
fn contradictions_to_rounds_are_reported() {
    let base = Stage::new("").study.to_toml().unwrap();
    let refused = |from: &str, to: &str| {
        assert!(base.contains(from), "{from}: {base}");
        Study::parse(&base.replace(from, to), "mine").unwrap_err().to_string()
    };
    for (from, to, word) in [
        ("point = \"write\"", "point = \"wriet\"", "no point `wriet`"),
        ("point = \"write\"", "point = \"last\"", "no point `last`"),
        ("name = \"read\"", "name = \"write\"", "several points"),
        ("order = \"written\"", "order = \"random\"", "order"),
        ("repeat = 1", "repeat = 2", "repeat"),
        ("window = 5", "window = 1", "window"),
        ("window = 5", "window = 26", "window"),
        ("window = 5", "window = 5\nwritten_times = 0.0", "written_times"),
        (
            "slope_percent = 10.0",
            "slope_percent = -1.0",
            "slope_percent: expected a number above 0",
        ),
        ("metric = \"iops\"", "metric = \"iosp\"", "iosp"),
        ("most = 25", "moost = 25", "moost"),
    ] {
        let said = refused(from, to);
        assert!(said.contains(word), "{from} -> {to}: {said}");
    }
}

#[test]
fn varied_depths_apply_to_the_steps_that_vary_them() {
    let mut study = Study::preset("snia-dirth").unwrap();
    study.vary("iodepth", &["32".into(), "4".into()]);
    let steps = |name: &str| study.steps.iter().find(|step| step.name == name).unwrap();
    assert_eq!(study.grid["iodepth"].len(), 2);
    assert_eq!(steps("histogram of the least demand").job["iodepth"].as_integer(), Some(1));

    // An option that nothing varies is varied everywhere.
    study.vary("bs", &["4k".into(), "8k".into()]);
    assert_eq!(study.grid["bs"].len(), 2);
    assert!(!study.job.contains_key("bs"));
}
