//! Whose program `run` is to whoever calls it: its own, or fio. Everything that
//! differs between both is here, but for the shapes of the output.

use iodyno_campaign::CampaignError;
use iodyno_job::syntax::OutputFormat;
use iodyno_model::{Measurement, RunRecord, RunState};
use iodyno_native::CommandPolicy;

use crate::context;

/// The version of fio whose options, output and exit statuses these are.
pub(crate) const FIO: &str = iodyno_fio::out::SHAPE;

/// Set for whatever is started as fio: an iodyno of that name does not pass for fio.
pub(crate) const WANTS_FIO: &str = iodyno_fio::WANTS_FIO;

/// Who is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    /// `iodyno run`.
    Iodyno,
    /// `iodyno fio`, or a link of the name `fio`: callers parse what it prints, and take
    /// any word on standard error for an error.
    Fio,
}

impl Face {
    /// What errors begin with.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Iodyno => "iodyno",
            Self::Fio => "fio",
        }
    }

    /// The formats that are printed where `asked` says none.
    pub(super) fn formats(self, asked: &[OutputFormat]) -> Vec<OutputFormat> {
        match self {
            Self::Fio if asked.is_empty() => vec![OutputFormat::Normal],
            _ => asked.to_vec(),
        }
    }

    /// What becomes of the commands of jobs: fio hands them to a shell, and asks nobody.
    pub(super) const fn commands(self, allowed: bool) -> CommandPolicy {
        match self {
            Self::Fio => CommandPolicy::Shell,
            Self::Iodyno => CommandPolicy::without_shell_if(allowed),
        }
    }

    /// The exit status of an error before anything was measured.
    pub(crate) fn status_of(self, error: &anyhow::Error) -> u8 {
        let interrupted = matches!(error.downcast_ref(), Some(CampaignError::Interrupted));
        match self {
            Self::Iodyno => context::status_of(error),
            Self::Fio if interrupted => INTERRUPTED,
            Self::Fio => 1,
        }
    }

    /// The exit status of a run that iodyno would leave with `ours`. `ended`: it was ended
    /// as it had been asked to, by a trigger.
    pub(super) fn status_of_run(self, record: &RunRecord, ours: u8, ended: bool) -> u8 {
        if self == Self::Iodyno {
            return ours;
        }
        let failed: usize = record.measurements.iter().map(failed_jobs).sum();
        let interrupted = record.run.state == RunState::Interrupted && !ended;
        // fio counts jobs behind 128 as well (backend.c); no count of failures becomes a 0.
        let status = failed + if interrupted { INTERRUPTED.into() } else { 0 };
        u8::try_from(status).unwrap_or(u8::MAX)
    }
}

/// What fio says of each job that failed, on standard error: callers look whether it is empty.
pub(super) fn told(record: &RunRecord) -> Vec<String> {
    let told = |failure: &str, errno: i32| {
        format!("fio: pid={}, err={errno}/{failure}", std::process::id())
    };
    let of = |measurement: &Measurement| {
        let accounts = measurement.parts.iter().filter_map(|part| part.account.as_ref());
        let accounts = accounts.filter_map(|one| Some(told(one.failure.as_deref()?, one.error)));
        let each: Vec<String> = accounts.collect();
        match measurement.failure() {
            Some(failure) if each.is_empty() => {
                let errno = measurement.account.as_ref().map_or(0, |account| account.error);
                vec![told(failure, errno)]
            }
            _ => each,
        }
    };
    record.measurements.iter().flat_map(of).collect()
}

/// fio's `exit_value` after a signal.
const INTERRUPTED: u8 = 128;

/// Jobs of a measurement that ended with an error: fio counts each clone.
fn failed_jobs(measurement: &Measurement) -> usize {
    let accounts = measurement.parts.iter().filter(|part| part.clone.is_some());
    let failed = accounts
        .filter_map(|part| part.account.as_ref())
        .filter(|account| account.error != 0 || account.failure.is_some())
        .count();
    failed.max(measurement.failure().is_some().into())
}
