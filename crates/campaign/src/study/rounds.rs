//! Studies in rounds: the same points, in the same order, again and again
//! until the drive is steady.

use iodyno_model::Rounds;

use super::order::cells;
use super::points::axes;
use super::{Order, Point, Study, StudyStep};

impl Study {
    /// All rounds that there may be, and what comes once after them, for one
    /// target after the other.
    pub(super) fn points_in_rounds(&self, rounds: &Rounds) -> Vec<Point> {
        let (after, every): (Vec<StudyStep>, Vec<_>) =
            self.parts().into_iter().partition(|step| step.after);
        let mut points = Vec::new();
        for targets in self.target_groups() {
            for round in (1..=rounds.most).map(Some) {
                let again = self.as_written(&every, &targets).map(|point| Point { round, ..point });
                points.extend(again);
            }
            points.extend(self.as_written(&after, &targets));
        }
        points
    }

    fn as_written<'s>(
        &'s self,
        steps: &'s [StudyStep],
        targets: &'s [String],
    ) -> impl Iterator<Item = Point> + 's {
        steps.iter().flat_map(move |step| {
            let axes = axes(step);
            let cells = cells(&axes);
            cells.into_iter().map(move |cell| self.point(step, &axes, &cell, targets, 0))
        })
    }

    /// What contradicts rounds, as a sentence.
    pub(super) fn check_rounds(&self) -> Result<(), String> {
        let Some(rounds) = &self.rounds else {
            return match self.steps.iter().find(|step| step.after) {
                Some(step) => Err(format!("step `{}`: after: there are no rounds", step.name)),
                None => Ok(()),
            };
        };
        if self.order != Order::Written || self.repeat != 1 {
            let what = "order = \"written\" and repeat = 1 were expected";
            return Err(format!("rounds: {what}: a round is the same each time"));
        }
        let limits = [rounds.excursion_percent, rounds.slope_percent];
        if rounds.window < 2
            || rounds.most < rounds.window
            || limits.iter().any(|percent| percent.is_nan() || *percent <= 0.0)
        {
            let what = "a window of 2 or more, not more than most, and percents above 0";
            return Err(format!("rounds: {what} were expected"));
        }
        if rounds.written_times.is_some_and(|times| times.is_nan() || times <= 0.0) {
            return Err("rounds: written_times: a number above 0 was expected".into());
        }
        if rounds.track.is_empty() {
            return Err("rounds: track: what has to be steady?".into());
        }
        let every: Vec<StudyStep> = self.parts().into_iter().filter(|step| !step.after).collect();
        let titles: Vec<String> = self.as_written(&every, &[]).map(|point| point.title).collect();
        for tracked in &rounds.track {
            match titles.iter().filter(|title| **title == tracked.point).count() {
                1 => {}
                0 => {
                    let first = titles.first().map_or("none", String::as_str);
                    let what = format!("there is no point `{}`", tracked.point);
                    return Err(format!("rounds: track: {what}; the first one is `{first}`"));
                }
                _ => {
                    let what = format!("there are several points `{}`", tracked.point);
                    return Err(format!("rounds: track: {what}"));
                }
            }
        }
        Ok(())
    }
}
