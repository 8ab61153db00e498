//! Two measurements that differ in a single respect: an experiment, whoever made it.

use iodyno_model::{
    Beside, Bytes, Estimate, Experiment, FillOrder, LinkState, Metric, Spread, WrittenState,
    format_mb_per_s,
};

use super::case::Case;
use super::interrupts::{OneCpu, interrupts_on_one_cpu};
use super::power::{PowerSaving, power_saving};
use crate::shape::Shape;

/// Rounds without which nobody is named: what was asked, the change, and both again.
pub(super) const ROUNDS: usize = 2;
/// A rate that moves by less than this is the same: twice the precision that
/// is asked for, and what runs differ by from one day to the next.
const SAME: f64 = 0.05;
/// Where the intervals leave more than this open, nothing is known to be the same.
const LEFT_OPEN: f64 = 0.15;
/// What a figure of unknown spread may be off by.
const UNKNOWN_SPREAD: f64 = 0.02;
/// The engine that passes NVMe commands.
pub(crate) const PASSTHROUGH: &str = "io_uring_cmd";

/// The respect in which two measurements differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Depth of each job.
    Depth(u32, u32),
    /// Jobs, each as deep as before.
    Jobs(u32, u32),
    /// More jobs and less depth, or the other way round: as many I/Os are outstanding.
    Shape(u32, u32),
    /// Drives at once.
    Drives(usize, usize),
    /// Block size, bytes.
    BlockSize(u64, u64),
    /// Whether the blocks were ever written.
    Blocks(WrittenState, WrittenState),
    /// In which order they were written.
    Fill(FillOrder, FillOrder),
    /// What the drives' own links are trained to.
    Link(LinkState, LinkState),
    /// One device alone, and the layer that is made of so many.
    Layer(String, usize),
    /// Other CPUs.
    Cpus,
    /// Completions polled for.
    Polling,
    /// I/O engines.
    Engine(String, String),
    /// Threads that leave this CPU to the interrupts that it takes.
    OffInterrupts(u32),
    /// Other reads that let nothing rest.
    KeptAwake,
    /// What a neighbour is written meanwhile, bytes per second over all of them.
    NeighbourWrites(String, f64),
    /// A rest before it, with the hottest drive's temperature before and after that.
    Rested {
        /// °C
        from_c: Option<f64>,
        /// °C
        to_c: Option<f64>,
    },
    /// Nothing: the same at a later time.
    Again,
}

/// What a change did to the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It grew.
    Grew,
    /// It stayed.
    Same,
    /// It fell.
    Fell,
    /// The intervals are too wide to tell.
    Unclear,
}

/// Two measurements that differ in a single respect.
#[derive(Debug, Clone)]
pub struct Contrast<'a> {
    /// The respect.
    pub change: Change,
    /// The other measurement.
    pub other: Case<'a>,
    /// Its rate over that of the measurement in question, in the latter's metric.
    pub ratio: Estimate,
    /// How often the measurement in question was taken.
    times: usize,
    /// What the change cannot exceed: twice the I/Os are at most twice the rate.
    most: Option<f64>,
}

impl<'a> Contrast<'a> {
    /// `case` held against `other`; `None` where they differ in nothing, in
    /// more than one thing, or in what cannot be held against each other.
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
            // What wakes a link for each I/O it does no longer for two.
            Change::Depth(from, to) | Change::Jobs(from, to) if from > 0 && !may_rest(case) => {
                Some(f64::from(to) / f64::from(from))
            }
            _ => None,
        };
        Some(Self { change, other: other.clone(), ratio, times: case.repetitions.len(), most })
    }

    /// How often both were measured.
    pub(super) fn times(&self) -> usize {
        self.times.min(self.other.repetitions.len())
    }

    /// More than the change can have done: something else changed meanwhile.
    pub fn is_drift(&self) -> bool {
        self.most.is_some_and(|most| self.ratio.low() > most * (1.0 + SAME))
    }

    /// What the change did to the rate.
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

    /// It says nothing, or stands on one measurement of either.
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
                "past the block layer (io_uring_cmd)".into()
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

    /// The ratio with its interval: `x1.01 (0.97 to 1.05)`, and how often both were measured.
    pub fn ratio_text(&self) -> String {
        let (low, high) = (self.ratio.low(), self.ratio.high());
        let to = match high.is_finite() {
            true => format!("to {high:.2}"),
            false => "or more".into(),
        };
        let times = match (self.other.repetitions.len(), self.times) {
            (1, 1) => String::new(),
            (theirs, ours) => format!("; {theirs} against {ours}"),
        };
        format!("x{:.2} ({low:.2} {to}{times})", self.ratio.value)
    }

    /// What was measured instead: `1117 MB/s, x1.01 (0.97 to 1.05)`.
    pub fn outcome(&self) -> String {
        let drift = if self.is_drift() { ", more than it can have done: drift" } else { "" };
        format!("{}, {}{drift}", self.other.figure(), self.ratio_text())
    }
}

