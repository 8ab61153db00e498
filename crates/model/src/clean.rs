//! Cleans untrusted strings for whatever shows them.

/// True if a terminal interprets `c`, or if `c` is hidden, or reorders the text after it.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Removes from `text` what could move a terminal's cursor, change its state or hide something:
/// control characters, and invisible or direction-changing format characters. A line break or tab
/// becomes a space.
pub fn clean(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\t' | '\n' | '\r' => Some(' '),
            c => (!is_unsafe(c)).then_some(c),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_movements_are_removed() {
        assert_eq!(clean("a\x1b[31mb\u{9b}2Jc\u{7f}\u{202e}d\ne"), "a[31mb2Jcd e");
    }
}
