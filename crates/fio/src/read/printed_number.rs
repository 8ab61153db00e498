//! Rounded figures as fio prints them for people, with their rounding intervals.
//!
//! fio truncates a number to whole base units (B/s, 1/s, the unit of a latency line) and divides it
//! by 1000 or 1024 until it has at most four digits, six in 2.x (lib/num2str.c). An interval here
//! covers every number that would be printed the same.

use iodyno_model::{Estimate, Spread};

/// How a version of fio prints the remainder of a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decimals {
    /// Up to 2.19: the remainder itself without its leading zeros: 50 of 1024 is printed as `.5`.
    /// These decimals carry no information.
    Remainder,
    /// 2.20 to 3.25: rounded, but the carry is lost: 11.98 is printed as `11.0`.
    CarryLost,
    /// Since 3.26: rounded.
    Rounded,
}

/// How to read the figures of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Notation {
    /// True if `KB`, `MB`, `GB` are powers of 1024, as up to 2.16; else they are powers of 1000,
    /// and `KiB` is 1024.
    pub(super) binary: bool,
    /// Meaning of the decimals.
    pub(super) decimals: Decimals,
    /// Resolution of the latency clock, ns: 1000 before 2.99.
    pub(super) clock_ns: u32,
}

impl Notation {
    /// Notation of a version; `binary`: the report looks like one of 2.16 or older.
    pub(super) fn of(version: Option<(u32, u32)>, binary: bool) -> Self {
        let decimals = match version {
            Some(version) if version < (2, 20) => Decimals::Remainder,
            Some(version) if version >= (3, 26) => Decimals::Rounded,
            None if binary => Decimals::Remainder,
            _ => Decimals::CarryLost,
        };
        let coarse = version.map_or(binary, |version| version < (2, 99));
        Self { binary, decimals, clock_ns: if coarse { 1000 } else { 1 } }
    }

    /// Parses a count: `16.4k`, `4737k`, `753429K`.
    pub(super) fn count(self, text: &str) -> Option<Estimate> {
        let figure = Figure::new(text)?;
        let scale = power(1000.0, figure.rest.chars().next());
        self.interval(&figure, scale, 1000.0, 1.0)
    }

    /// Parses bytes or bytes per second: `409MiB`, `64.0MiB/s`, `260405KB/s`, `11749Mbit/s`,
    /// `143Mi`. In bytes.
    pub(super) fn bytes(self, text: &str) -> Option<Estimate> {
        let figure = Figure::new(text)?;
        let unit = figure.rest.trim_start().trim_end_matches("/s");
        let bits = unit.ends_with("bit");
        let prefix = unit.trim_end_matches("bit").trim_end_matches('B');
        let mut letters = prefix.chars();
        let letter = letters.next();
        let step = match letters.as_str() {
            "i" => 1024.0,
            "" if self.binary => 1024.0,
            "" => 1000.0,
            _ => return None,
        };
        // An unknown unit is not taken for bytes.
        if letter.is_some_and(|letter| !"kKMGTPE".contains(letter)) {
            return None;
        }
        let per_byte = if bits { 8.0 } else { 1.0 };
        self.interval(&figure, power(step, letter) / per_byte, step, 1.0)
    }

    /// Parses a latency truncated to whole `unit_ns` (minimum, maximum): `2770`, `94396k`. In ns.
    pub(super) fn cut_latency(self, text: &str, unit_ns: u32) -> Option<Estimate> {
        let unit = f64::from(unit_ns);
        let scale = power(1000.0, Figure::new(text)?.rest.chars().next());
        // Values in the clock's own unit are exact.
        let lost = if unit_ns == 1 && scale == 1.0 { 0.0 } else { unit };
        self.interval(&Figure::new(text)?, scale * unit, 1000.0, lost)
    }

    /// Value and bounds of `figure` times `scale`; `lost` is the amount truncated before the
    /// repeated division by `step`.
    fn interval(self, figure: &Figure<'_>, scale: f64, step: f64, lost: f64) -> Option<Estimate> {
        let value = figure.value * scale;
        let (low, high) = match (figure.decimals, self.decimals) {
            // Not divided: exact except for the truncation.
            (None, _) if scale <= lost.max(1.0) => (value, value + lost),
            (None, _) => (value - scale / 2.0, value + scale / 2.0 + lost),
            (Some(_), Decimals::Remainder) => {
                let whole = figure.value.trunc() * scale;
                (whole, whole + scale)
            }
            (Some(_), Decimals::CarryLost) if figure.value.fract() == 0.0 => (value, value + scale),
            // The decimals come from a remainder that was itself truncated.
            (Some(digits), _) => {
                // In units of the last digit, where half a unit is exact: 32.7 - 0.05 is not 32.65.
                let units = 10_f64.powi(digits);
                let last = (figure.value * units).round();
                let bound = |last: f64| last * scale / units;
                (bound(last - 0.5), bound(last + 0.5) + lost.max(scale / step))
            }
        };
        estimate(value, low.max(0.0), high)
    }
}

