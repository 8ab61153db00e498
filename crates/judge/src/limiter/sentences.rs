//! The answer in sentences: for readers who do not know PCIe, with the figures for those who do.

use iodyno_model::{
    Direction, Estimate, Experiment, FillOrder, JudgedMeasurement, LinkState, Metric, Validity,
    Verdict, WrittenState, format_mb_per_s, format_width,
};

use super::answer::{Answer, Next};
use super::case::{Case, figure, is_explain_run, range};
use super::case_context::CaseContext;
use super::contrast::{Change, Contrast, Effect};
use super::suspect::{Limiter, Standing, Suspect, listed};
use crate::ceiling::{Bound, Ceiling};
use crate::figures::percent;

/// States the limiter, the evidence, and what comes next.
pub(super) fn sentence(
    context: &CaseContext<'_, '_>,
    answer: &Answer,
    suspects: &[Suspect],
    judged: &JudgedMeasurement,
) -> String {
    let case = context.case;
    let mut parts: Vec<String> = Vec::new();
    if judged.validity == Validity::Invalid {
        parts.push(invalid(context, judged));
    }
    match answer {
        Answer::Named { limiter, next, is_probable } => {
            let mut what = because(context, *limiter, suspects);
            if let Some(also) = unchanged(context) {
                what.push_str(&format!(", and {also}"));
            }
            let below = below_par(judged).filter(|_| *limiter == Limiter::Drive);
            let title = limiter.title(case);
            let limited = if *is_probable { "probably limited by" } else { "limited by" };
            if let Some(below) = below {
                parts.push(format!(
                    "{what}: {limited} {title}, slower than it should be ({below})."
                ));
                return parts.join(" ");
            }
            parts.push(format!("{what}: {limited} {title}."));
            if *is_probable {
                parts.push("Each was measured once, so this may be noise.".into());
            }
            parts.extend(next.as_ref().map(behind));
            if matches!(limiter, Limiter::Link) && next.as_ref().is_some_and(|next| next.measured) {
                return parts.join(" ");
            }
        }
        Answer::Experiment(experiment) => {
            parts.push(format!("{}: next, {}.", case.figure(), experiment.what()));
        }
        Answer::Repetition(experiments) => {
            let is_of =
                |case: &Case<'_>| case.experiment().is_some_and(|one| experiments.contains(&one));
            let noisy = noisy(context, |of| of.effect() == Effect::Unclear && is_of(&of.other));
            let (noisy, again) = (noisy.join(", "), again(experiments));
            parts.push(match noisy.is_empty() {
                true => format!("{}: one of each is not enough; next, {again}.", case.figure()),
                false => format!("{noisy}, too wide to tell; next, {again}."),
            });
        }
        Answer::Unlike { rates } => parts.push(unlike(case, rates)),
        Answer::Undecided { between, .. } => {
            parts.push(undecided(context, between, suspects));
        }
    }
    parts.extend(elsewhere(context));
    parts.join(" ")
}

/// The reason of a valid figure's FAIL verdict.
pub(super) fn below_par(judged: &JudgedMeasurement) -> Option<String> {
    let metrics = judged.metrics.iter().filter(|_| judged.validity != Validity::Invalid);
    let worst = metrics.max_by_key(|metric| metric.verdict);
    worst.filter(|metric| metric.verdict == Verdict::Fail).map(|metric| metric.reason.to_string())
}

