//! Observations to draw: one direction of one measurement of a run, or of a point predicted next to
//! one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::{
    Direction, DirectionResult, Estimate, Measurement, Prediction, Spread, Validity, distinct,
};

use crate::figure::{Panel, Point};
use crate::naming::{values, workloads};
use crate::request::{number, option_of};
use crate::{FigureError, Filter, Judged, Kind, Metric, Request, Source};

/// Maximum number of names in a note.
const MOST_LISTED: usize = 3;

/// One direction of a measurement. Only [`predictions`](crate::predicted::predictions) makes those
/// of predictions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observation<'a> {
    /// Name of the run in the legend.
    pub(crate) label: &'a str,
    /// Index of the run, and of the measurement within it.
    pub(crate) place: (usize, usize),
    /// For a prediction, the measurement next to it.
    pub(crate) measurement: &'a Measurement,
    pub(crate) result: &'a DirectionResult,
    pub(crate) predicted: Option<&'a Prediction>,
}

impl Observation<'_> {
    /// Index of its run.
    pub(crate) const fn source(&self) -> usize {
        self.place.0
    }

    /// Judgement of its measurement.
    pub(crate) fn judged<'r>(&self, request: &'r Request) -> Option<&'r Judged> {
        request.judged.iter().find(|one| (one.source, one.measurement) == self.place)
    }

    /// True if its measurement is judged invalid.
    fn is_invalid(&self, request: &Request) -> bool {
        self.judged(request).is_some_and(|judged| judged.validity == Validity::Invalid)
    }

    /// Measured value of a metric; `None` for a prediction.
    pub(crate) fn measured(&self, metric: Metric) -> Option<Estimate> {
        metric.of(self.result).filter(|_| self.predicted.is_none())
    }

    /// Predicted value: IOPS only.
    pub(crate) fn prediction(&self, metric: Metric) -> Option<Estimate> {
        self.predicted.filter(|_| metric == Metric::Iops).map(|one| one.iops)
    }

    /// Value of an option by fio's name, or of `direction` or `drives`.
    pub(crate) fn option(&self, option: &str) -> Option<String> {
        if let Some(of) = self.predicted {
            match option {
                "iodepth" => return Some(of.iodepth.to_string()),
                "numjobs" => return Some(of.numjobs.to_string()),
                "name" => return Some(of.name.clone()),
                _ => {}
            }
        }
        match option {
            "direction" => Some(self.result.direction.name().into()),
            "drives" => Some(self.measurement.targets.len().to_string()),
            _ => option_of(self.measurement, option),
        }
    }

    /// Value of a numeric option on an axis: an engine that waits for each I/O has a depth of 1.
    pub(crate) fn place(&self, option: &str) -> Option<f64> {
        let number = self.number(option)?;
        Some(if option == "iodepth" && self.ignores_depth() { 1.0 } else { number })
    }

    /// True if its engine waits for each I/O although its iodepth is more than 1.
    pub(crate) fn ignores_depth(&self) -> bool {
        self.measurement.workload.ignores_depth()
    }

    /// Value of a numeric option or a size.
    pub(crate) fn number(&self, option: &str) -> Option<f64> {
        number(&self.option(option)?)
    }
}

/// True if the request is about this measurement, whatever its options.
fn is_asked(request: &Request, index: usize, measurement: &Measurement) -> bool {
    request.measurements.as_ref().is_none_or(|of| of.contains(&index))
        && !(request.without_fills && measurement.purpose.is_fill())
}

/// All observations that the request admits, without failed measurements, and without invalid ones
/// where [`Kind::leaves_out_invalid`], unless there are no others.
///
/// # Errors
/// There are no measurements, or none that the request admits.
pub(crate) fn observations<'a>(
    request: &Request,
    sources: &[Source<'a>],
) -> Result<Vec<Observation<'a>>, FigureError> {
    let mut all: Vec<Observation<'a>> = Vec::new();
    for (of, source) in sources.iter().enumerate() {
        for (index, measurement) in source.record.measurements.iter().enumerate() {
            if is_asked(request, index, measurement) && measurement.failure().is_none() {
                all.extend(measurement.total.iter().map(|result| Observation {
                    label: source.label,
                    place: (of, index),
                    measurement,
                    result,
                    predicted: None,
                }));
            }
        }
    }
    if all.is_empty() {
        return Err(FigureError::Nothing("no measurement has a result".into()));
    }
    for filter in &request.filters {
        let left: Vec<_> = all.iter().filter(|one| filter.admits(one)).copied().collect();
        if left.is_empty() {
            return Err(FigureError::NoMatch {
                filter: filter.to_string(),
                measured: measured(&all, filter.option()),
            });
        }
        all = left;
    }
    if request.kind.leaves_out_invalid() {
        let is_invalid = |one: &Observation<'_>| one.is_invalid(request);
        // A ratio of an invalid value says nothing even alone.
        if request.kind == Kind::Ratio && all.iter().all(is_invalid) {
            return Err(FigureError::Nothing("no measurement is valid".into()));
        }
        if !all.iter().all(is_invalid) {
            all.retain(|one| !is_invalid(one));
        }
    }
    if let Some(series) = request.series.as_ref().filter(|name| values(&all, name).is_empty()) {
        return Err(FigureError::Nothing(format!("no measurement has {series}")));
    }
    Ok(all)
}

