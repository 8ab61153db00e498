//! Rules that check each measurement and qualify the affected ones.

use iodyno_model::Measurement;

use super::{Reservation, Tally, advice, qualify};
use crate::rule_context::RuleContext;

/// Effect on a measurement, as a sentence without full stop; `None`: not affected. `Err`: what is
/// missing to tell.
pub(super) type Seen = Result<Option<String>, String>;

/// A rule that is a single check of a measurement: an INFO finding, and a reservation.
pub(super) struct Qualifies {
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) look: fn(&RuleContext<'_>, &Measurement) -> Seen,
    /// Statement about the affected measurements, without full stop.
    pub(super) what: &'static str,
    pub(super) why: &'static str,
    /// Advice; DEVICE, ARRAY, CONTROLLER, SUBSYSTEM and INTERRUPT in its commands are replaced by
    /// the affected names.
    pub(super) next: &'static str,
}

impl Qualifies {
    pub(super) fn check(&self, facts: &RuleContext<'_>, tally: &mut Tally) {
        let look = |of: &Measurement| (self.look)(facts, of);
        let mut next = self.next.to_owned();
        if advice::has_place(&next) {
            let all = facts.finished().map(|(_, of)| of);
            let affected: Vec<&Measurement> =
                all.filter(|of| matches!(look(of), Ok(Some(_)))).collect();
            next = advice::filled(&next, facts.host(), &affected);
        }
        qualify(tally, facts, look, [self.what, self.why, &next]);
    }

    pub(super) fn reservation(
        &self,
        facts: &RuleContext<'_>,
        measurement: usize,
    ) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let seen = of.failure().is_none().then(|| (self.look)(facts, of))?;
        Some(Reservation::qualified(seen.ok().flatten()?))
    }
}
