//! More and more simulated drives at once, which share a limit.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::atomic::AtomicBool;

use common::Changing;
use common::machine::Machine;
use iodyno_campaign::{Event, Options, Point, Resumed, Study, Watcher, Work};
use iodyno_judge::Growth;
use iodyno_load::LoadGenerator;
use iodyno_model::RunRecord;
use iodyno_store::Store;
use iodyno_target::Permission;

/// Drives of 100 000 IOPS each, together limited to `shared`.
fn sharing(shared: f64) -> impl LoadGenerator {
    Changing::new(move |_, drives| (shared / drives as f64).min(100e3))
}

/// Keeps all warnings.
#[derive(Default)]
struct Told(Vec<String>);

impl Watcher for Told {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Warning(sentence) = event {
            self.0.push((*sentence).to_owned());
        }
    }
}

struct Stage {
    machine: Machine,
    store: Store,
    study: Study,
}

impl Stage {
    fn new() -> Self {
        let machine = Machine::new();
        let targets: Vec<_> = (0..5).map(|n| machine.path(&format!("drive{n}"))).collect();
        let text = format!(
            "format = \"iodyno.plan/1\"\nname = \"scaling\"\norder = \"written\"\n\
             targets = {targets:?}\n[scaling]\nleast_gain_percent = 25.0\n\
             [job]\nsize = \"1m\"\nbs = \"4k\"\niodepth = 64\ntime_based = 1\nruntime = \"1s\"\n\
             [[step]]\nname = \"read\"\nuntil = \"done\"\njob = {{ rw = \"randread\" }}\n\
             [[step]]\nname = \"write\"\nuntil = \"done\"\njob = {{ rw = \"randwrite\" }}\n"
        );
        let study = Study::parse(&text, "scaling").unwrap();
        Self { machine, store: Store::in_memory().unwrap(), study }
    }

    fn run(
        &mut self,
        shared: f64,
        points: &[Point],
        resumed: Option<Resumed>,
    ) -> (RunRecord, Told) {
        let work = Work::of_study(&self.study, &self.study.points(0), points).unwrap();
        let options = Options { resumed, ..Options::of_jobs("", Permission::default()) };
        let (mut told, store) = (Told::default(), &mut self.store);
        let watching = (&mut told as &mut dyn Watcher, &AtomicBool::new(false));
        let drives = &mut sharing(shared);
        let record = self.machine.carry_out(&work, &[], options, drives, store, watching);
        (record.unwrap(), told)
    }
}

/// (name, number of drives) of all measurements.
fn measured(record: &RunRecord) -> Vec<(&str, usize)> {
    record.measurements.iter().map(|of| (of.name.as_str(), of.targets.len())).collect()
}

#[test]
fn drives_are_added_until_one_more_brings_nothing() {
    let mut stage = Stage::new();
    let points = stage.study.points(0);
    assert_eq!(points.len(), 10);
    let (record, told) = stage.run(300e3, &points, None);
    // The fourth shows that three reach the maximum.
    let drives = |name| (1..=4).map(move |drives| (name, drives));
    assert_eq!(measured(&record), drives("read").chain(drives("write")).collect::<Vec<_>>());
    assert_eq!(told.0.len(), 2, "{:?}", told.0);
    assert!(told.0[0].contains("read: the aggregate stopped growing at 3 drives"), "{:?}", told.0);
    // Each drive's part is known, and they add up to the total.
    let last = &record.measurements[3];
    assert_eq!(last.parts.len(), 4);
    let rate = |results: &[iodyno_model::DirectionResult]| results[0].iops.unwrap().value;
    let sum: f64 = last.parts.iter().map(|part| rate(&part.results)).sum();
    assert!((sum / rate(&last.total) - 1.0).abs() < 0.01, "{sum}");
    assert!((rate(&last.total) / 300e3 - 1.0).abs() < 0.02, "{:?}", last.total[0].iops);
    // Nothing of it is left, nor are the drives that were not needed.
    let (_, left) = Resumed::of(&record, points, &stage.study);
    assert_eq!(left, []);
}

#[test]
fn drives_that_share_nothing_are_all_added() {
    let mut stage = Stage::new();
    let points = stage.study.points(0);
    let (record, told) = stage.run(1e9, &points, None);
    assert_eq!(record.measurements.len(), 10);
    assert!(told.0[0].contains("grew up to 5 drives"), "{:?}", told.0);
    let asked = stage.study.scaling.unwrap();
    let reads = record.measurements.iter().filter(|of| of.name == "read");
    let found = Growth::of(&asked, reads);
    assert!((found.aggregates[4] / found.aggregates[0] - 5.0).abs() < 0.1, "{found:?}");
}

#[test]
fn run_resumes_with_the_next_drive() {
    let mut stage = Stage::new();
    let points = stage.study.points(0);
    let (before, _) = stage.run(300e3, &points[..2], None);
    let (resumed, left) = Resumed::of(&before, points, &stage.study);
    assert_eq!(left.len(), 8);
    let (record, told) = stage.run(300e3, &left, Some(resumed));
    assert_eq!(measured(&record).len(), 8);
    assert!(told.0[0].contains("read: the aggregate stopped growing at 3 drives"), "{:?}", told.0);
}
