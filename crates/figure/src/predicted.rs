//! Predicted points, next to measured ones.

use crate::figure::Point;
use crate::observation::{Observation, interval};
use crate::{Metric, Request, Source};

/// Predictions that the request admits, and notes on them. Mixed reads and writes are predicted as
/// a whole, which fits no direction.
pub(crate) fn predictions<'a>(
    request: &Request,
    sources: &[Source<'a>],
) -> (Vec<Observation<'a>>, Option<String>) {
    let (mut shown, mut mixed) = (Vec::new(), 0);
    for (of, source) in sources.iter().enumerate() {
        for prediction in source.outlook.iter().flat_map(|outlook| &outlook.predictions) {
            let is_asked =
                request.measurements.as_ref().is_none_or(|of| of.contains(&prediction.beside));
            let beside = source.record.measurements.get(prediction.beside).filter(|_| is_asked);
            let Some(measurement) = beside else { continue };
            let of_a_direction = |result| Observation {
                label: source.label,
                place: (of, prediction.beside),
                measurement,
                result,
                predicted: Some(prediction),
            };
            let mut all = measurement.total.iter().map(of_a_direction);
            match (all.next(), all.next()) {
                (Some(one), None) => shown.extend(Some(one).filter(|one| request.admits(one))),
                (one, _) => mixed += usize::from(one.is_some_and(|one| request.admits(&one))),
            }
        }
    }
    let mut notes = Vec::new();
    if !shown.is_empty() {
        notes.push(
            "Hollow, or with ~: predicted, not measured; the middle of the interval that \
             measured points leave."
                .to_owned(),
        );
    }
    if mixed > 0 {
        notes.push(format!("{mixed} predictions of mixed reads and writes are not drawn."));
    }
    (shown, Some(notes.join(" ")).filter(|note| !note.is_empty()))
}

/// Points of predictions, like [`points`](crate::observation::points) of measurements.
pub(crate) fn predicted_points(
    metric: Metric,
    all: &[Observation<'_>],
    x_of: impl Fn(&Observation<'_>) -> Option<f64>,
) -> Vec<Point> {
    let point = |one: &Observation<'_>| {
        let rate = one.prediction(metric)?;
        let point = Point::new(x_of(one)?, rate.value);
        Some(Point { interval: interval(&rate), is_predicted: true, ..point })
    };
    all.iter().filter_map(point).collect()
}
