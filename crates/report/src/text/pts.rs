//! Report items required by the SNIA PTS, besides host, drives and figures, which have tables of
//! their own. Items not recorded are listed as unknown.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_judge::compressible;
use iodyno_model::{
    Bytes, Direction, Drive, DriveState, EndReason, Fact, Host, LinkState, Measurement,
    PlanPreparation, PreparationState, Purpose, Rounds, RoundsPlan, RunRecord, Workload,
    format_duration_ns, parse_duration_ns,
};

use super::Style;
use super::ink::Ink;
use super::runs::{started, took, utc};
use super::words::{Hanging, clean};

/// Time of a complete preparation by the run itself.
const BY_THE_RUN: &str = "by this run, before the test";

/// Test, device, preparation and settings, a few lines each, to precede [`super::rounds_text`]; a
/// plan that tracks nothing is a test without rounds.
/// `prepared` are the states of the drives at the start of the run.
pub fn pts_text(
    record: &RunRecord,
    plan: &RoundsPlan,
    prepared: &[DriveState],
    style: &Style,
) -> String {
    let line = |(label, items): (&str, Vec<String>)| {
        Hanging::after(label, Ink::Bold, 14, style).lines(&items)
    };
    pts_lines(record, plan, prepared).into_iter().map(line).collect()
}

/// Report items as (label, texts).
pub(crate) fn pts_lines(
    record: &RunRecord,
    plan: &RoundsPlan,
    prepared: &[DriveState],
) -> Vec<(&'static str, Vec<String>)> {
    let run = &record.run;
    let mut lines: Vec<(&'static str, Vec<String>)> = vec![
        ("Test", vec![run.plan_name.clone(), plan.about.clone()]),
        ("Started", vec![format!("{} UTC", started(run)), format!("took {}", took(run))]),
    ];
    let sources: BTreeSet<&str> = record
        .measurements
        .iter()
        .map(|of| of.source.as_str())
        .filter(|of| !of.is_empty())
        .collect();
    let mut software = vec![format!("iodyno {}", run.writer)];
    software.extend(sources.into_iter().map(str::to_owned));
    lines.push(("Software", software));
    for target in &run.targets {
        lines.push((
            "Device",
            record.host().map_or(Vec::new(), |host| device(host, target, record)),
        ));
    }
    for target in &run.targets {
        let before = match &plan.preparation {
            Some(own) => {
                let on_it = record
                    .measurements
                    .iter()
                    .filter(|of| of.targets == *std::slice::from_ref(target));
                let block = record.host().and_then(|host| host.block(target));
                Preparation::ByRun {
                    own,
                    measured: on_it.collect(),
                    capacity: block.and_then(|block| Some(block.size.get()?.0)),
                }
            }
            None => Preparation::of(record, target, prepared),
        };
        let named = |mut items: Vec<String>| {
            if run.targets.len() > 1 {
                items.insert(0, target.clone());
            }
            items
        };
        lines.push(("Purge", named(before.purge())));
        lines.push(("Conditioning", named(before.conditioning(&plan.before))));
    }
    // Preparation is not part of the test.
    let is_test = |of: &&Measurement| of.round.is_some() || !of.purpose.is_preparation();
    let test: Vec<&Measurement> = record.measurements.iter().filter(is_test).collect();
    lines.push(("Settings", settings(&test)));
    let Rounds { most, window, excursion_percent, slope_percent, written_times, track } =
        &plan.rounds;
    let usual = Rounds::default();
    let is_usual = (*window, *excursion_percent, *slope_percent)
        == (usual.window, usual.excursion_percent, usual.slope_percent);
    let mut steady = vec![
        if is_usual { "PTS 2.0.2, 2.1.24" } else { "by the plan" }.into(),
        format!("window of {window} rounds, {most} rounds at most"),
        format!("range at most {excursion_percent} % of the average"),
        format!("rise of the line at most {slope_percent} % of it"),
    ];
    steady.extend(written_times.map(|times| format!("or the tested range written {times} times")));
    lines.extend((!track.is_empty()).then_some(("Steady", steady)));
    match pauses(record) {
        0 => {}
        1 => lines.push(("Pauses", vec!["resumed once".into()])),
        pauses => lines.push(("Pauses", vec![format!("resumed {pauses} times")])),
    }
    let (stated, mut unknown) = (plan.report.entries(), Vec::new());
    let mut statements = Vec::new();
    for (what, text) in stated {
        match text {
            Some(text) => statements.push(format!("{what} {text}")),
            None => unknown.push(what.to_owned()),
        }
    }
    unknown.push("major features".into());
    if !statements.is_empty() {
        lines.push(("Stated", statements));
    }
    lines.push(("Not known", unknown));
    for (_, items) in &mut lines {
        items.iter_mut().for_each(|item| *item = clean(item));
    }
    lines
}

