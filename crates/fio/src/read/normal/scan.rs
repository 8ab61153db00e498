//! Scans the text of a statement.

/// Reduces blanks to one, and to none next to separators of figures: fio pads with them, and mails
/// and pages change padding arbitrarily.
pub(super) fn collapse_blanks(text: &str) -> String {
    let parts = |c: char| ":=()[],;/|<%".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    for c in text.chars() {
        if c == ' ' || c == '\t' {
            blank = true;
            continue;
        }
        if blank && !parts(c) && !out.is_empty() && !out.ends_with(parts) {
            out.push(' ');
        }
        blank = false;
        out.push(c);
    }
    out
}

/// Value after the first `key` (`iops=`) that starts a word, up to the next separator. `None` if
/// the text ends before a separator, since the value may be truncated.
pub(super) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    up_to(after(text, key)?, |c: char| ",;()[]/|%\n".contains(c))
}

/// Text before the first of `ends`.
pub(super) fn up_to(text: &str, ends: impl Fn(char) -> bool) -> Option<&str> {
    text.find(ends).map(|end| text[..end].trim())
}

/// Text after the first `key` that starts a word.
pub(super) fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut places = text.match_indices(key).map(|(at, _)| at);
    let at = places.find(|at| begins_word(text, *at))?;
    Some(&text[at + key.len()..])
}

/// True if a word can begin at `at`.
pub(super) fn begins_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whole numbers in `text`, in order, except those that overflow.
pub(super) fn numbers(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Length of a unit such as `usec`, ns.
pub(super) fn unit_ns(name: &str) -> Option<u32> {
    match name {
        "nsec" => Some(1),
        "usec" => Some(1_000),
        "msec" => Some(1_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_does_not_matter() {
        for text in ["read : io=1MB, runt=  5msec", "read: io= 1MB ,runt=5msec"] {
            assert_eq!(collapse_blanks(text), "read:io=1MB,runt=5msec");
        }
        assert_eq!(collapse_blanks("  a  (usec) : x  y "), "a(usec):x y");
    }

    #[test]
    fn unterminated_fields_are_none() {
        assert_eq!(field("min=2,max=3\n", "max="), Some("3"));
        assert_eq!(field("min=2,max=3", "max="), None);
        assert_eq!(field("xmin=2,min=4,", "min="), Some("4"));
        assert_eq!(numbers("r=1/w=20/d=0"), [1, 20, 0]);
    }
}
