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
mod choose;
mod clock;
mod commands;
mod completion_hooks;
mod contents;
mod depth_histogram;
mod engines;
mod failure;
mod flow;
mod generator;
mod in_flight;
mod io_loop;
mod io_unit;
mod issue;
mod kernel;
mod lapse;
mod latency_target;
mod least_rate;
mod limits;
mod pace;
mod page_cache;
mod phase;
mod pinned;
mod placement;
mod preparation;
mod prepare;
mod priorities;
mod probe;

mod replay;
mod replay_book;
mod replayed_log;
mod replayed_trace;
mod reporter;
mod requests;
mod running;
mod shared;
mod stall;
mod tally;
mod team;
mod trims;
mod usage;
mod verify;
mod without_io;
mod worker;
mod written_log;

pub use commands::Commands;
pub use generator::NativeGenerator;
pub use replayed_trace::OpenTrace;

#[cfg(test)]
mod testing;
