//! Conditioning of drives (SNIA SSS PTS: workload dependent preconditioning): rounds of a workload
//! until all drives are steady.

use iodyno_model::RunRecord;
use iodyno_target::Target;

use crate::plan::{PlanError, Preparation};
use crate::schedule::ScriptJobs;
use crate::tools::Resumed;

/// Conditioning rounds, ready to run.
#[derive(Debug, Clone)]
pub struct Conditioning {
    /// The workload as typed.
    pub(super) workload: String,
    pub(super) jobs: ScriptJobs,
    /// Longest duration of all rounds, ns.
    pub(super) most_ns: u64,
}

impl Preparation {
    /// The rounds on `targets` that `record` lacks; `None` if none.
    pub(super) fn conditioning(
        &self,
        targets: &[Target],
        record: Option<&RunRecord>,
    ) -> Result<Option<Conditioning>, PlanError> {
        let paths = targets.iter().map(|target| target.path().display().to_string()).collect();
        let Some((study, workload)) = self.study(paths)?.zip(self.workload()) else {
            return Ok(None);
        };
        let mut points = study.points(0);
        if let Some(record) = record {
            points = Resumed::of(record, points, &study).1;
        }
        if points.is_empty() {
            return Ok(None);
        }
        let most_ns = points.iter().filter_map(|point| point.runtime_ns()).sum();
        let jobs = ScriptJobs::of_points(&study, &points, &points)?;
        Ok(Some(Conditioning { workload, jobs, most_ns }))
    }
}
