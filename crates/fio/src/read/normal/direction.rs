//! Parses a direction's line and the lines below it.

use iodyno_model::{
    Direction, DirectionResult, Estimate, LatencyKind, SampledRates, StatedLatencies,
};

use super::latency::open_last_percentiles;
use super::scan::{after, field, up_to};
use crate::read::printed_number::{Notation, estimate, narrowest, per_second};

/// `read: IOPS=16.4k, BW=64.0MiB/s (67.2MB/s)(409MiB/6385msec)`, up to 2.16
/// `read : io=1024.3MB, bw=258970KB/s, iops=64742, runt=4050msec`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Side {
    pub(super) direction: Direction,
    /// Its line, to be parsed again in other units.
    text: String,
    pub(super) notation: Notation,
    pub(super) iops: Option<Estimate>,
    /// One for each unit that it is printed in.
    pub(super) bandwidths: Vec<Estimate>,
    pub(super) bytes: Option<Estimate>,
    pub(super) runtime_ms: Option<u64>,
    pub(super) stated: StatedLatencies,
    pub(super) sampled: SampledRates,
}

/// `issued rwts: total=0,5632,0,0 short=0,0,0,0`: reads, writes, trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Issued {
    pub(super) total: [u64; 3],
    pub(super) short: Option<[u64; 3]>,
}

impl Issued {
    /// Count of `direction`; unified directions are in the place of reads, or each in its own.
    pub(super) fn of(counts: &[u64; 3], direction: Direction) -> u64 {
        match direction {
            Direction::Read => counts[0],
            Direction::Write => counts[1],
            Direction::Trim => counts[2],
            Direction::Mixed => counts.iter().fold(0, |sum, one| sum.saturating_add(*one)),
        }
    }

    pub(super) fn sum(&self) -> u64 {
        Self::of(&self.total, Direction::Mixed)
    }
}

impl Side {
    pub(super) fn new(direction: Direction, text: &str, version: Option<(u32, u32)>) -> Self {
        Self::with(direction, text, Notation::of(version, is_old(text)))
    }

    fn with(direction: Direction, text: &str, notation: Notation) -> Self {
        let (iops, bandwidths, bytes, runtime) = if is_old(text) {
            let runtime = after(text, "runt=").and_then(|text| up_to(text, |c| c == 'm'));
            (field(text, "iops="), vec![field(text, "bw=")], field(text, "io="), runtime)
        } else {
            let figures: Vec<&str> = after(text, "BW=").unwrap_or("").split('(').skip(1).collect();
            // Amount and run time are in the same parentheses.
            let (last, others): (Vec<&str>, Vec<&str>) =
                figures.into_iter().partition(|figure| figure.contains("msec"));
            let last = last.first().and_then(|last| last.split_once('/'));
            let other = others.first().and_then(|other| up_to(other, |c| c == ')'));
            let runtime = last.and_then(|(_, runtime)| up_to(runtime, |c| c == 'm'));
            let bandwidths = vec![field(text, "BW="), other];
            (field(text, "IOPS="), bandwidths, last.map(|(bytes, _)| bytes), runtime)
        };
        let bandwidths = bandwidths.into_iter().flatten();
        Self {
            direction,
            text: text.to_owned(),
            notation,
            iops: iops.and_then(|iops| notation.count(iops)),
            bandwidths: bandwidths.filter_map(|figure| notation.bytes(figure)).collect(),
            bytes: bytes.and_then(|bytes| notation.bytes(bytes)),
            runtime_ms: runtime.and_then(|runtime| runtime.parse().ok()),
            stated: StatedLatencies::default(),
            sampled: SampledRates::default(),
        }
    }

    /// Reads `KB` as 1000 bytes in a line of fio 2.16 or older, whose units look the same whatever
    /// `kb_base` is: if that is known to be 1000, or if only then the line agrees with the I/Os
    /// issued in blocks of `bs` bytes.
    pub(super) fn in_its_units(
        self,
        issued: Option<&Issued>,
        bs: Option<u64>,
        is_decimal: bool,
    ) -> Self {
        if !is_old(&self.text) {
            return self;
        }
        let notation = Notation { binary: false, ..self.notation };
        let decimal = Self::with(self.direction, &self.text, notation);
        let blocks = issued.map(|issued| Issued::of(&issued.total, self.direction)).zip(bs);
        let agrees = |side: &Self| side.exact_bytes(blocks).is_some();
        match is_decimal || (!agrees(&self) && agrees(&decimal)) {
            true => Self { stated: self.stated, sampled: self.sampled, ..decimal },
            false => self,
        }
    }

