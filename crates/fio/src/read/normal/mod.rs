//! Parses fio's normal text output, of 2.0 to 3.4x, whatever surrounds it and whatever mail, wikis
//! and terminals did to it.

mod clean;
mod command;
mod direction;
mod disks;
mod group;
mod header;
mod html;
mod job;
mod latency;
mod prefix;
mod report;
mod run;
mod samples;
mod scan;
mod statement;
mod workload;

use super::findings::{Imported, most_jobs};

/// Imports the results of every job in `text`; damaged or missing parts are among the problems.
pub fn normal(name: &str, text: &str) -> Imported {
    let mut runs = report::Runs::new(most_jobs(text.len()));
    let mut statements = statement::Statements::default();
    clean::each_line(text, |line| statements.push(line, |statement| runs.add(statement)));
    statements.finish().iter().for_each(|statement| runs.add(statement));
    runs.imported(name)
}

#[cfg(test)]
fn statements(text: &str) -> Vec<statement::Statement> {
    let mut statements = statement::Statements::default();
    let mut all = Vec::new();
    clean::each_line(text, |line| statements.push(line, |one| all.push(one.clone())));
    all.into_iter().chain(statements.finish()).collect()
}
