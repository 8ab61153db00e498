//! Collects the results of one job from its statements.

use iodyno_model::{
    CpuUse, Direction, DirectionResult, EndReason, ErrorCount, Failure, JobStats, LatencyRange,
    Measurement, StatedLatencies, Workload,
};

use super::direction::{Issued, Side};
use super::header::Head;
use super::latency::{percentiles, ranges, summary};
use super::samples::{bandwidths, rates};
use super::scan::{after, field, numbers, up_to};
use super::statement::{Kind, Statement};
use crate::read::printed_number::{Notation, share};
use crate::read::workload::is_decimal;

const MS_NS: u64 = 1_000_000;

/// A job's results.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    pub(super) head: Head,
    pub(super) version: Option<(u32, u32)>,
    pub(super) sides: Vec<Side>,
    pub(super) issued: Option<Issued>,
    ranges: Vec<LatencyRange>,
    cpu: Option<Cpu>,
    depths: Option<[f64; 7]>,
    errors: Option<(u64, i32)>,
    target: Option<(u64, u32)>,
    steady: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Cpu {
    usage: CpuUse,
    switches: u64,
    major_faults: u64,
    minor_faults: u64,
}

/// Properties of a job from elsewhere in the text.
pub(super) struct JobContext {
    pub(super) source: String,
    pub(super) workload: Workload,
    pub(super) targets: Vec<String>,
    pub(super) interrupted: bool,
}

impl Job {
    pub(super) fn new(head: Head, version: Option<(u32, u32)>) -> Self {
        Self {
            head,
            version,
            sides: Vec::new(),
            issued: None,
            ranges: Vec::new(),
            cpu: None,
            depths: None,
            errors: None,
            target: None,
            steady: None,
        }
    }

    /// True if nothing is below its head.
    pub(super) fn has_only_head(&self) -> bool {
        self.sides.is_empty() && self.issued.is_none() && self.cpu.is_none()
    }

    /// True if the lines after all directions were read: another direction belongs to another job.
    pub(super) const fn is_closed(&self) -> bool {
        self.issued.is_some() || self.cpu.is_some()
    }

    /// True for direction lines without the rest of fio's block: somebody quoted them.
    pub(super) fn is_quoted(&self) -> bool {
        let bare = self.issued.is_none() && self.cpu.is_none() && self.depths.is_none();
        let alone = |side: &Side| side.stated == StatedLatencies::default();
        self.head.name.is_empty() && bare && self.ranges.is_empty() && self.sides.iter().all(alone)
    }

    /// Adds a statement below its head.
    pub(super) fn add(&mut self, statement: &Statement) {
        let text = &statement.text;
        let version = self.version;
        let side = self.sides.last_mut();
        let notation = side.as_ref().map_or(Notation::of(version, false), |side| side.notation);
        match (statement.kind, side) {
            (Kind::Direction(direction), _) => {
                // Sides are large, and there is mostly one.
                self.sides.reserve_exact(1);
                self.sides.push(Side::new(direction, text, version));
            }
            (Kind::Latency(kind), Some(side)) if text.contains("min=") => {
                summary(text, notation, side.stated.of_mut(kind));
            }
            (Kind::Latency(_), _) => ranges(text, notation, &mut self.ranges),
            (Kind::Percentiles(kind), Some(side)) => {
                percentiles(text, notation, side.stated.of_mut(kind));
            }
            (Kind::Bandwidths, Some(side)) => {
                side.sampled.bandwidth = bandwidths(text, side.kib_in_m(version));
            }
            (Kind::Rates, Some(side)) => side.sampled.iops = rates(text),
            (Kind::Cpu, _) => self.cpu = Cpu::new(text),
            (Kind::Depths, _) => self.depths = depths(text),
            (Kind::Issued, _) => self.issued = issued(text),
            (Kind::Errors, _) => {
                let first = after(text, "first_error=").map(numbers);
                let first = first.and_then(|first| i32::try_from(*first.first()?).ok());
                let total = field(text, "total=").and_then(|total| total.parse().ok());
                self.errors = total.zip(first);
            }
            (Kind::LatencyTarget, _) => {
                let target = field(text, "target=").and_then(|target| target.parse().ok());
                let depth = field(text, "depth=").and_then(|depth| depth.parse().ok());
                self.target = target.zip(depth);
            }
            (Kind::SteadyState, _) => {
                self.steady = field(text, "attained=").map(|attained| attained == "yes");
            }
            _ => {}
        }
    }