    /// Number of KiB in the `M` of the line of sampled bandwidths: 1000 up to 2.0, then by
    /// `kb_base`, whose unit comes first where both are printed.
    pub(super) fn kib_in_m(&self, version: Option<(u32, u32)>) -> f64 {
        let first = field(&self.text, "BW=").unwrap_or_default();
        let unit = first.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_decimal = unit.starts_with(['k', 'M', 'G', 'T']) && !unit[1..].starts_with('i');
        let is_oldest = version.is_some_and(|version| version < (2, 1));
        if is_oldest || is_decimal { 1000.0 } else { 1024.0 }
    }

    /// True if part of the line is missing.
    pub(super) fn is_truncated(&self) -> bool {
        self.iops.is_none() || self.bandwidths.is_empty() || self.runtime_ms.is_none()
    }

    /// Builds the result, from the I/Os issued in blocks of `bs` bytes if known.
    pub(super) fn result(mut self, issued: Option<&Issued>, bs: Option<u64>) -> DirectionResult {
        let ios = issued.map(|issued| Issued::of(&issued.total, self.direction));
        let short = issued.and_then(|issued| issued.short);
        let short = short.map(|short| Issued::of(&short, self.direction));
        let bytes = self.exact_bytes(ios.zip(bs)).filter(|_| short.unwrap_or(0) == 0);
        for kind in LatencyKind::ALL {
            open_last_percentiles(self.stated.of_mut(kind));
        }
        DirectionResult {
            ios,
            bytes: bytes.or_else(|| self.bytes.map(|bytes| bytes.value as u64)),
            // As far as known: the report does not include I/O during ramp_time.
            whole_ios: ios,
            whole_bytes: bytes,
            short_ios: short,
            iops: self.exact_iops(ios).or(self.iops),
            bandwidth: self.bandwidth(bytes),
            latency_mean: self.stated.total.mean_ns,
            stated: Some(self.stated)
                .filter(|stated| *stated != StatedLatencies::default())
                .map(Box::new),
            sampled: Some(self.sampled)
                .filter(|sampled| *sampled != SampledRates::default())
                .map(Box::new),
            ..DirectionResult::unknown(self.direction)
        }
    }

    /// I/Os issued over the run time, if that agrees with the printed IOPS.
    fn exact_iops(&self, ios: Option<u64>) -> Option<Estimate> {
        let exact = per_second(ios? as f64, self.runtime_ms?)?;
        let agrees =
            |printed: Estimate| printed.low() <= exact.high() && exact.low() <= printed.high();
        self.iops.is_none_or(agrees).then_some(exact)
    }

    /// Number of blocks times their size, if that agrees with the printed bytes: a file's last
    /// block may be shorter.
    fn exact_bytes(&self, blocks: Option<(u64, u64)>) -> Option<u64> {
        let (ios, bs) = blocks?;
        let bytes = ios.checked_mul(bs)?;
        let holds = |figure: &Estimate, value: f64| figure.low() <= value && value <= figure.high();
        let rate = per_second(bytes as f64, self.runtime_ms?)?;
        let agrees = holds(self.bytes.as_ref()?, bytes as f64)
            && self.bandwidths.iter().all(|figure| holds(figure, rate.value));
        agrees.then_some(bytes)
    }

    /// Most exact bandwidth that the text gives.
    fn bandwidth(&self, bytes: Option<u64>) -> Option<Estimate> {
        let runtime_ms = self.runtime_ms.unwrap_or(0);
        if let Some(exact) = bytes.and_then(|bytes| per_second(bytes as f64, runtime_ms)) {
            return Some(exact);
        }
        let mut figures = self.bandwidths.clone();
        figures.extend(self.bytes.and_then(|bytes| rate_over(bytes, runtime_ms)));
        narrowest(&figures)
    }
}

/// True for a line of 2.16 or older.
fn is_old(text: &str) -> bool {
    text.contains(":io=")
}

/// Rate per second of a rounded amount over a run time known to the millisecond.
pub(super) fn rate_over(amount: Estimate, runtime_ms: u64) -> Option<Estimate> {
    let rate = |amount| per_second(amount, runtime_ms);
    let (low, high) = (rate(amount.low())?, rate(amount.high())?);
    estimate(rate(amount.value)?.value, low.low(), high.high())
}
