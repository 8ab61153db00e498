//! Each suspect weighed by what was measured.

use iodyno_model::{Metric, WrittenState, format_duration_ns};

use super::case::{Case, figure, range};
use super::contrast::{Change, Contrast, Effect};
use super::experiment::Experiment;
use super::held_back::{other_io, saturated, throttled};
use super::suspect::{Limiter, Suspect};
use crate::ceiling::{Bound, Ceiling};
use crate::claims::ClaimBook;
use crate::compare::percent;
use crate::facts::claim_of;

/// A ceiling is reached from this share of its least value on: the formula of
/// links hits published ceilings within 1 to 2 %, and intervals add to that.
const REACHED: f64 = 0.97;
/// A claim is reached from here on …
const CLAIM_REACHED: f64 = 0.95;
/// … and is no limit to what exceeds it by more than this.
const CLAIM_EXCEEDED: f64 = 1.10;
/// A layer that gives this share of its members' sum does what it should.
const LAYER_FINE: f64 = 0.90;
/// A submitting thread below this share of a CPU waits for the device, not for the CPU.
const BUSY: f64 = 0.80;
/// Fewer I/Os per second are no work for a CPU: one thread submits three times as many.
const IDLE_CPU_IOPS: f64 = 40_000.0;
/// Another case on the same CPUs that was so much faster shows that they had time.
const MUCH_FASTER: f64 = 1.4;
/// The same of I/Os in another direction, which cost about as much.
const FAR_FASTER: f64 = 3.0;
/// Others' I/O is what limits from this share of our own on.
const OTHERS: f64 = 0.25;

/// All that is known around a case.
pub(crate) struct Scene<'a, 'b> {
    pub(crate) case: &'b Case<'a>,
    pub(crate) others: &'b [Case<'a>],
    pub(crate) contrasts: &'b [Contrast<'a>],
    pub(crate) ceilings: &'b [Ceiling],
    pub(crate) claims: &'b ClaimBook,
}