/// Link or drive rest between its I/Os, as far as is known.
fn may_rest(case: &Case<'_>) -> bool {
    let Some(host) = case.host().filter(|_| case.outstanding() == Some(1)) else { return false };
    let saving = power_saving(case.record, host, case.drives.iter().copied(), case.of_run());
    matches!(saving, Ok(Some(PowerSaving::Resting(_))))
}

/// How blocks were written, in words.
const fn order(fill: FillOrder) -> &'static str {
    match fill {
        FillOrder::Sequential => "in sequence",
        FillOrder::Random => "at random",
    }
}

/// Whether blocks were written, in words.
const fn blocks(state: WrittenState) -> &'static str {
    match state {
        WrittenState::Written => "that hold data",
        WrittenState::Partly => "of which a part holds data",
        WrittenState::Unwritten => "that hold nothing",
        WrittenState::Unknown => "of unknown state",
    }
}

/// Every respect in which the two differ; `None` where they are of different
/// workloads, drives or machines, so that no ratio means anything.
fn changes(a: &Case<'_>, b: &Case<'_>) -> Option<Vec<Change>> {
    let (ours, theirs) = (a.of_run(), b.of_run());
    let hostname = |case: &Case<'_>| case.host().and_then(|host| host.hostname.value());
    let model = |case: &Case<'_>| case.drives.first().and_then(|drive| drive.model.value());
    let same_place = match (ours.conditions.device.is_some(), ours.targets.len()) {
        // Drives of one model stand for each other; a file does not for another.
        (true, 1) => ours.targets == theirs.targets,
        _ => true,
    };
    let (our_shape, their_shape) = (Shape::of(&ours.workload), Shape::of(&theirs.workload));
    if our_shape.of_any_size() != their_shape.of_any_size()
        || hostname(a) != hostname(b)
        || model(a) != model(b)
        || !same_place
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
        (Some(layer), None) if b.drive_count == 1 => {
            changes.push(Change::Layer(layer.clone(), a.drive_count));
        }
        (None, Some(layer)) if a.drive_count == 1 => {
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
        ([], beside) => changes.push(loaded_beside(b, beside)),
        _ => return None,
    }
    // What no workload tells the experiment does.
    match b.experiment() {
        Some(Experiment::OnceMore) if changes.is_empty() => changes.push(Change::Again),
        Some(Experiment::Rest) if changes.is_empty() => changes.push(rested(b)),
        Some(Experiment::Polling) => changes.push(Change::Polling),
        _ => {}
    }
    Some(changes)
}

/// The threads of `b` run on other CPUs, or leave one to its interrupts.
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

/// What went on beside `case`: on its own target, or on another.
fn loaded_beside(case: &Case<'_>, beside: &[Beside]) -> Change {
    let own = &case.of_run().targets;
    if beside.iter().all(|one| own.contains(&one.target)) {
        return Change::KeptAwake;
    }
    let names: Vec<&str> = beside.iter().map(|one| one.target.as_str()).collect();
    let bytes_per_s = beside.iter().map(|one| one.bytes_per_s).sum();
    Change::NeighbourWrites(names.join(" and "), bytes_per_s)
}

/// The rest before `case`: the snapshot before it was taken after the rest, and
/// the one before that ahead of it.
fn rested(case: &Case<'_>) -> Change {
    let snapshot = |index: Option<usize>| case.record.snapshots.get(index?);
    let after = case.of_run().before;
    let before = after.and_then(|after| after.checked_sub(1));
    let hottest_c = |index| snapshot(index).and_then(|host| case.hottest_c(host));
    Change::Rested { from_c: hottest_c(before), to_c: hottest_c(after) }
}

/// One rate over the other, with the widest bounds that their own leave.
fn ratio(of: Estimate, to: Estimate) -> Estimate {
    // How a figure was rounded says nothing of how far the next one would be from it.
    let bounds = |rate: Estimate| match rate.spread {
        Spread::Unknown | Spread::Rounding { .. } => (
            rate.low().min(rate.value * (1.0 - UNKNOWN_SPREAD)),
            rate.high().max(rate.value * (1.0 + UNKNOWN_SPREAD)),
        ),
        Spread::Confidence { .. } => (rate.low(), rate.high()),
    };
    let ((low, high), (to_low, to_high)) = (bounds(of), bounds(to));
    // A rate that may be next to nothing leaves open how many times it the other is.
    let high = if to_low > 0.0 { high / to_low } else { f64::INFINITY };
    Estimate::confident(of.value / to.value, low / to_high, high, 0.95)
}
