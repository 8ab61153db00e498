//! fio's normal text, of 2.0 to 3.4x, whatever stands around it and whatever
//! was done to it on its way through mail, wikis and terminals.

mod clean;
mod command;
mod direction;
mod disks;
mod field;
mod group;
mod header;
mod html;
mod job;
mod latency;
mod prefix;
mod report;
mod run;
mod samples;
mod statement;
mod workload;

use super::imported::Imported;

/// The results of every job in `text`; what is damaged or missing is among the
/// problems.
pub fn normal(name: &str, text: &str) -> Imported {
    report::read(name, &statement::statements(&clean::lines(text)))
}
