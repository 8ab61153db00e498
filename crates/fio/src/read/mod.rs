//! fio's output as measurements: JSON and JSON+ of fio 3.0 and later.
//!
//! What the text does not say stays unknown.

mod document;
mod figure;
mod imported;
mod json;
mod members;
mod normal;

pub use document::{Document, ReadError};
pub use imported::{Imported, Problem, path, text};
pub use json::{documents, json};
pub use normal::normal;
