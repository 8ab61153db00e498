//! `iodyno clean-up`: undoes what a killed run left behind.

use anyhow::Result;
use iodyno_campaign::Undone;

use crate::arguments::CleanUp;
use crate::context::Context;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &CleanUp) -> Result<u8> {
    let mut store = context.store()?;
    let run = arguments.run.as_deref().map(|run| store.find(run)).transpose()?;
    let undone = iodyno_campaign::clean_up(&mut store, run.map(|run| run.id).as_deref())?;
    let mut status = 0;
    for Undone { what, outcome } in &undone {
        let words = match outcome {
            Ok(words) => words.clone(),
            Err(error) => {
                status = 3;
                format!("failed: {error}")
            }
        };
        terminal::print(&format!("{what}: {words}\n"))?;
    }
    if undone.is_empty() {
        terminal::print("Nothing was left behind.\n")?;
    }
    Ok(status)
}
