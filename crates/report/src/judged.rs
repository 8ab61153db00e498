//! Run with its assessment.

use iodyno_judge::{ExitStatus, names};
use iodyno_model::{Assessment, Drive, JudgedMeasurement, Measurement, RunRecord, Verdict};

/// Run with its assessment.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Run.
    pub record: &'a RunRecord,
    /// Assessment.
    pub assessment: &'a Assessment,
}

/// Drive or other target of a run, with its verdict.
#[derive(Debug, Clone)]
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    /// Drive, if it is one.
    pub(crate) drive: Option<&'a Drive>,
    pub(crate) verdict: Verdict,
    /// Names used for it in findings and measurements.
    pub(crate) names: Vec<&'a str>,
}

impl<'a> Judged<'a> {
    /// Returns the exit status of a command that shows the run; 4 only if a verdict is required,
    /// here or by the run.
    pub fn exit_status(self, require_verdict: bool) -> ExitStatus {
        iodyno_judge::exit_status(self.record, self.assessment, require_verdict)
    }

    /// Returns all subjects with a verdict of their own, in the assessment's order.
    pub(crate) fn subjects(self) -> Vec<Subject<'a>> {
        let run = &self.record.run;
        let place = run.profile().map(|profile| profile.place(&run.targets));
        let subject = |(name, verdict): &'a (String, Verdict)| {
            let host = self.record.host();
            let of_namespace = || Some(host?.namespace(name)?.0);
            let drive = host.and_then(|host| host.drive(name)).or_else(of_namespace);
            let mut names = drive.map_or_else(|| vec![name.as_str()], names);
            if place.as_ref() == Some(name) {
                let measured = self.record.measurements.iter();
                names.extend(measured.flat_map(|of| &of.targets).map(String::as_str));
            }
            Subject { name, drive, verdict: *verdict, names }
        };
        self.assessment.subjects.iter().map(subject).collect()
    }

    /// Iterates over the measurements with their assessment.
    pub(crate) fn measurements(
        self,
    ) -> impl Iterator<Item = (&'a Measurement, Option<&'a JudgedMeasurement>)> {
        self.record
            .measurements
            .iter()
            .enumerate()
            .map(move |(index, of)| (of, self.assessment.of(index)))
    }

    /// Returns the measurements that count, with their index: without those that failed or were cut
    /// off, and were repeated after the run was resumed.
    pub(crate) fn counting(
        self,
    ) -> impl Iterator<Item = (usize, (&'a Measurement, Option<&'a JudgedMeasurement>))> {
        self.measurements().enumerate().filter(move |(index, _)| !self.record.is_repeated(*index))
    }

    /// Returns the host name, if known.
    pub(crate) fn hostname(self) -> Option<&'a str> {
        self.record.host()?.hostname.get().map(String::as_str)
    }
}

impl Subject<'_> {
    /// True if one of `names` refers to it.
    pub(crate) fn is_among(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.names.contains(&name.as_str()))
    }
}
