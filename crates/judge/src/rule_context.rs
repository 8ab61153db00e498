//! What the rules look at.

use iodyno_model::{
    Claim, Direction, Drive, Host, Measurement, Metric, Part, Rounds, RunRecord, WrittenState,
};

use crate::claims::ClaimBook;
use crate::convergence::Convergence;
use crate::counters::{BySpan, Counted};
use crate::expectation::Expectation;
use crate::index::{Index, span};
use crate::outstanding::allowed;
use crate::place::{Place, bottoms, capacities, place};
use crate::rules::WriteRates;
use crate::yardsticks::{Compared, compare};

/// A run, and what it is to be judged by.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The run.
    pub record: &'a RunRecord,
    /// Data sheets.
    pub claims: &'a ClaimBook,
    /// An earlier run to compare with.
    pub baseline: Option<&'a RunRecord>,
    /// What the user expects of the machine.
    pub expect: Option<&'a Expectation>,
}

/// How far rounds came on a target.
type OnTarget<'a> = (&'a [String], Convergence);

/// A question with what several rules need of it, worked out once.
#[derive(Debug)]
pub struct RuleContext<'a> {
    /// The question.
    pub question: &'a Question<'a>,
    /// Each measurement that has a rate or latency to judge, held against
    /// claims, peers and baseline.
    pub(crate) compared: Vec<Compared>,
    /// Of a run in rounds when they are over, and how far they came on each target.
    pub(crate) rounds: Option<(&'a Rounds, Vec<OnTarget<'a>>)>,
    /// How many writes of each size there were in a second.
    pub(crate) write_rates: WriteRates<'a>,
    /// What the kernel counted meanwhile.
    counted: BySpan<'a>,
    /// The run's measurements by what they are looked up by.
    pub(crate) index: Index<'a>,
}

impl<'a> RuleContext<'a> {
    /// Works out what rules need.
    pub fn gather(question: &'a Question<'a>) -> Self {
        let rounds = question.record.run.rounds.as_ref().map(|plan| {
            let found = Convergence::by_target(&plan.rounds, question.record);
            (&plan.rounds, found)
        });
        let index = Index::of(question.record);
        let (compared, counted) = (compare(question, &index), Counted::all(&index));
        let write_rates = WriteRates::default();
        let facts = Self { question, compared, rounds, write_rates, counted, index };
        Self { write_rates: WriteRates::of(&facts), ..facts }
    }

    /// What a measurement was held against: those of [`Self::compared`], which are in order.
    pub(crate) fn compared_of(&self, measurement: usize) -> &[Compared] {
        let from = self.compared.partition_point(|one| one.measurement < measurement);
        let to = self.compared.partition_point(|one| one.measurement <= measurement);
        &self.compared[from..to]
    }

    pub(crate) fn record(&self) -> &'a RunRecord {
        self.question.record
    }

    /// The host at the start of the run; `None` also where it had no /sys, so that its devices are
    /// not known.
    pub(crate) fn host(&self) -> Option<&'a Host> {
        self.question.record.host().filter(|host| !host.no_sysfs)
    }

    /// The same for a rule that cannot do without: what is missing, where it is.
    pub(crate) fn known_host(&self) -> Result<&'a Host, String> {
        self.host().ok_or_else(|| "the run holds no snapshot of the host's devices".into())
    }

    /// Measurements that came to an end, with their index.
    pub(crate) fn finished(&self) -> impl Iterator<Item = (usize, &'a Measurement)> {
        let all = self.question.record.measurements.iter().enumerate();
        all.filter(|(_, measurement)| measurement.failure().is_none())
    }

    /// What the kernel counted while a measurement ran.
    ///
    /// # Errors
    /// As of [`Counted::of`].
    pub(crate) fn counted(&self, of: &Measurement) -> Result<Option<&Counted<'a>>, String> {
        let counted = self.counted.get(&span(of)).map(Result::as_ref);
        counted.transpose().map(|counted| counted?.as_ref()).map_err(Clone::clone)
    }

    /// What one of a measurement's targets is and stands on.
    pub(crate) fn place(&self, of: &Measurement, target: &str) -> Place<'a> {
        place(self.host(), of, target)
    }

    /// Names for a finding about a measurement: its targets, and the drives
    /// that are one of them.
    pub(crate) fn subjects(&self, of: &Measurement) -> Vec<String> {
        self.with_drives(of, of.targets.clone())
    }

    /// The same of those of several targets that are to blame; all where none is known to be.
    pub(crate) fn to_blame(&self, of: &Measurement, is_its: impl Fn(&Part) -> bool) -> Vec<String> {
        let blamed = of.parts.iter().filter(|part| part.clone.is_none() && is_its(part));
        let blamed: Vec<String> = blamed.map(|part| part.target.clone()).collect();
        self.with_drives(of, if blamed.is_empty() { of.targets.clone() } else { blamed })
    }

    fn with_drives(&self, of: &Measurement, targets: Vec<String>) -> Vec<String> {
        let mut names = targets.clone();
        for target in &targets {
            let place = self.place(of, target);
            if let Some(drive) = place.drive.filter(|_| place.whole)
                && !names.contains(&drive.name)
            {
                names.push(drive.name.clone());
            }
        }
        names
    }
}

