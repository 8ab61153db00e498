//! Reads and writes fio's formats, and runs fio as a load generator.
//!
//! [`out`] writes stored measurements in fio's output formats, for programs that parse fio's
//! output; [`read`] turns fio's output into measurements; [`FioGenerator`] runs jobs with fio
//! itself.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod generator;
pub mod out;
pub mod read;

pub use generator::{FIO_PROBE_ENV, FioError, FioGenerator};
