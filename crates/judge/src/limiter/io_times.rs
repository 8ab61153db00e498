//! Time of a measurement's I/Os in each part of the stack, from the kernel's tracepoints.

use iodyno_model::DirectionResult;

use super::case::Case;

/// Mean time of an I/O in each part of the stack, ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct IoTimes {
    /// From submission to completion, as seen by the generator.
    pub(super) whole: f64,
    /// In the block layer before dispatch.
    pub(super) queue: f64,
    /// In driver and device.
    pub(super) device: f64,
    /// Share of the time in which the device was idle.
    pub(super) idle: f64,
}

impl IoTimes {
    /// In neither: before the block layer's queue, or after completion.
    pub(super) fn outside(self) -> f64 {
        (self.whole - self.queue - self.device).max(0.0)
    }

    /// Returns true if they wait in the queue rather than outside of it.
    pub(super) fn in_queue(self) -> bool {
        self.queue > self.outside()
    }
}

impl Case<'_> {
    /// Times of its I/Os from the kernel's tracepoints; `None`: not traced.
    pub(super) fn io_times(&self) -> Option<IoTimes> {
        let times = self.of_run().conditions.block_times?;
        let total = &self.of_run().total;
        let ios: u64 = total.iter().filter_map(|result| result.ios).sum();
        let spent =
            |result: &DirectionResult| Some(result.ios? as f64 * result.mean_latency()?.1.value);
        let all: f64 = total.iter().map(spent).sum::<Option<f64>>()?;
        Some(IoTimes {
            whole: (ios > 0).then(|| all / ios as f64)?,
            queue: times.queue_mean_ns,
            device: times.device_mean_ns,
            idle: times.idle,
        })
    }
}
