//! Samples the machine beside a load: how busy its threads are, and I/O of other processes.

use std::collections::HashMap;
use std::fs::read_to_string;
use std::time::Instant;

use iodyno_campaign::{OtherIo, other_io};
use iodyno_host::{Live, disk_stats};
use iodyno_model::DiskStats;

use super::scene::Scene;
use crate::background;

/// Clock ticks of /proc (USER_HZ) per second.
const TICKS_PER_S: f64 = 100.0;
/// Maximum number of threads sampled: each costs some 20 us.
const MAX_THREADS: usize = 128;

/// Result of a sample, over the time since the previous one.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// CPU share of the busiest load thread.
    pub(crate) busiest: Option<f64>,
    /// I/O of other processes that is worth reporting, by device.
    pub(crate) others: Vec<(String, OtherIo)>,
}

/// State of the previous sample.
pub(super) struct Sampler {
    source: Live,
    at: Instant,
    ticks: HashMap<u32, u64>,
    stats: Vec<DiskStats>,
}

impl Sampler {
    pub(super) fn new() -> Self {
        let source = Live::new();
        let stats = disk_stats(&source);
        Self { source, at: Instant::now(), ticks: HashMap::new(), stats }
    }

    /// Takes a sample: changes since the previous one.
    pub(super) fn sample(&mut self, scene: &Scene) -> Sample {
        let seconds = self.at.elapsed().as_secs_f64();
        self.at = Instant::now();
        let threads = scene.threads().take(MAX_THREADS);
        let seen: Vec<(u32, u64, usize)> = threads.filter_map(thread).collect();
        let used = seen.iter().filter_map(|(id, ticks, _)| {
            let before = self.ticks.get(id)?;
            Some(ticks.saturating_sub(*before) as f64 / TICKS_PER_S / seconds)
        });
        let busiest = used.reduce(f64::max).map(|share| share.min(1.0));
        self.ticks = seen.iter().map(|(id, ticks, _)| (*id, *ticks)).collect();
        // Keeps off the CPUs on which load threads ran last.
        background::keep_off(seen.iter().map(|(.., cpu)| *cpu));
        let stats = std::mem::replace(&mut self.stats, disk_stats(&self.source));
        let others = scene.issued().filter_map(|(device, largest_bytes, issued)| {
            let before = DiskStats::of(&stats, &device)?;
            let after = DiskStats::of(&self.stats, &device)?;
            let other = other_io(before, after, seconds, issued, largest_bytes)?;
            other.is_busy().then_some((device, other))
        });
        Sample { busiest, others: others.collect() }
    }
}

/// CPU ticks of one of our threads, and the CPU on which it ran last (proc(5)).
fn thread(id: u32) -> Option<(u32, u64, usize)> {
    let stat = read_to_string(format!("/proc/self/task/{id}/stat")).ok()?;
    // The third field follows the name, which may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some((id, field(14)? + field(15)?, field(39)? as usize))
}
