//! Computes rates from counts and run times.

use iodyno_model::{Estimate, Spread};

/// Rate of `amount` over a run time in whole ms, which fio truncates in some versions and rounds up
/// in others. `None` if the run time is 0.
pub(super) fn per_runtime(amount: u64, runtime_ms: u64) -> Option<Estimate> {
    let per_s = |ms: u64| amount as f64 * 1000.0 / ms as f64;
    let spread = match runtime_ms {
        0 => return None,
        1 => Spread::Unknown,
        ms => Spread::Rounding { low: per_s(ms.saturating_add(1)), high: per_s(ms - 1) },
    };
    Some(Estimate { value: per_s(runtime_ms), spread })
}

/// Intersection of both intervals with the value of `one`; `one` if they are disjoint.
pub(super) fn intersect(one: Estimate, other: Estimate) -> Estimate {
    let (low, high) = (one.low().max(other.low()), one.high().min(other.high()));
    match low <= one.value && one.value <= high {
        true => Estimate { value: one.value, spread: Spread::Rounding { low, high } },
        false => one,
    }
}
