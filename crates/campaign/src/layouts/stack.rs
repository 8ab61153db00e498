//! A layout built on drives, while it is measured.

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
    permission: &'p Permission,
    /// Target of the I/O.
    top: Top,
    run_id: String,
    built: Vec<(i64, Built)>,
}

impl<'p> Stack<'p> {
    /// Builds `plan` on drives that `permission` names, after discarding their blocks if supported.
    /// Each part is in the journal before it is made; after an error or an interruption all parts
    /// are taken down again.
    pub(crate) fn build(
        tools: &mut Tools<'_>,
        run_id: &str,
        plan: &'p LayoutPlan,
        permission: &'p Permission,
    ) -> Result<Self, CampaignError> {
        let paths: Vec<String> = plan.drives.iter().map(|name| format!("/dev/{name}")).collect();
        let (steps, top) = build(&plan.layout, &paths, &plan.names)?;
        let mut stack = Self { plan, permission, top, run_id: run_id.into(), built: Vec::new() };
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
        lend(lent, &host, self.permission, || {
            targets.iter().try_for_each(|target| drive::discard(&host, target))
        })??;
        let marked = self.cleared(&host, &targets)?;
        // Arrays, groups and file systems identify the drive themselves; its own mark would be data
        // on what is built.
        if matches!(self.plan.layout.layers.first(), None | Some(Layer::Crypt(_))) {
            for (_, clearance) in &marked {
                stamp(clearance, self.plan.names.mark)?;
            }
        }
        if let Some(step) = first {
            lend(marked, &host, self.permission, || {
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
            let cleared = target.clear_for_writing(host, self.permission)?;
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