/// Parses a rounded decimal number of `unit_ns`: a mean, a deviation. In ns.
pub(super) fn rounded_latency(text: &str, unit_ns: u32) -> Option<Estimate> {
    let (figure, unit) = (Figure::new(text)?, f64::from(unit_ns));
    let half = unit / 2.0 / 10_f64.powi(figure.decimals.unwrap_or(0));
    let value = figure.value * unit;
    estimate(value, (value - half).max(0.0), value + half)
}

/// Parses a percentage with its rounding, as a fraction of one.
pub(super) fn share(text: &str) -> Option<Estimate> {
    let figure = Figure::new(text)?;
    let half = 0.5 / 10_f64.powi(figure.decimals.unwrap_or(0));
    // fio prints values below the last digit as one unit of it, to show that they are not 0.
    let least = 1.0 / 10_f64.powi(figure.decimals.unwrap_or(0));
    let low = if figure.value <= least { 0.0 } else { figure.value - half };
    let whole = estimate(figure.value, low, figure.value + half)?;
    Some(whole.scaled(0.01))
}

/// Rate per second of an amount over a run time known to the millisecond.
pub(super) fn per_second(amount: f64, runtime_ms: u64) -> Option<Estimate> {
    let ms = runtime_ms as f64;
    let rate = |ms: f64| amount * 1e3 / ms;
    (runtime_ms > 0).then(|| estimate(rate(ms), rate(ms + 1.0), rate((ms - 1.0).max(0.5))))?
}

/// Narrowest of several figures of the same quantity, intersected with those that agree with it.
pub(super) fn narrowest(figures: &[Estimate]) -> Option<Estimate> {
    let width = |figure: &Estimate| figure.high() - figure.low();
    let best = figures.iter().min_by(|a, b| width(a).total_cmp(&width(b)))?;
    let (mut low, mut high) = (best.low(), best.high());
    for other in figures {
        if other.low() <= high && low <= other.high() {
            (low, high) = (low.max(other.low()), high.min(other.high()));
        }
    }
    estimate(best.value.clamp(low, high), low, high)
}

/// Estimate of a rounded value; `None` if a damaged text gives no valid number.
pub(super) fn estimate(value: f64, low: f64, high: f64) -> Option<Estimate> {
    let sane = value.is_finite() && low.is_finite() && high.is_finite() && value < 1e30;
    sane.then_some(Estimate { value, spread: Spread::Rounding { low, high } })
}

/// A number and the text after it.
struct Figure<'a> {
    value: f64,
    /// Digits after the decimal point; `None` without one.
    decimals: Option<i32>,
    rest: &'a str,
}

impl<'a> Figure<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        // Digits after a blank: a number broken at an unknown place by a line break.
        let behind = rest.trim_start();
        if behind.len() < rest.len() && behind.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let decimals = number.split_once('.').map(|(_, digits)| digits.len());
        let decimals = decimals.map(i32::try_from).transpose().ok()?;
        let value: f64 = number.parse().ok()?;
        value.is_finite().then_some(Self { value, decimals, rest })
    }
}