/// What is judged of a measurement, by its workload: large blocks are about bandwidth, one I/O at a
/// time on each target is about latency, unless that depth is what a search for a rate came to.
pub(crate) fn metric(of: &Measurement) -> Metric {
    let targets = of.targets.len().max(1);
    let is_alone = || allowed(of).is_some_and(|all| all as usize <= targets);
    match of.workload.bs {
        Some(bs) if bs >= 64 << 10 => Metric::Bandwidth,
        _ if of.conditions.depths_tried.is_empty() && is_alone() => Metric::LatencyMean,
        _ => Metric::Iops,
    }
}

/// One of fio's options as it was written; `Ok(None)`: it was not, so that
/// its default was in effect. Options of our own jobs are recorded wherever
/// they are not fio's defaults; of a report without any nothing is known.
pub(crate) fn option<'m>(of: &'m Measurement, name: &str) -> Result<Option<&'m str>, String> {
    let options = &of.workload.options;
    // These two have a place of their own, and nothing but options tells them.
    let none = options.is_empty() && of.workload.direct.is_none() && of.workload.size.is_none();
    if is_fio(of) && none {
        return Err("the options of the job are not known".into());
    }
    Ok(options.get(name).map(String::as_str))
}

/// Whether fio measured it.
pub(crate) fn is_fio(of: &Measurement) -> bool {
    of.source.split(' ').next() == Some("fio")
}

/// Whether it paused between I/Os because it was asked to.
pub(crate) fn is_paced(of: &Measurement) -> bool {
    let paces = ["rate", "rate_iops", "thinktime"];
    paces.iter().any(|pace| of.workload.options.contains_key(*pace))
}

/// Whether it wrote, as far as is known.
pub(crate) fn writes(of: &Measurement) -> bool {
    let rw = of.workload.rw.as_deref().unwrap_or_default();
    rw.contains("write") || rw.contains("rw") || of.result(Direction::Write).is_some()
}

/// How many bytes of its targets offsets were taken from, each target once.
pub(crate) fn reach_bytes(facts: &RuleContext<'_>, of: &Measurement) -> Option<u64> {
    if !of.conditions.ranges.is_empty() {
        let lengths = of.conditions.ranges.iter().map(|(_, length)| *length);
        return Some(lengths.fold(0, u64::saturating_add));
    }
    let size = || of.workload.options.get("size")?.parse().ok();
    let devices = || {
        let targets = || of.targets.iter().map(|target| facts.place(of, target));
        let whole = targets().all(|place| place.whole) && !of.targets.is_empty();
        let all = bottoms(facts.host()?, of);
        let sizes = all.iter().map(|device| Some(device.size.get()?.0));
        sizes.sum::<Option<u64>>().filter(|_| whole)
    };
    of.workload.size.or_else(size).or_else(devices)
}

/// Whether a target's blocks were written.
pub(crate) fn written(of: &Measurement, target: &str) -> WrittenState {
    let share = of.conditions.written.iter().find(|share| share.target == target);
    share.map_or(WrittenState::Unknown, |share| share.state)
}

/// No target of it holds data, so that its figures are no drive's.
pub(crate) fn unwritten(of: &Measurement) -> bool {
    !of.targets.is_empty()
        && of.targets.iter().all(|target| written(of, target) == WrittenState::Unwritten)
}

/// The claim for a drive; none for virtual disks.
pub fn claim_of<'a>(claims: &'a ClaimBook, drive: &Drive) -> Option<&'a Claim> {
    let model = drive.model.get().filter(|_| drive.virtual_disk.is_none())?;
    capacities(drive).into_iter().find_map(|capacity| claims.find(model, capacity))
}
