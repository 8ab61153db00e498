//! The public document and its schema, and terminal text.
//!
//! Everything here is a pure function of a run and what it was judged to mean;
//! the binary prints.

pub mod document;
mod layers;
pub mod page;
mod percentiles;
pub mod text;

pub use document::{list_document, rules_document, run_document, runs_document};
pub use text::{
    ColumnError, Style, drives_table, findings_text, host_text, list_text, measurements_text,
    rules_text, run_heading, run_text, runs_table, verdict_text,
};
