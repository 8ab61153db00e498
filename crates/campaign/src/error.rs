//! What can go wrong with a campaign.

use iodyno_job::script::Script;
use iodyno_store::StoreError;
use iodyno_target::TargetError;
use thiserror::Error;

use crate::plan::PlanError;

/// Why a campaign, or its part on one target, could not be carried out.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// Nothing can be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A target cannot be used.
    #[error(transparent)]
    Target(TargetError),
    /// A job does not fit its files or devices.
    #[error("{place}job `{name}`: {what}")]
    Job {
        /// Where it begins, `job.fio:3: `; empty: not known.
        place: String,
        /// Its name.
        name: String,
        /// What does not fit, and what would.
        what: String,
    },
    /// A target is not one that can be prepared.
    #[error("{name} cannot be prepared: {what}")]
    NotPrepared {
        /// The target.
        name: String,
        /// What does not fit, and what would.
        what: String,
    },
    /// Something in a plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A setting that a plan asks for cannot be had.
    #[error("settings: {0}")]
    Setting(String),
    /// `filename` names a directory.
    #[error("filename={0}: it is a directory, and a job works on files")]
    DirectoryAsFile(String),
    /// A word of --allow-write, --discard-data or --assume-unused names nothing
    /// that is written.
    #[error(
        "`{0}` was allowed to be written, and no job writes it: check the word, or leave it out"
    )]
    UnusedAllowance(String),
    /// One of the system's programs failed.
    #[error("{line}: {why}")]
    Program {
        /// The command.
        line: String,
        /// What it said.
        why: String,
    },
    /// A layout that cannot be built.
    #[error(transparent)]
    Layout(#[from] iodyno_layout::BuildError),
    /// What was built could not be taken down.
    #[error("what was built still stands: {why}")]
    Standing {
        /// The run that built it.
        run_id: String,
        /// Why.
        why: String,
    },
    /// The user ended it.
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
    /// A job of this name does not fit.
    pub(crate) fn of_job(name: &str, what: String) -> Self {
        Self::Job { place: String::new(), name: name.into(), what }
    }

    /// With the place of the job that it is about.
    pub(crate) fn placed(mut self, script: &Script) -> Self {
        if let Self::Job { place, name, .. } = &mut self
            && let Some(section) = script.sections.iter().find(|section| section.name == *name)
        {
            *place = format!("{}: ", section.place);
        }
        self
    }

    /// What the user can type to have it done; empty where there is nothing.
    pub fn next_step(&self) -> String {
        match self {
            Self::Target(error) => error.next_step(),
            Self::DirectoryAsFile(name) => format!("directory={name} makes the job's files in it"),
            Self::Standing { run_id, .. } => format!("iodyno clean-up {run_id}"),
            _ => String::new(),
        }
    }
}
