//! Writes a run that could not be stored into a file, to be imported later.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use iodyno_files::create_new;
use iodyno_judge::ClaimBook;
use iodyno_model::{RunRecord, own_command, shell_word};
use iodyno_report::Judged;
use iodyno_store::Store;

use crate::commands::export::documents;
use crate::commands::rejudge;
use crate::terminal;

/// Writes `record` into the working directory, or else `$TMPDIR`, if `store` could not keep all of
/// it, and prints how to import it.
///
/// # Errors
/// The record cannot be converted to a document.
pub(crate) fn save(store: &Store, record: &RunRecord, claims: &ClaimBook) -> Result<()> {
    let Some(why) = store.aside() else { return Ok(()) };
    terminal::note(&format!("iodyno: {why}"));
    if record.measurements.is_empty() {
        return Ok(());
    }
    let assessment = rejudge(record, claims);
    let text = documents(&[Judged { record, assessment: &assessment }])?;
    let name = format!("iodyno-{}.json", record.run.id);
    for folder in [PathBuf::new(), std::env::temp_dir()] {
        let path = folder.join(&name);
        match write_file(&path, text.as_bytes()) {
            Ok(()) => {
                let shown = path.display().to_string();
                terminal::note(&format!("        the results are in {shown}"));
                let import = own_command(&format!("import {}", shell_word(&shown)));
                terminal::note(&format!("        next: {import}, once the store works"));
                return Ok(());
            }
            Err(error) => terminal::note(&format!("        {error}")),
        }
    }
    terminal::note("        the results exist in this output only");
    Ok(())
}

/// Writes the whole file, or removes it.
fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = create_new(path)?;
    let outcome = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = outcome {
        let ours = rustix::fs::fstat(&file).map(|stat| iodyno_files::FileIdentity::of(&stat))?;
        let is_ours = |stat: &rustix::fs::Stat| iodyno_files::FileIdentity::of(stat) == ours;
        let _ = iodyno_files::remove(&std::path::absolute(path)?, is_ours);
        return Err(anyhow::Error::new(error).context(format!("cannot write {}", path.display())));
    }
    Ok(())
}
