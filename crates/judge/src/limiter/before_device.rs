//! Limits in the host before the device, as a suspect.

use iodyno_model::{Experiment, format_duration_ns};

use super::bottlenecks::{BUSY, cpu_share, waited_for_cpu};
use super::case::Case;
use super::case_context::CaseContext;
use super::suspect::{Limiter, Suspect};
use crate::ceiling::queue_slots;
use crate::figures::percent;
use crate::measured::is_paced;

/// A device idle for this share of the time is kept waiting.
const IDLE: f64 = 0.2;
/// From this share of an I/O's time in driver and device on, the device is what it waits for.
const MOST: f64 = 0.5;

impl Case<'_> {
    /// Returns the number of requests that the queue of its device holds, if that is fewer than it
    /// may have outstanding.
    pub(super) fn short_queue(&self) -> Option<u32> {
        let asked = self.outstanding()?;
        queue_slots(self).filter(|slots| *slots < asked)
    }
}

impl CaseContext<'_, '_> {
    /// Suspects the host if the device is idle while I/Os wait. A device that is never idle may
    /// also have a queue before it, which is then its own doing, unless the queue is too short for
    /// the depth asked for, so that the device never gets it.
    pub(super) fn before_device(&self) -> Option<Suspect> {
        let of = self.case.of_run();
        let at = self.case.io_times()?;
        let text = format_duration_ns;
        if at.device >= MOST * at.whole {
            let why = format!(
                "driver and device take {} of an I/O's {}",
                percent((at.device / at.whole).min(1.0)),
                text(at.whole)
            );
            return Some(Suspect::cleared(Limiter::BeforeDevice, why));
        }
        if at.in_queue() && self.case.short_queue().is_some() {
            return Some(Suspect::open(Limiter::BeforeDevice, Experiment::LongerQueue));
        }
        // A thread without CPU time left sees completions late.
        let is_busy = cpu_share(self.case.host(), of).is_none_or(|cpu| cpu.share() >= BUSY);
        let waited = waited_for_cpu(self.case.host(), of);
        if at.idle < IDLE || is_busy || waited.is_some() || is_paced(of) {
            return None;
        }
        let unknown = match of.cpu.and_then(|cpu| cpu.waited) {
            Some(_) => "",
            None => "; if its threads waited for a CPU is not known",
        };
        let why = format!(
            "of its {} an I/O is {} in driver and device, {} in the block layer's queue and {} \
             outside of both, while the device has nothing to do for {} of the time{unknown}",
            text(at.whole),
            text(at.device),
            text(at.queue),
            text(at.outside()),
            percent(at.idle)
        );
        Some(Suspect::confirmed(Limiter::BeforeDevice, why))
    }
}
