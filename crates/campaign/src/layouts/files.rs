//! Loop devices over files, in place of drives.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use iodyno_model::{Built, Run, RunState};
use iodyno_store::{JournalEntry, Store};

use super::{program, undo};
use crate::error::CampaignError;
use crate::execute::now_ns;

/// Files of our own with a loop device over each. They belong to a run of
/// their own, so that `clean-up` finds them after a kill.
pub struct OnFiles {
    run: Run,
    made: Vec<(i64, Built)>,
    /// Paths of the loop devices.
    devices: Vec<String>,
    size_bytes: u64,
}

impl OnFiles {
    /// Makes `count` of them in `directory`, each of `size_bytes`, sparse.
    ///
    /// # Errors
    /// The directory cannot be written, or there is no loop device to be had;
    /// what was made is removed again.
    pub fn make(
        store: &mut Store,
        directory: &Path,
        count: usize,
        size_bytes: u64,
    ) -> Result<Self, CampaignError> {
        let run = Run {
            command: std::env::args().collect::<Vec<_>>().join(" "),
            plan_name: "files".into(),
            ..Run::new(iodyno_store::new_id(), now_ns())
        };
        store.create_run(&run)?;
        let mut files = Self { run, made: Vec::new(), devices: Vec::new(), size_bytes };
        for n in 0..count {
            let path = directory.join(format!("iodyno-{}-{n}.img", files.run.id));
            if let Err(error) = files.add(store, &path) {
                files.remove(store)?;
                return Err(error);
            }
        }
        Ok(files)
    }

    fn add(&mut self, store: &mut Store, path: &Path) -> Result<(), CampaignError> {
        let shown = path.display().to_string();
        let built = Built::BackingFile { path: shown.clone() };
        let ordinal = store.journal_add(&self.run.id, &JournalEntry::Built(built.clone()))?;
        self.made.push((ordinal, built));
        let failed = |error: std::io::Error| CampaignError::Program {
            line: shown.clone(),
            why: error.to_string(),
        };
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
        file.set_len(self.size_bytes).map_err(failed)?;
        let command = iodyno_layout::Command {
            program: "losetup",
            arguments: ["--find", "--show", "--direct-io=on", &shown].map(String::from).into(),
        };
        let device = program::run(&command, &[0], &AtomicBool::new(false))?;
        self.devices.push(device.trim().to_owned());
        Ok(())
    }

    /// Paths of the loop devices.
    pub fn devices(&self) -> &[String] {
        &self.devices
    }

    /// The words that name them for writing.
    pub fn words(&self) -> Vec<String> {
        let word =
            |device: &String| format!("{}:{}", device.trim_start_matches("/dev/"), self.size_bytes);
        self.devices.iter().map(word).collect()
    }

    /// Removes them, and the run that they belonged to.
    ///
    /// # Errors
    /// Something still has one of them; it stays in the journal.
    pub fn remove(mut self, store: &mut Store) -> Result<(), CampaignError> {
        let mut first = None;
        while let Some((ordinal, built)) = self.made.pop() {
            match undo(&built) {
                Ok(_) => store.journal_done(&self.run.id, ordinal)?,
                Err(why) => first = first.or(Some(why)),
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
