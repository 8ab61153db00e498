//! The native load generator.
//!
//! A thread for each clone of a job, each with its own descriptors,
//! buffers and statistics, and one loop (in `course`) compiled for each
//! I/O engine. Everything that can be decided before the loop is decided
//! before it; the control thread only watches, stops and reports.
//!
//! A latency runs from just before the system call that carries the I/O to
//! just after its completion became visible in user space, for every engine
//! alike. So it holds the cost of submission; fio's `clat` does not, which
//! makes it nearly zero for I/O that completes during submission.

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
mod descriptor;
mod failure;
mod flow;
mod generator;
mod in_flight;
mod io;
mod io_loop;
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
