//! Schedules: choose the next phase by the measurements so far. One file each; they make no I/O.

mod adaptive_sweep;
mod depth_search;
mod experiment_job;
mod explain;
mod headroom;
mod predictions;
mod profile_rounds;
mod rounds;
mod scaling;
mod script_jobs;
mod steps;
mod surface;
mod turns;

pub use adaptive_sweep::Adapting;
pub(crate) use explain::{ASKED, Explain};
pub(crate) use rounds::{convergences, over_in};
pub(crate) use scaling::growth;
pub use script_jobs::ScriptJobs;
pub(crate) use steps::Steps;
