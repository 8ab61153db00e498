//! Shares of jobs in a common flow of I/O (fio's `flow`, flow.c).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use iodyno_job::Job;

/// The jobs of one `flow_id`.
#[derive(Debug)]
struct Flow {
    /// I/Os of all jobs plus one: fio's counter starts at 1.
    ios: AtomicU64,
    weights: AtomicU64,
}

/// The flows of a phase, by `flow_id`.
#[derive(Debug, Default)]
pub(crate) struct Flows(BTreeMap<u32, Arc<Flow>>);

/// A thread's share of a flow.
#[derive(Debug)]
pub(crate) struct FlowShare {
    flow: Arc<Flow>,
    weight: u64,
    ios: u64,
    sleep: Duration,
}

impl Flows {
    /// Adds a thread of `job` to its flow, if it has one.
    pub(crate) fn join(&mut self, job: &Job) -> Option<FlowShare> {
        let weight = u64::from(job.pace.flow);
        let new = || Arc::new(Flow { ios: AtomicU64::new(1), weights: AtomicU64::new(0) });
        let flow = (weight > 0).then(|| self.0.entry(job.pace.flow_id).or_insert_with(new))?;
        flow.weights.fetch_add(weight, Relaxed);
        let sleep = Duration::from_nanos(job.pace.flow_sleep_ns);
        Some(FlowShare { flow: Arc::clone(flow), weight, ios: 0, sleep })
    }
}

impl FlowShare {
    /// True if the thread is ahead of its weight.
    pub(crate) fn is_ahead(&self) -> bool {
        let ratio = |part: u64, all: &AtomicU64| part as f64 / all.load(Relaxed) as f64;
        ratio(self.ios, &self.flow.ios) > ratio(self.weight, &self.flow.weights)
    }

    /// Waits for the other jobs.
    pub(crate) fn wait(&self) {
        if self.sleep.is_zero() { std::thread::yield_now() } else { std::thread::sleep(self.sleep) }
    }

    /// Counts an I/O of this thread.
    pub(crate) fn count_io(&mut self) {
        self.ios += 1;
        self.flow.ios.fetch_add(1, Relaxed);
    }
}

impl Drop for FlowShare {
    /// Leaves the flow, so that the others do not wait for this thread.
    fn drop(&mut self) {
        self.flow.ios.fetch_sub(self.ios, Relaxed);
        self.flow.weights.fetch_sub(self.weight, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_part_the_flow_until_one_ends() {
        let job = |flow| {
            let mut job = Job::default();
            job.pace.flow = flow;
            job
        };
        let mut flows = Flows::default();
        assert!(flows.join(&job(0)).is_none());
        let (mut light, mut heavy) = (flows.join(&job(1)).unwrap(), flows.join(&job(3)).unwrap());
        for _ in 0..10_000 {
            [&mut light, &mut heavy]
                .into_iter()
                .filter(|it| !it.is_ahead())
                .for_each(FlowShare::count_io);
        }
        let ratio = heavy.ios as f64 / light.ios as f64;
        assert!((2.99..3.01).contains(&ratio), "{ratio}");
        light.count_io();
        light.count_io();
        assert!(light.is_ahead());
        drop(heavy);
        assert!(!light.is_ahead(), "it is alone");
    }
}
