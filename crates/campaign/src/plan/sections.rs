//! Points as sections of job files, and as a script.

use iodyno_job::script::{CompileOptions, Script, compile};
use iodyno_job::syntax::{Entry, Place, Section};

use super::error::PlanError;
use super::points::Point;
use super::study::Study;

/// Most jobs of all points, clones included. fio starts at most 4096 at once, but points are
/// measured one after the other, and SNIA's IOPS test has 56 in each of 25 rounds.
const MOST_JOBS: usize = 65_536;

impl Study {
    /// Script that measures `points`, a phase for each. In rounds it has a section per target,
    /// since each drive has a steady state of its own; otherwise one section for all targets.
    ///
    /// # Errors
    /// Mistakes in their options, by point.
    pub fn script(&self, points: &[Point], for_fio: bool) -> Result<Script, PlanError> {
        let how = CompileOptions { for_fio, most_jobs: MOST_JOBS, ..CompileOptions::default() };
        let script = compile(&self.sections(points, self.stop()?.max_ns), &how)
            .map_err(|error| PlanError { name: self.name.clone(), text: error.to_string() })?;
        Ok(if self.rounds.is_some() { script } else { as_one(script, points) })
    }

    /// A section for each target of each point.
    fn sections(&self, points: &[Point], max_ns: u64) -> Vec<Section> {
        let place = Place { source: self.name.clone(), line: None };
        let section = |point: &Point, n: usize, target: &String| {
            let mut entries: Vec<(String, Option<String>)> = vec![
                ("group_reporting".into(), None),
                match point.own_file {
                    true => ("directory".into(), Some(target.clone())),
                    false => ("filename".into(), Some(target.replace(':', "\\:"))),
                },
            ];
            if n == 0 {
                entries.push(("stonewall".into(), None));
            }
            let own = point.options.iter();
            entries.extend(own.map(|(name, value)| (name.clone(), Some(value.clone()))));
            if point.until_known {
                entries.push(("time_based".into(), None));
                entries.push(("runtime".into(), Some(format!("{}us", max_ns / 1000))));
            }
            let entry = |(name, value)| Entry { name, value, place: place.clone() };
            Section {
                name: point.title.clone(),
                place: place.clone(),
                entries: entries.into_iter().map(entry).collect(),
                inherited: 0,
            }
        };
        let mut sections = Vec::new();
        for point in points {
            let targets = point.targets.iter().enumerate();
            sections.extend(targets.map(|(n, target)| section(point, n, target)));
        }
        sections
    }
}

/// Merges the sections of each point into one, with its targets as jobs.
fn as_one(script: Script, points: &[Point]) -> Script {
    let points = points.iter().enumerate();
    let point_of: Vec<usize> =
        points.flat_map(|(n, point)| point.targets.iter().map(move |_| n)).collect();
    let mut sections = script.sections;
    let mut n = 0;
    sections.retain(|_| {
        n += 1;
        n == 1 || point_of.get(n - 1) != point_of.get(n - 2)
    });
    let mut phases = script.phases;
    for job in phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        job.section = point_of.get(job.section).copied().unwrap_or(job.section);
    }
    Script { phases, sections, ..script }
}
