//! fio's runs in a text: which statements are of which.

use std::collections::{BTreeMap, VecDeque};

use super::command::{self, Asked};
use super::job::Job;
use super::run::Run;
use super::statement::{Kind, Statement};
use crate::read::imported::{Imported, Problem};
use crate::read::same_run::behind;

/// What the statements of a text say.
pub(super) fn read(name: &str, statements: &[Statement]) -> Imported {
    let mut runs = vec![Run::default()];
    // A job file is of the run that follows it.
    let mut file = Asked::new();
    for statement in statements {
        if statement.kind == Kind::File {
            file.extend(command::jobs_of_file(&statement.text));
            continue;
        }
        let of_file =
            statement.kind == Kind::Head && file.iter().any(|(job, _)| *job == statement.name);
        if let Some(run) = runs.last()
            && (run.ends_before(statement) || of_file && run.has_results())
        {
            runs.push(Run::default());
        }
        if let Some(run) = runs.last_mut() {
            if !run.has_results() {
                run.asked.append(&mut file);
            }
            run.add(statement);
        }
    }
    let mut imported = Imported::default();
    for run in &runs {
        // Clones have the same name, and mostly the same is missing of them.
        let mut told: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (line, what) in run.problems() {
            told.entry(what).or_insert((line, 0)).1 += 1;
        }
        imported.problems.extend(told.into_iter().map(|(what, (line, times))| Problem {
            file: name.to_owned(),
            line: Some(line),
            what: if times > 1 { format!("{what} ({times} times)") } else { what },
        }));
    }
    let superseded = superseded(&runs);
    let mut kept = superseded.iter().map(|superseded| !superseded);
    let mut next_phase = 0;
    for mut run in runs {
        run.jobs.retain(|_| kept.next().unwrap_or(true));
        let mut measurements = run.measurements();
        behind(&mut next_phase, &mut measurements);
        imported.measurements.extend(measurements);
    }
    imported.problems.sort_by_key(|problem| problem.line);
    imported
}

/// For each job of all runs, whether a later report of it follows.
fn superseded(runs: &[Run]) -> Vec<bool> {
    // Reports of one job that are quoted again are not far from each other.
    const KEPT: usize = 8;
    let mut seen = BTreeMap::<_, VecDeque<usize>>::new();
    let jobs: Vec<&Job> = runs.iter().flat_map(|run| &run.jobs).collect();
    let mut superseded = vec![false; jobs.len()];
    for (n, job) in jobs.iter().enumerate() {
        let before = seen.entry(job.head.identity()).or_default();
        before.retain(|before| {
            superseded[*before] = jobs[*before].continues_in(job);
            !superseded[*before]
        });
        before.push_back(n);
        if before.len() > KEPT {
            before.pop_front();
        }
    }
    superseded
}
