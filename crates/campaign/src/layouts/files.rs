//! Loop devices over files, used instead of drives.

use std::path::Path;

use iodyno_model::{Built, Mark, Run, RunKind, RunState};
use iodyno_store::{JournalEntry, Store};
use iodyno_target::{BackingFile, OwnFolder, command_words};

use super::stack::new_mark;
use crate::error::CampaignError;
use crate::tools::now_ns;

/// Files of our own with a loop device over each. They belong to a run of their own, so that
/// `clean-up` finds them after a kill.
pub struct LoopFiles {
    run: Run,
    made: Vec<(i64, BackingFile)>,
    /// Paths of the loop devices.
    devices: Vec<String>,
    size_bytes: u64,
}

impl LoopFiles {
    /// Makes `count` of them in `directory`, each of `size_bytes`, sparse.
    ///
    /// # Errors
    /// The directory is writable by others or not by us, or no loop device is free; what was made
    /// is removed again.
    pub fn make(
        store: &mut Store,
        directory: &Path,
        count: usize,
        size_bytes: u64,
    ) -> Result<Self, CampaignError> {
        let folder = OwnFolder::open(directory)?;
        let run = Run {
            command: command_words().collect::<Vec<_>>().join(" "),
            kind: RunKind::Files,
            plan_name: "files".into(),
            ..Run::new(iodyno_store::new_id(), now_ns())
        };
        store.create_run(&run)?;
        let mut files = Self { run, made: Vec::new(), devices: Vec::new(), size_bytes };
        let mark = new_mark();
        for number in 0..count {
            if let Err(error) = files.add(store, &folder, mark, number) {
                // The first error is reported; files that cannot be removed stay in the journal.
                let _ = files.remove(store);
                return Err(error);
            }
        }
        Ok(files)
    }

    fn add(
        &mut self,
        store: &mut Store,
        folder: &OwnFolder,
        mark: Mark,
        number: usize,
    ) -> Result<(), CampaignError> {
        let path = folder.backing_file(mark, number).display().to_string();
        let built = Built::BackingFile { path, mark: Some(mark) };
        let ordinal = store.journal_add(&self.run.id, &JournalEntry::Built(built))?;
        match BackingFile::make(folder, mark, number, self.size_bytes) {
            Ok(file) => {
                self.devices.push(file.device().to_owned());
                self.made.push((ordinal, file));
                Ok(())
            }
            Err(error) => {
                // Nothing is left to remove.
                store.journal_mark_undone(&self.run.id, ordinal)?;
                Err(error.into())
            }
        }
    }

    /// Paths of the loop devices.
    pub fn devices(&self) -> &[String] {
        &self.devices
    }

    /// Words that name them for writing.
    pub fn words(&self) -> Vec<String> {
        let word =
            |device: &String| format!("{}:{}", device.trim_start_matches("/dev/"), self.size_bytes);
        self.devices.iter().map(word).collect()
    }

    /// Removes them, and the run that they belong to.
    ///
    /// # Errors
    /// One of them cannot be removed; it stays in the journal.
    pub fn remove(mut self, store: &mut Store) -> Result<(), CampaignError> {
        let mut first = None;
        while let Some((ordinal, file)) = self.made.pop() {
            match file.remove() {
                Ok(_) => store.journal_mark_undone(&self.run.id, ordinal)?,
                Err(error) => first = first.or(Some(error.to_string())),
            }
        }
        self.run.state = RunState::Done;
        self.run.ended_ns = Some(now_ns());
        store.update_run(&self.run)?;
        match first {
            Some(why) => Err(CampaignError::Standing { run_id: self.run.id, why }),
            None => Ok(store.remove(&self.run.id)?),
        }
    }
}
