//! Jobs that make no I/O: they load a CPU beside those that do (`ioengine=cpuio`).

use std::thread::park_timeout;
use std::time::{Duration, Instant};

use crate::in_flight::InFlights;
use crate::io::SetupError;
use crate::usage::Usage;
use crate::worker::{Assignment, Event, Outcome};

/// Numbers that are sorted, as many as fio sorts.
const NUMBERS: usize = 256 << 10;

impl Assignment {
    /// The whole life of a thread that loads a CPU until it is told to stop.
    pub(crate) fn burn(self, tell: impl Fn(Event)) -> Result<Outcome, SetupError> {
        self.placement.apply()?;
        let load = self.job.engine.cpu_load;
        let (percent, sorts) = (load.percent.max(1), load.sorts);
        let chunk = Duration::from_micros(load.chunk_us.into());
        let mut numbers: Vec<u64> = if sorts { numbers(self.seed) } else { Vec::new() };
        let id = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let (outlook, shortfalls) = (InFlights::new(1).outlook(), Vec::new());
        tell(Event::Ready { depth: 1, registered_buffers: None, shortfalls, outlook, id });
        self.shared.wait_for_start();
        let before = Usage::of_this_thread();
        let over = || self.shared.is_over(false);
        while !over() {
            let begun = Instant::now();
            if sorts {
                sort(&mut numbers);
            }
            while !sorts && begun.elapsed() < chunk && !over() {
                std::hint::spin_loop();
            }
            let idle = begun.elapsed() * (100 - percent) / percent;
            if !over() && !idle.is_zero() {
                // A stop wakes it.
                park_timeout(idle);
            }
        }
        let usage = Usage::of_this_thread().since(before);
        Ok(Outcome { ended: Some(Instant::now()), id, usage, ..Outcome::default() })
    }
}

fn numbers(seed: u64) -> Vec<u64> {
    (0..NUMBERS as u64).map(|number| crate::contents::mix(seed, number)).collect()
}

/// Puts numbers in order, in the opposite order, and in an order that looks random again.
fn sort(numbers: &mut [u64]) {
    numbers.sort_unstable();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.sort_unstable_by_key(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes());
    std::hint::black_box(numbers);
}
