//! A layout built on drives, while it is measured.

use std::collections::BTreeSet;

use iodyno_host::{Depth, snapshot};
use iodyno_layout::{Layer, Layout, Names, Step, Top, build};
use iodyno_model::{Built, Host, Mark};
use iodyno_store::JournalEntry;
use iodyno_target::{Permission, Target, WriteClearance, lend, resolve, resolve_all, stamp};

use super::undo::{Witness, undo};
use super::{drive, program};
use crate::error::CampaignError;
use crate::tools::Tools;
use crate::undone::Outcome;
use crate::watch::Event;

/// A layout to build for a run, and its drives.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutPlan {
    /// The layout.
    pub layout: Layout,
    /// Block devices of the drives, by name.
    pub drives: Vec<String>,
    /// Names not in use on this machine.
    pub names: Names,
}

/// Names for a layout that are not in use on this machine.
pub fn new_names(host: &Host) -> Names {
    let has = |word: &str| host.blocks.iter().any(|block| block.name == word);
    // Like mdadm: from 127 downwards.
    let free = (0..=127).rev().find(|number| !has(&format!("md{number}"))).unwrap_or(127);
    Names::new(new_mark(), format!("/dev/md{free}"))
}

/// A new random mark.
pub(super) fn new_mark() -> Mark {
    Mark(fastrand::u128(..))
}

/// Parts built so far, the lowest first, with their journal entries.
pub(crate) struct Stack<'p> {
    plan: &'p LayoutPlan,
    permission: Permission,
    /// Target of the I/O.
    top: Top,
    run_id: String,
    built: Vec<(i64, Built)>,
    /// Paths of the drives that were changed: only these are given back.
    changed: BTreeSet<String>,
}

impl<'p> Stack<'p> {
    /// Builds `plan` on drives that `permission` names, after discarding their blocks if supported.
    /// Each part is in the journal before it is made; after an error or an interruption all parts
    /// are taken down again.
    pub(crate) fn build(
        tools: &mut Tools<'_>,
        run_id: &str,
        plan: &'p LayoutPlan,
        permission: &Permission,
    ) -> Result<Self, CampaignError> {
        let paths: Vec<String> = plan.drives.iter().map(|name| format!("/dev/{name}")).collect();
        let (steps, top) = build(&plan.layout, &paths, &plan.names)?;
        let mut stack = Self {
            plan,
            permission: Permission { own_marks: vec![plan.names.mark], ..permission.clone() },
            top,
            run_id: run_id.into(),
            built: Vec::new(),
            changed: BTreeSet::new(),
        };
        match stack.take_all(tools, &steps) {
            Ok(()) => Ok(stack),
            Err(error) => {
                stack.take_down(tools)?;
                Err(error)
            }
        }
    }

    fn take_all(&mut self, tools: &mut Tools<'_>, steps: &[Step]) -> Result<(), CampaignError> {
        let host = snapshot(tools.source, Depth::Quick);
        let targets = resolve_all(&host, &self.plan.drives)?;
        let lent = self.cleared(&host, &targets)?;
        for target in &targets {
            if let Some(taken) = drive::taken(target, &host, &self.plan.names) {
                self.journal(tools, &taken)?;
            }
        }
        let (first, others) = steps.split_first().unzip();
        if let Some(first) = first {
            self.begin_step(tools, first)?;
        }
        lend(lent, &host, &self.permission, || {
            let mut discardable = targets.iter().filter(|one| drive::takes_discards(&host, one));
            discardable.try_for_each(|target| {
                self.changed.insert(drive::path_of(target));
                drive::discard(&host, target)
            })
        })??;
        let marked = self.cleared(&host, &targets)?;
        // Arrays, groups and file systems identify the drive themselves; its own mark would be data
        // on what is built.
        if matches!(self.plan.layout.layers.first(), None | Some(Layer::Crypt(_))) {
            for (target, clearance) in &marked {
                self.changed.insert(drive::path_of(target));
                stamp(clearance, self.plan.names.mark)?;
            }
        }
        if let Some(step) = first {
            lend(marked, &host, &self.permission, || {
                self.changed.extend(targets.iter().map(drive::path_of));
                program::run(&step.command, step.fine, tools.interrupted).map(drop)
            })??;
        }
        for step in others.unwrap_or_default() {
            self.begin_step(tools, step)?;
            program::run(&step.command, step.fine, tools.interrupted)?;
        }
        Ok(())
    }