/// Number of times that a run was resumed between measurements.
fn pauses(record: &RunRecord) -> usize {
    let all = &record.measurements;
    let resumed = record.run.resumed_at.iter().filter(|at| (1..all.len()).contains(at)).count();
    // Earlier versions recorded only the interruptions.
    let last = all.iter().map(|of| of.phase).max();
    let cut = all.iter().filter(|of| of.end == EndReason::Interrupted && Some(of.phase) != last);
    resumed.max(cut.map(|of| of.phase).collect::<BTreeSet<_>>().len())
}

/// Preparation of a drive before its rounds.
enum Preparation<'a> {
    /// By the run itself, which goes on only after what is complete.
    ByRun {
        own: &'a PlanPreparation,
        /// Its measurements of the drive: discards, fills, rounds.
        measured: Vec<&'a Measurement>,
        /// Size of the drive, bytes.
        capacity: Option<u64>,
    },
    /// By an earlier run, from the store.
    Earlier {
        state: Option<&'a DriveState>,
        /// Bytes that hosts wrote to the drive from then to the run's start.
        written_since: Option<u128>,
    },
}

impl<'a> Preparation<'a> {
    fn of(record: &RunRecord, target: &str, prepared: &'a [DriveState]) -> Self {
        let namespace = record.host().and_then(|host| host.namespace(target));
        let is_of = |state: &&DriveState| {
            namespace.is_some_and(|(drive, namespace)| {
                drive.serial.get() == Some(&state.serial)
                    && namespace.nsid.get() == Some(&state.nsid)
            })
        };
        let state = prepared.iter().find(is_of);
        let now = namespace.and_then(|(drive, _)| Some(drive.health.get()?.host_written_bytes));
        let then = state.and_then(|state| state.host_written_bytes);
        let written_since = now.zip(then).and_then(|(now, then)| now.checked_sub(then));
        Self::Earlier { state, written_since }
    }

    fn purge(&self) -> Vec<String> {
        let state = match self {
            Self::ByRun { own, measured, .. } => {
                let Some(method) = own.purge else { return vec!["none".into()] };
                let is_discard = |of: &&&Measurement| of.purpose == Purpose::Discard;
                let end = match measured.iter().rfind(is_discard) {
                    _ if !measured.iter().all(|of| is_discard(&of)) => BY_THE_RUN,
                    Some(discard) => by_the_run(discard),
                    None => "started by this run, no end recorded",
                };
                return vec![method.name().into(), end.into()];
            }
            Self::Earlier { state, .. } => *state,
        };
        let Some(state) = state else {
            return vec!["unknown: none recorded".into()];
        };
        match state.purge {
            Some(method) => vec![method.name().into(), when(state)],
            None => vec!["none in the last preparation".into(), when(state)],
        }
    }

    fn conditioning(&self, asked: &str) -> Vec<String> {
        let asked = match asked {
            "" => "the plan requires none".to_owned(),
            asked => format!("plan requires: {asked}"),
        };
        let (state, written_since) = match self {
            Self::ByRun { measured, capacity, .. } => {
                let fills = || measured.iter().filter(|of| of.purpose.is_fill());
                let bytes = fills().filter_map(|of| {
                    let write = of.result(Direction::Write)?;
                    write.whole_bytes.or(write.bytes)
                });
                return match (bytes.fold(0, u64::saturating_add), fills().next_back()) {
                    (0, _) | (_, None) => vec!["not written".into(), asked],
                    (bytes, Some(last)) => vec![
                        format!("{}, in 128 KiB blocks", written(bytes, *capacity)),
                        by_the_run(last).into(),
                        asked,
                    ],
                };
            }
            Self::Earlier { state, written_since } => (*state, *written_since),
        };
        let Some(state) = state else { return vec!["not known".into(), asked] };
        let mut items = vec![match state.fill {
            Some(fill) => written(fill.written_bytes, state.capacity_bytes),
            None => "not written in the last preparation".into(),
        }];
        items.push(when(state));
        items.push(match written_since {
            Some(0) => "nothing written since, by the drive's own count".into(),
            Some(bytes) => format!(
                "{} written since, by the drive's own count",
                Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)).decimal()
            ),
            None => "unknown whether it was written since".into(),
        });
        items.push(asked);
        items
    }
}

/// Amount of a sequential fill of a drive of `capacity` bytes.
fn written(bytes: u64, capacity: Option<u64>) -> String {
    let amount = Bytes(bytes).decimal();
    match capacity {
        Some(capacity) if capacity > 0 => {
            let times = bytes as f64 / capacity as f64;
            format!("written {times:.2} times its capacity in sequence ({amount})")
        }
        _ => format!("{amount} written in sequence"),
    }
}

/// Whether a step of a preparation by the run itself completed.
fn by_the_run(last: &Measurement) -> &'static str {
    match last.end {
        EndReason::Interrupted => "by this run, stopped before its end",
        EndReason::Failed(_) => "by this run, FAILED",
        _ => BY_THE_RUN,
    }
}

