//! Lists without duplicates.

use std::collections::HashSet;
use std::hash::Hash;

/// Returns each element of `all` once, in order of first occurrence.
pub fn distinct<T: Hash + Eq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut list: Vec<T> = all.into_iter().collect();
    let mut seen = HashSet::new();
    let first: Vec<bool> = list.iter().map(|one| seen.insert(one)).collect();
    let mut first = first.into_iter();
    list.retain(|_| first.next() == Some(true));
    list
}

/// Appends the elements of `all` that a short `list` does not contain.
pub fn add_missing<T: PartialEq>(list: &mut Vec<T>, all: impl IntoIterator<Item = T>) {
    for one in all {
        if !list.contains(&one) {
            list.push(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_equal_elements_is_kept() {
        let mut list = distinct([3, 1, 3, 2, 1]);
        add_missing(&mut list, [1, 4, 4]);
        assert_eq!(list, [3, 1, 2, 4]);
    }
}
