//! Effect of unwritten (trimmed) blocks on a rate, in a sentence each.

use iodyno_judge::BlocksEffect;
use iodyno_judge::limiter::figure;
use iodyno_model::{Metric, format_duration_ns};

/// Compares a workload measured on both trimmed and written blocks.
pub fn blocks_effect_words(effect: &BlocksEffect) -> String {
    let value = |value: f64| match effect.metric {
        Metric::LatencyMean => format_duration_ns(value),
        metric => figure(metric, value),
    };
    let ratio = effect.ratio();
    let (empty, written) = (&effect.empty, &effect.written);
    let is_more = empty.low() > written.high();
    let is_less = empty.high() < written.low();
    let (is_better, is_worse) = match effect.metric {
        Metric::LatencyMean => (is_less, is_more),
        _ => (is_more, is_less),
    };
    let meaning = match (is_better, is_worse) {
        (true, _) => "reads of empty blocks need no flash, so this is not the drive's speed",
        (_, true) => "empty blocks cannot make reads slower, so something else changed",
        _ => "no difference shown, the intervals overlap",
    };
    format!(
        "{} on {}: {} from trimmed blocks, {} from written ones (x{ratio:.2}): {meaning}.",
        effect.workload,
        effect.targets.join(" "),
        value(effect.empty.value),
        value(effect.written.value)
    )
}
