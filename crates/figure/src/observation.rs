//! What is drawn: one direction of one measurement of one run.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::{DirectionResult, Measurement, Spread};

use crate::figure::Point;
use crate::request::{number, option_of};
use crate::{FigureError, Judged, Metric, Request, Source};

/// One direction of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observation<'a> {
    /// The run's name in the legend.
    pub(crate) label: &'a str,
    /// Index of the run, and of the measurement within it.
    place: (usize, usize),
    pub(crate) measurement: &'a Measurement,
    pub(crate) result: &'a DirectionResult,
}

impl Observation<'_> {
    /// The run that it is of, an index.
    pub(crate) const fn source(&self) -> usize {
        self.place.0
    }

    /// How its measurement was judged.
    pub(crate) fn judged<'r>(&self, request: &'r Request) -> Option<&'r Judged> {
        request.judged.iter().find(|one| (one.source, one.measurement) == self.place)
    }

    /// The value of an option, by fio's name; of `direction` and `drives`, too.
    pub(crate) fn option(&self, option: &str) -> Option<String> {
        match option {
            "direction" => Some(self.result.direction.name().into()),
            "drives" => Some(self.measurement.targets.len().to_string()),
            _ => option_of(self.measurement, option),
        }
    }

    /// The value of an option that is a number or a size.
    pub(crate) fn number(&self, option: &str) -> Option<f64> {
        number(&self.option(option)?)
    }
}