pub(super) fn advice(
    context: &CaseContext<'_, '_>,
    answer: &Answer,
    judged: &JudgedMeasurement,
) -> String {
    match answer {
        Answer::Named { limiter: Limiter::Drive, .. } if below_par(judged).is_some() => {
            "Compare its SMART log with an equal drive's, update its firmware, and swap two drives \
             in their slots: if the slowness moves with the drive, replace it."
                .into()
        }
        Answer::Named { limiter, .. } => limiter.advice(context.case).to_owned(),
        Answer::Experiment(experiment) => format!("Next: {}.", experiment.what()),
        Answer::Repetition(experiments) => format!("Next: {}.", again(experiments)),
        Answer::Unlike { .. } => "Say what differed (--blocks, --link), each state in a file or \
                                  table row of its own, or measure again what is known."
            .into(),
        // Its effect is larger than that of noise.
        Answer::Undecided { between, .. }
            if between.contains(&Limiter::Depth) && context.case.short_queue().is_some() =>
        {
            Limiter::Depth.advice(context.case).to_owned()
        }
        Answer::Undecided { experiments, .. } => {
            if context.keeps_pace() {
                return "Measure it without its pace (rate, rate_iops, thinktime, flow, latency_target)."
                    .into();
            }
            if !unclear(context).is_empty() {
                let longer = longer(context.case);
                return format!("Measure again while the machine is quiet, or for longer{longer}.");
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

/// Explains why it is no statement about flash.
fn invalid(context: &CaseContext<'_, '_>, judged: &JudgedMeasurement) -> String {
    let case = context.case;
    if case.blocks != WrittenState::Unwritten {
        let why = judged.reasons.first().map(|reason| reason.why.as_str()).unwrap_or_default();
        return format!("INVALID: {why}.");
    }
    let near = context.ceiling(Bound::Claim).map(|claim| {
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

/// The evidence for `limiter`, as the beginning of a sentence.
fn because(context: &CaseContext<'_, '_>, limiter: Limiter, suspects: &[Suspect]) -> String {
    let case = context.case;
    let standing = suspects.iter().find(|suspect| suspect.limiter == limiter);
    let confirmed = standing.and_then(|suspect| match &suspect.standing {
        Standing::Confirmed(why) => Some(why.clone()),
        _ => None,
    });
    let done = done(case);
    match (limiter, confirmed) {
        (Limiter::Link, _) if case.paths().len() == 1 => {
            let full = context.ceiling(Bound::Link).zip(case.narrowest_link());
            let carries = full.and_then(|(ceiling, link)| carries(case, link, ceiling));
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
        (_, Some(why)) => {
            let slot = spare_slot(context).map(|slot| format!("; that is below {slot}"));
            format!("{} were {done}; {why}{}", case.figure(), slot.unwrap_or_default())
        }
        (_, None) => {
            let cleared: Vec<String> = suspects
                .iter()
                .filter_map(|suspect| match &suspect.standing {
                    Standing::Cleared(why) => {
                        Some(format!("not {} ({why})", suspect.limiter.short(case)))
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
                    spare_slot(context).map(|slot| format!(", nor {slot}")).unwrap_or_default()
                ),
            }
        }
    }
}

/// For drives behind a card: the slot with capacity to spare, and its rate.
fn spare_slot(context: &CaseContext<'_, '_>) -> Option<String> {
    let slot = context.ceiling(Bound::SharedLink).filter(|slot| !context.is_reached(slot))?;
    Some(format!("{} ({})", slot.what, range(context.case.metric, slot.low, slot.high)))
}

/// Describes the rate of a link, also for readers who do not know PCIe.
fn carries(case: &Case<'_>, link: LinkState, ceiling: &Ceiling) -> Option<String> {
    let raw = format_mb_per_s(link.raw_bytes_per_s()?);
    let (low, most) = (rounded(ceiling.low), rounded(ceiling.high));
    let most = match low < most {
        true => range(case.metric, low, most),
        false => figure(case.metric, most),
    };
    let of_data = match case.metric {
        Metric::Bandwidth => format!("about {most} of data"),
        _ => format!("with their commands about {most}"),
    };
    Some(format!(
        "PCIe {} carries {raw} raw and {of_data} ({} lanes of generation {} between drive and \
         processor; addresses and checksums take the rest)",
        link.label(),
        link.width,
        link.generation
    ))
}

/// Rounds a rate to three digits: 1659 is 1660, 1801 is 1800.
fn rounded(rate: f64) -> f64 {
    let step = 10_f64.powf(rate.log10().floor() - 2.0);
    (rate / step).round() * step
}

/// Returns the verb for the I/O.
fn done(case: &Case<'_>) -> &'static str {
    match case.of_run().total.as_slice() {
        [only] if only.direction == Direction::Read => "read",
        [only] if only.direction == Direction::Write => "written",
        _ => "moved",
    }
}

/// Returns e.g. `neither more depth nor more jobs raise it`.
fn unchanged(context: &CaseContext<'_, '_>) -> Option<String> {
    let same = |pick: fn(&Change) -> bool| {
        let mut all = context.contrasts.iter().filter(|contrast| pick(&contrast.change)).peekable();
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
        true => format!("Without it, {gain} was measured ({}).", next.what),
        false => format!("Behind it is {}: at most {gain}.", next.what),
    }
}

/// Describes different rates of the same workload.
fn unlike(case: &Case<'_>, rates: &[Estimate]) -> String {
    let all: Vec<String> = rates.iter().map(|rate| figure(case.metric, rate.value)).collect();
    let least = rates.iter().map(|rate| rate.value).fold(f64::INFINITY, f64::min);
    let most = rates.iter().map(|rate| rate.value).fold(0.0, f64::max);
    format!(
        "The same workload was measured {} times and gave {}, {:.1} times as much once as another \
         time. What differed is not said (what the blocks held, the link, the drive), and decides \
         more than any limiter: what limits one of them need not limit another.",
        rates.len(),
        listed(&all, "and"),
        most / least
    )
}

fn undecided(context: &CaseContext<'_, '_>, between: &[Limiter], suspects: &[Suspect]) -> String {
    let case = context.case;
    let mut text = format!("{} were {}", case.figure(), done(case));
    if let Some(alone) = layer_against_alone(context) {
        text.push_str(&format!(": {alone}"));
    }
    if between.is_empty() && context.keeps_pace() {
        text.push_str(", as fast as it was asked to go, with I/Os to spare.");
        return text;
    }
    if between.is_empty() {
        text.push_str(", and no known limit explains it; measure more.");
        return text;
    }
    let titles: Vec<String> = between.iter().map(|limiter| limiter.title(case)).collect();
    text.push_str(&format!(". Whether {} is the limit is open", listed(&titles, "or")));
    let in_reach: Vec<String> = between.iter().filter_map(|one| in_reach(context, *one)).collect();
    if in_reach.len() > 1 {
        text.push_str(&format!(", both are close: {}", in_reach.join("; ")));
    }
    let others: Vec<String> = suspects
        .iter()
        .filter_map(|suspect| match (&suspect.standing, suspect.limiter) {
            (Standing::Cleared(why), limiter) => {
                Some(format!("not {} ({why})", limiter.short(case)))
            }
            _ => None,
        })
        .collect();
    if !others.is_empty() {
        text.push_str(&format!("; it is {}", others.join(", ")));
    }
    text.push('.');
    let unclear = unclear(context);
    if !unclear.is_empty() {
        let said = unclear.join("; ");
        text.push_str(&format!(" The rates vary too much to tell: {said}."));
    }
    text
}

/// The ceiling of a limiter that the rate may have reached.
fn in_reach(context: &CaseContext<'_, '_>, limiter: Limiter) -> Option<String> {
    let bound = match limiter {
        Limiter::Drive => Bound::Claim,
        Limiter::Link => Bound::Link,
        Limiter::Shared => Bound::SharedLink,
        _ => return None,
    };
    let ceiling = context.ceiling(bound)?;
    context.reach(ceiling).map(|_| context.against(ceiling))
}

/// Lists changes selected by `pick` with their uncertain effect: `iodepth 32 to 64 gave x1.04 ± 38
/// %`.
fn noisy(context: &CaseContext<'_, '_>, pick: impl Fn(&Contrast<'_>) -> bool) -> Vec<String> {
    let text = |contrast: &Contrast<'_>| {
        let width = contrast.ratio.relative_half_width().map(format_width).unwrap_or_default();
        format!("{} gave x{:.2} {width}", contrast.title(), contrast.ratio.value)
    };
    context.contrasts.iter().filter(|contrast| pick(contrast)).map(text).collect()
}

fn unclear(context: &CaseContext<'_, '_>) -> Vec<String> {
    noisy(context, |of| of.change != Change::Again && of.effect() == Effect::Unclear)
}

/// Advice to tell a small effect from noise.
fn again(experiments: &[Experiment]) -> String {
    let all = match experiments.len() {
        1 => "both".into(),
        changed => format!("all {}", changed + 1),
    };
    format!("measure {all} again, in turn")
}

/// Returns ` (--budget 3m)`: four times the duration halves the intervals.
fn longer(case: &Case<'_>) -> String {
    if !is_explain_run(case.record) {
        return String::new();
    }
    let all = case.record.measurements.iter();
    let took = all.map(|of| of.warmup_ns as f64 + of.duration_ns.unwrap_or_default() as f64);
    format!(" (--budget {:.0}m)", (4.0 * took.sum::<f64>() / 60e9).ceil().max(1.0))
}

/// Describes a layer's rate relative to its members.
fn layer_against_alone(context: &CaseContext<'_, '_>) -> Option<String> {
    let layer = context.case.layer.as_deref()?;
    let alone =
        context.contrasts.iter().find(|contrast| matches!(contrast.change, Change::Layer(..)))?;
    let times = 1.0 / alone.ratio.value;
    let what = match context.case.reads() {
        true => "read load",
        false => "write load",
    };
    let gave = alone.other.figure();
    Some(match times {
        times if times < 1.05 => {
            format!("the {layer} does not speed up this {what}, one drive has {gave}")
        }
        times => format!("{times:.1} times the {gave} of one drive alone"),
    })
}

/// Describes the same I/O on another link, the strongest evidence.
fn elsewhere(context: &CaseContext<'_, '_>) -> Option<String> {
    let contrast =
        context.contrasts.iter().find(|contrast| matches!(contrast.change, Change::Link(..)))?;
    let Change::Link(_, link) = &contrast.change else { return None };
    let what = if context.case.reads() { "reads" } else { "I/Os" };
    let figure = contrast.other.figure();
    Some(format!("On {} the same {what} had {figure}.", link.label()))
}
