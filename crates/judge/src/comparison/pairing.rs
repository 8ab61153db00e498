//! Groups the repetitions of all sides into rows.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::{Direction, RunKind, RunRecord, natural};

use super::point::Key;
use super::sample::Sample;

/// A workload on a target, with its repetitions.
pub(super) struct Group<'a> {
    pub(super) key: Key,
    /// Options and values that distinguish it from other rows of the same workload.
    pub(super) variant: Vec<(String, Option<String>)>,
    /// Targets on the first side that has it; `None` if they distinguish nothing.
    pub(super) place: Option<Vec<String>>,
    pub(super) samples: Vec<Sample<'a>>,
    /// Sort rank among other groups, by workload.
    rank: usize,
}

impl Group<'_> {
    pub(super) fn of_side(&self, side: usize) -> impl Iterator<Item = &Sample<'_>> {
        self.samples.iter().filter(move |sample| sample.side == side)
    }

    /// Returns the number of sides that have it.
    pub(super) fn sides(&self) -> usize {
        self.samples.iter().map(|sample| sample.side).collect::<BTreeSet<_>>().len()
    }
}

/// Groups samples by workload, then by options that vary within a run, then by target; sorted drive
/// by drive, in the order of the first side's jobs, then of the others'.
pub(super) fn groups(mut samples: Vec<Sample<'_>>) -> Vec<Group<'_>> {
    complete_partial_keys(&mut samples);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (key, of_key) in partition_by(samples, |sample| sample.key.clone()) {
        let varying = varying(&of_key);
        let variant = |sample: &Sample<'_>| -> Vec<(String, Option<String>)> {
            varying
                .iter()
                .map(|name| (name.clone(), sample.free_options.get(name).cloned()))
                .collect()
        };
        for (variant, of_variant) in partition_by(of_key, variant) {
            for (place, samples) in by_place(of_variant) {
                let (key, variant) = (key.clone(), variant.clone());
                let place = place.filter(|place| !place.is_empty());
                groups.push(Group { key, variant, place, samples, rank: 0 });
            }
        }
    }
    let first = groups.first().map(|group| group.place.clone());
    if groups.iter().all(|group| Some(&group.place) == first.as_ref()) {
        groups.iter_mut().for_each(|group| group.place = None);
    }
    sort(&mut groups);
    groups
}

/// Sorts drive by drive, jobs in their order and points of a sweep by size, since these may have
/// been measured in any order.
fn sort(groups: &mut [Group<'_>]) {
    let mut ranks: BTreeMap<(Option<String>, Direction, Option<String>), usize> = BTreeMap::new();
    for group in groups.iter_mut() {
        let first = group.samples.first();
        let first = first.filter(|sample| sample.record.run.kind != RunKind::Sweep);
        let name = first.map(|sample| sample.first().name.clone());
        let next = ranks.len();
        group.rank =
            *ranks.entry((name, group.key.direction, group.key.rw.clone())).or_insert(next);
    }
    // One drive before several at once.
    groups.sort_by_cached_key(|Group { place, rank, key, .. }| {
        let named = |place: &Vec<String>| place.iter().map(|name| natural(name)).collect();
        let place: Option<(usize, Vec<_>)> = place.as_ref().map(|of| (of.len(), named(of)));
        (place, *rank, key.bs, key.depth, key.numjobs)
    });
}

/// Partitions items by the key `by`, in order of first occurrence.
fn partition_by<T, K: Ord + Clone>(items: Vec<T>, by: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
    let mut at: BTreeMap<K, usize> = BTreeMap::new();
    let mut parts: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = by(&item);
        let part = *at.entry(key.clone()).or_insert(parts.len());
        if part == parts.len() {
            parts.push((key, Vec::new()));
        }
        parts[part].1.push(item);
    }
    parts
}