/// All that the request admits; what failed is left out.
///
/// # Errors
/// Nothing was measured, or nothing that the request admits.
pub(crate) fn observations<'a>(
    request: &Request,
    sources: &[Source<'a>],
) -> Result<Vec<Observation<'a>>, FigureError> {
    let mut all: Vec<Observation<'a>> = Vec::new();
    for (of, source) in sources.iter().enumerate() {
        for (index, measurement) in source.record.measurements.iter().enumerate() {
            let is_asked = request.measurements.as_ref().is_none_or(|of| of.contains(&index));
            if is_asked && measurement.failure().is_none() {
                all.extend(measurement.total.iter().map(|result| Observation {
                    label: source.label,
                    place: (of, index),
                    measurement,
                    result,
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
    if let Some(series) = request.series.as_ref().filter(|name| values(&all, name).is_empty()) {
        return Err(FigureError::Nothing(format!("{series} is not known of any measurement")));
    }
    Ok(all)
}

/// By run, then by block size, depth and jobs: folders are read in the order of
/// their names, in which 1m comes before 4k.
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

/// What is known of an option, as a clause: `; measured were 4k, 16k`.
fn measured(all: &[Observation<'_>], option: &str) -> String {
    match values(all, option).as_slice() {
        [] => "; the option is not known of any measurement".into(),
        values => format!("; measured were {}", values.join(", ")),
    }
}

/// The values of an option, in the order of their size.
pub(crate) fn values(all: &[Observation<'_>], option: &str) -> Vec<String> {
    let mut values: Vec<String> = all.iter().filter_map(|one| one.option(option)).collect();
    values.sort_by(|a, b| match (number(a), number(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    });
    values.dedup();
    values
}

/// Options that name a workload, the most telling first.
const TELLING: [&str; 6] = ["rw", "bs", "iodepth", "numjobs", "ioengine", "direct"];

/// Options that say how long and how it was reported, not what was done; files
/// are told by the targets.
const SILENT: [&str; 14] = [
    "directory",
    "filename",
    "group_reporting",
    "invalidate",
    "loops",
    "name",
    "nrfiles",
    "per_job_logs",
    "ramp_time",
    "runtime",
    "stonewall",
    "thread",
    "time_based",
    "wait_for_previous",
];

/// Options of the workloads, the best known first, then `target`.
fn options(all: &[Observation<'_>]) -> Vec<String> {
    let tells = |option: &&String| {
        !TELLING.contains(&option.as_str())
            && !SILENT.contains(&option.as_str())
            && !option.contains("log")
    };
    let others: BTreeSet<&String> =
        all.iter().flat_map(|one| one.measurement.workload.options.keys()).filter(tells).collect();
    let mut options: Vec<String> = TELLING.map(str::to_owned).into();
    options.extend(others.into_iter().cloned());
    options.push("target".into());
    options
}

/// What tells observations apart: the run, the values of options, the direction.
#[derive(Debug, Clone)]
struct Naming {
    options: Vec<String>,
    by_run: bool,
    by_direction: bool,
}

impl Naming {
    fn name(&self, one: &Observation<'_>) -> String {
        let mut words = Vec::new();
        if self.by_run {
            words.push(one.label.to_owned());
        }
        for option in &self.options {
            if let Some(value) = one.option(option) {
                words.push(match option.as_str() {
                    "name" | "target" => value,
                    _ => format!("{option}={value}"),
                });
            }
        }
        // A direction goes without saying where there is only one.
        let says = one.measurement.total.len() > 1 || one.measurement.workload.rw.is_none();
        if self.by_direction && says {
            words.push(one.result.direction.name().into());
        }
        words.join(" ")
    }

    fn distinct(&self, all: &[Observation<'_>]) -> usize {
        all.iter().map(|one| self.name(one)).collect::<BTreeSet<_>>().len()
    }
}

/// A name for the series of each observation, of what tells them apart; the
/// options `across` make points of a series, not series.
pub(crate) fn names(all: &[Observation<'_>], request: &Request, across: &[&str]) -> Vec<String> {
    let by_run = all.iter().any(|one| one.label != all[0].label);
    match &request.series {
        Some(option) => {
            named(all, &Naming { options: vec![option.clone()], ..naming(all, &[], by_run) })
        }
        None => named(all, &short(all, naming(all, across, by_run), across)),
    }
}

/// A name for the workload of each observation, whichever run it is of.
pub(crate) fn workloads(all: &[Observation<'_>], across: &[&str]) -> Vec<String> {
    named(all, &short(all, naming(all, across, false), across))
}

/// The measurements' own names, with the direction where one has several: where
/// all runs share some of them and each is of one measurement of a run, they
/// say what belongs together, whatever else differs between the runs.
pub(crate) fn shared_names(all: &[Observation<'_>]) -> Option<Vec<String>> {
    let mut of_run: BTreeMap<usize, BTreeMap<&str, usize>> = BTreeMap::new();
    for one in all {
        let (run, index) = one.place;
        let known = of_run.entry(run).or_default();
        if *known.entry(&one.measurement.name).or_insert(index) != index {
            return None;
        }
    }
    let mut runs = of_run.values();
    let first = runs.next().filter(|_| of_run.len() > 1)?;
    if !runs.all(|run| run.keys().any(|name| first.contains_key(name))) {
        return None;
    }
    let name = |one: &Observation<'_>| match one.measurement.total.len() {
        1 => one.measurement.name.clone(),
        _ => format!("{} {}", one.measurement.name, one.result.direction.name()),
    };
    Some(all.iter().map(name).collect())
}

fn naming(all: &[Observation<'_>], across: &[&str], by_run: bool) -> Naming {
    let several = |option: &str| {
        let first = all.first().and_then(|one| one.option(option));
        all.iter().any(|one| one.option(option) != first)
    };
    let differs = |option: &String| !across.contains(&option.as_str()) && several(option);
    Naming {
        options: options(all).into_iter().filter(differs).collect(),
        by_run,
        by_direction: several("direction"),
    }
}

/// By the measurements' own names where these say as much as several options.
fn short(all: &[Observation<'_>], by_options: Naming, across: &[&str]) -> Naming {
    let by_name = Naming { options: vec!["name".into()], ..by_options.clone() };
    let is_long = by_options.options.len() != 1;
    let says_something = all.iter().any(|one| one.measurement.name != all[0].measurement.name);
    let says_as_much = says_something && by_name.distinct(all) >= by_options.distinct(all);
    if across.is_empty() && is_long && says_as_much { by_name } else { by_options }
}

fn named(all: &[Observation<'_>], naming: &Naming) -> Vec<String> {
    let name = |one: &Observation<'_>| match naming.name(one) {
        name if name.is_empty() => one.result.direction.name().to_owned(),
        name => name,
    };
    all.iter().map(name).collect()
}

/// What all observations have in common, in a line.
pub(crate) fn common(all: &[Observation<'_>]) -> String {
    let mut words = Vec::new();
    for option in options(all) {
        let shared = values(all, &option);
        let known_of_all = all.iter().all(|one| one.option(&option).is_some());
        if let ([value], true) = (shared.as_slice(), known_of_all) {
            words.push(match option.as_str() {
                "target" if value.is_empty() => continue,
                "target" => format!("on {value}"),
                _ => format!("{option}={value}"),
            });
        }
    }
    let first = all.first().map_or("", |one| &one.measurement.source);
    if !first.is_empty() && all.iter().all(|one| one.measurement.source == first) {
        words.push(format!("by {first}"));
    }
    words.join(" ")
}

/// The value of a metric over observations of the same thing: of one with its
/// confidence interval, of several the median with the range; `None` where
/// none of them knows it.
pub(crate) fn value_of(
    metric: Metric,
    all: &[Observation<'_>],
) -> Option<(f64, Option<(f64, f64)>)> {
    let mut known: Vec<_> = all.iter().filter_map(|one| metric.of(one.result)).collect();
    known.sort_by(|a, b| a.value.total_cmp(&b.value));
    match known.as_slice() {
        [] => None,
        [one] => {
            let interval = match one.spread {
                Spread::Confidence { low, high, .. } if low.is_finite() && high.is_finite() => {
                    Some((low, high))
                }
                _ => None,
            };
            Some((one.value, interval))
        }
        [least, .., greatest] => {
            let middle = known.len() / 2;
            let median = match known.len() % 2 {
                0 => f64::midpoint(known[middle - 1].value, known[middle].value),
                _ => known[middle].value,
            };
            Some((median, Some((least.value, greatest.value))))
        }
    }
}

/// Observations by name, in order of appearance.
pub(crate) fn by_name<'a>(
    all: &[Observation<'a>],
    names: &[String],
) -> Vec<(String, Vec<Observation<'a>>)> {
    let mut groups: Vec<(String, Vec<Observation<'a>>)> = Vec::new();
    for (one, name) in all.iter().zip(names) {
        match groups.iter_mut().find(|(known, _)| known == name) {
            Some((_, group)) => group.push(*one),
            None => groups.push((name.clone(), vec![*one])),
        }
    }
    groups
}

/// The points of a metric against a number that observations have, smallest first.
pub(crate) fn points(
    metric: Metric,
    all: &[Observation<'_>],
    x_of: impl Fn(&Observation<'_>) -> Option<f64>,
) -> Vec<Point> {
    let mut places: Vec<f64> = all.iter().filter_map(&x_of).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |x: f64| {
        let here: Vec<_> = all.iter().filter(|one| x_of(one) == Some(x)).copied().collect();
        let (y, interval) = value_of(metric, &here)?;
        Some(Point { interval, ..Point::new(x, y) })
    };
    places.into_iter().filter_map(at).collect()
}

/// Whether a point was measured several times: what has the same workload, the
/// options `across` apart, and the same values of the options `at`, in one run.
pub(crate) fn is_repeated(all: &[Observation<'_>], across: &[&str], at: &[&str]) -> bool {
    let names = workloads(all, across);
    let mut points = BTreeSet::new();
    all.iter().zip(names).any(|(one, name)| {
        let values: Vec<_> = at.iter().map(|option| one.option(option)).collect();
        !points.insert((name, one.label, values))
    })
}

/// What the whiskers of points are; see [`is_repeated`].
pub(crate) fn whisker_notes(all: &[Observation<'_>], across: &[&str], at: &[&str]) -> Vec<String> {
    let mut notes = Vec::new();
    if is_repeated(all, across, at) {
        notes.push(
            "What was measured several times is drawn as its median, with whiskers from the \
             least to the greatest."
                .into(),
        );
    }
    let level = |one: &Observation<'_>| {
        let estimates = [one.result.iops, one.result.bandwidth, one.result.latency_mean];
        estimates.into_iter().flatten().find_map(|estimate| match estimate.spread {
            Spread::Confidence { level, .. } => Some(level),
            _ => None,
        })
    };
    if let Some(level) = all.iter().find_map(level) {
        let which = if notes.is_empty() { "Whiskers" } else { "Other whiskers" };
        let percent = level * 100.0;
        notes.push(format!("{which} are {percent:.0} % confidence intervals of the mean."));
    }
    notes
}

/// How many of what the request admits are not valid, and the reservations.
pub(crate) fn reservations(all: &[Observation<'_>], request: &Request) -> Vec<String> {
    let mut by_validity: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
    for (n, one) in all.iter().enumerate() {
        // A measurement of two directions counts once.
        let is_first = !all[..n].iter().any(|before| before.place == one.place);
        if let Some(judged) = one.judged(request).filter(|_| is_first)
            && let Some(validity) = &judged.validity
        {
            by_validity.entry(validity).or_default().push(judged);
        }
    }
    let measured = all.iter().map(|one| one.place).collect::<BTreeSet<_>>().len();
    let note = |(validity, judged): (&str, Vec<&Judged>)| {
        let reasons: BTreeSet<_> = judged.iter().flat_map(|one| &one.reservations).collect();
        let reasons: Vec<&str> = reasons.into_iter().map(String::as_str).collect();
        format!("{validity}: {} of {measured} measurements ({}).", judged.len(), reasons.join(", "))
    };
    by_validity.into_iter().map(note).collect()
}
