//! Matches target names in measurements to targets as typed.

use std::path::Path;

/// True if a measurement on `target` (a device's name or a path) belongs to the target `typed`: the
/// same name, a name below /dev, or a file of its own in a directory.
pub(crate) fn is_same_target(target: &str, typed: &str, own_file: bool) -> bool {
    // A file that is gone has its path still.
    let resolved = std::fs::canonicalize(typed).or_else(|_| std::path::absolute(typed)).ok();
    let resolved = resolved.as_deref().and_then(|path| path.to_str()).unwrap_or(typed);
    [typed, resolved].iter().any(|name| {
        target == *name
            || name.strip_prefix("/dev/") == Some(target)
            || (own_file && Path::new(target).starts_with(name))
    })
}

/// True if a measurement on `targets` belongs to those `typed`, see [`is_same_target`].
pub(crate) fn are_same_targets(targets: &[String], typed: &[String], own_file: bool) -> bool {
    let mut pairs = targets.iter().zip(typed);
    targets.len() == typed.len()
        && pairs.all(|(target, typed)| is_same_target(target, typed, own_file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_its_own_directory_alone() {
        assert!(is_same_target("/mnt/a/file", "/mnt/a/", true));
        assert!(!is_same_target("/mnt/ab/file", "/mnt/a", true));
        assert!(!is_same_target("/mnt/a/file", "/mnt/a", false));
        assert!(is_same_target("nvme0n1", "/dev/nvme0n1", false));
    }
}
