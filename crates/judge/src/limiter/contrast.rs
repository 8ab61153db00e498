//! Two measurements that differ in a single respect: an experiment, whoever made it.

use iodyno_model::{
    Beside, Bytes, Estimate, Experiment, FillOrder, LinkState, Metric, Spread, WrittenState,
    format_mb_per_s,
};

use super::case::Case;
use super::interrupts::{OneCpu, interrupts_on_one_cpu};
use super::power::{PowerSaving, power_saving};
use crate::shape::Shape;

/// Minimum rounds to name a limiter: the measurement in question, the change, and both again.
pub(super) const ROUNDS: usize = 2;
/// A rate that moves by less than this is unchanged: twice the default precision, and about the
/// variation from day to day.
const SAME: f64 = 0.05;
/// If the intervals leave more than this open, the rates are not known to be equal.
const LEFT_OPEN: f64 = 0.15;
/// Assumed error of a figure of unknown spread.
const UNKNOWN_SPREAD: f64 = 0.02;
/// NVMe passthrough engine.
pub(crate) const PASSTHROUGH: &str = "io_uring_cmd";

/// Respect in which two measurements differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Depth of each job.
    Depth(u32, u32),
    /// Number of jobs, each with the same depth.
    Jobs(u32, u32),
    /// More jobs with less depth, or the reverse: the same number of outstanding I/Os.
    Shape(u32, u32),
    /// Number of drives at once.
    Drives(usize, usize),
    /// Block size, bytes.
    BlockSize(u64, u64),
    /// Written state of the blocks.
    Blocks(WrittenState, WrittenState),
    /// Order in which the blocks were written.
    Fill(FillOrder, FillOrder),
    /// State of the drives' own links.
    Link(LinkState, LinkState),
    /// One device alone, compared with a layer made of this many.
    Layer(String, usize),
    /// Other CPUs.
    Cpus,
    /// Polled completions.
    Polling,
    /// I/O engine.
    Engine(String, String),
    /// Threads moved off this CPU, which handles the interrupts.
    OffInterrupts(u32),
    /// Additional reads that keep link and drive awake.
    KeptAwake,
    /// Simultaneous writes to a neighbour, bytes per second over all neighbours.
    NeighbourWrites(String, f64),
    /// A rest before the measurement, with the hottest drive's temperature before and after the
    /// rest.
    Rested {
        /// °C
        from_c: Option<f64>,
        /// °C
        to_c: Option<f64>,
    },
    /// Nothing: repeated at a later time.
    Again,
}

/// Effect of a change on the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The rate grew.
    Grew,
    /// The rate is unchanged.
    Same,
    /// The rate fell.
    Fell,
    /// The intervals are too wide to tell.
    Unclear,
}

/// Two measurements that differ in a single respect.
#[derive(Debug, Clone)]
pub struct Contrast<'a> {
    /// Difference.
    pub change: Change,
    /// The other measurement.
    pub other: Case<'a>,
    /// Its rate divided by that of the measurement in question, in the latter's metric.
    pub ratio: Estimate,
    /// Repetitions of the measurement in question.
    times: usize,
    /// Upper bound of the change's effect: twice the I/Os give at most twice the rate.
    most: Option<f64>,
}

impl<'a> Contrast<'a> {
    /// Compares `case` with `other`; `None` if they do not differ, differ in more than one respect,
    /// or are not comparable.
    pub fn of(case: &Case<'a>, other: &Case<'a>) -> Option<Self> {
        let mut changes = changes(case, other)?;
        let (Some(change), true) = (changes.pop(), changes.is_empty()) else { return None };
        let theirs = match (case.metric, other.metric) {
            (a, b) if a == b => other.rate,
            (Metric::Bandwidth, _) => Estimate::bare(other.bytes_per_s()?),
            _ => Estimate::bare(other.iops?),
        };
        let ratio = case.as_repeated(other, ratio(theirs, case.rate));
        let most = match change {
            // A link that wakes up for each single I/O no longer does so for two.
            Change::Depth(from, to) | Change::Jobs(from, to) if from > 0 && !may_rest(case) => {
                Some(f64::from(to) / f64::from(from))
            }
            _ => None,
        };
        Some(Self { change, other: other.clone(), ratio, times: case.repetitions.len(), most })
    }

