//! Schedules I/Os by rates and pauses.

use iodyno_job::{Operation, Pace, RateProcess, Request, ThinkBlocks};
use iodyno_model::{Direction, PerDirection};

use crate::clock::Clock;

/// The due times of I/Os, in ticks.
///
/// A rate is a timetable, not a speed limit: an I/O is due whether or not earlier ones have
/// completed, and latencies count from its due time (no coordinated omission; Tene 2013). A device
/// that cannot keep up shows it in its latencies.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Start of the timetables.
    started: u64,
    rates: PerDirection<Option<Timetable>>,
    pause: Option<Pause>,
    /// Exponential gaps, as from independent users.
    poisson: bool,
    random: u64,
}

/// The timetable of one direction.
#[derive(Debug, Clone, Copy)]
struct Timetable {
    /// Ticks per I/O, and per byte.
    per_io: f64,
    per_byte: f64,
    /// Next due time, ticks since the start of the timetable: after a long uptime the counter has
    /// more digits than an f64.
    due: f64,
}

/// Pauses between blocks of I/Os.
#[derive(Debug, Clone, Copy)]
struct Pause {
    ticks: u64,
    spin_ticks: u64,
    /// Pause after this many I/Os, or this many ticks.
    every_ios: u64,
    every_ticks: u64,
    /// Counts I/Os at completion, not at submission.
    at_completion: bool,
    ios: u64,
    /// Submitted since the last pause; limited to `every_ios`, so that nothing is in flight during
    /// the pause (fio drains).
    issued: u64,
    working_since: u64,
    until: u64,
}

impl Pacer {
    /// The pace of a job, if it has one; `seed` determines the gaps of a Poisson process.
    pub(crate) fn new(pace: &Pace, clock: Clock, seed: u64) -> Option<Self> {
        let ticks_per_s = clock.ticks(1_000_000_000) as f64;
        let timetable = |ios: &Option<u64>, bytes: &Option<u64>| {
            let per = |rate: &Option<u64>| rate.map_or(0.0, |rate| ticks_per_s / rate as f64);
            let timetable = Timetable { per_io: per(ios), per_byte: per(bytes), due: 0.0 };
            (ios.is_some() || bytes.is_some()).then_some(timetable)
        };
        let rates = PerDirection {
            read: timetable(&pace.rate_iops.read, &pace.rate.read),
            write: timetable(&pace.rate_iops.write, &pace.rate.write),
            trim: timetable(&pace.rate_iops.trim, &pace.rate.trim),
        };
        let pause = (pace.thinktime_ns > 0).then(|| Pause {
            ticks: clock.ticks(pace.thinktime_ns),
            spin_ticks: clock.ticks(pace.thinktime_spin_ns.min(pace.thinktime_ns)),
            every_ios: match pace.thinktime_iotime_ns {
                0 => u64::from(pace.thinktime_blocks.max(1)),
                _ => pace.thinktime_blocks.checked_sub(1).map_or(u64::MAX, |n| u64::from(n) + 1),
            },
            every_ticks: match pace.thinktime_iotime_ns {
                0 => u64::MAX,
                ns => clock.ticks(ns),
            },
            at_completion: pace.thinktime_blocks_type == ThinkBlocks::Complete,
            ios: 0,
            issued: 0,
            working_since: 0,
            until: 0,
        });
        let paced = pause.is_some() || rates.iter().any(|(_, timetable)| timetable.is_some());
        let poisson = pace.rate_process == RateProcess::Poisson;
        paced.then_some(Self { started: 0, rates, pause, poisson, random: seed | 1 })
    }

    /// A pace without rates and pauses, for requests with times of their own.
    pub(crate) fn untimed() -> Self {
        let rates = PerDirection { read: None, write: None, trim: None };
        Self { started: 0, rates, pause: None, poisson: false, random: 1 }
    }

    /// Start of the timetables, ticks.
    pub(crate) const fn started(&self) -> u64 {
        self.started
    }