    /// True for the sum of several servers that fio's client mode prints.
    pub(super) fn is_sum(&self) -> bool {
        self.head.name == "All clients"
    }

    /// True if `next` is a later report of the same job: with `--status-interval` fio repeats
    /// everything, from the start; and texts get quoted.
    pub(super) fn is_superseded_by(&self, next: &Self) -> bool {
        let (one, other) = (&self.head, &next.head);
        if one.pid.is_none() || one.identity() != other.identity() {
            return false;
        }
        if self.sides == next.sides && self.issued == next.issued {
            return true;
        }
        let grown = |of: fn(&Self) -> u64| of(next).checked_sub(of(self));
        let issued = grown(|job| job.issued.map_or(0, |issued| issued.sum()));
        let (Some(runtime_ms), Some(_)) = (grown(Self::runtime_ms), issued) else { return false };
        match (one.printed, other.printed) {
            // A later run starts later by more than its longer run time.
            (Some(one), Some(other)) => {
                let later_ms = one.duration_until(other).as_millis();
                (later_ms - i128::from(runtime_ms)).abs() <= 2000
            }
            _ => runtime_ms > 0,
        }
    }

    /// Longest run time of its directions.
    fn runtime_ms(&self) -> u64 {
        self.sides.iter().filter_map(|side| side.runtime_ms).max().unwrap_or(0)
    }

    /// Converts to a measurement.
    pub(super) fn measurement(self, context: JobContext) -> Measurement {
        let runtime_ns = Some(self.runtime_ms()).filter(|ms| *ms > 0);
        let runtime_ns = runtime_ns.map(|ms| ms.saturating_mul(MS_NS));
        let mut workload = context.workload;
        workload.numjobs = self.head.jobs.or(workload.numjobs);
        // Without latency_target this is the effective depth, set by the user or not.
        let in_effect = self.target.filter(|(target, _)| *target == 0).map(|(_, depth)| depth);
        workload.iodepth = workload.iodepth.or(in_effect);
        let mut total = self.results(workload.bs, is_decimal(&workload.options));
        // fio does not count errors per direction.
        if let ([only], Some((errors, _))) = (total.as_mut_slice(), self.errors) {
            only.errors = Some(errors);
        }
        let account = self.account(&total, runtime_ns, workload.numjobs);
        let cpu = self.cpu(workload.numjobs);
        let end = match &self.head.failure {
            Some(failure) => EndReason::Failed(Failure::of(self.head.errno, failure)),
            None if context.interrupted => EndReason::Interrupted,
            None if workload.options.contains_key("runtime") => EndReason::Time,
            None => EndReason::Done,
        };
        // fio starts a new group at each stonewall, and at new_group, which is rare.
        let group = self.head.group.unwrap_or(0);
        Measurement {
            phase: group,
            group,
            targets: context.targets,
            workload,
            source: context.source,
            printed: self.head.printed.map(|printed| printed.to_string()),
            duration_ns: runtime_ns,
            total,
            cpu,
            account,
            end,
            ..Measurement::unknown(self.head.name)
        }
    }

    /// Results of each direction. With unified_rw_reporting=both the sum is listed as well, as
    /// zero: a bug in fio.
    fn results(&self, bs: Option<u64>, is_decimal: bool) -> Vec<DirectionResult> {
        let issued = self.issued.as_ref();
        let single = self.sides.iter().any(|side| side.direction != Direction::Mixed);
        let sides = self.sides.iter().filter(|side| !single || side.direction != Direction::Mixed);
        let result =
            |side: &Side| side.clone().in_its_units(issued, bs, is_decimal).result(issued, bs);
        sides.map(result).collect()
    }

    /// CPU time of all threads, from the mean that fio prints and the number of threads in the
    /// head.
    fn cpu(&self, threads: Option<u32>) -> Option<CpuUse> {
        let CpuUse { user, system, busiest_thread, .. } = self.cpu?.usage;
        let threads = f64::from(threads?.max(1));
        Some(CpuUse {
            user: user * threads,
            system: system * threads,
            busiest_thread,
            waited: None,
        })
    }

