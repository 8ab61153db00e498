//! What can go wrong with a campaign.

use iodyno_store::StoreError;
use iodyno_target::TargetError;
use thiserror::Error;

/// Why a campaign, or its part on one target, could not be carried out.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// Nothing can be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A target cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
}

impl CampaignError {
    /// What the user can type to have it done; empty where there is nothing.
    pub(crate) fn next_step(&self) -> String {
        match self {
            Self::Target(error) => error.next_step(),
            Self::Store(_) | Self::Interrupted => String::new(),
        }
    }
}
