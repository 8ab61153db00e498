//! Trials: layouts to build and measure one after the other, also as a readable script.

use std::fmt::Write as _;

use anyhow::Result;
use iodyno_campaign::new_names;
use iodyno_layout::{Advice, Layout, Names, Step, Top, advice, build, empty, script, take_down};
use iodyno_model::{BlockKind, Bytes, Host};

use super::workload::Workload;
use crate::arguments::Layouts;
use crate::context::Usage;

/// Label of the single drive that all others are compared with.
pub(crate) const BASELINE: &str = "raw";

/// A layout to build and measure.
pub(crate) struct Trial {
    /// Its notation, or the name of the baseline.
    pub(crate) label: String,
    pub(crate) layout: Layout,
    /// Names of its drives.
    pub(crate) drives: Vec<String>,
    /// Measures plain drives at the same time.
    pub(crate) together: bool,
    /// Names of its own: without udev the directory of a volume group outlives the group.
    pub(crate) names: Names,
    steps: Vec<Step>,
    /// Workload, or the reason why there is none.
    pub(crate) workload: Result<Workload>,
    advice: Vec<Advice>,
}

/// Common inputs of all trials.
pub(crate) struct TrialInputs<'a> {
    pub(crate) arguments: &'a Layouts,
    pub(crate) host: &'a Host,
    /// Names of all drives.
    pub(crate) drives: &'a [String],
    /// Size to measure of each layout, bytes.
    pub(crate) size_bytes: u64,
}

impl TrialInputs<'_> {
    /// Creates the trials: one drive, all drives at once, then each of `layouts`.
    ///
    /// # Errors
    /// A layout needs more drives than there are, or nothing can be measured on any.
    pub(crate) fn trials(&self, layouts: &[Layout]) -> Result<Vec<Trial>> {
        let raw = Layout { layers: Vec::new() };
        let mut all = vec![self.trial(BASELINE.into(), &raw, &self.drives[..1])?];
        if self.drives.len() > 1 {
            let label = format!("{} raw at once", self.drives.len());
            all.push(self.trial(label, &raw, self.drives)?);
        }
        for layout in layouts.iter().filter(|layout| !layout.layers.is_empty()) {
            let on = &self.drives[..layout.drives(self.drives.len())];
            all.push(self.trial(layout.to_string(), layout, on)?);
        }
        if all.iter().all(|trial| trial.workload.is_err())
            && let Some(Trial { workload: Err(error), .. }) = all.pop()
        {
            return Err(error);
        }
        Ok(all)
    }

    fn trial(&self, label: String, layout: &Layout, drives: &[String]) -> Result<Trial> {
        let names = new_names(self.host);
        let paths: Vec<String> = drives.iter().map(|name| path_of(name)).collect();
        let (steps, top) =
            build(layout, &paths, &names).map_err(|error| Usage(error.to_string()))?;
        let begins = drives.iter().map(|name| begin_bytes(self.host, name));
        let advice = advice(layout, &paths.iter().cloned().zip(begins).collect::<Vec<_>>());
        let together = layout.layers.is_empty() && drives.len() > 1;
        let tops = match together {
            true => paths.into_iter().map(Top::Device).collect(),
            false => vec![top],
        };
        let workload = Workload::new(self.arguments, layout, &tops, self.size_bytes);
        let (layout, drives) = (layout.clone(), drives.to_vec());
        Ok(Trial { label, layout, drives, together, names, steps, workload, advice })
    }
}

/// Start of a partition on its disk, bytes.
fn begin_bytes(host: &Host, name: &str) -> Option<u64> {
    let block = host.block(name).filter(|block| block.kind == BlockKind::Partition)?;
    block.start.value().map(|bytes| bytes.0)
}

impl Trial {
    /// Name of its run, with `name` as the common prefix.
    pub(crate) fn run_name(&self, name: &str) -> String {
        format!("{name} {}", self.label)
    }

    /// Misfits between the layout and the layers below, one sentence each.
    pub(crate) fn misfits(&self) -> impl Iterator<Item = String> {
        self.advice.iter().filter(|one| !one.fits).map(advice_text)
    }

    /// The trial's steps as a readable script.
    pub(crate) fn script(&self, size_bytes: u64) -> String {
        let mut lines = vec![format!("== {}", self.label)];
        lines.extend(self.advice.iter().map(|one| format!("# {}", advice_text(one))));
        let emptied = || self.drives.iter().map(|name| empty(&path_of(name)));
        lines.extend(emptied().map(|[discarding, _]| discarding.line()));
        lines.extend(script(&self.steps).lines().map(str::to_owned));
        lines.push(match &self.workload {
            Ok(Workload { study, points }) => {
                let size = Bytes(size_bytes).binary();
                format!("# measured: {}, {} points on {size}", study.name, points.len())
            }
            Err(error) => format!("# not measured: {error}"),
        });
        let made = self.steps.iter().rev().filter_map(|step| step.makes.as_ref());
        lines.extend(made.filter_map(take_down).map(|command| command.line()));
        lines.extend(emptied().flatten().map(|command| command.line()));
        lines.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }
}

fn advice_text(advice: &Advice) -> String {
    let Advice { setting, given, recommended, fits, why } = advice;
    match fits {
        true => format!("{setting}: {given} fits. {why}."),
        false => format!("{setting}: {given} does not fit, {recommended} would. {why}."),
    }
}

fn path_of(name: &str) -> String {
    format!("/dev/{name}")
}
