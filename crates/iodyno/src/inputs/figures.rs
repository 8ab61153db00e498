//! Published figures, and the stated description of the machines behind results.

use anyhow::Result;
use iodyno_fio::read::{Figures, Imported, Problem, figures};
use iodyno_judge::ClaimBook;
use iodyno_model::{RunRecord, Stated};

use super::{Loaded, fio_run, run};
use crate::context::bail_usage;
use crate::stated;

impl Loaded {
    /// Adds as facts the statements of its file, completed by `all`.
    ///
    /// # Errors
    /// `all` makes statements about a run whose machine was read.
    pub(crate) fn with_stated(mut self, all: &Stated, claims: &ClaimBook) -> Result<Self> {
        if self.stated.is_empty() && stated::is_empty(all) {
            return Ok(self);
        }
        if self.record.host().is_some() {
            bail_usage!(
                "{}: its machine was recorded with it and cannot be described by options",
                self.record.run.name
            );
        }
        self.stated.resize(self.record.measurements.len(), Stated::default());
        let of_each: Vec<Stated> =
            self.stated.iter().map(|own| stated::completed(own, all)).collect();
        let unknown = stated::unknown_names(&of_each, claims).into_iter();
        let file = self.record.run.name.clone();
        self.problems.extend(unknown.map(|what| Problem { file: file.clone(), line: None, what }));
        stated::apply(&mut self.record, &of_each, claims);
        Ok(self)
    }
}

/// Returns fio's output, or, without any, published figures.
pub(super) fn or_figures(
    imported: Imported,
    name: &str,
    text: impl FnOnce() -> Option<String>,
) -> Vec<Loaded> {
    if imported.measurements.is_empty()
        && let Some(found) = text().and_then(|text| figures(name, &text))
    {
        return figure_runs(found, name);
    }
    vec![fio_run(imported, name)]
}

/// Groups published figures into one run per machine.
fn figure_runs(found: Figures, path: &str) -> Vec<Loaded> {
    let mut machines: Vec<(Stated, Loaded)> = Vec::new();
    for row in found.rows {
        let machine = stated::machine(&row.stated);
        let at = machines.iter().position(|(known, _)| *known == machine).unwrap_or_else(|| {
            let record =
                RunRecord { run: run(path, None), snapshots: Vec::new(), measurements: Vec::new() };
            machines.push((machine, Loaded::new(record, Vec::new())));
            machines.len() - 1
        });
        let (_, loaded) = &mut machines[at];
        let mut measurement = row.measurement;
        // Nothing says that they ran at the same time.
        measurement.phase = loaded.record.measurements.len() as u32 + 1;
        loaded.record.measurements.push(measurement);
        loaded.stated.push(row.stated);
    }
    let several = machines.len() > 1;
    for (machine, loaded) in machines.iter_mut().filter(|_| several) {
        let link = machine.link.map(|link| link.label());
        let words = [machine.model.clone(), link].into_iter().flatten();
        let words: Vec<String> = words.collect();
        loaded.record.run.name = format!("{} {}", loaded.record.run.name, words.join(" "));
    }
    let mut all: Vec<Loaded> = machines.into_iter().map(|(_, loaded)| loaded).collect();
    match all.first_mut() {
        Some(first) => first.problems = found.problems,
        None => {
            let imported = Imported { problems: found.problems, ..Imported::default() };
            all.push(fio_run(imported, path));
        }
    }
    all
}
