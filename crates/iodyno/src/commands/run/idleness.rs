//! `--idle-prof`: idleness of CPUs while jobs run, and the time of a unit of work on them.
//!
//! fio runs a thread of the idle class that counts units of work on each CPU. The kernel counts the
//! same time itself (proc_stat(5): idle and iowait), without a thread that keeps CPUs from
//! sleeping.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use iodyno_fio::out::CpuIdleness;
use iodyno_job::syntax::IdleProf;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// fio's CALIBRATE_RUNS and CALIBRATE_SCALE (idletime.h).
const RUNS: usize = 10;
const SCALE: usize = 1000;

/// Counters read before jobs run.
pub(super) struct Idleness {
    asked: IdleProf,
    unit_us: (f64, f64),
    before: Vec<Times>,
}

/// Idle ticks and all ticks of a CPU, or of all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    idle: u64,
    all: u64,
}

impl Idleness {
    /// Measures the unit of work and reads the counters.
    ///
    /// # Errors
    /// The kernel's counters cannot be read.
    pub(super) fn begin(asked: IdleProf) -> Result<Self> {
        Ok(Self { asked, unit_us: unit_us(), before: times()? })
    }

    /// Idleness since [`Self::begin`].
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub(super) fn end(&self) -> Result<CpuIdleness> {
        let after = times()?;
        let mut percents = self.before.iter().zip(&after).map(|(before, after)| {
            let all = after.all.saturating_sub(before.all);
            let idle = after.idle.saturating_sub(before.idle);
            if all == 0 { 0.0 } else { idle as f64 * 100.0 / all as f64 }
        });
        let system_percent = percents.next().unwrap_or(0.0);
        let cpu_percent = match self.asked {
            IdleProf::System => Vec::new(),
            IdleProf::PerCpu => percents.collect(),
        };
        Ok(CpuIdleness { system_percent, cpu_percent, unit_us: self.unit_us })
    }
}

/// Line with the unit of work, measured now.
pub(super) fn calibration() -> String {
    let unit_us = unit_us();
    CpuIdleness { system_percent: 0.0, cpu_percent: Vec::new(), unit_us }.unit()
}

/// Times of all CPUs together, then of each.
fn times() -> Result<Vec<Times>> {
    let path = Path::new("/proc/stat");
    let bytes = iodyno_files::read(path, crate::context::MAX_TEXT_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let times: Option<Vec<Times>> =
        text.lines().take_while(|line| line.starts_with("cpu")).map(parse).collect();
    times.filter(|times| !times.is_empty()).context("/proc/stat has no CPU times")
}

/// Parses `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`; user and nice
/// already include the last two.
fn parse(line: &str) -> Option<Times> {
    let numbers = line.split_ascii_whitespace().skip(1).take(8).map(str::parse);
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().ok()?;
    let idle = numbers.get(3)? + numbers.get(4).unwrap_or(&0);
    Some(Times { idle, all: numbers.iter().sum() })
}

/// Time of a unit of work, us: mean and standard deviation over the CPUs that this process may use.
fn unit_us() -> (f64, f64) {
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let units: Vec<f64> = cpus
        .filter_map(|cpu| std::thread::spawn(move || unit_us_on(cpu)).join().ok().flatten())
        .collect();
    let count = units.len() as f64;
    if units.is_empty() {
        return (0.0, 0.0);
    }
    let mean = units.iter().sum::<f64>() / count;
    let squares: f64 = units.iter().map(|unit| (unit - mean).powi(2)).sum();
    (mean, if units.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 })
}

/// Fastest of several runs on `cpu`: a unit writes each byte of a page.
fn unit_us_on(cpu: usize) -> Option<f64> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).ok()?;
    let mut page = vec![0_u8; rustix::param::page_size()];
    let run = |_| {
        let begun = Instant::now();
        for shift in 0..SCALE {
            let length = page.len();
            for place in 0..length {
                page[(place + shift) % length] = std::hint::black_box(place as u8);
            }
        }
        begun.elapsed().as_secs_f64() * 1e6 / SCALE as f64
    };
    (0..RUNS).map(run).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_counted_once() {
        let line = "cpu0 100 10 20 300 40 1 2 3 50 5";
        assert_eq!(parse(line), Some(Times { idle: 340, all: 476 }));
        assert_eq!(parse("cpu0 x"), None);
    }
}
