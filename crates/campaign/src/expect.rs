//! What a campaign is going to do, said before it does it.

use iodyno_model::format_duration_ns;

use crate::budget::Budget;

/// The load to expect, in sentences, for targets of these names; directories
/// get a scratch file.
pub(crate) fn sentences(
    targets: &[String],
    directories: &[String],
    budget: &Budget,
) -> Vec<String> {
    let seconds = |ns: u64| format_duration_ns((ns as f64 / 1e9).ceil() * 1e9);
    let mut sentences = Vec::new();
    let devices: Vec<&String> = targets.iter().filter(|name| !directories.contains(name)).collect();
    for directory in directories {
        sentences.push(format!(
            "In {directory} a scratch file is written for about 10 s (256 MiB to 8 GiB, at most a \
             quarter of the free space), then read; it is removed afterwards."
        ));
    }
    if !devices.is_empty() {
        let names: Vec<&str> = devices.iter().map(|name| name.as_str()).collect();
        sentences.push(format!("Only reads, at full speed: {}.", names.join(", ")));
    }
    let ends = "Ctrl-C stops it and keeps what was measured.";
    sentences.push(if budget.together_ns > 0 {
        format!(
            "Each alone up to {}, then all at once up to {}: at most {} in all. {ends}",
            seconds(budget.each_ns),
            seconds(budget.together_ns),
            minutes(budget.total_ns)
        )
    } else {
        format!("That takes at most {}. {ends}", minutes(budget.total_ns))
    });
    sentences
}

fn minutes(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match (seconds / 60, seconds % 60) {
        (0, s) => format!("{s} s"),
        (m, 0) => format!("{m} min"),
        (m, s) => format!("{m} min {s} s"),
    }
}
