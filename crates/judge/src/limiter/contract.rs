//! The contract of a cloud volume or instance, as a suspect.

use iodyno_model::{VolumeLimit, format_duration_ns};

use super::bottlenecks::volume_exceeded;
use super::case::Case;
use super::case_context::CaseContext;
use super::suspect::{Limiter, Suspect};

/// If a limit is exceeded for this share of a measurement, it is the limiter.
const LIMITS: f64 = 0.1;

/// Maximum number of times that are listed.
const MOST_TIMES: usize = 3;

impl Case<'_> {
    /// Time that its volumes demanded more than each of their limits, us, the longest first;
    /// `None`: not counted.
    pub(super) fn exceeded(&self) -> Option<Vec<(VolumeLimit, u64)>> {
        let of_one = |name: &str| volume_exceeded(self.record, self.of_run(), name);
        let mut all: Vec<_> = self.drives.iter().filter_map(|drive| of_one(&drive.name)).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.first().map(|(_, us)| *us)));
        all.into_iter().next()
    }
}

impl CaseContext<'_, '_> {
    /// Decided by the volumes' own counters.
    pub(super) fn contract(&self) -> Option<Suspect> {
        let exceeded = self.case.exceeded()?;
        let Some((limit, us)) = exceeded.first() else {
            let why = "its volume never exceeded a limit of its own or of the instance";
            return Some(Suspect::cleared(Limiter::Contract, why));
        };
        let (above_ns, whole_ns) = (*us as f64 * 1e3, self.case.of_run().duration_ns? as f64);
        if above_ns < LIMITS * whole_ns {
            return None;
        }
        let times = self.case.of_run().conditions.above_limits.iter();
        let times = times.filter(|one| one.limit == *limit).take(MOST_TIMES);
        let times: Vec<String> = times.map(|one| format!(", {one}")).collect();
        let why = format!(
            "it was above {} for {} of {}{}, by the volume's own count",
            limit.name(),
            format_duration_ns(above_ns),
            format_duration_ns(whole_ns),
            times.concat()
        );
        Some(Suspect::confirmed(Limiter::Contract, why))
    }
}