    /// Returns how often both were measured.
    pub(super) fn times(&self) -> usize {
        self.times.min(self.other.repetitions.len())
    }

    /// Returns true if the effect is larger than the change allows: something else changed in the
    /// meantime.
    pub fn is_drift(&self) -> bool {
        self.most.is_some_and(|most| self.ratio.low() > most * (1.0 + SAME))
    }

    /// Returns the effect of the change on the rate.
    pub fn effect(&self) -> Effect {
        let (low, high) = (self.ratio.low(), self.ratio.high());
        let value = self.ratio.value;
        if self.is_drift() {
            Effect::Unclear
        } else if value > 1.0 + SAME && low > 1.0 {
            Effect::Grew
        } else if value < 1.0 - SAME && high < 1.0 {
            Effect::Fell
        } else if (value - 1.0).abs() <= SAME && low >= 1.0 - LEFT_OPEN && high <= 1.0 + LEFT_OPEN {
            Effect::Same
        } else {
            Effect::Unclear
        }
    }

    /// Returns true if it is unclear, or based on one measurement of either.
    pub(super) fn is_weak(&self) -> bool {
        self.effect() == Effect::Unclear || self.times() < ROUNDS
    }

    /// `iodepth 32 to 64`, `8 drives to 10`.
    pub fn title(&self) -> String {
        match &self.change {
            Change::Depth(from, to) => format!("iodepth {from} to {to}"),
            Change::Jobs(from, to) => format!("{from} to {to} jobs"),
            Change::Shape(from, to) => format!("{from} to {to} jobs, as many I/Os outstanding"),
            Change::Drives(from, to) => format!("{from} to {to} drives"),
            Change::BlockSize(from, to) => {
                format!("blocks of {} to {}", Bytes(*from).binary(), Bytes(*to).binary())
            }
            Change::Blocks(_, to) => format!("from blocks {}", blocks(*to)),
            Change::Fill(_, to) => format!("from blocks written {}", order(*to)),
            Change::Link(from, to) => format!("link {} to {}", from.label(), to.label()),
            Change::Layer(layer, _) if self.other.layer.is_some() => format!("through {layer}"),
            Change::Layer(..) => "one drive alone".into(),
            Change::Cpus => "other CPUs".into(),
            Change::Polling => "completions polled for".into(),
            Change::Engine(_, to) if to == PASSTHROUGH => {
                "without block layer (io_uring_cmd)".into()
            }
            Change::Engine(from, to) => format!("{from} to {to}"),
            Change::OffInterrupts(cpu) => format!("threads off CPU {cpu}"),
            Change::KeptAwake => "kept awake by other reads".into(),
            Change::NeighbourWrites(name, bytes_per_s) => {
                format!("while {name} is written at {}", format_mb_per_s(*bytes_per_s))
            }
            Change::Rested { from_c: Some(from), to_c: Some(to) } => {
                format!("after a rest, {from:.0} to {to:.0} °C")
            }
            Change::Rested { .. } => "after a rest".into(),
            Change::Again => "once more at the end".into(),
        }
    }

    /// Returns the ratio with its interval, `x1.01 (0.97 to 1.05)`, and how often both were
    /// measured.
    pub fn ratio_text(&self) -> String {
        let (low, high) = (self.ratio.low(), self.ratio.high());
        let to = match high.is_finite() {
            true => format!("to {high:.2}"),
            false => "or more".into(),
        };
        let times = match (self.other.repetitions.len(), self.times) {
            (1, 1) => String::new(),
            (theirs, ours) => format!("; {theirs} and {ours} runs"),
        };
        format!("x{:.2} ({low:.2} {to}{times})", self.ratio.value)
    }