    /// `None` if the text has nothing of it.
    fn account(
        &self,
        total: &[DirectionResult],
        runtime_ns: Option<u64>,
        threads: Option<u32>,
    ) -> Option<JobStats> {
        let nothing = self.cpu.is_none() && self.depths.is_none() && self.steady.is_none();
        if nothing && self.ranges.is_empty() && self.head.errno == 0 {
            return None;
        }
        let cpu = self.cpu.unwrap_or(Cpu {
            usage: CpuUse::default(),
            switches: 0,
            major_faults: 0,
            minor_faults: 0,
        });
        let issued = self.issued.map_or(0, |issued| issued.sum()) as f64;
        let direction = match total {
            [only] => only.direction,
            _ => Direction::Mixed,
        };
        let errors = self.errors.filter(|(count, _)| *count > 0);
        let errors = errors.map(|(count, errno)| ErrorCount {
            errno,
            direction,
            count,
            offsets: Vec::new(),
        });
        Some(JobStats {
            elapsed_ns: runtime_ns.unwrap_or(0),
            counted_ns: runtime_ns.unwrap_or(0),
            error: self.head.errno,
            failure: self.head.failure.clone(),
            errors: errors.into_iter().collect(),
            threads: threads.filter(|threads| *threads > 1).unwrap_or(0),
            cpu: self.cpu(threads).unwrap_or_default(),
            switches: cpu.switches,
            major_faults: cpu.major_faults,
            minor_faults: cpu.minor_faults,
            depth_levels: self
                .depths
                .unwrap_or_default()
                .map(|share| (share * issued).round() as u64),
            latency_ranges: self.ranges.clone(),
            latency_target_depth: self
                .target
                .filter(|(target, _)| *target > 0)
                .map(|(_, depth)| depth),
            steadystate_attained: self.steady,
            ..JobStats::default()
        })
    }
}

impl Cpu {
    /// Parses `cpu:usr=7.83%,sys=32.08%,ctx=161411,majf=0,minf=11`; shares are means of the
    /// threads.
    fn new(text: &str) -> Option<Self> {
        let percent = |key| share(field(text, key)?).map(|share| share.value);
        let number = |key| numbers(field(text, key)?).first().copied();
        let (user, system) = (percent("usr=")?, percent("sys=")?);
        Some(Self {
            usage: CpuUse { user, system, busiest_thread: user + system, waited: None },
            switches: number("ctx=").unwrap_or(0),
            major_faults: number("majf=").unwrap_or(0),
            minor_faults: number("minf=").unwrap_or(0),
        })
    }
}

/// Parses `IO depths:1=0.1%,2=0.1%,…,>=64=100.0%` as shares; `None` unless complete.
fn depths(text: &str) -> Option<[f64; 7]> {
    const CLASSES: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
    let mut shares = [0.0; 7];
    let mut items = text.split_once(':')?.1.split(',');
    for (class, share_of_class) in CLASSES.into_iter().zip(&mut shares) {
        let percent = items.next()?.trim().strip_prefix(class)?.strip_prefix('=')?;
        *share_of_class = share(up_to(percent, |c| c == '%')?)?.value;
    }
    Some(shares)
}

/// Parses `issued rwts:total=0,5632,0,0 short=0,0,0,0 dropped=…`, up to 2.16
/// `issued:total=r=0/w=5632/d=0,short=r=0/w=0/d=0`; `None` if truncated.
fn issued(text: &str) -> Option<Issued> {
    let three = |text: &str| -> Option<[u64; 3]> {
        let items = text.trim().trim_end_matches(',').split([',', '/']);
        // `r=262207`, or the number alone; a number broken by a line break is invalid.
        let numbers = items.map(|item| item.trim_start_matches(['r', 'w', 'd', '=']).parse().ok());
        let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        // Early 2.0 had no trims; since 3.4 syncs are the fourth.
        Some([*numbers.first()?, *numbers.get(1)?, numbers.get(2).copied().unwrap_or(0)])
    };
    let (total, rest) = after(text, "total=")?.split_once("short=")?;
    let (short, ended) = match rest.split_once("drop") {
        Some((short, _)) => (short, true),
        None => (rest, rest.ends_with('\n')),
    };
    Some(Issued { total: three(total)?, short: three(short).filter(|_| ended) })
}
