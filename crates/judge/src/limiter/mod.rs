//! Finds the limiter of a measurement.
//!
//! Pure functions. [`explain`] takes measurements with their conditions, the host, the claims, and
//! the experiments made so far. An experiment is a measurement that differs from the one in
//! question in a single respect ([`Contrast`]), whoever made it and whenever; so a sweep, an
//! imported study and a run of `explain` are treated alike. It weighs every possible limiter
//! ([`Suspect`]) and then names the limiter, asks for an experiment, asks for repetitions if noise
//! hides the effect, or lists the candidates that it cannot tell apart.

mod answer;
mod before_device;
mod bottlenecks;
mod case;
mod case_context;
mod contract;
mod contrast;
mod cpu;
mod drive;
mod heat;
mod interrupts;
mod io_times;
mod neighbour;
mod notes;
mod power;
mod repetition;
mod sentences;
mod shared;
mod suspect;

#[cfg(test)]
mod cpu_tests;
#[cfg(test)]
mod experiment_tests;
#[cfg(test)]
mod repetition_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod topology_tests;

pub use answer::{Answer, Evidence, Explanation, Next, explain, explain_stored, subjects};
pub use case::{Case, figure, is_explain_run, range};
pub use contrast::{Change, Contrast, Effect};
pub use interrupts::{Missing, OneCpu, interrupts_on_one_cpu};
pub use suspect::{Limiter, Standing, Suspect};

pub(crate) use bottlenecks::{
    CpuShare, busiest_share, cpu_share, depth_short, ocp_grown, other_io, other_load,
    overheated_min, saturated, throttled, throttled_between,
};
pub(crate) use contrast::PASSTHROUGH;
pub(crate) use power::{PowerSaving, power_saving};
