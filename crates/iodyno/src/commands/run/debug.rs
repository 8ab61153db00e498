//! `--debug`: fio's debug output, as far as test suites read it.

use std::fmt::Write;

use iodyno_job::script::Script;
use iodyno_job::syntax::{Debug, Entry, Section};
use iodyno_job::{Job, SteadyKind, apply, find, random_seeds};

/// Confirms each debug option; fio prints this before anything else.
pub(super) fn head(asked: &[Debug]) -> String {
    asked.iter().map(|one| format!("fio: set debug option {}\n", one.name())).collect()
}

/// Options as parsed, of the jobs or, without any, of `global`.
pub(super) fn parse(global: &[Entry], sections: &[Section]) -> String {
    let of_jobs = sections.iter().flat_map(|section| &section.entries);
    let entries = if sections.is_empty() { global.iter() } else { [].iter() }.chain(of_jobs);
    let mut text = String::new();
    for entry in entries {
        let name = find(&entry.name).map_or(entry.name.as_str(), |spec| spec.name);
        let value = entry.value.as_deref().unwrap_or("1");
        line(&mut text, Debug::Parse, &format!("handle_option={name}, ptr={value}"));
        if name == "steadystate"
            && let Some(threshold) = threshold(value)
        {
            line(&mut text, Debug::Parse, &format!("set steady state {threshold}"));
        }
    }
    text
}

/// Limit given by `steadystate`.
fn threshold(value: &str) -> Option<String> {
    let mut job = Job::default();
    apply(&mut job, "steadystate", value).ok()?;
    let state = job.time.steadystate?;
    Some(match state.kind {
        _ if state.percent => format!("threshold to {:.6}%", state.limit),
        SteadyKind::Iops | SteadyKind::IopsSlope => {
            format!("IOPS threshold to {:.6}", state.limit)
        }
        SteadyKind::Bandwidth | SteadyKind::BandwidthSlope => {
            format!("BW threshold to {:.0}", state.limit)
        }
        SteadyKind::Latency | SteadyKind::LatencySlope => {
            format!("latency threshold to {:.6}", state.limit)
        }
    })
}

/// Seeds of each job's random streams; `entropy` is that of the first phase.
pub(super) fn random(script: &Script, entropy: u64) -> String {
    let mut text = String::new();
    for (phase, number) in script.phases.iter().zip(0_u64..) {
        for job in &phase.jobs {
            let seeds = random_seeds(&job.job, 0, entropy.wrapping_add(number));
            line(&mut text, Debug::Random, &format!("FIO_RAND_NR_OFFS={}", seeds.len()));
            for (number, seed) in seeds.iter().enumerate() {
                line(&mut text, Debug::Random, &format!("rand_seeds[{number}]={seed}"));
            }
        }
    }
    text
}

fn line(text: &mut String, of: Debug, what: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:<8} {:<5} {what}", of.name(), std::process::id());
}
