//! Natural sort order of names.

/// Sort key that puts `nvme2` before `nvme10`: words, each with the number after it.
pub fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, numbered) = rest.split_at(digits);
        let end = numbered.find(|c: char| !c.is_ascii_digit()).unwrap_or(numbered.len());
        let (number, behind) = numbered.split_at(end);
        // A number beyond 64 bits sorts last, a word without one first.
        let fallback = if number.is_empty() { 0 } else { u64::MAX };
        parts.push((word.to_owned(), number.parse().unwrap_or(fallback)));
        rest = behind;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_number() {
        let mut names = ["nvme10", "nvme2", "nvme0n12", "sda", "nvme0", "nvme2n1", "nvme0n2"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["nvme0", "nvme0n2", "nvme0n12", "nvme2", "nvme2n1", "nvme10", "sda"]);
    }

    #[test]
    fn numbers_beyond_64_bits_sort_last() {
        let mut names = ["loop18446744073709551616", "loop7", "loop", "loop18446744073709551614"];
        names.sort_by_key(|name| natural(name));
        let last = ["loop18446744073709551614", "loop18446744073709551616"];
        assert_eq!(names, ["loop", "loop7", last[0], last[1]]);
    }
}
