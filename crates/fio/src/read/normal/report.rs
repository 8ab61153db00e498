//! Assigns the statements in a text to fio's runs.

use std::collections::{BTreeMap, VecDeque};

use super::command::{self, JobOptions};
use super::job::Job;
use super::run::Run;
use super::statement::{Kind, Statement};
use crate::read::findings::{Imported, Problem, TOO_MANY};
use crate::read::same_run::shift_phases;

/// Collects the runs in a text, statement by statement.
pub(super) struct Runs {
    runs: Vec<Run>,
    /// Job file, which belongs to the run after it.
    file: JobOptions,
    /// Remaining capacity, by weight.
    left: usize,
    /// Line of the first statement beyond the capacity.
    left_out: Option<usize>,
}

/// Weight of a job's head and of each of its directions; other statements weigh 1.
const PART_OF_JOB: usize = 4;

/// Smallest size of an option of a command, bytes.
const BYTES_OF_OPTION: usize = 8;

impl Runs {
    /// Accepts at most `most_jobs` jobs.
    pub(super) fn new(most_jobs: usize) -> Self {
        let runs = vec![Run::default()];
        Self { runs, file: JobOptions::new(), left: 2 * PART_OF_JOB * most_jobs, left_out: None }
    }

    pub(super) fn add(&mut self, statement: &Statement) {
        let weight = match statement.kind {
            Kind::Head | Kind::Direction(_) => PART_OF_JOB,
            Kind::Command => PART_OF_JOB + statement.text.len() / BYTES_OF_OPTION,
            // On its own it is a run.
            Kind::GroupDirection(_) => 2 * PART_OF_JOB,
            Kind::Job | Kind::Group | Kind::File => 1,
            _ => 0,
        };
        match self.left.checked_sub(weight) {
            Some(left) if self.left_out.is_none() => self.left = left,
            _ => {
                self.left_out.get_or_insert(statement.line);
                return;
            }
        }
        if statement.kind == Kind::File {
            self.file.extend(command::jobs_of_file(&statement.text));
            return;
        }
        let of_file =
            statement.kind == Kind::Head && self.file.iter().any(|(job, _)| *job == statement.name);
        if let Some(run) = self.runs.last()
            && (run.ends_before(statement) || of_file && run.has_results())
        {
            self.runs.push(Run::default());
        }
        if let Some(run) = self.runs.last_mut() {
            if !run.has_results() {
                run.requested.append(&mut self.file);
            }
            run.add(statement);
        }
    }

    /// Returns the results of all runs.
    pub(super) fn imported(self, name: &str) -> Imported {
        let runs = self.runs;
        let mut imported = Imported::default();
        for run in &runs {
            // Clones have the same name, and mostly lack the same parts.
            let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
            for (line, what) in run.problems() {
                counts.entry(what).or_insert((line, 0)).1 += 1;
            }
            imported.problems.extend(counts.into_iter().map(|(what, (line, times))| Problem {
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
            shift_phases(&mut next_phase, &mut measurements);
            imported.measurements.extend(measurements);
        }
        let left_out = self.left_out.map(|line| Problem::new(name, Some(line), TOO_MANY));
        imported.problems.extend(left_out);
        imported.problems.sort_by_key(|problem| problem.line);
        imported
    }
}

/// Marks each job of all runs that a later report supersedes.
fn superseded(runs: &[Run]) -> Vec<bool> {
    // Repeated quotes of one job's report are close to each other.
    const KEPT: usize = 8;
    let mut seen = BTreeMap::<_, VecDeque<usize>>::new();
    let jobs: Vec<&Job> = runs.iter().flat_map(|run| &run.jobs).collect();
    let mut superseded = vec![false; jobs.len()];
    for (n, job) in jobs.iter().enumerate() {
        let before = seen.entry(job.head.identity()).or_default();
        before.retain(|before| {
            superseded[*before] = jobs[*before].is_superseded_by(job);
            !superseded[*before]
        });
        before.push_back(n);
        if before.len() > KEPT {
            before.pop_front();
        }
    }
    superseded
}
