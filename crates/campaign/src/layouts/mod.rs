//! Layouts: built on cleared drives, measured, and taken down by the journal.

mod drive;
mod files;
mod program;
mod stack;
#[cfg(test)]
pub(crate) mod testing;
mod undo;

use std::collections::BTreeSet;

use iodyno_layout::{Layout, Tool};

pub use files::LoopFiles;
pub(crate) use stack::Stack;
pub use stack::{LayoutPlan, new_names};
pub(crate) use undo::{Witness, undo};

/// Programs needed to build these layouts that are not installed.
pub fn missing_tools(layouts: &[Layout]) -> BTreeSet<Tool> {
    let mut tools = iodyno_layout::tools(layouts);
    tools.retain(|tool| program::find(tool.program).is_none());
    tools
}
