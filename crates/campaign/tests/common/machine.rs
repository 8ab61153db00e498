//! An empty machine, and a folder for its drives.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use iodyno_campaign::{CampaignError, Options, Tools, Watcher, Work, carry_out};
use iodyno_host::{Captured, Depth, snapshot};
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{Host, Origin, RunRecord};
use iodyno_store::Store;
use iodyno_target::{Target, resolve};

/// An empty machine, and a folder for its drives.
pub struct Machine {
    folder: tempfile::TempDir,
    host: Host,
    source: Captured,
}

impl Machine {
    pub fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir(folder.path().join("sys")).unwrap();
        let source = Captured::open(folder.path()).unwrap();
        Self { host: snapshot(&source, Depth::Full), source, folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// A sparse file of `bytes` as a drive.
    pub fn drive(&self, name: &str, bytes: u64) -> Target {
        let path = self.path(name);
        std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
        resolve(&self.host, path.to_str().unwrap()).unwrap().remove(0)
    }

    /// Carries out `work`; returns the run as stored.
    pub fn carry_out(
        &self,
        work: &Work,
        targets: &[Target],
        options: Options,
        generator: &mut dyn LoadGenerator,
        store: &mut Store,
        (watcher, interrupted): (&mut dyn Watcher, &AtomicBool),
    ) -> Result<RunRecord, CampaignError> {
        let claims = &ClaimBook::builtin();
        let source = &self.source;
        let mut tools = Tools { source, generator, claims, store, watcher, interrupted };
        let options = Options { origin: Origin::Simulated, ..options };
        let id = carry_out(&mut tools, work, &self.host, targets, &options)?;
        Ok(store.load(&id).unwrap())
    }
}
