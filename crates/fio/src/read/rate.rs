//! Rates from counts and run times.

use iodyno_model::{Estimate, Spread};

/// `amount` over a run time that is printed in whole ms; fio cut it in some
/// versions, and rounded it up in others. `None`: nothing is known of the time.
pub(super) fn per_runtime(amount: u64, runtime_ms: u64) -> Option<Estimate> {
    let per_s = |ms: u64| amount as f64 * 1000.0 / ms as f64;
    let spread = match runtime_ms {
        0 => return None,
        1 => Spread::Unknown,
        ms => Spread::Rounding { low: per_s(ms.saturating_add(1)), high: per_s(ms - 1) },
    };
    Some(Estimate { value: per_s(runtime_ms), spread })
}

/// What both intervals hold, with the value of `one`; `one` where they are apart.
pub(super) fn narrowed(one: Estimate, other: Estimate) -> Estimate {
    let (low, high) = (one.low().max(other.low()), one.high().min(other.high()));
    match low <= one.value && one.value <= high {
        true => Estimate { value: one.value, spread: Spread::Rounding { low, high } },
        false => one,
    }
}
