//! Totals of jobs that ran at the same time.

use iodyno_model::{
    GroupTotal, Measurement, RunRecord, distinct, format_duration_ns, group_totals,
};

use super::Style;
use super::ink::Ink;
use super::jobs::{results, target_words};
use super::measurements::is_of_a_job;
use super::words::Hanging;

/// Totals of all groups of several jobs in `record`.
pub(crate) fn totals_of(record: &RunRecord) -> Vec<GroupTotal> {
    let mut totals = group_totals(&record.measurements);
    let is_job = |n: &usize| is_of_a_job(record, &record.measurements[*n]);
    totals.retain(|total| total.members.iter().all(is_job));
    totals
}

/// A section per group of several jobs; empty if there is none.
pub(super) fn totals_text(record: &RunRecord, style: &Style) -> String {
    let texts: Vec<String> =
        totals_of(record).iter().map(|total| total_text(total, record, style)).collect();
    texts.join("\n")
}

/// `all 3 jobs`, and the group if there are several.
pub(crate) fn title(total: &GroupTotal, record: &RunRecord) -> String {
    let members = || total.members.iter().filter_map(|n| record.measurements.get(*n));
    let group = members().next().map_or(0, |of| of.group);
    let jobs = members().map(|of| u64::from(of.workload.numjobs.unwrap_or(1).max(1))).sum::<u64>();
    match record.measurements.iter().any(|of| of.group != group) {
        true => format!("all {jobs} jobs of group {group}"),
        false => format!("all {jobs} jobs"),
    }
}

/// `all 3 jobs of group 0  nvme0n1 nvme1n1, 10.0 s` and a line per direction.
pub(super) fn total_text(total: &GroupTotal, record: &RunRecord, style: &Style) -> String {
    let members: Vec<&Measurement> =
        total.members.iter().filter_map(|n| record.measurements.get(*n)).collect();
    let targets = distinct(members.iter().flat_map(|of| &of.targets).cloned());
    let title = title(total, record);
    let mut words = vec![target_words(&targets)];
    words.extend(total.duration_ns.map(|ns| format_duration_ns(ns as f64)));
    let lead = Ink::Bold.paint(&title, style.color);
    let lead_width = title.len();
    let hanging = Hanging { lead, lead_width, indent: lead_width + 2, ..Hanging::of(style) };
    hanging.lines(&words) + &results(&total.total, style)
}
