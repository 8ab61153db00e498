//! All known upper bounds of a measurement's rate, each with its source.

use iodyno_model::{
    Claim, Direction, Link, LinkState, Metric, format_count, format_duration_ns, format_mb_per_s,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::lowest::{COMMAND_BYTES, flow};
use crate::claims::ClaimBook;
use crate::claims::claim_of;
use crate::control_group::io_ceiling;
use crate::limiter::{Case, busiest_share};
use crate::measured::{is_paced, is_random, only_trims};
use crate::shape::Shape;

/// Possible maximum payload sizes of a link if none could be read, bytes: of desktops, of servers,
/// the largest in use.
const PAYLOADS_BYTES: [u32; 3] = [128, 256, 512];
/// Possible read completion boundaries at which a root may split writes, bytes: the smaller and the
/// larger; or no split.
const BOUNDARIES_BYTES: [u32; 3] = [64, 128, u32::MAX];

/// Kind of bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Data sheets of the drives.
    Claim,
    /// The drives' own links.
    Link,
    /// A link that several drives share, or a card's.
    SharedLink,
    /// Outstanding I/Os divided by the minimum time per I/O.
    Depth,
    /// Number of requests that the device's queue holds.
    Queue,
    /// CPU time of the submitting threads.
    Cpu,
    /// Rates of a layer's members measured one by one.
    Layer,
    /// Limits of control groups.
    ControlGroup,
}

/// Upper bound of a rate, in the unit of the case's metric.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ceiling {
    /// Kind of bound.
    pub bound: Bound,
    /// Value.
    #[schemars(with = "Option<f64>")]
    pub value: f64,
    /// Lowest possible value, if some of its inputs are not known.
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// Highest possible value.
    #[schemars(with = "Option<f64>")]
    pub high: f64,
    /// Description.
    pub what: String,
    /// Formula and its source.
    pub formula: String,
}

impl Ceiling {
    fn exact(bound: Bound, value: f64, what: String, formula: impl Into<String>) -> Self {
        Self { bound, value, low: value, high: value, what, formula: formula.into() }
    }
}

/// Returns all known ceilings of `case`, the lowest first; `others` are the other measurements.
pub(crate) fn ceilings(case: &Case<'_>, others: &[Case<'_>], claims: &ClaimBook) -> Vec<Ceiling> {
    let mut all: Vec<Ceiling> = Vec::new();
    all.extend(claim(case, claims));
    all.extend(links(case));
    all.extend(depth(case, others));
    all.extend(cpu(case));
    all.extend(layer(case, others));
    all.extend(control_group(case));
    all.retain(|ceiling| ceiling.value.is_finite() && ceiling.value > 0.0);
    all.sort_by(|a, b| a.value.total_cmp(&b.value));
    all
}

/// Returns the data sheet figure that bounds the workload of `case`, for one drive.
pub(crate) fn sheet_rate(case: &Case<'_>, sheet: &Claim) -> Option<f64> {
    let of = case.of_run();
    let random = is_random(of);
    let [result] = of.total.as_slice() else { return None };
    let rate = match (case.metric, result.direction) {
        (Metric::Bandwidth, Direction::Read) => sheet.seq_read_mbs.map(|mbs| mbs * 1e6),
        (Metric::Bandwidth, Direction::Write) => sheet.seq_write_mbs.map(|mbs| mbs * 1e6),
        (Metric::Iops, Direction::Read) if random => sheet.rand_read_iops,
        (Metric::Iops, Direction::Write) if random => sheet.rand_write_iops,
        _ => None,
    };
    // Sheets state IOPS of 4 KiB.
    let fits = case.metric == Metric::Bandwidth || of.workload.bs == Some(4096);
    rate.filter(|rate| fits && rate.is_finite() && *rate > 0.0)
}

/// Sum of the data sheet figures of all its drives; `None` if one is not known.
pub(crate) fn sheet_rates(case: &Case<'_>, claims: &ClaimBook) -> Option<f64> {
    let each = case.drives.iter().map(|drive| sheet_rate(case, claim_of(claims, drive)?));
    let sum = each.sum::<Option<f64>>()?;
    (!case.drives.is_empty() && case.drives.len() == case.drive_count).then_some(sum)
}

