//! A layout that stands on drives, for as long as it is measured.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use iodyno_host::{Depth, snapshot};
use iodyno_layout::{Layout, Names, Step, Top, build};
use iodyno_model::{Built, Host};
use iodyno_store::JournalEntry;
use iodyno_target::{Permission, lend, resolve, resolve_all};

use super::program;
use super::undo::undo;
use crate::error::CampaignError;
use crate::execute::Tools;

/// Where file systems are mounted: it is gone after a restart, as mounts are.
const MOUNTS: &str = "/run/iodyno";

/// A layout to be built for a run, and on what.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutPlan {
    /// What is built.
    pub layout: Layout,
    /// The drives' block devices, by name.
    pub drives: Vec<String>,
    /// Names that nothing on the machine has.
    pub names: Names,
}

/// Names for a layout that nothing on this machine has.
pub fn new_names(host: &Host) -> Names {
    let has = |word: &str| host.blocks.iter().any(|block| block.name == word);
    let mut random = fastrand::Rng::new();
    let tag = loop {
        let tag: String = (0..5).map(|_| random.lowercase()).collect();
        let taken = |block: &iodyno_model::BlockDevice| match &block.kind {
            iodyno_model::BlockKind::DeviceMapper(mapped) => mapped.name.contains(&tag),
            _ => false,
        };
        if !host.blocks.iter().any(taken) && !Path::new(MOUNTS).join(&tag).exists() {
            break tag;
        }
    };
    // As mdadm does: from 127 downwards.
    let free = (0..=127).rev().find(|number| !has(&format!("md{number}"))).unwrap_or(127);
    let directory = Path::new(MOUNTS).join(&tag).display().to_string();
    Names { array: format!("/dev/md{free}"), directory, tag }
}

/// What stands, the lowest first, with its entries in the journal.
pub(crate) struct Stack<'p> {
    plan: &'p LayoutPlan,
    permission: &'p Permission,
    /// Where I/O goes.
    top: Top,
    run_id: String,
    built: Vec<(i64, Built)>,
}

impl<'p> Stack<'p> {
    /// Builds `plan` on drives that `permission` names, once their blocks are
    /// discarded where they take that. Each thing is in the journal before it
    /// is made; what an error or the user's wish to end leaves half built is
    /// taken down again.
    pub(crate) fn build(
        tools: &mut Tools<'_>,
        run_id: &str,
        plan: &'p LayoutPlan,
        permission: &'p Permission,
    ) -> Result<Self, CampaignError> {
        let paths: Vec<String> = plan.drives.iter().map(|name| path_of(name)).collect();
        let (steps, top) = build(&plan.layout, &paths, &plan.names)?;
        let mut stack = Self { plan, permission, top, run_id: run_id.into(), built: Vec::new() };
        match stack.take_all(tools, &steps) {
            Ok(()) => Ok(stack),
            Err(error) => {
                let touched = !stack.built.is_empty();
                stack.undo_all(tools)?;
                if touched {
                    stack.empty(tools, None)?;
                }
                Err(error)
            }
        }
    }

    fn take_all(&mut self, tools: &mut Tools<'_>, steps: &[Step]) -> Result<(), CampaignError> {
        let Some((first, others)) = steps.split_first() else { return self.empty(tools, None) };
        self.note(tools, first)?;
        self.empty(tools, Some(first))?;
        for step in others {
            self.note(tools, step)?;
            program::run(&step.command, step.fine, tools.interrupted)?;
        }
        Ok(())
    }

    /// Writes down what a step is going to make.
    fn note(&mut self, tools: &mut Tools<'_>, step: &Step) -> Result<(), CampaignError> {
        let Some(built) = &step.makes else { return Ok(()) };
        let ordinal = tools.store.journal_add(&self.run_id, &JournalEntry::Built(built.clone()))?;
        self.built.push((ordinal, built.clone()));
        match built {
            Built::Mount { at, .. } => std::fs::create_dir_all(at).map_err(|error| {
                CampaignError::Program { line: step.command.line(), why: format!("{at}: {error}") }
            }),
            _ => Ok(()),
        }
    }

    /// Clears the drives, discards their blocks, and lends them to the step
    /// that takes them.
    fn empty(&self, tools: &Tools<'_>, then: Option<&Step>) -> Result<(), CampaignError> {
        let host = snapshot(tools.source, Depth::Quick);
        let targets = resolve_all(&host, &self.plan.drives)?;
        let lent = targets
            .iter()
            .map(|target| Ok((target, target.clear_for_writing(&host, self.permission)?)))
            .collect::<Result<Vec<_>, CampaignError>>()?;
        lend(lent, &host, self.permission, || {
            for drive in &self.plan.drives {
                let block = host.block(drive);
                let most = block.and_then(|block| block.queue.discard_max_bytes.value());
                if most.is_some_and(|bytes| bytes > 0) {
                    // What is begun with a drive is brought to its end.
                    program::run(&discard(&path_of(drive)), &[0], &AtomicBool::new(false))?;
                }
            }
            then.map_or(Ok(()), |step| {
                program::run(&step.command, step.fine, tools.interrupted).map(drop)
            })
        })?
    }

    /// What names the top for writing, now that it stands on `host`; the files
    /// of a mounted file system are the run's own.
    pub(crate) fn top_permission(&self, host: &Host) -> Result<Permission, CampaignError> {
        let path = match &self.top {
            Top::Directory(_) => return Ok(Permission::default()),
            Top::Device(_) if self.built.is_empty() => return Ok(self.permission.clone()),
            Top::Device(path) => path,
        };
        let target = resolve(host, path)?;
        let words = target.iter().filter_map(|target| target.word_for_writing(host));
        Ok(Permission { allow_write: words.collect(), discard_data: Vec::new() })
    }

    /// Takes everything down, the top first, and gives the drives back empty.
    /// What cannot be taken down is told by the error, and stays in the journal.
    pub(crate) fn take_down(mut self, tools: &mut Tools<'_>) -> Result<(), CampaignError> {
        self.undo_all(tools)?;
        self.empty(tools, None)
    }

    fn undo_all(&mut self, tools: &mut Tools<'_>) -> Result<(), CampaignError> {
        while let Some((ordinal, built)) = self.built.pop() {
            if let Err(why) = undo(&built) {
                return Err(CampaignError::Standing { run_id: self.run_id.clone(), why });
            }
            tools.store.journal_done(&self.run_id, ordinal)?;
        }
        Ok(())
    }
}

fn path_of(drive: &str) -> String {
    format!("/dev/{drive}")
}

fn discard(device: &str) -> iodyno_layout::Command {
    iodyno_layout::Command { program: "blkdiscard", arguments: vec![device.into()] }
}
