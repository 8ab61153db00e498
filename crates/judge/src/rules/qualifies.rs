//! Rules that check each measurement and qualify the affected ones.

use iodyno_model::Measurement;

use super::{Reservation, Tally, advice, qualify};
use crate::rule_context::RuleContext;

/// Effect on a measurement, as a sentence without full stop; `None`: not affected. `Err`: what is
/// missing to tell.
pub(super) type AffectedBy = Result<Option<String>, String>;

/// A rule that is a single check of a measurement: an INFO finding, and a reservation.
#[derive(Clone, Copy)]
pub(super) struct QualifyingRule {
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) affected_by: fn(&RuleContext<'_>, &Measurement) -> AffectedBy,
    /// Statement about the affected measurements, without full stop.
    pub(super) what: &'static str,
    pub(super) why: &'static str,
    /// Advice; DEVICE, ARRAY, CONTROLLER, SUBSYSTEM and INTERRUPT in its commands are replaced by
    /// the affected names.
    pub(super) next: &'static str,
}

impl QualifyingRule {
    pub(super) fn check(&self, context: &RuleContext<'_>, tally: &mut Tally, next: &str) {
        let affected_by = |of: &Measurement| (self.affected_by)(context, of);
        let mut next = next.to_owned();
        if advice::has_place(&next) {
            let all = context.finished().map(|(_, of)| of);
            let affected: Vec<&Measurement> =
                all.filter(|of| matches!(affected_by(of), Ok(Some(_)))).collect();
            next = advice::filled(&next, context.host(), &affected);
        }
        qualify(tally, context, affected_by, [self.what, self.why, &next]);
    }

    pub(super) fn reservation(
        &self,
        context: &RuleContext<'_>,
        measurement: usize,
    ) -> Option<Reservation> {
        let of = context.record().measurements.get(measurement)?;
        let seen = of.failure().is_none().then(|| (self.affected_by)(context, of))?;
        Some(Reservation::qualified(seen.ok().flatten()?))
    }
}
