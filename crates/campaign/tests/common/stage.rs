//! An empty machine, and a file as its drive.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use iodyno_campaign::{Options, Point, Resumed, Study, Watcher, Work};
use iodyno_load::{SimulatedDrive, SimulatedGenerator};
use iodyno_model::RunRecord;
use iodyno_store::Store;
use iodyno_target::Permission;

use super::StopAfter;
use super::machine::Machine;

/// An empty machine, and a sparse file as its drive.
pub struct Stage {
    machine: Machine,
    path: PathBuf,
}

impl Stage {
    pub fn new() -> Self {
        let machine = Machine::new();
        machine.drive("drive", 1 << 20);
        Self { path: machine.path("drive"), machine }
    }

    pub fn target(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Study of the drive with `text` as the rest of its plan.
    pub fn study(&self, text: &str) -> Study {
        let text = format!(
            "format = \"iodyno.plan/1\"\nname = \"test\"\ntargets = [\"{}\"]\n{text}",
            self.target()
        );
        Study::parse(&text, "test").unwrap()
    }

    /// Measures all of a study on `generator`.
    pub fn measure(&self, study: &Study, generator: SimulatedGenerator) -> RunRecord {
        let mut store = Store::in_memory().unwrap();
        let interrupted = AtomicBool::new(false);
        let mut watcher = StopAfter(u32::MAX, &interrupted);
        self.go_on(study, generator, &mut store, &study.points(0), None, &mut watcher)
    }

    pub fn go_on(
        &self,
        study: &Study,
        mut generator: SimulatedGenerator,
        store: &mut Store,
        left: &[Point],
        resumed: Option<Resumed>,
        watcher: &mut StopAfter<'_>,
    ) -> RunRecord {
        let work = Work::of_study(study, &study.points(0), left).unwrap();
        let work = Work { written_samples: 0, ..work };
        let writes = left.iter().any(Point::writes);
        let allow_write = writes.then(|| self.target().to_owned()).into_iter().collect();
        let permission = Permission { allow_write, ..Permission::default() };
        let options = Options { resumed, ..Options::of_jobs("", permission) };
        let interrupted = watcher.1;
        let watching = (watcher as &mut dyn Watcher, interrupted);
        let done = self.machine.carry_out(&work, &[], options, &mut generator, store, watching);
        done.unwrap()
    }

    pub fn generator(&self, drive: &SimulatedDrive, seed: u64) -> SimulatedGenerator {
        let mut generator = SimulatedGenerator::new(seed);
        generator.set_drive(self.target(), drive.clone());
        generator
    }
}
