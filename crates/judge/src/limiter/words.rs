//! The answer in sentences: for somebody who does not know PCIe, with the
//! figures for somebody who does.

use iodyno_model::{
    Direction, FillOrder, JudgedMeasurement, LinkState, Validity, WrittenState, format_mb_per_s,
};

use super::answer::{Answer, Next};
use super::case::{Case, figure, range};
use super::contrast::{Change, Contrast, Effect};
use super::suspect::{Limiter, Standing, Suspect};
use super::weigh::Scene;
use crate::ceiling::Bound;
use crate::compare::percent;
use crate::facts::claim_of;

/// A link whose payload is this close to what each drive gives is consistent with it.
const CONSISTENT: f64 = 0.03;

/// What limits, why, and what comes next.
pub(super) fn sentence(
    scene: &Scene<'_, '_>,
    answer: &Answer,
    suspects: &[Suspect],
    judged: &JudgedMeasurement,
) -> String {
    let case = scene.case;
    let mut parts: Vec<String> = Vec::new();
    if judged.validity == Validity::Invalid {
        parts.push(invalid(scene, judged));
    }
    match answer {
        Answer::Named { limiter, next } => {
            let mut what = because(scene, *limiter, suspects);
            if let Some(also) = unchanged(scene) {
                what.push_str(&format!(", and {also}"));
            }
            parts.push(format!("{what}: what limits is {}.", limiter.title(case)));
            parts.extend(next.as_ref().map(behind));
            if matches!(limiter, Limiter::Link) && next.as_ref().is_some_and(|next| next.measured) {
                return parts.join(" ");
            }
        }
        Answer::Experiment(experiment) => {
            parts.push(format!("{}: next, {}.", case.figure(), experiment.what()));
        }
        Answer::Undecided { between, .. } => {
            parts.push(undecided(scene, between, suspects));
        }
    }
    parts.extend(elsewhere(scene));
    parts.join(" ")
}

pub(super) fn advice(scene: &Scene<'_, '_>, answer: &Answer) -> String {
    match answer {
        Answer::Named { limiter, .. } => limiter.advice(scene.case).to_owned(),
        Answer::Experiment(experiment) => format!("Next: {}.", experiment.what()),
        Answer::Undecided { experiments, .. } => {
            if !unclear(scene).is_empty() {
                return "Measure again while the machine is quiet, or for longer (--time 5m)."
                    .into();
            }
            let what: Vec<&str> = experiments.iter().map(|experiment| experiment.what()).collect();
            if what.is_empty() {
                String::new()
            } else {
                format!("To decide it, {}.", what.join("; "))
            }
        }
    }
}

/// Why it is no statement about flash.
fn invalid(scene: &Scene<'_, '_>, judged: &JudgedMeasurement) -> String {
    let case = scene.case;
    if case.blocks != WrittenState::Unwritten {
        let why = judged.reasons.first().map(|(_, why)| why.as_str()).unwrap_or_default();
        return format!("INVALID: {why}.");
    }
    let near = scene.ceiling(Bound::Claim).map(|claim| {
        let share = case.rate.value / claim.value;
        let claimed = figure(case.metric, claim.value);
        match share {
            share if share > 1.05 => format!(
                "; it is {} of the {claimed} that the data sheet states only because nothing is read",
                percent(share)
            ),
            share if share > 0.9 => {
                format!("; it is near the {claimed} of the data sheet only because nothing is read")
            }
            _ => String::new(),
        }
    });
    format!(
        "INVALID as a statement about flash: the blocks hold nothing (trimmed or never written), \
         so the drive answers without reading any{}.",
        near.unwrap_or_default()
    )
}

