//! A run with what it is judged to mean.

use iodyno_judge::{ExitStatus, names};
use iodyno_model::{Assessment, Drive, JudgedMeasurement, Measurement, RunRecord, Verdict};

/// A run with what it is judged to mean.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The run.
    pub record: &'a RunRecord,
    /// What it is judged to mean.
    pub assessment: &'a Assessment,
}

/// A drive or another target of a run, with its verdict.
#[derive(Debug, Clone)]
pub(crate) struct Subject<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The drive, where it is one.
    pub(crate) drive: Option<&'a Drive>,
    /// Its verdict.
    pub(crate) verdict: Verdict,
    /// Names under which findings and measurements speak of it.
    pub(crate) names: Vec<&'a str>,
}

impl<'a> Judged<'a> {
    /// What a command that shows it ends with; 4 only where a verdict is required.
    pub fn exit_status(self, require_verdict: bool) -> ExitStatus {
        iodyno_judge::exit_status(self.record, self.assessment, require_verdict)
    }

    /// Everything that has a verdict of its own, in the assessment's order.
    pub(crate) fn subjects(self) -> Vec<Subject<'a>> {
        let subject = |(name, verdict): &'a (String, Verdict)| {
            let host = self.record.host();
            let of_namespace = || Some(host?.namespace(name)?.0);
            let drive = host.and_then(|host| host.drive(name)).or_else(of_namespace);
            let names = drive.map_or_else(|| vec![name.as_str()], names);
            Subject { name, drive, verdict: *verdict, names }
        };
        self.assessment.subjects.iter().map(subject).collect()
    }

    /// The measurements, each with what it is judged to mean.
    pub(crate) fn measurements(
        self,
    ) -> impl Iterator<Item = (&'a Measurement, Option<&'a JudgedMeasurement>)> {
        self.record
            .measurements
            .iter()
            .enumerate()
            .map(move |(index, of)| (of, self.assessment.of(index)))
    }

    /// Name of the host, where it is known.
    pub(crate) fn hostname(self) -> Option<&'a str> {
        self.record.host()?.hostname.get().map(String::as_str)
    }
}

impl Subject<'_> {
    /// Whether one of `names` means it.
    pub(crate) fn is_among(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.names.contains(&name.as_str()))
    }
}
