//! Shortens studies for trial runs.

use iodyno_job::{Job, apply, parse_seconds, parse_size};

use super::stop::StopForm;
use super::study::{Study, written};

/// Sizes stay whole multiples of this, bytes.
const SIZE_STEP_BYTES: u64 = 1 << 20;
/// Sizes stay at least as large as this, bytes: a block of the largest usual size fits.
const LEAST_BYTES: u64 = 4 << 20;

impl Study {
    /// Multiplies all times and sizes that it fixes by `factor`.
    pub fn scale(&mut self, factor: f64) {
        let StopForm { min_time, max_time, round, .. } = &mut self.stop;
        for time in [max_time, round].into_iter().chain(min_time) {
            if let Ok(ns) = parse_seconds(time) {
                *time = time_of(ns, factor);
            }
        }
        if let Some(preparation) = &mut self.preparation {
            preparation.fill = preparation.fill.map(|times| times * factor);
            if let Ok(ns) = parse_seconds(&preparation.round) {
                preparation.round = time_of(ns, factor);
            }
        }
        let steps = self.steps.iter_mut().map(|step| (&mut step.job, &mut step.grid));
        for (job, grid) in steps.chain([(&mut self.job, &mut self.grid)]) {
            let varied = grid.iter_mut().flat_map(|(option, values)| {
                values.iter_mut().map(move |value| (option.as_str(), value))
            });
            let fixed = job.iter_mut().map(|(option, value)| (option.as_str(), value));
            for (option, value) in fixed.chain(varied) {
                let text = written(value).ok();
                if let Some(scaled) = text.and_then(|text| scaled(option, &text, factor)) {
                    *value = scaled.into();
                }
            }
        }
    }
}

/// Scaled value of `option`; `None` if it is neither a time nor a size.
fn scaled(option: &str, value: &str, factor: f64) -> Option<String> {
    if let ("size", Some(percent)) = (option, value.strip_suffix('%')) {
        let percent = percent.parse::<f64>().ok()? * factor;
        return Some(format!("{}%", percent.ceil().clamp(1.0, 100.0)));
    }
    if matches!(option, "size" | "io_size") {
        let whole = parse_size(value).ok()?;
        let bytes = (whole as f64 * factor) as u64;
        let least = whole.clamp(SIZE_STEP_BYTES, LEAST_BYTES);
        return Some(bytes.next_multiple_of(SIZE_STEP_BYTES).max(least).to_string());
    }
    let mut job = Job::default();
    apply(&mut job, option, value).ok()?;
    let ns = match option {
        "runtime" => job.time.runtime_ns?,
        "ramp_time" => job.time.ramp_ns,
        "thinktime" => job.pace.thinktime_ns,
        "thinktime_iotime" => job.pace.thinktime_iotime_ns,
        _ => return None,
    };
    Some(time_of(ns, factor))
}

/// A time in the format of options and plans.
fn time_of(ns: u64, factor: f64) -> String {
    format!("{}us", (ns as f64 * factor / 1000.0).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_shrink_and_nothing_else() {
        assert_eq!(scaled("runtime", "1m", 0.001).as_deref(), Some("60000us"));
        assert_eq!(scaled("runtime", "60", 0.5).as_deref(), Some("30000000us"));
        assert_eq!(scaled("thinktime", "5s", 0.01).as_deref(), Some("50000us"));
        assert_eq!(scaled("thinktime", "500", 0.1).as_deref(), Some("50us"));
        assert_eq!(scaled("size", "1g", 0.5).as_deref(), Some("536870912"));
        assert_eq!(scaled("size", "4k", 0.5).as_deref(), Some("1048576"));
        assert_eq!(scaled("size", "1g", 0.0001).as_deref(), Some("4194304"), "a block fits");
        assert_eq!(scaled("size", "100%", 0.0001).as_deref(), Some("1%"));
        assert_eq!(scaled("size", "100%", 0.5).as_deref(), Some("50%"));
        for (option, value) in [("offset", "50%"), ("iodepth", "32"), ("bs", "4k"), ("rw", "read")]
        {
            assert_eq!(scaled(option, value, 0.5), None, "{option}");
        }
    }
}
