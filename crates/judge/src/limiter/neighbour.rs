//! Drives next to the measured ones, as suspects.

use iodyno_model::{Experiment, Metric, Neighbour, Origin};

use super::answer::Answer;
use super::case::{Case, figure};
use super::case_context::CaseContext;
use super::contrast::{Change, Effect};
use super::suspect::{Limiter, Standing, Suspect};
use crate::ceiling::Bound;
use crate::place::devices;

/// If two together get no more than this multiple of one alone, they share a limit.
const TOGETHER: f64 = 1.1;

impl Case<'_> {
    /// Returns devices that share something with its own.
    pub(super) fn neighbours(&self) -> Vec<Neighbour> {
        let host = self.host();
        host.map_or_else(Vec::new, |host| host.neighbours(&devices(Some(host), self.of_run())))
    }
}

impl CaseContext<'_, '_> {
    /// Tests if writes to a neighbour slow these reads: with a shared limit the two together get
    /// what one gets alone.
    pub(super) fn neighbour(&self) -> Option<Suspect> {
        let case = self.case;
        let outcome = self.effect(|change| matches!(change, Change::NeighbourWrites(..)));
        let Some((effect, contrast)) = outcome else {
            // Known links have ceilings of their own; a card is weighed separately.
            let known = [Bound::Link, Bound::SharedLink];
            let is_open = known.iter().all(|bound| self.ceiling(*bound).is_none())
                && case.cards().is_empty()
                && case.reads()
                && case.neighbours().iter().any(|neighbour| neighbour.link);
            return is_open.then_some(Suspect::open(Limiter::Shared, Experiment::NeighbourWrites));
        };
        let said = format!("{}: {}", contrast.title(), contrast.outcome());
        match effect {
            Effect::Same | Effect::Grew => Some(Suspect::cleared(Limiter::Shared, said)),
            Effect::Unclear => Some(Suspect::open(Limiter::Shared, Experiment::NeighbourWrites)),
            Effect::Fell => {
                let Change::NeighbourWrites(_, written) = &contrast.change else { return None };
                let together = contrast.other.bytes_per_s()? + written;
                let sum = figure(Metric::Bandwidth, together);
                Some(match together <= TOGETHER * case.bytes_per_s()? {
                    true => Suspect::confirmed(
                        Limiter::Shared,
                        format!("{said}, {sum} for both: no more than for one alone"),
                    ),
                    // This limit only matters if both work; one alone did not reach it.
                    false => Suspect::cleared(Limiter::Shared, format!("{said}, {sum} for both")),
                })
            }
        }
    }

    /// Describes neighbours that may share a limit, which only writing to them would show.
    pub(super) fn untested_neighbours(
        &self,
        answer: &Answer,
        suspects: &[Suspect],
    ) -> Option<String> {
        let case = self.case;
        let is_named = suspects.iter().any(|one| matches!(one.standing, Standing::Confirmed(_)));
        let is_tested = self.effect(|change| matches!(change, Change::NeighbourWrites(..)));
        if is_named
            || is_tested.is_some()
            || !case.reads()
            || matches!(answer, Answer::Experiment(_))
            || !matches!(case.record.run.origin, Origin::Measured | Origin::Simulated)
        {
            return None;
        }
        let neighbours = case.neighbours();
        let first = neighbours.first()?;
        let who = match neighbours.len() {
            1 => first.name.clone(),
            count => format!("{} and {} more", first.name, count - 1),
        };
        let verb = if neighbours.len() > 1 { "share" } else { "shares" };
        Some(format!(
            "{who} {verb} {} with it: whether writing there slows these reads is untested; it is \
             tried where --allow-write names such a device and it may be overwritten",
            first.shares
        ))
    }
}
