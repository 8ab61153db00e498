//! Simulated drive under reads and writes at fixed rates: the p99 of its reads, from a table.

use iodyno_model::{Direction, PerDirection};

use crate::ClearedJob;

/// Behaviour of a drive under reads and writes at fixed rates.
#[derive(Debug, Clone, PartialEq)]
pub struct UnderLoad {
    /// Maximum rate of writes alone, bytes per second.
    pub most_write_bytes_per_s: f64,
    /// Maximum rate of reads alone, per second.
    pub most_read_iops: f64,
    /// The p99 of reads, ns: a row for each of equal steps from 0 to the maximum of writes, and in
    /// it a value for each of equal steps of reads; `None`: the rates are not reached.
    pub p99_ns: Vec<Vec<Option<f64>>>,
}

/// Share reached of rates that are too high.
const NOT_REACHED: f64 = 0.9;

impl UnderLoad {
    /// The p99 of reads, ns, at rates per second; `None` if these are not reached.
    pub fn p99_ns(&self, write_bytes_per_s: f64, read_iops: f64) -> Option<f64> {
        let parts = |rate: f64, most: f64, count: usize| {
            (rate / most).clamp(0.0, 1.0) * count.saturating_sub(1) as f64
        };
        let writes = parts(write_bytes_per_s, self.most_write_bytes_per_s, self.p99_ns.len());
        let reads = parts(read_iops, self.most_read_iops, self.p99_ns.first()?.len());
        let at = |writes: f64, reads: f64| {
            (*self.p99_ns.get(writes as usize)?.get(reads as usize)?).map(f64::ln)
        };
        let nearest = at(writes.round(), reads.round())?;
        let or_nearest = |writes, reads| at(writes, reads).unwrap_or(nearest);
        let (left, below) = (writes.floor(), reads.floor());
        let (right, above) = (writes.ceil(), reads.ceil());
        let between = |a: f64, b: f64, share: f64| a + (b - a) * share;
        let low = between(or_nearest(left, below), or_nearest(right, below), writes - left);
        let high = between(or_nearest(left, above), or_nearest(right, above), writes - left);
        Some(between(low, high, reads - below).exp())
    }

    /// IOPS and p99, ns, of each of `jobs`, all on this drive.
    pub(super) fn answer(&self, jobs: &[&ClearedJob<'_>]) -> Vec<(f64, f64)> {
        let asked = jobs.iter().map(|job| asked_iops(job)).collect::<Vec<_>>();
        let mut rates: PerDirection<f64> = PerDirection::default();
        let mut clones: PerDirection<f64> = PerDirection::default();
        for (job, asked) in jobs.iter().zip(&asked) {
            let direction = job.job.pattern.rw.direction();
            *rates.of_mut(direction) += asked.unwrap_or(0.0) * block_bytes(job);
            *clones.of_mut(direction) += 1.0;
        }
        let read_iops = rates.read / jobs.iter().map(|job| read_bytes(job)).fold(1.0, f64::max);
        let p99_ns = self.p99_ns(rates.write, read_iops);
        let of_one = |(job, asked): (&&ClearedJob<'_>, &Option<f64>)| {
            let direction = job.job.pattern.rw.direction();
            let most = match direction {
                Direction::Write => self.most_write_bytes_per_s / block_bytes(job),
                _ => self.most_read_iops,
            };
            let share = if p99_ns.is_some() { 1.0 } else { NOT_REACHED };
            let iops = asked.map_or(most / clones.of(direction), |asked| asked * share);
            (iops, p99_ns.unwrap_or(1e9))
        };
        jobs.iter().zip(&asked).map(of_one).collect()
    }
}

fn block_bytes(job: &ClearedJob<'_>) -> f64 {
    job.job.largest_block() as f64
}

/// Block size of reads, bytes; 0 if it does not read.
fn read_bytes(job: &ClearedJob<'_>) -> f64 {
    if job.job.pattern.rw.has(Direction::Read) { block_bytes(job) } else { 0.0 }
}

/// IOPS that a job is paced to.
fn asked_iops(job: &ClearedJob<'_>) -> Option<f64> {
    let (pace, direction) = (&job.job.pace, job.job.pattern.rw.direction());
    let by_bytes = pace.rate.of(direction).map(|rate| rate as f64 / block_bytes(job));
    pace.rate_iops.of(direction).map(|rate| rate as f64).or(by_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surface_is_interpolated_between_cells() {
        let row = |base: f64| vec![Some(base), Some(base * 4.0), None];
        let surface = UnderLoad {
            most_write_bytes_per_s: 100.0,
            most_read_iops: 10.0,
            p99_ns: vec![row(100.0), row(400.0), vec![None; 3]],
        };
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-6;
        assert!(near(surface.p99_ns(0.0, 0.0), 100.0));
        assert!(near(surface.p99_ns(25.0, 0.0), 200.0));
        assert!(near(surface.p99_ns(25.0, 2.5), 400.0));
        assert!(near(surface.p99_ns(0.0, 7.0), 400.0), "beside what is not reached: the nearest");
        assert_eq!(surface.p99_ns(0.0, 8.0), None);
        assert_eq!(surface.p99_ns(100.0, 0.0), None);
    }
}
