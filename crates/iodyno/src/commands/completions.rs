//! `iodyno completions`: prints a shell's completion script and answers its requests.

use anyhow::Result;

use crate::arguments::{Complete, Completions};
use crate::{completion, terminal};

pub(crate) fn run(arguments: &Completions) -> Result<u8> {
    terminal::write(completion::script(arguments.shell).as_bytes())?;
    Ok(0)
}

/// Answers a request of the script.
pub(crate) fn complete(arguments: &Complete) -> Result<u8> {
    terminal::write(completion::candidates(arguments.index, &arguments.words).as_bytes())?;
    Ok(0)
}
