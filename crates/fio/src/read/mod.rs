//! Parsers of fio's output: normal, terse, JSON and JSON+ of all versions, logs, folders of them;
//! and of published figures in files and tables.
//!
//! Values that the text does not state stay unknown.

mod bench_fio;
mod clones;
mod document;
mod figures;
mod findings;
mod folder;
mod imported;
mod json;
mod latency;
mod limited;
mod line_numbers;
mod log;
mod match_logs;
mod members;
mod normal;
mod plain;
mod printed_number;
mod rate;
mod reports;
mod same_run;
mod samples;
mod series;
mod sieve;
mod terse;
mod truncated_json;
mod unescape;
mod utf16;
mod workload;

pub use document::{Document, ReadError};
pub use figures::{Figures, Row, figures};
pub use findings::{Imported, Problem};
pub use imported::{path, stream, text};
pub use normal::normal;
pub use plain::{plain, plain_name};
pub use reports::{documents, json};
pub use samples::inflate_log;
