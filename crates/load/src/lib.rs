//! The load generator as a trait, its reports, and the simulated generator.
//!
//! A generator pushes: it reports intervals with their real times, and the observer answers
//! continue or stop.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod generator;
mod interval;
mod probe;
mod recorder;
mod simulated;
mod thread_use;

pub use generator::{
    ClearedJob, JobReport, LoadError, LoadGenerator, Observer, PhaseReport, Whole,
};
pub use interval::{DirectionInterval, Flow, Interval, IoRow, JobInterval};
pub use probe::{BlockContent, ProbeSample};
pub use recorder::{Counted, Counting, DirectionRecord, JobRecord, Recorder};
pub use simulated::{Noise, SimulatedDrive, SimulatedGenerator, UnderLoad};
pub use thread_use::{ThreadUse, Usage};
