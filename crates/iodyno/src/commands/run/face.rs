//! Differences between `iodyno run` and `iodyno fio`, except for the shapes of the output.

use iodyno_campaign::CampaignError;
use iodyno_job::syntax::{Invocation, OutputFormat};
use iodyno_model::{Caveat, JobStats, Measurement, Part, RunRecord, RunState};
use iodyno_native::CommandPolicy;

use crate::context;

/// fio version whose options, output and exit statuses are reproduced.
pub(crate) const FIO: &str = iodyno_fio::out::SHAPE;

/// Environment variable set for child processes that must be the real fio: an iodyno named `fio`
/// then does not pass for it.
pub(crate) const FIO_PROBE_ENV: &str = iodyno_fio::FIO_PROBE_ENV;

/// Program that `run` acts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    /// `iodyno run`.
    Iodyno,
    /// `iodyno fio`, or a link named `fio`: callers parse its output, and take any text on standard
    /// error for an error.
    Fio,
}

impl Face {
    /// Prefix of errors.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Iodyno => "iodyno",
            Self::Fio => "fio",
        }
    }

    /// Output formats, with the default if none is asked for. fio has an order of its own, and one
    /// JSON.
    pub(super) fn formats(self, invocation: &Invocation) -> Vec<OutputFormat> {
        use OutputFormat::{Json, JsonPlus, Normal, Terse};
        let asked = &invocation.output_formats;
        if self == Self::Iodyno {
            return asked.clone();
        }
        let has = |format: OutputFormat| match format {
            Terse => invocation.append_terse || asked.contains(&Terse),
            Json => asked.contains(&Json) && !asked.contains(&JsonPlus),
            Normal => asked.is_empty() || asked.contains(&Normal),
            JsonPlus => asked.contains(&JsonPlus),
        };
        [Terse, Json, JsonPlus, Normal].into_iter().filter(|format| has(*format)).collect()
    }

    /// Policy for commands of jobs: fio passes them to a shell without asking.
    pub(super) const fn commands(self, allowed: bool) -> CommandPolicy {
        match self {
            Self::Fio => CommandPolicy::Shell,
            Self::Iodyno => CommandPolicy::without_shell_if(allowed),
        }
    }

    /// Exit status of an error before any measurement.
    pub(crate) fn status_of(self, error: &anyhow::Error) -> u8 {
        let interrupted = matches!(error.downcast_ref(), Some(CampaignError::Interrupted));
        match self {
            Self::Iodyno => context::status_of(error),
            Self::Fio if interrupted => INTERRUPTED,
            Self::Fio => 1,
        }
    }

    /// Exit status of a run for which iodyno's own would be `ours`. `ended`: a trigger ended it, as
    /// requested.
    pub(super) fn status_of_run(self, record: &RunRecord, ours: u8, ended: bool) -> u8 {
        if self == Self::Iodyno {
            return ours;
        }
        let failed: usize = record.measurements.iter().map(failed_jobs).sum();
        let interrupted = record.run.state == RunState::Interrupted && !ended;
        // fio counts jobs beyond 128, too (backend.c); saturated here, so that no count of failures
        // wraps to 0.
        let status = failed + if interrupted { INTERRUPTED.into() } else { 0 };
        u8::try_from(status).unwrap_or(u8::MAX)
    }
}

/// fio's messages on standard error, about failed jobs and about blocks that failed verification in
/// jobs that went on: callers check whether it is empty.
pub(super) fn error_lines(record: &RunRecord) -> Vec<String> {
    let told = |failure: &str, errno: i32| {
        format!("fio: pid={}, err={errno}/{failure}", std::process::id())
    };
    let of = |measurement: &Measurement| {
        let accounts = measurement.parts.iter().filter_map(|part| part.account.as_ref());
        let accounts = accounts.filter_map(|one| Some(told(one.failure.as_deref()?, one.errno())));
        let each: Vec<String> = accounts.collect();
        let caveats = measurement.conditions.shortfalls.iter();
        let mismatches = caveats.filter(|one| matches!(one, Caveat::Mismatch { .. }));
        match measurement.failure() {
            None => mismatches.map(|one| format!("fio: {one}")).collect(),
            Some(failure) if each.is_empty() => {
                let errno = measurement.account.as_ref().map(JobStats::errno);
                vec![told(failure, errno.unwrap_or_else(|| measurement.errno()))]
            }
            _ => each,
        }
    };
    record.measurements.iter().flat_map(of).collect()
}

/// Exit value of fio after a signal.
const INTERRUPTED: u8 = 128;

/// Number of failed jobs of a measurement; fio counts each clone.
fn failed_jobs(measurement: &Measurement) -> usize {
    let has_failed = |part: &&Part| match &part.account {
        Some(account) => account.error != 0 || account.failure.is_some(),
        None => part.failure.is_some() || measurement.failure().is_some(),
    };
    let clones = measurement.parts.iter().filter(|part| part.clone.is_some());
    let failed = clones.filter(has_failed).count();
    failed.max(measurement.failure().is_some().into())
}
