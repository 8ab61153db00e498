//! `iodyno capture`: writes this machine's description into a folder or file.

use anyhow::Result;
use iodyno_model::shell_word;

use crate::arguments::Capture;
use crate::context::{Context, bail_usage};
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Capture) -> Result<u8> {
    let directory = &arguments.directory;
    if directory.exists() {
        bail_usage!("{} exists: use a new name", directory.display());
    }
    iodyno_host::capture(context.source()?.as_ref(), directory, arguments.mask_serials)?;
    if !context.quiet {
        terminal::note(&format!(
            "written; `iodyno --sysroot {} list` reads it",
            shell_word(&directory.display().to_string())
        ));
    }
    Ok(0)
}
