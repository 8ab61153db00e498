//! The native load generator: io_uring, libaio and psync.
//!
//! A thread for each of a job's `numjobs`, each with its own descriptors,
//! buffers and statistics, and one loop (in `worker`) compiled for each
//! I/O engine. Everything that can be decided before the loop is decided
//! before it; the control thread only watches, stops and reports.
//!
//! A latency runs from just before the system call that carries the I/O to
//! just after its completion became visible in user space, for every engine
//! alike. So it holds the cost of submission; fio's `clat` does not, which
//! makes it nearly zero for I/O that completes during submission.

mod buffers;
mod choose;
mod clock;
mod failure;
mod fit;
mod flights;
mod generator;
mod io;
mod issue;
mod phase;
mod probe;
mod reporter;
mod tally;
mod worker;

pub use generator::NativeGenerator;

#[cfg(test)]
mod testing;
