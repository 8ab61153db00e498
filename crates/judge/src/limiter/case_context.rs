//! Weighs each suspect by the measurements.

use iodyno_model::{Experiment, Metric, format_duration_ns};

use super::bottlenecks::{other_io, other_iops};
use super::case::{Case, figure, range};
use super::contrast::{Change, Contrast, Effect};
use super::interrupts::interrupts_on_one_cpu;
use super::power::{PowerSaving, power_saving};
use super::suspect::{Limiter, Standing, Suspect};
use crate::ceiling::{Bound, Ceiling};
use crate::claims::{ClaimBook, claim_of};
use crate::control_group::cgroup_effect;
use crate::convergence::total_figure;
use crate::index::Index;
use crate::measured::{is_paced, pauses};
use crate::saturation::FULL_QUEUE;

/// A ceiling is reached from this share of its lowest value on: the formula for links agrees with
/// published ceilings within 1 to 2 %, and intervals add to that.
const REACHED: f64 = 0.97;
/// The whole interval must also lie above this share of it.
const AT_LEAST: f64 = 0.85;
/// A claim is reached from this share on.
const CLAIM_REACHED: f64 = 0.95;
/// A claim is no ceiling for a rate that exceeds it by more than its rounding and the interval.
const CLAIM_EXCEEDED: f64 = 1.02;
/// A layer at this share of its members' sum works as it should.
const LAYER_FINE: f64 = 0.90;
/// If twice the I/Os raise the rate by less than this factor, they wait for each other: by Little's
/// law each takes 1.8 times as long. That is no longer a lack of depth.
const SATURATED_GAIN: f64 = 1.10;
/// Other I/O is the limiter from this share of the job's own on.
const OTHERS: f64 = 0.25;

/// Distance of a rate from a ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// At this ceiling, and at no other.
    Surely,
    /// Perhaps: another ceiling is as near, or this one is too uncertain.
    Perhaps,
}

/// Everything known around a case.
pub(crate) struct CaseContext<'a, 'b> {
    pub(crate) case: &'b Case<'a>,
    pub(crate) others: &'b [Case<'a>],
    pub(crate) contrasts: &'b [Contrast<'a>],
    pub(crate) ceilings: &'b [Ceiling],
    pub(crate) claims: &'b ClaimBook,
}

