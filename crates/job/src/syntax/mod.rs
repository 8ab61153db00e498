//! Parses fio's job files and command line into sections of raw entries.
//!
//! Options are known only through [`KnownOptions`], and files and variables are read only through
//! an [`Environment`].

mod command_line;
mod environment;
mod error;
mod file;
mod invocation;
mod keywords;
mod known;
mod line;
mod option_table;
mod pattern_file;
mod run_options;
mod section;
mod write;

pub use command_line::{CommandLine, parse_command_line};
pub use environment::{Environment, process_variable};
pub use error::SyntaxError;
pub use file::parse_file;
pub use invocation::{Debug, Eta, IdleProf, Invocation, OutputFormat, Page, Trigger};
pub use known::{KnownOptions, Takes, refuse_swallowed, swallowed_option};
pub use option_table::OptionTable;
pub use section::{Entry, JobFile, Place, Section};
pub use write::{show_command, write_file};