fn claim(case: &Case<'_>, claims: &ClaimBook) -> Option<Ceiling> {
    let rate = sheet_rates(case, claims)?;
    // A sheet's write rate does not include parity and copies.
    let plain =
        case.layer.as_deref().is_none_or(|layer| matches!(layer, "raid0" | "stripe" | "striped"));
    if !plain && !case.reads() {
        return None;
    }
    let mut kinds: Vec<(&Claim, usize)> = Vec::new();
    for sheet in case.drives.iter().filter_map(|drive| claim_of(claims, drive)) {
        match kinds.iter_mut().find(|(known, _)| *known == sheet) {
            Some((_, count)) => *count += 1,
            None => kinds.push((sheet, 1)),
        }
    }
    let title = |(sheet, count): &(&Claim, usize)| match count {
        1 => format!("the data sheet of {}", sheet.model),
        count => format!("{count} times the data sheet of {}", sheet.model),
    };
    let what = kinds.iter().map(title).collect::<Vec<_>>().join(" and ");
    let sources = kinds.iter().map(|(sheet, _)| sheet.source.clone()).collect::<Vec<_>>();
    Some(Ceiling::exact(Bound::Claim, rate, what, sources.join("; ")))
}

fn links(case: &Case<'_>) -> Vec<Ceiling> {
    const OF_READS: &str = "raw rate x payload / (payload + 24 bytes of packet) x 0.985 \
                            (Intel AN 456, AN 829)";
    const OF_WRITES: &str = "raw rate x completion / (completion + 20 bytes of packet) x 0.985, \
                             completions of 64 bytes to the payload size (PCIe Base \
                             Specification 6.0, 2.3.1.1; Intel AN 456)";
    let formula = if case.reads() { OF_READS } else { OF_WRITES };
    let Some(host) = case.host() else { return Vec::new() };
    let paths = case.paths();
    // Reads and writes use opposite directions: their sum has no such bound. Trims move no data.
    let is_mix = case.of_run().total.len() > 1;
    if case.virtual_disk.is_some() || paths.is_empty() || is_mix || only_trims(case.of_run()) {
        return Vec::new();
    }
    // A link is a drive's own if no other drive's path includes it.
    let is_own = |name: &str| {
        let users = paths.iter().filter(|path| path.iter().any(|link| link == name));
        users.count() == 1 && !case.is_of_card(name)
    };
    let state = |name: &str| host.link(name).and_then(|link| link.current.value());
    let per_io = |bytes_per_s: f64| match (case.metric, case.of_run().workload.bs) {
        (Metric::Bandwidth, _) => Some(bytes_per_s),
        (_, Some(bs)) => Some(bytes_per_s / (bs as f64 + COMMAND_BYTES)),
        _ => None,
    };
    let bounds = |own: bool| -> Option<[f64; 3]> {
        let mut found = [0.0; 3];
        let packets = PAYLOADS_BYTES.into_iter().zip(BOUNDARIES_BYTES);
        for (value, packet) in found.iter_mut().zip(packets) {
            let carried: Vec<Vec<(&str, f64)>> = paths
                .iter()
                .map(|path| {
                    let links = path.iter().filter(|name| is_own(name) == own);
                    let links = links.filter_map(|name| host.link(name));
                    links
                        .filter_map(|link| {
                            Some((link.name(), carried(link, case.reads(), packet)?))
                        })
                        .collect()
                })
                .collect();
            let slices: Vec<&[(&str, f64)]> = carried.iter().map(Vec::as_slice).collect();
            *value = per_io(flow(&slices)).filter(|rate| rate.is_finite())?;
        }
        Some(found)
    };
    let mut all = Vec::new();
    let mut add = |bound, values: Option<[f64; 3]>, what: String| {
        if let Some([low, value, high]) = values {
            all.push(Ceiling { bound, value, low, high, what, formula: formula.into() });
        }
    };
    let raw = |state: &LinkState| state.raw_bytes_per_s().unwrap_or(0.0);
    let own = paths.iter().flat_map(|path| path.iter()).filter(|name| is_own(name));
    let narrowest = own.filter_map(|name| state(name)).min_by(|a, b| raw(a).total_cmp(&raw(b)));
    if let Some(narrowest) = narrowest {
        let raw = format_mb_per_s(raw(&narrowest));
        let what = match paths.len() {
            1 => format!("PCIe {}, {raw} raw", narrowest.label()),
            count => format!("{count} links of PCIe {}, {raw} raw each", narrowest.label()),
        };
        add(Bound::Link, bounds(true), what);
    }
    let mut names: Vec<&str> = Vec::new();
    for name in paths.iter().flat_map(|path| path.iter()) {
        if !is_own(name) && state(name).is_some() && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if let Some(first) = names.first().and_then(|name| state(name)) {
        let card = case.cards().first().and_then(|card| card.name.value());
        let what = match (card, names.len()) {
            (Some(card), 1) => format!("the slot of {card}, PCIe {}", first.label()),
            (Some(card), count) => format!("{count} slots of {card}, PCIe {} each", first.label()),
            (None, 1) => format!("the uplink {}, PCIe {}", names[0], first.label()),
            (None, count) => format!("{count} links that drives share"),
        };
        add(Bound::SharedLink, bounds(false), what);
    }
    all
}

/// Rate of a link to or from memory, bytes per second; `unknown` are the maximum payload size if
/// none could be read, and the boundary at which completions are split.
fn carried(link: &Link, reads: bool, unknown: (u32, u32)) -> Option<f64> {
    let (unknown_bytes, boundary) = unknown;
    let ends = [link.port.max_payload_bytes.get(), link.device.max_payload_bytes.get()];
    let bytes = ends.into_iter().flatten().min().copied().unwrap_or(unknown_bytes);
    let state = link.current.get()?;
    if reads {
        state.payload_bytes_per_s(bytes)
    } else {
        state.written_bytes_per_s(bytes.min(boundary))
    }
}

/// Little's law with the latency of an unloaded device, measured at depth 1.
fn depth(case: &Case<'_>, others: &[Case<'_>]) -> Vec<Ceiling> {
    let mut all = Vec::new();
    let (Some(outstanding), Metric::Iops) = (case.outstanding(), case.metric) else { return all };
    let of = case.of_run();
    let shape = Shape::of(&of.workload);
    let alone = others.iter().filter(|other| {
        let theirs = other.of_run();
        other.outstanding() == Some(1)
            && theirs.targets == of.targets
            && Shape::of(&theirs.workload) == shape
            && !is_paced(theirs)
    });
    let alone = alone.filter_map(|other| other.latency_ns).reduce(f64::min);
    let Some(latency_ns) = alone else { return all };
    let over = |held: u32| f64::from(held) * 1e9 / latency_ns;
    let each = format_duration_ns(latency_ns);
    let formula = "outstanding I/Os / latency of one alone (Little's law)";
    let what = format!("{} outstanding at {each} each", format_count(f64::from(outstanding)));
    all.push(Ceiling::exact(Bound::Depth, over(outstanding), what, formula));
    if let Some(slots) = queue_slots(case).filter(|slots| *slots < outstanding) {
        let what = format!("a queue of {slots} requests at {each} each");
        all.push(Ceiling::exact(Bound::Queue, over(slots), what, formula));
    }
    all
}