    fn cleared<'t>(
        &self,
        host: &Host,
        targets: &'t [Target],
    ) -> Result<Vec<(&'t Target, WriteClearance)>, CampaignError> {
        let clear = |target: &'t Target| {
            let cleared = target.clear_for_writing(host, &self.permission)?;
            Ok((target, cleared))
        };
        targets.iter().map(clear).collect()
    }

    /// Notes in the journal what a step will make.
    fn begin_step(&mut self, tools: &mut Tools<'_>, step: &Step) -> Result<(), CampaignError> {
        let Some(built) = &step.makes else { return Ok(()) };
        self.journal(tools, built)?;
        match built {
            Built::Mount { at, .. } => std::fs::create_dir_all(at).map_err(|error| {
                CampaignError::Program { line: step.command.line(), why: format!("{at}: {error}") }
            }),
            _ => Ok(()),
        }
    }

    fn journal(&mut self, tools: &mut Tools<'_>, built: &Built) -> Result<(), CampaignError> {
        let ordinal = tools.store.journal_add(&self.run_id, &JournalEntry::Built(built.clone()))?;
        self.built.push((ordinal, built.clone()));
        Ok(())
    }

    /// Permission that names the top for writing, now that it exists on `host`; the files of a
    /// mounted file system are the run's own.
    pub(crate) fn top_permission(&self, host: &Host) -> Result<Permission, CampaignError> {
        let path = match &self.top {
            Top::Directory(_) => return Ok(Permission::default()),
            Top::Device(_) if self.plan.layout.layers.is_empty() => {
                return Ok(self.permission.clone());
            }
            Top::Device(path) => path,
        };
        let target = resolve(host, path)?;
        let words = target.iter().filter_map(|target| target.permission_word(host));
        let words: Vec<String> = words.collect();
        // Hidden users of the top would also use its drives, which are cleared. Its content is what
        // was on the drives, which may be lost; decrypted, even zeros are unknown data.
        Ok(Permission {
            allow_write: words.clone(),
            discard_data: words.clone(),
            assume_unused: words,
            ..Permission::default()
        })
    }

    /// Takes everything down, the top first, and gives the drives back empty. A part that cannot be
    /// taken down is named by the error, and stays in the journal.
    pub(crate) fn take_down(mut self, tools: &mut Tools<'_>) -> Result<(), CampaignError> {
        while let Some((ordinal, built)) = self.built.pop() {
            if let Built::Drive { device, .. } = &built
                && !self.changed.contains(device)
            {
                // Refused before anything was done to it: what it holds is not ours.
                tools.store.journal_mark_undone(&self.run_id, ordinal)?;
                continue;
            }
            let outcome = match undo(&built, Witness::Maker) {
                Ok(outcome) => outcome,
                Err(why) => {
                    let why = why.to_string();
                    return Err(CampaignError::Standing { run_id: self.run_id, why });
                }
            };
            tools.store.journal_mark_undone(&self.run_id, ordinal)?;
            // Parts that were not built yet are gone, too.
            if matches!(
                (&built, &outcome),
                (Built::Drive { .. }, Outcome::Gone)
                    | (_, Outcome::LeftAlone(_) | Outcome::Unproven { .. })
            ) {
                let warning = format!("{}: {outcome}", built.title());
                tools.watcher.event(&Event::Warning(&warning));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use iodyno_host::Live;
    use iodyno_judge::ClaimBook;
    use iodyno_load::SimulatedGenerator;
    use iodyno_model::Run;
    use iodyno_store::Store;

    use super::super::testing::{Disk, MIB, noise};
    use super::*;
    use crate::watch::Silent;

    const RUN: &str = "0001";

    #[test]
    #[ignore = "needs root"]
    fn drives_that_were_not_changed_yet_are_not_emptied() {
        let disks = [Disk::with(&noise(MIB)), Disk::with(&noise(MIB))];
        let before = disks.each_ref().map(Disk::bytes);
        let resolved = disks.each_ref().map(Disk::resolved);
        let words = resolved.iter().filter_map(|(host, target)| target.permission_word(host));
        let words: Vec<String> = words.collect();
        let drives = resolved.iter().map(|(_, target)| target.name().to_owned()).collect();
        let layout = iodyno_layout::parse("md0").unwrap();
        let plan = LayoutPlan { layout, drives, names: new_names(&resolved[1].0) };
        let permission =
            Permission { allow_write: words.clone(), discard_data: words, ..Permission::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let mut store = Store::open(&path).unwrap();
        store.create_run(&Run::new(RUN, 0)).unwrap();
        // The first drive is in the journal, the second cannot be noted any more.
        let trigger = "CREATE TRIGGER full BEFORE INSERT ON journal WHEN NEW.ordinal = 1
                       BEGIN SELECT RAISE(ABORT, 'full'); END";
        rusqlite::Connection::open(&path).unwrap().execute_batch(trigger).unwrap();
        let mut tools = Tools {
            source: &Live::new(),
            generator: &mut SimulatedGenerator::new(1),
            claims: &ClaimBook::builtin(),
            store: &mut store,
            watcher: &mut Silent,
            interrupted: &AtomicBool::new(false),
        };
        let built = Stack::build(&mut tools, RUN, &plan, &permission).map(drop);
        assert!(matches!(&built, Err(CampaignError::Store(_))), "{built:?}");
        assert!(disks.each_ref().map(Disk::bytes) == before);
        assert_eq!(store.journal_pending(Some(RUN)).unwrap(), []);
    }
}