    /// Returns the other measurement's rate and the ratio: `1117 MB/s, x1.01 (0.97 to 1.05)`.
    pub fn outcome(&self) -> String {
        let drift = if self.is_drift() { ", too large for this change: drift" } else { "" };
        format!("{}, {}{drift}", self.other.figure(), self.ratio_text())
    }
}

/// Returns true if link or drive are known to rest between its I/Os.
fn may_rest(case: &Case<'_>) -> bool {
    let Some(host) = case.host().filter(|_| case.outstanding() == Some(1)) else { return false };
    let saving = power_saving(case.record, host, case.drives.iter().copied(), case.of_run());
    matches!(saving, Ok(Some(PowerSaving::Resting(_))))
}

/// Describes the order in which blocks were written.
const fn order(fill: FillOrder) -> &'static str {
    match fill {
        FillOrder::Sequential => "in sequence",
        FillOrder::Random => "at random",
    }
}

/// Describes the written state of blocks.
const fn blocks(state: WrittenState) -> &'static str {
    match state {
        WrittenState::Written => "that hold data",
        WrittenState::Partly => "of which a part holds data",
        WrittenState::Unwritten => "that hold nothing",
        WrittenState::Unknown => "of unknown state",
    }
}

/// Returns every respect in which the two differ; `None` if workload, drive or machine differ, so
/// that a ratio is meaningless.
fn changes(a: &Case<'_>, b: &Case<'_>) -> Option<Vec<Change>> {
    let (ours, theirs) = (a.of_run(), b.of_run());
    let hostname = |case: &Case<'_>| case.host().and_then(|host| host.hostname.value());
    let model = |case: &Case<'_>| case.drives.first().and_then(|drive| drive.model.value());
    let same_place = match (ours.conditions.device.is_some(), ours.targets.len()) {
        // Drives of one model may replace each other; files may not.
        (true, 1) => ours.targets == theirs.targets,
        _ => true,
    };
    // Disks without a known model, and virtual ones, have limits of their own each.
    let is_unique = |case: &Case<'_>| {
        let has_no_model = case.drives.is_empty() || case.virtual_disk.is_some();
        has_no_model && case.layer.is_none() && case.drive_count == 1
    };
    let same_disk = !is_unique(a) || !is_unique(b) || a.devices() == b.devices();
    let (our_shape, their_shape) = (Shape::of(&ours.workload), Shape::of(&theirs.workload));
    if our_shape.of_any_size() != their_shape.of_any_size()
        || hostname(a) != hostname(b)
        || model(a) != model(b)
        || !same_place
        || !same_disk
    {
        return None;
    }
    let mut changes = Vec::new();
    match (a.depth == b.depth, a.jobs == b.jobs) {
        (true, true) => {}
        (false, true) => changes.push(Change::Depth(a.depth?, b.depth?)),
        (true, false) => changes.push(Change::Jobs(a.jobs?, b.jobs?)),
        (false, false) => {
            let total = |case: &Case<'_>| Some(case.depth?.saturating_mul(case.jobs?));
            if total(a)? != total(b)? {
                return None;
            }
            changes.push(Change::Shape(a.jobs?, b.jobs?));
        }
    }
    if ours.workload.bs != theirs.workload.bs {
        changes.push(Change::BlockSize(ours.workload.bs?, theirs.workload.bs?));
    }
    match (&a.layer, &b.layer) {
        (a_layer, b_layer) if a_layer == b_layer => {
            if a.drive_count != b.drive_count {
                changes.push(Change::Drives(a.drive_count, b.drive_count));
            }
        }
        (Some(layer), None) if b.drive_count == 1 && a.may_contain(b) => {
            changes.push(Change::Layer(layer.clone(), a.drive_count));
        }
        (None, Some(layer)) if a.drive_count == 1 && b.may_contain(a) => {
            changes.push(Change::Layer(layer.clone(), b.drive_count));
        }
        _ => return None,
    }
    if a.blocks != b.blocks {
        changes.push(Change::Blocks(a.blocks, b.blocks));
    } else if a.fill != b.fill {
        changes.push(Change::Fill(a.fill?, b.fill?));
    }
    if a.own_link() != b.own_link() {
        changes.push(Change::Link(a.own_link()?, b.own_link()?));
    }
    if let (Some(ours), Some(theirs)) = (&ours.workload.ioengine, &theirs.workload.ioengine)
        && ours != theirs
    {
        changes.push(Change::Engine(ours.clone(), theirs.clone()));
    }
    if a.jobs == b.jobs {
        changes.extend(cpus(a, b));
    }
    match (ours.conditions.beside.as_slice(), theirs.conditions.beside.as_slice()) {
        (ours, theirs) if ours == theirs => {}
        ([], beside) => changes.push(concurrent_load(b, beside)),
        _ => return None,
    }
    // Changes that only the experiment's name shows.
    match b.experiment() {
        Some(Experiment::OnceMore) if changes.is_empty() => changes.push(Change::Again),
        Some(Experiment::Rest) if changes.is_empty() => changes.push(rested(b)),
        Some(Experiment::Polling) => changes.push(Change::Polling),
        _ => {}
    }
    Some(changes)
}

