//! Errors of a campaign.

use iodyno_job::script::Script;
use iodyno_model::own_command;
use iodyno_store::StoreError;
use iodyno_target::TargetError;
use thiserror::Error;

use crate::plan::PlanError;

/// Why a campaign, or its part on one target, failed.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// The store cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A target cannot be used.
    #[error(transparent)]
    Target(TargetError),
    /// A job does not fit its files or devices.
    #[error("{place}job `{name}`: {what}")]
    Job {
        /// Its place, `job.fio:3: `; empty if unknown.
        place: String,
        /// Name of the job.
        name: String,
        /// What does not fit, and what would.
        what: String,
    },
    /// A target cannot be prepared.
    #[error("{name} cannot be prepared: {what}")]
    NotPrepared {
        /// Name of the target.
        name: String,
        /// What does not fit, and what would.
        what: String,
    },
    /// A plan has a mistake.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A setting of a plan cannot be applied.
    #[error("settings: {0}")]
    Setting(String),
    /// `filename` names a directory.
    #[error("filename={0}: is a directory; a job needs files")]
    DirectoryAsFile(String),
    /// A word of --allow-write, --discard-data or --assume-unused names nothing that a job writes.
    #[error("`{0}` is allowed, but no job writes it: check the name, or remove it")]
    UnusedAllowance(String),
    /// A system program failed.
    #[error("{line}: {why}")]
    Program {
        /// Command line.
        line: String,
        /// Its error output.
        why: String,
    },
    /// A layout cannot be built.
    #[error(transparent)]
    Layout(#[from] iodyno_layout::BuildError),
    /// A layout could not be taken down.
    #[error("cannot take down the layout: {why}")]
    Standing {
        /// Id of the run that built it.
        run_id: String,
        /// Reason.
        why: String,
    },
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
}

impl From<TargetError> for CampaignError {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Interrupted { .. } | TargetError::LayoutInterrupted { .. } => {
                Self::Interrupted
            }
            error => Self::Target(error),
        }
    }
}

impl CampaignError {
    /// Error of the job `name`, without its place.
    pub(crate) fn of_job(name: &str, what: String) -> Self {
        Self::Job { place: String::new(), name: name.into(), what }
    }

    /// Adds the place of the job in question.
    pub(crate) fn placed(mut self, script: &Script) -> Self {
        if let Self::Job { place, name, .. } = &mut self
            && let Some(section) = script.sections.iter().find(|section| section.name == *name)
        {
            *place = format!("{}: ", section.place);
        }
        self
    }

    /// Command or option that solves it; empty if there is none.
    pub fn next_step(&self) -> String {
        match self {
            Self::Target(error) => error.next_step(),
            Self::DirectoryAsFile(name) => format!("directory={name} makes the job's files in it"),
            Self::Standing { run_id, .. } => own_command(&format!("clean-up {run_id}")),
            _ => String::new(),
        }
    }
}