/// Returns the number of requests that the queues of its only device hold.
pub(crate) fn queue_slots(case: &Case<'_>) -> Option<u32> {
    let bottoms = crate::place::devices(case.host(), case.of_run());
    let [bottom] = bottoms.as_slice() else { return None };
    let queue = &case.host()?.block(bottom)?.queue;
    Some(queue.nr_requests.value()?.saturating_mul(queue.hardware_queues.value()?.max(1)))
}

/// The rate at which the busiest submitting thread would use all of its CPU time.
fn cpu(case: &Case<'_>) -> Option<Ceiling> {
    let share = busiest_share(case.host(), case.of_run())?;
    // Below a tenth, the extrapolation would be as wide as the value.
    (share.share() >= 0.1).then(|| {
        let what = format!("submitting threads: {}", share.text());
        let formula = "rate / share of their CPU time that the submitting threads used";
        Ceiling::exact(Bound::Cpu, case.rate.value / share.share(), what, formula)
    })
}

/// The io.max limit of the control groups.
fn control_group(case: &Case<'_>) -> Option<Ceiling> {
    let (value, what) = io_ceiling(case.host()?, case.of_run(), case.metric)?;
    Some(Ceiling::exact(Bound::ControlGroup, value, what, "io.max (Linux, admin-guide/cgroup-v2)"))
}

/// Expected rate of a layer: a multiple of its slowest member, as far as one was measured.
fn layer(case: &Case<'_>, others: &[Case<'_>]) -> Option<Ceiling> {
    let layer = case.layer.as_deref()?;
    let shape = Shape::of(&case.of_run().workload);
    let alone = others.iter().filter(|other| {
        let theirs = other.of_run();
        other.layer.is_none()
            && other.drive_count == 1
            && case.may_contain(other)
            && other.metric == case.metric
            && Shape::of(&theirs.workload) == shape
            && !is_paced(theirs)
    });
    let slowest = alone.map(|other| other.rate.value).reduce(f64::min)?;
    let gain = super::gain(case)?;
    let what = format!(
        "{layer} of {}: {} times {}, what one gives alone",
        case.drive_count,
        format_count(gain.most),
        crate::limiter::figure(case.metric, slowest)
    );
    let formula = "members that work at the same time x slowest member alone";
    let most = slowest * gain.most;
    Some(Ceiling {
        low: slowest * gain.expected,
        ..Ceiling::exact(Bound::Layer, most, what, formula)
    })
}