/// Sorts by run, then by block size, depth and jobs: directories are read in the order of file
/// names, in which 1m comes before 4k.
pub(crate) fn sort(shown: &mut [Observation<'_>]) {
    let numbers = |one: &Observation<'_>| {
        ["bs", "iodepth", "numjobs"].map(|option| one.number(option).unwrap_or(0.0))
    };
    let by_numbers = |a: &Observation<'_>, b: &Observation<'_>| {
        numbers(a).iter().zip(numbers(b)).map(|(a, b)| a.total_cmp(&b)).find(|o| o.is_ne())
    };
    shown.sort_by(|a, b| {
        let run = a.place.0.cmp(&b.place.0);
        run.then_with(|| by_numbers(a, b).unwrap_or(Ordering::Equal))
    });
}

/// Measured values of an option, as a clause: `; measured were 4k, 16k`.
fn measured(all: &[Observation<'_>], option: &str) -> String {
    match values(all, option).as_slice() {
        [] => "; no measurement has this option".into(),
        values => format!("; measured: {}", values.join(", ")),
    }
}

/// Value of a metric over observations of the point at `x`: of one with its confidence interval,
/// of several the median with the range; `None` if none has it.
pub(crate) fn point_of(metric: Metric, all: &[Observation<'_>], x: f64) -> Option<Point> {
    let mut known: Vec<_> = all.iter().filter_map(|one| one.measured(metric)).collect();
    known.sort_by(|a, b| a.value.total_cmp(&b.value));
    match known.as_slice() {
        [] => None,
        [one] => {
            let ends = interval(one).and(one.known_bounds());
            let level = level(one).filter(|_| ends.is_some());
            let is_open = level.is_none() && one.is_too_wide();
            Some(Point { interval: ends, level, is_open, ..Point::new(x, one.value) })
        }
        [least, .., greatest] => {
            let middle = known.len() / 2;
            let median = match known.len() % 2 {
                0 => f64::midpoint(known[middle - 1].value, known[middle].value),
                _ => known[middle].value,
            };
            Some(Point { interval: Some((least.value, greatest.value)), ..Point::new(x, median) })
        }
    }
}

/// Level of the confidence interval, if it has one.
const fn level(of: &Estimate) -> Option<f64> {
    match of.spread {
        Spread::Confidence { level, .. } => Some(level),
        Spread::Rounding { .. } | Spread::Unknown => None,
    }
}

/// Ends of the confidence interval, if it has one.
pub(crate) fn interval(of: &Estimate) -> Option<(f64, f64)> {
    match of.spread {
        Spread::Confidence { low, high, .. } if low.is_finite() && high.is_finite() => {
            Some((low, high))
        }
        _ => None,
    }
}

/// Points of a metric against a number of the observations, smallest first.
pub(crate) fn points(
    metric: Metric,
    all: &[Observation<'_>],
    x_of: impl Fn(&Observation<'_>) -> Option<f64>,
) -> Vec<Point> {
    let at = |x: f64| {
        let here: Vec<_> = all.iter().filter(|one| x_of(one) == Some(x)).copied().collect();
        point_of(metric, &here, x)
    };
    places(all, &x_of).into_iter().filter_map(at).collect()
}

/// Different numbers of the observations, smallest first.
pub(crate) fn places(
    all: &[Observation<'_>],
    x_of: impl Fn(&Observation<'_>) -> Option<f64>,
) -> Vec<f64> {
    let mut places: Vec<f64> = all.iter().filter_map(x_of).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// True if a point was measured several times: same run, same workload except for the options
/// `across`, and same values of the options `at`.
pub(crate) fn is_repeated(all: &[Observation<'_>], across: &[&str], at: &[&str]) -> bool {
    let names = workloads(all, across);
    let mut points = BTreeSet::new();
    all.iter().zip(names).any(|(one, name)| {
        let values: Vec<_> = at.iter().map(|option| one.option(option)).collect();
        !points.insert((name, one.label, values))
    })
}

/// Note on the values of a table, which has no error bars; see [`is_repeated`].
pub(crate) fn table_notes(all: &[Observation<'_>], across: &[&str], at: &[&str]) -> Vec<String> {
    let median = "Repeated points show their median.";
    is_repeated(all, across, at).then(|| median.to_owned()).into_iter().collect()
}

/// Notes on the error bars in these panels.
pub(crate) fn whisker_notes(panels: &[Panel]) -> Vec<String> {
    let points = panels.iter().flat_map(Panel::series).flat_map(|one| &one.points);
    let whiskers = points.filter(|point| point.interval.is_some() && !point.is_predicted);
    let levels: Vec<Option<f64>> = whiskers.map(|point| point.level).collect();
    let mut notes = Vec::new();
    if levels.contains(&None) {
        notes.push(
            "Repeated points are drawn as their median, with whiskers from the \
             lowest to the highest."
                .into(),
        );
    }
    if let Some(level) = levels.iter().flatten().next() {
        let which = if notes.is_empty() { "Whiskers" } else { "Other whiskers" };
        let percent = level * 100.0;
        notes.push(format!("{which} are {percent:.0} % confidence intervals of the mean."));
    }
    let open = distinct(panels.iter().flat_map(open_points));
    if !open.is_empty() {
        notes.push(format!("No whisker, interval wider than the value: {}.", listed(&open)));
    }
    notes
}

/// Names of points whose interval is too wide to be drawn.
fn open_points(panel: &Panel) -> Vec<String> {
    let all = panel.series().iter().flat_map(|one| one.points.iter().map(move |of| (one, of)));
    let open = all.filter(|(_, point)| point.is_open);
    open.map(|(one, point)| panel.name_of(one, point).to_owned()).collect()
}

/// The first of these names, and how many more there are.
pub(crate) fn listed(names: &[String]) -> String {
    match names.len().checked_sub(MOST_LISTED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST_LISTED].join(", ")),
    }
}

/// Note on the measurements that were asked for and are not drawn, with the reason.
pub(crate) fn left_out(
    request: &Request,
    sources: &[Source<'_>],
    shown: &[Observation<'_>],
) -> Option<String> {
    let unknown = DirectionResult::unknown(Direction::Mixed);
    let mut names = Vec::new();
    for (of, source) in sources.iter().enumerate() {
        for (index, measurement) in source.record.measurements.iter().enumerate() {
            let one = Observation {
                label: source.label,
                place: (of, index),
                measurement,
                result: measurement.total.first().unwrap_or(&unknown),
                predicted: None,
            };
            let why = match () {
                () if measurement.failure().is_some() => "FAILED",
                () if one.is_invalid(request) => Validity::Invalid.label(),
                () => continue,
            };
            // A later measurement took the place of one that was repeated.
            if shown.iter().any(|other| other.place == one.place)
                || source.record.is_repeated(index)
                || !is_asked(request, index, measurement)
                || !request.admits(&one)
            {
                continue;
            }
            let run = if sources.len() > 1 { format!("{} ", source.label) } else { String::new() };
            names.push(format!("{run}{} ({why})", measurement.name));
        }
    }
    let names = distinct(names);
    (!names.is_empty()).then(|| format!("Not drawn: {}.", listed(&names)))
}

/// Number of admitted measurements that are not valid, with their caveats; few invalid ones are
/// named.
pub(crate) fn reservations(all: &[Observation<'_>], request: &Request) -> Vec<String> {
    let mut by_validity: BTreeMap<Validity, Vec<(&str, &Judged)>> = BTreeMap::new();
    let mut places = BTreeSet::new();
    for one in all {
        // A measurement of two directions counts once.
        let is_first = places.insert(one.place);
        if let Some(judged) = one.judged(request).filter(|_| is_first)
            && judged.validity != Validity::Valid
            && !judged.reservations.is_empty()
        {
            let name = &one.measurement.name;
            by_validity.entry(judged.validity).or_default().push((name, judged));
        }
    }
    let measured = places.len();
    let note = |(validity, judged): (Validity, Vec<(&str, &Judged)>)| {
        let reasons: BTreeSet<_> = judged.iter().flat_map(|(_, one)| &one.reservations).collect();
        let reasons: Vec<&str> = reasons.into_iter().map(String::as_str).collect();
        let names: Vec<String> = judged.iter().map(|(name, _)| (*name).to_owned()).collect();
        let which = match validity {
            Validity::Invalid if names.len() < measured => listed(&distinct(names)),
            _ => format!("{} of {measured} measurements", judged.len()),
        };
        format!("{}: {which} ({}).", validity.label(), reasons.join(", "))
    };
    by_validity.into_iter().map(note).collect()
}

impl Request {
    /// True if the observation passes the filters.
    pub(crate) fn admits(&self, one: &Observation<'_>) -> bool {
        self.filters.iter().all(|filter| filter.admits(one))
    }
}

impl Filter {
    /// True if the observation has the value; an unknown value does not match.
    pub(crate) fn admits(&self, one: &Observation<'_>) -> bool {
        let has = one.option(self.option()).is_some_and(|known| {
            known == self.value
                || matches!((number(&known), number(&self.value)), (Some(a), Some(b)) if a == b)
        });
        has != self.not
    }
}
