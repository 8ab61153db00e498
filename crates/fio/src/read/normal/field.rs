//! Scanning the text of a statement.

/// `text` with one blank where there were some, and none beside the signs that
/// part figures: fio pads with them, and what becomes of padding on the way
/// into a mail or a page is anybody's guess.
pub(super) fn tight(text: &str) -> String {
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

/// What stands behind the first `key` (`iops=`) that is a word of its own, up
/// to the next sign that parts figures. `None` where the text ends before one:
/// a figure that may be cut is none.
pub(super) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    up_to(after(text, key)?, |c: char| ",;()[]/|%\n".contains(c))
}

/// What stands before the first of `ends`.
pub(super) fn up_to(text: &str, ends: impl Fn(char) -> bool) -> Option<&str> {
    text.find(ends).map(|end| text[..end].trim())
}

/// The text behind the first `key` that is a word of its own.
pub(super) fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut places = text.match_indices(key).map(|(at, _)| at);
    let at = places.find(|at| begins_word(text, *at))?;
    Some(&text[at + key.len()..])
}

/// Whether a word can begin there.
pub(super) fn begins_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The whole numbers in `text`, in order; none that is too large for one.
pub(super) fn numbers(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// `usec` as ns.
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
            assert_eq!(tight(text), "read:io=1MB,runt=5msec");
        }
        assert_eq!(tight("  a  (usec) : x  y "), "a(usec):x y");
    }

    #[test]
    fn a_field_ends_or_is_none() {
        assert_eq!(field("min=2,max=3\n", "max="), Some("3"));
        assert_eq!(field("min=2,max=3", "max="), None);
        assert_eq!(field("xmin=2,min=4,", "min="), Some("4"));
        assert_eq!(numbers("r=1/w=20/d=0"), [1, 20, 0]);
    }
}
