//! Phases of a script, and the strategy that says which of them is next.

use iodyno_job::script::Script;

use super::adaptive_sweep::Adapting;
use super::rounds::InRounds;
use super::scaling::InScaling;
use super::turns::{Making, Turns};
use crate::phase::Schedule;
use crate::plan::{Ends, MadeBy, PlanError, Point, Stop, Study};

/// A script, and which of its phases are carried out when.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptJobs {
    /// What fio's job files say.
    pub script: Script,
    /// When the jobs of each section end; `ByThemselves` where it says nothing.
    pub ends: Vec<Ends>,
    /// The order of its phases.
    pub order: PhaseOrder,
}

/// Which phases of a script are carried out when.
#[derive(Debug, Clone, PartialEq)]
pub enum PhaseOrder {
    /// Each once.
    Once,
    /// In rounds, until drives are steady.
    Rounds(InRounds),
    /// On more and more drives, until another one brings nothing.
    Scaling(InScaling),
    /// Those that do not follow from what is measured.
    Adaptive(Adapting),
}

impl ScriptJobs {
    /// Each phase of a script once; they end by themselves.
    pub(crate) const fn once(script: Script) -> Self {
        Self { script, ends: Vec::new(), order: PhaseOrder::Once }
    }

    /// What carries it out; measurements that have to be known end by `stop`.
    pub(crate) fn schedule(&self, stop: Stop) -> Box<dyn Schedule + '_> {
        let Self { script, ends, order } = self;
        let making = Making { stop, ends };
        match order {
            PhaseOrder::Once => Box::new(Turns::once(script, making)),
            PhaseOrder::Rounds(rounds) => Box::new(rounds.schedule(script, making)),
            PhaseOrder::Scaling(scaling) => Box::new(scaling.schedule(script, making)),
            PhaseOrder::Adaptive(adapting) => Box::new(adapting.schedule(script, making)),
        }
    }

    /// The points of a study that are `left` of `all`.
    ///
    /// # Errors
    /// What is wrong with their options.
    pub(crate) fn of_points(
        study: &Study,
        all: &[Point],
        left: &[Point],
    ) -> Result<Self, PlanError> {
        let (rounds, once) = match &study.rounds {
            Some(asked) => {
                let (rounds, once) = InRounds::new(asked.clone(), left);
                (Some(rounds), once)
            }
            None => (None, left.to_vec()),
        };
        let script = study.script(&once, study.generator == MadeBy::Fio)?;
        let ends = study.ends(&once);
        let order = match (rounds, study.scaling) {
            (Some(rounds), _) => PhaseOrder::Rounds(rounds),
            (None, Some(asked)) => PhaseOrder::Scaling(InScaling { asked, points: once }),
            (None, None) if study.adaptive => PhaseOrder::Adaptive(Adapting::new(study, all, left)),
            (None, None) => PhaseOrder::Once,
        };
        Ok(Self { script, ends, order })
    }
}
