//! Workload of a layout: a plan's points, and the fill before them.

use anyhow::Result;
use iodyno_campaign::{Order, Point, Study, StudyStep, Until};
use iodyno_layout::{Layout, Top};
use iodyno_model::Purpose;

use crate::arguments::{Layouts, RunGenerator};
use crate::commands::sweep;
use crate::context::bail_usage;

/// Name of the file measured on a file system.
const FILE: &str = "data";
/// Block size of the fill: large enough for every stripe.
const FILL_BLOCK: &str = "1m";

/// Sizes of jobs' parts are multiples of this, bytes.
const PART_BYTES: u64 = 1 << 20;
/// One byte in this many lies in gaps between jobs' parts.
const GAPS: u64 = 16;
/// Jobs begin at multiples of this, bytes.
const LEAST_BLOCK_BYTES: u64 = 4 << 10;

/// A plan with its points on one layout.
pub(crate) struct Workload {
    pub(crate) study: Study,
    pub(crate) points: Vec<Point>,
}

impl Workload {
    /// Builds the workload of `arguments` on all `tops` at the same time, `size_bytes` of each.
    pub(crate) fn new(
        arguments: &Layouts,
        layout: &Layout,
        tops: &[Top],
        size_bytes: u64,
    ) -> Result<Self> {
        let mut study = sweep::plan(Some(&arguments.plan))?;
        if study.is_of_steps() {
            bail_usage!(
                "--plan {}: its steps need whole targets, not parts of them",
                arguments.plan
            );
        }
        if study.rounds.is_some() || study.scaling.is_some() || study.preparation.is_some() {
            bail_usage!(
                "--plan {}: its rounds or preparation need drives, not layouts built on them",
                arguments.plan
            );
        }
        arguments.stopping.apply(&mut study);
        let asked = arguments.run_options.generator().map(RunGenerator::made_by);
        study.generator = asked.unwrap_or(study.generator);
        // The fill has to come first, so the order cannot be random.
        if study.order == Order::Random {
            study.order = Order::Written;
        }
        let new_files = layout.file_system().is_some_and(|of| of.new_files);
        let own_files = study.steps.iter().any(|step| step.own_file);
        if own_files && layout.file_system().is_none() {
            bail_usage!(
                "--plan {}: its points create files; {layout} has no file system",
                arguments.plan
            );
        }
        study.targets = tops.iter().map(|top| target(top, new_files || own_files)).collect();
        study.targets_together = tops.len() > 1;
        if !own_files {
            study.set("size", &size_bytes.to_string());
        }
        if !new_files && !own_files {
            fill_first(&mut study);
        }
        let study = Study::parse(&study.to_toml()?, &study.name)?;
        let mut points = study.points(0);
        points.iter_mut().for_each(|point| divide_range(point, size_bytes));
        if new_files {
            points.retain(only_writes);
            points.iter_mut().for_each(|point| into_new_file(point, size_bytes));
        }
        if points.is_empty() {
            bail_usage!(
                "--plan {}: no point only writes, so {layout} has nothing to measure",
                arguments.plan
            );
        }
        Ok(Self { study, points })
    }
}

fn target(top: &Top, as_directory: bool) -> String {
    match top {
        Top::Device(path) => path.clone(),
        Top::Directory(at) if as_directory => at.clone(),
        Top::Directory(at) => format!("{at}/{FILE}"),
    }
}

/// Puts a full sequential write before everything else.
fn fill_first(study: &mut Study) {
    let mut fill = StudyStep {
        name: "fill".into(),
        purpose: Purpose::Fill,
        until: Until::Done,
        ..StudyStep::default()
    };
    // The fill takes the fixed value of each option, else the first of the grid.
    for option in study.grid.keys().chain(study.job.keys()) {
        if let Some(value) = study.job.get(option).or_else(|| study.grid[option].first()) {
            fill.job.insert(option.clone(), value.clone());
        }
    }
    let own = [("rw", "write"), ("bs", FILL_BLOCK), ("iodepth", "8"), ("ioengine", "auto")];
    fill.job.extend(own.map(|(option, value)| (option.to_owned(), value.into())));
    for (option, value) in [("numjobs", 1), ("direct", 1), ("refill_buffers", 1)] {
        fill.job.insert(option.into(), value.into());
    }
    for option in ["rwmixread", "offset_increment", "runtime"] {
        fill.job.remove(option);
    }
    if study.steps.is_empty() {
        let grid = std::mem::take(&mut study.grid);
        study.steps.push(StudyStep { grid, ..StudyStep::default() });
    }
    study.steps.insert(0, fill);
}

