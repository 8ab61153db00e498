//! Interim results of running jobs.

use iodyno_load::{ClearedJob, Interval, JobReport, Recorder, Whole};
use iodyno_model::{Conditions, CpuUse, EndReason, JobStats, Measurement};

use super::builder::{MeasurementBuilder, Member, Members};
use super::series::Cut;

/// Measurements of a running phase up to and including `interval`, from what `recorder` recorded of
/// it: one for each section of `jobs`, whose clones follow each other. Without conditions.
pub fn interim(
    jobs: &[ClearedJob<'_>],
    recorder: &Recorder,
    source: &str,
    interval: &Interval,
) -> Vec<Measurement> {
    let elapsed_ns = interval.start_ns + interval.duration_ns;
    let report = |index: usize| {
        let (job, record) = (&jobs[index].job, recorder.jobs.get(index));
        let mut account = JobStats {
            elapsed_ns,
            counted_ns: elapsed_ns.saturating_sub(job.time.ramp_ns),
            ..JobStats::default()
        };
        if let Some(one) = interval.jobs.get(index) {
            one.threads.put_into(&mut account, elapsed_ns);
        }
        let mut report = JobReport { iodepth: job.depth.iodepth, account, ..JobReport::default() };
        for (direction, one) in record.iter().flat_map(|record| record.directions.iter()) {
            let counted = one.counted_from(0);
            let Whole { ios, bytes, .. } = report.whole.of_mut(direction);
            (*ios, *bytes) = (counted.ios, counted.bytes);
        }
        report
    };
    let reports: Vec<JobReport> = (0..jobs.len()).map(report).collect();
    let members: Vec<Member<'_>> = jobs
        .iter()
        .zip(&recorder.jobs)
        .zip(&reports)
        .map(|((job, record), report)| Member { job, record, report })
        .collect();
    members
        .chunk_by(|_, next| next.job.job.threads.clone > 0)
        .map(|members| {
            let builder = MeasurementBuilder {
                name: &members[0].job.job.name,
                phase: 0,
                members: members.to_vec(),
                kind: Members::Clones,
                source: source.to_owned(),
                started_ns: 0,
                end: EndReason::Interrupted,
                cpu: CpuUse::default(),
                cut: Cut::Nothing,
                level: 0.95,
                conditions: Conditions::default(),
            };
            builder.build()
        })
        .collect()
}
