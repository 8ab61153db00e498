//! Qualifies depths that the block layer's queue does not hold.

use iodyno_model::{Measurement, format_count};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::rule_context::RuleContext;

/// A queue that holds this share of the depth is long enough, as in depth-not-reached.
const LEAST_CAPACITY: f64 = 0.8;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "depth-capped",
    summary: "more outstanding I/Os asked for than the device's queue holds (nr_requests)",
    affected_by,
    what: "the queue is shorter than the requested depth",
    why: "What finds no place in the queue waits outside: the drive never saw so many I/Os at once, \
          and the latencies hold the wait.",
    next: "Spread the jobs over more CPUs (each has a queue of its own), or ask for less depth. Where \
           nr_requests was set below what the hardware holds: cat /sys/block/DEVICE/mq/0/nr_tags | \
           sudo tee /sys/block/DEVICE/queue/nr_requests.",
});

pub(super) fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    // A replay's depth is a limit, not what the trace asks for.
    if of.replayed().is_some() {
        return Ok(None);
    }
    let workload = &of.workload;
    let jobs = workload.numjobs.unwrap_or(1);
    let of_jobs = || Some(workload.iodepth?.saturating_mul(jobs));
    let Some(asked) = of.conditions.depth_asked.or_else(of_jobs) else {
        return Err("the requested depth is not known".into());
    };
    let (_, devices) = context.devices_under(of)?;
    // A thread submits to the queue of its CPU.
    let threads = of.conditions.threads.unwrap_or(jobs).max(1);
    let mut capacity: u64 = 0;
    for device in &devices {
        // Without a request queue (zram) there is no limit.
        let Some(queues) = device.queue.hardware_queues.value() else { return Ok(None) };
        let Some(requests) = device.queue.nr_requests.value() else {
            return Err(format!("nr_requests of {} is not known", device.name));
        };
        capacity += u64::from(requests) * u64::from(queues.clamp(1, threads));
    }
    let capped = capacity > 0 && (capacity as f64) < LEAST_CAPACITY * f64::from(asked);
    Ok(capped.then(|| {
        format!(
            "{} I/Os requested, queue length {}",
            format_count(f64::from(asked)),
            format_count(capacity as f64)
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, reserves};
    use iodyno_model::{Fact, Severity};

    #[test]
    fn a_queue_that_is_too_short_is_named() {
        let queue = |requests: Fact<u32>, queues: Fact<u32>| {
            Bench::new(1).measured().host(|host| {
                host.blocks[0].queue.nr_requests = requests;
                host.blocks[0].queue.hardware_queues = queues;
            })
        };
        assert_eq!(check_rule(&RULE, &Bench::new(2).measured().record()), Outcome::Clear);
        // Eight threads with 512 I/Os.
        assert_eq!(check_rule(&RULE, &queue(known(64), known(16)).record()), Outcome::Clear);
        let tripped = queue(known(64), known(1)).record();
        check_rule(&RULE, &tripped).only(Severity::Info);
        let why = reserves(&RULE, &tripped, 1).unwrap().why;
        assert_eq!(why, "512 I/Os requested, queue length 64");
        let mut replay = tripped;
        for of in &mut replay.measurements {
            let replayed = Some(Box::default());
            of.account = Some(iodyno_model::JobStats { replayed, ..Default::default() });
        }
        assert_eq!(check_rule(&RULE, &replay), Outcome::Clear, "its depth is a limit");
        assert_eq!(check_rule(&RULE, &queue(known(64), Fact::Absent).record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &queue(Fact::Absent, known(1)).record()), Outcome::CannotTell);
    }
}