fn only_writes(point: &Point) -> bool {
    matches!(point.option("rw"), Some("write" | "randwrite"))
}

/// Divides the range among jobs with an offset_increment, which would otherwise leave it. Parts
/// leave gaps: if all jobs began at multiples of a stripe, they would hit the same drive and move
/// to the next one together.
fn divide_range(point: &mut Point, size_bytes: u64) {
    let jobs = number(point, "numjobs");
    if jobs < 2 || !point.options.iter().any(|(name, _)| name == "offset_increment") {
        return;
    }
    let size = part_bytes(size_bytes - size_bytes / GAPS, jobs);
    let block = number(point, "bs").max(LEAST_BLOCK_BYTES);
    // Stripes are powers of two: an odd number of blocks is never a multiple of one.
    let blocks = size_bytes.saturating_sub(size) / (jobs - 1) / block;
    let mut increment = (blocks.saturating_sub(1) | 1) * block;
    if size.saturating_mul(jobs) <= size_bytes {
        increment = increment.max(size);
    }
    for (name, value) in &mut point.options {
        match name.as_str() {
            "offset_increment" => *value = increment.to_string(),
            "size" => *value = size.to_string(),
            _ => {}
        }
    }
}

/// Part of each of `jobs` jobs, bytes.
fn part_bytes(size_bytes: u64, jobs: u64) -> u64 {
    (size_bytes / jobs / PART_BYTES * PART_BYTES).max(PART_BYTES)
}

fn number(point: &Point, name: &str) -> u64 {
    let found = point.options.iter().find(|(option, _)| option == name);
    found.and_then(|(_, value)| iodyno_job::parse_size(value).ok()).unwrap_or(1)
}

/// Makes the point write a new file for each job, once, and remove it.
fn into_new_file(point: &mut Point, size_bytes: u64) {
    let of_each = part_bytes(size_bytes, number(point, "numjobs").max(1));
    let gone = ["size", "time_based", "runtime", "offset_increment"];
    point.options.retain(|(name, _)| !gone.contains(&name.as_str()));
    let own = [
        ("size", of_each.to_string()),
        ("fallocate", "none".into()),
        ("create_on_open", "1".into()),
        ("unlink", "1".into()),
    ];
    point.options.extend(own.map(|(name, value)| (name.to_owned(), value)));
    point.own_file = true;
    point.until_known = false;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begin and end of the 64 jobs of `database` on `size_bytes`.
    fn parts(size_bytes: u64) -> Vec<(u64, u64)> {
        let mut study = sweep::plan(Some("database")).unwrap();
        study.targets = vec!["/dev/md127".into()];
        let mut point = study.points(0).remove(0);
        divide_range(&mut point, size_bytes);
        let (size, increment) = (number(&point, "size"), number(&point, "offset_increment"));
        (0..64).map(|job| (job * increment, job * increment + size)).collect()
    }

    #[test]
    fn jobs_parts_lie_in_what_was_laid_out_and_begin_on_every_drive_of_a_stripe() {
        for size_bytes in [72 << 20, 1 << 30, 16 << 30, (16 << 30) + (1 << 20)] {
            let parts = parts(size_bytes);
            assert!(parts.last().unwrap().1 <= size_bytes, "{size_bytes}");
            assert!(parts.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{parts:?}");
            assert!(parts.iter().all(|(start, _)| start % 4096 == 0), "{parts:?}");
            for chunk_bytes in [64 << 10, 512 << 10] {
                let on_first = |(start, _): &&(u64, u64)| start / chunk_bytes % 2 == 0;
                let count = parts.iter().filter(on_first).count();
                assert!((16..=48).contains(&count), "{size_bytes} {chunk_bytes}: {count}");
            }
        }
    }
}