impl<'a> Scene<'a, '_> {
    /// Every suspect with how it stands; what cannot be is left out. What more
    /// I/O or more threads raise stands before ceilings, which then are not reached.
    pub(crate) fn suspects(&self) -> Vec<Suspect> {
        let weighed = [
            self.heat(),
            self.other_users(),
            self.cpu(),
            self.depth(),
            self.placement(),
            self.link(),
            self.shared(),
            self.layer(),
            self.drive(),
            self.card(),
        ];
        weighed.into_iter().flatten().collect()
    }

    /// What the change did, of the contrasts that `pick` takes.
    pub(super) fn effect(&self, pick: impl Fn(&Change) -> bool) -> Option<(Effect, &Contrast<'a>)> {
        let mut found: Option<(Effect, &Contrast<'_>)> = None;
        for contrast in self.contrasts.iter().filter(|contrast| pick(&contrast.change)) {
            let effect = contrast.effect();
            // One that moved the rate says more than one that did not.
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

    fn deeper(&self) -> Option<(Effect, &Contrast<'a>)> {
        self.effect(|change| matches!(change, Change::Depth(from, to) if to > from))
    }

    fn more_jobs(&self) -> Option<(Effect, &Contrast<'a>)> {
        self.effect(|change| matches!(change, Change::Jobs(from, to) if to > from))
    }

    pub(crate) fn ceiling(&self, bound: Bound) -> Option<&Ceiling> {
        self.ceilings.iter().find(|ceiling| ceiling.bound == bound)
    }

    /// The ceiling is reached.
    pub(crate) fn is_reached(&self, ceiling: &Ceiling) -> bool {
        let rate = self.case.rate;
        match ceiling.bound {
            Bound::Claim => {
                let exceeded = rate.value > CLAIM_EXCEEDED * ceiling.value;
                // Beyond its claim only a drive that reads is still a drive.
                rate.high() >= CLAIM_REACHED * ceiling.value
                    && !(exceeded && self.case.blocks == WrittenState::Unwritten)
            }
            _ => rate.high() >= REACHED * ceiling.low,
        }
    }

    /// Of the ceilings that are reached, the lowest.
    fn lowest_reached(&self) -> Option<Bound> {
        let mut reached = self.ceilings.iter().filter(|ceiling| {
            matches!(ceiling.bound, Bound::Claim | Bound::Link | Bound::SharedLink)
                && self.is_reached(ceiling)
        });
        reached.next().map(|ceiling| ceiling.bound)
    }

    fn against(&self, ceiling: &Ceiling) -> String {
        let metric = self.case.metric;
        let range = match (ceiling.low, ceiling.high) {
            (low, high) if low == high => figure(metric, ceiling.value),
            (low, _) => range(metric, low, ceiling.value),
        };
        format!("{} of {range} ({})", self.case.figure(), ceiling.what)
    }

    fn heat(&self) -> Option<Suspect> {
        let case = self.case;
        let throttles: Vec<Option<bool>> = case
            .drives
            .iter()
            .map(|drive| throttled(case.record, case.of_run(), &drive.name))
            .collect();
        if throttles.contains(&Some(true)) {
            let why = "its thermal counters rose during the measurement";
            return Some(Suspect::confirmed(Limiter::Heat, why));
        }
        if !throttles.is_empty() && throttles.iter().all(|one| *one == Some(false)) {
            let why = "its thermal counters did not move";
            return Some(Suspect::cleared(Limiter::Heat, why));
        }
        // Where nothing tells, only a rate that falls is suspicious.
        let (effect, again) = self.effect(|change| *change == Change::Again)?;
        let why = format!("{}: {}", again.title(), again.outcome());
        Some(match effect {
            Effect::Fell => Suspect::open(Limiter::Heat, Experiment::OnceMore),
            _ => Suspect::cleared(Limiter::Heat, why),
        })
    }

    fn other_users(&self) -> Option<Suspect> {
        let of = self.case.of_run();
        let why = other_io(of)??;
        let own = of.total.first()?;
        let bytes = of.conditions.other_bytes_per_s? > OTHERS * own.bandwidth?.value;
        // A few small I/Os beside large ones take nothing from them.
        let much = bytes
            || (self.case.metric == Metric::Iops
                && of.conditions.other_iops? > OTHERS * own.iops?.value);
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
            if self.lowest_reached() == Some(Bound::Link) {
                return Some(Suspect::confirmed(Limiter::Link, self.against(ceiling)));
            }
            // Two ceilings that lie side by side are both reached.
            if self.is_reached(ceiling) && self.case.blocks == WrittenState::Unwritten {
                return Some(Suspect::open(Limiter::Link, Experiment::FasterLink));
            }
            return suspect(self.against(ceiling));
        }
        // A link that nobody stated is suspected where the drive is one of PCIe.
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

    /// A limit that several drives share.
    fn shared(&self) -> Option<Suspect> {
        if let Some(ceiling) = self.ceiling(Bound::SharedLink)
            && self.lowest_reached() == Some(Bound::SharedLink)
        {
            return Some(Suspect::confirmed(Limiter::Shared, self.against(ceiling)));
        }
        if self.case.drive_count < 2 || self.case.layer.is_some() {
            return None;
        }
        let mut scales: Option<Suspect> = None;
        let mut loses = false;
        for contrast in self.contrasts {
            let Change::Drives(ours, theirs) = contrast.change else { continue };
            if theirs >= ours {
                continue;
            }
            let outcome = format!("{}: {}", contrast.title(), contrast.outcome());
            // What the fewer drives would give less if each gave its share.
            let share = theirs as f64 / ours as f64;
            if contrast.effect() == Effect::Same && share < 0.95 {
                return Some(Suspect::confirmed(Limiter::Shared, outcome));
            }
            if contrast.ratio.value <= share * 1.1 {
                scales = Some(Suspect::cleared(Limiter::Shared, outcome));
            } else {
                loses = true;
            }
        }
        if loses && !self.case.cards().is_empty() {
            // Some is lost: to the card, which is weighed itself.
            return None;
        }
        scales.or(Some(Suspect::open(Limiter::Shared, Experiment::HalfTheDrives)))
    }

    /// What the one device alone gave, where the layer was left out.
    pub(super) fn alone(&self) -> Option<&Contrast<'a>> {
        self.contrasts.iter().find(|contrast| {
            matches!(contrast.change, Change::Layer(..)) && self.case.layer.is_some()
        })
    }

    fn layer(&self) -> Option<Suspect> {
        self.case.layer.as_ref()?;
        if !self.case.cards().is_empty() {
            // The card makes the layer: it is weighed as one with the card.
            return None;
        }
        Some(match self.ceiling(Bound::Layer) {
            Some(ceiling) if self.case.rate.value >= LAYER_FINE * ceiling.low => {
                Suspect::cleared(Limiter::Layer, self.against(ceiling))
            }
            _ => Suspect::open(Limiter::Layer, Experiment::MembersAtOnce),
        })
    }

    fn cpu(&self) -> Option<Suspect> {
        let case = self.case;
        let cleared = |why: String| Some(Suspect::cleared(Limiter::Cpu, why));
        let (deeper, jobs) = (self.deeper(), self.more_jobs());
        let busiest = case.of_run().cpu.map(|cpu| cpu.busiest_thread);
        let share = busiest.map(|share| format!("the busiest thread used {}", percent(share)));
        if let (Some(share), Some(false)) = (&share, busiest.map(|share| share >= BUSY)) {
            return cleared(format!("{share} of a CPU"));
        }
        if let Some((Effect::Grew, contrast)) = jobs {
            // As many I/Os outstanding in fewer threads did not do it.
            let threads = deeper.is_some_and(|(effect, deeper)| {
                effect != Effect::Grew || deeper.ratio.value * 1.05 < contrast.ratio.value
            });
            if saturated(case.of_run()) == Some(true) || (threads && case.depth != Some(1)) {
                let share = share.map(|share| format!("; {share} of a CPU")).unwrap_or_default();
                let why = format!("{}: {}{share}", contrast.title(), contrast.outcome());
                return Some(Suspect::confirmed(Limiter::Cpu, why));
            }
        }
        if let Some((Effect::Same | Effect::Fell, contrast)) = jobs {
            if self.all_cpus_busy() {
                let why = "every CPU of the machine was busy with submitting";
                return Some(Suspect::confirmed(Limiter::Cpu, why));
            }
            return cleared(format!("{}: {}", contrast.title(), contrast.outcome()));
        }
        if case.iops.is_some_and(|iops| iops < IDLE_CPU_IOPS) {
            let iops = figure(Metric::Iops, case.iops.unwrap_or_default());
            return cleared(format!("{iops} are no work for a CPU"));
        }
        if let Some(faster) = self.faster_with_no_more() {
            return cleared(format!("the same jobs gave {}", faster.figure()));
        }
        Some(Suspect::open(Limiter::Cpu, Experiment::TwiceTheJobs))
    }

    fn all_cpus_busy(&self) -> bool {
        let used = self.case.of_run().cpu.map(|cpu| cpu.user + cpu.system);
        let online = self.case.host().and_then(|host| host.cpus.online.get()).map(Vec::len);
        used.zip(online).is_some_and(|(used, online)| used >= 0.9 * online as f64)
    }

    /// Another case with the same jobs and blocks that was much faster.
    fn faster_with_no_more(&self) -> Option<&Case<'a>> {
        let (ours, bs) = (self.case, self.case.of_run().workload.bs?);
        self.others.iter().find(|other| {
            other.of_run().workload.bs == Some(bs)
                && other.metric == ours.metric
                && other.depth <= ours.depth
                && other.jobs <= ours.jobs
                && other.rate.value
                    >= ours.rate.value
                        * match other.of_run().workload.rw == ours.of_run().workload.rw {
                            true => MUCH_FASTER,
                            false => FAR_FASTER,
                        }
        })
    }

    fn placement(&self) -> Option<Suspect> {
        match self.effect(|change| *change == Change::Cpus) {
            Some((Effect::Grew, contrast)) => {
                Some(Suspect::confirmed(Limiter::Placement, contrast.outcome()))
            }
            Some((Effect::Same | Effect::Fell, contrast)) => Some(Suspect::cleared(
                Limiter::Placement,
                format!("{}: {}", contrast.title(), contrast.outcome()),
            )),
            _ => {
                let nodes = self.case.host().map_or(0, |host| host.cpus.nodes.len());
                (nodes > 1).then_some(Suspect::open(Limiter::Placement, Experiment::OtherCpus))
            }
        }
    }

    fn depth(&self) -> Option<Suspect> {
        let case = self.case;
        for (effect, contrast) in [self.deeper(), self.more_jobs()].into_iter().flatten() {
            let outcome = format!("{}: {}", contrast.title(), contrast.outcome());
            match effect {
                Effect::Grew => return Some(Suspect::confirmed(Limiter::Depth, outcome)),
                Effect::Same | Effect::Fell => {
                    let waits = case.latency_ns.zip(contrast.other.latency_ns);
                    let waits = waits.map(|(a, b)| {
                        let (a, b) = (format_duration_ns(a), format_duration_ns(b));
                        format!(", and only the latency went from {a} to {b}")
                    });
                    let why = format!("{outcome}{}", waits.unwrap_or_default());
                    return Some(Suspect::cleared(Limiter::Depth, why));
                }
                Effect::Unclear => {}
            }
        }
        if let Some((outstanding, latency_ns)) = self.queued() {
            let why = format!(
                "{outstanding} I/Os outstanding take {} each: they wait for each other",
                format_duration_ns(latency_ns)
            );
            return Some(Suspect::cleared(Limiter::Depth, why));
        }
        Some(Suspect::open(Limiter::Depth, Experiment::TwiceTheDepth))
    }
}
