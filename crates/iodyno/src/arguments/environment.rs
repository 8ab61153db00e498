//! What is stated of the machine that imported results came from.

use clap::Args;
use iodyno_model::{LinkState, Stated, StatedBlocks, StatedCard};

#[derive(Debug, Args)]
#[command(next_help_heading = "What is stated of the machine, where results are another's")]
pub(crate) struct Environment {
    /// What each drive's own link was trained to: gen2x4
    #[arg(long, value_name = "LINK", value_parser = LinkState::parse)]
    pub(crate) link: Option<LinkState>,
    /// The drives: their model string, or their name on the data sheet with the capacity
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// What the blocks held: written-seq, written-random, trimmed, unknown
    #[arg(long, value_name = "STATE", value_parser = StatedBlocks::parse)]
    pub(crate) blocks: Option<StatedBlocks>,
    /// The RAID card or HBA that the drives were behind: `2 x PERC H965i gen4x16`
    #[arg(long, value_name = "CARD", value_parser = StatedCard::parse)]
    pub(crate) behind: Option<StatedCard>,
    /// How many drives there were
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) drives: Option<u32>,
    /// What made one target of the drives: raid0, raid6, stripe
    #[arg(long, value_name = "LAYER")]
    pub(crate) layer: Option<String>,
}

impl Environment {
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