    /// Starts the timetables.
    pub(crate) fn start(&mut self, now: u64) {
        self.started = now;
        if let Some(pause) = &mut self.pause {
            pause.working_since = now;
        }
    }

    /// Excludes `ticks` from the job's time, for other work: all future I/O is due that much later.
    pub(crate) fn postpone(&mut self, ticks: u64) {
        self.started += ticks;
        if let Some(pause) = &mut self.pause {
            pause.until = pause.until.saturating_add(ticks);
            pause.working_since = pause.working_since.saturating_add(ticks);
        }
    }

    /// Due time of `request`; 0: at once.
    pub(crate) fn due(&self, request: &Request) -> u64 {
        let due = request.operation.direction().map_or(0, |direction| self.due_in(direction));
        due.max(self.pause.map_or(0, |pause| pause.until))
    }

    /// Due time of `direction`'s next I/O by its rate alone; 0: at once.
    pub(crate) fn due_in(&self, direction: Direction) -> u64 {
        self.rates
            .of(direction)
            .map_or(0, |timetable| self.started.saturating_add(timetable.due as u64))
    }

    /// True if some direction has a rate.
    pub(crate) fn has_rates(&self) -> bool {
        self.rates.iter().any(|(_, timetable)| timetable.is_some())
    }

    /// True if the latency of `request` counts from its due time.
    pub(crate) fn has_timetable(&self, request: &Request) -> bool {
        self.timetable(request).is_some()
    }

    fn timetable(&self, request: &Request) -> Option<&Timetable> {
        self.rates.of(request.operation.direction()?).as_ref()
    }

    /// I/Os that may be submitted before the next pause.
    pub(crate) fn before_pause(&self) -> usize {
        match self.pause {
            Some(Pause { every_ios, issued, .. }) => every_ios.saturating_sub(issued) as usize,
            None => usize::MAX,
        }
    }

    /// Records the submission of `request`.
    pub(crate) fn submitted(&mut self, request: &Request, now: u64) {
        let factor = if self.poisson { self.exponential() } else { 1.0 };
        let direction = request.operation.direction();
        if let Some(timetable) =
            direction.and_then(|direction| self.rates.of_mut(direction).as_mut())
        {
            timetable.due +=
                (timetable.per_io + timetable.per_byte * f64::from(request.length)) * factor;
        }
        if let Some(pause) = &mut self.pause {
            pause.issued += 1;
            if !pause.at_completion {
                pause.count(now);
            }
        }
    }

    /// Records a completion. Syncs are no blocks.
    pub(crate) fn completed(&mut self, operation: Operation, now: u64) {
        let is_block = operation.direction().is_some();
        if let Some(pause) = self.pause.as_mut().filter(|pause| pause.at_completion && is_block) {
            pause.count(now);
        }
    }

    /// End of busy waiting (`thinktime_spin`).
    pub(crate) fn spin_until(&self) -> u64 {
        self.pause.map_or(0, |pause| pause.until.saturating_sub(pause.ticks) + pause.spin_ticks)
    }

    /// An exponentially distributed number of mean 1 (inversion).
    fn exponential(&mut self) -> f64 {
        // xorshift64 (Marsaglia 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let uniform = ((self.random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        -uniform.ln()
    }
}

impl Pause {
    fn count(&mut self, now: u64) {
        self.ios += 1;
        if now < self.until {
            return;
        }
        if self.ios >= self.every_ios || now.saturating_sub(self.working_since) >= self.every_ticks
        {
            (self.ios, self.issued) = (0, 0);
            self.until = now + self.ticks;
            self.working_since = self.until;
        }
    }
}

#[cfg(test)]
mod tests {
    use iodyno_job::Operation;

    use super::*;

    const READ: Request = Request { offset: 0, length: 4096, file: 0, operation: Operation::Read };

