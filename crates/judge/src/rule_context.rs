//! Facts that the rules use.

use iodyno_model::{BlockDevice, Host, Measurement, Part, Profile, Rounds, RunRecord};

use crate::convergence::Convergence;
use crate::counters::{BySpan, Counted};
use crate::index::{Index, span};
use crate::place::{Place, bottom_devices, place};
use crate::question::Question;
use crate::write_rates::WriteRates;
use crate::yardsticks::{Compared, compare};

/// Progress of the rounds on a target.
type OnTarget<'a> = (&'a [String], Convergence);

/// A question with the derived facts that several rules need.
#[derive(Debug)]
pub struct RuleContext<'a> {
    /// The question.
    pub question: &'a Question<'a>,
    /// Each measurement with a rate or latency to judge, compared with claims, peers and baseline.
    pub(crate) compared: Vec<Compared>,
    /// For a run in rounds: the criteria that end them, and the progress on each target.
    pub(crate) rounds: Option<(&'a Rounds, Vec<OnTarget<'a>>)>,
    /// For a run of `fit`.
    pub(crate) profile: Option<Profile>,
    /// Writes per second by size.
    pub(crate) write_rates: WriteRates<'a>,
    /// Kernel counters during the measurements.
    counted: BySpan<'a>,
    /// Index of the run's measurements.
    pub(crate) index: Index<'a>,
}

impl<'a> RuleContext<'a> {
    /// Derives the facts that rules need.
    pub fn gather(question: &'a Question<'a>) -> Self {
        let rounds = question.record.run.rounds.as_ref().map(|plan| {
            let found = Convergence::by_target(&plan.rounds, question.record);
            (&plan.rounds, found)
        });
        let index = Index::of(question.record);
        let (compared, counted) = (compare(question, &index), Counted::all(&index));
        let write_rates = WriteRates::default();
        let profile = question.record.run.profile();
        let context = Self { question, compared, rounds, profile, write_rates, counted, index };
        Self { write_rates: WriteRates::of(&context), ..context }
    }

    /// Returns the comparisons of a measurement; [`Self::compared`] is sorted by measurement.
    pub(crate) fn compared_of(&self, measurement: usize) -> &[Compared] {
        let from = self.compared.partition_point(|one| one.measurement < measurement);
        let to = self.compared.partition_point(|one| one.measurement <= measurement);
        &self.compared[from..to]
    }

    pub(crate) fn record(&self) -> &'a RunRecord {
        self.question.record
    }

    /// Returns the host at the start of the run; `None` also if it had no /sys, so that its devices
    /// are not known.
    pub(crate) fn host(&self) -> Option<&'a Host> {
        self.question.record.host().filter(|host| !host.no_sysfs)
    }

    /// Returns the host, for a rule that needs it; the error says what is missing.
    pub(crate) fn known_host(&self) -> Result<&'a Host, String> {
        self.host().ok_or_else(|| "the run has no snapshot of the host's devices".into())
    }

    /// Returns the host and the whole devices under a measurement's targets; an error says what is
    /// not known.
    pub(crate) fn devices_under(
        &self,
        of: &Measurement,
    ) -> Result<(&'a Host, Vec<&'a BlockDevice>), String> {
        let host = self.known_host()?;
        match bottom_devices(host, of) {
            devices if devices.is_empty() => Err("the device below the target is not known".into()),
            devices => Ok((host, devices)),
        }
    }

    /// Returns finished measurements, with their index.
    pub(crate) fn finished(&self) -> impl Iterator<Item = (usize, &'a Measurement)> {
        let all = self.question.record.measurements.iter().enumerate();
        all.filter(|(_, measurement)| measurement.failure().is_none())
    }

    /// Returns the kernel counters of a measurement.
    ///
    /// # Errors
    /// As of [`Counted::of`].
    pub(crate) fn counted(&self, of: &Measurement) -> Result<Option<&Counted<'a>>, String> {
        let counted = self.counted.get(&span(of)).map(Result::as_ref);
        counted.transpose().map(|counted| counted?.as_ref()).map_err(Clone::clone)
    }

    /// Locates one of a measurement's targets.
    pub(crate) fn place(&self, of: &Measurement, target: &str) -> Place<'a> {
        place(self.host(), of, target)
    }

    /// Returns advice to change the jobs; empty for a profile's, which do as the application does.
    pub(crate) fn for_jobs<'t>(&self, next: &'t str) -> &'t str {
        if self.profile.is_some() { "" } else { next }
    }

    /// Names for a finding about a measurement: its targets, and the drives that are targets.
    pub(crate) fn subjects(&self, of: &Measurement) -> Vec<String> {
        self.with_drives(of, of.targets.clone())
    }

    /// The same for the targets whose part is to blame; all targets if none is known to be.
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
