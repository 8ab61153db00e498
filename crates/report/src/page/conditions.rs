//! Lists all known conditions of a measurement.

use iodyno_model::{
    Bytes, Conditions, EndReason, Measurement, SteadyState, Workload, WrittenState, format_count,
    format_duration_ns, format_mb_per_s,
};

use crate::text::figure::percent;
use crate::text::runs::utc;
use crate::text::words::clean;

/// Returns the conditions as (name, value), the most important first.
pub(super) fn conditions(of: &Measurement) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut put = |what: &str, value: Option<String>| {
        let value = value.filter(|value| !value.is_empty());
        lines.extend(value.map(|value| (what.to_string(), clean(&value))));
    };
    put("targets", Some(of.targets.join(", ")));
    put("options", Some(options(&of.workload)));
    let known = &of.conditions;
    put(
        "engine",
        known.engine_reason.clone().filter(|why| of.workload.ioengine.as_ref() != Some(why)),
    );
    put("load generator", Some(of.source.clone()));
    put("started", of.started_ns.map(|ns| format!("{} UTC", utc(ns))));
    put("measured", of.duration_ns.map(|ns| format_duration_ns(ns as f64)));
    let warmup = (of.warmup_ns > 0).then_some(of.warmup_ns);
    put("warm-up cut off", warmup.map(|ns| format_duration_ns(ns as f64)));
    put("ended", Some(end(&of.end).into()));
    target_conditions(known, &mut put);
    submission_conditions(known, &mut put);
    lines
}

fn target_conditions(known: &Conditions, put: &mut impl FnMut(&str, Option<String>)) {
    put("device", known.device.clone());
    put("scratch file", known.scratch.then(|| "made for the run".into()));
    let range = |(offset, length): &(u64, u64)| {
        format!("{} from {}", Bytes(*length).binary(), Bytes(*offset).binary())
    };
    put("range", Some(known.ranges.iter().map(range).collect::<Vec<_>>().join(", ")));
    for written in &known.written {
        let share = match written.state {
            WrittenState::Unknown => "not known".into(),
            _ if written.samples == 0 => percent(written.share.value),
            _ => format!("{} of {} samples", percent(written.share.value), written.samples),
        };
        put("blocks written", Some(format!("{}: {share} ({})", written.target, written.evidence)));
    }
    put("others' I/O", known.other_iops.map(|iops| format!("{} IOPS", format_count(iops))));
    put("others' bytes", known.other_bytes_per_s.map(format_mb_per_s));
    for beside in &known.beside {
        let rate = format_mb_per_s(beside.bytes_per_s);
        put("background I/O", Some(format!("rw={} on {}: {rate}", beside.rw, beside.target)));
    }
    for setting in &known.settings {
        let was = match setting.before == setting.value {
            true => "unchanged".to_owned(),
            false => format!("was {}", setting.before),
        };
        put("set", Some(format!("{} = {} ({was})", setting.path, setting.value)));
    }
    known.target_remarks.iter().for_each(|remark| put("remark", Some(remark.to_string())));
    known.shortfalls.iter().for_each(|shortfall| put("shortfall", Some(shortfall.to_string())));
}

fn submission_conditions(known: &Conditions, put: &mut impl FnMut(&str, Option<String>)) {
    let words = |of: Option<bool>, yes: &str, no: &str| {
        of.map(|of| if of { yes.to_string() } else { no.to_string() })
    };
    put("threads", known.threads.map(|threads| threads.to_string()));
    let cpus: Vec<String> = known.cpus.iter().map(u32::to_string).collect();
    put("on CPUs", Some(cpus.join(", ")));
    put("depth asked", known.depth_asked.map(|depth| depth.to_string()));
    put("depth reached", known.depth_reached.map(|depth| format!("{depth:.1} on average")));
    let tried = |(depth, iops): &(u32, f64)| format!("{depth}: {} IOPS", format_count(*iops));
    put("depths tried", Some(known.depths_tried.iter().map(tried).collect::<Vec<_>>().join(", ")));
    put("buffers", words(known.registered_buffers, "registered", "not registered"));
    put("kernel workers", words(known.punted, "ran the I/O", "none"));
    put("interval asked", known.precision_asked.map(|share| format!("± {}", percent(share))));
    let p99 = known.p99_precision_asked.map(|share| format!("± {}", percent(share)));
    put("requested precision of p99", p99);
    put("steady state asked", known.steady_state.as_ref().map(steady_state));
}

/// Describes the steady state criterion and what was measured against it.
fn steady_state(of: &SteadyState) -> String {
    let asked = format!("{} rounds of {}", of.rounds, format_duration_ns(of.round_ns as f64));
    match of.excursion.zip(of.slope_excursion) {
        Some((range, slope)) => format!(
            "over {asked} · found: range {} of the average, slope {}",
            percent(range),
            percent(slope)
        ),
        None => format!("over {asked} · run too short"),
    }
}

/// Formats the known options in fio's syntax.
fn options(workload: &Workload) -> String {
    let mut words = vec![workload.label()];
    words.extend(workload.ioengine.as_ref().map(|engine| format!("ioengine={engine}")));
    words.extend(workload.direct.map(|direct| format!("direct={}", u8::from(direct))));
    words.extend(workload.size.map(|size| format!("size={size}")));
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

fn end(end: &EndReason) -> &'static str {
    match end {
        EndReason::Time => "as planned",
        EndReason::Precision => "when precise enough",
        EndReason::MaxTime => "at the time limit",
        EndReason::Done => "when all work was done",
        EndReason::Interrupted => "interrupted by the user",
        EndReason::Failed(_) => "failed",
    }
}