    #[test]
    fn a_rate_is_a_timetable() {
        let clock = Clock::get();
        let mut pace = Pace::default();
        assert!(Pacer::new(&pace, clock, 1).is_none());
        pace.rate_iops.read = Some(1000);
        let mut pacer = Pacer::new(&pace, clock, 1).unwrap();
        pacer.start(5_000_000);
        // However late they are submitted, they were due every millisecond.
        for n in 0..100 {
            let due_ns = clock.ns(pacer.due(&READ) - 5_000_000);
            assert!(due_ns.abs_diff(n * 1_000_000) < 1000, "{n}: {due_ns}");
            pacer.submitted(&READ, u64::MAX / 2);
        }
        let write = Request { operation: Operation::Write, ..READ };
        assert_eq!(pacer.due(&write), 0);
    }

    #[test]
    fn a_timetable_is_exact_on_a_machine_that_is_up_for_years() {
        let (clock, started) = (Clock::get(), 1 << 60);
        let mut pace = Pace::default();
        pace.rate_iops.read = Some(1_000_000);
        let mut pacer = Pacer::new(&pace, clock, 1).unwrap();
        pacer.start(started);
        assert_eq!(pacer.due(&READ), started);
        (0..1_000_000).for_each(|_| pacer.submitted(&READ, started));
        let second_ns = clock.ns(pacer.due(&READ) - started);
        assert!(second_ns.abs_diff(1_000_000_000) < 1000, "{second_ns}");
    }

    #[test]
    fn poisson_has_the_same_mean_and_exponential_gaps() {
        let clock = Clock::get();
        let mut pace = Pace { rate_process: RateProcess::Poisson, ..Pace::default() };
        pace.rate.read = Some(4096 * 1000);
        let mut pacer = Pacer::new(&pace, clock, 7).unwrap();
        pacer.start(0);
        let (n, mut last, mut long) = (100_000, 0, 0);
        for _ in 0..n {
            pacer.submitted(&READ, 0);
            let due = pacer.due(&READ);
            long += u64::from(clock.ns(due - last) > 1_000_000);
            last = due;
        }
        let mean_ns = clock.ns(last) as f64 / f64::from(n);
        assert!((mean_ns / 1e6 - 1.0).abs() < 0.02, "{mean_ns}");
        // P(gap > mean) = 1/e.
        assert!((long as f64 / f64::from(n) - (-1_f64).exp()).abs() < 0.01, "{long}");
    }

    #[test]
    fn postponing_shifts_rates_and_pauses() {
        let ms = |ms: u64| Clock::get().ticks(1_000_000 * ms);
        let mut pace = Pace::default();
        pace.rate_iops.read = Some(1000);
        (pace.thinktime_ns, pace.thinktime_iotime_ns) = (20_000_000, 3_000_000);
        pace.thinktime_blocks_type = ThinkBlocks::Issue;
        let mut pacer = Pacer::new(&pace, Clock::get(), 1).unwrap();
        pacer.start(10);
        pacer.submitted(&READ, 10);
        let due = pacer.due(&READ);
        pacer.postpone(ms(5));
        assert_eq!(pacer.due(&READ), due + ms(5));
        // The time until the next pause is postponed as well.
        pacer.submitted(&READ, 10 + ms(6));
        assert!(pacer.due(&READ) < 10 + ms(8));
        pacer.submitted(&READ, 10 + ms(9));
        let due = pacer.due(&READ);
        assert!(due > 10 + ms(28));
        pacer.postpone(ms(5));
        assert_eq!(pacer.due(&READ), due + ms(5));
    }

    #[test]
    fn a_pause_comes_after_each_block() {
        let clock = Clock::get();
        let pace = Pace { thinktime_ns: 1_000_000, thinktime_blocks: 3, ..Pace::default() };
        let mut pacer = Pacer::new(&pace, clock, 1).unwrap();
        pacer.start(10);
        for _ in 0..2 {
            pacer.completed(Operation::Read, 20);
            pacer.completed(Operation::Sync, 20);
            assert!(pacer.due(&READ) <= 20);
        }
        pacer.completed(Operation::Read, 30);
        assert_eq!(pacer.due(&READ), 30 + clock.ticks(1_000_000));
    }
}
