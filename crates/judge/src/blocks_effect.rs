//! Compares the same workload on written blocks and on unwritten blocks.

use iodyno_model::{Estimate, Measurement, Metric, RunRecord, WrittenState};

use crate::measured::figure;
use crate::measured::written;
use crate::shape::Shape;

/// Effect of unwritten blocks on a rate.
#[derive(Debug, Clone, PartialEq)]
pub struct BlocksEffect {
    /// Names of the targets.
    pub targets: Vec<String>,
    /// Workload in fio's options.
    pub workload: String,
    /// Metric of the two estimates.
    pub metric: Metric,
    /// On blocks that hold data.
    pub written: Estimate,
    /// On blocks that hold no data.
    pub empty: Estimate,
}

impl BlocksEffect {
    /// Returns the rate on unwritten blocks divided by that on written ones.
    pub fn ratio(&self) -> f64 {
        self.empty.value / self.written.value
    }

    /// Returns every workload of a run that was measured on both.
    pub fn all(record: &RunRecord) -> Vec<Self> {
        let state = |of: &Measurement| {
            let mut states = of.targets.iter().map(|target| written(of, target));
            let first = states.next()?;
            states.all(|state| state == first).then_some(first)
        };
        let holding = |wanted: WrittenState| {
            let all = record.measurements.iter().filter(|of| of.failure().is_none());
            all.filter(move |of| state(of) == Some(wanted))
        };
        let mut found: Vec<Self> = Vec::new();
        for empty in holding(WrittenState::Unwritten) {
            let same = |of: &&Measurement| {
                let (ours, theirs) = (&of.workload, &empty.workload);
                (ours.iodepth, ours.numjobs, &ours.ioengine)
                    == (theirs.iodepth, theirs.numjobs, &theirs.ioengine)
                    && of.targets == empty.targets
                    && Shape::of(ours) == Shape::of(theirs)
            };
            let written = holding(WrittenState::Written).find(same).and_then(figure);
            let (Some((metric, written)), Some((_, empty_rate))) = (written, figure(empty)) else {
                continue;
            };
            let mut workload = empty.workload.clone();
            workload.options.clear();
            found.push(Self {
                targets: empty.targets.clone(),
                workload: workload.label(),
                metric,
                written,
                empty: empty_rate,
            });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, scale, set_written};

    #[test]
    fn the_same_reads_of_trimmed_blocks_are_held_against_those_of_written_ones() {
        let mut record = Bench::new(1).measured().record();
        assert_eq!(BlocksEffect::all(&record), []);
        let mut trimmed = record.measurements[1].clone();
        set_written(&mut trimmed, WrittenState::Unwritten);
        scale(&mut trimmed, 3.0);
        let mut paced = record.clone();
        paced.measurements[1].workload.options.insert("rate_iops".into(), "5000".into());
        paced.measurements.push(trimmed.clone());
        assert_eq!(BlocksEffect::all(&paced), [], "another workload");
        record.measurements.push(trimmed);
        let [effect] = &BlocksEffect::all(&record)[..] else { panic!() };
        assert!((effect.ratio() - 3.0).abs() < 1e-9);
        assert_eq!(effect.metric, Metric::Iops);
    }
}