impl<'a> CaseContext<'a, '_> {
    /// Returns every possible suspect with its status. Those that more I/Os or threads would
    /// relieve come before ceilings, which are then not reached.
    pub(crate) fn suspects(&self) -> Vec<Suspect> {
        let weighed = [
            self.control_group(),
            self.before_device(),
            self.contract(),
            self.heat(),
            self.other_users(),
            self.power_saving(),
            self.interrupts(),
            self.cpu(),
            self.depth(),
            self.placement(),
            self.link(),
            self.shared(),
            self.layer(),
            self.drive(),
            self.card(),
        ];
        let mut suspects: Vec<Suspect> = weighed.into_iter().flatten().collect();
        if self.keeps_pace() {
            suspects.retain(|suspect| match suspect.standing {
                Standing::Open(_) => false,
                // Two jobs run at twice the pace of one.
                Standing::Confirmed(_) => !matches!(suspect.limiter, Limiter::Depth | Limiter::Cpu),
                Standing::Cleared(_) => true,
            });
        }
        if self.case.short_queue().is_some() {
            // More I/Os would wait before the queue.
            for suspect in &mut suspects {
                if let Standing::Open(next) = &mut suspect.standing
                    && matches!(next, Experiment::TwiceTheDepth | Experiment::TwiceTheJobs)
                {
                    *next = Experiment::LongerQueue;
                }
            }
        }
        suspects
    }

    /// Returns true if it keeps the pace that was asked for with I/Os to spare: no hidden limit
    /// holds it back.
    pub(super) fn keeps_pace(&self) -> bool {
        let kept = self.case.in_flight().zip(self.case.outstanding());
        is_paced(self.case.of_run())
            && kept.is_some_and(|((count, _), most)| count < FULL_QUEUE * f64::from(most))
    }

    /// Returns the effect of a change selected by `pick`.
    pub(super) fn effect(&self, pick: impl Fn(&Change) -> bool) -> Option<(Effect, &Contrast<'a>)> {
        let mut found: Option<(Effect, &Contrast<'_>)> = None;
        for contrast in self.contrasts.iter().filter(|contrast| pick(&contrast.change)) {
            let effect = contrast.effect();
            // A contrast that moved the rate is stronger evidence than one that did not.
            let better = match &found {
                None => true,
                Some((Effect::Unclear, _)) => effect != Effect::Unclear,
                Some((Effect::Same | Effect::Fell, _)) => effect == Effect::Grew,
                Some((Effect::Grew, _)) => false,
            };
            if better {
                found = Some((effect, contrast));
            }
        }
        found
    }

    pub(super) fn deeper(&self) -> Option<(Effect, &Contrast<'a>)> {
        self.effect(|change| matches!(change, Change::Depth(from, to) if to > from))
    }

    pub(super) fn more_jobs(&self) -> Option<(Effect, &Contrast<'a>)> {
        self.effect(|change| matches!(change, Change::Jobs(from, to) if to > from))
    }

    pub(crate) fn ceiling(&self, bound: Bound) -> Option<&Ceiling> {
        self.ceilings.iter().find(|ceiling| ceiling.bound == bound)
    }

    /// Returns true if the ceiling is reached.
    pub(crate) fn is_reached(&self, ceiling: &Ceiling) -> bool {
        let rate = self.case.rate;
        match ceiling.bound {
            Bound::Claim => {
                rate.high() >= CLAIM_REACHED * ceiling.value && !self.is_exceeded(ceiling)
            }
            _ => rate.high() >= REACHED * ceiling.low,
        }
    }

    /// Returns true if the rate exceeds a claim, which is then no ceiling: a burst or a cache, a
    /// small area, or another drive's sheet.
    pub(crate) fn is_exceeded(&self, ceiling: &Ceiling) -> bool {
        ceiling.bound == Bound::Claim && self.case.rate.low() > CLAIM_EXCEEDED * ceiling.value
    }

    /// Returns how near the rate is to the ceiling of a claim or link; `None`: below it. A link of
    /// unknown payload size has a range, and is certainly the limit only from its upper end on, or
    /// if no drive could exceed it.
    pub(crate) fn reach(&self, ceiling: &Ceiling) -> Option<Reach> {
        if !self.is_reached(ceiling) {
            return None;
        }
        let is_link = |bound: Bound| matches!(bound, Bound::Link | Bound::SharedLink);
        let beside = |other: &&Ceiling| {
            other.bound != ceiling.bound
                && (other.bound == Bound::Claim || is_link(other.bound))
                && self.is_reached(other)
        };
        let mut beside = self.ceilings.iter().filter(beside);
        // Of two links the one that carries less limits.
        if !beside.all(|other| {
            is_link(ceiling.bound) && is_link(other.bound) && ceiling.value < other.value
        }) {
            return Some(Reach::Perhaps);
        }
        if self.case.rate.low() < AT_LEAST * ceiling.low {
            return Some(Reach::Perhaps);
        }
        let is_full = self.case.rate.high() >= REACHED * ceiling.high;
        let claim = self.ceiling(Bound::Claim).map(|claim| claim.value);
        let lies_below = claim.is_some_and(|claim| claim > ceiling.high);
        let is_sure = !is_link(ceiling.bound) || is_full || lies_below;
        Some(if is_sure { Reach::Surely } else { Reach::Perhaps })
    }

    pub(super) fn against(&self, ceiling: &Ceiling) -> String {
        let metric = self.case.metric;
        let range = match (ceiling.low, ceiling.high) {
            (low, high) if low == high => figure(metric, ceiling.value),
            (low, high) => range(metric, low, high),
        };
        format!("{} of {range} ({})", self.case.figure(), ceiling.what)
    }

    /// Limits of the control groups, on I/O or CPU time.
    fn control_group(&self) -> Option<Suspect> {
        let limiter = Limiter::ControlGroup;
        match cgroup_effect(&Index::of(self.case.record), self.case.of_run()) {
            Ok(Some(effect)) if effect.is_the_limit() => {
                Some(Suspect::confirmed(limiter, effect.to_string()))
            }
            _ => {
                let ceiling = self.ceiling(Bound::ControlGroup)?;
                Some(Suspect::cleared(limiter, self.against(ceiling)))
            }
        }
    }

    fn other_users(&self) -> Option<Suspect> {
        let of = self.case.of_run();
        let why = other_io(of)??;
        let own = |metric| total_figure(metric, of);
        let bytes = of.conditions.other_bytes_per_s? > OTHERS * own(Metric::Bandwidth)?;
        // A few small I/Os take nothing from large ones.
        let much = bytes
            || (self.case.metric == Metric::Iops && other_iops(of)? > OTHERS * own(Metric::Iops)?);
        much.then(|| Suspect::confirmed(Limiter::OtherUsers, why))
    }

    fn link(&self) -> Option<Suspect> {
        let suspect = |why: String| Some(Suspect::cleared(Limiter::Link, why));
        let moved = self.effect(|change| matches!(change, Change::Link(from, to) if from != to));
        match moved {
            Some((Effect::Same, contrast)) => {
                return suspect(format!("{}: {}", contrast.title(), contrast.outcome()));
            }
            Some((Effect::Grew, contrast)) if self.reaches(Bound::Link) => {
                let why = format!("{}: {}", contrast.title(), contrast.outcome());
                let reached = self.ceiling(Bound::Link).map(|ceiling| self.against(ceiling));
                return Some(Suspect::confirmed(
                    Limiter::Link,
                    format!("{}; {why}", reached.unwrap_or_default()),
                ));
            }
            _ => {}
        }
        if let Some(ceiling) = self.ceiling(Bound::Link) {
            return match self.reach(ceiling) {
                Some(Reach::Surely) => {
                    Some(Suspect::confirmed(Limiter::Link, self.against(ceiling)))
                }
                Some(Reach::Perhaps) => Some(Suspect::open(Limiter::Link, Experiment::FasterLink)),
                None => suspect(self.against(ceiling)),
            };
        }
        // Without a known link, one is suspected for PCIe drives.
        let drive = self.case.drives.first()?;
        let pcie = drive.virtual_disk.is_none() && drive.links.is_empty();
        if !pcie || self.case.drive_count > 1 || claim_of(self.claims, drive)?.pcie_gen.is_none() {
            return None;
        }
        Some(Suspect::open(Limiter::Link, Experiment::FasterLink))
    }

    fn reaches(&self, bound: Bound) -> bool {
        self.ceiling(bound).is_some_and(|ceiling| self.is_reached(ceiling))
    }

    /// The rate of one device alone, without the layer.
    pub(super) fn alone(&self) -> Option<&Contrast<'a>> {
        self.contrasts.iter().find(|contrast| {
            matches!(contrast.change, Change::Layer(..)) && self.case.layer.is_some()
        })
    }

    fn layer(&self) -> Option<Suspect> {
        self.case.layer.as_ref()?;
        if !self.case.cards().is_empty() {
            // The card implements the layer, and is weighed as the card.
            return None;
        }
        Some(match self.ceiling(Bound::Layer) {
            Some(ceiling)
                if self.case.reads_a_mirror()
                    && ceiling.low < ceiling.value
                    && self.case.rate.value >= LAYER_FINE * ceiling.low
                    && self.case.rate.value < LAYER_FINE * ceiling.value =>
            {
                let why = "a single sequence is read from one copy";
                Suspect::confirmed(Limiter::Layer, format!("{why}: {}", self.against(ceiling)))
            }
            Some(ceiling) if self.case.rate.value >= LAYER_FINE * ceiling.low => {
                Suspect::cleared(Limiter::Layer, self.against(ceiling))
            }
            _ => Suspect::open(Limiter::Layer, Experiment::MembersAtOnce),
        })
    }

    fn depth(&self) -> Option<Suspect> {
        let case = self.case;
        for (effect, contrast) in [self.deeper(), self.more_jobs()].into_iter().flatten() {
            let outcome = format!("{}: {}", contrast.title(), contrast.outcome());
            match effect {
                Effect::Grew if !hardly_grew(contrast) => {
                    return Some(Suspect::confirmed(Limiter::Depth, outcome));
                }
                Effect::Grew | Effect::Same | Effect::Fell => {
                    let why = format!("{outcome}{}", only_latency(case, contrast));
                    return Some(Suspect::cleared(Limiter::Depth, why));
                }
                Effect::Unclear => {}
            }
        }
        if let Some((outstanding, latency_ns)) = self.queued() {
            let why = format!(
                "{outstanding:.0} outstanding I/Os take {} each: they queue",
                format_duration_ns(latency_ns)
            );
            return Some(Suspect::cleared(Limiter::Depth, why));
        }
        if case.is_absurdly_deep() {
            let (count, ns) = case.in_flight()?;
            let why = format!(
                "{count:.0} outstanding I/Os take {} each, more than any device needs",
                format_duration_ns(ns)
            );
            return Some(Suspect::cleared(Limiter::Depth, why));
        }
        Some(Suspect::open(
            Limiter::Depth,
            match case.waits_for_each() {
                true => Experiment::TwiceTheJobs,
                false => Experiment::TwiceTheDepth,
            },
        ))
    }
}