/// `step` raised to the power of the prefix `letter`.
fn power(step: f64, letter: Option<char>) -> f64 {
    let exponent = match letter.map(|letter| letter.to_ascii_uppercase()) {
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some('E') => 6,
        _ => 0,
    };
    step.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Notation = Notation { binary: false, decimals: Decimals::Rounded, clock_ns: 1 };
    const BUGGY: Notation = Notation { decimals: Decimals::CarryLost, ..NEW };
    const OLD: Notation = Notation { binary: true, decimals: Decimals::Remainder, clock_ns: 1000 };

    fn holds(figure: Option<Estimate>, value: f64, truth: f64) {
        let figure = figure.unwrap();
        assert!((figure.value - value).abs() <= 1e-9 * value, "{figure:?} {value}");
        assert!(figure.low() <= truth && truth <= figure.high(), "{figure:?} {truth}");
    }

    #[test]
    fn intervals_contain_the_unrounded_value() {
        holds(NEW.count("2"), 2.0, 2.997);
        holds(NEW.count("16.4k"), 16_400.0, 16_350.0);
        holds(NEW.count("4737k"), 4_737_000.0, 4_737_499.0);
        holds(BUGGY.count("12.0k"), 12_000.0, 12_974.0);
        holds(OLD.count("1196.3K"), 1_196_300.0, 1_196_999.0);
        holds(NEW.bytes("64.0MiB/s"), 67_108_864.0, 67.16e6);
        holds(NEW.bytes("20.5MiB/s"), 21_495_808.0, 21_548_521.7);
        holds(NEW.bytes("67.2MB/s"), 67.2e6, 67.16e6);
        holds(NEW.bytes("32.7kB/s"), 32_700.0, 32_650.0);
        holds(NEW.bytes("143Mi"), 149_946_368.0, 150e6);
        holds(NEW.bytes("4868Mbit/s"), 608.5e6, 608.5e6);
        holds(NEW.bytes("5771B/s"), 5771.0, 5771.9);
        holds(OLD.bytes("260405KB/s"), 266_654_720.0, 266_654_999.0);
        holds(OLD.bytes("1023.3KB/s"), 1_047_859.2, 1023.0 * 1024.0 + 300.0);
        holds(OLD.bytes("514874 B/s"), 514_874.0, 514_874.0);
        holds(OLD.bytes("877268Kbit/s"), 877_268.0 * 128.0, 877_268.0 * 128.0);
        holds(NEW.cut_latency("14173M", 1), 14_173e6, 14_173.4e6);
        holds(NEW.cut_latency("2", 1000), 2000.0, 2999.0);
        holds(rounded_latency("5.26", 1000), 5260.0, 5264.0);
        holds(share("0.01%"), 0.0001, 0.0);
    }

    /// fio's num2str (lib/num2str.c) of 2.16, 3.25 and 3.26.
    fn printed(mut whole: u64, width: usize, step: u64, decimals: Decimals) -> String {
        let prefixes =
            if step == 1024 { ["", "K", "M", "G", "T"] } else { ["", "k", "M", "G", "T"] };
        let infix = if step == 1024 && decimals != Decimals::Remainder { "i" } else { "" };
        let (mut rest, mut prefix) = (None, 0);
        while whole.to_string().len() > width && prefix + 1 < prefixes.len() {
            rest = Some(whole % step);
            whole /= step;
            prefix += 1;
        }
        let suffix = format!("{}{}B/s", prefixes[prefix], if prefix > 0 { infix } else { "" });
        let Some(mut rest) = rest else { return format!("{whole}{suffix}") };
        let room = width.saturating_sub(whole.to_string().len());
        if room <= 1 {
            return format!("{}{suffix}", whole + u64::from(rest >= step / 2));
        }
        if decimals == Decimals::Remainder {
            while rest.to_string().len() > room - 1 {
                rest = rest.div_ceil(10);
            }
            return format!("{whole}.{rest}{suffix}");
        }
        let fraction = format!("{:.*}", room - 1, rest as f64 / step as f64);
        let carry = decimals == Decimals::Rounded && fraction.starts_with('1');
        format!("{}.{}{suffix}", whole + u64::from(carry), &fraction[2..])
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4096))]
        #[test]
        fn printed_intervals_contain_the_original(value in 0..u64::MAX, shift in 12..64_u32, width in 4..7_usize) {
            let value = value >> shift;
            for (notation, width, step) in [
                (NEW, width, 1024), (NEW, width, 1000), (BUGGY, width, 1024), (BUGGY, width, 1000), (OLD, 6, 1024),
            ] {
                let text = printed(value, width, step, notation.decimals);
                let figure = notation.bytes(&text).unwrap();
                let (low, high) = (figure.low(), figure.high());
                let within = low <= value as f64 && value as f64 <= high;
                proptest::prop_assert!(within, "{} {} {:?} {:?}", value, text, figure, notation);
                proptest::prop_assert!(low <= figure.value && figure.value <= high);
            }
        }
    }

    #[test]
    fn exact_values_have_no_interval_and_nonsense_is_rejected() {
        let exact = NEW.cut_latency("10519", 1).unwrap();
        assert_eq!((exact.low(), exact.high()), (10_519.0, 10_519.0));
        for text in ["", ".", "k", "-5", "nan", "inf", "1.2.3", "12XiB/s", "5apples", "64 742"] {
            assert_eq!(NEW.bytes(text), None, "{text}");
        }
        assert_eq!(NEW.count(&"9".repeat(400)), None);
    }

    #[test]
    fn figures_of_one_quantity_narrow_each_other() {
        let both = [NEW.bytes("64.0MiB/s").unwrap(), NEW.bytes("67.2MB/s").unwrap()];
        let best = narrowest(&both).unwrap();
        assert_eq!(best.low(), 67.15e6);
        assert!((best.high() - 64.05 * 1_048_576.0).abs() < 1026.0, "{best:?}");
        // A figure that contradicts the best one is ignored.
        let best = narrowest(&[both[0], NEW.bytes("5000MB/s").unwrap()]).unwrap();
        assert_eq!(best, both[0]);
        assert_eq!(narrowest(&[]), None);
        assert_eq!(per_second(10.0, 0), None);
    }
}
