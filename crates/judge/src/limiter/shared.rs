//! A limit shared by several of the measured drives, as a suspect.

use iodyno_model::Experiment;

use super::case::Case;
use super::case_context::{CaseContext, Reach};
use super::contrast::{Change, Contrast, Effect};
use super::suspect::{Limiter, Standing, Suspect};
use crate::ceiling::Bound;
use crate::measured::figure_of;

/// If fewer drives get no more than this multiple of their share, they share nothing with the
/// others.
const OWN_SHARE: f64 = 1.10;
/// Upper end of the interval that is required for this.
const OWN_SHARE_AT_MOST: f64 = 1.25;
/// A target below this share of the fastest, while all worked, is one of the slower ones.
const SLOWER: f64 = 0.90;

impl<'a> Case<'a> {
    /// Rate of each of several targets while all worked, in the metric's unit; `None` if one is not
    /// known.
    fn at_once(&self) -> Option<Vec<(&'a str, f64)>> {
        let of = self.of_run();
        let rate = |target: &'a String| {
            let part =
                of.parts.iter().find(|part| part.clone.is_none() && part.target == *target)?;
            let rates = part.results.iter().map(|result| figure_of(result, self.metric));
            let sum = rates.map(|rate| Some(rate?.value)).sum::<Option<f64>>()?;
            Some((target.as_str(), sum))
        };
        let all: Vec<(&str, f64)> = of.targets.iter().map(rate).collect::<Option<_>>()?;
        (all.len() > 1).then_some(all)
    }

    /// Returns equal drives that were slower than others while all worked, with their rates: two or
    /// more, but not all, may share a limit of their own.
    pub(super) fn slower(&self) -> Vec<(&'a str, f64)> {
        let mut models = self.drives.iter().map(|drive| drive.model.get());
        let first = models.next();
        if !models.all(|model| Some(model) == first) {
            return Vec::new();
        }
        let all = self.at_once().unwrap_or_default();
        let fastest = all.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        all.into_iter().filter(|(_, rate)| *rate < SLOWER * fastest).collect()
    }
}

/// Expected rate of fewer drives if they share nothing with those left out.
struct Expected {
    /// As a share of the rate of all.
    share: f64,
    /// The rate of the same drives alongside the others is known.
    is_measured: bool,
    /// Only some of the slower drives were kept: a limit that only these share then shows.
    is_telling: bool,
}

impl Expected {
    fn of(case: &Case<'_>, contrast: &Contrast<'_>, counted: f64) -> Self {
        let kept = &contrast.other.of_run().targets;
        let unknown = Self { share: counted, is_measured: false, is_telling: true };
        let Some(all) = case.at_once() else { return unknown };
        let is_kept = |target: &str| kept.iter().any(|name| name == target);
        if kept.iter().any(|name| !all.iter().any(|(target, _)| target == name)) {
            return unknown;
        }
        let sum = |pick: &dyn Fn(&str) -> bool| -> f64 {
            all.iter().filter(|(target, _)| pick(target)).map(|(_, rate)| rate).sum()
        };
        let slower = case.slower();
        let slower_kept = slower.iter().filter(|(target, _)| is_kept(target)).count();
        Self {
            share: sum(&is_kept) / sum(&|_| true),
            is_measured: true,
            is_telling: slower.len() < 2 || (slower_kept > 0 && slower_kept < slower.len()),
        }
    }
}

impl CaseContext<'_, '_> {
    /// A limit that several drives share.
    pub(super) fn shared(&self) -> Option<Suspect> {
        if let Some(ceiling) = self.ceiling(Bound::SharedLink)
            && self.reach(ceiling) == Some(Reach::Surely)
        {
            return Some(Suspect::confirmed(Limiter::Shared, self.against(ceiling)));
        }
        let neighbour = self.neighbour();
        let is_confirmed = |one: &Suspect| matches!(one.standing, Standing::Confirmed(_));
        if self.case.drive_count < 2
            || self.case.layer.is_some()
            || neighbour.as_ref().is_some_and(is_confirmed)
        {
            return neighbour.filter(|_| self.case.layer.is_none());
        }
        let has_card = !self.case.cards().is_empty();
        let mut scales: Option<Suspect> = None;
        let mut loses = false;
        for contrast in self.contrasts {
            let Change::Drives(ours, theirs) = contrast.change else { continue };
            if theirs >= ours {
                continue;
            }
            let outcome = format!("{}: {}", contrast.title(), contrast.outcome());
            let expected = Expected::of(self.case, contrast, theirs as f64 / ours as f64);
            if contrast.effect() == Effect::Same && expected.share < 0.95 {
                return Some(Suspect::confirmed(Limiter::Shared, outcome));
            }
            let bound = expected.share * OWN_SHARE;
            if expected.is_measured && !has_card && contrast.ratio.low() > bound {
                let why = format!(
                    "{outcome}; with the others the same drives reached x{:.2}",
                    expected.share
                );
                return Some(Suspect::confirmed(Limiter::Shared, why));
            }
            if contrast.ratio.value > bound {
                loses = true;
            } else if expected.is_telling
                && contrast.ratio.high() <= expected.share * OWN_SHARE_AT_MOST
            {
                scales = Some(Suspect::cleared(Limiter::Shared, outcome));
            }
        }
        if loses && has_card {
            // Some is lost in the card, which is weighed separately.
            return None;
        }
        scales.or(Some(Suspect::open(Limiter::Shared, Experiment::HalfTheDrives)))
    }
}
