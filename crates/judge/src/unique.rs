//! Removes duplicates.

use std::collections::HashSet;
use std::hash::Hash;

/// Returns `items` without duplicates, in order of first occurrence.
pub(crate) fn unique<T: Hash + Eq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    let mut seen = HashSet::new();
    let first: Vec<bool> = items.iter().map(|item| seen.insert(item)).collect();
    let mut first = first.into_iter();
    items.retain(|_| first.next() == Some(true));
    items
}