/// Completes partial workloads: if a report does not describe a workload completely, and exactly
/// one workload of each other side matches, it is taken for that one; if those of several sides
/// contradict each other, it is left alone.
fn complete_partial_keys(samples: &mut [Sample<'_>]) {
    let mut seen = BTreeSet::new();
    let mut kinds: Vec<(usize, Key, &str)> = Vec::new();
    for sample in samples.iter() {
        let kind = (sample.side, sample.key.clone(), sample.first().name.as_str());
        if seen.insert(kind.clone()) {
            kinds.push(kind);
        }
    }
    let mut index = Index::of(&kinds);
    for at in 0..kinds.len() {
        let (side, key, name) = &kinds[at];
        if !key.is_partial() {
            continue;
        }
        let fits: Vec<&(usize, Key, &str)> = index
            .near(key, name)
            .into_iter()
            .map(|near| &kinds[near])
            .filter(|(other_side, other, _)| {
                // If this side has that workload itself, the partial one is another.
                let has = || index.keys.contains_key(&(*side, other.clone()));
                other_side != side && key.joined(other).is_some() && !has()
            })
            .collect();
        let several = fits.iter().any(|(side, one, _)| {
            fits.iter().any(|(other_side, other, _)| side == other_side && one != other)
        });
        let joined =
            fits.iter().try_fold(key.clone(), |joined, (_, other, _)| joined.joined(other));
        let Some(joined) = joined.filter(|_| !several && !fits.is_empty()) else { continue };
        let mut ones: Vec<Key> = fits.iter().map(|(_, other, _)| other.clone()).collect();
        ones.push(key.clone());
        let is_one = |key: &Key| ones.contains(key);
        kinds.iter_mut().filter(|(_, key, _)| is_one(key)).for_each(|kind| kind.1 = joined.clone());
        let samples = samples.iter_mut().filter(|sample| is_one(&sample.key));
        samples.for_each(|sample| sample.key = joined.clone());
        index = Index::of(&kinds);
    }
}

/// Index of the kinds of samples.
struct Index {
    by_name: BTreeMap<String, Vec<usize>>,
    /// First index of each key of a side.
    keys: BTreeMap<(usize, Key), usize>,
}

impl Index {
    fn of(kinds: &[(usize, Key, &str)]) -> Self {
        let mut index = Self { by_name: BTreeMap::new(), keys: BTreeMap::new() };
        for (at, (side, key, name)) in kinds.iter().enumerate() {
            index.by_name.entry((*name).to_owned()).or_default().push(at);
            index.keys.entry((*side, key.clone())).or_insert(at);
        }
        index
    }

    /// Returns candidates for the same kind: those of its name, and unnamed ones if its key has no
    /// name.
    fn near(&self, key: &Key, name: &str) -> Vec<usize> {
        let alike = self.by_name.get(name).into_iter().flatten().copied();
        let unnamed =
            self.keys.iter().filter(|((_, other), _)| key.name.is_none() && other.name.is_none());
        let mut near: Vec<usize> = alike.chain(unnamed.map(|(_, at)| *at)).collect();
        near.sort_unstable();
        near.dedup();
        near
    }
}

/// Options that differ within one run on one target: they were varied on purpose, so each value
/// makes a row.
fn varying(samples: &[Sample<'_>]) -> BTreeSet<String> {
    let mut varying = BTreeSet::new();
    let mut firsts: BTreeMap<(*const RunRecord, &[String]), &Sample<'_>> = BTreeMap::new();
    for one in samples {
        // Values that differ at all differ from the first.
        let first = *firsts.entry((std::ptr::from_ref(one.record), &one.place)).or_insert(one);
        let names = one.free_options.keys().chain(first.free_options.keys());
        varying.extend(
            names
                .filter(|name| one.free_options.get(*name) != first.free_options.get(*name))
                .cloned(),
        );
    }
    varying
}

/// Matches targets between sides. If no side has several, all samples are one row. Otherwise equal
/// drives and names match; the rest of a side with as many targets as the first is matched by
/// order.
fn by_place(samples: Vec<Sample<'_>>) -> Vec<(Option<Vec<String>>, Vec<Sample<'_>>)> {
    let mut sides: Vec<(usize, Vec<Vec<String>>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for sample in &samples {
        let at = sides.iter().position(|(side, _)| *side == sample.side).unwrap_or(sides.len());
        if at == sides.len() {
            sides.push((sample.side, Vec::new()));
        }
        if seen.insert((sample.side, sample.place.clone())) {
            sides[at].1.push(sample.place.clone());
        }
    }
    if sides.iter().all(|(_, places)| places.len() < 2) {
        let place = samples.first().map(|sample| sample.place.clone());
        let same = samples.iter().all(|sample| Some(&sample.place) == place.as_ref());
        return vec![(place.filter(|_| same), samples)];
    }
    // The row of each target of each side.
    let first = sides[0].1.clone();
    let mut rows = first.clone();
    let mut rows_of_places: BTreeMap<Vec<String>, usize> =
        rows.iter().cloned().enumerate().map(|(row, place)| (place, row)).collect();
    let mut row_of: BTreeMap<(usize, Vec<String>), usize> = BTreeMap::new();
    for (side, places) in &sides {
        let mut left = Vec::new();
        for place in places {
            match rows_of_places.get(place) {
                Some(row) => drop(row_of.insert((*side, place.clone()), *row)),
                None => left.push(place.clone()),
            }
        }
        let is_free = |row: &usize| !seen.contains(&(*side, first[*row].clone()));
        let free: Vec<usize> = (0..first.len()).filter(is_free).collect();
        for (n, place) in left.iter().enumerate() {
            let by_order = free
                .get(n)
                .copied()
                .filter(|row| places.len() == first.len() && first[*row].len() == place.len());
            let row = by_order.unwrap_or_else(|| {
                rows_of_places.insert(place.clone(), rows.len());
                rows.push(place.clone());
                rows.len() - 1
            });
            row_of.insert((*side, place.clone()), row);
        }
    }
    let row = |sample: &Sample<'_>| {
        row_of.get(&(sample.side, sample.place.clone())).copied().unwrap_or(rows.len())
    };
    let mut parts = partition_by(samples, row);
    parts.sort_by_key(|(row, _)| *row);
    parts.into_iter().map(|(row, samples)| (rows.get(row).cloned(), samples)).collect()
}
