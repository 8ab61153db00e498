//! Names that may have been meant.

/// The one of `names` that is nearest to `name`, if any is near: at most a
/// third of its letters differ.
pub fn nearest_of<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|known| (strsim::levenshtein(name, known), known))
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .min()
        .map(|(_, known)| known)
}