/// The evidence against `limiter`, as the beginning of a sentence.
fn because(scene: &Scene<'_, '_>, limiter: Limiter, suspects: &[Suspect]) -> String {
    let case = scene.case;
    let standing = suspects.iter().find(|suspect| suspect.limiter == limiter);
    let confirmed = standing.and_then(|suspect| match &suspect.standing {
        Standing::Confirmed(why) => Some(why.clone()),
        _ => None,
    });
    let done = done(case);
    match (limiter, confirmed) {
        (Limiter::Link, _) if case.drive_count == 1 => {
            let carries = scene.ceiling(Bound::Link).zip(case.own_link());
            let carries = carries.and_then(|(ceiling, link)| {
                let raw = format_mb_per_s(link.raw_bytes_per_s()?);
                let data = match ceiling.low < ceiling.value {
                    true => range(case.metric, ceiling.low, ceiling.value),
                    false => figure(case.metric, ceiling.value),
                };
                Some(format!("PCIe {} carries {raw} raw and about {data} of data", link.label()))
            });
            format!("{}; {} were {done}", carries.unwrap_or_default(), case.figure())
        }
        (Limiter::Drive, Some(why)) => {
            let state = match case.fill {
                Some(FillOrder::Random) => {
                    "; its blocks were written at random, and what it gives \
                                            after a sequential fill is untested"
                }
                _ => "",
            };
            format!("{} were {done} ({why}){state}", case.figure())
        }
        (_, Some(why)) => format!("{} were {done}; {why}{}", case.figure(), not_the_slot(scene)),
        (_, None) => {
            let cleared: Vec<String> = suspects
                .iter()
                .filter_map(|suspect| match &suspect.standing {
                    Standing::Cleared(why) => {
                        Some(format!("not {} ({why})", suspect.limiter.short()))
                    }
                    _ => None,
                })
                .collect();
            match cleared.is_empty() {
                true => format!("{} were {done}", case.figure()),
                false => format!(
                    "{} were {done}; it is {}{}",
                    case.figure(),
                    cleared.join(", "),
                    not_the_slot(scene)
                ),
            }
        }
    }
}

/// Of drives behind a card: that its slot could carry more.
fn not_the_slot(scene: &Scene<'_, '_>) -> String {
    let slot = scene.ceiling(Bound::SharedLink).filter(|slot| !scene.is_reached(slot));
    slot.map_or_else(String::new, |slot| {
        let carries = range(scene.case.metric, slot.low, slot.value);
        format!(", nor {} ({carries})", slot.what)
    })
}

/// What the I/O was.
fn done(case: &Case<'_>) -> &'static str {
    match case.of_run().total.as_slice() {
        [only] if only.direction == Direction::Read => "read",
        [only] if only.direction == Direction::Write => "written",
        _ => "moved",
    }
}

/// `neither depth nor jobs change it`.
fn unchanged(scene: &Scene<'_, '_>) -> Option<String> {
    let same = |pick: fn(&Change) -> bool| {
        let mut all = scene.contrasts.iter().filter(|contrast| pick(&contrast.change)).peekable();
        all.peek().is_some()
            && all.all(|contrast| matches!(contrast.effect(), Effect::Same | Effect::Fell))
    };
    let depth = same(|change| matches!(change, Change::Depth(from, to) if to > from));
    let jobs = same(|change| matches!(change, Change::Jobs(from, to) if to > from));
    match (depth, jobs) {
        (true, true) => Some("neither more depth nor more jobs raise it".into()),
        (true, false) => Some("more depth does not raise it".into()),
        (false, true) => Some("more jobs do not raise it".into()),
        (false, false) => None,
    }
}

fn behind(next: &Next) -> String {
    let gain = match next.gain {
        gain if gain < 1.0 => format!("{:.0} % more", gain * 100.0),
        gain => format!("{:.1} times as much", gain + 1.0),
    };
    match next.measured {
        true => format!("With it out of the way {gain} was measured ({}).", next.what),
        false => format!("Behind it comes {}: at most {gain}.", next.what),
    }
}

fn undecided(scene: &Scene<'_, '_>, between: &[Limiter], suspects: &[Suspect]) -> String {
    let case = scene.case;
    let mut text = format!("{} were {}", case.figure(), done(case));
    if let Some(alone) = layer_against_alone(scene) {
        text.push_str(&format!(": {alone}"));
    }
    if between.is_empty() {
        text.push_str(", and nothing of what is known limits that; more has to be measured.");
        return text;
    }
    let titles: Vec<String> = between.iter().map(|limiter| limiter.title(case)).collect();
    text.push_str(&format!(". Whether {} limits is not decided", listed(&titles, "or")));
    let others: Vec<String> = suspects
        .iter()
        .filter_map(|suspect| match (&suspect.standing, suspect.limiter) {
            (Standing::Cleared(why), limiter) => Some(format!("not {} ({why})", limiter.short())),
            _ => None,
        })
        .collect();
    if !others.is_empty() {
        text.push_str(&format!("; it is {}", others.join(", ")));
    }
    text.push('.');
    let unclear = unclear(scene);
    if !unclear.is_empty() {
        text.push_str(&format!(" The rates vary too much to tell: {}.", unclear.join("; ")));
    }
    text
}

/// More depth and more jobs that were tried, and whose intervals leave all open.
fn unclear(scene: &Scene<'_, '_>) -> Vec<String> {
    let tried = scene.contrasts.iter().filter(|contrast| {
        matches!(contrast.change, Change::Depth(..) | Change::Jobs(..))
            && contrast.effect() == Effect::Unclear
    });
    let text = |contrast: &Contrast<'_>| {
        let (low, high) = (contrast.ratio.low(), contrast.ratio.high());
        format!("{} x{:.2} ({low:.2} to {high:.2})", contrast.title(), contrast.ratio.value)
    };
    tried.map(text).collect()
}

