//! What the rules look at.

use iodyno_model::{Claim, Drive, Host, Measurement, Metric, Rounds, RunRecord, WrittenState};

use crate::claims::ClaimBook;
use crate::compare::{Compared, compare};
use crate::convergence::{Convergence, RoundsPlan};
use crate::expectation::Expectation;
use crate::place::{Place, capacities, place};

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
pub struct Facts<'a> {
    /// The question.
    pub question: &'a Question<'a>,
    /// Each measurement that has a rate or latency to judge, held against
    /// claims, peers and baseline.
    pub(crate) compared: Vec<Compared>,
    /// Of a run in rounds when they are over, and how far they came on each target.
    pub(crate) rounds: Option<(Rounds, Vec<OnTarget<'a>>)>,
}

impl<'a> Facts<'a> {
    /// Works out what rules need.
    pub fn gather(question: &'a Question<'a>) -> Self {
        let rounds = RoundsPlan::of(&question.record.run).map(|plan| {
            let found = Convergence::by_target(&plan.rounds, question.record);
            (plan.rounds, found)
        });
        Self { question, compared: compare(question), rounds }
    }

    pub(crate) fn record(&self) -> &'a RunRecord {
        self.question.record
    }

    /// The host at the start of the run.
    pub(crate) fn host(&self) -> Option<&'a Host> {
        self.question.record.host()
    }

    /// Measurements that came to an end, with their index.
    pub(crate) fn finished(&self) -> impl Iterator<Item = (usize, &'a Measurement)> {
        let all = self.question.record.measurements.iter().enumerate();
        all.filter(|(_, measurement)| measurement.failure().is_none())
    }

    /// What one of a measurement's targets is and stands on.
    pub(crate) fn place(&self, of: &Measurement, target: &str) -> Place<'a> {
        place(self.host(), of, target)
    }

    /// Names for a finding about a measurement: its targets, and the drives
    /// that are one of them.
    pub(crate) fn subjects(&self, of: &Measurement) -> Vec<String> {
        let mut names = of.targets.clone();
        for target in &of.targets {
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

/// What is judged of a measurement: by its step's name, else by its workload.
pub(crate) fn metric(of: &Measurement) -> Metric {
    match (of.name.as_str(), of.workload.bs) {
        ("seq-read", _) => Metric::Bandwidth,
        ("rand-read", _) => Metric::Iops,
        ("latency", _) => Metric::LatencyMean,
        (_, Some(bs)) if bs >= 64 << 10 => Metric::Bandwidth,
        _ if of.workload.iodepth == Some(1) && of.targets.len() < 2 => Metric::LatencyMean,
        _ => Metric::Iops,
    }
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
