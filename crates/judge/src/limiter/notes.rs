//! Further remarks on a case, one sentence each.

use iodyno_model::{
    JudgedMeasurement, LinkState, Metric, MetricJudgement, Verdict, format_duration_ns,
    format_mb_per_s,
};

use super::case::{Case, FEW, figure};
use super::case_context::CaseContext;
use super::contrast::{Change, Contrast};
use super::cpu::is_passthrough;
use crate::ceiling::Bound;
use crate::claims::claim_of;
use crate::figures::percent;
use crate::measured::only_trims;

/// A link whose payload rate is this close to each drive's rate is consistent with it.
const CONSISTENT: f64 = 0.03;

/// Returns the remarks on a case.
pub(super) fn notes(context: &CaseContext<'_, '_>, judged: &JudgedMeasurement) -> Vec<String> {
    let case = context.case;
    let times = case.repetitions.len();
    let against = judged.metrics.iter().filter(|metric| metric.claim.is_some());
    let mut notes: Vec<String> = against.map(against_claim).collect();
    if times > 1 {
        let rates: Vec<String> =
            case.repetitions.iter().map(|rate| figure(case.metric, rate.value)).collect();
        let rates = rates.join(", ");
        notes.push(format!("measured {times} times, in turn with what was changed: {rates}"));
    }
    notes.extend(exceeded_claim(context));
    notes.extend(consistent_link(context));
    notes.extend(context.contrasts.iter().filter_map(|contrast| on_the_way(case, contrast)));
    if case.drive_count > 1 && case.layer.is_none() {
        let each = figure(case.metric, case.rate.value / case.drive_count as f64);
        notes.push(format!("{each} per drive on average, {} drives", case.drive_count));
    }
    let of = case.of_run();
    let queue = crate::place::devices(case.host(), of);
    if let [bottom] = queue.as_slice()
        && !only_trims(of)
        && let Some(block) = case.host().and_then(|host| host.block(bottom))
        && let (Some(bs), Some(kib)) = (of.workload.bs, block.queue.max_sectors_kib.value())
        && bs > u64::from(kib) << 10
    {
        notes.push(format!(
            "each I/O is split: {bottom} takes {kib} KiB per request ({})",
            if block.queue.max_hw_sectors_kib.value() == Some(kib) {
                "the drive's MDTS"
            } else {
                "max_sectors_kb"
            }
        ));
    }
    let strict = |drive: &&&iodyno_model::Drive| {
        drive.iommu.get().is_some_and(|iommu| iommu.strict.get() == Some(&true))
    };
    if let Some(drive) = case.drives.iter().find(strict) {
        notes.push(format!(
            "the IOMMU of {} is strict, which costs CPU time for each I/O; untested: it takes a \
             boot with iommu.strict=0",
            drive.name
        ));
    }
    if let (Some(slots), Some(asked)) = (case.short_queue(), case.outstanding()) {
        notes.push(format!("depth {asked} exceeds the queue of {slots} (nr_requests)"));
    }
    if let Some((iops, bandwidth, larger)) = larger_blocks(context) {
        // I/Os split into whole numbers of the same commands change nothing.
        let most =
            case.host().and_then(|host| host.block(queue.first()?)?.queue.max_sectors_kib.value());
        let splits = most
            .zip(of.workload.bs)
            .is_some_and(|(kib, bs)| larger > u64::from(kib) << 10 && bs >= u64::from(kib) << 10);
        notes.push(match bandwidth > 1.5 {
            true => format!(
                "larger blocks move {bandwidth:.1} times as many bytes: the limit is IOPS"
            ),
            false if iops < 0.75 && splits => {
                "larger blocks are cut into commands of the same size, so they do not tell whether the \
                 limit is one of bytes"
                    .to_owned()
            }
            false if iops < 0.75 => {
                "larger blocks hardly move more bytes: the limit is bandwidth".to_owned()
            }
            false => "larger blocks move some more bytes".to_owned(),
        });
    }
    notes
}

