//! Turns recordings of jobs into measurements: warm-up cut off, estimates with their intervals.

mod above_limits;
mod builder;
mod finished_phase;
mod fio_steadystate;
mod interim;
pub(crate) mod p99;
mod result;
mod series;

pub(crate) use above_limits::LimitWatch;
pub(crate) use finished_phase::FinishedPhase;
pub(crate) use fio_steadystate::SteadyWatch;
pub use interim::interim;
pub(crate) use series::{Cut, settled_rate};
