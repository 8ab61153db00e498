//! Turns recordings of jobs into measurements: warm-up cut off, estimates with their intervals.

mod above_limits;
mod fio_steadystate;
mod interim;
mod of_phase;
pub(crate) mod p99;
mod result;
mod series;
mod taken;

pub(crate) use above_limits::LimitWatch;
pub(crate) use fio_steadystate::SteadyWatch;
pub use interim::interim;
pub(crate) use of_phase::OverPhase;
pub(crate) use series::{Cut, rate_behind_start};
