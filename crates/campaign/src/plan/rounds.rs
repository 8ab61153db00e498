//! Studies in rounds: the same points in the same order, repeated until the drive is steady.

use iodyno_model::Rounds;

use super::error::Mistake;
use super::order::cells;
use super::points::Point;
use super::points::axes;
use super::study::{Order, Study, StudyStep};

impl Study {
    /// All possible rounds, and the steps after them, for one target after the other.
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

    /// Checks for options that contradict rounds.
    pub(super) fn check_rounds(&self) -> Result<(), Mistake> {
        let Some(rounds) = &self.rounds else {
            return match self.steps.iter().position(|step| step.after) {
                Some(n) => {
                    let what = format!("step `{}`: after: there are no rounds", self.steps[n].name);
                    Err(Mistake::at(&["step", &n.to_string(), "after"], what))
                }
                None => Ok(()),
            };
        };
        if self.order != Order::Written || self.repeat != 1 {
            let what = "rounds: expected order = \"written\" and repeat = 1: a round is the same each time";
            return Err(Mistake::at(&["rounds"], what));
        }
        let wrong = |key: &str, what: &str| {
            Mistake::at(&["rounds", key], format!("rounds: {key}: {what}")).or_at(&["rounds"])
        };
        // Written so that NaN fails each check.
        let is_positive = |number: f64| number > 0.0 && number.is_finite();
        let expected = [
            (rounds.window >= 2, "window", "expected 2 or more"),
            (rounds.most >= rounds.window, "most", "expected the window or more"),
            (
                is_positive(rounds.excursion_percent),
                "excursion_percent",
                "expected a number above 0",
            ),
            (is_positive(rounds.slope_percent), "slope_percent", "expected a number above 0"),
            (
                rounds.written_times.is_none_or(is_positive),
                "written_times",
                "expected a number above 0",
            ),
            (!rounds.track.is_empty(), "track", "expected points to track"),
        ];
        if let Some((_, key, what)) = expected.into_iter().find(|(holds, ..)| !holds) {
            return Err(wrong(key, what));
        }
        let every: Vec<StudyStep> = self.parts().into_iter().filter(|step| !step.after).collect();
        let titles: Vec<String> = self.as_written(&every, &[]).map(|point| point.title).collect();
        for (n, tracked) in rounds.track.iter().enumerate() {
            let what = match titles.iter().filter(|title| **title == tracked.point).count() {
                1 => continue,
                0 => {
                    let first = titles.first().map_or("none", String::as_str);
                    format!(
                        "no point `{}`; the first one is `{first}`: names have all options that vary",
                        tracked.point
                    )
                }
                _ => format!("there are several points `{}`", tracked.point),
            };
            let path = ["rounds", "track", &n.to_string(), "point"];
            return Err(Mistake::at(&path, format!("rounds: track: {what}")));
        }
        Ok(())
    }
}
