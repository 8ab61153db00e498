//! Splits latencies into queue and device time at the start of a measurement, from the kernel's
//! block tracepoints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iodyno_model::{BlockKind, BlockTimes, Histogram, Host};
use iodyno_trace::tracefs::{Options, Recorder, Watched};
use iodyno_trace::{Device, Io, Latency};

use crate::targets::PreparedTarget;

/// Enough I/Os: tracing each costs the machine a microsecond.
const MAX_IOS: u64 = 20_000;
/// Minimum number of I/Os for a result.
const MIN_IOS: u64 = 30;
/// Maximum tracing time.
const MAX_DURATION: Duration = Duration::from_secs(3);
/// The first I/Os of all find an idle device and are dropped, ns.
const START_NS: u64 = 100_000_000;
/// Interval between reads of the kernel's ring buffers.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Block devices whose queues the I/Os of `targets` pass; `None` if one is unknown. Devices that
/// pass I/Os on without a queue of their own (md, most of dm) dispatch none.
pub(crate) fn queues(host: &Host, targets: &[&PreparedTarget]) -> Option<Vec<Watched>> {
    let queue = |target: &&PreparedTarget| {
        let mut block = host.block(target.device.as_ref()?)?;
        // Requests name the disk, also for a partition.
        if block.kind == BlockKind::Partition {
            block = host.block(block.stands_on.first()?)?;
        }
        let device = Device { name: block.name.clone(), size_bytes: None, lba_bytes: None };
        Some(Watched { number: block.major << 20 | block.minor, device })
    };
    let mut queues = targets.iter().map(queue).collect::<Option<Vec<_>>>()?;
    // Several jobs may work on one device, and the kernel's filter has one page for all names.
    queues.sort_by_key(|queue| queue.number);
    queues.dedup_by_key(|queue| queue.number);
    Some(queues)
}

/// Result of `work`, and the block times of `queues` traced while it began.
pub(crate) fn during<T>(
    queues: Option<Vec<Watched>>,
    work: impl FnOnce() -> T,
) -> (T, Option<BlockTimes>) {
    let ended = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let trace = queues.map(|queues| scope.spawn(move || trace(&queues, ended)));
        let given = work();
        ended.store(true, Ordering::Relaxed);
        (given, trace.and_then(|trace| trace.join().ok()?))
    })
}

/// Traces until `ended`, or until enough I/Os are traced.
fn trace(queues: &[Watched], ended: &AtomicBool) -> Option<BlockTimes> {
    // Without root or tracefs there are no block times; the measurement goes on.
    let mut recorder = Recorder::start(queues, Options::default()).ok()?;
    let (begun, mut traced) = (Instant::now(), TracedIos::default());
    while traced.device.count() < MAX_IOS
        && begun.elapsed() < MAX_DURATION
        && !ended.load(Ordering::Relaxed)
    {
        if !recorder.poll(|io| traced.add(&io)).ok()? {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    recorder.end(|io| traced.add(&io)).ok()?;
    traced.times()
}

/// Traced I/Os so far.
#[derive(Debug, Default)]
struct TracedIos {
    /// Queue time of the first I/O, ns.
    first_ns: Option<u64>,
    /// Completion of the last I/O, ns.
    last_ns: u64,
    queue: Histogram,
    device: Histogram,
    /// Device, dispatch and completion of each, ns.
    busy: Vec<(u16, u64, u64)>,
}

impl TracedIos {
    fn add(&mut self, io: &Io) {
        let Latency::Split { queue, device } = io.latency else { return };
        if io.at_ns < *self.first_ns.get_or_insert(io.at_ns) + START_NS {
            return;
        }
        let dispatched_ns = io.at_ns + queue;
        self.busy.push((io.device, dispatched_ns, dispatched_ns + device));
        self.last_ns = self.last_ns.max(dispatched_ns + device);
        self.queue.record(queue);
        self.device.record(device);
    }

    fn times(mut self) -> Option<BlockTimes> {
        let ios = self.device.count();
        (ios >= MIN_IOS).then_some(())?;
        let begun_ns = self.first_ns? + START_NS;
        let duration_ns = self.last_ns.saturating_sub(begun_ns).max(1);
        self.busy.sort_unstable();
        let (mut busy_ns, mut devices, mut at) = (0, 0_u32, None);
        for (device, from_ns, to_ns) in self.busy {
            // Start of the part that is not counted yet.
            let known_ns = match at {
                Some((of, until_ns)) if of == device => until_ns,
                _ => {
                    devices += 1;
                    begun_ns
                }
            };
            busy_ns += to_ns.saturating_sub(from_ns.max(known_ns));
            at = Some((device, to_ns.max(known_ns)));
        }
        Some(BlockTimes {
            ios,
            duration_ns,
            idle: 1.0 - busy_ns as f64 / (duration_ns as f64 * f64::from(devices)),
            queue_mean_ns: self.queue.mean_ns()?,
            queue_p99_ns: self.queue.quantile_ns(0.99)?,
            device_mean_ns: self.device.mean_ns()?,
            device_p99_ns: self.device.quantile_ns(0.99)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use iodyno_host::{Captured, Depth, snapshot};
    use iodyno_target::resolve_even_in_memory;

    use super::*;

    #[test]
    fn device_of_several_jobs_is_traced_once() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/fixtures/links.json");
        let host = snapshot(&Captured::open(path).unwrap(), Depth::Quick);
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let found =
            resolve_even_in_memory(&Host::default(), file.path().to_str().unwrap()).unwrap();
        let clearance = found[0].clear_for_reading().unwrap();
        let on = |block: &str| {
            PreparedTarget::new(&host, "t", &clearance, Some(block), false, Vec::new())
        };
        let [a, b] = [&host.blocks[0].name, &host.blocks[1].name].map(|name| on(name));
        assert_eq!(queues(&host, &[&a, &b, &a, &b]).unwrap().len(), 2);
    }

    #[test]
    fn means_cover_complete_ios_after_the_start() {
        let mut traced = TracedIos::default();
        let io = |at_ns, queue, device| Io {
            at_ns,
            latency: Latency::Split { queue, device },
            ..Io::default()
        };
        traced.add(&io(7, 1_000_000, 1_000_000));
        assert_eq!(TracedIos::default().times(), None);
        for n in 0..MIN_IOS {
            traced.add(&Io { latency: Latency::Device(1), ..io(0, 0, 0) });
            traced.add(&io(7 + START_NS + n * 1000, 3000, 500));
        }
        let times = traced.times().unwrap();
        let duration_ns = (MIN_IOS - 1) * 1000 + 3500;
        assert_eq!((times.ios, times.duration_ns), (MIN_IOS, duration_ns));
        let idle = 1.0 - (MIN_IOS * 500) as f64 / duration_ns as f64;
        assert!((times.idle - idle).abs() < 1e-9, "{times:?}");
        assert!((times.queue_mean_ns - 3000.0).abs() < 1.0, "{times:?}");
        assert!((times.device_mean_ns - 500.0).abs() < 1.0, "{times:?}");
    }
}
