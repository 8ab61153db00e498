//! fio's options: one static table drives plans, and later job files, the
//! command line and the option reference; and the orders of offsets that jobs
//! ask for.

mod job;
mod offsets;
mod options;
mod value;

pub use job::{IoEngine, Job, Pattern};
pub use offsets::{Extent, Offsets};
pub use options::{OPTIONS, OptionSpec, apply, nearest};
pub use value::{JobError, parse_list, parse_seconds, parse_size};
