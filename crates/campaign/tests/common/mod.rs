//! Helpers of tests with simulated drives.

#![allow(dead_code, unreachable_pub)] // each test file uses its part

pub mod machine;
pub mod stage;

use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_campaign::{Event, Watcher};
use iodyno_load::{
    ClearedJob, LoadError, LoadGenerator, Noise, Observer, PhaseReport, ProbeSample,
    SimulatedDrive, SimulatedGenerator,
};
use iodyno_target::ReadClearance;

/// Simulated drives whose rate is set anew before each phase.
pub struct Changing<F> {
    inside: SimulatedGenerator,
    /// Rate of a drive by the number of the phase, from 0, and its number of jobs.
    iops_max: F,
    phases: u32,
}

impl<F: FnMut(u32, usize) -> f64> Changing<F> {
    pub fn new(iops_max: F) -> Self {
        Self { inside: SimulatedGenerator::new(7), iops_max, phases: 0 }
    }
}

impl<F: FnMut(u32, usize) -> f64> LoadGenerator for Changing<F> {
    fn source(&self) -> String {
        self.inside.source()
    }

    fn run(
        &mut self,
        jobs: &[ClearedJob<'_>],
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, LoadError> {
        let iops_max = (self.iops_max)(self.phases, jobs.len());
        let noise = Noise::White(0.01);
        for job in jobs {
            let drive = SimulatedDrive { iops_max, noise, ..SimulatedDrive::default() };
            self.inside.set_drive(&job.target(), drive);
        }
        self.phases += 1;
        self.inside.run(jobs, observer)
    }

    fn probe(
        &mut self,
        target: &ReadClearance,
        offsets: &[u64],
        bytes: u32,
        max_ns: u64,
    ) -> Result<Vec<ProbeSample>, LoadError> {
        self.inside.probe(target, offsets, bytes, max_ns)
    }
}

/// Interrupts after this many measurements.
pub struct StopAfter<'a>(pub u32, pub &'a AtomicBool);

impl Watcher for StopAfter<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Done(_) = event {
            self.0 = self.0.saturating_sub(1);
            self.1.store(self.0 == 0, Ordering::Relaxed);
        }
    }
}
