//! Names series and workloads by the properties that distinguish observations, and lists those they
//! share.

use std::collections::{BTreeMap, BTreeSet};

use crate::Request;
use crate::observation::Observation;
use crate::request::number;

/// Values of an option, in numeric order.
pub(crate) fn values(all: &[Observation<'_>], option: &str) -> Vec<String> {
    let mut values: Vec<String> = all.iter().filter_map(|one| one.option(option)).collect();
    values.sort_by(|a, b| match (number(a), number(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    });
    values.dedup();
    values
}

/// Concurrent targets above this number are counted, not named.
const MOST_TARGETS: usize = 4;

/// Options that name a workload, the most telling first.
const MAIN_OPTIONS: [&str; 6] = ["rw", "bs", "iodepth", "numjobs", "ioengine", "direct"];

/// Options about reporting, not about the workload; targets stand for files.
const IGNORED_OPTIONS: [&str; 8] = [
    "directory",
    "filename",
    "group_reporting",
    "name",
    "per_job_logs",
    "stonewall",
    "time_based",
    "wait_for_previous",
];

/// Options about amounts and how a load is made, which tell only measurements of one run apart.
const MINOR_OPTIONS: [&str; 7] =
    ["size", "loops", "runtime", "ramp_time", "thread", "nrfiles", "invalidate"];

/// Options of the workloads, the best known first, then `target`.
fn options(all: &[Observation<'_>]) -> Vec<String> {
    let tells = |option: &&String| {
        !MAIN_OPTIONS.contains(&option.as_str())
            && !IGNORED_OPTIONS.contains(&option.as_str())
            && !MINOR_OPTIONS.contains(&option.as_str())
            && !option.contains("log")
    };
    let others: BTreeSet<&String> =
        all.iter().flat_map(|one| one.measurement.workload.options.keys()).filter(tells).collect();
    let mut options: Vec<String> = MAIN_OPTIONS.map(str::to_owned).into();
    options.extend(others.into_iter().cloned());
    options.push("target".into());
    let minor = MINOR_OPTIONS.into_iter().filter(|option| is_needed(all, &options, option));
    let minor: Vec<String> = minor.map(str::to_owned).collect();
    // Before the target.
    let at = options.len() - 1;
    options.splice(at..at, minor);
    options
}

/// True if measurements of one run have different names and the same `options`, and only `minor`
/// tells them apart.
fn is_needed(all: &[Observation<'_>], options: &[String], minor: &str) -> bool {
    let mut of_workload: BTreeMap<_, BTreeMap<&str, Option<String>>> = BTreeMap::new();
    for one in all {
        let same = options.iter().map(|option| one.option(option)).collect::<Vec<_>>();
        let named = of_workload.entry((one.source(), same)).or_default();
        named.entry(&one.measurement.name).or_insert_with(|| one.option(minor));
    }
    of_workload.values().any(|named| {
        let mut values = named.values();
        let first = values.next();
        values.any(|value| Some(value) != first)
    })
}

/// Properties that distinguish observations: run, option values, direction.
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
                    "target" if one.measurement.targets.len() > MOST_TARGETS => {
                        format!("{} targets", one.measurement.targets.len())
                    }
                    "name" | "target" => value,
                    _ => format!("{option}={value}"),
                });
            }
        }
        // A single direction needs no mention.
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

/// Names the series of each observation by what distinguishes them; the options `across`
/// distinguish points of a series, not series.
pub(crate) fn names(all: &[Observation<'_>], request: &Request, across: &[&str]) -> Vec<String> {
    let by_run = all.iter().any(|one| one.label != all[0].label);
    match &request.series {
        Some(option) => {
            named(all, &Naming { options: vec![option.clone()], ..naming(all, &[], by_run) })
        }
        None => named(all, &by_name_if_as_telling(all, naming(all, across, by_run), across)),
    }
}

/// Names the workload of each observation, whichever run it is of.
pub(crate) fn workloads(all: &[Observation<'_>], across: &[&str]) -> Vec<String> {
    named(all, &by_name_if_as_telling(all, naming(all, across, false), across))
}

/// The measurements' own names, with the direction if one has several. Used if all runs share some
/// of them and each names one measurement per run: then they tell what belongs together, whatever
/// else differs between the runs. Predictions have no such name.
pub(crate) fn shared_names(all: &[Observation<'_>]) -> Option<Vec<String>> {
    if all.iter().any(|one| one.predicted.is_some()) {
        return None;
    }
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

/// Uses the measurements' own names if they distinguish as much as several options.
fn by_name_if_as_telling(all: &[Observation<'_>], by_options: Naming, across: &[&str]) -> Naming {
    let by_name = Naming { options: vec!["name".into()], ..by_options.clone() };
    let is_long = by_options.options.len() != 1;
    let name = |one: &Observation<'_>| one.option("name");
    let says_something = all.iter().any(|one| name(one) != name(&all[0]));
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

/// Properties shared by all observations, in one line.
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

/// Groups observations by name, in order of appearance.
pub(crate) fn by_name<'a>(
    all: &[Observation<'a>],
    names: &[String],
) -> Vec<(String, Vec<Observation<'a>>)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<(String, Vec<Observation<'a>>)> = Vec::new();
    for (one, name) in all.iter().zip(names) {
        let at = *places.entry(name).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, group)) => group.push(*one),
            None => groups.push((name.clone(), vec![*one])),
        }
    }
    groups
}
