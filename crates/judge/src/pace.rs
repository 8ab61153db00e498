//! Rates that jobs were asked to keep, and whether they did.

use iodyno_model::{Direction, DirectionResult, Estimate, Measurement, Metric};

use crate::measured::figure_of;

/// Share of the asked rate from which on it counts as kept: clocks and the last I/Os cost some.
const KEPT: f64 = 0.97;

/// Returns the rate limit of a measurement's jobs together in one direction, by fio's `rate`
/// (bandwidth, bytes/s) or `rate_iops` (IOPS), which are per job; `None`: not limited.
pub(crate) fn asked_rate(of: &Measurement, metric: Metric, direction: Direction) -> Option<f64> {
    let options = &of.workload.options;
    let text = match metric {
        Metric::Bandwidth => options.get("rate")?,
        Metric::Iops => options.get("rate_iops")?,
        Metric::LatencyMean => return None,
    };
    // Reads, writes, trims; the last one holds for what is not named.
    let parts: Vec<&str> = text.split(',').collect();
    let index = match direction {
        Direction::Read => 0,
        Direction::Write => 1,
        Direction::Trim => 2,
        Direction::Mixed => return None,
    };
    let text = parts[index.min(parts.len() - 1)].trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(char::is_alphabetic);
    let power = match &text[digits.len()..] {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let kilo: f64 =
        if options.get("kb_base").is_some_and(|base| base == "1000") { 1e3 } else { 1024.0 };
    let jobs = of.conditions.threads.or(of.workload.numjobs).unwrap_or(1);
    let rate = digits.parse::<f64>().ok()? * kilo.powi(power) * f64::from(jobs);
    Some(rate).filter(|rate| *rate > 0.0)
}

/// Returns true if a measured rate is what was asked for; `chance` is how much less there may be
/// where I/Os arrive at random.
pub(crate) fn is_kept(rate: Option<Estimate>, asked: f64, chance: f64) -> bool {
    rate.is_some_and(|rate| rate.value >= KEPT * asked - chance)
}

/// Returns the asked rate that a result fell short of, with its metric.
///
/// I/Os that are due and not issued wait: latencies, which count from when an I/O was due, are
/// those of the backlog.
pub(crate) fn missed(of: &Measurement, result: &DirectionResult) -> Option<(Metric, f64)> {
    let seconds = of.duration_ns? as f64 / 1e9;
    [Metric::Iops, Metric::Bandwidth].into_iter().find_map(|metric| {
        let asked = asked_rate(of, metric, result.direction)?;
        let size = match metric {
            Metric::Bandwidth => match of.workload.bs {
                Some(bs) => bs as f64,
                None => result.bytes? as f64 / result.ios.filter(|ios| *ios > 0)? as f64,
            },
            _ => 1.0,
        };
        // Two standard deviations of a Poisson count, and the I/O in which the time ended.
        let ios = asked / size * seconds;
        let chance = (2.0 * ios.sqrt() + 1.0) / seconds * size;
        let rate = figure_of(result, metric)?;
        (!is_kept(Some(rate), asked, chance)).then_some((metric, asked))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[test]
    fn rates_are_read_as_fio_reads_them() {
        let asked = |rate: &str, jobs: u32, direction: Direction| {
            let bench = Bench::new(1).measured().measurement(1, |of| {
                of.conditions.threads = None;
                of.workload.numjobs = Some(jobs);
                of.workload.options.insert("rate_iops".into(), rate.into());
            });
            asked_rate(&bench.record().measurements[1], Metric::Iops, direction)
        };
        use Direction::{Mixed, Read, Trim, Write};
        assert_eq!(asked("500", 4, Read), Some(2000.0));
        assert_eq!(asked("2k,1m", 1, Read), Some(2048.0));
        assert_eq!(asked("2k,1m", 1, Write), Some(1_048_576.0));
        assert_eq!(asked("2k,1m", 1, Trim), Some(1_048_576.0));
        assert_eq!(asked("500,", 1, Read), Some(500.0));
        for (rate, direction) in [("500,", Write), (",500", Read), ("0", Read), ("500", Mixed)] {
            assert_eq!(asked(rate, 1, direction), None, "{rate}");
        }
    }
}
