//! The workload that conditions drives (SNIA SSS PTS: workload dependent
//! preconditioning): rounds of it, until all of them are steady.

use iodyno_job::parse_seconds;
use iodyno_job::script::Script;
use iodyno_model::{Metric, Rounds, RunRecord, Tracked};
use iodyno_target::Target;

use super::Preparation;
use crate::plan::PlanError;
use crate::resume::Resumed;
use crate::rounds::InRounds;
use crate::study::{Order, Study, StudyStep, Until};
use crate::wrong::Wrong;

/// What a round is looked at by is this part of it, the first one.
const CHECK: u64 = 30;
/// Names of the two parts of a round.
const POINTS: [&str; 2] = ["check", "condition"];

/// A word for the usual one.
const RANDOM: &str = "random";

/// Options that a workload has unless it says otherwise: random data and
/// offsets, other ones in each round.
const USUAL: [(&str, &str); 9] = [
    ("ioengine", "auto"),
    ("direct", "1"),
    ("rw", "randwrite"),
    ("bs", "4k"),
    ("iodepth", "32"),
    ("refill_buffers", "1"),
    ("norandommap", "1"),
    ("randrepeat", "0"),
    ("time_based", "1"),
];

/// The rounds that condition drives, ready to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditioning {
    /// As it was typed.
    pub(crate) workload: String,
    pub(crate) script: Script,
    pub(crate) rounds: InRounds,
    /// How long they take at most, ns.
    pub(super) most_ns: u64,
}

impl Preparation {
    /// When the rounds that condition a drive are over; `None`: it is not conditioned.
    pub fn rounds(&self) -> Option<Rounds> {
        self.condition.as_ref()?;
        let track = vec![Tracked { point: POINTS[0].into(), metric: Metric::Iops }];
        Some(Rounds { track, ..Rounds::default() })
    }

    /// What conditions a drive, in options.
    pub(super) fn workload(&self) -> Option<String> {
        let typed = self.condition.as_ref()?;
        Some(if typed.trim() == RANDOM { "rw=randwrite bs=4k".into() } else { typed.clone() })
    }

    /// The rounds as a plan of their own.
    pub(super) fn study(&self, targets: &[Target]) -> Result<Option<Study>, Wrong> {
        let Some((rounds, workload)) = self.rounds().zip(self.workload()) else {
            return Ok(None);
        };
        let wrong = |key: &str, what: &str| {
            Wrong::at(&["preparation", key], format!("preparation: {key}: {what}"))
        };
        let mut study = Study::named("preparation");
        study.targets = targets.iter().map(|target| target.path().display().to_string()).collect();
        study.targets_together = true;
        study.order = Order::Written;
        study.rounds = Some(rounds);
        for (option, value) in USUAL {
            study.job.insert(option.into(), value.into());
        }
        for word in workload.split_whitespace() {
            let Some((option, value)) = word.split_once('=') else {
                let what = "OPTION=VALUE was expected, as in rw=randwrite bs=4k, or `random`";
                return Err(wrong("condition", &format!("{word}: {what}")));
            };
            study.job.insert(option.into(), value.into());
        }
        let round_ns =
            parse_seconds(&self.round).map_err(|what| wrong("round", &what.to_string()))?;
        let check_ns = (round_ns / CHECK).max(1000);
        let lasts = [check_ns, round_ns.saturating_sub(check_ns).max(1000)];
        study.steps = POINTS
            .iter()
            .zip(lasts)
            .map(|(name, ns)| StudyStep {
                name: (*name).into(),
                until: Until::Done,
                job: [("runtime".into(), format!("{}us", ns / 1000).into())].into(),
                ..StudyStep::default()
            })
            .collect();
        study.look().map_err(|own| wrong("condition", &own.what))?;
        Ok(Some(study))
    }

    /// The rounds on `targets`, of which `record` lacks some; `None`: none.
    pub(super) fn conditioning(
        &self,
        targets: &[Target],
        record: Option<&RunRecord>,
    ) -> Result<Option<Conditioning>, PlanError> {
        let study = self.study(targets).map_err(|wrong| wrong.within("prepare", ""))?;
        let Some(study) = study else { return Ok(None) };
        let (Some(asked), Some(workload)) = (study.rounds.clone(), self.workload()) else {
            return Ok(None);
        };
        let mut points = study.points(0);
        if let Some(record) = record {
            points = Resumed::of(record, points, &study).1;
        }
        if points.is_empty() {
            return Ok(None);
        }
        let most_ns = points.iter().filter_map(|point| point.runtime_ns()).sum();
        let (rounds, once) = InRounds::new(asked, &points);
        let script = study.script(&once, false)?;
        Ok(Some(Conditioning { workload, script, rounds, most_ns }))
    }
}