/// What a layer makes of its members.
fn layer_against_alone(scene: &Scene<'_, '_>) -> Option<String> {
    let layer = scene.case.layer.as_deref()?;
    let alone =
        scene.contrasts.iter().find(|contrast| matches!(contrast.change, Change::Layer(..)))?;
    let times = 1.0 / alone.ratio.value;
    let what = match scene.case.reads() {
        true => "read load",
        false => "write load",
    };
    let gave = alone.other.figure();
    Some(match times {
        times if times < 1.05 => {
            format!("the {layer} does not speed up this {what}, one drive alone gave {gave}")
        }
        times => format!("{times:.1} times the {gave} of one drive alone"),
    })
}

/// The same on another link, which is what explains most.
fn elsewhere(scene: &Scene<'_, '_>) -> Option<String> {
    let contrast =
        scene.contrasts.iter().find(|contrast| matches!(contrast.change, Change::Link(..)))?;
    let Change::Link(_, link) = &contrast.change else { return None };
    let what = if scene.case.reads() { "reads" } else { "I/Os" };
    let figure = contrast.other.figure();
    Some(format!("On {} the same {what} ran at {figure}.", link.label()))
}

/// What else is to be known of the case.
pub(super) fn notes(scene: &Scene<'_, '_>, judged: &JudgedMeasurement) -> Vec<String> {
    let case = scene.case;
    let against = judged.metrics.iter().filter(|metric| metric.claim.is_some());
    let mut notes: Vec<String> =
        against.map(|metric| format!("{}: {}", metric.verdict.label(), metric.reason)).collect();
    notes.extend(consistent_link(scene));
    if case.drive_count > 1 && case.layer.is_none() {
        let each = figure(case.metric, case.rate.value / case.drive_count as f64);
        notes.push(format!("{each} for each of {} drives on the average", case.drive_count));
    }
    let of = case.of_run();
    let queue = crate::place::devices(case.host(), of);
    if let [bottom] = queue.as_slice()
        && let Some(block) = case.host().and_then(|host| host.block(bottom))
        && let (Some(bs), Some(kib)) = (of.workload.bs, block.queue.max_sectors_kib.value())
        && bs > u64::from(kib) << 10
    {
        notes.push(format!(
            "each I/O is split: the queue of {bottom} takes {kib} KiB at a time (max_sectors_kb)"
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
    if let (Some(slots), Some(asked)) = (crate::ceiling::queue_slots(case), case.outstanding())
        && asked > slots
    {
        notes.push(format!(
            "{asked} I/Os are to be outstanding, and the queue holds {slots} (nr_requests)"
        ));
    }
    if let Some((iops, bandwidth)) = larger_blocks(scene) {
        notes.push(match bandwidth > 1.5 {
            true => format!(
                "larger blocks move {bandwidth:.1} times as many bytes: the limit is one of I/Os"
            ),
            false if iops < 0.75 => {
                "larger blocks move hardly more bytes: the limit is one of bytes".to_owned()
            }
            false => "larger blocks move some more bytes".to_owned(),
        });
    }
    notes
}

/// What larger blocks did: to the I/Os and to the bytes, as ratios.
fn larger_blocks(scene: &Scene<'_, '_>) -> Option<(f64, f64)> {
    scene.contrasts.iter().find_map(|contrast| match contrast.change {
        Change::BlockSize(from, to) if to > from => {
            let bytes = contrast.other.bytes_per_s()? / scene.case.bytes_per_s()?;
            Some((bytes * from as f64 / to as f64, bytes))
        }
        _ => None,
    })
}

/// Behind a card: a link that carries just what each drive gives.
fn consistent_link(scene: &Scene<'_, '_>) -> Option<String> {
    let case = scene.case;
    if case.cards().is_empty() || case.own_link().is_some() {
        return None;
    }
    let sheet = claim_of(scene.claims, case.drives.first()?)?;
    let (most_generation, most_width) = (sheet.pcie_gen?, sheet.lanes?);
    let fewer: Vec<f64> = scene
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

/// `a, b or c`.
fn listed(items: &[String], last: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., end] => format!("{} {last} {end}", init.join(", ")),
    }
}
