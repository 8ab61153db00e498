//! What keeps I/Os in this machine before their device has them, as a suspect.

use iodyno_model::format_duration_ns;

use super::bottlenecks::cpu_share;
use super::case::Case;
use super::cpu::BUSY;
use super::suspect::{Limiter, Suspect};
use super::weigh::Scene;
use crate::figures::percent;
use crate::measured::is_paced;

/// A device that has nothing to do for this share of the time is kept waiting.
const IDLE: f64 = 0.2;
/// From this share of its time on what an I/O waits for is not the device.
const MOST: f64 = 0.5;

/// Where the time of an I/O goes, ns; all are means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whereabouts {
    /// From submission to completion, as the generator saw it.
    whole: f64,
    /// In the block layer before dispatch.
    queue: f64,
    /// In driver and device.
    device: f64,
    /// Share of the time in which a device had nothing to do.
    idle: f64,
}

impl Whereabouts {
    /// In neither: before the block layer's queue, or after completion.
    fn outside(self) -> f64 {
        (self.whole - self.queue - self.device).max(0.0)
    }

    /// Whether they wait in the queue, rather than outside of it.
    pub(super) fn in_queue(self) -> bool {
        self.queue > self.outside()
    }
}

impl Case<'_> {
    /// Where its I/Os were, by the kernel's tracepoints; `None`: nobody looked.
    pub(super) fn whereabouts(&self) -> Option<Whereabouts> {
        let times = self.of_run().conditions.block_times?;
        let total = &self.of_run().total;
        let ios: u64 = total.iter().filter_map(|result| result.ios).sum();
        let spent = |result: &iodyno_model::DirectionResult| {
            Some(result.ios? as f64 * result.mean_latency()?.1.value)
        };
        let all: f64 = total.iter().map(spent).sum::<Option<f64>>()?;
        Some(Whereabouts {
            whole: (ios > 0).then(|| all / ios as f64)?,
            queue: times.queue_mean_ns,
            device: times.device_mean_ns,
            idle: times.idle,
        })
    }
}

impl Scene<'_, '_> {
    /// A device that is idle while I/Os wait is kept waiting. One that is never idle may have
    /// a queue before it, too, which then is its own doing.
    pub(super) fn before_device(&self) -> Option<Suspect> {
        let of = self.case.of_run();
        let at = self.case.whereabouts()?;
        let text = format_duration_ns;
        if at.device >= MOST * at.whole {
            let why = format!(
                "driver and device have an I/O for {} of its {}",
                percent((at.device / at.whole).min(1.0)),
                text(at.whole)
            );
            return Some(Suspect::cleared(Limiter::BeforeDevice, why));
        }
        // A thread that has no time sees completions late.
        let is_busy = cpu_share(self.case.host(), of).is_none_or(|cpu| cpu.share() >= BUSY);
        if at.idle < IDLE || is_busy || is_paced(of) {
            return None;
        }
        let why = format!(
            "of its {} an I/O is {} in driver and device, {} in the block layer's queue and {} \
             outside of both, while the device has nothing to do for {} of the time",
            text(at.whole),
            text(at.device),
            text(at.queue),
            text(at.outside()),
            percent(at.idle)
        );
        Some(Suspect::confirmed(Limiter::BeforeDevice, why))
    }
}