/// Returns the verdict on a claim: `PASS, above: 128 % of the claim`.
fn against_claim(judged: &MetricJudgement) -> String {
    let above = judged.claim.as_ref().is_some_and(|claim| {
        judged.verdict == Verdict::Pass
            && judged.metric != Metric::LatencyMean
            && judged.estimate.low() > claim.value
    });
    let above = if above { ", above" } else { "" };
    format!("{}{above}: {}", judged.verdict.label(), judged.reason)
}

/// A claim that is exceeded is no bound, and a sign that something is off.
fn exceeded_claim(context: &CaseContext<'_, '_>) -> Option<String> {
    let claim = context.ceiling(Bound::Claim).filter(|claim| context.is_exceeded(claim))?;
    Some(format!(
        "{} is {} of what {} states ({}), so that is no ceiling here and confirms nothing: a burst or \
         a cache, a small area, blocks without data, or another drive's sheet",
        context.case.figure(),
        percent(context.case.rate.value / claim.value),
        claim.what,
        figure(context.case.metric, claim.value)
    ))
}

/// Latency without interrupts or without the block layer, at low depth.
fn on_the_way(case: &Case<'_>, contrast: &Contrast<'_>) -> Option<String> {
    let is_shorter_path = contrast.change == Change::Polling || is_passthrough(&contrast.change);
    let few = case.outstanding().filter(|count| *count <= FEW).is_some();
    let (ours, theirs) =
        case.latency_ns.zip(contrast.other.latency_ns).filter(|_| is_shorter_path && few)?;
    Some(format!(
        "{} each I/O takes {}, not {}",
        contrast.title(),
        format_duration_ns(theirs),
        format_duration_ns(ours)
    ))
}

/// Effect of larger blocks on IOPS and bandwidth, as ratios, and their size.
fn larger_blocks(context: &CaseContext<'_, '_>) -> Option<(f64, f64, u64)> {
    context.contrasts.iter().find_map(|contrast| match contrast.change {
        Change::BlockSize(from, to) if to > from => {
            let bytes = contrast.other.bytes_per_s()? / context.case.bytes_per_s()?;
            Some((bytes * from as f64 / to as f64, bytes, to))
        }
        _ => None,
    })
}

/// Behind a card: finds a link that carries exactly the rate of each drive.
fn consistent_link(context: &CaseContext<'_, '_>) -> Option<String> {
    let case = context.case;
    if case.cards().is_empty() || case.own_link().is_some() {
        return None;
    }
    let sheet = claim_of(context.claims, case.drives.first()?)?;
    let (most_generation, most_width) = (sheet.pcie_gen?, sheet.lanes?);
    let fewer: Vec<f64> = context
        .contrasts
        .iter()
        .filter(|contrast| matches!(contrast.change, Change::Drives(..)))
        .filter_map(|contrast| {
            Some(contrast.other.bytes_per_s()? / contrast.other.drive_count as f64)
        })
        .collect();
    let own = case.bytes_per_s()? / case.drive_count as f64;
    let each = fewer.into_iter().fold(own, f64::max);
    // A drive behind a card trains no higher than the card's own generation.
    let card = case.cards().into_iter().find_map(|card| {
        let link = card.links.last().and_then(|name| case.host()?.link(name))?;
        link.current.value()
    });
    let most_generation = card.map_or(most_generation, |card| most_generation.min(card.generation));
    let widths = [1, 2, 4, 8].into_iter().filter(|width| *width <= most_width);
    let found =
        widths.map(|width| LinkState { generation: most_generation, width }).find(|link| {
            link.payload_bytes_per_s(256)
                .is_some_and(|payload| (each / payload - 1.0).abs() <= CONSISTENT)
        })?;
    Some(format!(
        "{} a drive is what PCIe {} carries: consistent with that, to be checked behind the card",
        format_mb_per_s(each),
        found.label()
    ))
}
