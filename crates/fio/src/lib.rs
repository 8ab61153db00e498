//! fio's formats in and out, and fio as a load generator.
//!
//! [`out`] writes stored measurements in the shapes that fio prints, so that
//! what parses fio's output takes ours; [`read`] turns fio's output into
//! measurements; [`FioGenerator`] runs jobs through fio itself.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod generator;
pub mod out;
pub mod read;

pub use generator::{FioError, FioGenerator, WANTS_FIO};
