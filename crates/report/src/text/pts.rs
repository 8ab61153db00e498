//! What the SNIA PTS wants to be reported of a test, besides host, drives and
//! figures, which stand in the tables. What nobody recorded is said to be unknown.

use std::collections::BTreeSet;

use iodyno_model::{
    BlockDevice, Bytes, Drive, EndReason, Host, LinkState, Measurement, Rounds, RunRecord,
};

use super::Style;
use super::ink::Ink;
use super::runs::{started, took};
use super::words::{Hanging, clean};

/// What a plan in rounds asked for.
#[derive(Debug, Clone, Copy)]
pub struct RoundsPlan<'a> {
    /// When its rounds are over.
    pub rounds: &'a Rounds,
    /// What it is about, in a line.
    pub about: &'a str,
    /// What it wants to be done to a drive before; empty: nothing.
    pub before: &'a str,
}

/// The test, the device, what was done before and how it was set, in a line or
/// a few each. It stands in front of [`super::rounds_text`].
pub fn pts_text(record: &RunRecord, plan: &RoundsPlan<'_>, style: &Style) -> String {
    let run = &record.run;
    let line = |label: &str, items: Vec<String>| {
        let items: Vec<String> = items.iter().map(|item| clean(item)).collect();
        let hanging = Hanging {
            lead: Ink::Bold.paint(label, style.color),
            lead_width: label.len(),
            indent: 14,
            width: style.width,
            separator: " · ",
            ink: Ink::Plain,
            color: style.color,
        };
        hanging.lines(&items)
    };
    let mut text = line("Test", vec![run.plan_name.clone(), plan.about.into()]);
    text += &line("Started", vec![format!("{} UTC", started(run)), format!("took {}", took(run))]);
    let sources: BTreeSet<&str> = record
        .measurements
        .iter()
        .map(|of| of.source.as_str())
        .filter(|of| !of.is_empty())
        .collect();
    let mut software = vec![format!("iodyno {}", run.writer)];
    software.extend(sources.into_iter().map(str::to_owned));
    text += &line("Software", software);
    for target in &run.targets {
        text +=
            &line("Device", record.host().map_or(Vec::new(), |host| device(host, target, record)));
    }
    text += &line("Purge", vec!["not known: nothing is recorded of one".into()]);
    let before = match plan.before {
        "" => "the plan asks for nothing".into(),
        before => format!("not known; the plan asks to {before}"),
    };
    text += &line("Conditioning", vec![before]);
    text += &line("Settings", settings(&record.measurements));
    let Rounds { most, window, excursion_percent, slope_percent, .. } = plan.rounds;
    text += &line(
        "Steady",
        vec![
            format!("window of {window} rounds, {most} rounds at most"),
            format!("range at most {excursion_percent} % of the average"),
            format!("rise of the line at most {slope_percent} % of it"),
        ],
    );
    let stopped = record.measurements.iter().filter(|of| of.end == EndReason::Interrupted).count();
    if stopped > 0 {
        text += &line("Pauses", vec![format!("stopped and taken up again {stopped} times")]);
    }
    text + &line("Not known", vec!["operator".into(), "form factor".into(), "media".into()])
}

fn device(host: &Host, target: &str, record: &RunRecord) -> Vec<String> {
    let mut items = vec![target.to_owned()];
    let Some((drive, _)) = host.namespace(target) else {
        items.push("not an NVMe namespace".into());
        let mut conditions = record.measurements.iter().map(|of| &of.conditions);
        if let Some(under) = conditions.find_map(|of| of.device.as_deref()) {
            items.push(format!("on {under}"));
            items.extend(host.block(under).and_then(write_cache));
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
    items.push(fact("capacity", drive.capacity.value().map(|bytes: Bytes| bytes.decimal())));
    items.extend(drive.transport.value());
    items.push(fact("link", link(host, drive)));
    items.extend(host.block(target).and_then(write_cache));
    items
}

/// Of the links down to the drive the one at its end.
fn link(host: &Host, drive: &Drive) -> Option<String> {
    let LinkState { generation, width } = host.link(drive.links.last()?)?.current.value()?;
    Some(format!("Gen{generation} x{width}"))
}

fn write_cache(block: &BlockDevice) -> Option<String> {
    block.queue.write_cache.value().map(|cache| format!("write cache: {cache}"))
}

/// What was the same in all measurements, and which threads and depths there were.
fn settings(measurements: &[Measurement]) -> Vec<String> {
    let workloads = || measurements.iter().map(|of| &of.workload);
    let numbers = |of: &mut dyn Iterator<Item = Option<u32>>| {
        let known: BTreeSet<u32> = of.flatten().collect();
        known.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    };
    let mut items = vec![
        format!("threads {}", numbers(&mut workloads().map(|of| of.numjobs))),
        format!("outstanding I/Os of each {}", numbers(&mut workloads().map(|of| of.iodepth))),
    ];
    let ranges: BTreeSet<u64> = workloads().filter_map(|of| of.size).collect();
    items.extend(ranges.into_iter().map(|bytes| format!("range {}", Bytes(bytes).decimal())));
    let times: BTreeSet<&str> =
        workloads().filter_map(|of| of.options.get("runtime")).map(String::as_str).collect();
    let times: Vec<&str> = times.into_iter().collect();
    items.push(format!("time of a point {}", times.join(", ")));
    let is_random = |of: &Measurement| of.workload.options.contains_key("refill_buffers");
    items.push(match measurements.iter().all(is_random) {
        true => "data: random, new for each write".into(),
        false => "data: as the options say".into(),
    });
    items
}
