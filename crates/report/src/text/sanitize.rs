//! Makes untrusted strings safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write;

use iodyno_model::is_unsafe;
use serde::Serialize;

/// Colour codes used by [`super::ink::Ink`] and the tables (ECMA-48, Select Graphic Rendition).
const COLOURS: [&str; 13] = [
    "0", "1", "2", "32", "33", "1;31", "36", "39", "38;5;1", "38;5;2", "38;5;3", "38;5;6", "38;5;8",
];

/// Last filter before standard output: keeps line breaks and our own colours, drops everything else
/// that a terminal interprets.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| is_unsafe(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_unsafe) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let colour = colour(from);
        let first = from.chars().next().map_or(0, char::len_utf8);
        match from.as_bytes().first() {
            Some(b'\n') => kept.push('\n'),
            Some(b'\t') => kept.push(' '),
            _ => kept.push_str(colour.unwrap_or_default()),
        }
        rest = &from[colour.map_or(first, str::len)..];
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Returns one of our colour codes at the start of `text`.
fn colour(text: &str) -> Option<&str> {
    let code = text.strip_prefix("\x1b[")?;
    let (code, _) = code.split_once('m')?;
    COLOURS.contains(&code).then(|| &text[..code.len() + 3])
}

/// Serialises `document` as JSON with a final line break. Characters that a terminal would
/// interpret are escaped, which means the same to a parser.
///
/// # Errors
/// The document cannot be serialised as JSON.
pub fn json_text(document: &impl Serialize) -> serde_json::Result<String> {
    Ok(escaped(&serde_json::to_string_pretty(document)?) + "\n")
}

/// Escapes in a JSON text the characters that a terminal would interpret, or that are hidden.
pub(crate) fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if c == '\n' || !is_unsafe(c) {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_colours_stay_and_other_escapes_are_removed() {
        assert!(matches!(harmless("plain\ntext µ 日本"), Cow::Borrowed(_)));
        assert_eq!(harmless("\x1b[1;31mbad\x1b[0m"), "\x1b[1;31mbad\x1b[0m");
        assert_eq!(harmless("a\x1b[31;5mb\x1b]0;title\x07c"), "a[31;5mb]0;titlec");
        assert_eq!(harmless("a\tb\rc\u{9b}2J\u{202e}d\u{7f}"), "a bc2Jd");
        assert_eq!(harmless("\x1b"), "");
        assert_eq!(harmless("\x1b[1"), "[1");
    }

    #[test]
    fn all_our_colours_pass() {
        use crate::text::ink::Ink;
        for ink in [Ink::Bold, Ink::Dim, Ink::Good, Ink::Doubt, Ink::Bad, Ink::Open] {
            let painted = ink.paint("x", true);
            assert_eq!(harmless(&painted), painted);
        }
    }

    #[test]
    fn escaped_json_parses_to_the_same_value() {
        let hostile = "\x1b[2J\u{9b}\u{202e}\u{e0001}\u{7f}\"\\ µ";
        let text = json_text(&[hostile]).unwrap();
        assert!(!text.contains(|c: char| is_unsafe(c) && c != '\n'), "{text:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), [hostile]);
    }
}
