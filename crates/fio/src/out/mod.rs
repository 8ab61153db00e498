//! Writes measurements in fio's formats: JSON and JSON+, terse, normal, and logs.
//!
//! Pure functions from measurements to text. The formats are those of fio 3.42 (fio's stat.c shows
//! which figure goes where; the code is original).

mod block_lives;
mod eta;
mod head;
mod json;
mod json_value;
mod log;
mod normal;
mod number;
mod rates;
mod report;
mod section;
mod shares;
mod steady;
mod terse;

pub use eta::{JobState, StatusLine};
pub use head::head;
pub use json::{json, json_plus};
pub use log::{LogColumns, LogKind, LogRow, LogWriter};
pub(crate) use log::{SAMPLE_BYTES, direction_of_flags, write_row};
pub use normal::normal;
pub use report::{CpuIdleness, Report, ReportJob, Reporting, SHAPE};
pub use terse::terse;