/// Returns true if at most twice as many I/Os gained next to nothing.
fn hardly_grew(contrast: &Contrast<'_>) -> bool {
    let (Change::Depth(from, to) | Change::Jobs(from, to)) = contrast.change else { return false };
    to <= from.saturating_mul(2) && contrast.ratio.value < SATURATED_GAIN
}

/// Describes more I/Os that only take longer: `; beyond 64 jobs only the latency grows, …`.
fn only_latency(case: &Case<'_>, contrast: &Contrast<'_>) -> String {
    let beyond = match contrast.change {
        Change::Depth(from, _) => format!("iodepth {from}"),
        Change::Jobs(1, _) => "one job".into(),
        Change::Jobs(from, _) => format!("{from} jobs"),
        _ => return String::new(),
    };
    let Some((ours, theirs)) =
        case.latency_ns.zip(contrast.other.latency_ns).filter(|(ours, theirs)| theirs > ours)
    else {
        return String::new();
    };
    let (ours, theirs) = (format_duration_ns(ours), format_duration_ns(theirs));
    let only = if contrast.effect() == Effect::Grew { "little but" } else { "only" };
    format!("; beyond {beyond} {only} the latency grows, from {ours} to {theirs}")
}

/// Suspects in the kernel and the drive besides I/O.
impl CaseContext<'_, '_> {
    /// Decided by moving the threads off that CPU.
    fn interrupts(&self) -> Option<Suspect> {
        let case = self.case;
        let one = interrupts_on_one_cpu(case.record, case.of_run()).ok()??;
        let outcome = self.effect(|change| matches!(change, Change::OffInterrupts(_)));
        let said = |contrast: &Contrast<'_>| {
            format!("{}; {}: {}", one.why, contrast.title(), contrast.outcome())
        };
        Some(match outcome {
            Some((Effect::Grew, contrast)) => {
                Suspect::confirmed(Limiter::Interrupts, said(contrast))
            }
            Some((Effect::Same | Effect::Fell, contrast)) => {
                Suspect::cleared(Limiter::Interrupts, said(contrast))
            }
            _ => Suspect::open(Limiter::Interrupts, Experiment::OffInterrupts),
        })
    }

    /// Resting devices are kept awake by other reads; a reduced power state is only for its owner
    /// to change.
    fn power_saving(&self) -> Option<Suspect> {
        let case = self.case;
        let drives = case.drives.iter().copied();
        let why = match power_saving(case.record, case.host()?, drives, case.of_run()).ok()?? {
            PowerSaving::Reduced(_) => {
                return Some(Suspect::open(Limiter::PowerSaving, Experiment::FullPower));
            }
            // If the job itself pauses, other load does not show in its rate.
            PowerSaving::Resting(_) if pauses(case.of_run()) => return None,
            PowerSaving::Resting(why) => why,
        };
        let outcome = self.effect(|change| *change == Change::KeptAwake);
        Some(match outcome {
            Some((Effect::Grew, contrast)) => Suspect::confirmed(
                Limiter::PowerSaving,
                format!("{why}; {}: {}", contrast.title(), contrast.outcome()),
            ),
            Some((Effect::Same | Effect::Fell, contrast)) => Suspect::cleared(
                Limiter::PowerSaving,
                format!("{}: {}", contrast.title(), contrast.outcome()),
            ),
            _ => Suspect::open(Limiter::PowerSaving, Experiment::KeptAwake),
        })
    }
}
