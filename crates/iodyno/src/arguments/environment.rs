//! Options that describe the machine behind imported results.

use clap::Args;
use iodyno_model::{LinkState, Stated, StatedBlocks, StatedCard};

#[derive(Debug, Args)]
#[command(next_help_heading = "Describe the machine the results came from")]
pub(crate) struct MachineOptions {
    /// PCIe link of each drive: gen2x4
    #[arg(long, value_name = "LINK", value_parser = LinkState::parse)]
    pub(crate) link: Option<LinkState>,
    /// Drive model: the model string, or the data sheet's name with the capacity
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Earlier block content: written-seq, written-random, trimmed, unknown
    #[arg(long, value_name = "STATE", value_parser = StatedBlocks::parse)]
    pub(crate) blocks: Option<StatedBlocks>,
    /// RAID card or HBA in front of the drives: `2 x PERC H965i gen4x16`
    #[arg(long, value_name = "CARD", value_parser = StatedCard::parse)]
    pub(crate) behind: Option<StatedCard>,
    /// Number of drives
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) drives: Option<u32>,
    /// Layer that combines the drives: raid0, raid6, stripe
    #[arg(long, value_name = "LAYER")]
    pub(crate) layer: Option<String>,
}

impl MachineOptions {
    pub(crate) fn stated(&self) -> Stated {
        Stated {
            link: self.link,
            model: self.model.clone(),
            blocks: self.blocks,
            behind: self.behind.clone(),
            drives: self.drives,
            layer: self.layer.clone(),
        }
    }
}
