//! The workload that conditions drives, as a plan in rounds.

use iodyno_job::parse_seconds;
use iodyno_model::{Metric, Purpose, Rounds, Tracked};

use super::error::{Mistake, PlanError, Refusal};
use super::points::writes;
use super::preparation::Preparation;
use super::study::{Order, Study, StudyStep, Until};

/// The first part of a round, one in this many, is what steadiness is judged by.
const CHECK: u64 = 30;
/// Names of the two parts of a round.
const POINTS: [&str; 2] = ["check", "condition"];

/// Name of the default workload.
const RANDOM: &str = "random";

/// Default options of a workload: random data and offsets, new ones in each round.
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

impl Preparation {
    /// Checks the preparation.
    ///
    /// # Errors
    /// It contradicts itself.
    pub fn check(&self) -> Result<(), Refusal> {
        self.validate().map_err(|wrong| Refusal(wrong.what))
    }

    /// Returns the first contradiction.
    pub(super) fn validate(&self) -> Result<(), Mistake> {
        if self.fill.is_some_and(|times| !(times > 0.0 && times <= 100.0)) {
            let what = "preparation: fill: expected a number above 0 and at most 100 times";
            return Err(Mistake::at(&["preparation", "fill"], what));
        }
        self.rounds_on(Vec::new()).map(|_| ())
    }

    /// Rounds that condition a drive, with their end; `None` without conditioning.
    pub fn rounds(&self) -> Option<Rounds> {
        self.condition.as_ref()?;
        let track = vec![Tracked { point: POINTS[0].into(), metric: Metric::Iops }];
        Some(Rounds { track, ..Rounds::default() })
    }

    /// Conditioning workload as job options.
    pub(crate) fn workload(&self) -> Option<String> {
        let typed = self.condition.as_ref()?;
        Some(if typed.trim() == RANDOM { "rw=randwrite bs=4k".into() } else { typed.clone() })
    }

    /// The rounds as a plan of their own.
    fn rounds_on(&self, targets: Vec<String>) -> Result<Option<Study>, Mistake> {
        let Some((rounds, workload)) = self.rounds().zip(self.workload()) else {
            return Ok(None);
        };
        let wrong = |key: &str, what: &str| {
            Mistake::at(&["preparation", key], format!("preparation: {key}: {what}"))
        };
        let mut study = Study::named("preparation");
        study.targets = targets;
        study.targets_together = true;
        study.order = Order::Written;
        study.rounds = Some(rounds);
        for (option, value) in USUAL {
            study.job.insert(option.into(), value.into());
        }
        for word in workload.split_whitespace() {
            let Some((option, value)) = word.split_once('=') else {
                let what = "expected OPTION=VALUE, as in rw=randwrite bs=4k, or `random`";
                return Err(wrong("condition", &format!("{word}: {what}")));
            };
            study.set(option, value);
        }
        if study.job.get("rw").and_then(|rw| rw.as_str()).is_none_or(|rw| !writes(rw)) {
            return Err(wrong("condition", "expected a workload that writes, as in rw=randwrite"));
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
                purpose: Purpose::Condition,
                until: Until::Done,
                job: [("runtime".into(), format!("{}us", ns / 1000).into())].into(),
                ..StudyStep::default()
            })
            .collect();
        study.validate().map_err(|own| wrong("condition", &own.what))?;
        Ok(Some(study))
    }

    /// The rounds on these targets as a plan of their own; `None` without conditioning.
    ///
    /// # Errors
    /// A mistake in the workload.
    pub(crate) fn study(&self, targets: Vec<String>) -> Result<Option<Study>, PlanError> {
        self.rounds_on(targets).map_err(|wrong| wrong.within("prepare", ""))
    }
}
