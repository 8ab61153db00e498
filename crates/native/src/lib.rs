//! The native load generator.
//!
//! Each clone of a job is a thread with its own descriptors, buffers and statistics, running one
//! loop (`io_loop`) that is compiled for each I/O engine. Everything that can be decided before the
//! loop is decided there; the control thread only watches, stops and reports.
//!
//! A latency runs from just before the submitting system call to just after the completion became
//! visible in user space, for every engine alike. It includes the cost of submission; fio's `clat`
//! does not, which makes it nearly zero for I/O that completes during submission.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod block_lives;
mod bounds;
mod buffers;
mod clock;
mod cmdprio;
mod commands;
mod completion_hooks;
mod contents;
mod depth_histogram;
mod engine_choice;
mod engines;
mod file_sync;
mod flow;
mod follow_up;
mod generator;
mod in_flight;
mod io_failure;
mod io_loop;
mod io_unit;
mod iolog_writer;
mod issue;
mod job_control;
mod job_setup;
mod kernel;
mod lapse;
mod latency_target;
mod limits;
mod locked_memory;
mod min_rate;
mod pace;
mod page_cache;
mod phase;
mod placement;
mod prepare_job;
mod probe;
mod replay;
mod replay_stats;
mod reporter;
mod requests;
mod running_job;
mod short_ios;
mod stall;
mod submission_hooks;
mod tally;
mod trace_replay;
mod trims;
mod usage;
mod verify;
mod without_io;
mod worker;

pub use commands::CommandPolicy;
pub use generator::NativeGenerator;
pub use trace_replay::OpenTrace;

#[cfg(test)]
mod testing;
