//! `iodyno completions`: a script that lets a shell complete the command line; and what it asks.

use anyhow::Result;

use crate::arguments::{Complete, Completions};
use crate::{completion, terminal};

pub(crate) fn run(arguments: &Completions) -> Result<u8> {
    terminal::write(completion::script(arguments.shell).as_bytes())?;
    Ok(0)
}

/// Answers the script.
pub(crate) fn complete(arguments: &Complete) -> Result<u8> {
    terminal::write(completion::candidates(arguments.index, &arguments.words).as_bytes())?;
    Ok(0)
}
