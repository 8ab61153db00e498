//! fio's job files and fio's command line, read into sections of raw entries.
//!
//! Nothing is known here of which options there are, but what [`Known`] says,
//! and nothing is read but through an [`Environment`].

mod command_line;
mod environment;
mod error;
mod file;
mod invocation;
mod keywords;
mod known;
mod line;
mod option_table;
mod own_options;
mod pattern_file;
mod section;
mod write;

pub use command_line::{CommandLine, parse_command_line};
pub use environment::{Environment, process_variable};
pub use error::SyntaxError;
pub use file::parse_file;
pub use invocation::{Debug, Eta, IdleProf, Invocation, OutputFormat, Page, Trigger};
pub use known::{Known, Takes, refuse_swallowed, swallowed_option};
pub use option_table::OptionTable;
pub use section::{Entry, JobFile, Place, Section};
pub use write::{show_command, write_file};
