//! Phases of a script, and the schedule that chooses the next.

use iodyno_job::script::Script;
use iodyno_model::{Profile, Purpose};

use super::adaptive_sweep::Adapting;
use super::headroom::InHeadroom;
use super::profile_rounds::ProfileRounds;
use super::rounds::{InRounds, once};
use super::scaling::InScaling;
use super::turns::{Turns, phases};
use crate::phase::Schedule;
use crate::plan::{MadeBy, PlanError, Point, Stop, Study};

/// A script, and the order of its phases.
#[derive(Debug, Clone)]
pub struct ScriptJobs {
    /// The script, compiled from job files or a study.
    pub script: Script,
    order: Order,
}

/// Order of the phases of a script.
#[derive(Debug, Clone)]
enum Order {
    /// Each phase once.
    Once(Turns),
    /// In rounds, until drives are steady.
    Rounds(InRounds),
    /// On more and more drives, until another one brings no gain.
    Scaling(InScaling),
    /// Without points that can be predicted.
    Adaptive(Adapting),
    /// Loads as shares of the measured maximum.
    Headroom(Box<InHeadroom>),
    /// In rounds, until an application's bounds are decided.
    Profile(ProfileRounds),
}

impl ScriptJobs {
    /// Each phase of a script once; the phases end by themselves, and are for `purposes`.
    pub(crate) fn once(script: Script, purposes: &[Purpose]) -> Self {
        let order = Order::Once(Turns::once(phases(&script, &Stop::NEVER, &[], purposes)));
        Self { script, order }
    }

    /// Phases of a profile's script, in rounds.
    pub(crate) fn of_profile(profile: Profile, target: String, script: Script) -> Self {
        let phases = phases(&script, &Stop::NEVER, &[], &[]);
        Self { script, order: Order::Profile(ProfileRounds::new(profile, target, phases)) }
    }

    /// Points of a study that are `left` of `all`.
    ///
    /// # Errors
    /// Mistakes in their options.
    pub(crate) fn of_points(
        study: &Study,
        all: &[Point],
        left: &[Point],
    ) -> Result<Self, PlanError> {
        let points = if study.rounds.is_some() { once(left) } else { left.to_vec() };
        let script = study.script(&points, study.generator == MadeBy::Fio)?;
        let purposes: Vec<Purpose> = points.iter().map(|point| point.purpose).collect();
        let phases = phases(&script, &study.stop()?, &study.ends(&points), &purposes);
        // One phase per point.
        debug_assert_eq!(phases.len(), points.len(), "{points:?}");
        let order = match (&study.rounds, study.scaling) {
            (Some(asked), _) => Order::Rounds(InRounds::new(asked.clone(), left, phases)),
            (None, Some(asked)) => Order::Scaling(InScaling::new(asked, left, phases)),
            (None, None) if study.headroom.is_some() => {
                Order::Headroom(Box::new(InHeadroom::new(study, &points, phases)))
            }
            (None, None) if study.adaptive => {
                Order::Adaptive(Adapting::new(study, all, left).with(phases))
            }
            (None, None) => Order::Once(Turns::once(phases)),
        };
        Ok(Self { script, order })
    }

    /// New schedule that carries it out.
    pub(crate) fn schedule(&self) -> Box<dyn Schedule> {
        match self.order.clone() {
            Order::Once(turns) => Box::new(turns),
            Order::Rounds(rounds) => Box::new(rounds),
            Order::Scaling(scaling) => Box::new(scaling),
            Order::Adaptive(adapting) => Box::new(adapting),
            Order::Headroom(headroom) => headroom,
            Order::Profile(rounds) => Box::new(rounds),
        }
    }
}