/// Returns a change if the threads of `b` run on other CPUs, or leave one to its interrupts.
fn cpus(a: &Case<'_>, b: &Case<'_>) -> Option<Change> {
    let (ours, theirs) = (&a.of_run().conditions.cpus, &b.of_run().conditions.cpus);
    if theirs.is_empty() {
        return None;
    }
    let one = interrupts_on_one_cpu(a.record, a.of_run()).ok().flatten();
    if let Some(OneCpu { cpu, .. }) = one
        && (ours.is_empty() || ours.contains(&cpu))
        && !theirs.contains(&cpu)
    {
        return Some(Change::OffInterrupts(cpu));
    }
    let apart = !ours.is_empty() && ours.iter().all(|cpu| !theirs.contains(cpu));
    apart.then_some(Change::Cpus)
}

/// Describes the load alongside `case`: on its own target, or on another.
fn concurrent_load(case: &Case<'_>, beside: &[Beside]) -> Change {
    let own = &case.of_run().targets;
    if beside.iter().all(|one| own.contains(&one.target)) {
        return Change::KeptAwake;
    }
    let names: Vec<&str> = beside.iter().map(|one| one.target.as_str()).collect();
    let bytes_per_s = beside.iter().map(|one| one.bytes_per_s).sum();
    Change::NeighbourWrites(names.join(" and "), bytes_per_s)
}

/// Describes the rest before `case`: its `before` snapshot was taken after the rest, and the
/// previous snapshot before the rest.
fn rested(case: &Case<'_>) -> Change {
    let snapshot = |index: Option<usize>| case.record.snapshots.get(index?);
    let after = case.of_run().before;
    let before = after.and_then(|after| after.checked_sub(1));
    let hottest_c = |index| snapshot(index).and_then(|host| case.hottest_c(host));
    Change::Rested { from_c: hottest_c(before), to_c: hottest_c(after) }
}

/// Divides two rates, with the widest bounds that their own allow.
fn ratio(of: Estimate, to: Estimate) -> Estimate {
    // The rounding of a figure says nothing about its repeatability.
    let bounds = |rate: Estimate| match rate.spread {
        Spread::Unknown | Spread::Rounding { .. } => (
            rate.low().min(rate.value * (1.0 - UNKNOWN_SPREAD)),
            rate.high().max(rate.value * (1.0 + UNKNOWN_SPREAD)),
        ),
        Spread::Confidence { .. } => (rate.low(), rate.high()),
    };
    let ((low, high), (to_low, to_high)) = (bounds(of), bounds(to));
    // If a rate may be close to 0, the ratio has no upper bound.
    let high = if to_low > 0.0 { high / to_low } else { f64::INFINITY };
    Estimate::confident(of.value / to.value, low / to_high, high, 0.95)
}