/// Time of a preparation, and whether it completed.
fn when(state: &DriveState) -> String {
    let at = format!("{} UTC", utc(state.at_ns));
    match state.state {
        PreparationState::Done => at,
        PreparationState::Begun => format!("started {at}, no end recorded"),
        PreparationState::Interrupted => format!("stopped {at}, before its end"),
        PreparationState::Failed => format!("FAILED {at}"),
    }
}

fn device(host: &Host, target: &str, record: &RunRecord) -> Vec<String> {
    let mut items = vec![target.to_owned()];
    let Some((drive, _)) = host.namespace(target) else {
        items.push("not an NVMe namespace".into());
        let mut conditions = record.measurements.iter().map(|of| &of.conditions);
        if let Some(under) = conditions.find_map(|of| of.device.as_deref()) {
            items.push(format!("on {under}"));
        }
        return items;
    };
    let fact = |label: &str, value: Option<String>| match value {
        Some(value) => format!("{label} {value}"),
        None => format!("{label} not known"),
    };
    items.push(fact("model", drive.model.value()));
    items.push(fact("serial", drive.serial.value()));
    items.push(fact("firmware", drive.firmware.value()));
    items.extend(drive.address.value().map(|address| format!("at {address}")));
    items.push(fact("capacity", drive.capacity.value().map(|bytes: Bytes| bytes.decimal())));
    items.extend(drive.transport.value());
    items.push(fact("link", link(host, drive)));
    items.push(write_cache(drive));
    items
}

/// The last of the links down to the drive.
fn link(host: &Host, drive: &Drive) -> Option<String> {
    let LinkState { generation, width } = host.own_link(drive)?.current.value()?;
    Some(format!("Gen{generation} x{width}"))
}

/// From feature 06h; the kernel's queue has the state at detection only.
fn write_cache(drive: &Drive) -> String {
    match &drive.write_cache_on {
        Fact::Absent => "no volatile write cache".into(),
        fact => match fact.get() {
            Some(true) => "volatile write cache on".into(),
            Some(false) => "volatile write cache off".into(),
            None => "volatile write cache unknown".into(),
        },
    }
}

/// Settings shared by all measurements, and the thread counts and depths used.
fn settings(measurements: &[&Measurement]) -> Vec<String> {
    let workloads = || measurements.iter().map(|of| &of.workload);
    let numbers = |of: &mut dyn Iterator<Item = Option<u32>>| {
        let known: BTreeSet<u32> = of.flatten().collect();
        match known.is_empty() {
            true => "not known".into(),
            false => known.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        }
    };
    let mut items = vec![
        format!("threads {}", numbers(&mut workloads().map(|of| of.numjobs))),
        format!("queue depth per thread {}", numbers(&mut workloads().map(|of| of.iodepth))),
    ];
    let range = |of: &&Measurement| {
        let Workload { size, options, .. } = &of.workload;
        let is_part =
            size.is_some() || ["size", "offset"].iter().any(|it| options.contains_key(*it));
        match (of.conditions.range_bytes.or(*size), options.get("size")) {
            _ if !is_part => "range: the whole target".into(),
            (Some(bytes), _) => format!("range {}", Bytes(bytes).decimal()),
            (None, Some(size)) => match size.parse() {
                Ok(bytes) => format!("range {}", Bytes(bytes).decimal()),
                Err(_) => format!("range {size}"),
            },
            (None, None) => "range not known".into(),
        }
    };
    let ranges: BTreeSet<String> = measurements.iter().map(range).collect();
    items.extend(ranges);
    // Seconds by default.
    let time = |text: &String| parse_duration_ns(text, 1e9).map(|ns| ns as u64);
    let lasts = |options: &BTreeMap<String, String>| {
        options.contains_key("time_based") || !options.contains_key("runtime")
    };
    let times: BTreeSet<u64> =
        workloads().filter_map(|of| of.options.get("runtime").and_then(time)).collect();
    let times: Vec<String> = times.iter().map(|ns| format_duration_ns(*ns as f64)).collect();
    items.push(match times.is_empty() {
        true => "time per point unknown".into(),
        false if workloads().all(|of| lasts(&of.options)) => {
            format!("time per point {}", times.join(", "))
        }
        false => format!("time per point at most {}", times.join(", ")),
    });
    let is_refilled = |of: &&Measurement| of.workload.options.contains_key("refill_buffers");
    let smaller: BTreeSet<String> = measurements.iter().filter_map(|of| compressible(of)).collect();
    let is_known = !measurements.is_empty();
    items.push(match is_known && measurements.iter().all(is_refilled) {
        _ if !smaller.is_empty() => {
            let smaller: Vec<&str> = smaller.iter().map(String::as_str).collect();
            format!("data: compressible or repeated ({})", smaller.join(", "))
        }
        true => "data: random, new for each write".into(),
        false => "data: as the options say".into(),
    });
    items
}
