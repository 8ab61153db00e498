//! Rules that look at each measurement and qualify those that they fit.

use iodyno_model::{Measurement, RuleReport, Severity};

use super::{Reservation, Rule, qualify};
use crate::facts::Facts;

/// What a measurement is affected by, as a sentence without its stop; `None`:
/// it is not. `Err`: what is missing to tell.
pub(super) type Seen = Result<Option<String>, String>;

/// A rule that is one look at a measurement: what it sees is an INFO, and the
/// measurement holds with this reservation.
pub(super) struct Qualifies {
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) look: fn(&Facts<'_>, &Measurement) -> Seen,
    /// What is said of those that are affected, without a stop.
    pub(super) what: &'static str,
    pub(super) why: &'static str,
    pub(super) next: &'static str,
}

impl Rule for Qualifies {
    fn id(&self) -> &'static str {
        self.id
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        qualify(self, facts, |of| (self.look)(facts, of), [self.what, self.why, self.next])
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let seen = of.failure().is_none().then(|| (self.look)(facts, of))?;
        Some(Reservation::qualified(seen.ok().flatten()?))
    }
}
